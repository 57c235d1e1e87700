"""The control-flow graph of a kernel as a networkx graph of labels, and its small everyday changes."""

from __future__ import annotations

import networkx

from .kernel import Block, Kernel

__all__ = ["graph", "by_label", "reverse_postorder", "drop_unreachable"]


def graph(kernel: Kernel) -> networkx.DiGraph:
    """Return the control-flow graph: nodes are labels in layout order, with the `Block` as attribute ``block``."""
    result = networkx.DiGraph()
    for block in kernel.blocks:
        result.add_node(block.label, block=block)
    for block in kernel.blocks:
        for target in block.end.targets:
            result.add_edge(block.label, target)
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
