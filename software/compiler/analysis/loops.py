"""Loops as nested strongly connected components; irreducible ones included."""

from __future__ import annotations

from collections.abc import Iterator

import networkx

from ..ir.cfg import graph as flow_graph
from ..ir.kernel import Kernel

__all__ = ["cycles", "entry_of", "loop_depth"]


def cycles(graph: networkx.DiGraph, nodes=None) -> Iterator[set]:
    """Yield the strongly connected components that contain a cycle, of the subgraph on `nodes`."""
    part = graph if nodes is None else graph.subgraph(nodes)
    for component in networkx.strongly_connected_components(part):
        node = next(iter(component))
        if len(component) > 1 or part.has_edge(node, node):
            yield component


def entry_of(graph: networkx.DiGraph, loop: set) -> object:
    """Return the loop's header: the first of its nodes, in the graph's order, entered from outside."""
    inside = [node for node in graph if node in loop]
    for node in inside:
        if any(before not in loop for before in graph.predecessors(node)):
            return node
    return inside[0]


def loop_depth(kernel: Kernel) -> dict[str, int]:
    """Return how many loops each block is in."""
    graph = flow_graph(kernel)
    depth = dict.fromkeys(graph, 0)
    pending = list(cycles(graph))
    while pending:
        loop = pending.pop()
        for node in loop:
            depth[node] += 1
        pending += cycles(graph, loop - {entry_of(graph, loop)})
    return depth
