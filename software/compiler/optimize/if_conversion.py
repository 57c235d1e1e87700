"""If-conversion: short conditional code is executed under a guard instead of being branched around.

A block that ends in a branch absorbs the code of one side, if the other goes on at once, or of both sides, where they
meet again. Each operation of a side is

1. executed under the side's condition, if its result is needed where the sides meet, or it stores. Registers needed
   there were live before the branch as well. So a guarded definition, which kills nothing, keeps nothing alive;
2. executed by all lanes, if it only computes a value that the side itself needs; or
3. for a load that the side itself needs, executed under the condition into another register. The side has written that
   register before, and the load was its last reader. Otherwise nothing would kill the old value of the load's result.

All lanes execute the first of two sides, as far as the second does not read what it overwrites.

Sides with a convergent operation, a barrier, an ``exit`` or a slow unit's operation are left alone. Long ones are too:
a branch that no lane takes costs less.
"""

from __future__ import annotations

from collections.abc import Collection

from caesura.hw.arch.isa.opcodes import BY_NAME, Unit

from ..analysis.definitions import Definitions, definitions_of
from ..analysis.liveness import Liveness, liveness
from ..ir.cfg import by_label
from ..ir.cfg import graph as flow_graph
from ..ir.kernel import Block, Kernel, Op, Pred, Reg, Terminator
from ..ir.spec import is_convergent, is_memory, is_pure
from .simplify_cfg import simplify_cfg

__all__ = ["LONGEST", "convert_ifs"]

LONGEST = 6
"""Most operations of a side that is converted."""
_SLOW = (Unit.F64, Unit.SFU, Unit.EXCHANGE, Unit.CONTROL)


def convert_ifs(kernel: Kernel) -> bool:
    """Convert short conditional code of `kernel` (stage ``narrow``); return whether there was any."""
    changed = False
    while _sweep(kernel):
        simplify_cfg(kernel)
        changed = True
    return changed


def _sweep(kernel: Kernel) -> bool:
    blocks, flow = by_label(kernel), flow_graph(kernel)
    facts: tuple[Liveness, Definitions] | None = None  # of the code before any of it is converted
    gone: set[str] = set()
    for block in kernel.blocks:
        if block.label in gone or block.end.condition is None:
            continue
        sides = [_side(blocks[t], block, flow) for t in block.end.targets]
        taken, other = block.end.targets
        both = sides[0] if sides[0] == sides[1] else None
        meet = taken if sides[1] == taken else other if sides[0] == other else both
        if meet is None or meet == block.label or gone & {taken, other, meet}:
            continue
        parts = [blocks[t] for t in (taken, other) if t != meet]
        facts = facts or (liveness(kernel, flow), definitions_of(kernel))
        made = _merged(parts, block.end.condition if parts[0].label == taken else block.end.condition.inverted(),
                       *facts, meet)
        if made is not None:
            block.ops += made
            block.end = Terminator((meet,), None, block.end.line)
            gone |= {part.label for part in parts}
    kernel.blocks = [block for block in kernel.blocks if block.label not in gone]
    return bool(gone)


def _side(side: Block, before: Block, flow) -> str | None:
    """Return the block behind `side`, if only `before` leads to it and its code may be converted."""
    alone = len(side.end.targets) == 1 and list(flow.pred[side.label]) == [before.label]
    legal = 0 < len(side.ops) <= LONGEST and all(map(_convertible, side.ops))
    return side.end.targets[0] if alone and legal else None


def _convertible(op: Op) -> bool:
    row = BY_NAME.get(op.name) or BY_NAME.get(op.name + ".i")
    return row is not None and row.unit not in _SLOW and not is_convergent(op)


def _merged(parts: list[Block], condition: Pred, live: Liveness, known: Definitions, meet: str) -> list[Op] | None:
    """Return the code of one side or two in a row; None if it cannot be merged."""
    if any(reg == condition.reg for part in parts for op in part.ops for reg in op.written()):
        return None
    needed = live.live_in[meet]
    if len(parts) == 1:
        return _guarded(parts[0].ops, condition, needed, known)
    first, second = parts
    settled = {reg for op in second.ops for reg in op.written() if reg in needed}
    plain = _guarded(first.ops, condition, needed - settled, known)
    guarded = _guarded(second.ops, condition.inverted(), needed, known)
    if plain is None or guarded is None:
        return None
    overwritten = {reg for op in plain for reg in op.written() if op.guard != condition}
    return plain + guarded if overwritten.isdisjoint(live.live_in[second.label]) else None


def _guarded(ops: list[Op], condition: Pred, needed: Collection[Reg], known: Definitions) -> list[Op] | None:
    """Return the code of a side as all lanes execute it; `needed` are the registers that only some may write."""
    made: list[Op] = []
    renamed: dict[Reg, Reg] = {}
    own: set[Reg] = set()
    for before in ops:
        op = Op(before.name, before.defs, tuple(renamed.get(use, use) for use in before.uses), before.guard, before.imm,
                before.line, before.volatile)
        local = not any(d in needed for d in op.written())
        if local and is_pure(op) and not is_memory(op):
            own.update(op.killed())
        elif op.guard is not None:
            return None
        else:
            op.guard = condition
            if local and op.defs:
                held = _last_read(before, ops, known)
                target = renamed.get(held, held) if held is not None else None
                if target not in own or target is None:
                    return None
                renamed[op.dest] = target
                op.defs = (target,)
        made.append(op)
    return made


def _last_read(op: Op, ops: list[Op], known: Definitions) -> Reg | None:
    """Return a register that only `op` reads, for the result of `op`, if only `ops` read that."""
    if len(op.defs) != 1 or known.single(op.dest) is None or known.is_condition(op.dest) \
            or not all(user in ops for user in known.readers(op.dest)):
        return None
    for use in op.uses:
        if isinstance(use, Reg) and use.kind == "r" and known.single(use) is not None and len(known.readers(use)) == 1:
            return use
    return None
