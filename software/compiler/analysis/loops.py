"""Loops as nested strongly connected components; irreducible ones included."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import networkx

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import induced
from ..ir.kernel import Kernel

__all__ = ["cycles", "entry_of", "loops_of", "loop_depth"]


def cycles(graph: networkx.DiGraph, nodes: Collection[str] | None = None) -> Iterator[set[str]]:
    """Yield the strongly connected components that contain a cycle, of the subgraph on `nodes`."""
    part = graph if nodes is None else induced(graph, nodes)
    for component in networkx.strongly_connected_components(part):
        node = next(iter(component))
        if len(component) > 1 or part.has_edge(node, node):
            yield component


def entry_of(graph: networkx.DiGraph, loop: set[str]) -> str:
    """Return the loop's header: the first of its nodes, in the graph's order, entered from outside."""
    inside = [node for node in graph if node in loop]
    for node in inside:
        if any(before not in loop for before in graph.predecessors(node)):
            return node
    return inside[0]


def loops_of(kernel: Kernel) -> dict[str, frozenset[int]]:
    """Return the loops that each block is in, each with a number of its own."""
    graph = flow_graph(kernel)
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
