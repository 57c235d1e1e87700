"""Layout: every branch falls through to the next block when it is not taken."""

from __future__ import annotations

from ..analysis.dominance import reconvergence
from ..ir.cfg import graph
from ..ir.kernel import Block, Kernel, Terminator

__all__ = ["lay_out"]


def lay_out(kernel: Kernel) -> None:
    """Invert branches, or insert blocks of one jump, so that the second target of each is the next block.

    Where a jump is needed, the side that leads to the reconvergence point stays the taken one. That side needs no entry
    on the SIMT stack; the jump would need one.
    """
    meet = reconvergence(graph(kernel))
    placed: list[Block] = []
    for block, follower in zip(kernel.blocks, [*kernel.blocks[1:], None], strict=True):
        placed.append(block)
        end = block.end
        if end.condition is None:
            continue
        following = follower.label if follower is not None else None
        taken, other = end.targets
        if taken == following or (other not in (following, taken) and other == meet[block.label]):
            taken, other = other, taken
            block.end = Terminator((taken, other), end.condition.inverted(), end.line)
        if other != following:
            label = f"{block.label}.jump"
            placed.append(Block(label, [], Terminator((other,), None, end.line)))
            block.end = Terminator((taken, label), block.end.condition, end.line)
    kernel.blocks = placed
