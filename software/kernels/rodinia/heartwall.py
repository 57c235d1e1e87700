"""Tracking of points by normalised correlation: jobs of `heartwall`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "heartwall_job"]

F32, INT32 = np.float32, np.int32
BLOCK = 256
MOST_SIDE = 51
FLAT = 1e-4


def _first_highest(scores: np.ndarray) -> int:
    """Return the kernel's choice: the first highest score of each thread, then of a tree that prefers the left."""
    rounds = -(-len(scores) // BLOCK)
    table = np.full(rounds * BLOCK, -2, F32)
    table[:len(scores)] = scores
    table = table.reshape(rounds, BLOCK)
    place = table.argmax(axis=0) * BLOCK + np.arange(BLOCK)
    best, half = table.max(axis=0), BLOCK // 2
    while half:
        right = best[half:2 * half] > best[:half]
        best = np.where(right, best[half:2 * half], best[:half])
        place = np.where(right, place[half:2 * half], place[:half])
        half //= 2
    return int(place[0])


def _scores(frame: np.ndarray, template: np.ndarray, top: int, left: int, places: int) -> np.ndarray:
    """Return the correlation at ``places`` x ``places`` places, with the first window at (top, left)."""
    side, elements = len(template), template.size
    row_sum, row_square = np.zeros((2, side), F32)
    for column in template.T:
        row_sum, row_square = row_sum + column, fma(column, column, row_square)
    total, total_square = 0.0, 0.0
    for a, b in zip(row_sum, row_square, strict=True):
        total, total_square = total + float(a), total_square + float(b)
    mean = total / elements
    spread = np.sqrt(total_square - total * mean)

    y, x = (first + np.arange(places + side - 1) for first in (top, left))
    area = frame[y.clip(0, frame.shape[0] - 1)][:, x.clip(0, frame.shape[1] - 1)]
    sums, squares, product = np.zeros((3, places, places), F32)
    for r in range(side):
        for c in range(side):
            value = area[r:r + places, c:c + places]
            sums, squares = sums + value, fma(value, value, squares)
            product = fma(value, template[r, c], product)
    wide = sums.astype(float)
    variance = squares - wide * wide / elements
    told = variance > FLAT * elements
    score = (product - wide * mean) / (np.sqrt(np.where(told, variance, 1)) * spread)
    return np.where(told, score, -1).astype(F32).reshape(-1)


def heartwall_job(points: int, side: int, reach: int, seed: int, rows: int = 60, columns: int = 75) -> Job:
    """Return a job of `heartwall` with square templates, up to 51 wide, sought up to `reach` away, one point per TB.

    Raises
    ------
    ValueError
        If a template is too large.
    """
    if not 2 <= side <= MOST_SIDE:
        raise ValueError(f"side must be 2 to {MOST_SIDE}, not {side}")
    rng = np.random.default_rng(seed)
    frame = rng.random((rows, columns), F32)
    y, x = rng.integers(side, rows - side, points), rng.integers(side, columns - side, points)
    moved = rng.integers(-reach, reach + 1, (2, points)) if reach else np.zeros((2, points), int)
    keep, places = F32(0.88), 2 * reach + 1
    templates, new = np.zeros((2, points, side, side), F32)
    found, scores = np.zeros((2, points), INT32), np.zeros(points, F32)
    for p in range(points):
        corner = y[p] - side // 2, x[p] - side // 2
        templates[p] = (frame[corner[0]:corner[0] + side, corner[1]:corner[1] + side]
                        + F32(0.2) * rng.random((side, side), F32))
        top, left = corner[0] + moved[0, p] - reach, corner[1] + moved[1, p] - reach
        score = _scores(frame, templates[p], top, left, places)
        best = _first_highest(score)
        row, column, scores[p] = top + best // places, left + best % places, score[best]
        found[:, p] = row + side // 2, column + side // 2
        window = frame[(row + np.arange(side)).clip(0, rows - 1)][:, (column + np.arange(side)).clip(0, columns - 1)]
        new[p] = fma(templates[p], keep, (F32(1) - keep) * window)
    return Job((points, 1, 1), (BLOCK, 1, 1),
               {"frame": frame, "rows": rows, "columns": columns, "templates": templates, "side": side, "reach": reach,
                "point_rows": (y + moved[0]).astype(INT32), "point_columns": (x + moved[1]).astype(INT32),
                "scores": np.zeros(points, F32), "keep": float(keep)},
               {"templates": new, "point_rows": found[0], "point_columns": found[1], "scores": scores})


def _heartwall(size: str, seed: int) -> Job:
    return heartwall_job(by_size(size, 1, 6, 24), by_size(size, 3, 7, 9), by_size(size, 3, 8, 12), seed)


KERNELS = (
    ShippedKernel("heartwall", "points tracked by correlation with templates, partly f64",
                  "Lin et al. Table II, HW_1 (TB of 256)", _heartwall, "rodinia",
                  PaperRow("HW_1", "kernel", warps=8, tbs=4, registers=23, shared_bytes=11888)),
)
