"""Conversions and arithmetic of f16 and bf16 by f64, for arrays of bits.

Sums and products are exact in f64, or rounded to odd by the error that a sum leaves (Knuth's TwoSum); one rounding to
16 bits follows. Nothing of it goes through f32.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Format", "F16", "BF16", "add", "fma", "mul", "sub"]

NAN = 0x7FFF


class Format:
    """A binary format of 16 bits.

    Attributes
    ----------
    precision : int
        Bits of a number, the hidden one included.
    bias : int
        Bias of the exponent.
    """

    def __init__(self, precision: int, bias: int):
        self.precision, self.bias = precision, bias
        self._fraction = precision - 1
        self.most = float(np.ldexp(2.0 - 2.0 ** (1 - precision), bias))

    def value(self, bits: np.ndarray) -> np.ndarray:
        """Return the numbers that bits stand for, as f64."""
        bits = np.asarray(bits, np.int64)
        exponent, fraction = bits >> self._fraction & 2 * self.bias + 1, bits & (1 << self._fraction) - 1
        normal = np.ldexp((fraction | 1 << self._fraction).astype(np.float64), exponent - self.bias - self._fraction)
        small = np.ldexp(fraction.astype(np.float64), 1 - self.bias - self._fraction)
        special = np.where(fraction == 0, np.inf, np.nan)
        size = np.where(exponent == 0, small, np.where(exponent == 2 * self.bias + 1, special, normal))
        return np.where(bits >> 15 & 1, -size, size)

    def bits(self, values: np.ndarray, mode: str = "rn") -> np.ndarray:
        """Return f64 values rounded to the format, as bits."""
        values = np.asarray(values, np.float64)
        finite = np.where(np.isfinite(values), values, 0)
        exponent = np.maximum(np.frexp(finite)[1] - 1, 1 - self.bias)
        step = np.ldexp(1.0, exponent - self._fraction)
        function = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}[mode]
        result = function(finite / step) * step
        over = np.abs(result) > self.most
        away = {"rn": over, "rz": over & False, "rm": over & (finite < 0), "rp": over & (finite > 0)}[mode]
        sign = np.signbit(values).astype(np.int64) << 15
        size = np.minimum(np.abs(result), self.most)
        exponent = np.where(size == 0, 1 - self.bias, np.maximum(np.frexp(size)[1] - 1, 1 - self.bias))
        fraction = np.ldexp(size, self._fraction - exponent).astype(np.int64)
        number = (exponent + self.bias - 1 << self._fraction) + fraction
        infinity = 2 * self.bias + 1 << self._fraction
        number = np.where(away | np.isinf(values), infinity, number)
        return np.where(np.isnan(values), NAN, number | sign)

    def flush(self, bits: np.ndarray) -> np.ndarray:
        """Return bits with subnormal numbers as zeros of their sign."""
        small = np.asarray(bits) >> self._fraction & 2 * self.bias + 1 == 0
        return np.where(small, np.asarray(bits) & 0x8000, bits)


F16, BF16 = Format(11, 15), Format(8, 127)


def _odd(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return f64 values, to which errors belong, rounded to odd."""
    cut = np.where((error > 0) == (value > 0), value, np.nextafter(value, 0))
    bits = np.ascontiguousarray(cut).view(np.int64) | 1
    exact = ~(np.isfinite(value) & np.isfinite(error) & (error != 0))
    return np.where(exact, value, bits.view(np.float64))


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sum of f64 values, rounded to odd."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
    return _odd(total, np.where(np.isfinite(total), error, 0))


def sub(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the difference of f64 values, rounded to odd."""
    return add(a, -b)


def mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of values of 16 bits, exact."""
    with np.errstate(invalid="ignore"):
        return a * b


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c of values of 16 bits, rounded to odd."""
    return add(mul(a, b), c)
