"""Model of the floating-point lane, on numpy arrays of binary32 bit patterns.

Arithmetic goes through binary64. Products of two binary32 numbers are exact there. The error of a
sum is found by Knuth's TwoSum, and the sum is rounded to odd. From that every binary32 rounding is
the correct one (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved
algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial

import numpy as np

from ....arch.isa.opcodes import AluOp

__all__ = ["NAN", "Rounding", "VALUES", "TESTS", "round_single", "round_single_sum"]

Bits = np.ndarray

NAN = np.uint32(0x7FFF_FFFF)
"""The one result that is not a number."""
SIGN = np.uint32(0x8000_0000)
MAGNITUDE = np.uint32(0x7FFF_FFFF)
INFINITY = np.uint32(0x7F80_0000)
ONE = np.uint32(0x3F80_0000)


class Rounding(enum.IntEnum):
    """Rounding direction: to nearest even, to zero, down, up; the suffix of a mnemonic."""

    RN = 0
    RZ = 1
    RM = 2
    RP = 3


def _wide(x: Bits) -> np.ndarray:
    return x.view(np.float32).astype(np.float64)


def _is_nan(x: Bits) -> np.ndarray:
    return x & MAGNITUDE > INFINITY


def round_single(mode: Rounding, x: np.ndarray) -> Bits:
    """Round binary64 to binary32; infinities and zeros keep their sign."""
    nearest = x.astype(np.float32)
    bits = nearest.view(np.uint32)
    if mode is not Rounding.RN:
        error = nearest.astype(np.float64) - x
        error[np.isnan(error)] = 0
        negative = bits & SIGN != 0
        if mode is Rounding.RZ:
            back = np.where(negative, error < 0, error > 0)
            bits = bits - back
        else:
            wrong = error > 0 if mode is Rounding.RM else error < 0
            inward = negative != (mode is Rounding.RM)
            bits = np.where(wrong, np.where(inward, bits - np.uint32(1), bits + np.uint32(1)), bits)
    return np.where(np.isnan(x), NAN, bits).astype(np.uint32)


def round_single_sum(mode: Rounding, x: np.ndarray, y: np.ndarray) -> Bits:
    """Round x + y once; both binary64, of at most 48 significant bits and exponents of binary32
    products."""
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    finite = np.isfinite(total)
    to_odd = finite & (error != 0) & (total.view(np.uint64) & np.uint64(1) == 0)
    outward = (error < 0) == np.signbit(total)
    step = np.where(outward, np.uint64(1), ~np.uint64(0))
    total = np.where(to_odd, total.view(np.uint64) + step, total.view(np.uint64)).view(np.float64)
    bits = round_single(mode, total)
    if mode is Rounding.RM:
        cancelled = finite & (total == 0) & ~((x == 0) & (y == 0) & ~np.signbit(x) & ~np.signbit(y))
        bits = np.where(cancelled, SIGN, bits)
    return bits


def _add(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single_sum(mode, _wide(a), _wide(b))


def _subtract(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single_sum(mode, _wide(a), -_wide(b))


def _multiply(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single(mode, _wide(a) * _wide(b))


def _multiply_add(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single_sum(mode, _wide(a) * _wide(b), _wide(c))


_INTEGRAL: dict[Rounding, Callable] = {Rounding.RN: np.rint, Rounding.RZ: np.trunc,
                                       Rounding.RM: np.floor, Rounding.RP: np.ceil}


def _to_integer(low: int, high: int, mode: Rounding, a: Bits, b: Bits, c: Bits):
    value = np.clip(np.where(_is_nan(b), 0, _INTEGRAL[mode](_wide(b))), low, high)
    return value.astype(np.int64).astype(np.uint32)


def _from_integer(kind: type[np.integer], mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single(mode, b.view(kind).astype(np.float64))


def _round_integral(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return np.where(_is_nan(b), NAN, _INTEGRAL[mode](b.view(np.float32)).view(np.uint32))


def _order(x: Bits) -> np.ndarray:
    """Map numbers to integers in their order, -0 just below +0."""
    signed = x.view(np.int32)
    return np.where(signed < 0, ~(signed & np.int32(0x7FFF_FFFF)), signed)


def _choose(smaller: bool, a: Bits, b: Bits, c: Bits):
    chosen = np.where((_order(a) < _order(b)) == smaller, a, b)
    chosen = np.where(_is_nan(a), b, np.where(_is_nan(b), a, chosen))
    return np.where(_is_nan(chosen), NAN, chosen)


def _saturate(a: Bits, b: Bits, c: Bits):
    positive = (b & SIGN == 0) & ~_is_nan(b)
    return np.where(positive, np.minimum(b, ONE), np.uint32(0))


def _flush(a: Bits, b: Bits, c: Bits):
    return np.where(_is_nan(b), NAN, np.where(b & INFINITY == 0, b & SIGN, b))


_ROUNDED: dict[str, Callable[..., Bits]] = {
    "FADD": _add, "FSUB": _subtract, "FMUL": _multiply, "FFMA": _multiply_add,
    "F2I_S": partial(_to_integer, -1 << 31, (1 << 31) - 1),
    "F2I_U": partial(_to_integer, 0, (1 << 32) - 1),
    "I2F_S": partial(_from_integer, np.int32),
    "I2F_U": partial(_from_integer, np.uint32), "FRND": _round_integral,
}
VALUES: dict[AluOp, Callable[[Bits, Bits, Bits], Bits]] = {
    AluOp[f"{name}_{mode.name}"]: partial(function, mode)
    for name, function in _ROUNDED.items() for mode in Rounding
} | {
    AluOp.FMIN: partial(_choose, True),
    AluOp.FMAX: partial(_choose, False),
    AluOp.FNEG: lambda a, b, c: b ^ SIGN,
    AluOp.FABS: lambda a, b, c: b & MAGNITUDE,
    AluOp.FSAT: _saturate,
    AluOp.FFTZ: _flush,
}
"""Operations with a register result: (a, b, c) to d, all uint32 vectors. `FSAT` makes -0 +0."""


def _test(relation: Callable | None, unordered: bool, a: Bits, b: Bits) -> np.ndarray:
    either = _is_nan(a) | _is_nan(b)
    if relation is None:
        return either == unordered
    return np.where(either, unordered, relation(a.view(np.float32), b.view(np.float32)))


_RELATIONS: dict[str, Callable | None] = {"EQ": np.equal, "NE": np.not_equal,
                                          "LT": np.less, "LE": np.less_equal,
                                          "GT": np.greater, "GE": np.greater_equal}
TESTS: dict[AluOp, Callable[[Bits, Bits], np.ndarray]] = {
    AluOp[f"FSETP_{name}{suffix}"]: partial(_test, relation, bool(suffix))
    for name, relation in _RELATIONS.items() for suffix in ("", "U")
} | {AluOp.FSETP_NUM: partial(_test, None, False), AluOp.FSETP_NAN: partial(_test, None, True)}
"""Comparisons: (a, b) to a vector of booleans."""
