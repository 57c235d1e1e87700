"""GPU arithmetic on numpy arrays that numpy lacks."""

from __future__ import annotations

import numpy as np

__all__ = ["fma", "fma_f64"]


def fma(a, b, c) -> np.ndarray:
    """Return ``a * b + c`` of f32 arrays, rounded once to nearest even.

    The product is exact in f64. The sum in f64 is rounded to odd. If it is not exact and its last bit is 0, the true
    value lies between it and the neighbour on the side of the error; this neighbour is taken. Rounding it to f32 is the
    same as rounding the true value (Boldo and Melquiond 2008, theorem 1). Operands and results are finite.
    """
    product = np.asarray(a, np.float32).astype(np.float64) * np.asarray(b, np.float32)
    addend = np.asarray(c, np.float32).astype(np.float64)
    total = np.asarray(product + addend)
    larger = np.where(np.abs(product) >= np.abs(addend), product, addend)
    smaller = np.where(np.abs(product) >= np.abs(addend), addend, product)
    error = smaller - (total - larger)  # exact (Dekker 1971)
    even = total.view(np.uint64) & np.uint64(1) == 0
    odd = np.where(even & (error != 0), np.nextafter(total, np.copysign(np.inf, error)), total)
    return odd.astype(np.float32)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its error (Dekker 1971, with Veltkamp's splitting)."""
    def split(x):
        scaled = x * 134217729.0
        high = scaled - (scaled - x)
        return high, x - high

    (a1, a2), (b1, b2) = split(a), split(b)
    product = a * b
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def fma_f64(a, b, c) -> np.ndarray:
    """Return ``a * b + c`` of f64 arrays, rounded once to nearest even.

    Product and sums are kept with their errors. The errors are added with rounding to odd, so that the last rounding is
    the rounding of the true value (Boldo and Melquiond 2008, algorithm 5). Operands and results are far from the ends
    of the range.
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c)))
    product, product_error = _two_product(a, b)
    middle, low = _two_sum(c, product_error)
    high, high_error = _two_sum(product, middle)
    rest, error = _two_sum(low, high_error)
    even = rest.view(np.uint64) & np.uint64(1) == 0
    rest = np.where(even & (error != 0), np.nextafter(rest, np.copysign(np.inf, error)), rest)
    return high + rest
