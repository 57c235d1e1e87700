"""Layout: every branch falls through to the next block when it is not taken."""

from __future__ import annotations

from ..ir.kernel import Block, Kernel, Terminator

__all__ = ["lay_out"]


def lay_out(kernel: Kernel) -> None:
    """Invert branches, or insert blocks of one jump, so that the second target of each is the next block."""
    placed: list[Block] = []
    for block, follower in zip(kernel.blocks, [*kernel.blocks[1:], None], strict=True):
        placed.append(block)
        end = block.end
        if end.condition is None:
            continue
        following = follower.label if follower is not None else None
        taken, other = end.targets
        if taken == following:
            block.end = Terminator((other, taken), end.condition.inverted(), end.line)
        elif other != following:
            label = f"{block.label}.jump"
            placed.append(Block(label, [], Terminator((other,), None, end.line)))
            block.end = Terminator((taken, label), end.condition, end.line)
    kernel.blocks = placed
