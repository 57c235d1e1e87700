"""Tables of the special-function unit, made by integer arithmetic when they are first needed.

A function is a polynomial of second degree in each of 256 intervals (S. F. Oberman, M. Y. Siu, "A
high-performance area-efficient multifunction interpolator", 2005), in a variable t that goes from 0
to 1 in each::

    value = c0 + c1 t + c2 t**2

The polynomial goes through the function at the Chebyshev nodes. Its c1 is rounded first; c2 is then
what still fits at the two outer nodes, and is rounded; c0 centres the error that is left. Where the
function must be exact at t = 0 (powers of two), c0 is the function there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from . import functions as fixed
from .functions import ONE, PRECISION

__all__ = ["INDEX_BITS", "T_BITS", "VALUE_BITS", "C1_BITS", "C2_BITS", "WINDOW_BITS",
           "FRACTION_BITS", "FUNCTIONS", "coefficients", "windows", "rows"]

INDEX_BITS = 8
"""Bits that select the interval."""
T_BITS = 17
"""Bits of t; its lowest is worth 2**-T_BITS."""
VALUE_BITS = 30
"""The lowest bit of the value, and of c0, is worth 2**-VALUE_BITS."""
C1_BITS = 24
"""The lowest bit of c1 (18 bits with its sign) is worth 2**-C1_BITS."""
C2_BITS = 27
"""The lowest bit of c2 (13 bits with its sign) is worth 2**-C2_BITS."""
WINDOW_BITS = 54
"""Bits of a window of 2 / pi."""
FRACTION_BITS = WINDOW_BITS - 2
"""Bits of a window that lie below a quarter turn."""
_NODE_BITS = 16
_NODES = 4390, 32768, 61146
"""Chebyshev nodes of three points between 0 and 1, (1 - cos(pi / 6)) / 2 and so on,
in units of 2**-16."""
_SAMPLES = 0, *_NODES, 20480, 45056, 1 << _NODE_BITS
"""Where the error is looked at: ends, nodes, and between nodes."""

Argument = Callable[[int, int], int]
"""Interval number and t, in units of 2**-16, to the function's argument."""


def _unit(k: int, t: int) -> int:
    return ((k << _NODE_BITS) + t) << PRECISION - INDEX_BITS - _NODE_BITS


def _octaves(k: int, t: int) -> int:
    """Map 128 intervals to [1, 2), the next 128 to [2, 4)."""
    half, odd = 1 << INDEX_BITS - 1, k >> INDEX_BITS - 1
    return ONE + 2 * _unit(k % half, t) << odd


def _half_unit_up(k: int, t: int) -> int:
    """Add half a unit of t: what is cut off below t is half a unit on average,
    and 1 - x is then ~x."""
    return _unit(k, t) + (ONE >> INDEX_BITS + T_BITS + 1)


FUNCTIONS: dict[str, tuple[Callable[[int], int], Argument, bool]] = {
    "RCP": (fixed.reciprocal, lambda k, t: ONE + _unit(k, t), True),
    "RSQ": (lambda x: fixed.reciprocal(fixed.square_root(x)), _octaves, True),
    "SQRT": (fixed.square_root, _octaves, True),
    "EX2": (fixed.power_of_two, _unit, True),
    "LG2": (fixed.logarithm, lambda k, t: ONE + _unit(k, t), True),
    "SIN": (fixed.sine, _half_unit_up, False),
}
"""Function, argument, and whether it is exact where interval 0 begins; in the order of the rows."""


def _round(numerator: int, denominator: int = 1, bits: int = 0) -> int:
    """Return a fraction, in units of 2**-PRECISION, in units of 2**-bits."""
    denominator <<= PRECISION - bits
    return (2 * numerator + denominator) // (2 * denominator)


def _fit(function: Callable[[int], int], exact: bool) -> tuple[int, int, int]:
    """Return c0, c1, c2 for a function of t in units of 2**-16."""
    one = 1 << _NODE_BITS
    first, middle, last = _NODES
    at = {t: function(t) for t in _SAMPLES}
    slope = (at[middle] - at[first]) * one // (middle - first)
    bend = ((at[last] - at[middle]) * one // (last - middle) - slope) * one // (last - first)
    c1 = _round(slope * one - bend * (first + middle), one, C1_BITS)
    rest = {t: value - (c1 * t << PRECISION - C1_BITS - _NODE_BITS) for t, value in at.items()}
    c2 = _round((rest[last] - rest[first]) * one * one, last * last - first * first, C2_BITS)
    rest = {t: value - (c2 * t * t << PRECISION - C2_BITS - 2 * _NODE_BITS)
            for t, value in rest.items()}
    c0 = _round(at[0] if exact else (min(rest.values()) + max(rest.values())) // 2, 1, VALUE_BITS)
    return c0, c1, c2


@cache
def coefficients(name: str) -> np.ndarray:
    """Return c0, c1, c2 of a function's intervals: int64, shape (3, 256). Takes about 20 ms."""
    function, argument, exact = FUNCTIONS[name]
    return np.array([_fit(lambda t, k=k: function(argument(k, t)), exact and k == 0)
                     for k in range(1 << INDEX_BITS)], np.int64).T.copy()


def rows() -> list[tuple[int, int, int]]:
    """Return the rows of the coefficient memory: 256 for each of `FUNCTIONS`."""
    return [row for name in FUNCTIONS for row in zip(*coefficients(name).tolist(), strict=True)]


@cache
def windows() -> np.ndarray:
    """Return, for each biased exponent, what a significand is multiplied by to get quarter turns
    modulo 4.

    uint64; entry E is 2 / pi * 2**(E - 150) modulo 4, in units of 2**-FRACTION_BITS, rounded to
    nearest: the product with an integer below 2**24 is wrong by 2**-29 quarter turns at most (M.
    Payne, R. Hanek, "Radian reduction for trigonometric functions", 1983).
    """
    bits = 512
    two_over_pi = (2 << 2 * bits) // fixed.pi(bits)
    return np.array([(two_over_pi >> bits - FRACTION_BITS - 1 - (e - 150)) + 1 >> 1
                     & (1 << WINDOW_BITS) - 1
                     for e in range(256)],
                    np.uint64)
