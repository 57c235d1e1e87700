"""Copy and constant propagation, and folding of constant address offsets.

A use of a register is replaced by what was moved into it

1. in the same block, if neither register was written since; or
2. anywhere that the move dominates, if both registers have exactly one definition, without guard. (Were the source
   written again on a path from the move to the use, that path would avoid the move, and the move would not dominate
   the use.)

A register pair is not made of a constant and a register, which would take a move at every use.

By case 2 the base ``x + constant`` of a memory access becomes base ``x`` with the constant in its offset.
"""

from __future__ import annotations

from ..analysis.dominance import dominates, immediate_dominators
from ..ir.kernel import TRUE, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import GROUPS, is_memory, offset_fits

__all__ = ["propagate"]

_END = 1 << 60


class _Propagation:
    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._idom = immediate_dominators(kernel)
        self._definition: dict[Reg, tuple[Op, str, int] | None] = {}
        for block in kernel.blocks:
            for index, op in enumerate(block.ops):
                for reg in op.written():
                    known = reg not in self._definition and op.guard is None
                    self._definition[reg] = (op, block.label, index) if known else None
        self._local: dict[Reg, Use] = {}
        self.changed = False

    def run(self) -> None:
        for block in self._kernel.blocks:
            self._local.clear()
            for index, op in enumerate(block.ops):
                self._rewrite(op, block.label, index)
                self._record(op)
            if block.end.condition is not None:
                condition = self._resolve(block.end.condition, block.label, _END)
                self.changed |= condition != block.end.condition
                block.end.condition = condition

    def _rewrite(self, op: Op, label: str, index: int) -> None:
        uses = self._whole(op, tuple(self._resolve(use, label, index) for use in op.uses))
        guard = self._resolve(op.guard, label, index) if op.guard is not None else None
        if guard == TRUE:
            guard = None
        imm = op.imm
        if is_memory(op):
            base, offset = self._fold_base(uses[0], label, index)
            if offset_fits(op, imm + offset):
                uses, imm = (base, *uses[1:]), (imm + offset) & 0xFFFF_FFFF
        if uses != op.uses or guard != op.guard:
            op.uses, op.guard, op.imm = uses, guard, imm
            self.changed = True

    @staticmethod
    def _whole(op: Op, uses: tuple[Use, ...]) -> tuple[Use, ...]:
        """Keep the registers of a group in which not every word would become a constant."""
        for result, start, width in GROUPS.get(op.name, ()):
            group = range(start, start + width)
            if not result and not all(isinstance(uses[k], Imm) for k in group):
                uses = tuple(op.uses[k] if k in group and isinstance(use, Imm) else use for k, use in enumerate(uses))
        return uses

    def _record(self, op: Op) -> None:
        for reg in op.written():
            self._local.pop(reg, None)
            for key in [k for k, v in self._local.items() if v == reg or getattr(v, "reg", None) == reg]:
                del self._local[key]
        source = _moved(op)
        if source is not None and op.guard is None and _register(source) != op.dest:
            self._local[op.dest] = source

    def _resolve(self, use: Use, label: str, index: int) -> Use:
        while True:
            reg = _register(use)
            if reg is None:
                return use
            source = self._local.get(reg)
            if source is None:
                definition = self._single(reg, label, index)
                source = _moved(definition) if definition is not None else None
                copied = _register(source) if source is not None else None
                if source is None or (copied is not None and self._definition.get(copied) is None):
                    return use
            if isinstance(use, Pred):
                source = source.inverted() if use.negated else source
            if source == use:
                return use
            use = source

    def _single(self, reg: Reg, label: str, index: int) -> Op | None:
        """Return the only definition of `reg` if it dominates the position."""
        found = self._definition.get(reg)
        if found is None:
            return None
        op, at, where = found
        if at == label:
            return op if where < index else None
        return op if dominates(self._idom, at, label) else None

    def _fold_base(self, base: Use, label: str, index: int) -> tuple[Use, int]:
        offset = 0
        while isinstance(base, Reg):
            op = self._single(base, label, index)
            if op is None or op.name != "iadd" or not isinstance(op.uses[1], Imm) \
                    or not isinstance(op.uses[0], Reg) or self._definition.get(op.uses[0]) is None:
                break
            base, offset = op.uses[0], offset + op.uses[1].value
        return base, offset


def _register(use: Use) -> Reg | None:
    if isinstance(use, Reg):
        return use
    return use.reg if isinstance(use, Pred) else None


def _moved(op: Op) -> Use | None:
    """Return what `op` copies, None if it is no copy."""
    if op.name == "mov" and op.guard is None:
        return op.uses[0]
    if op.name == "pand" and op.guard is None and op.uses[1] == TRUE:
        return op.uses[0]
    return None


def propagate(kernel: Kernel) -> bool:
    """Propagate copies and constants through `kernel` (stage ``narrow``); returns whether anything changed."""
    propagation = _Propagation(kernel)
    propagation.run()
    return propagation.changed
