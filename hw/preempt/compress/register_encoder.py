"""Register encoder, which finds the shortest of `arch.encodings` for each register::

    input --> first of each quad, --> [words, firsts, steps] --> nodes of quads, --> verdict --+
              its steps compared             |                   joined by pairs                |
                                             +--> [rows] --> planes of their lower bits ----> output

The tree of comparisons takes the place of Lin et al. III-C, Fig. 10: it need not be told the width
of a group, and lanes that do not count fall out of it. All of it is judged in the cycle in which a
register's last beat is in the first stage. The lower bits of the lanes are only wired.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.encodings import (
    CODE_BITS,
    NIBBLES,
    QUAD,
    SMALLEST_GROUP,
    Encoding,
    encode,
    encoded_words,
    encodings_of,
    plane_bits,
)
from ...lib.bits import chosen, spread
from ...lib.stream_queue import StreamQueue

__all__ = ["lane_beat", "encoded_beat", "by_lane", "shares", "lane_words", "planes",
           "RegisterEncoder"]


def lane_beat(g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008
    """One beat of a register; `counted` has a bit for each lane whose value matters.
    A `raw` register is called random."""
    return data.StructLayout({"words": data.ArrayLayout(32, g.lanes), "counted": g.lanes, "raw": 1,
                              "tag": tag})


def encoded_beat(g: Geometry, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008
    """The first `count` of `words` of an encoded register; `first` and `last` mark its beats.
    In front of those of the first beat stands the word `shared` if lanes share upper bits."""
    width = max(g.lanes, 2 * g.warp_size // SMALLEST_GROUP)
    return data.StructLayout({"words": data.ArrayLayout(32, width), "count": range(width + 1),
                              "shared": 32, "code": Encoding, "first": 1, "last": 1, "tag": tag})


def by_lane(code: Value) -> Value:
    """Return whether something is kept of each lane of a register that is saved."""
    return Value.cast(code) <= Encoding.RANDOM


def shares(code: Value) -> Value:
    """Return whether the lanes of a register, of each of which something is kept, share bits."""
    return ~Value.cast(code)[3]


def lane_words(g: Geometry, code: Value) -> Value:
    """Return the words of a beat of a register of which something is kept of each lane, without
    the one that its lanes share."""
    return (Value.cast(code) * g.lanes // NIBBLES)[:g.lanes.bit_length()]


def planes(g: Geometry, words: Value) -> Value:
    """Return the words of a beat's lanes plane by plane, the lowest bits of all lanes first."""
    thick = plane_bits(g.lanes)
    return Cat(words[32 * lane + low:32 * lane + low + thick]
               for low in range(0, 32, thick) for lane in range(g.lanes))


class _Node(NamedTuple):
    """Facts about neighbouring lanes, as in `arch.encodings`."""

    some: Value
    first: Value
    equal: Value
    strided: Value
    stepped: Value
    step: Value


_NODE = data.StructLayout({"some": 1, "first": 32, "equal": NIBBLES, "strided": 1, "stepped": 1,
                           "step": 32})


def _alike(a: Value, b: Value) -> Value:
    """Return which nibbles of two words are the same, the lowest first."""
    return Cat(a[low:low + 4] == b[low:low + 4] for low in range(0, 32, 4))


class RegisterEncoder(wiring.Component):
    """Encodes registers.

    A register comes as ``warp_size / lanes`` beats and leaves as one beat if it is uniform or
    strided, else as many as it came in. Throughput is one beat per cycle. A register of one beat
    takes `LATENCY` cycles from input to output; a longer one is held until its last beat is in.

    Parameters
    ----------
    g : Geometry
    tag : ShapeLike
        Shape of the tag that a register carries along; the tag of its last beat is given out.
    choice : sequence of Encoding
        Encodings that may be chosen, in this order and `Encoding.RANDOM` last; all that the machine
        has unless some are given. The rule of Lin et al. for blocks of 16 lanes is ``UNIFORM_16,
        STRIDED_16, RANDOM``.

    Attributes
    ----------
    input : stream, in
        `lane_beat`.
    output : stream, out
        `encoded_beat`.
    busy : Signal, out
        Something is held.
    """

    LATENCY = 2
    input: stream.Interface
    output: stream.Interface
    busy: Signal

    def __init__(self, g: Geometry, tag: ShapeLike = unsigned(1),  # noqa: B008
                 choice: Sequence[Encoding] = ()):
        self.geometry, self.tag = g, tag
        self.choice = tuple(choice) or encodings_of(g.warp_size, g.lanes)
        super().__init__({"input": In(stream.Signature(lane_beat(g, tag))),
                          "output": Out(stream.Signature(encoded_beat(g, tag))), "busy": Out(1)})

    def compute(self, values: np.ndarray, counted: np.ndarray | int
                ) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware gives for many registers, as `encodings.encode` does."""
        return encode(values, counted, self.geometry.lanes, self.choice)

    def elaborate(self, platform: Any):
        m = Module()
        g, beats = self.geometry, self.geometry.beats
        small = data.ArrayLayout(32, 2 * g.warp_size // SMALLEST_GROUP)
        m.submodules.rows = rows = StreamQueue(data.ArrayLayout(32, g.lanes), 2 * beats)
        m.submodules.verdicts = verdicts = StreamQueue(
            data.StructLayout({"code": Encoding, "words": small, "tag": self.tag}), 2)
        stage = self._enter(m, rows.input.ready)
        units = self._units(m, stage, rows.input.ready)
        code, words = self._judge(m, stage, units)
        m.d.comb += [
            self.busy.eq(stage.valid | rows.output.valid),
            rows.input.valid.eq(stage.valid), rows.input.payload.eq(stage.words),
            verdicts.input.valid.eq(stage.valid & rows.input.ready & stage.last),
            verdicts.input.payload.code.eq(code),
            Value.cast(verdicts.input.payload.words).eq(words),
            Value.cast(verdicts.input.payload.tag).eq(Value.cast(stage.tag)),
        ]
        self._leave(m, rows, verdicts)
        return m

    def _enter(self, m: Module, advances: Value):
        """First stage: the words; of each quad the first counted one, the first step, and whether
        each counted one behind it is as far from the one before."""
        g, quads = self.geometry, self.geometry.lanes // QUAD
        beat = Signal(range(max(2, g.beats)))
        stage = Signal(data.StructLayout({
            "valid": 1, "words": data.ArrayLayout(32, g.lanes), "counted": g.lanes, "raw": 1,
            "firsts": data.ArrayLayout(32, quads),
            "steps": data.ArrayLayout(32, quads), "even": quads,
            "beat": beat.shape(), "last": 1, "tag": self.tag}), init={"even": (1 << quads) - 1})
        entering = self.input.payload
        ready = Signal()
        m.d.comb += [ready.eq(~stage.valid | advances), self.input.ready.eq(ready)]
        with m.If(ready):
            m.d.sync += stage.valid.eq(self.input.valid)
        with m.If(ready & self.input.valid):
            m.d.sync += [stage[name].eq(entering[name]) for name in ("words", "counted", "raw")]
            for quad in range(quads):
                lanes = range(QUAD * quad, QUAD * quad + QUAD)
                first = Const(0, 32)
                for lane in reversed(lanes):
                    first = Mux(entering.counted[lane], entering.words[lane], first)
                m.d.sync += stage.firsts[quad].eq(first)
                steps = [(entering.words[lane + 1] - entering.words[lane])[:32]
                         for lane in lanes[:-1]]
                m.d.sync += [stage.steps[quad].eq(steps[0]), stage.even[quad].eq(Cat(
                    ~entering.counted[lane] | (step == steps[0])
                    for lane, step in zip(lanes[2:], steps[1:], strict=True)).all())]
            m.d.sync += [stage.beat.eq(beat), stage.last.eq(beat == g.beats - 1),
                         beat.eq(Mux(beat == g.beats - 1, 0, beat + 1))]
            m.d.sync += Value.cast(stage.tag).eq(Value.cast(entering.tag))
        return stage

    def _quad(self, m: Module, stage: data.View, quad: int):
        """Return the node of a quad of the beat in the first stage."""
        counted = stage.counted[QUAD * quad:QUAD * quad + QUAD]
        first = stage.firsts[quad]
        equal = Const(-1, NIBBLES)
        for k in range(QUAD):
            equal &= _alike(stage.words[QUAD * quad + k], first) | ~counted[k].replicate(NIBBLES)
        stepped = counted[0] & counted[1]
        strided = ((counted[0] | ~counted[1]) & (counted[1] | ~counted[2])
                   & (counted[2] | ~counted[3]) & stage.even[quad])
        return self._named(m, _Node(counted.any(), first, equal, strided, stepped,
                                    Mux(stepped, stage.steps[quad], 0)), f"quad_{quad}")

    def _named(self, m: Module, node: _Node, name: str):
        """Give a node wires of its own."""
        held = Signal(_NODE, name=name)
        m.d.comb += [held[field].eq(value) for field, value in node._asdict().items()]
        return held

    def _joined(self, m: Module, a: data.View, b: data.View, size: int, name: str):
        """Return the node of two nodes of `size` lanes."""
        near = _alike(a.first, b.first) | ~spread(a.some & b.some, NIBBLES)
        follows = (a.stepped & (b.first == (a.first + (a.step << size.bit_length() - 1))[:32])
                   & (~b.stepped | (b.step == a.step)))
        return self._named(m, _Node(
            a.some | b.some, Mux(a.some, a.first, b.first), a.equal & b.equal & near,
            a.strided & b.strided & (~b.some | follows), a.stepped, a.step), name)

    def _units(self, m: Module, stage: data.View, advances: Value):
        """Return the nodes of all groups of eight lanes, or of a beat if that is less, by width.

        Those of the beat in the first stage are new, those of earlier beats were kept.
        """
        g = self.geometry
        nodes = [self._quad(m, stage, quad) for quad in range(g.lanes // QUAD)]
        if g.lanes >= SMALLEST_GROUP:
            nodes = [self._joined(m, a, b, QUAD, f"eight_{k}") for k, (a, b) in enumerate(
                zip(nodes[::2], nodes[1::2], strict=True))]
        units = []
        for beat in range(g.beats):
            for node in nodes:
                if beat == g.beats - 1:  # judged in its own cycle
                    units.append(node)
                    continue
                kept = Signal(_NODE, name=f"kept_{len(units)}")
                with m.If(stage.valid & advances & (stage.beat == beat)):
                    m.d.sync += kept.eq(node)
                units.append(kept)
        return units

    def _judge(self, m: Module, stage: data.View, units: Sequence[data.View]):
        """Return the code of the register whose last beat is in the first stage, and the words
        that stand for it, or the one that its lanes share; those behind them are any."""
        g = self.geometry
        size = g.warp_size // len(units)
        levels = {size: units}
        while size < g.warp_size:
            a, b = levels[size][::2], levels[size][1::2]
            levels[2 * size] = [self._joined(m, *pair, size, f"lanes_{2 * size}_{k}")
                                for k, pair in enumerate(zip(a, b, strict=True))]
            size *= 2
        top = levels[g.warp_size][0]
        code = Signal(CODE_BITS)
        fitting = Const(Encoding.RANDOM, CODE_BITS)
        made = {}  # of each encoding with groups the words
        for encoding in reversed(self.choice[:-1]):
            if encoding.group:
                of = levels[encoding.group]
                made[encoding] = [part for node in of for part in (
                    (node.first, node.step) if encoding.strided else (node.first,))]
                fits = Cat(node.strided if encoding.strided else node.equal.all()
                           for node in of).all()
            else:
                fits = top.equal[encoding:].all()
            fitting = Mux(fits, Const(encoding, CODE_BITS), fitting)
        m.d.comb += code.eq(fitting)
        # The word that lanes share: their upper nibbles.
        shared = Cat(top.first[4 * k:4 * k + 4] & spread(k >= code, 4)
                     for k in range(NIBBLES))
        words = []
        for k in range(2 * g.warp_size // SMALLEST_GROUP):
            of_code = {int(each): parts[k] for each, parts in made.items() if k < len(parts)}
            word = chosen(of_code, code) if of_code else Const(0, 32)
            words.append(word if k else Mux(code > Encoding.RANDOM, word, shared))
        return Mux(stage.raw, Const(Encoding.RANDOM, CODE_BITS), code), Cat(words)

    def _leave(self, m: Module, rows: StreamQueue, verdicts: StreamQueue):
        """Give out what stands for a register, or its beats, of which planes are kept."""
        g, beats = self.geometry, self.geometry.beats
        out, head = self.output.payload, verdicts.output.payload
        part = Signal(range(max(2, beats)))
        code = Value.cast(head.code)
        final = Signal()
        lanewise = Signal()
        drop = Signal()
        m.d.comb += [
            lanewise.eq(by_lane(code)), final.eq(part == beats - 1),
            drop.eq(~lanewise & (part != 0)), out.shared.eq(head.words[0]),
            self.output.valid.eq(verdicts.output.valid & rows.output.valid & ~drop),
            out.code.eq(head.code), Value.cast(out.tag).eq(Value.cast(head.tag)),
            out.first.eq(part == 0), out.last.eq(~lanewise | final),
            rows.output.ready.eq(verdicts.output.valid & (self.output.ready | drop)),
            verdicts.output.ready.eq(rows.output.valid & rows.output.ready & final),
        ]
        row = Value.cast(rows.output.payload)
        low = planes(g, row)
        with m.If(lanewise):
            m.d.comb += [Value.cast(out.words).eq(Mux(shares(code), low, row)),
                         out.count.eq(lane_words(g, code))]
        with m.Else():
            m.d.comb += Value.cast(out.words).eq(Value.cast(head.words))
            with m.Switch(code):
                for encoding in self.choice:
                    if encoding.group:
                        with m.Case(encoding):
                            m.d.comb += out.count.eq(encoded_words(encoding, g.warp_size))
        with m.If(rows.output.valid & rows.output.ready):
            m.d.sync += part.eq(Mux(final, 0, part + 1))
