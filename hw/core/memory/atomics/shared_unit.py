"""Atomics on the banks of shared memory."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....arch.geometry import PC_BITS, Geometry
from ....interfaces import payloads as payload
from ....lib.bits import look_up
from .entries import trace_atomic
from .pipeline import AtomicPipeline

__all__ = ["SharedAtomics"]


class SharedAtomics(wiring.Component):
    """Performs one lane per cycle on words that the banks show a cycle after `op`; keeps the upper
    halves found.

    Parameters
    ----------
    g : Geometry
    rows : int
        Rows of a bank.

    Attributes
    ----------
    op : In
        ``valid`` with the one lane of `chosen` that goes now; `bank` and `row` of its (low) word.
    data : In
        b, c, high word of b and high word of c of every lane of the warp.
    holds : Signal(1), out
        The word of `op` is in flight: it must wait.
    busy : Signal(1), out
        Something is in flight, and may use the banks' write ports.
    words : In
        Words that the banks show.
    commit : Out
        To be written in the same cycle: `low` and, if `wide`, `high` in the bank after.
    beat : In
    high : Out
        Upper half that each lane of this beat found, of the instruction that has just been
        performed.
    trace : Out
    """

    op: View
    data: View
    holds: Signal
    busy: Signal
    words: View
    commit: View
    beat: Signal
    high: View
    trace: View

    def __init__(self, g: Geometry, rows: int):
        self.geometry = g
        bank, row = exact_log2(g.shared_banks), payload.below(rows)
        words = data.ArrayLayout(32, g.lanes)
        self.place = data.StructLayout({"bank": bank, "row": row})
        super().__init__({
            "op": In(data.StructLayout({"valid": 1, "function": 4, "wide": 1,
                                        "warp": payload.below(g.warps),
                                        "pc": PC_BITS, "beat": payload.below(g.beats),
                                        "chosen": g.lanes, "place": self.place})),
            "data": In(data.ArrayLayout(data.ArrayLayout(32, g.warp_size), 4)),
            "holds": Out(1), "busy": Out(1),
            "words": In(words),
            "commit": Out(data.StructLayout({"valid": 1, "wide": 1, "place": self.place,
                                             "low": 32, "high": 32})),
            "beat": In(payload.below(g.beats)), "high": Out(words), "trace": Out(trace_atomic(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, op = self.geometry, self.op
        tag = data.StructLayout({"warp": payload.below(g.warps), "pc": PC_BITS,
                                 "lane": payload.below(g.warp_size)})
        m.submodules.pipeline = pipeline = AtomicPipeline(self.place.size, tag)
        lane = self._lane(op)
        row = Signal(data.ArrayLayout(32, 4))
        with m.If(op.chosen.any()):
            look_up(m, row,
                    [Cat(words[i] for words in self.data) for i in range(g.warp_size)], lane)
        read, result = pipeline.read, pipeline.result
        m.d.comb += [
            pipeline.op.valid.eq(op.valid),
            pipeline.op.function.eq(op.function), pipeline.op.wide.eq(op.wide),
            pipeline.op.b.eq(Cat(row[0], row[2])), pipeline.op.c.eq(Cat(row[1], row[3])),
            pipeline.op.place.eq(op.place),
            pipeline.op.tag.warp.eq(op.warp), pipeline.op.tag.pc.eq(op.pc),
            pipeline.op.tag.lane.eq(lane),
            self.holds.eq(pipeline.holds), self.busy.eq(pipeline.busy),
            self.commit.valid.eq(result.valid & result.changed), self.commit.wide.eq(result.wide),
            self.commit.place.eq(result.place),
            Cat(self.commit.low, self.commit.high).eq(result.data),
            self.trace.valid.eq(read.valid),
            self.trace.warp.eq(read.tag.warp), self.trace.pc.eq(read.tag.pc),
            self.trace.lane.eq(read.tag.lane), self.trace.old.eq(pipeline.old),
        ]
        self._old(m, pipeline)
        return m

    def _lane(self, op: View):
        """Number of the chosen lane in its warp."""
        g = self.geometry
        number = Cat(Cat(op.chosen[i] for i in range(g.lanes) if i >> bit & 1).any()
                     for bit in range(exact_log2(g.lanes)))
        return Cat(number, op.beat)[:exact_log2(g.warp_size)]

    def _old(self, m: Module, pipeline: AtomicPipeline):
        """Give the pipeline the word it reads, and keep the upper half."""
        g, read = self.geometry, pipeline.read
        place = Signal(self.place)
        low = Signal(32)
        high = Signal(32)
        m.d.comb += place.eq(read.place)
        with m.If(read.valid):
            look_up(m, low, [self.words[b] for b in range(g.lanes)], place.bank)
            with m.If(read.wide):
                look_up(m, high, [self.words[b] for b in range(1, g.lanes, 2)], place.bank[1:])
        m.d.comb += pipeline.old.eq(Cat(low, high))
        m.submodules.upper = upper = memory.Memory(shape=32 * g.lanes, depth=g.beats, init=[])
        write = upper.write_port(granularity=32)
        kept = upper.read_port(domain="comb")
        bits = exact_log2(g.lanes)
        m.d.comb += [write.addr.eq(read.tag.lane[bits:]), write.data.eq(high.replicate(g.lanes)),
                     write.en.eq(Mux(read.valid & read.wide,
                                     Const(1, g.lanes) << read.tag.lane[:bits], 0)),
                     kept.addr.eq(self.beat), self.high.eq(kept.data)]
