"""Detection of cells by gradients along circles: jobs of `gicov`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "gicov_job"]

F32 = np.float32
DIRECTIONS = 32
BORDER = 22
LEAST_RADIUS, MOST_CIRCLES = 8, 7
COSINE = np.cos(2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS).round(12).astype(F32)
"""Cosines rounded to f32. Adding 0.0 below makes all zeros positive, as in the source."""
COSINE += F32(0)


def gicov_job(rows: int, columns: int, circles: int, step: int, seed: int, threads: int = 192) -> Job:
    """Return a job of `gicov` with up to 7 circles, sampled in every `step`-th of 32 directions.

    Each TB has a part of a column.

    Raises
    ------
    ValueError
        If the image is only border, or circles reach beyond the border.
    """
    if min(rows, columns) <= 2 * BORDER or not 1 <= circles <= MOST_CIRCLES:
        raise ValueError(f"{circles} circles in {rows} x {columns} pixels; at most {MOST_CIRCLES}, {BORDER} of border")
    rng = np.random.default_rng(seed)
    along_x, along_y = rng.standard_normal((2, columns, rows), F32)
    inner = np.ix_(range(BORDER, columns - BORDER), range(BORDER, rows - BORDER))
    best = np.zeros((columns - 2 * BORDER, rows - 2 * BORDER), F32)
    for k in range(circles):
        radius = F32(LEAST_RADIUS + 2 * k)
        total, mean, squares, count = np.zeros_like(best), np.zeros_like(best), np.zeros_like(best), F32(0)
        for d in range(0, DIRECTIONS, step):
            c, s = COSINE[d], COSINE[d - DIRECTIONS // 4]
            place = inner[0] + int(radius * c), inner[1] + int(radius * s)
            slope = fma(along_x[place], c, along_y[place] * s)
            off = slope - mean
            count += F32(1)
            total, mean = total + slope, mean + off / count
            squares = fma(off, slope - mean, squares)
        average, variance = total / count, squares / (count - F32(1))
        best = np.maximum(best, average * average / variance)
    result = np.zeros((columns, rows), F32)
    result[inner] = best
    return Job((columns - 2 * BORDER, -(-(rows - 2 * BORDER) // threads), 1), (threads, 1, 1),
               {"rows": rows, "along_x": along_x, "along_y": along_y, "result": np.zeros((columns, rows), F32),
                "circles": circles, "step": step}, {"result": result})


def _gicov(size: str, seed: int) -> Job:
    return gicov_job(2 * BORDER + by_size(size, 100, 192, 340), 2 * BORDER + by_size(size, 1, 8, 24),
                     by_size(size, 2, 3, 7), by_size(size, 8, 4, 1), seed)


KERNELS = (
    ShippedKernel("gicov", "statistics of gradients along circles, a table in constant memory",
                  "Lin et al. Table II, LK_1 (TB of 192)", _gicov, "rodinia",
                  PaperRow("LK_1", "GICOV_kernel", warps=6, tbs=8, registers=18, shared_bytes=24)),
)
