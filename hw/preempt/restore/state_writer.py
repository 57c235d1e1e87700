"""State writer, for predicates, uniform registers and SIMT stacks of restored warps::

    chunks of words --> queue --> Unpacker --+--> predicates, uniform registers, stack entries
    warps ------------> queue --> walk ------+
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import CHUNK_WORDS, PC_BITS, PC_NONE, PREDICATES, UNIFORMS, Geometry
from ...arch.image.context import STACK_ENTRY, STACK_WORDS, Reconvergence
from ...interfaces.payloads import below, predicate_restore, stack_push, uniform_restore
from ...lib.bits import lowest_number, pick, without_lowest
from ...lib.stream_queue import StreamQueue
from ..formats.kept_uniforms import KeptUniforms
from ..formats.uniform_pairs import lowest_pair, uniform_pairs, without_lowest_pair
from ..formats.unpacker import Unpacker, word_beat
from .tbs_under_way import TbsUnderWay

__all__ = ["warp_state", "entry_words", "StateWriter"]

WORDS_AHEAD = 512
"""Words that wait while earlier ones are written."""
WARPS_AHEAD = 16
"""Warps whose state waits to be written."""


def warp_state(g: Geometry) -> data.StructLayout:
    """State of a warp to be written: the predicates and uniform registers with a bit, those
    `repeated` of the warp before, and `depth` entries of the SIMT stack, a warp with lanes `live`.
    `bank` tells TBs that follow each other apart."""
    return data.StructLayout({"warp": below(g.warps), "predicates": PREDICATES,
                              "uniforms": UNIFORMS, "repeated": UNIFORMS,
                              "depth": range(g.stack_depth + 1),
                              "live": g.warp_size, "bank": 1})


def entry_words(word: Value) -> Value:
    """Return the words of a stack entry that begins with `word`."""
    entry = data.View(STACK_ENTRY, word)
    return 1 + ~entry.whole + (entry.reconv == Reconvergence.OWN)


class StateWriter(wiring.Component):
    """Writes a predicate, a pair of uniform registers and a stack entry a cycle, as far as they
    follow one another in four words of the image; and a pair of repeated uniform registers in each
    cycle without another.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    job : stream, in
        A `warp_state` with at least one stack entry.
    words : stream, in
        The words of the jobs, in order, in chunks that jobs may not share.
    restore_predicate : stream, out; restore_uniform : out
    stack_push : stream, out
        Writes to the core. While a predicate waits, nothing behind it is written.
    pending : Signal(2), out
        Banks of which something is not written yet.
    """

    job: stream.Interface
    words: stream.Interface
    restore_predicate: stream.Interface
    restore_uniform: data.View
    stack_push: stream.Interface
    pending: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "job": In(stream.Signature(warp_state(g))),
            "words": In(stream.Signature(word_beat(g.chunk_words))),
            "restore_predicate": Out(stream.Signature(predicate_restore(g))),
            "restore_uniform": Out(uniform_restore(g)),
            "stack_push": Out(stream.Signature(stack_push(g))), "pending": Out(2),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.jobs = jobs = StreamQueue(warp_state(g), WARPS_AHEAD)
        m.submodules.chunks = chunks = StreamQueue(
            word_beat(g.chunk_words), WORDS_AHEAD // g.chunk_words, buffered=True)
        m.submodules.unpacker = unpacker = Unpacker(g.chunk_words)
        m.submodules.under_way = under_way = TbsUnderWay(WARPS_AHEAD + 1)
        wiring.connect(m, wiring.flipped(self.job), jobs.input)
        wiring.connect(m, wiring.flipped(self.words), chunks.input)
        wiring.connect(m, chunks.output, unpacker.beat)

        job = Signal(warp_state(g))  # what is left of the warp in hand
        words, level = Value.cast(unpacker.words), unpacker.level
        predicate, push = self.restore_predicate.payload, self.stack_push
        lowest = Signal(range(UNIFORMS // 2))  # pair of uniform registers
        pair = Signal(2)  # those of it to be written
        own = Signal()  # they are
        count = Signal(range(3))
        entry = Signal(STACK_ENTRY)
        before = Signal(2)  # words in front of it
        through = Signal(range(CHUNK_WORDS + STACK_WORDS))  # words up to its last
        there = Signal()  # all of these have come
        further = Signal(64)  # those after the first
        under = Signal(data.StructLayout({"pc": PC_BITS, "reconv": PC_BITS}))  # the entry below
        pushed = Signal()
        over = Signal()  # the last entry of the warp is written
        # For each word that the entry may begin with, since it is known late which it is.
        ends = [Signal.like(through, name=f"end_{k}") for k in range(CHUNK_WORDS)]
        m.d.comb += [end.eq(k + entry_words(words.word_select(k, 32)))
                     for k, end in enumerate(ends)]
        m.d.comb += [
            predicate.warp.eq(job.warp), predicate.predicate.eq(lowest_number(job.predicates)),
            predicate.value.eq(words), lowest.eq(lowest_number(uniform_pairs(job.uniforms))),
            pair.eq(lowest_pair(job.uniforms)),
            count.eq(pair[0] + pair[1]),
            push.payload.warp.eq(job.warp), push.payload.pc.eq(entry.pc),
            push.payload.mask.eq(Mux(entry.whole, job.live, further[:len(job.live)])),
            push.payload.reconv.eq(Mux(entry.whole, further[:PC_BITS], further[32:32 + PC_BITS])),
            through.eq(pick(ends, before)), there.eq(pick([level >= end for end in ends], before)),
        ]
        with m.Switch(entry.reconv):
            for kind, reconv in ((Reconvergence.NONE, Const(PC_NONE, PC_BITS)),
                                 (Reconvergence.BELOW, under.pc),
                                 (Reconvergence.SAME, under.reconv)):
                with m.Case(kind):
                    m.d.comb += push.payload.reconv.eq(reconv)
        # The last predicate goes with the first uniform registers, the last of these with a stack
        # entry.
        has_predicate = job.predicates.any()
        written = self.restore_predicate.valid & self.restore_predicate.ready
        goes_on = ~has_predicate | self.restore_predicate.ready
        predicates, uniforms = without_lowest(job.predicates), without_lowest_pair(job.uniforms)
        values = Mux(has_predicate, words[32:], words)
        repeated = self._uniforms(m, job, own, lowest, pair,
                                  Cat(values[:32], Mux(pair[0], values[32:64], values[:32])))
        m.d.comb += [
            self.restore_predicate.valid.eq(has_predicate & (level != 0)),
            own.eq(goes_on & ~predicates.any() & (level >= before) & job.uniforms.any()),
            before.eq(has_predicate + count),
            push.valid.eq((job.depth != 0) & goes_on & ~predicates.any() & ~uniforms.any()
                          & ~repeated.any() & there),
            pushed.eq(push.valid & push.ready), over.eq(pushed & (job.depth == 1)),
            unpacker.take.eq(Mux(pushed, through, written + Mux(own, count, 0))),
            Cat(entry, further).eq(words >> (before << 5)),
        ]
        with m.If(written):
            m.d.sync += job.predicates.eq(predicates)
        with m.If(own):
            m.d.sync += job.uniforms.eq(uniforms)
        m.d.sync += job.repeated.eq(repeated)
        with m.If(pushed):
            m.d.sync += [job.depth.eq(job.depth - 1), under.pc.eq(push.payload.pc),
                         under.reconv.eq(push.payload.reconv)]
        m.d.comb += jobs.output.ready.eq((job.depth == 0) | over)
        with m.If(jobs.output.valid & jobs.output.ready):
            m.d.sync += [job.eq(jobs.output.payload), under.pc.eq(PC_NONE),
                         under.reconv.eq(PC_NONE)]
        m.d.comb += [
            under_way.begins.eq(self.job.valid & self.job.ready),
            under_way.begun.eq(self.job.payload.bank), under_way.ends.eq(over),
            under_way.ended.eq(job.bank), self.pending.eq(under_way.pending),
        ]
        return m

    def _uniforms(self, m: Module, job: data.View, own: Value, lowest: Value, pair: Value,
                  values: Value):
        """Write the `pair` number `lowest` of uniform registers from the image if it is there, else
        one of those repeated; return the vector of the repeated ones left."""
        uniform = self.restore_uniform
        m.d.comb += uniform.warp.eq(job.warp)
        repeats_left = Signal(UNIFORMS)
        with m.If(own):
            m.d.comb += [uniform.pair.eq(lowest), uniform.valid.eq(pair),
                         Value.cast(uniform.values).eq(values)]
        if not self.geometry.tb_compressor:
            return repeats_left
        m.submodules.kept_uniforms = kept = KeptUniforms()
        m.d.comb += [
            kept.select.eq(lowest_number(uniform_pairs(job.repeated))),
            repeats_left.eq(job.repeated),
            kept.pair.eq(lowest), kept.write.eq(Mux(own, pair, 0)),
            Value.cast(kept.new).eq(values),
        ]
        with m.If(~own):
            m.d.comb += [uniform.pair.eq(kept.select),
                         Value.cast(uniform.values).eq(Value.cast(kept.values)),
                         uniform.valid.eq(job.repeated.word_select(kept.select, 2)),
                         repeats_left.eq(without_lowest_pair(job.repeated))]
        return repeats_left
