"""The uniform registers of the warps: 32 words each, kept as pairs."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import UNIFORMS, Geometry
from ...interfaces import payloads as payload
from ...interfaces.port import Port
from ...lib.bits import one_hot, spread

__all__ = ["UniformReadPort", "UniformRegisters"]


class UniformReadPort(wiring.Signature):
    """Reads three uniform registers of a warp. Combinational; directions are the reader's.

    Attributes
    ----------
    select : struct, out
        A `warp`, and the numbers of its registers `a`, `b` and `c`.
    a, b, c : Signal(32), in
        Their values.
    """

    def __init__(self, g: Geometry):
        select = data.StructLayout({"warp": payload.below(g.warps),
                                    **dict.fromkeys("abc", range(UNIFORMS))})
        super().__init__({"select": Out(select), **dict.fromkeys("abc", In(32))})


class UniformRegisters(wiring.Component):
    """The uniform registers of all warp slots, with a "written" bit each; every read is
    combinational.

    A register that was not written since `clear` reads 0. There is one write per cycle. A write of
    the preemption unit, to a register or a pair, goes first, then the unit's, then the constant
    unit's. Even and odd registers have a memory each, so the preemption unit moves one pair per
    cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    read : UniformReadPort, in
        Read port of the issue stage.
    result, constant : in stream
        `payloads.uniform_write` of `UniformUnit` and of the constant unit; visible from the next
        cycle.
    restore : payloads.uniform_restore, in
        Written by the preemption unit.
    clear : In(valid, warp)
        Makes the registers of a warp unwritten.
    reserve : Signal(warps), in
        The warp that issues an instruction which will write a register, one-hot.
    remote : Signal(1), in
        The write that `reserve` announces comes over the bus.
    forget : Signal(warps), in
        Vector: no write is to come any more.
    outstanding : Signal(warps), out
        The reserved write is still to come.
    near : Signal(warps), out
        The reserved write is still to come, and not over the bus.
    save_warp, save_select, save_values : in, out
        A pair of registers of a warp, for the preemption unit.
    written : Signal(UNIFORMS), out
        Registers of warp `save_warp` that have been written.
    trace : payloads.uniform_trace, out
        Each write of an instruction.
    """

    read: Port
    result: stream.Interface
    constant: stream.Interface
    restore: data.View
    clear: data.View
    reserve: Signal
    remote: Signal
    forget: Signal
    outstanding: Signal
    near: Signal
    save_warp: Signal
    save_select: Signal
    save_values: data.View
    written: Signal
    trace: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = payload.below(g.warps)
        super().__init__({
            "read": In(UniformReadPort(g)),
            "result": In(stream.Signature(payload.uniform_write(g))),
            "constant": In(stream.Signature(payload.uniform_write(g))),
            "restore": In(payload.uniform_restore(g)), "clear": In(payload.warp_event(g)),
            "reserve": In(g.warps), "remote": In(1), "forget": In(g.warps),
            "outstanding": Out(g.warps), "near": Out(g.warps),
            "save_warp": In(warp), "save_select": In(range(UNIFORMS // 2)),
            "save_values": Out(payload.uniform_pair()), "written": Out(UNIFORMS),
            "trace": Out(payload.uniform_trace(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        write = self._choose(m)
        m.submodules.even = even = Memory(shape=32, depth=UNIFORMS // 2 * warps, init=[])
        m.submodules.odd = odd = Memory(shape=32, depth=UNIFORMS // 2 * warps, init=[])
        m.submodules.written = written = Memory(shape=UNIFORMS, depth=warps, init=[])
        fresh = Signal(warps, init=(1 << warps) - 1)  # nothing written, whatever the memory holds

        def row(warp: Value, name: str):
            port = written.read_port(domain="comb")
            bits = Signal(UNIFORMS, name=f"{name}_row")
            m.d.comb += [port.addr.eq(warp), bits.eq(Mux(fresh.bit_select(warp, 1), 0, port.data))]
            return bits

        def pair(warp: Value, number: Value):
            low = even.read_port(domain="comb")
            high = odd.read_port(domain="comb")
            m.d.comb += [port.addr.eq(Cat(number, warp)) for port in (low, high)]
            return low.data, high.data

        select = self.read.select
        issuing, saving = row(select.warp, "select"), row(self.save_warp, "save")
        for name, value in (("a", self.read.a), ("b", self.read.b), ("c", self.read.c)):
            number = select[name]
            low, high = pair(select.warp, number[1:])
            m.d.comb += value.eq(Mux(issuing.bit_select(number, 1), Mux(number[0], high, low), 0))
        saved = pair(self.save_warp, self.save_select)
        m.d.comb += self.written.eq(saving)
        m.d.comb += [self.save_values[half].eq(Mux(
            saving.word_select(self.save_select, 2)[half], saved[half], 0)) for half in range(2)]

        valid = write.valid.any()
        flags = written.write_port()
        used = Signal(warps)
        cleared = Signal(warps)
        m.d.comb += [
            flags.addr.eq(write.warp), flags.en.eq(valid),
            flags.data.eq(row(write.warp, "write") | Cat(
                spread(at, 2) & write.valid for at in one_hot(write.pair, UNIFORMS // 2))),
            used.eq(one_hot(write.warp, warps) & spread(valid, warps)),
            cleared.eq(one_hot(self.clear.warp, warps) & spread(self.clear.valid, warps)),
        ]
        for half, bank in enumerate((even, odd)):
            port = bank.write_port()
            m.d.comb += [port.addr.eq(Cat(write.pair, write.warp)),
                         port.data.eq(write.values[half]), port.en.eq(write.valid[half])]
        m.d.sync += fresh.eq(fresh & ~used | cleared)
        return m

    def _choose(self, m: Module):
        """Choose the write of this cycle, and keep account of those to come."""
        g, restore = self.geometry, self.restore
        write = Signal(payload.uniform_restore(g))
        unit, constant = self.result, self.constant
        chosen = Signal(payload.uniform_write(g))
        write_accepted = Signal()
        restoring = Signal()
        m.d.comb += [
            restoring.eq(restore.valid.any()),
            unit.ready.eq(~restoring), constant.ready.eq(~restoring & ~unit.valid),
            write_accepted.eq(~restoring & (unit.valid | constant.valid)),
            chosen.eq(Mux(unit.valid, unit.payload, constant.payload)),
            self.trace.valid.eq(write_accepted & chosen.keep), self.trace.warp.eq(chosen.warp),
            self.trace.register.eq(chosen.register), self.trace.value.eq(chosen.data),
            write.eq(restore),
        ]
        with m.If(~restoring):
            m.d.comb += [write.warp.eq(chosen.warp), write.pair.eq(chosen.register[1:]),
                         write.valid.eq(self.trace.valid << chosen.register[0]),
                         *(value.eq(chosen.data) for value in write.values)]
        far = Signal(g.warps)  # the last write that was reserved comes over the bus
        m.d.sync += [
            self.outstanding.eq((self.outstanding | self.reserve) & ~self.forget
                                & ~(one_hot(chosen.warp, g.warps)
                                    & spread(write_accepted, g.warps))),
            far.eq(far & ~self.reserve | self.reserve & spread(self.remote, g.warps)),
        ]
        m.d.comb += self.near.eq(self.outstanding & ~far)
        return write
