"""The control-flow graph of a kernel as a graph of labels, and small common changes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from .digraph import DiGraph, postorder
from .kernel import Block, Kernel

__all__ = ["graph", "memoized", "kept", "neighbours", "by_label", "snapshot", "words", "reverse_postorder",
           "drop_unreachable"]

Result = TypeVar("Result")


def graph(kernel: Kernel) -> DiGraph:
    """Return the control-flow graph, which callers must not change; its nodes are the labels, in layout order.

    While blocks and their targets stay the same, it is the same graph, and keeps facts found about it (`memoized`).
    """
    shape = [(block.label, block.end.targets) for block in kernel.blocks]
    if kernel.flow is None or kernel.flow[0] != shape:
        result = DiGraph()
        result.add_nodes(label for label, _ in shape)
        result.add_edges((label, target) for label, targets in shape for target in targets)
        kernel.flow = shape, result
    return kernel.flow[1]


def memoized(find: Callable[[DiGraph], Result]) -> Callable[[DiGraph], Result]:
    """Decorate a function of a control-flow graph; its result is kept with the graph, and must not be changed."""
    key = f"{find.__module__}.{find.__qualname__}"

    @functools.wraps(find)
    def found(graph: DiGraph) -> Result:
        kept = graph.facts
        if key not in kept:
            kept[key] = find(graph)
        return kept[key]

    return found


def kept(find: Callable[[Kernel], Result]) -> Callable[[Kernel], Result]:
    """Decorate an analysis of the registers that a kernel reads and writes; its result must not be changed.

    The result is kept with the kernel as long as blocks, operations and their operands stay the same.
    """
    key = f"{find.__module__}.{find.__qualname__}"

    @functools.wraps(find)
    def found(kernel: Kernel) -> Result:
        ops = [op for block in kernel.blocks for op in block.ops]
        code = ([(block.label, block.end.targets, block.end.condition, len(block.ops)) for block in kernel.blocks], ops,
                [op.defs for op in ops], [op.uses for op in ops], [op.guard for op in ops])
        if kernel.facts is None or kernel.facts[0] != code:
            kernel.facts = code, {}
        facts = kernel.facts[1]
        if key not in facts:
            facts[key] = find(kernel)
        return facts[key]

    return found


@memoized
def neighbours(graph: DiGraph) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the predecessors and the successors of each node."""
    return ({node: tuple(graph.pred[node]) for node in graph},
            {node: tuple(graph.succ[node]) for node in graph})


def by_label(kernel: Kernel) -> dict[str, Block]:
    """Return the blocks by label."""
    return {block.label: block for block in kernel.blocks}


def snapshot(kernel: Kernel) -> Kernel:
    """Return the code of a kernel as it is now; later changes of its blocks do not affect the copy.

    The copy shares the operations and the graph.
    """
    found = Kernel(kernel.name, [Block(block.label, block.ops[:], block.end) for block in kernel.blocks])
    found.flow = kernel.flow
    return found


def words(blocks: Sequence[Block]) -> dict[str, int]:
    """Return the instruction words that each block takes when they are laid out in this order.

    A terminator takes one. A jump to the next block takes none, nor does the end of a routine: its ``bru`` is an
    operation.
    """
    found = {}
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        falls = following is not None and block.end.targets == (following.label,)
        returns = not block.end.targets and bool(block.ops) and block.ops[-1].name == "bru"
        found[block.label] = len(block.ops) + (not (falls or returns))
    return found


def reverse_postorder(kernel: Kernel) -> list[str]:
    """Return the labels of the reachable blocks, predecessors first where there is no loop."""
    return _reverse_postorder(graph(kernel))


@memoized
def _reverse_postorder(graph: DiGraph) -> list[str]:
    return postorder(graph, next(iter(graph)))[::-1]


def drop_unreachable(kernel: Kernel) -> bool:
    """Remove blocks that the entry does not reach; return whether there were any."""
    reachable = set(reverse_postorder(kernel))
    kept = [block for block in kernel.blocks if block.label in reachable]
    changed = len(kept) != len(kernel.blocks)
    kernel.blocks = kept
    return changed
