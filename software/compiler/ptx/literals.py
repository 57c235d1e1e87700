"""Literals of PTX (PTX ISA 4.5): text to integer or to the bits of a floating-point number."""

from __future__ import annotations

import math
import struct

from .syntax import Number

__all__ = ["literal"]

_DIGITS = 66
"""Most characters of an integer that fits 64 bits, behind its leading zeros."""
_QUIET_F32, _QUIET_F64 = 0x7FC0_0000, 0x7FF8_0000_0000_0000


def literal(text: str) -> Number:
    """Return the value of a number of the grammar.

    Raises
    ------
    ValueError
        If it is an integer that a 64-bit operand cannot hold. A minus sign negates an integer that fits.
    """
    digits = text.removesuffix("U").lstrip("+-")
    prefix = digits[:2].lower()
    if prefix == "0f":
        pattern = int(digits[2:], 16)
        return Number(text, None, pattern, _widened(pattern), 32)
    if prefix == "0d":
        pattern = int(digits[2:], 16)
        return Number(text, None, _narrowed(pattern), pattern, 64)
    if prefix not in ("0x", "0b") and set(digits) & set(".eE"):
        return Number(text, None, _single(float(text)), _double(float(text)))
    value = _integer(digits)
    if value >= 1 << 64:
        raise ValueError(f"{text} does not fit 64 bits")
    return Number(text, -value if text.startswith("-") else value)


def _integer(digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > _DIGITS:
        return 1 << 64
    if significant[:1] in ("x", "X"):
        return int(digits, 16)
    if significant[:1] in ("b", "B"):
        return int(digits, 2)
    return int(digits, 8 if significant != digits and set(significant) <= set("01234567") else 10)


def _single(value: float) -> int:
    """Return a number's bits as f32, rounded to nearest even; beyond the range it is infinite."""
    return _narrowed(_double(value))


def _double(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def _widened(pattern: int) -> int:
    """Return the bits of an f32 as those of an f64; a NaN keeps sign and payload, and is quiet."""
    value, = struct.unpack("<f", struct.pack("<I", pattern))
    if math.isnan(value):
        return (pattern >> 31) << 63 | _QUIET_F64 | (pattern & 0x007F_FFFF) << 29
    return _double(value)


def _narrowed(pattern: int) -> int:
    """Return the bits of an f64 as those of an f32; a NaN keeps sign and payload, and is quiet."""
    value, = struct.unpack("<d", struct.pack("<Q", pattern))
    sign = (pattern >> 63) << 31
    if math.isnan(value):
        return sign | _QUIET_F32 | (pattern >> 29 & 0x007F_FFFF)
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return sign | 0x7F80_0000
