"""Jobs of the kernels of linear algebra. Their references do the kernels' operations in the kernels' order."""

from __future__ import annotations

import numpy as np

from ..job import Job
from ..numerics import fma

__all__ = ["vectoradd_job", "dot_job", "matvec_job", "sgemm_job", "gaussian_job"]

F32 = np.float32
UNROLL = 4
"""Sums per thread of `dot`."""
COLUMN_THREADS = 64
"""Threads per TB of `matvec`."""
TILE = 32
"""Rows and columns that a TB of `sgemm` computes at a time."""


def vectoradd_job(n: int, blocks: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `vectoradd` on `n` elements."""
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(n, F32) for _ in range(2))
    return Job((blocks, 1, 1), (threads, 1, 1), {"a": a, "b": b, "c": np.zeros(n, F32), "n": n}, {"c": a + b})


def _tree(sums: np.ndarray) -> np.ndarray:
    """Add up the last axis, a power of two, halves at a time."""
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums[..., 0]


def dot_job(n: int, blocks: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `dot` on `n` elements.

    Raises
    ------
    ValueError
        If `threads` is not a power of two up to 256.
    """
    if threads not in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        raise ValueError(f"threads must be a power of two up to 256, not {threads}")
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal(n, F32) for _ in range(2))
    step = blocks * threads
    at, sums = np.arange(step), np.zeros((UNROLL, step), F32)

    def accumulate(k: int, active: np.ndarray) -> None:
        place = at[active] + k * step
        sums[k, active] = fma(x[place], y[place], sums[k, active])

    while (active := at < n - (UNROLL - 1) * step).any():
        for k in range(UNROLL):
            accumulate(k, active)
        at[active] += UNROLL * step
    while (active := at < n).any():
        accumulate(0, active)
        at[active] += step
    total = (sums[0] + sums[1]) + (sums[2] + sums[3])
    return Job((blocks, 1, 1), (threads, 1, 1), {"x": x, "y": y, "partial": np.zeros(blocks, F32), "n": n},
               {"partial": _tree(total.reshape(blocks, threads))})


def matvec_job(rows: int, columns: int, blocks: int, seed: int) -> Job:
    """Return a job of `matvec` on a ``rows x columns`` matrix; TBs have 64 threads."""
    rng = np.random.default_rng(seed)
    a, x = rng.standard_normal((rows, columns), F32), rng.standard_normal(columns, F32)
    sums = np.zeros((rows, COLUMN_THREADS), F32)
    for first in range(0, columns, COLUMN_THREADS):
        part = a[:, first:first + COLUMN_THREADS]
        width = part.shape[1]
        sums[:, :width] = fma(part, x[first:first + width], sums[:, :width])
    return Job((blocks, 1, 1), (COLUMN_THREADS, 1, 1),
               {"a": a, "x": x, "y": np.zeros(rows, F32), "rows": rows, "columns": columns}, {"y": _tree(sums)})


def sgemm_job(rows: int, inner: int, columns: int, blocks: int, seed: int) -> Job:
    """Return a job of `sgemm` on ``rows x inner`` and ``inner x columns`` matrices."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((rows, inner), F32), rng.standard_normal((inner, columns), F32)
    product = np.zeros((rows, columns), F32)
    for k in range(inner):
        product = fma(a[:, k, None], b[k], product)
    return Job((blocks, 1, 1), (8, 8, 1),
               {"a": a, "b": b, "c": np.zeros((rows, columns), F32), "rows": rows, "inner": inner, "columns": columns},
               {"c": product})


def gaussian_job(count: int, n: int, blocks: int, seed: int, block: tuple[int, int, int] = (32, 4, 1)) -> Job:
    """Return a job of `gaussian` on `count` systems of `n` equations with dominant diagonals."""
    rng = np.random.default_rng(seed)
    systems = rng.uniform(-1, 1, (count, n, n + 1)).astype(F32)
    systems[:, range(n), range(n)] += n
    a = systems.copy()
    for pivot in range(n - 1):
        below = slice(pivot + 1, None)
        a[:, below, pivot] /= a[:, pivot, None, pivot]
        a[:, below, below] -= a[:, below, pivot, None] * a[:, pivot, None, below]
    return Job((blocks, 1, 1), block, {"systems": systems, "count": count, "n": n}, {"systems": a})
