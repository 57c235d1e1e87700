"""Model of the f64 pipeline, on numpy arrays of bit patterns.

Sums are exact as two binary64 numbers (Knuth's TwoSum), whose second says how the first, rounded to
nearest, differs from a sum rounded in another direction. Products are such pairs too (Dekker), as
long as no exponent is extreme; a fused multiply-add adds three numbers, two of them into one that
is rounded to odd (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved
algorithms using rounding to odd", 2008). Threads with extreme exponents, infinities or NaNs are
computed one by one in Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ....arch.isa.opcodes import F64Op
from ..floating.model import Rounding, round_single, round_single_sum

__all__ = ["NAN", "ONE", "VALUES", "TESTS"]

Bits = np.ndarray

NAN = np.uint64(0x7FFF_FFFF_FFFF_FFFF)
"""The one binary64 result that is not a number."""
SIGN = np.uint64(1 << 63)
MAGNITUDE = np.uint64((1 << 63) - 1)
INFINITY = np.uint64(2047 << 52)
ONE = np.uint64(1023 << 52)
SINGLE = np.uint64(0xFFFF_FFFF)
TINY, HUGE = 2.0**-400, 2.0**400
"""Magnitudes between which products and sums of products are computed in pairs."""


def _double(x: Bits) -> np.ndarray:
    return x.view(np.float64)


def _single(x: Bits) -> np.ndarray:
    return x.astype(np.uint32).view(np.float32).astype(np.float64)


def _is_nan(x: Bits) -> np.ndarray:
    return x & MAGNITUDE > INFINITY


def _pattern(x: np.ndarray) -> Bits:
    return np.where(np.isnan(x), NAN, x.view(np.uint64))


def _two_sum(x: np.ndarray, y: np.ndarray):
    """Return the sum rounded to nearest and its error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _two_product(x: np.ndarray, y: np.ndarray):
    """Return the product rounded to nearest and its error."""
    def split(value: np.ndarray):
        scaled = value * 134217729.0  # 2**27 + 1
        high = scaled - (scaled - value)
        return high, value - high

    product = x * y
    (x_high, x_low), (y_high, y_low) = split(x), split(y)
    return product, x_low * y_low - (((product - x_high * y_high) - x_low * y_high)
                                     - x_high * y_low)


def _to_odd(x: np.ndarray, y: np.ndarray):
    """Return the sum rounded to odd."""
    total, error = _two_sum(x, y)
    bits = total.view(np.uint64)
    step = np.where((error < 0) == np.signbit(total), np.uint64(1), ~np.uint64(0))
    return np.where((error != 0) & (bits & np.uint64(1) == 0), bits + step, bits).view(np.float64)


def _sum(mode: Rounding, x: np.ndarray, y: np.ndarray) -> Bits:
    """Round x + y once, whatever they are."""
    total = x + y
    if mode is Rounding.RN:
        return _pattern(total)
    bits = total.view(np.uint64)
    swapped = np.abs(x) < np.abs(y)
    error = np.where(swapped, x, y) - (total - np.where(swapped, y, x))  # TwoSum could overflow
    overflow = np.isinf(total) & np.isfinite(x) & np.isfinite(y)
    if overflow.any():  # the sum is nearer to 0
        error = np.where(overflow, -total, error)
    negative = np.signbit(total)
    down = error < 0
    if mode is Rounding.RZ:
        step = np.where(np.where(negative, error > 0, down), ~np.uint64(0), np.uint64(0))
    else:
        wrong = down if mode is Rounding.RM else error > 0
        step = np.where(wrong,
                        np.where(negative == (mode is Rounding.RM), np.uint64(1), ~np.uint64(0)),
                        np.uint64(0))
    bits = np.where(np.isnan(total), NAN, bits + step)
    if mode is Rounding.RM:
        cancelled = (total == 0) & (error == 0) & (np.signbit(x) | np.signbit(y) | (x != 0))
        bits = np.where(cancelled, SIGN, bits)
    return bits


def _add(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return _sum(mode, _double(a), _double(b))


def _subtract(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return _sum(mode, _double(a), -_double(b))


def _multiply(mode: Rounding, a: Bits, b: Bits, c: Bits):
    if mode is Rounding.RN:
        return _pattern(_double(a) * _double(b))
    return _multiply_add(mode, a, b, (a ^ b) & SIGN)


def _moderate(x: np.ndarray):
    size = np.abs(x)
    return (size < HUGE) & ((size > TINY) | (x == 0))


def _multiply_add(mode: Rounding, a: Bits, b: Bits, c: Bits):
    x, y, z = _double(a), _double(b), _double(c)
    high, low = _two_product(x, y)
    rest, error = _two_sum(z, low)
    total, part = _two_sum(high, rest)
    bits = _sum(mode, total, _to_odd(part, error))
    if mode is Rounding.RM:
        bits = np.where(bits == 0, SIGN, bits)
    simple = _moderate(x) & _moderate(y) & _moderate(z) & ((high != 0) | (z != 0))
    for k in np.flatnonzero(~simple):
        bits[k] = _exact(mode, int(a[k]), int(b[k]), int(c[k]))
    return bits


def _exact(mode: Rounding, a: int, b: int, c: int) -> int:
    """Return a * b + c, rounded once."""
    a_sign, a_number, a_place = _unpack(a)
    b_sign, b_number, b_place = _unpack(b)
    c_sign, c_number, c_place = _unpack(c)
    sign = a_sign ^ b_sign
    if a_number is None or b_number is None or c_number is None:
        return _not_finite(sign, a, b, c)
    product, place = a_number * b_number, a_place + b_place
    lowest = min(place, c_place)
    total = (-product if sign else product) << place - lowest
    total += (-c_number if c_sign else c_number) << c_place - lowest
    if total == 0:
        both = sign == c_sign and not product
        return (sign if both else mode is Rounding.RM) << 63
    return _round(mode, total, lowest)


def _unpack(bits: int) -> tuple[int, int | None, int]:
    """Return sign, and integer and exponent of 2 whose product is the magnitude
    (None: not finite)."""
    exponent, fraction = bits >> 52 & 2047, bits & (1 << 52) - 1
    if exponent == 2047:
        return bits >> 63, None, 0
    return bits >> 63, fraction | (exponent > 0) << 52, max(exponent, 1) - 1075


def _not_finite(sign: int, a: int, b: int, c: int) -> int:
    """Return the result of a multiply-add, one of whose operands is infinite or not a number."""
    infinity, magnitudes = int(INFINITY), [x & int(MAGNITUDE) for x in (a, b, c)]
    product = infinity in magnitudes[:2]
    if max(magnitudes) > infinity or product and 0 in magnitudes[:2]:
        return int(NAN)
    if product and magnitudes[2] == infinity and sign != c >> 63:
        return int(NAN)
    return (sign if product else c >> 63) << 63 | infinity


def _round(mode: Rounding, value: int, exponent: int) -> int:
    """Round ``value * 2**exponent``, which is not 0, to binary64."""
    negative, magnitude = value < 0, abs(value)
    place = max(exponent + magnitude.bit_length() - 53, -1074)
    shift = place - exponent
    if shift > 0:
        kept, rest, half = magnitude >> shift, magnitude & (1 << shift) - 1, 1 << shift - 1
        outward = rest and mode is (Rounding.RM if negative else Rounding.RP)
        kept += bool(outward or mode is Rounding.RN and (rest > half or rest == half and kept & 1))
    else:
        kept = magnitude << -shift
    bits = (place + 1074 << 52) + kept
    if bits >= INFINITY:
        to_infinity = mode in (Rounding.RN, Rounding.RM if negative else Rounding.RP)
        bits = int(INFINITY) - (not to_infinity)
    return negative << 63 | bits


_INTEGRAL: dict[Rounding, Callable] = {Rounding.RN: np.rint, Rounding.RZ: np.trunc,
                                       Rounding.RM: np.floor, Rounding.RP: np.ceil}


def _to_integer(signed: bool, width: int, source: Callable, mode: Rounding, a: Bits, b: Bits,
                c: Bits):
    low, end = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
    value = _INTEGRAL[mode](source(b))
    inside = (value >= float(low)) & (value < float(end))
    number = np.where(inside, value, 0.0)
    integer = number.astype(np.int64).view(np.uint64) if signed else number.astype(np.uint64)
    mask = (1 << width) - 1
    limit = np.where(value < 0, np.uint64(low & mask),
                     np.where(value > 0, np.uint64(end - 1), np.uint64(0)))
    return np.where(inside, integer & np.uint64(mask), limit)


def _halves(signed: bool, b: Bits) -> tuple[np.ndarray, np.ndarray]:
    """Return two binary64 numbers whose sum is the integer."""
    high = (b.view(np.int64) >> 32 if signed else b >> np.uint64(32)).astype(np.float64)
    return high * 2.0**32, (b & SINGLE).astype(np.float64)


def _from_integer(signed: bool, mode: Rounding, a: Bits, b: Bits, c: Bits):
    return _sum(mode, *_halves(signed, b))


def _to_single(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single(mode, _double(b)).astype(np.uint64)


def _from_integer_to_single(signed: bool, mode: Rounding, a: Bits, b: Bits, c: Bits):
    return round_single_sum(mode, *_halves(signed, b)).astype(np.uint64)


def _round_integral(mode: Rounding, a: Bits, b: Bits, c: Bits):
    return _pattern(_INTEGRAL[mode](_double(b)))


def _from_word(kind: type[np.integer], a: Bits, b: Bits, c: Bits):
    return b.astype(np.uint32).view(kind).astype(np.float64).view(np.uint64)


def _order(x: Bits) -> np.ndarray:
    """Map numbers to integers in their order, -0 just below +0."""
    signed = x.view(np.int64)
    return np.where(signed < 0, ~(signed & np.int64(MAGNITUDE)), signed)


def _choose(smaller: bool, a: Bits, b: Bits, c: Bits):
    chosen = np.where((_order(a) < _order(b)) == smaller, a, b)
    chosen = np.where(_is_nan(a), b, np.where(_is_nan(b), a, chosen))
    return np.where(_is_nan(chosen), NAN, chosen)


_ROUNDED: dict[str, Callable[..., Bits]] = {
    "DADD": _add, "DSUB": _subtract, "DMUL": _multiply,
    "DFMA": _multiply_add, "DRND": _round_integral, "D2F": _to_single,
    "D2I_S": partial(_to_integer, True, 32, _double),
    "D2I_U": partial(_to_integer, False, 32, _double),
    "D2L_S": partial(_to_integer, True, 64, _double),
    "D2L_U": partial(_to_integer, False, 64, _double),
    "F2L_S": partial(_to_integer, True, 64, _single),
    "F2L_U": partial(_to_integer, False, 64, _single),
    "L2D_S": partial(_from_integer, True), "L2D_U": partial(_from_integer, False),
    "L2F_S": partial(_from_integer_to_single, True),
    "L2F_U": partial(_from_integer_to_single, False),
}
VALUES: dict[F64Op, Callable[[Bits, Bits, Bits], Bits]] = {
    F64Op[f"{name}_{mode.name}"]: partial(function, mode)
    for name, function in _ROUNDED.items() for mode in Rounding
} | {
    F64Op.F2D: lambda a, b, c: _pattern(_single(b)),
    F64Op.I2D_S: partial(_from_word, np.int32), F64Op.I2D_U: partial(_from_word, np.uint32),
    F64Op.DMIN: partial(_choose, True), F64Op.DMAX: partial(_choose, False),
}
"""Operations with a register result: (a, b, c) to d, all uint64 vectors."""


def _test(relation: Callable | None, unordered: bool, a: Bits, b: Bits) -> np.ndarray:
    either = _is_nan(a) | _is_nan(b)
    if relation is None:
        return either == unordered
    return np.where(either, unordered, relation(_double(a), _double(b)))


_RELATIONS: dict[str, Callable | None] = {"EQ": np.equal, "NE": np.not_equal,
                                          "LT": np.less, "LE": np.less_equal,
                                          "GT": np.greater, "GE": np.greater_equal}
TESTS: dict[F64Op, Callable[[Bits, Bits], np.ndarray]] = {
    F64Op[f"DSETP_{name}{suffix}"]: partial(_test, relation, bool(suffix))
    for name, relation in _RELATIONS.items() for suffix in ("", "U")
} | {F64Op.DSETP_NUM: partial(_test, None, False), F64Op.DSETP_NAN: partial(_test, None, True)}
"""Comparisons: (a, b) to a vector of booleans."""
