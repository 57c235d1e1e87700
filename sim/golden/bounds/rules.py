"""Tags of results: what becomes of the tags of an instruction's operands.

1. Sums: an address plus a number is one of the same array; anything else that sums two tagged values is mixed.
2. Differences: an address less a number is one of the same array, two addresses of one array give a number.
3. Products plus a third operand: the third's tag, if the factors have none.
4. ``and`` with a number that clears only low bits, ``or`` and ``xor`` with one that sets bits that are clear: as sums.
5. Everything else (selections, minima, funnel shifts of nothing ...): a result that equals an operand has its tag; one
   that equals none is mixed if an operand has a tag, else a number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caesura.hw.arch.isa.opcodes import AluOp

from ..state.tags import MIXED, TAG

__all__ = ["Operands", "result_tags", "added"]

_ALIGNMENT = 4096
"""An ``and`` that takes less than this off an address aligns it."""

Vector = np.ndarray
Operands = tuple[tuple[Vector, Vector], ...]
"""Values and tags of the operands a, b and c; those that the instruction does not read have zeros."""


def added(a: Vector, b: Vector) -> Vector:
    """Return the tags of sums."""
    return np.where(a == 0, b, np.where(b == 0, a, TAG(MIXED)))


def _subtracted(a: Vector, b: Vector) -> Vector:
    return np.where(b == 0, a, np.where((a == b) & (a > 0), TAG(0), TAG(MIXED)))


def _kept(operands: Operands, result: Vector) -> Vector:
    tags = np.zeros(len(result), TAG)
    for _, own in operands:
        tags[own != 0] = MIXED
    for value, own in operands:
        tags = np.where((own != 0) & (value == result), own, tags)
    return tags


def _cleared(operands: Operands, result: Vector) -> Vector:
    (a, ta), (b, tb) = operands[:2]
    whole = np.where(ta != 0, a, b)
    aligned = ((ta == 0) | (tb == 0)) & (whole - result < _ALIGNMENT)
    return np.where(aligned, added(ta, tb), _kept(operands, result))


def _set(operands: Operands, result: Vector) -> Vector:
    (a, ta), (b, tb) = operands[:2]
    return np.where(a & b == 0, added(ta, tb), _kept(operands, result))


_RULES: dict[AluOp, Callable[[Operands, Vector], Vector]] = {
    **dict.fromkeys((AluOp.IADD, AluOp.IADDC), lambda x, result: added(x[0][1], x[1][1])),
    **dict.fromkeys((AluOp.ISUB, AluOp.ISUBC), lambda x, result: _subtracted(x[0][1], x[1][1])),
    AluOp.IRSUB: lambda x, result: _subtracted(x[1][1], x[0][1]),
    AluOp.IMAD_LO: lambda x, result: np.where((x[0][1] == 0) & (x[1][1] == 0), x[2][1], TAG(MIXED)),
    AluOp.AND: _cleared, AluOp.OR: _set, AluOp.XOR: _set,
}


def result_tags(op: AluOp | None, operands: Operands, result: Vector) -> Vector:
    """Return the tags of a result of an operation, None for one of another unit than the integer ALU."""
    return (_RULES.get(op, _kept) if op is not None else _kept)(operands, result)
