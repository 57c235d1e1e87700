"""Meaning of the PTX floating-point instructions by exact fractions, for f32 and f64 alike (PTX ISA 9.7.3, 9.7.9).

Operands and results are bit patterns. A form is ``(bits of fraction, bits of exponent)``. Every result is the exact
one, rounded once (IEEE 754-2019, clause 4). A result that is not a number is `nan`.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["F32", "F64", "ONE", "SIGN", "MODES", "nan", "infinity", "is_nan", "number", "rounded", "fma", "add", "sub",
           "mul", "divide", "square_root", "extreme", "compare", "to_integer", "as_integer", "integral", "clamped",
           "narrow", "wide", "flush"]

F64, F32 = (52, 11), (23, 8)
"""Bits of fraction and of exponent."""
MODES = ("rn", "rz", "rm", "rp")
ONE, SIGN = 1023 << 52, 1 << 63
"""The number 1, and the sign, of f64."""

Form = tuple[int, int]


def nan(form: Form) -> int:
    """Return the result that is not a number."""
    return (1 << sum(form)) - 1


def infinity(form: Form) -> int:
    """Return positive infinity."""
    return (1 << form[1]) - 1 << form[0]


def sign_of(bits: int, form: Form) -> int:
    """Return the sign bit."""
    return bits >> sum(form)


def number(bits: int, form: Form) -> Fraction | None:
    """Return a number as a fraction, None for an infinity or a NaN."""
    fraction, exponent = bits & (1 << form[0]) - 1, bits >> form[0] & (1 << form[1]) - 1
    if exponent == (1 << form[1]) - 1:
        return None
    significand = fraction | (exponent > 0) << form[0]
    value = Fraction(significand) * Fraction(2) ** (max(exponent, 1) - (1 << form[1] - 1) + 1 - form[0])
    return -value if sign_of(bits, form) else value


def is_nan(bits: int, form: Form) -> bool:
    """Return whether the pattern is not a number."""
    return bits & nan(form) > infinity(form)


def whole(value: Fraction, mode: str) -> int:
    """Round a fraction to an integer."""
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](value)


def rounded(value: Fraction | int, mode: str, form: Form, zero_sign: int = 0) -> int:
    """Return a fraction in the form; an exact zero has the sign `zero_sign`."""
    sign, top = sum(form), (1 << form[1]) - 2
    if value == 0:
        return zero_sign << sign
    negative, size = value < 0, abs(Fraction(value))
    bias = (1 << form[1] - 1) - 1
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, -bias)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    exponent = max(exponent, 1 - bias)
    mode = {"rm": "rp" if negative else "rm", "rp": "rm" if negative else "rp"}.get(mode, mode)
    units = whole(size / Fraction(2) ** (exponent - form[0]), mode)
    bits = units + (exponent + bias - 1 << form[0]) if units else 0
    if bits > (top + 1 << form[0]) - 1:
        bits = infinity(form) - (mode in ("rz", "rm"))
    return bits | negative << sign


def fma(x: int, y: int, z: int, mode: str, form: Form = F64) -> int:
    """Return ``x * y + z``, rounded once."""
    a, b, c = (number(v, form) for v in (x, y, z))
    product_sign = sign_of(x, form) ^ sign_of(y, form)
    if any(is_nan(v, form) for v in (x, y, z)) or (a is None and b == 0) or (b is None and a == 0):
        return nan(form)
    if a is None or b is None:
        return nan(form) if c is None and sign_of(z, form) != product_sign \
            else infinity(form) | product_sign << sum(form)
    if c is None:
        return z
    zero = product_sign if product_sign == sign_of(z, form) and a * b == 0 == c else mode == "rm"
    return rounded(a * b + c, mode, form, zero)


def _one(form: Form) -> int:
    return ((1 << form[1] - 1) - 1) << form[0]


def add(x: int, y: int, mode: str, form: Form = F64) -> int:
    """Return ``x + y``."""
    return fma(x, _one(form), y, mode, form)


def sub(x: int, y: int, mode: str, form: Form = F64) -> int:
    """Return ``x - y``."""
    return nan(form) if is_nan(y, form) else fma(x, _one(form), y ^ 1 << sum(form), mode, form)


def mul(x: int, y: int, mode: str, form: Form = F64) -> int:
    """Return ``x * y``, computed as the product plus a zero of its sign."""
    return fma(x, y, (x ^ y) & 1 << sum(form), mode, form)


def divide(x: int, y: int, form: Form) -> int:
    """Return ``x / y``, rounded to nearest even."""
    a, b = number(x, form), number(y, form)
    sign = sign_of(x, form) ^ sign_of(y, form)
    if is_nan(x, form) or is_nan(y, form) or (a is None and b is None) or (a == 0 and b == 0):
        return nan(form)
    if a is None or b == 0:
        return infinity(form) | sign << sum(form)
    return rounded(Fraction(0) if b is None else a / b, "rn", form, sign)


def square_root(x: int, form: Form) -> int:
    """Return the square root, rounded to nearest even; of -0 it is -0."""
    value = number(x, form)
    if is_nan(x, form) or (sign_of(x, form) and value != 0):
        return nan(form)
    if value is None or value == 0:
        return x
    # Twice the significant digits, and one more digit that says whether the root is beyond them.
    shift = 2 * (sum(form) + 4) + 2 * (1 << form[1])
    scaled = (value.numerator << shift) // value.denominator
    root = math.isqrt(scaled)
    inexact = root * root != value * (1 << shift)
    return rounded(Fraction(2 * root + inexact, 2 << shift // 2), "rn", form)


def compare(test: str, x: int, y: int, form: Form = F64) -> bool:
    """Return whether a comparison holds: ``eq`` ... ``ge``, with ``u`` also of NaNs, ``num``, ``nan``."""
    unordered = is_nan(x, form) or is_nan(y, form)
    if test in ("num", "nan"):
        return unordered == (test == "nan")
    if unordered:
        return test.endswith("u") and test != "u"
    finite = [(number(v, form), math.inf * (1 - 2 * sign_of(v, form))) for v in (x, y)]
    a, b = (infinite if value is None else value for value, infinite in finite)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test[:2]]


def extreme(x: int, y: int, least: bool, form: Form = F64) -> int:
    """Return the lesser or the greater. A NaN yields to a number, and -0 is less than +0."""
    if is_nan(x, form) or is_nan(y, form):
        return y if is_nan(x, form) and not is_nan(y, form) else x if not is_nan(x, form) else nan(form)
    first = compare("lt", x, y, form) or (not compare("lt", y, x, form) and sign_of(x, form))
    return x if bool(first) == least else y


def clamped(value: int, type: str) -> int:
    """Return an integer clamped to the range of an integer type."""
    bits = int(type[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def to_integer(x: int, form: Form, type: str, mode: str) -> int:
    """Return a number rounded and clamped to an integer type; NaNs follow the PTX ISA (``cvt``)."""
    value = number(x, form)
    if is_nan(x, form):
        bits = int(type[1:])
        if form is F32 and bits < 64:
            return 0
        return -(1 << bits - 1) if type[0] == "s" else 1 << bits - 1
    if value is None:
        return clamped((-1) ** sign_of(x, form) << 70, type)
    return clamped(whole(value, mode), type)


def as_integer(x: int, type: str) -> int:
    """Return the low bits of a pattern as a number of an integer type."""
    bits = int(type[1:])
    x &= (1 << bits) - 1
    return x - (x >> bits - 1 << bits) if type[0] == "s" else x


def integral(x: int, form: Form, mode: str) -> int:
    """Return a number rounded to an integer, as a number of the same form and sign."""
    value = number(x, form)
    if value is None:
        return nan(form) if is_nan(x, form) else x
    return rounded(Fraction(whole(value, mode)), "rn", form, sign_of(x, form))


def wide(x: int) -> int:
    """Return an f32 as f64."""
    value = number(x, F32)
    if value is None:
        return nan(F64) if is_nan(x, F32) else infinity(F64) | sign_of(x, F32) << 63
    return rounded(value, "rn", F64, sign_of(x, F32))


def narrow(x: int, mode: str) -> int:
    """Return an f64 as f32."""
    value = number(x, F64)
    if value is None:
        return nan(F32) if is_nan(x, F64) else infinity(F32) | sign_of(x, F64) << 31
    return rounded(value, mode, F32, sign_of(x, F64))


def flush(x: int) -> int:
    """Return an f32 with subnormals as zeros of their sign (``.ftz``)."""
    return x & 1 << 31 if x & 0x7F80_0000 == 0 else x
