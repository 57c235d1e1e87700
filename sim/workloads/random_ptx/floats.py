"""Meaning of the PTX f32 instructions in plain Python integers (PTX ISA 9.7.3, 9.7.5, 9.7.9).

Operands and results are 32-bit patterns. A finite number is an integer multiple of 2**-149, and a product of two is a
multiple of 2**-298. So sums and products are exact integers, rounded once. A result that is not a number is `NAN`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .operations import signed

__all__ = ["NAN", "UNARY_F32", "BINARY_F32", "TERNARY_F32", "FROM_INTEGER", "TO_INTEGER", "TESTS_F32", "compare_f32",
           "add", "multiply_add", "rounded"]

NAN = 0x7FFF_FFFF
INFINITY = 0x7F80_0000
SIGN = 0x8000_0000
SCALE = 149
"""A finite f32 is an integer times 2**-SCALE."""
MODES = ("rn", "rz", "rm", "rp")
INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32")


def _is_nan(x: int) -> bool:
    return x & ~SIGN > INFINITY


def _is_infinite(x: int) -> bool:
    return x & ~SIGN == INFINITY


def _scaled(x: int) -> int:
    """Return a finite number times 2**SCALE."""
    exponent, fraction = x >> 23 & 0xFF, x & 0x7F_FFFF
    magnitude = (fraction | 1 << 23) << exponent - 1 if exponent else fraction
    return -magnitude if x & SIGN else magnitude


def _quotient(n: int, shift: int, mode: str) -> int:
    """Return ``n / 2**shift`` rounded to an integer."""
    low, rest = n >> shift, n & (1 << shift) - 1  # low is the number rounded down
    if rest == 0 or mode == "rm":
        return low
    if mode == "rp":
        return low + 1
    if mode == "rz":
        return low + (n < 0)
    half = 1 << shift - 1
    return low + (rest > half or (rest == half and low & 1))


def rounded(n: int, scale: int, mode: str, negative_zero: bool = False) -> int:
    """Return ``n / 2**scale`` as f32; `negative_zero` is the sign of an exact zero.

    Parameters
    ----------
    n, scale : int
        `scale` is at least `SCALE`.
    mode : str
        ``rn``, ``rz``, ``rm``, ``rp``.
    negative_zero : bool
    """
    if n == 0:
        return SIGN if negative_zero else 0
    shift = max(abs(n).bit_length() - 24, scale - SCALE)
    digits = abs(_quotient(n, shift, mode))
    if digits == 1 << 24:
        digits, shift = 1 << 23, shift + 1
    sign = SIGN if n < 0 else 0
    exponent = shift - (scale - SCALE) + (digits >> 23)
    if exponent < 255:
        return sign | (exponent << 23 | digits & 0x7F_FFFF if exponent and digits >> 23 else digits)
    away = mode == "rn" or mode == ("rm" if n < 0 else "rp")
    return sign | (INFINITY if away else INFINITY - 1)


def multiply_add(a: int, b: int, c: int, mode: str) -> int:
    """Return ``a * b + c``, rounded once."""
    if _is_nan(a) or _is_nan(b) or _is_nan(c):
        return NAN
    sign = (a ^ b) & SIGN
    if _is_infinite(a) or _is_infinite(b):
        if not (a & ~SIGN and b & ~SIGN) or (_is_infinite(c) and c & SIGN != sign):
            return NAN
        return sign | INFINITY
    if _is_infinite(c):
        return c
    product = _scaled(a) * _scaled(b)
    zeros_agree = product == 0 and _scaled(c) == 0 and sign == c & SIGN
    return rounded(product + (_scaled(c) << SCALE), 2 * SCALE, mode, bool(sign) if zeros_agree else mode == "rm")


def add(a: int, b: int, mode: str) -> int:
    """Return ``a + b``."""
    return multiply_add(a, 0x3F80_0000, b, mode)


def _multiply(a: int, b: int, mode: str) -> int:
    return multiply_add(a, b, (a ^ b) & SIGN, mode)  # plus a zero of the product's sign


def _subtract(a: int, b: int, mode: str) -> int:
    return add(a, _negated(b), mode)


def _negated(x: int) -> int:
    return x ^ SIGN


def _saturated(x: int) -> int:
    return 0 if x & SIGN or _is_nan(x) else min(x, 0x3F80_0000)


def _integral(x: int, mode: str) -> int:
    if _is_nan(x):
        return NAN
    if _is_infinite(x):
        return x
    return rounded(_quotient(_scaled(x), SCALE, mode) << SCALE, SCALE, "rz", bool(x & SIGN))


def _from_integer(x: int, type: str, mode: str) -> int:
    bits = int(type[1:])
    value = x & (1 << bits) - 1
    return rounded((signed(value, bits) if type[0] == "s" else value) << SCALE, SCALE, mode)


def _to_integer(x: int, type: str, mode: str) -> int:
    bits = int(type[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type[0] == "s" else (0, (1 << bits) - 1)
    if _is_nan(x):
        return 0
    if _is_infinite(x):
        return (low if x & SIGN else high) & 0xFFFF_FFFF
    return min(max(_quotient(_scaled(x), SCALE, mode), low), high) & 0xFFFF_FFFF


def _extreme(a: int, b: int, greatest: bool) -> int:
    if _is_nan(a) or _is_nan(b):
        return NAN if _is_nan(a) and _is_nan(b) else b if _is_nan(a) else a

    def place(x: int) -> int:
        return -(x & ~SIGN) - 1 if x & SIGN else x

    return (max if greatest else min)(a, b, key=place)


def _strict(a: int, b: int, greatest: bool) -> int:
    return NAN if _is_nan(a) or _is_nan(b) else _extreme(a, b, greatest)


def compare_f32(test: str, a: int, b: int) -> bool:
    """Return whether a comparison holds: ``eq`` ... ``ge``, with ``u`` also of NaNs, ``num``, ``nan``."""
    unordered = _is_nan(a) or _is_nan(b)
    if test in ("num", "nan"):
        return unordered == (test == "nan")
    if unordered:
        return test.endswith("u")

    def place(x: int) -> int:
        return -(x & ~SIGN) if x & SIGN else x

    x, y = place(a), place(b)
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[test[:2]]


TESTS_F32 = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

UNARY_F32: dict[str, Callable[[int], int]] = {
    "neg.f32": _negated, "abs.f32": lambda a: a & ~SIGN, "mov.f32": lambda a: a, "cvt.f32.f32": lambda a: a,
    "cvt.sat.f32.f32": _saturated,
    **{f"cvt.{mode}i.f32.f32": lambda a, mode=mode: _integral(a, mode) for mode in MODES},
    **{f"cvt.{mode}i.sat.f32.f32": lambda a, mode=mode: _saturated(_integral(a, mode)) for mode in MODES},
}
FROM_INTEGER: dict[str, Callable[[int], int]] = {
    **{f"cvt.{mode}.f32.{type}": lambda a, type=type, mode=mode: _from_integer(a, type, mode)
       for mode in MODES for type in INTEGERS},
    **{f"cvt.{mode}.sat.f32.{type}": lambda a, type=type, mode=mode: _saturated(_from_integer(a, type, mode))
       for mode in MODES for type in INTEGERS},
}
TO_INTEGER: dict[str, Callable[[int], int]] = {
    **{f"cvt.{mode}i.{type}.f32": lambda a, type=type, mode=mode: _to_integer(a, type, mode)
       for mode in MODES for type in INTEGERS},
    **{f"cvt.{mode}i.sat.{type}.f32": lambda a, type=type, mode=mode: _to_integer(a, type, mode)
       for mode in MODES for type in INTEGERS},
}
"""Conversions, with results extended to 32 bits."""

def _rounding_table(meanings: dict[str, Callable[..., int]], named_only: bool) -> dict[str, Callable[..., int]]:
    """Return each instruction with each rounding modifier, also with ``.sat``, and without one unless `named_only`."""
    table: dict[str, Callable[..., int]] = {}
    for base, meaning in meanings.items():
        for modifier, mode in (*((f".{mode}", mode) for mode in MODES), *(() if named_only else (("", "rn"),))):
            exact = partial(meaning, mode=mode)
            table[f"{base}{modifier}.f32"] = exact
            table[f"{base}{modifier}.sat.f32"] = lambda *operands, exact=exact: _saturated(exact(*operands))
    return table


BINARY_F32: dict[str, Callable[[int, int], int]] = {
    "min.f32": partial(_extreme, greatest=False), "max.f32": partial(_extreme, greatest=True),
    "min.NaN.f32": partial(_strict, greatest=False), "max.NaN.f32": partial(_strict, greatest=True),
    "copysign.f32": lambda a, b: a & SIGN | b & ~SIGN,
    **_rounding_table({"add": add, "sub": _subtract, "mul": _multiply}, False),
}
TERNARY_F32: dict[str, Callable[[int, int, int], int]] = _rounding_table(
    {"fma": multiply_add, "mad": multiply_add}, True)
