"""Conjunctions and disjunctions of comparisons: the later comparison is executed under the earlier one's result.

``p = A``, ``q = B``, ``c = p and q`` becomes ``c = A``, ``@c c = B``; a disjunction becomes ``c = A``, ``@!c c = B``.
This saves one operation and one predicate. It requires all three in one block, and no other reader of ``p`` and ``q``.
Chains of them collapse from the front. A negated operand is the opposite comparison.
"""

from __future__ import annotations

from ..analysis.definitions import Definitions, definitions_of
from ..ir.kernel import Block, Kernel, Op, Pred, Reg

__all__ = ["chain_conditions"]

_OPPOSITE = {"eq": "ne", "lt": "ge", "le": "gt"}
_OPPOSITES = {
    **{f"setp.{a}{sign}": f"setp.{b}{sign}" for x, y in _OPPOSITE.items() for a, b in ((x, y), (y, x))
       for sign in (("",) if x == "eq" else (".s", ".u"))},
    **{f"fsetp.{a}": f"fsetp.{b}u" for x, y in _OPPOSITE.items() for a, b in ((x, y), (y, x))},
    **{f"fsetp.{a}u": f"fsetp.{b}" for x, y in _OPPOSITE.items() for a, b in ((x, y), (y, x))},
    "fsetp.num": "fsetp.nan", "fsetp.nan": "fsetp.num"}
"""Comparison to its opposite."""


def chain_conditions(kernel: Kernel) -> bool:
    """Rewrite the conjunctions and disjunctions of `kernel` (stage ``narrow``); return whether there were any."""
    known = definitions_of(kernel)
    return any([_Chains(block, known).run() for block in kernel.blocks])


class _Chains:
    """The chains of one block. `made` holds the operations that define a predicate, first to last."""

    def __init__(self, block: Block, known: Definitions):
        self._block = block
        self._known = known
        self._made: dict[Reg, list[Op]] = {}
        self._gone: set[Op] = set()

    def run(self) -> bool:
        for op in self._block.ops:
            if op.name in ("pand", "por") and op.guard is None:
                self._join(op)
            if len(op.defs) == 1 and op.dest.kind == "p" and self._known.single(op.dest) is op and op not in self._gone:
                self._made[op.dest] = [op]
        self._block.ops = [op for op in self._block.ops if op not in self._gone]
        return bool(self._gone)

    def _join(self, op: Op) -> None:
        if self._known.single(op.dest) is not op or any(use.reg not in self._made for use in op.uses) \
                or op.uses[0].reg == op.uses[1].reg or not all(self._only_read_by(use.reg, op) for use in op.uses) \
                or any(self._comes_before(user, op) for user in self._known.readers(op.dest)):
            return
        first, second = sorted(op.uses, key=lambda use: self._known.places[self._made[use.reg][-1]].index)
        earlier, later = self._made[first.reg], self._made[second.reg]
        if len(later) > 1 or not (_fits(earlier, first) and _fits(later, second)):
            return
        for part, use in ((earlier, first), (later, second)):
            for made in part:
                made.defs = (op.dest,)
                made.name = _OPPOSITES[made.name] if use.negated else made.name
                if made.guard is not None:
                    made.guard = Pred(op.dest, made.guard.negated)
        later[0].guard = Pred(op.dest, op.name == "por")
        self._made[op.dest] = earlier + later
        self._gone.add(op)

    def _comes_before(self, user: Op, op: Op) -> bool:
        at, place = self._known.places[user], self._known.places[op]
        return at.label == place.label and at.index <= place.index

    def _only_read_by(self, reg: Reg, op: Op) -> bool:
        return self._known.readers(reg) == [op] and not self._known.is_condition(reg)


def _fits(made: list[Op], use: Pred) -> bool:
    """Return whether the predicate that `made` define can be had as `use` has it."""
    return not use.negated or len(made) == 1 and made[0].name in _OPPOSITES
