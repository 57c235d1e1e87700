"""Buses of exports as a bench in C++ sees them, under Verilator: handshakes, answers, paths within a cycle."""

from pathlib import Path

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.export import export_block
from support.hw.exported import driven
from support.selection import quick

BENCHES = Path(__file__).parent / "axi"


@pytest.mark.parametrize("name", quick(["axi_registers", "control_unit"], []))
@pytest.mark.timeout(900)
def test_an_exported_bus_does_what_axi_says(name, tmp_path):
    done = driven(export_block(name, preset("tiny"), flat=True), BENCHES / f"{name}.cpp", tmp_path)
    assert done.returncode == 0 and done.stdout == "0 wrong\n", done.stdout
