"""Loops, irreducible ones included.

1. A **loop** is a strongly connected part of the control-flow graph that contains a cycle.
2. Its **entry** is the first of its blocks, in the order of the graph, that can be reached from outside; an irreducible
   loop has several such blocks, of which this one stands for the loop.
3. **Inner** loops are those of the part that is left without the entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import memoized
from ..ir.digraph import DiGraph
from ..ir.kernel import Kernel

__all__ = ["cycles", "entry_of", "loops_of", "loop_depth"]


def cycles(graph: DiGraph[Any], nodes: Collection[Any] | None = None) -> Iterator[set[Any]]:
    """Yield the strongly connected components that contain a cycle, of the subgraph on `nodes`.

    The time is that for `nodes` alone, however large the graph. Components come in the reverse of the order in which
    they can be passed, and in the same order each time (Tarjan, SIAM J. Computing 1972).
    """
    inside = set(graph) if nodes is None else set(nodes)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    for root in graph if nodes is None else sorted(inside):
        if root in index:
            continue
        work = [(root, iter(graph.succ[root]))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in inside:
                    continue
                if other not in index:
                    index[other] = low[other] = len(index)
                    path.append(other)
                    on_path.add(other)
                    work.append((other, iter(graph.succ[other])))
                    break
                if other in on_path:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    start = _position(path, node)
                    component = set(path[start:])
                    del path[start:]
                    on_path -= component
                    if len(component) > 1 or node in graph.succ[node]:
                        yield component


def _position(path: list[str], node: str) -> int:
    """Return where `node` is in `path`, seen from its end."""
    position = len(path) - 1
    while path[position] != node:
        position -= 1
    return position


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
    """Return how many loops each block is in."""
    return {label: len(loops) for label, loops in loops_of(kernel).items()}
