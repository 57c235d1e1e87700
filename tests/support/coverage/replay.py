"""A plugin of pytest: tests of blocks run on exported SystemVerilog, and what was reached is written into a folder.

``pytest -p support.coverage.replay`` with the folder in ``CAESURA_REPLAY``. A test that does not keep to the ports of
its block, or whose block is larger than `LARGEST`, is skipped.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caesura.cache import digest, write_packed
from support.hw import simulation

from . import verilated
from .runs import FOLDER

__all__: list[str] = []

simulation.Simulator = verilated.Simulator  # before any test imports it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Skip a test that looks inside its block."""
    try:
        return (yield)
    except verilated.InsideError as error:
        pytest.skip(str(error))


def pytest_sessionfinish() -> None:
    """Write what was counted, a pair of files for each design."""
    folder = Path(os.environ[FOLDER])
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for design in verilated.COUNTED.values():
        counted[design.text].update(design.counted)
    for text, counts in counted.items():
        name = digest([text])
        write_packed(folder / f"{name}.sv.gz", text)
        write_packed(folder / f"{name}.dat.gz", "".join(f"{point} {count}\n" for point, count in counts.items()))
