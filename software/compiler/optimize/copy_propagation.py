"""Copy and constant propagation, and folding of constant address offsets.

A moved value replaces a use of a register if the move is the definition that reaches the use. The source must still
have its value there (`analysis.definitions`, with its cases).

A register pair never mixes a constant and a register, since that would take a move at every use.

A base ``x + constant`` of memory accesses becomes base ``x``, with the constant in their offsets. This requires that
``x`` has its value at all of them, and that nothing else reads the sum, which is then dead. (Otherwise sum and ``x``
would both be live.)
"""

from __future__ import annotations

from ..analysis.definitions import Place, definitions_of
from ..ir.kernel import TRUE, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import GROUPS, MEMORY, is_memory, offset_fits

__all__ = ["propagate"]


class _Propagation:
    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._known = definitions_of(kernel)
        self._folds: dict[Op, bool] = {}
        self._copied = {op.dest for block in kernel.blocks for op in block.ops
                        if op.name in ("mov", "pand") and _moved(op) is not None}
        self.changed = False

    def run(self) -> None:
        untouched = self._copied.isdisjoint
        for block in self._kernel.blocks:
            for index, (op, read) in enumerate(zip(block.ops, self._known.reads[block.label], strict=True)):
                if not untouched(read) or op.guard is TRUE or op.name in MEMORY and self._sum(op.uses[0]):
                    self._rewrite(op, Place(block.label, index))
            if block.end.condition is not None:
                condition = self._resolve(block.end.condition, Place(block.label, len(block.ops)))
                self.changed |= condition != block.end.condition
                block.end.condition = condition

    def _rewrite(self, op: Op, place: Place) -> None:
        uses, guard, imm = op.uses, op.guard, op.imm
        if not self._copied.isdisjoint(op.read()):
            uses = self._whole(op, tuple([use if isinstance(use, Imm) else self._resolve(use, place) for use in uses]))
            guard = self._resolve(guard, place) if guard is not None else None
        if guard is TRUE:
            guard = None
        if is_memory(op):
            base, offset = self._fold_base(uses[0], place)
            if offset_fits(op, imm + offset):
                uses, imm = (base, *uses[1:]), (imm + offset) & 0xFFFF_FFFF
        if uses != op.uses or guard != op.guard:
            op.uses, op.guard, op.imm = uses, guard, imm
            self.changed = True

    @staticmethod
    def _whole(op: Op, uses: tuple[Use, ...]) -> tuple[Use, ...]:
        """Keep the registers of a group unless every word would become a constant."""
        if uses == op.uses:
            return uses
        for result, start, width in GROUPS.get(op.name, ()):
            group = range(start, start + width)
            if not result and not all(isinstance(uses[k], Imm) for k in group):
                uses = tuple(op.uses[k] if k in group and isinstance(use, Imm) else use for k, use in enumerate(uses))
        return uses

    def _resolve(self, use: Use, place: Place) -> Use:
        while (reg := _register(use)) in self._copied:
            assert reg is not None
            move = self._known.reaching(reg, place)
            source = _moved(move) if move is not None else None
            if move is None or source is None:
                break
            copied = _register(source)
            if copied is not None and not self._known.unchanged(copied, move, place):
                break
            use = source.inverted() if isinstance(use, Pred) and use.negated else source
        return use

    def _fold_base(self, base: Use, place: Place) -> tuple[Use, int]:
        offset = 0
        while isinstance(base, Reg):
            op = self._sum(base)
            if op is None or not self._folds_away(op) or not self._known.before(op, place):
                break
            base, offset = op.uses[0], offset + op.uses[1].value
        return base, offset

    def _sum(self, base: Use) -> Op | None:
        """Return the addition that makes a base, None if nothing or something else does."""
        op = self._known.only.get(base)
        return op if op is not None and op.name == "iadd" else None

    def _folds_away(self, op: Op) -> bool:
        """Return whether an addition has a register and a constant, and all readers of the sum can add both."""
        if op not in self._folds:
            known = self._known
            self._folds[op] = (
                isinstance(op.uses[0], Reg) and isinstance(op.uses[1], Imm)
                and all(is_memory(user) and user.uses[0] == op.dest and op.dest not in user.uses[1:]
                        and offset_fits(user, user.imm + op.uses[1].value) and known.before(op, known.places[user])
                        and known.unchanged(op.uses[0], op, known.places[user]) for user in known.readers(op.dest)))
        return self._folds[op]


def _register(use: Use) -> Reg | None:
    if isinstance(use, Reg):
        return use
    return use.reg if isinstance(use, Pred) else None


def _moved(op: Op) -> Use | None:
    """Return the operand that `op` copies; None if it is no copy."""
    if op.name == "mov" and op.guard is None:
        return op.uses[0]
    if op.name == "pand" and op.guard is None and op.uses[1] == TRUE:
        return op.uses[0]
    return None


def propagate(kernel: Kernel) -> bool:
    """Propagate copies and constants through `kernel` (stage ``narrow``); return whether anything changed."""
    propagation = _Propagation(kernel)
    propagation.run()
    return propagation.changed
