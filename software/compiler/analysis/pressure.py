"""Register pressure: the number of vector registers that each operation needs, independent of their placement.

An operation needs

1. *before* it, a register for every value that is live or read, and for every result of a guarded group: lanes that do
   not execute the operation keep their words there;
2. *after* it, a register for every value that is live, and for every result, wanted or not. A group that is read stays
   whole as long as one of its words is live, if the results form a group too: words of two values cannot share an
   aligned pair.

If copies may split live ranges (`registers.live_range_splitting`), the largest need is also enough registers. Aligned
groups of one, two and four registers always fill a register file without gaps, the widest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.kernel import Block, Kernel, Op, Reg
from ..ir.spec import groups as groups_of
from .liveness import Liveness, liveness

__all__ = ["OpPressure", "pressure", "pressure_of_ops"]


@dataclass(slots=True)
class OpPressure:
    """The vector registers that one operation needs.

    Attributes
    ----------
    index : int
        Place of the operation in its block.
    op : Op
    live : set of Reg
        Vector registers live after it.
    before, after : int
        Vector registers needed before and after it.
    """

    index: int
    op: Op
    live: set[Reg]
    before: int
    after: int


def pressure_of_ops(block: Block, result: Liveness) -> Iterator[OpPressure]:
    """Yield the need of each operation of a block, from the last to the first (stage ``narrow``)."""
    live = {reg for reg in result.live_out[block.label] if reg.kind == "r"}
    for index in range(len(block.ops) - 1, -1, -1):
        op = block.ops[index]
        made = {d for d in op.defs if d is not None and d.kind == "r"}
        before = live | {use for use in op.uses if isinstance(use, Reg) and use.kind == "r"}
        if op.guard is None and made:
            before -= made.difference(op.uses)
        groups = groups_of(op) if made else ()
        whole, partial = _group_needs(op, groups, live, made, before) if len(groups) > 0 else (0, 0)
        yield OpPressure(index, op, live, len(before) + partial, len(live | made) + whole)
        live = before


def _group_needs(op: Op, groups: tuple, live: set[Reg], made: set[Reg], before: set[Reg]) -> tuple[int, int]:
    """Return the need after and before `op` beyond the values themselves, for its groups."""
    results = {d for result, start, width in groups if result for d in op.defs[start:start + width]}
    if not results:
        return 0, 0
    if op.guard is not None:
        return 0, 0 if results.isdisjoint(live) else len(results - before)
    staying, kept = live - made, set()
    for result, start, width in groups:
        group = op.uses[start:start + width]
        if not result and not staying.isdisjoint(group):
            kept.update(group)
    return len(kept - staying), 0


def pressure(kernel: Kernel, result: Liveness | None = None) -> int:
    """Return the vector registers that `kernel` (stage ``narrow``) needs: the largest of its operations' needs.

    The needs are those of `pressure_of_ops`. Only operations with groups are examined one by one.
    """
    result = liveness(kernel) if result is None else result
    most = 0
    for block in kernel.blocks:
        live = {reg for reg in result.live_out[block.label] if reg.kind == "r"}
        most = max(most, sum(reg.kind == "r" for reg in result.live_in[block.label]), len(live))
        if any(map(groups_of, block.ops)):
            for need in pressure_of_ops(block, result):
                most = max(most, need.before, need.after)
            continue
        for op in reversed(block.ops):
            made = [d for d in op.defs if d is not None and d.kind == "r"]
            live.update(made)
            most = max(most, len(live))
            if op.guard is None:
                live.difference_update(made)
            live.update([use for use in op.uses if isinstance(use, Reg) and use.kind == "r"])
            most = max(most, len(live))
    return most
