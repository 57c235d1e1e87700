"""Common subexpressions: global value numbering over the dominator tree (Briggs, Cooper, Simpson, 1997), without SSA.

Two registers have the same number at a place if both hold what the last execution of one operation computed. A new
number belongs to

1. the result of an operation without guard, and whatever is moved from it;
2. a register in a block, if it has several definitions, or one that does not dominate the block: nothing is known of it
   but that it stays the same until it is written; or
3. a register behind a definition under a guard.

Registers of one definition keep their numbers in every block that this dominates, others until paths meet. The number
of a sum is its linear form (`analysis.linear_forms`).

An operation whose name, constants and operands' numbers are those of one that dominates it, or a sum that was computed
before, becomes a move, if both results have one definition. It is one that always computes the same
(`is_repeatable`): no convergent operation, no load but of constant memory, and no clock. Predicates are shared inside
a block only: there are few registers for them, and a comparison costs no more than keeping its result.

A base that nothing but memory operations reads gives way to an earlier base from which it differs by a constant.

Neither is done where it would raise the most registers that are live at once (`analysis.headroom`).
"""

from __future__ import annotations

from typing import Any

from ..analysis import linear_forms
from ..analysis.definitions import definitions_of
from ..analysis.headroom import Headroom
from ..analysis.linear_forms import LinearForm
from ..ir.cfg import by_label
from ..ir.cfg import graph as flow_graph
from ..ir.kernel import TRUE, Block, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import is_constant, is_convergent, is_memory, is_pure, offset_fits
from .algebraic_simplification import COMMUTES

__all__ = ["is_repeatable", "number_values"]


class _Numbering:
    def __init__(self, kernel: Kernel):
        self._known = definitions_of(kernel)
        self._headroom = Headroom(kernel, self._known)
        self._blocks = by_label(kernel)
        self._flow = flow_graph(kernel)
        self._numbers: dict[Reg, tuple[LinearForm, str | None]] = {}
        self._holders: dict[tuple, tuple[Reg | None, ...]] = {}
        self._bases: dict[tuple, tuple[Reg, LinearForm]] = {}
        self._ways: dict[tuple[Reg, Reg], bool] = {}
        self._undo: list[tuple[dict, Any, Any]] = []
        self._region = ""
        self._count = 0
        self.changed = False

    def run(self, entry: str) -> None:
        """Walk the dominator tree; what is known in a block is known in those below, and forgotten after them."""
        pending: list[tuple[str, str, int]] = [(entry, entry, -1)]
        while pending:
            label, region, mark = pending.pop()
            if mark >= 0:
                self._forget(mark)
                continue
            self._region = region
            pending.append((label, region, len(self._undo)))
            self._block(self._blocks[label])
            for child in reversed(self._known.tree.children[label]):
                alone = list(self._flow.pred[child]) == [label]
                pending.append((child, region if alone else child, -1))

    def _block(self, block: Block) -> None:
        ops: list[Op] = []
        for op in block.ops:
            if is_memory(op) and isinstance(op.uses[0], Reg):
                self._rebase(op)
            copies = self._shared(op, block.label)
            self.changed |= copies is not None
            ops += [op] if copies is None else copies
        block.ops = ops

    def _shared(self, op: Op, label: str) -> list[Op] | None:
        """Number the results of `op`; returns moves that take its place if another operation has computed them."""
        key = form = None
        if op.guard is not None:
            pass
        elif op.name == "mov":
            self._set(op.dest, self._number(op.uses[0]))
            return None
        elif is_repeatable(op) and all(self._known.single(d) is op for d in op.written()):
            operands = [self._number(use) for use in op.uses]
            form = linear_forms.linear(op, operands)
            if form is not None and not form.terms:
                self._set(op.dest, form)
                return [Op("mov", op.defs, (Imm(form.constant),), line=op.line)]
            key = ("", form) if form is not None else self._key(op, operands, label)
            held = self._holders.get(key)
            if held is not None and self._can_stand(held, op):
                pairs = [(d, h) for d, h in zip(op.defs, held, strict=True) if d is not None]
                for d, h in pairs:
                    self._set(d, self._number(h))
                return [_move(d, h, op.line) for d, h in pairs]
        for d in op.written():
            self._set(d, self._fresh() if form is None else form)
            if d.kind == "r" and self._known.single(d) is op:
                self._keep(self._holders, ("", self._number(d)), (d,))
        if key is not None:
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
        form = self._number(base)
        found, known = self._bases.get(form.terms, (base, form))
        if found != base and self._number(found) == known:
            offset = op.imm + form.constant - known.constant & 0xFFFF_FFFF
            if offset_fits(op, offset) and self._gives_way(base, found):
                op.uses, op.imm, self.changed = (found, *op.uses[1:]), offset, True
        elif form.terms not in self._bases:
            self._keep(self._bases, form.terms, (base, form))

    def _gives_way(self, base: Reg, other: Reg) -> bool:
        """Whether all that reads `base` can read `other`, and an offset."""
        if (base, other) not in self._ways:
            made = self._known.single(base)
            self._ways[base, other] = (
                made is not None and self._known.single(other) is not None and is_repeatable(made)
                and all(is_memory(user) and base not in user.uses[1:] for user in self._known.readers(base))
                and self._headroom.take(other, made, base))
        return self._ways[base, other]

    def _fresh(self) -> LinearForm:
        self._count += 1
        return linear_forms.atom(self._count)

    def _number(self, use: Use) -> Any:
        if isinstance(use, Imm):
            return linear_forms.constant(use.value)
        if isinstance(use, Pred):
            return use.negated, None if use.reg is None else self._number(use.reg)
        number, region = self._numbers.get(use, (None, ""))
        if number is None or region not in (None, self._region):
            number = self._fresh()
            self._keep(self._numbers, use, (number, self._region))
        return number

    def _set(self, reg: Reg, number: LinearForm) -> None:
        region = None if self._known.single(reg) is not None else self._region
        self._keep(self._numbers, reg, (number, region))

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


def is_repeatable(op: Op) -> bool:
    """Whether `op` gives the same results wherever its operands have the same values; one without a guard."""
    if not is_pure(op) or is_convergent(op) or op.name == "pand" and op.uses[1] == TRUE:
        return False
    if is_memory(op):
        return op.name.startswith("ld.const.")
    return op.name != "s2r" or is_constant(op)


def _move(dest: Reg, source: Reg | None, line: int) -> Op:
    if dest.kind == "p":
        return Op("pand", (dest,), (Pred(source), TRUE), line=line)
    return Op("mov", (dest,), (source,), line=line)


def number_values(kernel: Kernel) -> bool:
    """Remove common subexpressions of `kernel` (stage ``narrow``); returns whether there were any."""
    numbering = _Numbering(kernel)
    numbering.run(kernel.blocks[0].label)
    return numbering.changed
