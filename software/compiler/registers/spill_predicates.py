"""Predicates beyond the seven of the machine live in vector registers, as 1 and 0."""

from __future__ import annotations

from collections.abc import Collection

from ..ir.kernel import Imm, Kernel, Op, Pred, Reg

__all__ = ["spill_predicates"]


def spill_predicates(kernel: Kernel, victims: Collection[Reg]) -> set[Reg]:
    """Keep `victims` in vector registers; return the short-lived predicates that stand for them."""
    homes = {victim: kernel.fresh("r") for victim in victims}
    made: set[Reg] = set()

    def fresh() -> Reg:
        copy = kernel.fresh("p")
        made.add(copy)
        return copy

    def load(victim: Reg, ops: list[Op], line: int) -> Reg:
        copy = fresh()
        ops.append(Op("setp.ne", (copy,), (homes[victim], Imm(0)), line=line))
        return copy

    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            touched = {*op.read(), *op.written()} & homes.keys()
            if not touched:
                ops.append(op)
                continue
            written = [reg for reg in op.written() if reg in touched]
            needed = {*op.read()} if op.guard is None else {*op.read(), *written}
            copies = {victim: load(victim, ops, op.line) for victim in sorted(touched & needed)}
            op.uses = tuple(_replaced(use, copies) for use in op.uses)
            op.guard = _replaced(op.guard, copies)
            ops.append(op)
            results = {victim: copies.get(victim) or fresh() for victim in written}
            op.defs = tuple(d if d is None else results.get(d, d) for d in op.defs)
            for victim, copy in results.items():
                ops.append(Op("mov", (homes[victim],), (Imm(0),), line=op.line))
                ops.append(Op("mov", (homes[victim],), (Imm(1),), Pred(copy), line=op.line))
        condition = block.end.condition
        if condition is not None and condition.reg is not None and condition.reg in homes:
            block.end.condition = Pred(load(condition.reg, ops, block.end.line), condition.negated)
        block.ops = ops
    return made


def _replaced(use, copies: dict[Reg, Reg]):
    if isinstance(use, Pred) and use.reg is not None:
        return Pred(copies.get(use.reg, use.reg), use.negated)
    return use
