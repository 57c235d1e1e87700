"""Dead code elimination.

An operation is removed if it only computes (`ir.spec.is_pure`) and

1. no operation that stays, nor a branch, reads any of its results; this removes whole cycles, such as the high half of
   a pointer that a loop advances; or
2. none of its results is live after it (liveness, with its cases).

An unused predicate result (a carry) is dropped from an operation that stays for its other result.
"""

from __future__ import annotations

from ..analysis.liveness import liveness
from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import EFFECTS, is_pure
from .change import Change

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(kernel: Kernel) -> Change:
    """Remove dead operations; return whether there were any."""
    unread = _unread(kernel)
    if not _not_live(kernel):
        return Change.SETTLED if unread else Change.NONE  # what 1 has left, it leaves again
    while _not_live(kernel):
        pass
    return Change.SOME


def _unread(kernel: Kernel) -> bool:
    definitions: dict[Reg, list[Op]] = {}
    needed: set[Reg] = set()
    for block in kernel.blocks:
        for op in block.ops:
            for reg in op.written():
                if reg in definitions:
                    definitions[reg].append(op)
                else:
                    definitions[reg] = [op]
            if op.volatile or op.name in EFFECTS:  # `is_pure` would be a call for each
                needed.update(op.read())
        condition = block.end.condition
        if condition is not None and condition.reg is not None:
            needed.add(condition.reg)
    pending = list(needed)
    while pending:
        for op in definitions.get(pending.pop(), ()):
            for reg in op.read():
                if reg not in needed:
                    needed.add(reg)
                    pending.append(reg)
    changed = False
    for block in kernel.blocks:
        ops = [op for op in block.ops if not needed.isdisjoint(op.defs) or not is_pure(op)]
        changed |= len(ops) != len(block.ops)
        block.ops = ops
        for op in ops:
            if len(op.defs) > 1:
                changed |= _drop_results(op, needed)
    return changed


def _drop_results(op: Op, wanted) -> bool:
    defs = tuple([None if d is not None and d.kind in "pP" and d not in wanted else d for d in op.defs])
    if defs == op.defs or all(d is None for d in defs):
        return False
    op.defs = defs
    return True


def _not_live(kernel: Kernel) -> bool:
    result = liveness(kernel)
    changed = False
    for block in kernel.blocks:
        kept = []
        live = set(result.live_out[block.label])
        condition = block.end.condition
        if condition is not None and condition.reg is not None:
            live.add(condition.reg)
        for op in reversed(block.ops):
            if live.isdisjoint(op.written()) and is_pure(op):
                changed = True  # what it reads does not become live: a chain of dead operations goes at once
                continue
            if len(op.defs) > 1:
                changed |= _drop_results(op, live)
            kept.append(op)
            live.difference_update(op.killed())
            live.update(op.read())
        block.ops = kept[::-1]
    return changed
