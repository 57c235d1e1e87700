"""f32 arithmetic on numpy arrays as a GPU does it, where numpy has no operation for it."""

from __future__ import annotations

import numpy as np

__all__ = ["fma"]


def fma(a, b, c) -> np.ndarray:
    """Return ``a * b + c`` of f32 arrays, rounded once to nearest even.

    The product is exact in f64. The sum there is rounded to odd: where it is not exact and its last bit is 0, the
    true value lies between it and the neighbour on the side of the error, which is taken; rounding that to f32 is
    rounding the true value (Boldo and Melquiond 2008, theorem 1). Operands and results are finite.
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
