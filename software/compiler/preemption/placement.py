"""Preemption-point placement (Lin et al. IV-A).

1. Every barrier is a preemption point already. An innermost loop without one gets a ``pp`` at the point of least
   liveness among those that every cycle through the loop passes. Then follow the loops around it that still have a
   cycle without a point.
2. After that, no path between points may take more than K instructions, those of routines included, or, if asked for, K
   estimated cycles (`word_times`). A longer stretch gets a ``pp`` at the point of least liveness in its second half.

Each ``pp`` carries the plain liveness and its ``pp.div`` the extended one (`preemption.extended_liveness`).
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Collection
from typing import NamedTuple

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.liveness import liveness_vector

from ..analysis.calls import instruction_count
from ..analysis.dominance import reconvergence
from ..analysis.liveness import liveness
from ..analysis.loops import entry_of
from ..ir.cfg import by_label
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph, cycles, induced, lexicographical_order, topological_order
from ..ir.kernel import Block, Kernel, Op, Reg
from .extended_liveness import waiting_registers
from .intervals import is_preemption_point
from .word_times import resident_warps, word_times

__all__ = ["PlacedPoint", "place_points", "saving", "set_barrier_liveness"]


class PlacedPoint(NamedTuple):
    """A ``pp`` that was put into a kernel, and the reason.

    Attributes
    ----------
    label : str
        Label of its block.
    index : int
        Index among the block's operations.
    rule : str
        ``"loop"`` (rule 1) or ``"interval"`` (rule 2).
    loop : str or None
        Label of the loop's header, for rule 1.
    candidates : int
        Number of places it was chosen from.
    live, most : int
        Vector registers live at its place, and at the candidate with the most.
    """

    label: str
    index: int
    rule: str
    loop: str | None
    candidates: int
    live: int
    most: int


class _Placement:
    def __init__(self, kernel: Kernel, interval: int, lengths: Callable[[Block], list[int]]):
        self._kernel = kernel
        self._interval = interval
        self._lengths = {block.label: lengths(block) for block in kernel.blocks}
        self._flow = flow_graph(kernel)
        self._blocks = by_label(kernel)
        self._live = liveness(kernel, self._flow)
        self._meet = reconvergence(self._flow)
        self._waiting = waiting_registers(kernel, self._flow, self._live.live_in, self._meet)
        self._counts: dict[str, list[tuple[int, int]]] = {}
        self._allocated = kernel.allocated()
        self._points: dict[str, set[int]] = {block.label: set() for block in kernel.blocks}
        self._reasons: dict[tuple[str, int], PlacedPoint] = {}

    def run(self) -> list[PlacedPoint]:
        self._cut_loops()
        self._limit_paths()
        return self._insert()

    def _live_counts(self, label: str) -> list[tuple[int, int]]:
        """Return the number of live vector registers at each gap of a block, without and with waiting lanes."""
        if label not in self._counts:
            self._counts[label] = self._counted(self._blocks[label])
        return self._counts[label]

    def _counted(self, block: Block) -> list[tuple[int, int]]:
        live = {reg for reg in self._live.live_out[block.label] if reg.kind == "R"}
        waiting = {reg for reg in self._waiting[block.label] if reg.kind == "R"}
        others = waiting - live
        found = [(len(live), len(live) + len(others))]
        for op in reversed(block.ops):
            gone, read = op.killed(), [reg for reg in op.read() if reg.kind == "R"]
            live.difference_update(gone)
            others.update(waiting.intersection(gone))
            live.update(read)
            others.difference_update(read)
            found.append((len(live), len(live) + len(others)))
        return found[::-1]

    def _cost(self, label: str, gap: int) -> tuple[int, int, bool]:
        """Return the registers live at a gap, with divergence, and whether a reconvergence point (a slot) follows."""
        last = gap == len(self._blocks[label].ops)
        return *self._live_counts(label)[gap], last and not self._blocks[label].end.condition

    def _choose(self, places: list[tuple[str, int]], rule: str, loop: str | None = None) -> int:
        """Put a point at the cheapest of some gaps, the first in (label, gap) order, and return its gap."""
        costs = {place: self._cost(*place) for place in places}
        _, (label, gap) = min((cost, place) for place, cost in costs.items())
        self._points[label].add(gap)
        most = max(live for live, _, _ in costs.values())
        self._reasons[label, gap] = PlacedPoint(label, gap, rule, loop, len(places), costs[label, gap][0], most)
        return gap

    # Rule 1

    def _cut(self, label: str) -> bool:
        return bool(self._points[label]) or any(map(is_preemption_point, self._blocks[label].ops))

    def _cut_loops(self) -> None:
        pending = list(cycles(self._flow))[::-1]
        while pending:
            loop = pending.pop()
            uncut = {label for label in loop if not self._cut(label)}
            if len(uncut) < len(loop):
                pending += list(cycles(self._flow, uncut))[::-1]
                continue
            header = entry_of(self._flow, loop)
            inner = list(cycles(self._flow, loop - {header}))
            if inner:  # inner loops first, then the rest of the loop around them
                pending += [loop, *inner[::-1]]
                continue
            self._choose([(label, gap) for label in self._on_every_cycle(loop, header)
                          for gap in range(len(self._blocks[label].ops) + 1)], "loop", header)

    def _on_every_cycle(self, loop: set[str], header: str) -> list[str]:
        """Return the blocks that every cycle through a loop without inner loops passes.

        Such a cycle is a path from the header back to it. A block is on all cycles if no edge leads past it.
        """
        inner = loop - {header}
        forward = DiGraph([(a, b) for a in loop for b in self._flow.succ[a] if b in inner])
        order = lexicographical_order(forward) or [header]
        position = {label: k for k, label in enumerate(order)} | {header: len(order)}
        reached, found = 0, []
        for k, label in enumerate(order):
            if reached <= k:
                found.append(label)
            reached = max(reached, *(position[t] for t in self._flow.succ[label] if t in loop))
        return found

    # Rule 2

    def _limit_paths(self) -> None:
        plain = [label for label in self._flow if not self._cut(label)]
        order = topological_order(induced(self._flow, plain))
        inside = set(plain)
        cut = [label for label in self._flow if label not in inside]
        leaving = {label: self._after_last_point(self._blocks[label]) for label in cut}
        for label in (*order, *cut):
            run = max((leaving[before] for before in self._flow.pred[label]), default=0)
            run = self._walk(self._blocks[label], run)
            leaving[label] = run

    def _after_last_point(self, block: Block) -> int:
        points = [k for k, op in enumerate(block.ops) if is_preemption_point(op)]
        start = max((*(k + 1 for k in points), *self._points[block.label]))
        return sum(self._lengths[block.label][start:])

    def _walk(self, block: Block, run: int) -> int:
        """Return the length since the last point at the end of `block`, with points added on the way."""
        start = 0  # first gap that belongs to the present stretch
        lengths = self._lengths[block.label]
        reached = [0, *itertools.accumulate(lengths)]  # length of the block before each gap
        for k in range(len(block.ops) + 1):
            if k in self._points[block.label]:
                run, start = 0, k
            if run + lengths[k] > self._interval and k not in self._points[block.label]:
                half = bisect.bisect_left(reached, reached[k] - self._interval // 2)
                first = max(start + (start in self._points[block.label]), half)
                gap = self._choose([(block.label, gap) for gap in range(min(first, k), k + 1)], "interval")
                run, start = reached[k] - reached[gap], gap
            run += lengths[k]
            if k < len(block.ops) and is_preemption_point(block.ops[k]):
                run, start = 0, k + 1
        return run

    # Words

    def _insert(self) -> list[PlacedPoint]:
        placed = []
        for block in self._kernel.blocks:
            if not self._points[block.label]:
                continue
            gaps = self._live.gaps(block)
            for before, gap in sorted(enumerate(sorted(self._points[block.label])), reverse=True):
                placed.append(self._reasons[block.label, gap]._replace(index=gap + 2 * before))
                live = gaps[gap]
                line = block.ops[gap].line if gap < len(block.ops) else block.end.line
                block.ops[gap:gap] = [
                    Op("pp", imm=saving(live, self._allocated), line=line),
                    Op("pp.div", imm=saving(live | self._waiting[block.label], self._allocated), line=line)]
        return placed


def saving(live: Collection[Reg], allocated: int) -> int:
    """Return the liveness vector that saves registers of all kinds in a kernel of this many vector registers."""
    registers, predicates, uniforms = ([reg.index for reg in live if reg.kind == kind] for kind in "RPU")
    return liveness_vector(registers, predicates, uniforms, allocated)


def place_points(kernel: Kernel, interval: int, machine: Geometry | None = None) -> list[PlacedPoint]:
    """Insert ``pp`` and ``pp.div`` words into `kernel` (stage ``machine``, laid out); return them with the reasons.

    Parameters
    ----------
    kernel : Kernel
    interval : int
        Most instructions between points (K of rule 2).
    machine : Geometry, optional
        If given, K counts estimated cycles of this machine, with an SM full of the kernel's warps.
    """
    if machine is None:
        return _Placement(kernel, interval, lambda block: [*map(instruction_count, block.ops), 1]).run()
    warps = resident_warps(kernel, machine)
    return _Placement(kernel, interval, lambda block: word_times(block, machine, warps)).run()


def set_barrier_liveness(kernel: Kernel) -> None:
    """Give every barrier the vector of the registers live after it (no lanes are apart at a barrier)."""
    blocks = [block for block in kernel.blocks if any(op.name.startswith("bar.") for op in block.ops)]
    if not blocks:
        return
    live_sets, allocated = liveness(kernel), kernel.allocated()
    for block in blocks:
        for _, op, live in live_sets.backward(block):
            if op.name.startswith("bar."):
                op.imm = saving(live, allocated)
