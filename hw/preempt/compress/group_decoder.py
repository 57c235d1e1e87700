"""Group decoder, an inverse of `register_encoder`: the lanes of uniform and strided registers
(Lin et al. III-C)."""

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...arch.image.encodings import CODE_BITS, SMALLEST_GROUP, Encoding, decode
from ...interfaces.payloads import below
from ...lib.bits import chosen

__all__ = ["grouped", "group_words", "grouped_register", "decoded_beat", "GroupDecoder"]


def grouped(codes: Value) -> Value:
    """Return the vector of the uniform and strided registers among those with `codes`."""
    return Cat(codes[low:low + CODE_BITS] > Encoding.RANDOM
               for low in range(0, len(codes), CODE_BITS))


def group_words(g: Geometry, code: Value) -> Value:
    """Return the words of a uniform or strided register."""
    return (g.warp_size // 4 >> code[:2]) << code[2]


def grouped_register(
        g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008 - immutable
    """The words of a uniform or strided register, or a dead one, which has none."""
    return data.StructLayout({"words": data.ArrayLayout(32, 2 * g.warp_size // SMALLEST_GROUP),
                              "code": Encoding, "tag": tag})


def decoded_beat(
        g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008 - immutable
    """Beat `beat` of a register; `last` marks the final one.
    The words of a dead register are zero."""
    return data.StructLayout({"words": data.ArrayLayout(32, g.lanes),
                              "beat": below(g.beats), "last": 1, "dead": 1, "tag": tag})


def times(value: Value, number: int) -> Value:
    """Return the multiple of a value as sums of it in other places: a multiplication, even by a
    constant, becomes a multiplier of the FPGA, which only lanes are to have."""
    if not number:
        return Const(0)
    low = (number & -number).bit_length() - 1
    if number >> low == 7:
        return ((value << 3) - value) << low
    return sum((value << place for place in range(number.bit_length()) if number >> place & 1),
               start=Const(0))


class GroupDecoder(wiring.Component):
    """Gives out the values of registers, one beat per cycle, `LATENCY` cycles after the input.

    Each register has ``warp_size / lanes`` beats.

    Parameters
    ----------
    g : Geometry
    tag : ShapeLike
        Shape of the tag that a register carries along.

    Attributes
    ----------
    input : stream, in
        `grouped_register`.
    output : stream, out
        `decoded_beat`.
    """

    LATENCY = 1
    input: stream.Interface
    output: stream.Interface

    def __init__(self, g: Geometry, tag: ShapeLike = unsigned(1)):  # noqa: B008
        self.geometry, self.tag = g, tag
        super().__init__({"input": In(stream.Signature(grouped_register(g, tag))),
                          "output": Out(stream.Signature(decoded_beat(g, tag)))})

    def compute(self, codes: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the values of many registers, as `hw.arch.image.encodings.decode`."""
        return decode(codes, words, self.geometry.lanes)

    def elaborate(self, platform: Any):
        m = Module()
        beats = self.geometry.beats
        entering, out = self.input.payload, self.output.payload
        beat = Signal(range(max(2, beats)))
        final = Signal()
        free = Signal()
        input_taken = Signal()
        m.d.comb += [free.eq(~self.output.valid | self.output.ready),
                     input_taken.eq(self.input.valid & free), final.eq(beat == beats - 1),
                     self.input.ready.eq(free & final)]
        with m.If(free):
            m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(input_taken):
            m.d.sync += [
                Value.cast(out.words).eq(Cat(self._lanes(m, beat))), out.beat.eq(beat),
                out.last.eq(final), out.dead.eq(entering.code == Encoding.DEAD),
                beat.eq(Mux(final, 0, beat + 1))]
            m.d.sync += Value.cast(out.tag).eq(Value.cast(entering.tag))
        return m

    def _lanes(self, m: Module, beat: Value):
        """Return the words of a beat."""
        g, entering = self.geometry, self.input.payload
        code, words = Value.cast(entering.code), entering.words
        width, strided, dead = code[:2], code[2], code == Encoding.DEAD
        of_warp = g.warp_size // SMALLEST_GROUP
        of_beat = max(1, g.lanes // SMALLEST_GROUP)
        places = {n << way for n in range(of_warp) for way in (0, 1)}
        eights = []  # first and step of each eight lanes of the beat
        for k in range(of_beat):
            base, step = Signal(32, name=f"base_{k}"), Signal(32, name=f"step_{k}")
            number = Signal(range(max(2, of_warp)), name=f"eight_{k}")  # in the warp
            group = Signal.like(number, name=f"group_{k}")
            inside = Signal(2, name=f"inside_{k}")  # in its group
            m.d.comb += [
                number.eq((beat >> exact_log2(max(1, SMALLEST_GROUP // g.lanes)))
                          * of_beat + k),
                group.eq(Mux(width == 1, number, Mux(width == 2, number >> 1, number >> 2))),
                inside.eq(Mux(width == 1, 0, Mux(width == 2, number[:1], number))),
                step.eq(Mux(strided, chosen({n: words[2 * n + 1] for n in range(of_warp)}, group),
                            0)),
                base.eq(Mux(dead, 0, chosen({n: words[n] for n in places},
                                            Mux(strided, group << 1, group)))
                        + Mux(inside[1], step << 4, 0) + Mux(inside[0], step << 3, 0))]
            eights.append((base, step))
        lanes = []
        for lane in range(g.lanes):
            base, step = eights[lane // SMALLEST_GROUP]
            starts = [(n * g.lanes + lane) % SMALLEST_GROUP for n in range(g.beats)]
            moved = times(step, starts[0])
            if len(set(starts)) > 1:
                moved = Mux(beat[0], times(step, starts[-1]), moved)
            value = Signal(32, name=f"value_{lane}")
            m.d.comb += value.eq(base + moved)
            lanes.append(value)
        return lanes
