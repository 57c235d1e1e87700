"""Tidying of the control-flow graph: constant branches, empty blocks, chains of blocks."""

from __future__ import annotations

from ..ir.cfg import by_label, drop_unreachable, graph
from ..ir.kernel import Kernel, Terminator

__all__ = ["simplify_cfg"]


def simplify_cfg(kernel: Kernel) -> bool:
    """Simplify the graph of `kernel`; return whether anything changed."""
    changed = False
    while _resolve_branches(kernel) | _skip_empty(kernel) | drop_unreachable(kernel) | _merge_chains(kernel):
        changed = True
    return changed


def _resolve_branches(kernel: Kernel) -> bool:
    changed = False
    for block in kernel.blocks:
        end = block.end
        if end.condition is None:
            continue
        if end.condition.reg is None:
            block.end = Terminator((end.targets[end.condition.negated],), None, end.line)
            changed = True
        elif end.targets[0] == end.targets[1]:
            block.end = Terminator(end.targets[:1], None, end.line)
            changed = True
    return changed


def _skip_empty(kernel: Kernel) -> bool:
    blocks = by_label(kernel)

    known: dict[str, str] = {}  # so that a long chain of empty blocks is walked once

    def final(label: str) -> str:
        seen: dict[str, None] = {}
        while not blocks[label].ops and len(blocks[label].end.targets) == 1 and label not in seen:
            if label in known:
                label = known[label]
                break
            seen[label] = None
            label = blocks[label].end.targets[0]
        if label not in seen:  # where the chain ends, not within a loop of empty blocks
            known.update(dict.fromkeys(seen, label))
        return label

    changed = False
    for block in kernel.blocks:
        targets = tuple(map(final, block.end.targets))
        changed |= targets != block.end.targets
        block.end.targets = targets
    return changed


def _merge_chains(kernel: Kernel) -> bool:
    flow = graph(kernel)
    blocks = by_label(kernel)
    merged: set[str] = set()
    entry = kernel.blocks[0].label
    for block in kernel.blocks:
        while block.label not in merged and len(block.end.targets) == 1:
            follower = blocks[block.end.targets[0]]
            if follower is block or follower.label == entry or len(flow.pred[follower.label]) != 1:
                break
            block.ops += follower.ops
            block.end = follower.end
            merged.add(follower.label)
    kernel.blocks = [block for block in kernel.blocks if block.label not in merged]
    return bool(merged)
