"""Instruction buffer: the one instruction each warp holds between fetch and issue."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import INSTRUCTION_BYTES, Geometry
from ...arch.isa.opcodes import Unit
from ...interfaces import payloads as payload
from ...interfaces.port import Port
from ...lib.bits import one_hot, spread
from ..execution_units import EXECUTION_UNITS

__all__ = ["InstructionBuffer", "InstructionPort", "fetched", "CLASSES"]

_WHOLE_UNITS = {row.name: row.unit for row in EXECUTION_UNITS if row.unit != Unit.GLOBAL}
CLASSES = ("alu", "load", "store", "atomic", *_WHOLE_UNITS, "uniform", "uses_u", "sync")
"""Instruction classes that issue depends on.

ALU; load, store and atomic of the global unit; shared access; constant load; f64, special function,
exchange; uniform data path; any instruction that reads or writes a uniform register; `bar.pp` or
`membar`.
"""


def fetched(g: Geometry) -> data.StructLayout:
    """A fetched word, or why there is none:
    PC out of the code (`bound`), memory error (`bus_error`). With `Geometry.traps`, whether it is
    one of a preemption `routine`, or a trap vector."""
    return data.StructLayout({"word": 8 * INSTRUCTION_BYTES, "bound": 1, "bus_error": 1,
                              **({"routine": 1} if g.traps else {})})


class InstructionPort(wiring.Signature):
    """Reads the instruction that a warp holds. Combinational; directions are the reader's.

    Attributes
    ----------
    warp : Signal, out
        The warp.
    instruction : fetched, in
        Its instruction, an old one if it holds none.
    """

    def __init__(self, g: Geometry):
        super().__init__({"warp": Out(payload.below(g.warps)), "instruction": In(fetched(g))})


class InstructionBuffer(wiring.Component):
    """One entry per warp.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    fill : In(valid, warp, instruction)
        Put an instruction into the (empty) entry of `warp`.
    op : View(interfaces.decoded()), in
        The same instruction decoded; ignored if there is no word.
    drop : Signal(warps), in
        Entries that become empty; wins over `fill`.
    held : Signal(warps), out
        Entries that hold an instruction.
    alu, load, store, atomic, shared, constant : Signal(warps), out
    f64, sfu, exchange, uniform, uses_u, sync : Signal(warps), out
        Entries whose instruction is of the class; others may hold an old value where `held` is
        clear.
    read : InstructionPort, in
        Read port of the issue stage.
    """

    fill: data.View
    op: data.View
    drop: Signal
    held: Signal
    alu: Signal
    load: Signal
    store: Signal
    atomic: Signal
    shared: Signal
    constant: Signal
    f64: Signal
    sfu: Signal
    exchange: Signal
    uniform: Signal
    uses_u: Signal
    sync: Signal
    read: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = payload.below(g.warps)
        super().__init__({
            "fill": In(data.StructLayout({"valid": 1, "warp": warp, "instruction": fetched(g)})),
            "op": In(payload.decoded()), "drop": In(g.warps), "held": Out(g.warps),
            **{name: Out(g.warps) for name in CLASSES},
            "read": In(InstructionPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        m.submodules.entries = entries = Memory(
            shape=fetched(self.geometry), depth=1 << len(self.read.warp), init=[])
        write = entries.write_port()
        read = entries.read_port(domain="comb")
        filled = Signal(warps)
        op, instruction = self.op, self.fill.instruction
        usable = Signal()
        m.d.comb += [
            write.addr.eq(self.fill.warp), write.data.eq(instruction), write.en.eq(self.fill.valid),
            read.addr.eq(self.read.warp), self.read.instruction.eq(read.data),
            filled.eq(one_hot(self.fill.warp, warps) & spread(self.fill.valid, warps)),
            usable.eq(~(instruction.bound | instruction.bus_error | op.illegal)),
        ]
        m.d.sync += self.held.eq((self.held | filled) & ~self.drop)
        is_global = op.unit == Unit.GLOBAL
        classes = {name: op.unit == unit for name, unit in (
            ("alu", Unit.ALU), *_WHOLE_UNITS.items(), ("uniform", Unit.UNIFORM))}
        classes |= {"load": is_global & ~op.store & ~op.atomic, "store": is_global & op.store,
                    "atomic": is_global & op.atomic, "sync": op.is_bar | op.is_membar,
                    "uses_u": op.uniform_a | op.uniform_b | op.uniform_c | op.writes_u}
        for name in CLASSES:
            vector = getattr(self, name)
            m.d.sync += vector.eq(vector & ~filled | filled & spread(usable & classes[name], warps))
        return m
