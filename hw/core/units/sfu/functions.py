"""Elementary functions on integers: the same digits on every machine.

A number x is the integer nearest to ``x * 2**PRECISION`` (but for a few units: results are good to
about 80 bits). Series are summed until a term is zero.
"""

from __future__ import annotations

from functools import cache
from math import isqrt

__all__ = ["PRECISION", "ONE", "pi", "reciprocal", "square_root", "power_of_two", "logarithm",
           "sine"]

PRECISION = 88
ONE = 1 << PRECISION


def _atanh(numerator: int, denominator: int, one: int = ONE, sign: int = 1) -> int:
    """Return ``one`` times atanh (with `sign` -1: atan) of a fraction below 1/2."""
    power, total, k = one * numerator // denominator, 0, 1
    while power:
        total += (sign if k % 4 == 3 else 1) * (power // k)
        power, k = power * numerator * numerator // (denominator * denominator), k + 2
    return total


@cache
def pi(bits: int = PRECISION) -> int:
    """Return ``pi * 2**bits``, rounded down (Machin: pi = 16 atan(1/5) - 4 atan(1/239))."""
    guard = 32
    one = 1 << bits + guard
    return 16 * _atanh(1, 5, one, -1) - 4 * _atanh(1, 239, one, -1) >> guard


@cache
def _ln2() -> int:
    return 2 * _atanh(1, 3)


def reciprocal(x: int) -> int:
    """Return 1 / x."""
    return (ONE << PRECISION) // x


def square_root(x: int) -> int:
    """Return the square root of x."""
    return isqrt(x << PRECISION)


def power_of_two(x: int) -> int:
    """Return 2**x for x from 0 to 1, by its Taylor series."""
    x = x * _ln2() >> PRECISION
    term, total, k = ONE, 0, 1
    while term:
        total += term
        term, k = (term * x >> PRECISION) // k, k + 1
    return total


def logarithm(x: int) -> int:
    """Return the logarithm to base 2 of x from 1 to 2: ln x = 2 atanh((x - 1) / (x + 1))."""
    return (2 * _atanh(x - ONE, x + ONE) << PRECISION) // _ln2()


def sine(x: int) -> int:
    """Return the sine of x quarter turns, x from 0 to 1, by its Taylor series."""
    x = x * pi() >> PRECISION + 1
    square, term, total, k = x * x >> PRECISION, x, 0, 1
    while term:
        total += -term if k % 4 == 3 else term
        term, k = (term * square >> PRECISION) // ((k + 1) * (k + 2)), k + 2
    return total
