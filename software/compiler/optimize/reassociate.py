"""Reassociation: constants move outwards through additions, so that they end in the offset of a memory operation.

``t = a + c`` followed by ``y = t op b`` becomes ``y' = a op b``, ``y = y' + c'``, where

====================  ==========================  =============
y                     y'                          c'
====================  ==========================  =============
``t + k``             ``a``                       ``c + k``
``t + b``             ``a + b``                   ``c``
``t - b``, ``b - t``  ``a - b``, ``b - a``        ``c``, ``-c``
``k - t``             ``k - c - a``               none
``t << k``            ``a << k``                  ``c << k``
``t * k``             ``a * k``                   ``c * k``
``x * z + t``         ``x * z + a``               ``c``
====================  ==========================  =============

These hold modulo 2**32. They apply only if the code gets no longer: ``y`` only feeds addresses (by additions), where
its constant disappears, or nothing else reads ``t``, in the same block. Then `optimize.value_numbering` finds that sums
which differ by a constant are one sum. Addresses of 32 bits make this right; an index of 64 bits would not allow it.
"""

from __future__ import annotations

from ..analysis.definitions import definitions_of
from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spec import is_memory

__all__ = ["reassociate"]

_MASK = 0xFFFF_FFFF
_DEEPEST = 8
_LINEAR = {"iadd", "isub", "shl", "imul.lo", "imad.lo"}


class _Reassociation:
    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._known = definitions_of(kernel)
        self._done: set[Op] = set()
        self._addresses: dict[tuple[Reg, int], bool] = {}

    def rewritten(self, op: Op) -> list[Op] | None:
        """Return the replacement of `op`; None if it stays."""
        if op.name not in _LINEAR or self._known.single(op.dest) is not op:
            return None
        for k, use in enumerate(op.uses):
            inner = self._sum(use, op)
            if inner is not None and (made := _outwards(self._kernel, op, k, *inner.uses)) is not None:
                self._done.add(op)
                return made
        return None

    def _sum(self, use, op: Op) -> Op | None:
        """Return the sum of a register and a constant that `op` reads, if it may be split."""
        place = self._known.places[op]
        inner = self._known.single(use) if isinstance(use, Reg) else None
        if inner is None or inner.name != "iadd" or not isinstance(inner.uses[0], Reg) \
                or not isinstance(inner.uses[1], Imm) or inner in self._done or not self._known.before(inner, place):
            return None
        alone = self._known.readers(use) == [op] and op.uses.count(use) == 1
        alone &= self._known.places[inner].label == place.label
        if not alone and not self._only_address(op.dest, _DEEPEST):
            return None
        return inner if self._known.unchanged(inner.uses[0], inner, place) else None

    def _only_address(self, reg: Reg, depth: int) -> bool:
        """Return whether `reg` is only read as a base, or by such sums."""
        if (reg, depth) not in self._addresses:
            self._addresses[reg, depth] = all(
                user.uses[0] == reg and reg not in user.uses[1:] if is_memory(user) else
                user.name == "iadd" and depth > 0 and self._known.single(user.dest) is user
                and self._only_address(user.dest, depth - 1) for user in self._known.readers(reg))
        return self._addresses[reg, depth]


def _outwards(kernel: Kernel, op: Op, k: int, a: Reg, c: Imm) -> list[Op] | None:
    """Return `op` with its operand `k`, which is ``a + c``, split; None if the constant cannot move out."""
    name, others, value = op.name, op.uses, c.value
    other = others[1 - k] if len(others) == 2 else None
    if name == "iadd" and isinstance(other, Imm):
        return [Op("iadd", op.defs, (a, Imm(other.value + value & _MASK)), line=op.line)]
    if name == "isub" and isinstance(other, Imm):
        return [Op("isub", op.defs, (Imm(other.value - value & _MASK), a), line=op.line)] if k == 1 else None
    if name == "isub":
        value = value if k == 0 else -value
    elif name in ("shl", "imul.lo"):
        if k != 0 or not isinstance(other, Imm):
            return None
        value *= other.value if name == "imul.lo" else 1 << other.value if other.value < 32 else 0
    elif name == "imad.lo" and k != 2:
        return None
    elif name not in ("iadd", "imad.lo"):
        return None
    inner = kernel.fresh("r")
    return [Op(name, (inner,), (*others[:k], a, *others[k + 1:]), line=op.line),
            Op("iadd", op.defs, (inner, Imm(value & _MASK)), line=op.line)]


def reassociate(kernel: Kernel) -> bool:
    """Move constants of `kernel` (stage ``narrow``) outwards by one operation; return whether there were any."""
    return kernel.replace_ops(_Reassociation(kernel).rewritten)
