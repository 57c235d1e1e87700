"""A plugin of pytest: tests of blocks run on exported SystemVerilog too, and what was reached is written into a folder.

``pytest -p support.coverage.replay``, with the folder in ``CAESURA_REPLAY`` if there is to be one. A test fails where
the SystemVerilog differs from Amaranth's simulator in a port and a cycle.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

from caesura.cache import digest, write_packed
from support.hw import simulation

from . import verilated
from .runs import FOLDER

__all__: list[str] = []

simulation.Simulator = verilated.Simulator  # before any test imports it


def pytest_sessionfinish() -> None:
    """Write what was counted, a pair of files for each design."""
    if FOLDER not in os.environ:
        return
    folder = Path(os.environ[FOLDER])
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for design in verilated.COUNTED.values():
        counted[design.text].update(design.counted)
    for text, counts in counted.items():
        name = digest([text])
        write_packed(folder / f"{name}.sv.gz", text)
        write_packed(folder / f"{name}.dat.gz", "".join(f"{point} {count}\n" for point, count in counts.items()))
