"""Model of a lane of the special-function unit, on numpy arrays: its integer arithmetic, bit for
bit.

A number is ``significand * 2**(exponent - 23)``, its significand in [2**23, 2**24); the value of
the interpolation has `tables.VALUE_BITS` fractional bits.
"""

from __future__ import annotations

import numpy as np

from ....arch.isa.opcodes import SfuOp
from .tables import (
    C1_BITS,
    C2_BITS,
    FRACTION_BITS,
    FUNCTIONS,
    INDEX_BITS,
    T_BITS,
    VALUE_BITS,
    coefficients,
    windows,
)

__all__ = ["WIDE", "TRIGONOMETRIC", "SMALL_SINE", "ROW_OF", "evaluate", "interpolate"]

WIDE = (SfuOp.RCP64H, SfuOp.RSQ64H)
"""Operations on the high words of f64 numbers."""
TRIGONOMETRIC = (SfuOp.SIN, SfuOp.COS)
SMALL_SINE = -8
"""The sine of a number of a lower exponent is the number."""
LARGE_POWER = 8
"""A power of two with an exponent of this exponent or a higher one is infinite or zero."""
TABLES = {SfuOp.COS: "SIN", SfuOp.RCP64H: "RCP", SfuOp.RSQ64H: "RSQ"}
"""Operations that use the table of another."""
ROW_OF = {op: list(FUNCTIONS).index(TABLES.get(op, op.name)) for op in SfuOp}
"""Number of the function in the coefficient memory."""
NAN = 0x7FFF_FFFF
INFINITY = 0x7F80_0000
WIDE_INFINITY = 0x7FF0_0000
KEPT = 25
"""Bits of a normalised result before rounding: 24 of a significand and one below."""


class _Operand:
    """Sign, exponent, significand, and class of an array of operands."""

    def __init__(self, op: SfuOp, b: np.ndarray):
        self.word = b.astype(np.int64)
        magnitude = self.word & 0x7FFF_FFFF
        self.negative = self.word >> 31 != 0
        if op in WIDE:
            biased, infinity = magnitude >> 20, WIDE_INFINITY
            self.exponent = biased - 1023
            self.fraction = (magnitude & 0xF_FFFF) << 3
            self.zero = biased == 0
        else:
            biased, infinity = magnitude >> 23, INFINITY
            # exact: how a subnormal is normalised
            normal = (magnitude & 0x7F_FFFF).astype(np.float32).view(np.int32)
            self.zero = magnitude == 0
            self.exponent = np.where(biased == 0, (normal >> 23) - 276, biased - 127)
            self.fraction = np.where(biased == 0, normal, magnitude) & 0x7F_FFFF
        self.biased = biased
        self.significand = self.fraction | 1 << 23
        self.infinite, self.nan = magnitude == infinity, magnitude > infinity


def _turns(op: SfuOp, x: _Operand) -> tuple[np.ndarray, np.ndarray]:
    """Reduce an angle: quadrant, and place in it (or, in odd quadrants, to its end)."""
    product = x.significand.astype(np.uint64) * windows()[x.biased]
    quadrant = (product >> np.uint64(FRACTION_BITS)).astype(np.int64) + (op is SfuOp.COS) & 3
    bits = INDEX_BITS + T_BITS
    place = (product >> np.uint64(FRACTION_BITS - bits)).astype(np.int64)
    return quadrant, np.where(quadrant & 1, ~place, place) & (1 << bits) - 1


def _power(x: _Operand) -> np.ndarray:
    """Return the exponent of a power of two as a fixed-point number of 25 fractional bits."""
    shifted = (x.significand << LARGE_POWER + 1) >> np.clip(LARGE_POWER - 1 - x.exponent, 0, 63)
    return np.where(x.negative, -shifted, shifted)


def interpolate(op: SfuOp, place: np.ndarray) -> np.ndarray:
    """Return the function at a place: number of the interval, then t."""
    row, t = place >> T_BITS, place & (1 << T_BITS) - 1
    c0, c1, c2 = coefficients(TABLES.get(op, op.name))[:, row]
    square = t * t >> T_BITS
    return c0 + (c1 * t >> C1_BITS + T_BITS - VALUE_BITS) + (c2 * square
                                                             >> C2_BITS + T_BITS - VALUE_BITS)


def _pack(wide: bool, value: np.ndarray, exponent: np.ndarray | int) -> np.ndarray:
    """Normalise and round ``value * 2**exponent`` to nearest (ties up); value is not negative."""
    top = (value.astype(np.float64).view(np.int64) >> 52) - 1023  # exact: fewer than 53 bits
    kept = np.where(value == 0, 0, value << np.maximum(37 - top, 0) >> 38 - KEPT)
    biased = exponent + top - VALUE_BITS + (1023 if wide else 127)
    if wide:
        packed = (biased - 1 << 20) + ((kept >> 3) + 1 >> 1)
        return np.where(packed < 1 << 20, 0, packed)
    rounded = (kept >> np.clip(1 - biased, 0, 31)) + 1 >> 1
    packed = (np.maximum(biased, 1) - 1 << 23) + rounded
    return np.where(value == 0, 0, np.minimum(packed, INFINITY))


def evaluate(op: SfuOp, b: np.ndarray) -> np.ndarray:
    """Return the results of an operation for an array of words (uint32)."""
    x = _Operand(op, b)
    wide, negative = op in WIDE, x.negative
    exponent: np.ndarray | int = 0
    if op in TRIGONOMETRIC:
        quadrant, place = _turns(op, x)
        negative = (quadrant > 1) ^ (x.negative & (op is SfuOp.SIN))
    elif op is SfuOp.EX2:
        power = _power(x)
        exponent = power >> INDEX_BITS + T_BITS
        place, negative = power & (1 << INDEX_BITS + T_BITS) - 1, False
    elif op in (SfuOp.SQRT, SfuOp.RSQ, SfuOp.RSQ64H):
        half = x.exponent >> 1
        exponent = half if op is SfuOp.SQRT else -half
        place = (x.exponent & 1) << 24 | x.fraction << 1
    else:
        exponent, place = -x.exponent, x.fraction << 2
    value = interpolate(op, place)
    if op is SfuOp.LG2:
        value, exponent = value + (x.exponent << VALUE_BITS), 0
        negative = value < 0
        value = np.abs(value)
    return _special(op, x,
                    np.where(negative, 1 << 31, 0) | _pack(wide, value, exponent)).astype(np.uint32)


def _special(op: SfuOp, x: _Operand, result: np.ndarray) -> np.ndarray:
    """Put in the results of special operands."""
    infinity = WIDE_INFINITY if op in WIDE else INFINITY
    sign = np.where(x.negative, 1 << 31, 0)
    invalid = x.nan
    if op in (SfuOp.RSQ, SfuOp.RSQ64H, SfuOp.SQRT, SfuOp.LG2):
        invalid = invalid | x.negative & ~x.zero
    if op in (SfuOp.RCP, SfuOp.RCP64H, SfuOp.RSQ, SfuOp.RSQ64H):
        result = np.where(x.zero, sign | infinity, np.where(x.infinite, sign, result))
    elif op is SfuOp.SQRT:
        result = np.where(x.zero, sign, np.where(x.infinite, infinity, result))
    elif op is SfuOp.LG2:
        result = np.where(x.zero, 1 << 31 | infinity, np.where(x.infinite, infinity, result))
    elif op is SfuOp.EX2:
        result = np.where(x.exponent >= LARGE_POWER, np.where(x.negative, 0, infinity), result)
    else:
        invalid = invalid | x.infinite
        if op is SfuOp.SIN:
            result = np.where(x.biased < 127 + SMALL_SINE, x.word, result)
    return np.where(invalid, NAN, result)
