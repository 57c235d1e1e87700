"""Loops, irreducible ones included.

1. A **loop** is a strongly connected part of the control-flow graph that contains a cycle.
2. Its **entry** is the first of its blocks, in the order of the graph, that can be reached from outside. An irreducible
   loop has several such blocks; this one stands for the loop.
3. **Inner** loops are the loops of the part that is left without the entry.
"""

from __future__ import annotations

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import memoized
from ..ir.digraph import DiGraph, cycles
from ..ir.kernel import Kernel

__all__ = ["entry_of", "loops_of", "loop_depth"]


def entry_of(graph: DiGraph, loop: set[str]) -> str:
    """Return the loop's header: the first of its nodes, in the graph's order, entered from outside."""
    entered = [node for node in loop if not loop.issuperset(graph.pred[node])]
    if len(entered) == 1:
        return entered[0]
    candidates = set(entered) or loop
    return next(node for node in graph if node in candidates)


def loops_of(kernel: Kernel) -> dict[str, frozenset[int]]:
    """Return the loops that each block is in, each with a number of its own."""
    return _loops(flow_graph(kernel))


@memoized
def _loops(graph: DiGraph) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {label: set() for label in graph}
    pending = list(cycles(graph))
    count = 0
    while pending:
        loop = pending.pop()
        for label in loop:
            found[label].add(count)
        count += 1
        pending += cycles(graph, loop - {entry_of(graph, loop)})
    return {label: frozenset(loops) for label, loops in found.items()}


def loop_depth(kernel: Kernel) -> dict[str, int]:
    """Return the number of loops that each block is in."""
    return {label: len(loops) for label, loops in loops_of(kernel).items()}
