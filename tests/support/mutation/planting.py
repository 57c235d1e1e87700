"""Faults in a netlist, all in one build: Yosys' ``mutate`` plants each behind a comparison of a number with its own.

::

    RTLIL --proc--> multiplexers, flip-flops --mutate--> the same with an input `mutsel`; 0: no fault

This is how MCY (Mutation Cover with Yosys) plants faults. The number is an input of the top module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amaranth.lib import wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.export import verilog
from caesura.hw.export.netlist import netlist_rtlil
from caesura.hw.export.ports import ports_of
from caesura.hw.export.structures import Structures
from caesura.hw.export.wrapper import wrapper
from caesura.sim.cocotb.build import TOP
from support.checkout import ROOT

__all__ = ["NETLIST", "SELECT", "SELECT_BITS", "Fault", "Mutated", "planted"]

NETLIST = f"{TOP}__netlist"
"""Name of the netlist with faults; its ports have their names in the netlist (`hw.export.ports.Port.inner`)."""
SELECT = "mutsel"
"""Name of the input that chooses a fault."""
SELECT_BITS = 10
_PREPARE = "read_rtlil d.il; proc; memory_collect; zinit; opt_clean; "
"""A bit of a flip-flop is planted behind a new wire without an initial value, which so has to be 0."""


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes
    ----------
    number : int
        Value of the input that selects it, from 1.
    mode : str
        Change of the bit: ``inv``, ``const0`` or ``const1``; with ``cnot0`` or ``cnot1`` it is inverted where another
        bit of the same port is 0 or 1.
    place : str
        Module, cell, port and bit.
    wire : str
        Name of the signal whose bit it is, if it has one.
    lines : tuple of str
        Lines of Python, ``file:line``.
    """

    number: int
    mode: str
    place: str
    wire: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        where = ", ".join(self.lines) or self.place
        return f"{self.mode} of {self.wire or 'a bit without a name'} at {where}"


@dataclass(frozen=True)
class Mutated:
    """A block with faults in it.

    Attributes
    ----------
    faults : tuple of Fault
    text : str
        SystemVerilog, whose top is `caesura.sim.cocotb.build.TOP`.
    netlist : str
        SystemVerilog of the netlist alone, `NETLIST`, with the input `SELECT`.
    rtlil : str
        The same as RTLIL.
    """

    faults: tuple[Fault, ...]
    text: str
    netlist: str
    rtlil: str


def planted(component: wiring.Component, count: int, seed: int, without: Sequence[str] = ()) -> Mutated:
    """Return a block with `count` faults, which a seed chooses, or as many as there are; none in the parts of the block
    (its instances, by name) that are `without`.

    Raises
    ------
    ValueError
        If there are more than `SELECT_BITS` tell apart.
    ExportError
        If Yosys fails.
    """
    if count >= 1 << SELECT_BITS:
        raise ValueError(f"{count} faults do not fit into {SELECT_BITS} bits")
    ports = ports_of(component)
    rtlil = netlist_rtlil(component, TOP, ports, located=True)
    where = "*" + "".join(f" {TOP}__{part} {TOP}__{part}__* %u %d" for part in without)
    listed = verilog.run_yosys(
        rtlil, f"{_PREPARE} mutate -list {count} -seed {seed} -ctrl {SELECT} {SELECT_BITS} 1 -o list.txt {where}",
        "list.txt")
    commands = [line for line in listed.splitlines() if line.startswith("mutate ")]
    plain = "; ".join(re.sub(r" -src \S+", "", command) for command in commands)  # Yosys would split them at semicolons
    both = verilog.run_yosys(rtlil, f"{_PREPARE} {plain}; write_rtlil m.il", "m.il")
    netlist = verilog.loops(
        verilog.run_yosys(both, "read_rtlil d.il; write_verilog -sv -norename -noattr d.sv", "d.sv"), "memory_row")
    structures = Structures(getattr(component, "geometry", None) or preset("tiny"), f"{TOP}_pkg")
    top = _switched(wrapper(TOP, NETLIST, ports, structures))
    types = structures.text("") if structures.typedefs else ""
    return Mutated(tuple(_fault(line, k) for k, line in enumerate(commands, 1)),
                   f"{types}{top}\n{netlist}", netlist, both)


def _switched(top: str) -> str:
    """Return the top module with one input more, the number of the fault."""
    instance, head = f"  {NETLIST} netlist (\n", f"module {TOP} (\n"
    if instance not in top or head not in top:
        raise ValueError("the top module does not have the netlist in it")
    top = top.replace(instance, f"{instance}    .{SELECT} ({SELECT}),\n")
    return top.replace(head, f"{head}  input  logic [{SELECT_BITS - 1}:0] {SELECT},\n")


def _fault(command: str, number: int) -> Fault:
    """Return the fault that a command of Yosys plants."""
    words = dict(re.findall(r"-(mode|module|cell|port|portbit|ctrlbit|wire|wirebit) (\S+)", command))
    lines = []
    for file, line in re.findall(r"(/[^\s|;]+):(\d+)", command):
        path = Path(file)
        if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            lines.append(f"{path.relative_to(ROOT)}:{line}")
    wire = f"{words['wire'].lstrip(chr(92))}[{words.get('wirebit', 0)}]" if "wire" in words else ""
    place = f"{words['module']} {words['cell']} {words['port']}[{words['portbit']}]".replace("\\", "")
    return Fault(number, words["mode"], place, wire, tuple(dict.fromkeys(lines)))
