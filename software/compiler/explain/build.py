"""Gathers the facts about a kernel from its machine code."""

from __future__ import annotations

from collections.abc import Iterator

from caesura.hw.arch.geometry import WORD_BYTES, Geometry
from caesura.hw.arch.image.context import HEADER_WORDS, STACK_WORDS
from caesura.hw.arch.image.encodings import Encoding, encoded_words, row_words
from caesura.hw.arch.image.patterns import pattern_group
from caesura.hw.arch.isa.liveness import saved_by
from caesura.hw.arch.isa.words import decode

from ..analysis.calls import calls_of
from ..analysis.definitions import Place
from ..analysis.loops import entry_of, loops_of
from ..analysis.patterns import Fact, patterns
from ..analysis.reaching import use_def_chains
from ..analysis.shapes import RANDOM
from ..codegen.disassemble import code_labels, instruction_text
from ..image.kernel_image import KernelImage
from ..image.lift import Lifted, lift
from ..ir.digraph import DiGraph
from ..ir.kernel import Block, Reg
from ..preemption.extended_liveness import BodyLiveness, body_liveness
from ..preemption.idempotence import Idempotence, idempotence
from ..preemption.intervals import InvalidCode, is_preemption_point, longest_interval
from .facts import InstructionFacts, KernelFacts, LoopFacts, PointFacts, RegionFacts
from .stops import Stops, routine_stops, stops

__all__ = ["explain"]


def explain(image: KernelImage, geometry: Geometry, block: tuple[int, int, int] | None = None) -> KernelFacts:
    """Return the cost of a preemption at each instruction of a kernel.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
        Geometry of the machine it is to run on.
    block : tuple of int, optional
        Shape of a TB, if it is known and the kernel does not declare it (``.reqntid``).

    Raises
    ------
    ImageError
        If the code is not well formed.
    """
    return _Explanation(image, geometry, image.required_block or block).facts()


class _Explanation:
    def __init__(self, image: KernelImage, geometry: Geometry, block: tuple[int, int, int] | None):
        self._image, self._geometry, self._block = image, geometry, block
        self._lifted: Lifted = lift(image)
        self._kernel = self._lifted.kernel
        self._bodies = body_liveness(self._lifted)
        self._flow: DiGraph = self._bodies[0].flow
        self._patterns = patterns(self._kernel, self._flow, self._lifted.meet, block, geometry.warp_size)
        warp = geometry.warp_size
        group = warp if block is None else pattern_group(block[0], warp)
        self._random = WORD_BYTES * encoded_words(Encoding.RANDOM, warp)
        self._uniform, self._strided = (
            WORD_BYTES * encoded_words(each, warp) for each in Encoding if each.group == group)
        self._words = self._lifted.words
        self._stops = stops(self._kernel, self._flow, self._words)
        definitions = use_def_chains(self._kernel, self._flow)
        self._idempotent = idempotence(self._kernel, self._flow, definitions)
        self._restrict = idempotence(self._kernel, self._flow, definitions, restrict=True)
        self._restarts = dict(self._idempotent.restarts)
        self._follow_calls()
        self._points = list(self._find_points())
        self._point_at = {point.pc: k for k, point in enumerate(self._points)}
        self._loops, self._loops_at = self._find_loops()
        self._labels = code_labels(image)

    def facts(self) -> KernelFacts:
        """Put everything together."""
        image, g = self._image, self._geometry
        uniforms = {u for word in image.code for x in (decode(word),) for u in (*x.uniform_reads, *x.uniform_writes)}
        rows = (row for body in self._bodies for b in body.kernel.blocks for row in self._rows(body, b))
        instructions = tuple(sorted(rows, key=lambda row: row.pc))
        chosen = [row for row in instructions if row.loops] or instructions
        metadata = (HEADER_WORDS + row_words(image.registers) + image.predicates + len(uniforms)
                    + STACK_WORDS * image.stack_depth)
        try:
            interval = longest_interval(self._kernel)
        except InvalidCode:
            interval = None
        return KernelFacts(
            image, g.warp_size, g.vector_bytes, self._block, image.registers * g.vector_bytes, len(uniforms),
            metadata * WORD_BYTES, instructions, tuple(self._points), self._loops, self._regions(),
            min(chosen, key=lambda row: (row.divergent_bytes, row.live_bytes, row.pc)).pc,
            max(instructions, key=lambda row: (row.divergent_bytes, row.live_bytes, -row.pc)).pc,
            interval, self._spoiler(self._idempotent), self._spoiler(self._restrict))

    def _pc(self, site: Place) -> int:
        return self._lifted.start[site.label] + site.index

    def _spoiler(self, found: Idempotence) -> tuple[int, int | None] | None:
        if found.spoiler is None:
            return None
        load, store = found.spoiler
        return self._pc(load), store and self._pc(store)

    def _regions(self) -> tuple[RegionFacts, ...]:
        return tuple(RegionFacts(self._pc(cut.site), cut.reason, None if cut.load is None else self._pc(cut.load))
                     for cut in self._idempotent.cuts)

    def _find_points(self) -> Iterator[PointFacts]:
        chosen = {point.pc: point for point in self._image.points}
        for b in self._kernel.blocks:
            for index, op in enumerate(b.ops):
                if not is_preemption_point(op):
                    continue
                second = b.ops[index + 1] if op.name == "pp" and index + 1 < len(b.ops) else op
                pc = self._lifted.start[b.label] + index
                saved, diverged = (saved_by(vector, self._image.registers).registers
                                   for vector in (op.imm, second.imm))
                size = self._geometry.vector_bytes
                yield PointFacts(pc, "pp" if op.name == "pp" else "barrier", saved, diverged, size * len(saved),
                                 size * len(diverged), chosen.get(pc))

    def _find_loops(self) -> tuple[tuple[LoopFacts, ...], dict[str, tuple[int, ...]]]:
        members: dict[int, set[str]] = {}
        around = loops_of(self._kernel)
        for label, loops in around.items():
            for number in loops:
                members.setdefault(number, set()).add(label)
        start = self._lifted.start
        header = {number: start[entry_of(self._flow, inside)] for number, inside in members.items()}
        order = sorted(members, key=lambda number: (header[number], -len(members[number])))
        found = []
        for number in order:
            inside = members[number]
            spans: list[list[int]] = []
            for b in self._kernel.blocks:
                if b.label in inside:
                    first, end = start[b.label], start[b.label] + self._words[b.label]
                    if spans and spans[-1][1] == first:
                        spans[-1][1] = end
                    else:
                        spans.append([first, end])
            depth = sum(members[number] < other for other in members.values())
            points = tuple(k for k, point in enumerate(self._points)
                           if any(a <= point.pc < z for a, z in spans))
            found.append(LoopFacts(header[number], tuple((a, z) for a, z in spans), depth, points))
        place = {number: k for k, number in enumerate(order)}
        return tuple(found), {label: tuple(sorted((place[n] for n in loops), key=lambda k: found[k].depth))
                              for label, loops in around.items()}

    # Routines

    def _follow_calls(self) -> None:
        """Let what lies before and behind the calls of a routine hold in it."""
        bits: dict[int, int] = {}
        ahead: dict[int, list[Stops]] = {}
        cuts = {cut.site: 1 << k for k, cut in enumerate(self._idempotent.cuts)}
        for block, index, call in calls_of(self._kernel):
            found = self._idempotent.restarts[block.label]
            for k in range(index + 1):
                found = cuts.get(Place(block.label, k), found)
            bits[call.imm] = bits.get(call.imm, 0) | found
            ahead.setdefault(call.imm, []).append(self._stops[block.label][index + 1])
        for number, behind in ahead.items():
            body = self._kernel.routines[number].body
            self._restarts.update(dict.fromkeys((block.label for block in body.blocks), bits[number]))
            self._stops.update(routine_stops(body, self._words, behind))

    # Instructions

    def _rows(self, body: BodyLiveness, block: Block) -> Iterator[InstructionFacts]:
        start = self._lifted.start[block.label]
        cuts = {cut.site.index: k for k, cut in enumerate(self._idempotent.cuts) if cut.site.label == block.label}
        bits = self._restarts[block.label]
        labels = self._labels
        others = body.waiting[block.label]
        gaps = body.live.gaps(block)
        walk = self._patterns.walk(block) if body is self._bodies[0] else ((k, {}) for k in range(len(gaps)))
        for index, fact in walk:
            if index == self._words[block.label]:
                return
            bits = 1 << cuts[index] if index in cuts else bits
            live = gaps[index]
            word = decode(self._image.code[start + index])
            mine, further = _numbers(live, "R"), _numbers(others - live, "R")
            shapes = [(r, fact.get(Reg("R", r), RANDOM)) for r in mine]
            ahead = self._stops[block.label][index]
            branch = word.op.name == "bra"
            size = self._geometry.vector_bytes
            yield InstructionFacts(
                start + index, labels.get(start + index, ""), instruction_text(word, labels, self._image.registers),
                self._image.lines[start + index] if self._image.lines else 0, mine, further,
                _numbers(live | others, "P"), _numbers(live | others, "U"), size * len(mine),
                size * (len(mine) + len(further)), self._compressed(fact, mine),
                tuple((r, str(shape)) for r, shape in shapes if not shape.random), self._loops_at.get(block.label, ()),
                _set_bits(bits), self._point_at.get(start + index),
                tuple(sorted(self._point_at[self._pc(Place(*stop))] for stop in ahead.points)), ahead.may_end,
                ahead.least, ahead.most, word.get("target") if branch else None,
                self._meeting(block) if branch else None, self._image.origin(start + index))

    def _meeting(self, block: Block) -> int | None:
        meet = self._lifted.meet.get(block.label)
        return None if meet is None else self._lifted.start[meet]

    def _compressed(self, fact: Fact, live: tuple[int, ...]) -> int:
        """Return the most bytes that `live` takes when each register is written in its shortest encoding."""
        shapes = [fact.get(Reg("R", r), RANDOM) for r in live]
        return sum(self._random if shape.random else self._uniform if shape.uniform else self._strided
                   for shape in shapes)


def _numbers(registers, kind: str) -> tuple[int, ...]:
    return tuple(sorted(reg.index for reg in registers if reg.kind == kind))


def _set_bits(bits: int) -> tuple[int, ...]:
    return tuple(k for k in range(bits.bit_length()) if bits >> k & 1)
