"""Literals of PTX (PTX ISA 4.5): text to integer or to the bits of a floating-point number."""

from __future__ import annotations

import numpy as np

from .syntax import Number

__all__ = ["literal"]

_DIGITS = 66
"""Most characters of an integer that fits 64 bits, behind its leading zeros."""


def literal(text: str) -> Number:
    """Return what a number as the grammar has it stands for.

    Raises
    ------
    ValueError
        If it is an integer that a 64-bit operand cannot hold; a minus negates one that it can.
    """
    digits = text.removesuffix("U").lstrip("+-")
    prefix = digits[:2].lower()
    if prefix == "0f":
        pattern = int(digits[2:], 16)
        return Number(text, None, pattern, _double(float(np.uint32(pattern).view(np.float32))), 32)
    if prefix == "0d":
        pattern = int(digits[2:], 16)
        return Number(text, None, _single(np.uint64(pattern).view(np.float64)), pattern, 64)
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
    with np.errstate(over="ignore", invalid="ignore"):
        return int(np.float32(value).view(np.uint32))


def _double(value: float) -> int:
    with np.errstate(invalid="ignore"):
        return int(np.float64(value).view(np.uint64))
