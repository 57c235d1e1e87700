"""Finds where a preempted warp stops: the first preemption points on its way, and their distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..analysis.calls import instruction_count
from ..analysis.dataflow import Analysis, solve
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph, cycles, induced, reachable, topological_order
from ..ir.kernel import Block, Call, Kernel, Op
from ..preemption.intervals import is_preemption_point

__all__ = ["Stops", "stops", "routine_stops"]


class Stops(NamedTuple):
    """The points that a warp may reach from a place.

    Attributes
    ----------
    points : frozenset of (str, int)
        Block and index of the points it may reach first.
    may_end : bool
        Whether it may end before it reaches one: all its lanes may leave at an ``exit``.
    least, most : int or None
        Instructions on the way, the point and ``pp.div`` not counted. `most` is None if there is no bound; both are
        None if it reaches neither.
    """

    points: frozenset[tuple[str, int]]
    may_end: bool
    least: int | None
    most: int | None

    def after(self, count: int) -> Stops:
        """Return the same as seen from `count` instructions before."""
        return self._replace(least=None if self.least is None else self.least + count,
                             most=None if self.most is None else self.most + count)

    def before(self, op: Op) -> Stops:
        """Return the same as seen from before an operation that is not a point."""
        if isinstance(op, Call):
            return self._replace(least=None if self.least is None else self.least + 1 + op.summary.least,
                                 most=None if self.most is None else self.most + instruction_count(op))
        seen = self.after(op.name != "pp.div")
        return seen._replace(may_end=True, least=1) if op.name == "exit" else seen


def stops(kernel: Kernel, graph: DiGraph, words: dict[str, int]) -> dict[str, list[Stops]]:
    """Return the stops before each operation of each block, and last, before its terminator.

    Parameters
    ----------
    kernel : Kernel
    graph : DiGraph
        Its control-flow graph.
    words : dict of str to int
        Instruction words of each block, its terminator included if it has one.
    """
    blocks = {block.label: block for block in kernel.blocks}
    first = {label: next((k for k, op in enumerate(block.ops) if is_preemption_point(op)), None)
             for label, block in blocks.items()}
    leaves = {label: next((k + 1 + sum(x.summary.least for x in block.ops[:k] if isinstance(x, Call))
                           for k, op in enumerate(block.ops[:first[label]]) if op.name == "exit"), math.inf)
              for label, block in blocks.items()}

    def reach(label: str, after: tuple[frozenset, bool]) -> tuple[frozenset, bool]:
        may_end = leaves[label] < math.inf
        if first[label] is not None:
            return frozenset(((label, first[label]),)), may_end
        return (after[0], after[1] or may_end) if blocks[label].end.targets else (frozenset(), True)

    def approach(label: str, after: float) -> float:
        point = first[label]
        size = words[label] if point is None else point
        inside = sum(op.summary.least for op in blocks[label].ops[:size] if isinstance(op, Call))
        through = size + inside + (after if point is None and blocks[label].end.targets else 0)
        return min(leaves[label], through)

    reached, _ = solve(Analysis[tuple[frozenset, bool]](
        False, (frozenset(), False), lambda a, b: (a[0] | b[0], a[1] or b[1]), reach), graph)
    least, _ = solve(Analysis(False, math.inf, min, approach), graph)
    most = _longest(blocks, graph, first, words)
    result = {}
    for label, block in blocks.items():
        targets = block.end.targets
        far = [most[target] for target in targets]
        ahead = Stops(frozenset().union(*(reached[target][0] for target in targets)),
                      not targets or any(reached[target][1] for target in targets),
                      _whole(min((least[target] for target in targets), default=0)),
                      None if None in far else max((x for x in far if x is not None), default=0))
        found = [ahead.after(words[label] - len(block.ops))]
        for index in range(len(block.ops) - 1, -1, -1):
            here = is_preemption_point(block.ops[index])
            found.append(Stops(frozenset(((label, index),)), False, 0, 0) if here
                         else found[-1].before(block.ops[index]))
        result[label] = found[::-1]
    return result


def routine_stops(body: Kernel, words: dict[str, int], behind: Sequence[Stops]) -> dict[str, list[Stops]]:
    """Return the stops before each operation of a routine's blocks, which have no points.

    Parameters
    ----------
    body : Kernel
    words : dict of str to int
        Argument of `stops`.
    behind : sequence of Stops
        Stops behind each of its calls.
    """
    blocks = {block.label: block for block in body.blocks}
    least = [stop.least for stop in behind if stop.least is not None]
    most = [stop.most for stop in behind]
    after = Stops(frozenset().union(*(stop.points for stop in behind)), any(stop.may_end for stop in behind),
                  min(least, default=None), None if None in most else max(x for x in most if x is not None))
    found: dict[str, list[Stops]] = {}
    for label in reversed(topological_order(flow_graph(body))):
        block = blocks[label]
        ahead = [found[target][0] for target in block.end.targets] or [after]
        last = ahead[0]._replace(least=None if after.least is None else min(x.least or 0 for x in ahead),
                                 most=None if after.most is None else max(x.most or 0 for x in ahead))
        count = words[label]
        found[label] = [last.after(count - k) for k in range(len(block.ops) + 1)]
    return found


def _whole(distance: float) -> int | None:
    return None if distance == math.inf else int(distance)


def _longest(blocks: dict[str, Block], graph: DiGraph, first: dict[str, int | None], words: dict[str, int]
             ) -> dict[str, int | None]:
    """Return the most instructions from the start of each block to a point or the end; None if there is no bound."""
    plain = induced(graph, [label for label in graph if first[label] is None])
    taken = {label: sum(op.summary.most for op in blocks[label].ops[:first[label]] if isinstance(op, Call))
             for label in blocks}
    most: dict[str, int | None] = {label: index + taken[label] for label, index in first.items() if index is not None}
    for cycle in cycles(plain):
        for label in cycle:
            most.update(reachable(plain, label, backward=True))
    rest = induced(plain, [label for label in plain if label not in most])
    for label in reversed(topological_order(rest)):
        far = [most[target] for target in blocks[label].end.targets]
        most[label] = words[label] + taken[label] + max((x for x in far if x is not None), default=0)
    return most
