"""Branches to the end of the kernel become guarded exits.

A lane that leaves at once needs no place on the SIMT stack: it neither keeps the others from a barrier nor counts as
divergence. (PTX's ``@p bra done; ... done: ret`` would park it there until the rest of the kernel has run.)
"""

from __future__ import annotations

from ..ir.cfg import by_label, drop_unreachable
from ..ir.kernel import Kernel, Op, Terminator

__all__ = ["exit_early"]


def exit_early(kernel: Kernel) -> bool:
    """Rewrite branches and jumps to blocks that only end; return whether there were any."""
    blocks = by_label(kernel)
    changed = False
    again = True
    while again:
        again = False
        for block in kernel.blocks:
            ending = [not blocks[t].ops and not blocks[t].end.targets for t in block.end.targets]
            if not any(ending):
                continue
            end, again, changed = block.end, True, True
            if all(ending):
                block.end = Terminator(line=end.line or blocks[end.targets[0]].end.line)
            else:
                assert end.condition is not None
                condition = end.condition if ending[0] else end.condition.inverted()
                block.ops.append(Op("exit", guard=condition, line=end.line))
                block.end = Terminator((end.targets[1 if ending[0] else 0],), None, end.line)
    drop_unreachable(kernel)
    return changed
