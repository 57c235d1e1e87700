"""The verifier of preemption points: it bounds the way of a warp without a point.

1. A **point** is a ``pp``, or a barrier. Each ``pp`` is followed by its ``pp.div``.
2. Every cycle of the control-flow graph has a point.
3. An **interval** is a path without a point between its ends. It begins at the start of the kernel or behind a point;
   its length is its number of instructions. A call counts the longest path through its routine.
"""

from __future__ import annotations

from ..analysis.calls import instruction_count
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import find_cycle, induced, topological_order
from ..ir.kernel import Block, Kernel, Op
from ..ir.spec import SIGNATURES

__all__ = ["InvalidCode", "is_preemption_point", "longest_interval"]


class InvalidCode(AssertionError):
    """Code that cannot be preempted correctly: a bug of the compiler, or a foreign image."""


def is_preemption_point(op: Op) -> bool:
    """Return whether a warp can be stopped at `op`: ``pp``, or a barrier."""
    return op.name in _POINTS


_POINTS = frozenset(name for name in SIGNATURES if name == "pp" or name.startswith("bar."))


def longest_interval(kernel: Kernel) -> int:
    """Return the most instructions on a path without a preemption point between its ends.

    Raises
    ------
    InvalidCode
        If a cycle of the control-flow graph has no preemption point, or a ``pp`` is not followed by its ``pp.div``.
    """
    flow = flow_graph(kernel)
    for block in kernel.blocks:
        for k, op in enumerate(block.ops):
            if op.name == "pp" and (k + 1 == len(block.ops) or block.ops[k + 1].name != "pp.div"):
                raise InvalidCode(f"{kernel.name}, block {block.label}: pp without pp.div")
    plain = induced(flow, [b.label for b in kernel.blocks if not any(map(is_preemption_point, b.ops))])
    if cycle := find_cycle(plain):
        raise InvalidCode(f"{kernel.name}: no preemption point in the loop {' -> '.join(cycle)}")
    blocks = {block.label: block for block in kernel.blocks}
    leaving = {label: _runs(blocks[label])[-1] for label in flow if label not in plain}
    longest = 0
    for label in (*topological_order(plain), *leaving):
        before = max((leaving[x] for x in flow.pred[label]), default=0)
        runs = _runs(blocks[label])
        longest = max(longest, before + runs[0], *runs[1:]) if len(runs) > 1 else max(longest, before + runs[0])
        if label in plain:
            leaving[label] = before + runs[0]
    return longest


def _runs(block: Block) -> list[int]:
    """Return the lengths of the stretches of instructions before, between and after the block's points."""
    runs = [0]
    for op in block.ops:
        if is_preemption_point(op):
            runs.append(0)
        elif op.name != "pp.div":
            runs[-1] += instruction_count(op)
    runs[-1] += 1  # the terminator, or the next block's first word
    return runs
