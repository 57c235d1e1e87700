"""One segment at a time: its lanes change it in ascending order."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ....arch.geometry import Geometry
from ....interfaces import payloads as payload
from ....lib.bits import look_up, lowest
from ....memory.ports import WriteInterface, WritePort
from ..coalescer import OFFSET_BITS
from .entries import PLACE_BITS, WORDS, entry, operand, trace_atomic
from .pipeline import AtomicPipeline
from .write_back import SegmentWriter

__all__ = ["SegmentEngine"]


class SegmentEngine(wiring.Component):
    """Fetches the words of a segment, performs its lanes, and has the result written.

    The time is two cycles, one for each bus beat fetched, one for each lane, three for the last
    lane to end, and one for each beat written. A lane on the word of the lane before it takes 3
    cycles, or 7 for an f32 sum.

    Attributes
    ----------
    waiting : Signal(1), in
        There is a segment: `entry`, `operands`, `failed`, constant until `finish`.
    entry, operands : in
        `entries.entry`, and `entries.operand` of each lane.
    failed : Signal(1), in
        The segment could not be read.
    forgotten : Signal(1), in
        The warp was forgotten: no lane is performed and no burst begun any more.
    number : Signal, out; row : Signal, in
        A bus beat of the segment, and its data in the same cycle.
    finish : Signal(1), out
        One cycle: the burst has been sent and the registers are written.
    wrote, read_failed : Signal(1), out
        There was a burst; nothing was done as the segment, or one before it, had failed. Both come
        with `finish`.
    write : stream of tagged register_write, out
    port : WritePort, out
        Without the acknowledgements, which the user takes.
    trace : Out
    """

    waiting: Signal
    entry: View
    operands: View
    failed: Signal
    forgotten: Signal
    number: Signal
    row: Signal
    finish: Signal
    wrote: Signal
    read_failed: Signal
    write: stream.Interface
    port: WriteInterface
    trace: View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "waiting": In(1), "entry": In(entry(g)), "failed": In(1),
            "forgotten": In(1),
            "operands": In(data.ArrayLayout(operand(), g.warp_size)),
            "number": Out(range(g.burst_beats)), "row": In(8 * g.bus_bytes),
            "finish": Out(1), "wrote": Out(1), "read_failed": Out(1),
            "write": Out(stream.Signature(payload.tagged(payload.register_write(g)))),
            "port": Out(WritePort(g)),
            "trace": Out(trace_atomic(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, here = self.geometry, self.entry
        words = [Signal(32, name=f"word_{w}") for w in range(WORDS)]
        changed = Signal(WORDS)  # words that lanes have changed
        rest = Signal(g.warp_size)  # lanes left
        abandoned = Signal()  # the segment before this one was lost, or one before it
        before = Signal()  # one of this instruction was
        filling = Signal()
        performing = Signal()
        m.submodules.pipeline = pipeline = AtomicPipeline(PLACE_BITS, payload.below(g.warp_size))
        writer = self._writer(m, pipeline, words, changed)
        m.d.comb += before.eq(abandoned & ~here.begins)
        broken = here.void | self.failed | before | self.forgotten
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.waiting):
                    m.d.sync += [rest.eq(Mux(broken, 0, here.mask)), changed.eq(0),
                                 self.read_failed.eq(broken), self.number.eq(here.first)]
                    m.next = "FILL"
            with m.State("FILL"):
                m.d.comb += filling.eq(1)
                m.d.sync += self.number.eq(self.number + 1)
                with m.If((self.number == here.last_beat) | self.read_failed):
                    m.next = "LANES"
            with m.State("LANES"):
                m.d.comb += performing.eq(rest.any() & ~self.forgotten)
                with m.If(self.forgotten):
                    m.d.sync += rest.eq(0)
                with m.If(~rest.any() & ~pipeline.busy):
                    m.d.comb += writer.start.eq(1)
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += self.finish.eq(writer.idle)
                with m.If(writer.idle):
                    m.d.sync += abandoned.eq((before | self.read_failed) & ~here.last)
                    m.next = "IDLE"
        m.d.comb += self.wrote.eq(writer.burst)
        self._lanes(m, pipeline, performing, rest)
        self._words(m, pipeline, filling, words, changed)
        return m

    def _writer(self, m: Module, pipeline: AtomicPipeline, words: Sequence[Value], changed: Value):
        """Connect the writer, which afterwards writes the segment and its registers."""
        here = self.entry
        m.submodules.writer = writer = SegmentWriter(self.geometry)
        wiring.connect(m, writer.write, wiring.flipped(self.write))
        wiring.connect(m, writer.port, wiring.flipped(self.port))
        m.d.comb += [
            writer.changed.eq(changed), writer.address.eq(here.address[OFFSET_BITS:]),
            writer.failed.eq(self.read_failed), writer.cancel.eq(self.forgotten),
            writer.generation.eq(here.generation), writer.warp.eq(here.warp),
            writer.base.eq(here.base), writer.register.eq(here.d),
            writer.registers.eq(Cat(here.writes_d, here.wide & here.writes_d)),
            writer.mask.eq(here.mask),
            writer.release.eq(here.last), writer.old.valid.eq(pipeline.read.valid),
            writer.old.lane.eq(pipeline.read.tag), writer.old.value.eq(pipeline.old),
        ]
        m.d.comb += [writer.words[w].eq(word) for w, word in enumerate(words)]
        return writer

    def _lanes(self, m: Module, pipeline: AtomicPipeline, performing: Value, rest: Signal):
        """Give the pipeline the lowest lane that is left, unless its word is in flight."""
        g, here, op = self.geometry, self.entry, pipeline.op
        chosen = Signal(g.warp_size)
        lane = Signal(payload.below(g.warp_size))
        row = Signal(operand())
        with m.If(performing):
            m.d.comb += [chosen.eq(lowest(rest)), op.valid.eq(~pipeline.holds)]
            m.d.comb += lane.eq(Cat(Cat(chosen[i] for i in range(g.warp_size) if i >> bit & 1).any()
                                    for bit in range(len(lane))))
            look_up(m, row, [self.operands[i] for i in range(g.warp_size)], lane)
        m.d.comb += [op.function.eq(here.function), op.wide.eq(here.wide),
                     op.tag.eq(lane), op.b.eq(row.b),
                     op.c.eq(row.c), op.place.eq(row.place)]
        with m.If(op.valid):
            m.d.sync += rest.eq(rest & ~chosen)

    def _words(self, m: Module, pipeline: AtomicPipeline, filling: Value, words: Sequence[Signal],
               changed: Signal):
        """The words of the segment, filled from `row`, and read and written by the pipeline."""
        g, read, result = self.geometry, pipeline.read, pipeline.result
        low = Signal(32)
        high = Signal(32)
        with m.If(read.valid):
            look_up(m, low, words, read.place)
            look_up(m, high, words[1::2], read.place[1:])
        m.d.comb += [pipeline.old.eq(Cat(low, Mux(read.wide, high, 0))),
                     self.trace.valid.eq(read.valid),
                     self.trace.warp.eq(self.entry.warp), self.trace.pc.eq(self.entry.pc),
                     self.trace.lane.eq(read.tag), self.trace.old.eq(pipeline.old)]
        with m.If(filling):
            for w, word in enumerate(words):
                with m.If(self.number == w // g.bus_words):
                    m.d.sync += word.eq(self.row.word_select(w % g.bus_words, 32))
        with m.If(result.valid & result.changed):
            for w, word in enumerate(words):
                with m.If(result.place == w):
                    m.d.sync += [word.eq(result.data[:32]), changed[w].eq(1)]
                if w & 1:
                    with m.If(result.wide & (result.place == w - 1)):
                        m.d.sync += [word.eq(result.data[32:]), changed[w].eq(1)]
