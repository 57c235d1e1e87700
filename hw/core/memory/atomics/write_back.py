"""Writes a segment that atomics have changed to memory, and what they found to the registers."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ....interfaces import payloads as payload
from ....lib.bits import encode, look_up, lowest
from ....memory.ports import WriteInterface, WritePort

__all__ = ["SegmentWriter"]

WORDS = SEGMENT_BYTES // WORD_BYTES


class SegmentWriter(wiring.Component):
    """One burst from the first changed beat to the last, and beside it one or two registers.

    Inputs other than `old`, `start` and `cancel` must not change from `start` until `idle`.

    Attributes
    ----------
    start : Signal(1), in
    idle : Signal(1), out
        Everything has been taken; from the cycle after `start` on.
    words, changed, address : In
        The segment: `changed` has one bit per word, `address` is the segment's number.
    old : In
        Value that a lane found; comes before `start`.
    cancel : Signal(1), in
        A burst of which nothing has been taken is not sent; of another the rest has no strobes.
        Once high it stays so until `idle`.
    burst : Signal(1), out
        There was a burst, with `idle`.
    warp, generation, base, register, mask, release : In
        Writes and releases of registers. `release` goes with the last beat of each register.
    registers : Signal(2), in
        Which of `register` and ``register + 1`` are written; 0, 1 or 3.
    failed : Signal(1), in
        Registers are written with empty masks.
    write : stream of tagged register_write, out
    port : WritePort, out
        Without the acknowledgements, which the user takes.
    """

    start: Signal
    idle: Signal
    words: View
    changed: Signal
    address: Signal
    old: View
    cancel: Signal
    burst: Signal
    warp: Signal
    generation: Signal
    base: Signal
    register: Signal
    registers: Signal
    mask: Signal
    release: Signal
    failed: Signal
    write: stream.Interface
    port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "start": In(1), "idle": Out(1), "words": In(data.ArrayLayout(32, WORDS)),
            "changed": In(WORDS), "address": In(ADDRESS_BITS - exact_log2(SEGMENT_BYTES)),
            "old": In(data.StructLayout({"valid": 1, "lane": payload.below(g.warp_size),
                                         "value": 64})),
            "cancel": In(1), "burst": Out(1), "generation": In(payload.GENERATION_BITS),
            "warp": In(payload.below(g.warps)), "base": In(payload.physical(g)), "register": In(6),
            "registers": In(2), "mask": In(g.warp_size), "release": In(1), "failed": In(1),
            "write": Out(stream.Signature(payload.tagged(payload.register_write(g)))),
            "port": Out(WritePort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        asking = Signal()
        sending = Signal()
        writing = Signal()
        m.d.comb += self.idle.eq(~asking & ~sending & ~writing)
        self._burst(m, asking, sending)
        self._registers(m, writing)
        return m

    def _burst(self, m: Module, asking: Signal, sending: Signal):
        """The burst to memory; a request and its first beat are offered together."""
        g, port = self.geometry, self.port
        first = Signal(range(g.burst_beats))
        last = Signal(range(g.burst_beats))
        number = Signal(range(g.burst_beats))
        touched = Signal(g.burst_beats)
        low = Signal(g.burst_beats)
        high = Signal(g.burst_beats)
        backwards = Signal(g.burst_beats)
        m.d.comb += touched.eq(Cat(self.changed.word_select(b, g.bus_words).any()
                                   for b in range(g.burst_beats)))
        withdrawn = Signal()
        m.d.comb += withdrawn.eq(self.cancel & asking & sending & (number == first))
        with m.If(port.request.ready):
            m.d.sync += asking.eq(0)
        with m.If(sending & port.beat.ready):
            m.d.sync += [number.eq(number + 1), sending.eq(~port.beat.payload.last)]
        with m.If(withdrawn):
            m.d.sync += [asking.eq(0), sending.eq(0), self.burst.eq(0)]
        with m.If(self.start):
            m.d.comb += [low.eq(lowest(touched)), backwards.eq(lowest(touched[::-1])),
                         high.eq(backwards[::-1])]
            m.d.sync += [asking.eq(touched.any()), sending.eq(touched.any()),
                         self.burst.eq(touched.any()), first.eq(encode(low)),
                         number.eq(encode(low)), last.eq(encode(high))]
        m.d.comb += [
            port.request.valid.eq(asking & ~withdrawn),
            port.request.payload.extra_beats.eq(last - first),
            port.request.payload.address.eq(Cat(Const(0, exact_log2(g.bus_bytes)),
                                                first, self.address)),
            port.beat.valid.eq(sending & ~withdrawn), port.beat.payload.last.eq(number == last),
        ]
        with m.If(sending):
            beats = [Cat(self.words[b * g.bus_words + w] for w in range(g.bus_words))
                     for b in range(g.burst_beats)]
            strobes = [Cat(self.changed[b * g.bus_words + w].replicate(WORD_BYTES)
                           for w in range(g.bus_words)) for b in range(g.burst_beats)]
            look_up(m, port.beat.payload.data, beats, number)
            with m.If(~self.cancel):
                look_up(m, port.beat.payload.strobe, strobes, number)

    def _registers(self, m: Module, writing: Signal):
        """The registers, low words first; what is not written is 0."""
        g, out = self.geometry, self.write.payload
        beat = Signal(payload.below(g.beats))
        upper = Signal()
        mask = Signal(g.lanes)
        rows = [self._store(m, name, self.old.value[low:low + 32], beat)
                for name, low in (("low", 0), ("high", 32))]
        with m.If(writing):
            look_up(m, mask, [self.mask.word_select(b, g.lanes) for b in range(g.beats)], beat)
            m.d.comb += [out.mask.eq(Mux(self.failed, 0, mask)),
                         out.warp.eq(self.warp), out.generation.eq(self.generation),
                         out.base.eq(self.base),
                         out.register.eq(self.register | upper), out.beat.eq(beat),
                         out.last.eq(beat == g.beats - 1), out.release.eq(out.last & self.release)]
            for i in range(g.lanes):
                m.d.comb += out.data[i].eq(Mux(
                    out.mask[i], Mux(upper, *(row.word_select(i, 32) for row in rows[::-1])),
                    0))
        m.d.comb += self.write.valid.eq(writing)
        with m.If(self.start):
            m.d.sync += [writing.eq(self.registers[0]), beat.eq(0), upper.eq(0)]
        with m.Elif(writing & self.write.ready):
            m.d.sync += beat.eq(Mux(out.last, 0, beat + 1))
            with m.If(out.last):
                m.d.sync += [upper.eq(1), writing.eq(self.registers[1] & ~upper)]

    def _store(self, m: Module, name: str, value: Value, beat: Value):
        """A word of each lane; returns the row of `beat`."""
        g = self.geometry
        m.submodules[name] = store = memory.Memory(shape=32 * g.lanes, depth=g.beats, init=[])
        write = store.write_port(granularity=32)
        read = store.read_port(domain="comb")
        lane_bits = exact_log2(g.lanes)
        m.d.comb += [write.addr.eq(self.old.lane[lane_bits:]),
                     write.data.eq(value.replicate(g.lanes)), read.addr.eq(beat)]
        with m.If(self.old.valid):
            m.d.comb += write.en.eq(Const(1, g.lanes) << self.old.lane[:lane_bits])
        return read.data

