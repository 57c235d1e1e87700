"""The shared library of a simulated board: two Verilator models, the shell and the machine, and the harness.

The machine is by far the larger one; it is turned into C++ once, whatever the shell is. Its text is found by what it
derives from, as that of an SM is (`sim.rtl.design`): here it has a reset, and is none of those that are kept there.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, read_packed, seal, write_packed
from caesura.hw import export
from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.hw.gpu.gpu import machine
from caesura.progress import Progress, display
from caesura.sim.rtl.design import TOOLS, hardware_sources
from caesura.sim.rtl.recipe import Recipe
from caesura.sim.rtl.verilator import built

from .top import SimulatedShell

__all__ = ["board_library"]

_HARNESS = Path(__file__).with_name("harness.cpp")
_HOST = {"address": "host_address", "write": "host_write", "write_data": "host_write_data", "read": "read",
         "read_data": "host_read_data", "interrupt": "host_interrupt"}
"""Ports of a machine, and those of the shell that they belong to; all others have one name."""
_RESERVED = {"interrupt": "__SYM__interrupt"}
"""What Verilator calls ports of the machine whose names are words of its own."""
_HEADER = """// Made by sim/board/build.py: what shell and machine show each other.
#pragma once
inline bool to_machine(Vtop& shell, Vmachine& machine) {{
    bool changed = false;
{to}
    return changed;
}}
inline bool from_machine(Vtop& shell, Vmachine& machine) {{
    bool changed = false;
{back}
    return changed;
}}
"""


def _copies(top: wiring.Component, flow: wiring.Flow, line: str) -> str:
    names = ["_".join(map(str, path)) for path, member, _ in top.signature.flatten(top) if member.flow is flow]
    wanted = [(_RESERVED.get(name, name), _HOST.get(name, name)) for name in names if name in _HOST or name.startswith("axi_")]
    return "\n".join(f"    changed |= differs({line.format(mine=mine, other=other)});" for mine, other in wanted)


def _machine_text(g: Geometry, top: wiring.Component, progress: Progress) -> str:
    """Return the machine's SystemVerilog."""
    index = cache_directory() / "sv" / (
        f"machine-{digest([repr(g.replace(name='')), *map(version, TOOLS), *hardware_sources()])}.sv.gz")
    text = read_packed(index)
    if text is None:
        with display():
            progress(f"elaborating {g.name} and writing its SystemVerilog")
            text = export.systemverilog(top, name="machine")
        write_packed(index, text)
        seal(index, "SystemVerilog", f"{g.name} of a board")
    return text


def board_library(identity: Identity, patience: int, divisor: int, progress: Progress) -> Path:
    """Return the shared library of a board, built if it is not there yet.

    Parameters
    ----------
    identity : Identity
    patience, divisor : int
        As of `SimulatedShell`.
    progress : callable
        Told about each step that takes time.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    g = identity.geometry
    top: Any = machine(g)
    shell = SimulatedShell(identity, patience, len(top.axi.awid), divisor)
    header = _HEADER.format(to=_copies(top, wiring.In, "machine.{mine}, shell.{other}"),
                            back=_copies(top, wiring.Out, "shell.{other}, machine.{mine}"))
    made = Recipe(f"board with {g.name}", export.systemverilog(shell, reset=False), _HARNESS,
                  defines=(f"-DDIVISOR={divisor}",), parts=(("machine", _machine_text(g, top, progress)),),
                  headers=(("board_ports.h", header),))
    return built(made, progress)
