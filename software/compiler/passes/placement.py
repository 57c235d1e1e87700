"""Preemption-point placement (Lin et al. IV-A).

1. Every barrier is a preemption point already. An innermost loop without one gets a ``pp`` at the point of least
   liveness among those that every cycle through the loop passes; then the loops around it that still have a cycle
   without a point.
2. Outside loops no path runs more than K instructions without one; where it would, a ``pp`` goes to the point of
   least liveness in the second half of that stretch.

Each ``pp`` carries the plain liveness and its ``pp.div`` the liveness extended by divergence (`analysis.divergence`).
"""

from __future__ import annotations

import networkx

from caesura.hw.arch.isa import liveness_vector

from ..analysis.divergence import waiting_registers
from ..analysis.dominance import reconvergence
from ..analysis.liveness import liveness
from ..analysis.loops import cycles, entry_of
from ..analysis.points import is_point
from ..ir.cfg import by_label, induced
from ..ir.cfg import graph as flow_graph
from ..ir.kernel import Block, Kernel, Op, Reg

__all__ = ["place_points", "set_barrier_liveness"]


class _Placement:
    def __init__(self, kernel: Kernel, interval: int):
        self._kernel = kernel
        self._interval = interval
        self._flow = flow_graph(kernel)
        self._blocks = by_label(kernel)
        self._live = liveness(kernel, self._flow)
        self._meet = reconvergence(self._flow)
        self._waiting = waiting_registers(kernel, self._flow, self._live.live_in, self._meet)
        self._gaps: dict[str, list[frozenset[Reg]]] = {}
        self._points: dict[str, set[int]] = {block.label: set() for block in kernel.blocks}

    def run(self) -> None:
        self._cut_loops()
        self._limit_paths()
        self._insert()

    def _gap_sets(self, label: str) -> list[frozenset[Reg]]:
        if label not in self._gaps:
            vectors = [frozenset(reg for reg in live if reg.kind == "R")
                       for live in self._live.gaps(self._blocks[label])]
            self._gaps[label] = vectors
        return self._gaps[label]

    def _cost(self, label: str, gap: int) -> tuple[int, int, bool]:
        """Registers live at a gap, with divergence, and whether a reconvergence point follows (it costs a slot)."""
        live = self._gap_sets(label)[gap]
        last = gap == len(self._blocks[label].ops)
        return len(live), len(live | self._waiting[label]), last and not self._blocks[label].end.condition

    # Rule 1

    def _cut(self, label: str) -> bool:
        return bool(self._points[label]) or any(map(is_point, self._blocks[label].ops))

    def _cut_loops(self) -> None:
        while True:
            plain = [label for label in self._flow if not self._cut(label)]
            loop = next(cycles(self._flow, plain), None)
            if loop is None:
                return
            inner = loop
            while inner is not None:
                loop = inner
                inner = next(cycles(self._flow, loop - {entry_of(self._flow, loop)}), None)
            candidates = [label for label in self._flow if label in loop and self._cuts_all(loop, label)]
            _, label, gap = min((self._cost(label, gap), label, gap) for label in candidates
                                for gap in range(len(self._gap_sets(label))))
            self._points[label].add(gap)

    def _cuts_all(self, loop: set[str], label: str) -> bool:
        return networkx.is_directed_acyclic_graph(induced(self._flow, loop - {label}))

    # Rule 2

    def _limit_paths(self) -> None:
        plain = [label for label in self._flow if not self._cut(label)]
        order = list(networkx.topological_sort(induced(self._flow, plain)))
        cut = [label for label in self._flow if label not in set(plain)]
        leaving = {label: self._after_last_point(self._blocks[label]) for label in cut}
        for label in (*order, *cut):
            run = max((leaving[before] for before in self._flow.predecessors(label)), default=0)
            run = self._walk(self._blocks[label], run)
            leaving[label] = run

    def _after_last_point(self, block: Block) -> int:
        points = [k for k, op in enumerate(block.ops) if is_point(op)]
        start = max((*(k + 1 for k in points), *self._points[block.label]))
        return len(block.ops) - start + 1

    def _walk(self, block: Block, run: int) -> int:
        """Return the instructions since the last point at the end of `block`, with points added on the way."""
        start = 0  # first gap that belongs to the present stretch
        for k in range(len(block.ops) + 1):
            if k in self._points[block.label]:
                run, start = 0, k
            if run + 1 > self._interval:
                first = max(start + (start in self._points[block.label]), k - self._interval // 2)
                _, gap = min((self._cost(block.label, gap), gap) for gap in range(min(first, k), k + 1))
                self._points[block.label].add(gap)
                run, start = k - gap, gap
            run += 1
            if k < len(block.ops) and is_point(block.ops[k]):
                run, start = 0, k + 1
        return run

    # Words

    def _insert(self) -> None:
        for block in self._kernel.blocks:
            gaps = self._gap_sets(block.label)
            for gap in sorted(self._points[block.label], reverse=True):
                live = gaps[gap]
                line = block.ops[gap].line if gap < len(block.ops) else block.end.line
                block.ops[gap:gap] = [
                    Op("pp", imm=_vector(live), line=line),
                    Op("pp.div", imm=_vector(live | self._waiting[block.label]), line=line)]


def _vector(live) -> int:
    return liveness_vector(reg.index for reg in live if reg.kind == "R")


def place_points(kernel: Kernel, interval: int) -> None:
    """Insert ``pp`` and ``pp.div`` words into `kernel` (stage ``machine``, laid out).

    Parameters
    ----------
    kernel : Kernel
    interval : int
        K: most instructions between points outside loops.
    """
    _Placement(kernel, interval).run()


def set_barrier_liveness(kernel: Kernel) -> None:
    """Give every barrier the vector of what is live after it (there is no divergence at a barrier)."""
    live_sets = liveness(kernel)
    for block in kernel.blocks:
        for _, op, live in live_sets.backward(block):
            if op.name.startswith("bar."):
                op.imm = _vector(live)
