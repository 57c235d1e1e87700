"""Builds the shared library of a simulated board from two Verilator models, the shell and the machine, and a harness.

The machine is by far the larger model. It is turned into C++ once for all shells. The cache finds its SystemVerilog by
a hash of its sources, as it does for an SM (`sim.rtl.design`). The machine here has a reset, so the two caches are
separate.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, read_packed, seal, write_packed
from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.hw.board.board import machine_id_bits
from caesura.hw.device.device import machine
from caesura.hw.export import verilog
from caesura.hw.memory.axi import Axi4
from caesura.progress import Progress, display
from caesura.sim.rtl.design import TOOLS, hardware_sources
from caesura.sim.rtl.recipe import Recipe
from caesura.sim.rtl.verilator import built

from .top import SimulatedShell

__all__ = ["board_library"]

_HARNESS = Path(__file__).with_name("harness.cpp")
_TO = {"address": "host_address", "write": "host_write", "write_data": "host_write_data"}
_BACK = {"read_data": "host_read_data", "interrupt": "host_interrupt"}
"""Ports of the machine, with the port of the shell that each joins. Ports of the bus have the same name in both."""
_RESERVED = {"interrupt": "__SYM__interrupt"}
"""Verilator's names for ports of the machine whose names are reserved words."""
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


def _copies(ports: dict[str, str], line: str) -> str:
    """Return the C++ lines that copy ports, given the names in the machine and in the shell."""
    pairs = ((_RESERVED.get(mine, mine), other) for mine, other in ports.items())
    return "\n".join(f"    changed |= differs({line.format(mine=mine, other=other)});" for mine, other in pairs)


def _header(g: Geometry) -> str:
    """Return C++ that copies the ports between shell and machine, in both directions."""
    bus = Axi4(g, machine_id_bits(g)).members
    to = _TO | ({"read": "read"} if g.sms > 1 else {})
    to |= {f"axi_{name}": f"axi_{name}" for name, member in bus.items() if member.flow is wiring.In}
    back = _BACK | {f"axi_{name}": f"axi_{name}" for name, member in bus.items() if member.flow is wiring.Out}
    return _HEADER.format(to=_copies(to, "machine.{mine}, shell.{other}"),
                          back=_copies(back, "shell.{other}, machine.{mine}"))


def _machine_text(g: Geometry, progress: Progress) -> str:
    """Return the machine's SystemVerilog."""
    index = cache_directory() / "sv" / (
        f"machine-{digest([repr(g.replace(name='')), *map(version, TOOLS), *hardware_sources()])}.sv.gz")
    text = read_packed(index)
    if text is None:
        with display():
            progress(f"elaborating {g.name} and writing its SystemVerilog")
            text = verilog.systemverilog(machine(g), name="machine")
        write_packed(index, text)
        seal(index, "SystemVerilog", f"{g.name} of a board")
    return text


def board_library(identity: Identity, patience: int, divisor: int, progress: Progress) -> Path:
    """Return the shared library of a board, built if it is not there yet.

    Parameters
    ----------
    identity : Identity
    patience, divisor : int
        Parameters of `SimulatedShell`.
    progress : callable
        Told about each step that takes time.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    g = identity.geometry
    shell = SimulatedShell(identity, patience, divisor)
    made = Recipe(f"board with {g.name}", verilog.systemverilog(shell, reset=False), _HARNESS,
                  defines=(f"-DDIVISOR={divisor}",), parts=(("machine", _machine_text(g, progress)),),
                  headers=(("board_ports.h", _header(g)),))
    return built(made, progress)
