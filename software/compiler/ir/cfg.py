"""The control-flow graph of a kernel as a networkx graph of labels, and its small everyday changes."""

from __future__ import annotations

from collections.abc import Collection

import networkx

from .kernel import Block, Kernel

__all__ = ["graph", "induced", "by_label", "reverse_postorder", "drop_unreachable"]


def graph(kernel: Kernel) -> networkx.DiGraph:
    """Return the control-flow graph; its nodes are the labels, in layout order."""
    result = networkx.DiGraph()
    result.add_nodes_from(block.label for block in kernel.blocks)
    result.add_edges_from((block.label, target) for block in kernel.blocks for target in block.end.targets)
    return result


def induced(graph: networkx.DiGraph, nodes: Collection[str]) -> networkx.DiGraph:
    """Return the subgraph on `nodes` as a graph of its own, in the order of `graph` whatever the order of `nodes`."""
    kept = set(nodes)
    result = networkx.DiGraph()
    result.add_nodes_from(node for node in graph if node in kept)
    result.add_edges_from((a, b) for a in result for b in graph.successors(a) if b in kept)
    return result


def by_label(kernel: Kernel) -> dict[str, Block]:
    """Return the blocks by label."""
    return {block.label: block for block in kernel.blocks}


def reverse_postorder(kernel: Kernel) -> list[str]:
    """Return the labels of the reachable blocks, predecessors first where there is no loop."""
    order = list(networkx.dfs_postorder_nodes(graph(kernel), kernel.blocks[0].label))
    return order[::-1]


def drop_unreachable(kernel: Kernel) -> bool:
    """Remove blocks that the entry does not reach; returns whether there were any."""
    reachable = set(reverse_postorder(kernel))
    kept = [block for block in kernel.blocks if block.label in reachable]
    changed = len(kept) != len(kernel.blocks)
    kernel.blocks = kept
    return changed
