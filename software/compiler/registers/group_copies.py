"""Registers that are needed in several places at once get a copy for each."""

from __future__ import annotations

from collections.abc import Collection

from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import groups
from .interference import groups_of

__all__ = ["copy_repeated_operands", "copy_groups", "in_two_groups"]


def copy_repeated_operands(kernel: Kernel) -> None:
    """Copy words that one operation of `kernel` (stage ``narrow``) reads in two places of groups, or in two groups."""
    for block in kernel.blocks:
        if any(groups(op) for op in block.ops):
            block.ops = [made for op in block.ops for made in _separated(kernel, op)]


def _separated(kernel: Kernel, op: Op) -> list[Op]:
    """Return `op` behind the copies that it needs."""
    owners: dict[Reg, tuple] = {}
    replaced: dict[tuple, tuple] = {}
    copies: list[Op] = []
    for result, start, width in sorted(groups(op), reverse=True):
        if result and op.guard is None:
            continue
        group: tuple = (op.defs if result else op.uses)[start:start + width]
        if group not in replaced:
            own = []
            for place, reg in enumerate(group):
                if owners.setdefault(reg, group) == group and reg not in group[:place]:
                    own.append(reg)
                else:
                    own.append(kernel.fresh("r"))
                    copies.append(Op("mov", (own[-1],), (reg,), line=op.line))
            replaced[group] = tuple(own)
        if replaced[group] != group:
            assert not result, f"a register twice among the results of {op}"
            op.uses = (*op.uses[:start], *replaced[group], *op.uses[start + width:])
    return [*copies, op]


def in_two_groups(kernel: Kernel) -> set[Reg]:
    """Return the registers that are in two different groups, or twice in one."""
    known: dict[Reg, tuple[Reg, ...]] = {}
    found: set[Reg] = set()
    for op in filter(groups, kernel.ops()):
        for group in groups_of(op):
            for reg in group:
                if known.setdefault(reg, group) != group or group.count(reg) > 1:
                    found.add(reg)
    return found


def copy_groups(kernel: Kernel, registers: Collection[Reg]) -> None:
    """Give each group that holds one of `registers` registers of its own, with copies, wherever it occurs."""
    wanted = set(registers)
    for block in kernel.blocks if wanted else ():
        ops: list[Op] = []
        for op in block.ops:
            copies: dict[tuple[Reg, ...], tuple[Reg, ...]] = {}
            after: list[Op] = []
            for (result, start, width), group in zip(groups(op), groups_of(op), strict=True):
                if wanted.isdisjoint(group):
                    continue
                if result:
                    own = tuple(kernel.fresh("r") for _ in group)
                    if op.guard is not None:  # the lanes that do not execute keep their words
                        ops += [Op("mov", (t,), (d,), line=op.line) for d, t in zip(group, own, strict=True)]
                    after = [Op("mov", (d,), (t,), line=op.line) for d, t in zip(group, own, strict=True)]
                    op.defs = (*op.defs[:start], *own, *op.defs[start + width:])
                else:
                    if group not in copies:
                        copies[group] = own = tuple(kernel.fresh("r") for _ in group)
                        ops += [Op("mov", (t,), (s,), line=op.line) for t, s in zip(own, group, strict=True)]
                    op.uses = (*op.uses[:start], *copies[group], *op.uses[start + width:])
            ops += [op, *after]
        block.ops = ops
