"""Dominators, and the points where divergent lanes meet again (immediate post-dominators).

1. A block **dominates** another if every path from the start of the kernel to the other runs through it. Its immediate
   dominator is the last of its dominators before it. Unreachable blocks have none.
2. A block **post-dominates** another if every path from the other to the end runs through it. The cases of
   `reconvergence` define the end, and what replaces it where there is none.
"""

from __future__ import annotations

from typing import Any

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import memoized
from ..ir.digraph import DiGraph, cycles, induced
from ..ir.digraph import immediate_dominators as find_dominators
from ..ir.kernel import Kernel
from .loops import entry_of

__all__ = ["immediate_dominators", "dominators_of", "reconvergence"]

_END = object()


def immediate_dominators(kernel: Kernel) -> dict[str, str]:
    """Return the immediate dominator of each reachable block; the entry is its own."""
    return dominators_of(flow_graph(kernel))


@memoized
def dominators_of(graph: DiGraph) -> dict[str, str]:
    """Return the immediate dominators in a control-flow graph, whose first node is the entry."""
    entry = next(iter(graph))
    return find_dominators(graph, entry)


@memoized
def reconvergence(graph: DiGraph) -> dict[str, str | None]:
    """Return where the lanes that leave a node on different edges meet again; None if nowhere.

    They meet at its immediate post-dominator (Fung et al., MICRO 2007), with these cases:

    1. A lane that exits needs no meeting point. If several nodes have no successors, the last one in the graph's order
       is the end. A node that does not reach it is judged in the remaining graph in the same way. So a path that ends
       early does not keep the other lanes apart.
    2. In a part of the graph that never ends, lanes meet again when the next round begins. An edge to the header of its
       last loop counts as the end; lanes that meet only there meet at the header.
    3. If the nearest meeting point is the end of the thread itself, there is none.
    """
    result: dict[str, str | None] = {}
    remaining = list(graph)
    while remaining:
        part = induced(graph, remaining)
        ends = [node for node in remaining if not part.succ[node]]
        header = None if ends else _last_header(part)
        final = ends[-1:] if header is None else list(part.pred[header])
        reverse: DiGraph[Any] = DiGraph([(_END, node) for node in final])
        reverse.add_edges((b, a) for a, b in part.edges() if b != header)
        parents = find_dominators(reverse, _END)
        for node in remaining:
            if node in parents:
                result[node] = header if parents[node] is _END else parents[node]
        remaining = [node for node in remaining if node not in parents]
    return result


def _last_header(graph: DiGraph) -> str:
    """Return the header of the last loop, in the graph's order, that no edge leaves."""
    places = {node: k for k, node in enumerate(graph)}
    closed = [loop for loop in cycles(graph)
              if all(target in loop for node in loop for target in graph.succ[node])]
    return entry_of(graph, max(closed, key=lambda loop: max(places[node] for node in loop)))
