"""A plugin of pytest: tests of blocks run on exported SystemVerilog too, and what was reached is written into a folder.

``pytest -p support.coverage.replay``, with the folder in ``CAESURA_REPLAY`` if there is to be one. A test fails where
the SystemVerilog differs from Amaranth's simulator in a port and a cycle. Cases that `runs.LONG` names are taken for
quick ones.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from caesura.cache import digest, write_packed
from support.hw import simulation

from . import verilated
from .runs import FOLDER, LONG

__all__: list[str] = []

simulation.Simulator = verilated.Simulator  # before any test imports it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases that are replayed, though they are not quick, lose their mark before those that have it are left out."""
    names = set(LONG.read_text().splitlines())
    for item in items:
        if item.nodeid.removeprefix("tests/hw/preempt/") in names:
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "full"]


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
