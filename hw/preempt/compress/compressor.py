"""Warp-level register compressor (Lin et al. III-C, Fig. 10)::

    input --> subtractors --> [words, steps] --> comparators --> [row], [verdict] --> output
              lane - lane before                  all steps 0?          rows if random, else
                                                  all steps equal?      bases and steps of groups

Patterns and their encoding are those of `hw.arch.image.patterns`.
"""

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.patterns import SMALLEST_PAG, Pattern
from ...lib.stream_queue import StreamQueue

__all__ = ["PAG_BITS", "group_count", "register_beat", "encoded", "Compressor"]

PAG_BITS = 6
"""Bits of a number of lanes of a group: 8, 16 or 32."""


def group_count(g: Geometry) -> int:
    """Most groups of a register."""
    return g.warp_size // SMALLEST_PAG


def register_beat(
        g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008 - immutable
    """One beat of a register; `launched` has a bit for each of its lanes.
    A `raw` register is called random."""
    return data.StructLayout({"words": data.ArrayLayout(32, g.lanes),
                              "launched": g.lanes, "raw": 1, "tag": tag})


def encoded(g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008
    """The first `count` of `words` of an encoded register; `last` marks its last beat."""
    width = max(g.lanes, 2 * group_count(g))
    return data.StructLayout({"words": data.ArrayLayout(32, width),
                              "count": range(width + 1), "code": 2, "last": 1, "tag": tag})


class Compressor(wiring.Component):
    """Finds the pattern of each register and encodes it.

    A register comes as ``warp_size / lanes`` beats and leaves as one beat if it is uniform or
    strided, else as it came. Throughput is one beat per cycle. A register of one beat takes
    `LATENCY` cycles from input to output; a longer one is held until its last beat is in. A group
    may be split over beats.

    Parameters
    ----------
    g : Geometry
    tag : ShapeLike
        Shape of the tag that a register carries along; the tag of its last beat is given out.

    Attributes
    ----------
    pag : Signal, in
        Lanes of a group: 8, 16 or 32, at most `warp_size`; constant while registers are under way.
    input : stream, in
        `register_beat`.
    output : stream, out
        `encoded`.
    busy : Signal, out
        Something is held.
    """

    LATENCY = 2
    pag: Signal
    input: stream.Interface
    output: stream.Interface
    busy: Signal

    def __init__(self, g: Geometry, tag: ShapeLike = unsigned(1)):  # noqa: B008
        self.geometry, self.tag = g, tag
        super().__init__({"pag": In(PAG_BITS), "input": In(stream.Signature(register_beat(g, tag))),
                          "output": Out(stream.Signature(encoded(g, tag))), "busy": Out(1)})

    def compute(self, values: np.ndarray, launched: np.ndarray | int,
                pag: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware gives for many registers.

        Parameters
        ----------
        values : ndarray of uint32, shape (registers, warp_size)
        launched : int or ndarray of int, shape (registers,)
            Bit a lane; a prefix of the warp.
        pag : int

        Returns
        -------
        codes : ndarray of uint8, shape (registers,)
        words : ndarray of uint32, shape (registers, warp_size)
            Encoded words first, then zeros.
        """
        size, groups = self.geometry.warp_size, self.geometry.warp_size // pag
        present = (np.asarray(launched, np.uint32).reshape(-1, 1)
                   >> np.arange(size, dtype=np.uint32) & 1).astype(bool)
        present = np.broadcast_to(present, values.shape).reshape(-1, groups, pag)
        lanes = values.reshape(-1, groups, pag)
        steps, pair = lanes[:, :, 1:] - lanes[:, :, :-1], present[:, :, 1:]
        uniform = ((steps == 0) | ~pair).all(axis=(1, 2))
        strided = ((steps[:, :, 1:] == steps[:, :, :-1]) | ~pair[:, :, 1:]
                   | ~pair[:, :, :-1]).all(axis=(1, 2))
        codes = np.select([uniform, strided], [Pattern.UNIFORM, Pattern.STRIDED],
                          Pattern.RANDOM).astype(np.uint8)
        base = np.where(present[:, :, 0], lanes[:, :, 0], 0)
        step = np.where(pair[:, :, 0], steps[:, :, 0], 0)
        words = np.where((codes == Pattern.RANDOM)[:, None], values, np.uint32(0))
        words[uniform, :groups] = base[uniform]
        strided &= ~uniform
        words[strided, :2 * groups] = np.stack([base[strided], step[strided]],
                                               axis=2).reshape(-1, 2 * groups)
        return codes, words

    def elaborate(self, platform: Any):
        m = Module()
        g, beats = self.geometry, self.geometry.beats
        small = data.ArrayLayout(32, 2 * group_count(g))
        m.submodules.rows = rows = StreamQueue(data.ArrayLayout(32, g.lanes), 2 * beats)
        m.submodules.verdicts = verdicts = StreamQueue(
            data.StructLayout({"code": 2, "words": small, "tag": self.tag}), 2)
        stage = self._subtract(m, rows.input.ready)
        m.d.comb += self.busy.eq(stage.valid | rows.output.valid)
        verdict = self._judge(m, stage, rows.input.ready)
        m.d.comb += [rows.input.valid.eq(stage.valid), rows.input.payload.eq(stage.words),
                     verdicts.input.valid.eq(stage.valid & rows.input.ready & stage.last)]
        m.d.comb += [verdicts.input.payload[name].eq(value) for name, value in verdict.items()]
        m.d.comb += Value.cast(verdicts.input.payload.tag).eq(Value.cast(stage.tag))

        out, head = self.output, verdicts.output.payload
        part = Signal(range(max(2, beats)))
        random = Signal()
        final = Signal()
        drop = Signal()
        m.d.comb += [
            random.eq(head.code == Pattern.RANDOM),
            final.eq(part == beats - 1), drop.eq(~random & (part != 0)),
            out.valid.eq(verdicts.output.valid & ~drop), out.payload.code.eq(head.code),
            Value.cast(out.payload.tag).eq(Value.cast(head.tag)),
            out.payload.last.eq(~random | final),
            rows.output.ready.eq(verdicts.output.valid & (out.ready | drop)),
            verdicts.output.ready.eq(rows.output.ready & final),
        ]
        with m.If(random):
            m.d.comb += [Value.cast(out.payload.words).eq(Value.cast(rows.output.payload)),
                         out.payload.count.eq(g.lanes)]
        with m.Else():
            groups = Mux(self.pag[3], g.warp_size // 8,
                         Mux(self.pag[4], g.warp_size // 16, g.warp_size // 32))
            m.d.comb += [Value.cast(out.payload.words).eq(Value.cast(head.words)),
                         out.payload.count.eq(groups << (head.code == Pattern.STRIDED))]
        with m.If(rows.output.ready):
            m.d.sync += part.eq(Mux(final, 0, part + 1))
        return m

    def _starts(self, beat: Value):
        """Return which lanes of a beat start a group."""
        starts = []
        for lane in range(self.geometry.warp_size):
            if lane % 8:
                starts.append(Const(0, 1))
            else:
                starts.append(self.pag[3] if lane % 16 else ~self.pag[5] if lane else Const(1, 1))
        return Cat(starts).word_select(beat, self.geometry.lanes)

    def _subtract(self, m: Module, advances: Value):
        """First stage: the words, their steps from the lane before, and which of these count."""
        g = self.geometry
        beat = Signal(range(max(2, self.geometry.beats)))
        stage = Signal(data.StructLayout({"valid": 1, "words": data.ArrayLayout(32, g.lanes),
                                          "steps": data.ArrayLayout(32, g.lanes),
                                          "launched": g.lanes, "pairs": g.lanes, "raw": 1,
                                          "beat": beat.shape(), "last": 1, "tag": self.tag}))
        entering = self.input.payload
        ready = Signal()
        word_before = Signal(32)
        m.d.comb += [ready.eq(~stage.valid | advances), self.input.ready.eq(ready)]
        with m.If(ready):
            m.d.sync += stage.valid.eq(self.input.valid)
        with m.If(ready & self.input.valid):
            m.d.sync += [stage[name].eq(entering[name]) for name in ("words", "launched", "raw")]
            m.d.sync += [step.eq(word - before) for step, word, before in zip(
                stage.steps, entering.words, [word_before, *entering.words], strict=False)]
            m.d.sync += [
                stage.pairs.eq(entering.launched & ~self._starts(beat)), stage.beat.eq(beat),
                stage.last.eq(beat == g.beats - 1), word_before.eq(entering.words[g.lanes - 1]),
                beat.eq(Mux(beat == g.beats - 1, 0, beat + 1))]
            m.d.sync += Value.cast(stage.tag).eq(Value.cast(entering.tag))
        return stage

    def _judge(self, m: Module, stage: data.View, advances: Value):
        """Second stage: compare the steps, take bases and steps of the groups;
        return the register's verdict."""
        g, count = self.geometry, group_count(self.geometry)
        row_leaves, first = stage.valid & advances, stage.beat == 0
        step_before = Signal(32)
        pair_before = Signal()
        uniform = Signal()
        strided = Signal()
        so_uniform = Signal()
        so_strided = Signal()
        steps = [step_before, *stage.steps]
        pairs = Cat(pair_before, stage.pairs)
        changes = Cat(steps[k] != steps[k + 1] for k in range(g.lanes))
        m.d.comb += [
            uniform.eq((so_uniform | first)
                       & ~(stage.pairs & Cat(step != 0 for step in stage.steps)).any()),
            strided.eq((so_strided | first) & ~(stage.pairs & pairs[:g.lanes] & changes).any())]
        with m.If(row_leaves):
            m.d.sync += [step_before.eq(stage.steps[g.lanes - 1]),
                         pair_before.eq(stage.pairs[g.lanes - 1]),
                         so_uniform.eq(uniform), so_strided.eq(strided)]

        bases = Signal(data.ArrayLayout(32, count))
        strides = Signal(data.ArrayLayout(32, count))
        for k in range(count):
            beat, lane = divmod(SMALLEST_PAG * k, g.lanes)
            for what, held, taken in (
                ("base", bases[k], Mux(stage.launched[lane], stage.words[lane], 0)),
                ("stride", strides[k], Mux(stage.launched[lane + 1], stage.steps[lane + 1], 0))):
                kept = Signal(32, name=f"{what}_{k}")
                m.d.comb += held.eq(Mux(stage.beat == beat, taken, kept))
                with m.If(row_leaves):
                    m.d.sync += kept.eq(held)

        def group(values: data.View, k: int):
            """Value of the k-th group: of every, every second or every fourth eight lanes."""
            of = [values[n] if n < count else Const(0, 32) for n in (k, 2 * k, 4 * k)]
            return Mux(self.pag[3], of[0], Mux(self.pag[4], of[1], of[2]))

        bases_of = [group(bases, k) for k in range(count)]
        strides_of = [group(strides, k) for k in range(count)]
        pairs_of = [word for pair in zip(bases_of, strides_of, strict=True) for word in pair]
        code = Mux(stage.raw, Pattern.RANDOM, Mux(uniform, Pattern.UNIFORM,
                                                  Mux(strided, Pattern.STRIDED, Pattern.RANDOM)))
        return {"code": code,
                "words": Mux(uniform, Cat(*bases_of, Const(0, 32 * count)), Cat(pairs_of))}
