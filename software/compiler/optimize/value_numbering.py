"""Common subexpressions: global value numbering over the dominator tree (Briggs, Cooper, Simpson, 1997), without SSA.

Two registers have the same number at a place if both hold the result of the last execution of one operation. A new
number belongs to

1. the result of an operation without guard, and all copies of it;
2. a register in a block, if it has several definitions, or one that does not dominate the block: it is only known to
   stay the same until it is written; or
3. a register behind a definition under a guard.

A register with one definition keeps its number in every block that this dominates, others keep theirs until paths meet.
The number of a sum is its linear form (`analysis.linear_forms`).

An operation becomes a move if one that dominates it has the same name, constants and numbers of operands, or if it is a
sum that was computed before. Both results need one definition. The operation must always compute the same
(`is_repeatable`): no convergent operation, no load but of constant memory, and no clock. Predicates are shared inside a
block only: there are few registers for them, and a comparison costs no more than keeping its result.

A base that only memory operations read is replaced by an earlier base from which it differs by a constant.

Neither is done where it would raise the most registers live at once (`analysis.headroom`).
"""

from __future__ import annotations

import functools
from typing import Any

from ..analysis.definitions import definitions_of
from ..analysis.headroom import Headroom
from ..analysis.linear_forms import LinearForms
from ..ir.cfg import by_label, snapshot
from ..ir.cfg import graph as flow_graph
from ..ir.kernel import TRUE, Block, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import CONVERGENT, EFFECTS, MEMORY, is_constant, is_memory, offset_fits
from .algebraic_simplification import COMMUTES

__all__ = ["is_repeatable", "number_values"]


class _Numbering:
    def __init__(self, kernel: Kernel):
        self._before = snapshot(kernel)
        self._known = definitions_of(kernel)
        self._blocks = by_label(kernel)
        self._flow = flow_graph(kernel)
        self._forms = LinearForms()
        self._numbers: dict[Reg, tuple[int, str | None]] = {}
        self._holders: dict[tuple, tuple[Reg | None, ...]] = {}
        self._bases: dict[tuple, tuple[Reg, int]] = {}
        self._ways: dict[tuple[Reg, Reg], bool] = {}
        self._undo: list[tuple[dict, Any, Any]] = []
        self._region = ""
        self.changed = False

    @functools.cached_property
    def _headroom(self) -> Headroom:
        """Headroom of the kernel before any change; it is computed at first use, mostly never."""
        return Headroom(self._before, self._known)

    def run(self, entry: str) -> None:
        """Walk the dominator tree; facts of a block hold in the blocks below, and are forgotten after them."""
        pending: list[tuple[str, str, int]] = [(entry, entry, -1)]
        left = len(self._blocks)
        while pending and left:
            label, region, mark = pending.pop()
            if mark >= 0:
                self._forget(mark)
                continue
            self._region = region
            pending.append((label, region, len(self._undo)))
            self._block(self._blocks[label])
            left -= 1
            for child in reversed(self._known.tree.children[label]):
                alone = list(self._flow.pred[child]) == [label]
                pending.append((child, region if alone else child, -1))

    def _block(self, block: Block) -> None:
        ops: list[Op] = []
        for op in block.ops:
            if op.name in MEMORY and isinstance(op.uses[0], Reg):
                self._rebase(op)
            copies = self._shared(op, block.label)
            if copies is None:
                ops.append(op)
            else:
                ops += copies
                self.changed = True
        block.ops = ops

    def _shared(self, op: Op, label: str) -> list[Op] | None:
        """Number the results of `op`; return moves that replace it if another operation has computed them."""
        only = self._known.only
        key = number = None
        if op.guard is not None:
            pass
        elif op.name == "mov":
            self._set(op.dest, self._number(op.uses[0]))
            return None
        elif is_repeatable(op) and all([only[d] is op for d in op.written()]):
            operands = [self._number(use) for use in op.uses]
            number = self._forms.linear(op, operands)
            if number is not None and not self._forms[number].terms:
                self._set(op.dest, number)
                return [Op("mov", op.defs, (Imm(self._forms[number].constant),), line=op.line)]
            key = ("", number) if number is not None else self._key(op, operands, label)
            held = self._holders.get(key)
            if held is not None and self._can_stand(held, op):
                pairs = [(d, h) for d, h in zip(op.defs, held, strict=True) if d is not None]
                for d, h in pairs:
                    self._set(d, self._number(h))
                return [_move(d, h, op.line) for d, h in pairs]
        for d in op.written():
            own = self._forms.atom() if number is None else number
            self._set(d, own)
            if d.kind == "r" and only[d] is op:
                self._keep(self._holders, ("", own), (d,))
        if key is not None and number is None:
            self._keep(self._holders, key, op.defs)
        return None

    def _can_stand(self, held: tuple[Reg | None, ...], op: Op) -> bool:
        pairs = list(zip(held, op.defs, strict=True))
        return all(h is not None or d is None for h, d in pairs) and all(
            h is None or d is None or d.kind == "p" or self._headroom.take(h, op, d) for h, d in pairs)

    @staticmethod
    def _key(op: Op, operands: list, label: str) -> tuple:
        if op.name in COMMUTES:
            operands = [frozenset(operands[:2]), *operands[2:]]
        local = label if any(d.kind == "p" for d in op.written()) else ""
        return op.name, op.imm, tuple(operands), local

    def _rebase(self, op: Op) -> None:
        base: Reg = op.uses[0]
        number = self._number(base)
        form = self._forms[number]
        found, known = self._bases.get(form.terms, (base, number))
        if found != base and self._number(found) == known:
            offset = op.imm + form.constant - self._forms[known].constant & 0xFFFF_FFFF
            if offset_fits(op, offset) and self._gives_way(base, found):
                op.uses, op.imm, self.changed = (found, *op.uses[1:]), offset, True
        elif form.terms not in self._bases:
            self._keep(self._bases, form.terms, (base, number))

    def _gives_way(self, base: Reg, other: Reg) -> bool:
        """Return whether all readers of `base` can read `other`, and an offset."""
        if (base, other) not in self._ways:
            made = self._known.single(base)
            self._ways[base, other] = (
                made is not None and self._known.single(other) is not None and is_repeatable(made)
                and all(is_memory(user) and base not in user.uses[1:] for user in self._known.readers(base))
                and self._headroom.take(other, made, base))
        return self._ways[base, other]

    def _number(self, use: Use) -> Any:
        if isinstance(use, Reg):
            number, region = self._numbers.get(use, _UNKNOWN)
            if region is not None and region != self._region:
                number = self._forms.atom()
                self._keep(self._numbers, use, (number, self._region))
            return number
        if isinstance(use, Imm):
            return self._forms.constant(use.value)
        return use.negated, None if use.reg is None else self._number(use.reg)

    def _set(self, reg: Reg, number: int) -> None:
        numbers = self._numbers
        self._undo.append((numbers, reg, numbers.get(reg)))
        numbers[reg] = number, None if self._known.only[reg] is not None else self._region

    def _keep(self, table: dict, key: Any, value: Any) -> None:
        self._undo.append((table, key, table.get(key)))
        table[key] = value

    def _forget(self, mark: int) -> None:
        while len(self._undo) > mark:
            table, key, value = self._undo.pop()
            if value is None:
                del table[key]
            else:
                table[key] = value


_UNKNOWN: tuple[int, str | None] = -1, ""
"""Stands for a register without a number; it has no region."""


_ALWAYS = functools.cache(lambda name: not (
    name in EFFECTS or name in CONVERGENT or name in MEMORY and not name.startswith("ld.const.")))
"""Whether operations of a name may be repeatable."""


def is_repeatable(op: Op) -> bool:
    """Return whether `op`, without its guard, gives the same results wherever its operands have the same values."""
    if op.volatile or not _ALWAYS(op.name) or op.name == "pand" and op.uses[1] is TRUE:
        return False
    return op.name != "s2r" or is_constant(op)


def _move(dest: Reg, source: Reg | None, line: int) -> Op:
    if dest.kind == "p":
        return Op("pand", (dest,), (Pred(source), TRUE), line=line)
    return Op("mov", (dest,), (source,), line=line)


def number_values(kernel: Kernel) -> bool:
    """Remove common subexpressions of `kernel` (stage ``narrow``); return whether there were any."""
    numbering = _Numbering(kernel)
    numbering.run(kernel.blocks[0].label)
    return numbering.changed
