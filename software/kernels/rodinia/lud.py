"""LU decomposition by tiles of 16 x 16: jobs of `lud_diagonal`, `lud_perimeter` and `lud_internal`.

The references do the kernels' operations in their order. The PTX subtracts products one by one; only `lud_internal`
adds them up by `fma` first.
"""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "TILE", "decompose_diagonal", "decompose_perimeter", "decompose_internal", "lud_diagonal_job",
           "lud_perimeter_job", "lud_internal_job"]

F32 = np.float32
TILE = 16


def decompose_diagonal(matrix: np.ndarray, offset: int) -> None:
    """Decompose the diagonal tile at `offset` in place into U and, below the diagonal, L without its ones."""
    m = matrix[offset:offset + TILE, offset:offset + TILE]
    for i in range(TILE - 1):
        for k in range(i):
            m[i + 1:, i] -= m[i + 1:, k] * m[k, i]
        m[i + 1:, i] /= m[i, i]
        for k in range(i + 1):
            m[i + 1, i + 1:] -= m[i + 1, k] * m[k, i + 1:]


def decompose_perimeter(matrix: np.ndarray, offset: int) -> None:
    """Solve for the rows of U beside and the columns of L below a decomposed diagonal tile, in place."""
    tile = slice(offset, offset + TILE)
    diagonal, beside, below = matrix[tile, tile], matrix[tile, offset + TILE:], matrix[offset + TILE:, tile]
    for i in range(TILE):
        for k in range(i):
            beside[i] -= diagonal[i, k] * beside[k]
            below[:, i] -= below[:, k] * diagonal[k, i]
        below[:, i] /= diagonal[i, i]


def decompose_internal(matrix: np.ndarray, offset: int) -> None:
    """Subtract the product of the columns of L and the rows of U from the tiles right of and below both, in place."""
    end = offset + TILE
    total = np.zeros_like(matrix[end:, end:])
    for k in range(offset, end):
        total = fma(matrix[end:, k, None], matrix[k, end:], total)
    matrix[end:, end:] -= total


def _job(reference, size: int, offset: int, seed: int, dimensions: int, block: tuple[int, int, int]) -> Job:
    """Return a job on a diagonally dominant matrix, with a grid of `dimensions` over the tiles after `offset`.

    Raises
    ------
    ValueError
        If size or offset is not a multiple of 16, or no tile is left.
    """
    left = (size - offset) // TILE - 1
    if size % TILE or offset % TILE or offset < 0 or left < min(dimensions, 1):
        raise ValueError(f"no tile of {TILE} x {TILE} to work on in {size} x {size} at {offset}")
    matrix = np.random.default_rng(seed).uniform(-1, 1, (size, size)).astype(F32)
    matrix[np.diag_indices(size)] += F32(size)
    after = matrix.copy()
    reference(after, offset)
    grid = left if dimensions >= 1 else 1, left if dimensions == 2 else 1, 1
    return Job(grid, block, {"matrix": matrix, "size": size, "offset": offset}, {"matrix": after})


def lud_diagonal_job(size: int, offset: int, seed: int) -> Job:
    """Return a job of `lud_diagonal` on the tile at `offset` of a square matrix."""
    return _job(decompose_diagonal, size, offset, seed, 0, (TILE, 1, 1))


def lud_perimeter_job(size: int, offset: int, seed: int) -> Job:
    """Return a job of `lud_perimeter` on the tiles beside and below the decomposed tile at `offset`."""
    return _job(decompose_perimeter, size, offset, seed, 1, (2 * TILE, 1, 1))


def lud_internal_job(size: int, offset: int, seed: int) -> Job:
    """Return a job of `lud_internal` on the tiles right of and below `offset`."""
    return _job(decompose_internal, size, offset, seed, 2, (TILE, TILE, 1))


def _lud_diagonal(size: str, seed: int) -> Job:
    return lud_diagonal_job(by_size(size, 16, 64, 256), by_size(size, 0, 16, 128), seed)


def _lud_perimeter(size: str, seed: int) -> Job:
    return lud_perimeter_job(by_size(size, 32, 176, 400), by_size(size, 0, 16, 16), seed)


def _lud_internal(size: str, seed: int) -> Job:
    return lud_internal_job(by_size(size, 32, 80, 176), by_size(size, 0, 16, 16), seed)


KERNELS = (
    ShippedKernel("lud_diagonal", "LU decomposition of a tile in shared memory, triangular loops",
                  "Lin et al. Table II, LUD_1 (TB of 16)", _lud_diagonal, "rodinia",
                  PaperRow("LUD_1", "lud_diagonal", warps=1, tbs=8, registers=8, shared_bytes=2076)),
    ShippedKernel("lud_perimeter", "triangular systems, half a warp rows and half columns",
                  "Lin et al. Table II, LUD_2 (TB of 32)", _lud_perimeter, "rodinia",
                  PaperRow("LUD_2", "lud_perimeter", warps=1, tbs=8, registers=16, shared_bytes=3104)),
    ShippedKernel("lud_internal", "products of tiles, subtracted",
                  "Lin et al. Table II, LUD_3 (TB of 16x16)", _lud_internal, "rodinia",
                  PaperRow("LUD_3", "lud_internal", warps=8, tbs=6, registers=9, shared_bytes=1056)),
)
