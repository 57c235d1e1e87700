"""Decoding inverts encoding, for every register of 32 lanes and every encoding, in lemmas.

(docs/formal.md, What stands behind the register encoder.)

Each lemma is about the register encoder as it is built, with wires cut where another lemma says what they carry.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.encodings import NIBBLES, QUAD, SMALLEST_GROUP, Encoding, encoded_words
from caesura.hw.formal.opened import Opened, free
from caesura.hw.preempt.compress import group_decoder, lane_decoder, register_encoder
from caesura.hw.preempt.compress.group_decoder import GroupDecoder
from caesura.hw.preempt.compress.lane_decoder import lane_values
from caesura.hw.preempt.compress.register_encoder import RegisterEncoder

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["QuadsAreRight", "JoinedNodesAreRight", "VerdictsAreRight", "WhatLeavesIsDecoded", "RowsHaveTheirVerdicts",
           "PROPERTIES"]

G = preset("gtx480")  # 32 lanes, a beat a register
LANES = G.lanes
NODE = data.StructLayout({"some": 1, "first": 32, "equal": NIBBLES, "strided": 1, "stepped": 1, "step": 32})


def names(size: int) -> list[str]:
    """Return the names of the nodes of so many lanes, those of the first lanes first."""
    prefix = {QUAD: "quad", SMALLEST_GROUP: "eight"}.get(size, f"lanes_{size}")
    return [f"{prefix}_{k}" for k in range(LANES // size)]


def word(words: Value, lane: int) -> Value:
    """Return a lane of a vector of words."""
    return Value.cast(words)[32 * lane:32 * lane + 32]


def alike(a: Value, b: Value, nibble: int) -> Value:
    """Return whether a nibble of two words is the same."""
    return a[4 * nibble:4 * nibble + 4] == b[4 * nibble:4 * nibble + 4]


def stepped(first: Value, step: Value, steps: int) -> Value:
    """Return `first` and so many steps, the greatest power of two first: so a sum of one lemma is one of the next."""
    for bit in reversed(range(steps.bit_length())):
        if steps >> bit & 1:
            first = (first + (step << bit))[:32]
    return first


def right(node: data.View, words: Value, counted: Value, start: int, size: int) -> Value:
    """Return whether a node says the truth of its lanes:

    - some lane counts if and only if it says so;
    - where the step is known, some lane counts;
    - a nibble that is equal is that of `first` in all lanes that count;
    - if it is strided, lane k that counts is `first` and k steps, and only lane 0 counts unless the step is known.
    """
    says = [node.some == counted[start:start + size].any(), ~node.stepped | node.some]
    for k in range(size):
        value, counts = word(words, start + k), counted[start + k]
        equal = Cat(~node.equal[n] | alike(value, node.first, n) for n in range(NIBBLES)).all()
        follows = (value == stepped(node.first, node.step, k)) & (node.stepped if k else 1)
        says.append(~counts | equal & (~node.strided | follows))
    return Cat(says).all()


class _Encoder(Harness):
    """The register encoder with any inputs."""

    def begin(self, m: Module) -> Opened:
        m.submodules.dut = dut = Opened(RegisterEncoder(G))
        free(m, dut.component)
        return dut


def _stage_layout() -> data.StructLayout:
    """Return the layout that the register encoder uses."""
    quads = LANES // QUAD
    return data.StructLayout({
        "valid": 1, "words": data.ArrayLayout(32, LANES), "counted": LANES, "raw": 1,
        "firsts": data.ArrayLayout(32, quads), "steps": data.ArrayLayout(32, quads), "even": quads,
        "beat": 1, "last": 1, "tag": 1})


def stage_right(stage: data.View, quad: int) -> Value:
    """Return whether the first counted word of a quad, its first step, and that those behind counted lanes are the
    same, are those of the words in the stage."""
    lanes = range(QUAD * quad, QUAD * quad + QUAD)
    first = 0
    for lane in reversed(lanes):
        first = Mux(stage.counted[lane], word(stage.words, lane), first)
    steps = [(word(stage.words, lane + 1) - word(stage.words, lane))[:32] for lane in lanes[:-1]]
    even = Cat(~stage.counted[lane] | (step == steps[0])
               for lane, step in zip(lanes[2:], steps[1:], strict=True)).all()
    return (stage.firsts[quad] == first) & (stage.steps[quad] == steps[0]) & (stage.even[quad] == even)


class StageIsRight(_Encoder):
    """The first stage has the first counted word of each quad, and the steps in it."""

    def state(self, m):
        stage = self.begin(m).signal("stage", _stage_layout())
        for quad in range(LANES // QUAD):
            self.claim(m, **{f"quad_{quad}_has_its_first_and_steps": stage_right(stage, quad)})


class QuadsAreRight(_Encoder):
    """Nodes of four lanes say the truth of the register in the first stage, if that has its firsts and steps."""

    def state(self, m):
        dut = self.begin(m)
        stage = dut.signal("stage", _stage_layout())
        for quad, name in enumerate(names(QUAD)):
            self.given(m, **{f"quad_{quad}_has_its_first_and_steps": stage_right(stage, quad)})
            self.claim(m, **{f"{name}_is_right": right(dut.signal(name, NODE), stage.words, stage.counted, QUAD * quad,
                                                       QUAD)})


class JoinedNodesAreRight(_Encoder):
    """Nodes of `size` lanes say the truth, if those of half as many do; in one of `CASES`, which are all there are.

    The first lane and the step of the upper node are expressions of those of the lower node where they are the same.
    Then the solver need not find out that sums are the same.
    """

    CASES = "none-below", "goes-on", "one-above", "breaks"

    def __init__(self, size: int, case: str):
        super().__init__()
        self.size, self.case = size, case

    def state(self, m):
        dut, half, nodes = self.begin(m), self.size // 2, []
        stage = dut.cut("stage", _stage_layout())
        for k, name in enumerate(names(half)):
            value = Signal(NODE, name=f"any_{name}")
            m.d.comb += Value.cast(value).eq(self.anything(m, NODE.size))
            self._choose(m, value, nodes[-1] if k % 2 else None)
            nodes.append(dut.cut(name, NODE, Value.cast(value)))
            self.given(m, **{f"{name}_is_right": right(nodes[-1], stage.words, stage.counted, half * k, half)})
        for k, name in enumerate(names(self.size)):
            self.claim(m, **{f"{name}_is_right": right(dut.signal(name, NODE), stage.words, stage.counted,
                                                       self.size * k, self.size)})

    def _choose(self, m: Module, node: data.View, below: data.View | None) -> None:
        """Put a node, of lower lanes or above the one `below`, into the case."""
        if below is None:
            some = self.case != "none-below"
            m.d.comb += [node.some.eq(some), *([] if some else [node.stepped.eq(0)])]
            return
        reached = stepped(below.first, below.step, self.size // 2)
        if self.case == "goes-on":
            m.d.comb += [node.first.eq(reached), node.stepped.eq(1), node.step.eq(below.step)]
        elif self.case == "one-above":
            m.d.comb += [node.first.eq(reached), node.stepped.eq(0)]
        elif self.case == "breaks":
            self.given(m, it_breaks=(node.first != reached) | node.stepped & (node.step != below.step))


CHOICE = tuple(each for each in Encoding if each.by_lane or each.group)
"""All that the encoder can choose."""


class VerdictsAreRight(_Encoder):
    """The words of a verdict are those of the nodes of the groups of its encoding, of all of which it is true."""

    def state(self, m):
        dut = self.begin(m)
        stage = dut.signal("stage", _stage_layout())
        nodes = {size: [dut.cut(name, NODE) for name in names(size)] for size in (8, 16, 32)}
        verdict = dut.signal("verdicts.input__payload", _verdict_layout())
        for encoding in CHOICE:
            says = []
            for k, node in enumerate(nodes[encoding.group or LANES]):
                if encoding.strided:
                    says += [node.strided, word(verdict.words, 2 * k) == node.first,
                             word(verdict.words, 2 * k + 1) == node.step]
                elif encoding.group:
                    says += [node.equal.all(), word(verdict.words, k) == node.first]
                elif encoding != Encoding.RANDOM:
                    says += [node.equal[encoding:].all(),
                             word(verdict.words, 0)[4 * encoding:] == node.first[4 * encoding:]]
            self.claim(m, **{f"{encoding.name}_is_that_of_the_nodes": (verdict.code != encoding) | Cat(*says, 1).all()})
        self.claim(m, it_is_one_of_these=Value.cast(verdict.code).matches(*CHOICE),
                   a_raw_one_is_random=~stage.raw | (verdict.code == Encoding.RANDOM),
                   its_row_goes_with_it=dut.signal("rows.input__payload") == Value.cast(stage.words))


def _verdict_layout() -> data.StructLayout:
    """Return the layout that the register encoder uses."""
    return data.StructLayout({"code": Encoding, "words": data.ArrayLayout(32, 2 * LANES // SMALLEST_GROUP), "tag": 1})


class WhatLeavesIsDecoded(_Encoder):
    """From what leaves the encoder with a code, as many words as are counted, the decoders of a restore get: of a
    uniform or strided register the first word and the step of each eight lanes that its words say; else of each lane
    the lower bits of its row, and the upper ones of the word that is shared. As many
    words as the encoding has leave."""

    def __init__(self, encoding: Encoding):
        super().__init__()
        self.encoding = encoding

    def state(self, m):
        dut, encoding = self.begin(m), self.encoding
        out = dut.component.output
        verdict = Signal(_verdict_layout(), name="verdict")
        m.d.comb += [Value.cast(verdict).eq(self.anything(m, len(Value.cast(verdict)))), verdict.code.eq(encoding)]
        dut.cut("verdicts.output__payload", value=Value.cast(verdict))
        row = dut.cut("rows.output__payload")
        for queue in ("verdicts", "rows"):
            dut.cut(f"{queue}.output__valid")
        code = Value.cast(out.payload.code)
        kept = Signal(32 * LANES)  # nothing is left of the other words
        junk = self.anything(m, 32)
        m.d.comb += kept.eq(Cat(Mux(out.payload.count > k, word(out.payload.words, k), junk) for k in range(LANES)))
        shared = 0 < encoding < Encoding.RANDOM
        self.claim(
            m, it_has_its_code=code == encoding,
            it_has_the_words_of_its_encoding=out.payload.count + shared == encoded_words(encoding, G.warp_size),
            it_is_one_beat=~out.valid | out.payload.first & out.payload.last, of_one_beat=dut.signal("part") == 0,
            a_verdict_leaves_at_once=~(dut.signal("verdicts.output__valid") & dut.signal("rows.output__valid"))
            | out.valid)
        if encoding.group:
            self._groups(m, verdict.words, code, kept)
        else:
            low = Signal(32 * LANES)
            m.d.comb += low.eq(lane_values(m, G, code, out.payload.shared, kept))
            bits = 4 * encoding
            self.claim(m, lanes_are_decoded=Cat(
                word(low, k) == Cat(word(row, k)[:bits], word(verdict.words, 0)[bits:]) for k in range(LANES)).all())

    def _groups(self, m, words, code, kept):
        """Return the inputs of the group decoder for each eight lanes."""
        encoding = self.encoding
        m.submodules.decoder = opened = Opened(GroupDecoder(G))
        decoder = opened.component
        m.d.comb += [decoder.input.valid.eq(1), decoder.output.ready.eq(1),
                     Value.cast(decoder.input.payload.code).eq(code),
                     Value.cast(decoder.input.payload.words).eq(kept)]
        for k in range(LANES // SMALLEST_GROUP):
            group, inside = divmod(SMALLEST_GROUP * k, encoding.group)
            first, step = word(words, group), 0
            if encoding.strided:
                first, step = word(words, 2 * group), word(words, 2 * group + 1)
                first = stepped(first, step, inside)
            self.claim(m, **{f"eight_{k}_is_decoded": (opened.signal(f"base_{k}") == first)
                             & (opened.signal(f"step_{k}") == step)})


class EightsAreExpanded(Harness):
    """The group decoder gives out the first of each eight lanes and its steps."""

    def __init__(self, offset: int):
        super().__init__()
        self.offset = offset

    def state(self, m):
        m.submodules.decoder = opened = Opened(GroupDecoder(G))
        decoder = opened.component
        free(m, decoder)
        goes, output = Signal(), decoder.output.payload
        m.d.sync += goes.eq(decoder.input.valid & decoder.input.ready)
        for k in range(LANES // SMALLEST_GROUP):
            lane = SMALLEST_GROUP * k + self.offset
            expected = Signal(32, name=f"expected_{lane}")
            m.d.sync += expected.eq(stepped(opened.cut(f"base_{k}"), opened.cut(f"step_{k}"), self.offset))
            self.claim(m, **{f"lane_{lane}_is_expanded": ~goes | (word(output.words, lane) == expected)})
        self.claim(m, it_comes=~goes | decoder.output.valid, of_one_beat=opened.signal("beat") == 0)


class RowsHaveTheirVerdicts(_Encoder):
    """A row and its verdict enter their queues together and leave them together."""

    def state(self, m):
        dut = self.begin(m)
        moves = {}
        for queue in ("rows", "verdicts"):
            for side in ("input", "output"):
                valid, ready = (dut.signal(f"{queue}.{side}__{name}") for name in ("valid", "ready"))
                moves[queue, side] = valid & ready
        self.claim(
            m, they_enter_together=moves["rows", "input"] == moves["verdicts", "input"],
            they_leave_together=moves["rows", "output"] == moves["verdicts", "output"],
            as_many_are_there=dut.signal("rows.fifo.level") == dut.signal("verdicts.fifo.level"),
            each_is_the_last_beat=~dut.signal("stage", _stage_layout()).valid
            | dut.signal("stage", _stage_layout()).last,
            of_one_beat=(dut.signal("part") == 0) & (dut.signal("beat") == 0))


_CLAIM = "A lemma of: what is decoded of a register of 32 lanes is what was encoded, in every lane that counts"
_QUAD_FAULT = Fault(
    register_encoder, "& (counted[2] | ~counted[3]) & stage.even[quad])", "& (counted[2] | ~counted[3]))")
_JOIN_FAULTS = {
    "none-below": Fault(register_encoder, "(~b.some | follows), a.stepped", "(~b.some | follows | ~a.some), a.stepped"),
    "goes-on": Fault(register_encoder, "a.strided & b.strided & (~b.some | follows)",
                    "a.strided & (~b.some | follows)"),
    "one-above": Fault(register_encoder, "| ~spread(a.some & b.some, NIBBLES)", "| ~spread(b.stepped, NIBBLES)"),
    "breaks": Fault(register_encoder, "& (~b.stepped | (b.step == a.step)))", ")"),
}
_LEAVE_FAULTS = {
    Encoding.LOW_4: Fault(lane_decoder, "code > thick // 4 * k for k", "code >= thick // 4 * k for k"),
    Encoding.LOW_12: Fault(register_encoder, "(Value.cast(code) * g.lanes // NIBBLES)",
                           "(Value.cast(code) * g.lanes // 16)"),
    Encoding.UNIFORM_16: Fault(group_decoder, "number >> 1, number >> 2", "number >> 2, number >> 2"),
    Encoding.STRIDED_32: Fault(group_decoder, "number[:1], number)", "number[:1], number[:1])"),
}

PROPERTIES = (
    Property("compress/stage", _CLAIM, StageIsRight, faults=(Fault(
        register_encoder, "entering.words[lane + 1] - entering.words[lane])",
        "entering.words[lane] - entering.words[lane])"),)),
    Property("compress/quads", _CLAIM, QuadsAreRight, faults=(_QUAD_FAULT,), fault_depth=2),
    *(Property(f"compress/joined-{n}-{case}", _CLAIM, lambda n=n, case=case: JoinedNodesAreRight(n, case),
               faults=(_JOIN_FAULTS[case],) if n == 16 else (), fault_depth=1)
      for n in (8, 16, 32) for case in JoinedNodesAreRight.CASES),
    Property("compress/verdict", _CLAIM, VerdictsAreRight, faults=(
        Fault(register_encoder, "fits = top.equal[encoding:].all()", "fits = top.equal[encoding + 1:].all()"),)),
    Property("compress/lockstep", _CLAIM, RowsHaveTheirVerdicts, faults=(
        Fault(register_encoder, "rows.output.valid & rows.output.ready & final)",
              "rows.output.valid & final)"),)),
    *(Property(f"compress/leaves-{each.name}", _CLAIM, lambda each=each: WhatLeavesIsDecoded(each),
               faults=(_LEAVE_FAULTS[each],) if each in _LEAVE_FAULTS else ())
      for each in CHOICE),
    *(Property(f"compress/expanded-{n}", _CLAIM, lambda n=n: EightsAreExpanded(n), faults=(
        Fault(group_decoder, "moved = times(step, starts[0])", "moved = step"),) if n == 2 else ())
      for n in range(8)),
)
