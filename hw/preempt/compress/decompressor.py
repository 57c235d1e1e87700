"""Warp-level register decompressor, the inverse of `compressor` (Lin et al. III-C)."""

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.patterns import SMALLEST_PAG, Pattern, expand
from .compressor import PAG_BITS, encoded, group_count
from .group_decoder import decoded_beat

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Gives out the values of encoded registers, one beat per cycle, `LATENCY` cycles after the
    input.

    A uniform, strided or dead register comes as one beat and leaves as ``warp_size / lanes`` beats;
    a random one leaves as it came.

    Parameters
    ----------
    g : Geometry
    tag : ShapeLike
        Shape of the tag that a register carries along.

    Attributes
    ----------
    pag : Signal, in
        Lanes of a group: 8, 16 or 32, at most `warp_size`; constant while registers are under way.
    input : stream, in
        `compressor.encoded`; `count` and `last` are not looked at.
    output : stream, out
        `decoded_beat`.
    """

    LATENCY = 1
    pag: Signal
    input: stream.Interface
    output: stream.Interface

    def __init__(self, g: Geometry, tag: ShapeLike = unsigned(1)):  # noqa: B008
        self.geometry, self.tag = g, tag
        super().__init__({"pag": In(PAG_BITS), "input": In(stream.Signature(encoded(g, tag))),
                          "output": Out(stream.Signature(decoded_beat(g, tag)))})

    def compute(self, codes: np.ndarray, words: np.ndarray, pag: int) -> np.ndarray:
        """Return the values of many registers, as `hw.arch.image.patterns.expand`."""
        return expand(codes, words, pag)

    def elaborate(self, platform: Any):
        m = Module()
        g, beats = self.geometry, self.geometry.beats
        entering, out = self.input.payload, self.output.payload
        beat = Signal(range(max(2, beats)))
        final = Signal()
        free = Signal()
        input_taken = Signal()
        random = entering.code == Pattern.RANDOM
        m.d.comb += [free.eq(~self.output.valid | self.output.ready),
                     input_taken.eq(self.input.valid & free),
                     final.eq(beat == beats - 1), self.input.ready.eq(free & (random | final))]
        values = Mux(random, Value.cast(entering.words)[:32 * g.lanes], Cat(self._lanes(m, beat)))
        with m.If(free):
            m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(input_taken):
            m.d.sync += [Value.cast(out.words).eq(values), out.beat.eq(beat), out.last.eq(final),
                         out.dead.eq(entering.code == Pattern.DEAD),
                         beat.eq(Mux(final, 0, beat + 1))]
            m.d.sync += Value.cast(out.tag).eq(Value.cast(entering.tag))
        return m

    def _lanes(self, m: Module, beat: Value):
        """Return the words of a beat of a register that is not random."""
        g, code, words = self.geometry, self.input.payload.code, self.input.payload.words
        strided = code == Pattern.STRIDED
        eights = []  # base and step of each eight lanes, the offset into their group added
        for k in range(group_count(g)):
            base = Signal(32, name=f"base_{k}")
            step = Signal(32, name=f"step_{k}")
            group = Mux(self.pag[3], k, Mux(self.pag[4], k // 2, k // 4))
            offset = Mux(self.pag[3], 0,
                         Mux(self.pag[4], SMALLEST_PAG * (k % 2), SMALLEST_PAG * (k % 4)))
            first = Mux(strided, words[2 * group], words[group])
            m.d.comb += [step.eq(Mux(strided, words[2 * group + 1], 0)),
                         base.eq(Mux(code == Pattern.DEAD, 0, first + step * offset))]
            eights.append((base, step))
        lanes = []
        for lane in range(g.lanes):
            bases = Cat(eights[(n * g.lanes + lane) // SMALLEST_PAG][0] for n in range(g.beats))
            steps = Cat(eights[(n * g.lanes + lane) // SMALLEST_PAG][1] for n in range(g.beats))
            starts = [(n * g.lanes + lane) % SMALLEST_PAG for n in range(g.beats)]
            offset = Mux(beat[0], starts[-1], starts[0]) if len(set(starts)) > 1 else starts[0]
            value = Signal(32, name=f"value_{lane}")
            m.d.comb += value.eq(bases.word_select(beat, 32) + steps.word_select(beat, 32) * offset)
            lanes.append(value)
        return lanes
