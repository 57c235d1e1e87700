"""Register decoder, the inverse of `register_encoder`."""

import numpy as np
from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.encodings import SMALLEST_GROUP, Encoding, decode, plane_bits
from ...arch.geometry import Geometry
from .decompressor import decoded_beat
from .register_encoder import encoded_beat

__all__ = ["RegisterDecoder"]


class RegisterDecoder(wiring.Component):
    """Gives out the values of encoded registers, a beat a cycle; `LATENCY` cycles from input to
    output.

    A uniform, strided or dead register comes as one beat and leaves as ``warp_size / lanes`` beats;
    another leaves as it came.

    Parameters
    ----------
    g : Geometry
    tag : ShapeLike
        What a register carries along.

    Attributes
    ----------
    input : stream, in
        `encoded_beat`; `count`, `first` and `last` are not looked at.
    output : stream, out
        `decompressor.decoded_beat`.
    """

    LATENCY = 1
    input: stream.Interface
    output: stream.Interface

    def __init__(self, g: Geometry, tag: ShapeLike = unsigned(1)):  # noqa: B008
        self.geometry, self.tag = g, tag
        super().__init__({"input": In(stream.Signature(encoded_beat(g, tag))),
                          "output": Out(stream.Signature(decoded_beat(g, tag)))})

    def compute(self, codes: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the values of many registers, as `hw.arch.encodings.decode`."""
        return decode(codes, words, self.geometry.lanes)

    def elaborate(self, platform):
        m = Module()
        beats = self.geometry.beats
        entering, out = self.input.payload, self.output.payload
        code = Value.cast(entering.code)
        beat = Signal(range(max(2, beats)))
        by_lane = Signal()
        final = Signal()
        free = Signal()
        go = Signal()
        m.d.comb += [by_lane.eq((code != Encoding.DEAD) & (code <= Encoding.RANDOM)),
                     free.eq(~self.output.valid | self.output.ready),
                     go.eq(self.input.valid & free), final.eq(beat == beats - 1),
                     self.input.ready.eq(free & (by_lane | final))]
        with m.If(free):
            m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(go):
            m.d.sync += [
                Value.cast(out.words).eq(Mux(by_lane, self._lanes(m, beat, go),
                                             Cat(self._groups(m, beat)))),
                out.beat.eq(beat), out.last.eq(final), out.dead.eq(code == Encoding.DEAD),
                beat.eq(Mux(final, 0, beat + 1))]
            m.d.sync += Value.cast(out.tag).eq(Value.cast(entering.tag))
        return m

    def _lanes(self, m, beat, go):
        """Return the words of a beat of which something is kept of each lane."""
        g, entering = self.geometry, self.input.payload
        code, words = Value.cast(entering.code), Value.cast(entering.words)
        thick = plane_bits(g.lanes)
        kept = Signal(32)  # the word of the first beat
        shared = Signal(32)
        low = Signal(32 * g.lanes)  # plane by plane
        own = Signal(32 // thick)  # planes that each lane has for itself
        m.d.comb += [shared.eq(Mux(beat == 0, words[:32], kept)),
                     low.eq(Mux(beat == 0, words[32:], words)),
                     own.eq(Cat(code > thick // 4 * k for k in range(32 // thick)))]
        with m.If(go):
            m.d.sync += kept.eq(shared)
        lanes = Cat(Mux(own[k], low[thick * (k * g.lanes + lane):][:thick],
                        shared[thick * k:thick * k + thick])
                    for lane in range(g.lanes) for k in range(32 // thick))
        return Mux(code == Encoding.RANDOM, words[:32 * g.lanes], lanes)

    def _groups(self, m, beat):
        """Return the words of a beat of a uniform, strided or dead register."""
        g, entering = self.geometry, self.input.payload
        code, words = Value.cast(entering.code), entering.words
        width, strided, dead = code[:2], code[2], code == Encoding.DEAD
        eights = []  # first and step of each eight lanes, the offset into their group added
        for k in range(g.warp_size // SMALLEST_GROUP):
            base = Signal(32, name=f"base_{k}")
            step = Signal(32, name=f"step_{k}")
            group, offset = (Mux(width == 1, of[0], Mux(width == 2, of[1], of[2])) for of in (
                (k, k // 2, k // 4),
                (0, SMALLEST_GROUP * (k % 2), SMALLEST_GROUP * (k % 4))))
            first = Mux(strided, words[2 * group], words[group])
            m.d.comb += [step.eq(Mux(strided, words[2 * group + 1], 0)),
                         base.eq(Mux(dead, 0, first + step * offset))]
            eights.append((base, step))
        lanes = []
        for lane in range(g.lanes):
            places = [n * g.lanes + lane for n in range(g.beats)]
            bases, steps = (Cat(eights[place // SMALLEST_GROUP][which] for place in places)
                            for which in (0, 1))
            starts = [place % SMALLEST_GROUP for place in places]
            offset = Mux(beat[0], starts[-1], starts[0]) if len(set(starts)) > 1 else starts[0]
            value = Signal(32, name=f"value_{lane}")
            m.d.comb += value.eq(bases.word_select(beat, 32) + steps.word_select(beat, 32) * offset)
            lanes.append(value)
        return lanes
