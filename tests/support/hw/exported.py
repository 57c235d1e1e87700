"""Runs outside tools on exported blocks: Verilator's linter, Icarus, Yosys."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from caesura.hw.export import Exported
from caesura.sim.rtl.toolchain import verilator_root

__all__ = ["driven", "elaborated", "icarus", "lint", "shifts_in_a_row", "stirred", "verilated", "written"]

VERILATOR = (str(verilator_root() / "bin" / "verilator"),)
SECONDS = 1200
"""Time that a tool may take."""
_SHIFT = re.compile(r"^ *assign (\S+) += (\S+) +(<<|>>) (?!\d+'h)\S.*;$", re.MULTILINE)
"""By what is no constant: the result, what is shifted, and where to."""
_PORT = re.compile(r"^  (input|output) +logic +(?:signed +)?(?:\[(\d+):0\] +)?(\w+),?$", re.MULTILINE)
"""Of a flat block: direction, highest bit if it has more than one, name."""
_STIRRED = """\
module bench;
  logic clk = 0;
  logic [{high}:0] given [0:{last}];
  integer cycle = 0;
  initial $readmemh("given.hex", given);
{wires}
  {name} dut ({pins});
  always begin
    #1 clk = 1;
    #1 clk = 0;
    #1 $display("= %h", {{{outputs}}});
    if (cycle == {last}) $finish;
    cycle = cycle + 1;
  end
endmodule
"""
"""Gives a block its inputs of each cycle, and prints its outputs after each, behind ``=``."""


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
    built = _run(folder, *VERILATOR, "--binary", "--timing", "-Wno-fatal", "--quiet", "-CFLAGS", "-std=c++20 -O0",
                 "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include",  # which the wheel's makefile lacks
                 "-o", "bench", "--top-module", "bench", *files, "bench.sv")
    assert built.returncode == 0, built.stderr
    return _run(folder, "obj_dir/bench").stdout.splitlines()


def driven(made: Exported, bench: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return how a bench in C++ has ended that drives a block as Verilator's class ``V`` and its name."""
    built = _run(folder, *VERILATOR, "--cc", "--exe", "--build", "-Wno-fatal", "--quiet", "-CFLAGS", "-std=c++20 -O0",
                 "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "-o", "bench", "--top-module", made.name,
                 *written(made, folder), str(bench))
    assert built.returncode == 0, built.stderr
    return _run(folder, "obj_dir/bench")


def icarus(made: Exported, bench: str, folder: Path) -> list[str]:
    """Return the lines that a bench around a flat block prints under Icarus; skips where there is none."""
    (folder / "bench.sv").write_text(bench)
    elaborated(made, folder, "bench.sv")
    return _run(folder, "vvp", "-N", "block.vvp").stdout.splitlines()


def stirred(made: Exported, cycles: int, folder: Path, seed: int = 1) -> str:
    """Return a bench that gives a flat block random inputs, for `icarus` and `verilated`; what it gives is a file in
    the folder. Bits are 1 in half of the cycles, seldom, or mostly, which changes every few cycles for each port; there
    is a reset in the first two cycles and now and then."""
    rng = random.Random(seed)
    head = made.text.partition(f"\nmodule {made.name} (")[2].partition("\n);")[0]
    ports = [(name, direction == "output", int(high or 0) + 1) for direction, high, name in _PORT.findall(head)]
    wires, low, inputs = [], 0, []
    for name, output, width in ports:
        if output:
            wires.append(f"  wire [{width - 1}:0] {name}_pin;")
        elif name != "clk":
            wires.append(f"  wire [{width - 1}:0] {name}_pin = given[cycle][{low} +: {width}];")
            inputs.append((name, low, width))
            low += width
    rows = []
    weights = dict.fromkeys((name for name, *_ in inputs), 1)
    for cycle in range(cycles):
        row = 0
        for name, at, width in inputs:
            if rng.random() < 0.1:
                weights[name] = rng.choice((0, 1, 1, 2))
            some, more = rng.getrandbits(width), rng.getrandbits(width)
            if name == "rst":
                bits = int(cycle < 2 or rng.random() < 1 / 64)
            else:
                bits = (some & more, some, some | more)[weights[name]]
            row |= bits << at
        rows.append(f"{row:x}")
    (folder / "given.hex").write_text("\n".join(rows))
    outputs = [f"{name}_pin" for name, output, _ in ports if output]
    pins = [".clk(clk)", *(f".{name}({name}_pin)" for name, *_ in ports if name != "clk")]
    return _STIRRED.format(high=low - 1, last=cycles - 1, wires="\n".join(wires), name=made.name, pins=", ".join(pins),
                           outputs=", ".join(outputs))


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
