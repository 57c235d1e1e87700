"""Predicates beyond the seven of the machine live in vector registers, as 1 and 0."""

from __future__ import annotations

from ..ir.kernel import Imm, Kernel, Op, Pred, Reg

__all__ = ["spill_predicate"]


def spill_predicate(kernel: Kernel, victim: Reg) -> set[Reg]:
    """Keep `victim` in a vector register; returns the short-lived predicates that stand for it."""
    home = kernel.fresh("r")
    made: set[Reg] = set()

    def load(ops: list[Op], line: int) -> Reg:
        copy = kernel.fresh("p")
        made.add(copy)
        ops.append(Op("setp.ne", (copy,), (home, Imm(0)), line=line))
        return copy

    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            copy = None
            if victim in op.read() or (op.guard is not None and victim in op.written()):
                copy = load(ops, op.line)
                op.uses = tuple(_replaced(use, victim, copy) for use in op.uses)
                op.guard = _replaced(op.guard, victim, copy)
            ops.append(op)
            if victim in op.written():
                if copy is None:
                    copy = kernel.fresh("p")
                    made.add(copy)
                op.defs = tuple(copy if d == victim else d for d in op.defs)
                ops.append(Op("mov", (home,), (Imm(0),), line=op.line))
                ops.append(Op("mov", (home,), (Imm(1),), Pred(copy), line=op.line))
        condition = block.end.condition
        if condition is not None and condition.reg == victim:
            block.end.condition = condition._replace(reg=load(ops, block.end.line))
        block.ops = ops
    return made


def _replaced(use, old: Reg, new: Reg):
    return use._replace(reg=new) if isinstance(use, Pred) and use.reg == old else use
