"""The results of operations: every `AluOp` on numpy vectors of lanes.

Integer operations are written independently of the hardware's; floating-point ones are `FloatUnit.compute`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.core.units.floating import FloatUnit

__all__ = ["VALUE", "TEST", "add_with_carry", "subtract_with_carry"]

Vector = np.ndarray


def _signed(x: Vector) -> Vector:
    return x.view(np.int32)


def _unsigned(x: Vector) -> Vector:
    return x.astype(np.uint32)


def _shift_left(a, b, c):
    return np.where(b > 31, np.uint32(0), a << (b & np.uint32(31)))


def _shift_right(a, b, c):
    return np.where(b > 31, np.uint32(0), a >> (b & np.uint32(31)))


def _shift_right_signed(a, b, c):
    return (_signed(a) >> _signed(np.minimum(b, np.uint32(31)))).view(np.uint32)


def _pair(a, b):
    return b.astype(np.uint64) << np.uint64(32) | a


def _funnel_left(a, b, c):
    return _unsigned(_pair(a, b) << (c & np.uint32(31)).astype(np.uint64) >> np.uint64(32))


def _funnel_right(a, b, c):
    return _unsigned(_pair(a, b) >> (c & np.uint32(31)).astype(np.uint64))


def _high_signed(a, b, c):
    product = _signed(a).astype(np.int64) * _signed(b)
    return (product >> 32).astype(np.int32).view(np.uint32)


def _reverse_bits(a, b, c):
    for distance, low in ((1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F), (8, 0x00FF_00FF), (16, 0x0000_FFFF)):
        b = (b >> np.uint32(distance)) & np.uint32(low) | (b & np.uint32(low)) << np.uint32(distance)
    return b


def _field(b, most):
    """Return first bit and length of the field that operand b of `bfe` and `bfi` names, at most `most`."""
    first, length = b & np.uint32(255), b >> np.uint32(8) & np.uint32(255)
    return np.minimum(first, np.uint32(most)).astype(np.uint64), np.minimum(length, np.uint32(most)).astype(np.uint64)


def _extract(a, b, c):
    first, length = _field(b, 63)
    return _unsigned(a.astype(np.uint64) >> first & (np.uint64(1) << length) - np.uint64(1))


def _extract_signed(a, b, c):
    first, length = (x.astype(np.int64) for x in _field(b, 32))
    above = 64 - np.maximum(length, 1)
    value = (_signed(a).astype(np.int64) >> first) << above >> above
    return np.where(length == 0, np.int64(0), value).astype(np.int32).view(np.uint32)


def _insert(a, b, c):
    first, length = _field(b, 32)
    field = _unsigned(((np.uint64(1) << length) - np.uint64(1)) << first)
    return c & ~field | _unsigned(a.astype(np.uint64) << first) & field


def _permute(a, b, c):
    both, result = _pair(a, b), np.zeros_like(a)
    for place in range(4):
        choice = c >> np.uint32(4 * place)
        byte = _unsigned(both >> (np.uint32(8) * (choice & np.uint32(7))).astype(np.uint64)) & np.uint32(255)
        sign = np.where(byte >> np.uint32(7) == 1, np.uint32(255), np.uint32(0))
        result |= np.where(choice >> np.uint32(3) & np.uint32(1) == 1, sign, byte) << np.uint32(8 * place)
    return result


def _ones(b):
    return _unsigned(np.bitwise_count(b))


def _leading_zeros(a, b, c):
    for distance in (1, 2, 4, 8, 16):
        b = b | b >> np.uint32(distance)
    return np.uint32(32) - _ones(b)


def _float_value(op, a, b, c):
    return FloatUnit.compute(op, a, b, c)[0]


def _float_test(op, a, b):
    return FloatUnit.compute(op, a, b, b)[1]


VALUE: dict[AluOp, Callable[[Vector, Vector, Vector], Vector]] = {
    AluOp.MOV: lambda a, b, c: b,
    AluOp.IADD: lambda a, b, c: a + b,
    AluOp.ISUB: lambda a, b, c: a - b,
    AluOp.IRSUB: lambda a, b, c: b - a,
    AluOp.IMUL_LO: lambda a, b, c: a * b,
    AluOp.IMUL_HI_S: _high_signed,
    AluOp.IMUL_HI_U: lambda a, b, c: _unsigned(a.astype(np.uint64) * b >> np.uint64(32)),
    AluOp.IMAD_LO: lambda a, b, c: a * b + c,
    AluOp.AND: lambda a, b, c: a & b,
    AluOp.OR: lambda a, b, c: a | b,
    AluOp.XOR: lambda a, b, c: a ^ b,
    AluOp.NOT: lambda a, b, c: ~b,
    AluOp.SHL: _shift_left,
    AluOp.SHR_U: _shift_right,
    AluOp.SHR_S: _shift_right_signed,
    AluOp.SHF_L: _funnel_left,
    AluOp.SHF_R: _funnel_right,
    AluOp.IMIN_S: lambda a, b, c: np.minimum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMIN_U: lambda a, b, c: np.minimum(a, b),
    AluOp.IMAX_S: lambda a, b, c: np.maximum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMAX_U: lambda a, b, c: np.maximum(a, b),
    AluOp.IABS: lambda a, b, c: np.where(b >> np.uint32(31) == 1, ~b + np.uint32(1), b),
    AluOp.SEXT_8: lambda a, b, c: b.astype(np.int8).astype(np.int32).view(np.uint32),
    AluOp.SEXT_16: lambda a, b, c: b.astype(np.int16).astype(np.int32).view(np.uint32),
    AluOp.BREV: _reverse_bits,
    AluOp.BFE_U: _extract,
    AluOp.BFE_S: _extract_signed,
    AluOp.BFI: _insert,
    AluOp.PRMT: _permute,
    AluOp.CLZ: _leading_zeros,
    AluOp.POPC: lambda a, b, c: _ones(b),
} | {op: partial(_float_value, op) for op in AluOp if op.is_float and not op.name.startswith("FSETP")}
"""Operations that write a register from registers alone: (a, b, c) to d, all uint32 vectors."""

TEST: dict[AluOp, Callable[[Vector, Vector], Vector]] = {
    AluOp.SETP_EQ: lambda a, b: a == b,
    AluOp.SETP_NE: lambda a, b: a != b,
    AluOp.SETP_LT_S: lambda a, b: _signed(a) < _signed(b),
    AluOp.SETP_LE_S: lambda a, b: _signed(a) <= _signed(b),
    AluOp.SETP_GT_S: lambda a, b: _signed(a) > _signed(b),
    AluOp.SETP_GE_S: lambda a, b: _signed(a) >= _signed(b),
    AluOp.SETP_LT_U: lambda a, b: a < b,
    AluOp.SETP_LE_U: lambda a, b: a <= b,
    AluOp.SETP_GT_U: lambda a, b: a > b,
    AluOp.SETP_GE_U: lambda a, b: a >= b,
} | {op: partial(_float_test, op) for op in AluOp if op.name.startswith("FSETP")}
"""Comparisons: (a, b) to a vector of booleans."""


def add_with_carry(a: Vector, b: Vector, carry: Vector) -> tuple[Vector, Vector]:
    """Return the sum modulo 2**32 and the carry out of ``a + b + carry``."""
    total = a.astype(np.uint64) + b + carry
    return _unsigned(total), total >> np.uint64(32) != 0


def subtract_with_carry(a: Vector, b: Vector, carry: Vector) -> tuple[Vector, Vector]:
    """Return ``a + ~b + carry`` modulo 2**32 and its carry, which is set where there is no borrow."""
    return add_with_carry(a, ~b, carry)
