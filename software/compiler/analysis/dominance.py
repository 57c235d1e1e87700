"""Dominators, and the points where divergent lanes meet again (immediate post-dominators)."""

from __future__ import annotations

import networkx

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import induced
from ..ir.kernel import Kernel

__all__ = ["immediate_dominators", "dominates", "reconvergence"]

_END = object()


def immediate_dominators(kernel: Kernel) -> dict[str, str]:
    """Return the immediate dominator of each reachable block; the entry's is itself."""
    entry = kernel.blocks[0].label
    return {**networkx.immediate_dominators(flow_graph(kernel), entry), entry: entry}


def dominates(idom: dict[str, str], a: str, b: str) -> bool:
    """Whether block `a` is on every path from the entry to block `b`."""
    while b != a:
        if idom[b] == b:
            return False
        b = idom[b]
    return True


def reconvergence(graph: networkx.DiGraph) -> dict[str, str | None]:
    """Return where the lanes that leave a node on different edges meet again, None if nowhere.

    That is its immediate post-dominator (Fung et al., MICRO 2007), with these cases:

    1. A lane that exits needs no meeting point. Of several nodes without successors the last one in the graph's order
       counts as the end; a node that does not reach it is judged in the remaining graph in the same way. So a path
       that ends early does not keep the other lanes apart.
    2. In a part of the graph that never ends, its last node counts as the end.
    3. If the nearest meeting point is the end of the thread itself, there is none.
    """
    result: dict[str, str | None] = {}
    remaining = list(graph)
    while remaining:
        ends = [node for node in remaining if graph.out_degree(node) == 0]
        end = ends[-1] if ends else remaining[-1]
        reverse = networkx.DiGraph([(_END, end), *((b, a) for a, b in induced(graph, remaining).edges)])
        parents = networkx.immediate_dominators(reverse, _END)
        for node in remaining:
            if node in parents:
                result[node] = None if parents[node] is _END else parents[node]
        remaining = [node for node in remaining if node not in parents]
    return result
