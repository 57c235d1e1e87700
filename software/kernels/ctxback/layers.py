"""Jobs of the kernels of neural networks. Their references do the kernels' operations in the kernels' order."""

from __future__ import annotations

import numpy as np

from ..job import Job
from ..numerics import fma

__all__ = ["avgpool_job", "directconv_job", "lrn_job", "relu_job"]

F32 = np.float32
GROUP = 4
"""Output channels per thread of `directconv`."""


def avgpool_job(planes: int, rows: int, columns: int, blocks: int, seed: int,
                block: tuple[int, int, int] = (32, 4, 1)) -> Job:
    """Return a job of `avgpool` on planes of ``rows x columns``, with `blocks` TBs."""
    rng = np.random.default_rng(seed)
    planes_in = rng.standard_normal((planes, rows, columns), F32)
    out_rows, out_columns = (rows + 1) // 2, (columns + 1) // 2

    def windows(values: np.ndarray) -> np.ndarray:
        border = np.pad(values, [(0, 0)] * (values.ndim - 2) + [(1, 2), (1, 2)])
        by_row = [border[..., j:j + 2 * out_columns:2] for j in range(3)]
        row_sums = by_row[0] + by_row[1] + by_row[2]
        parts = [row_sums[..., i:i + 2 * out_rows:2, :] for i in range(3)]
        return parts[0] + parts[1] + parts[2]

    means = windows(planes_in) / windows(np.ones((rows, columns), F32))
    return Job((blocks, 1, 1), block,
               {"in": planes_in, "out": np.zeros((planes, out_rows, out_columns), F32), "planes": planes,
                "rows": rows, "columns": columns, "out_rows": out_rows, "out_columns": out_columns}, {"out": means})


def directconv_job(channels_in: int, channels_out: int, rows: int, columns: int, groups: int, seed: int,
                   block: tuple[int, int, int] = (32, 4, 1)) -> Job:
    """Return a job of `directconv`, in which `groups` TBs share the output channels of a tile of pixels.

    Raises
    ------
    ValueError
        If the output channels are not a multiple of four, or the plane is smaller than the filter.
    """
    if channels_out % GROUP:
        raise ValueError(f"channels_out must be a multiple of {GROUP}, not {channels_out}")
    if min(rows, columns) < 3:
        raise ValueError(f"a plane must be at least 3 x 3, not {rows} x {columns}")
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((channels_in, rows, columns), F32)
    weights = rng.standard_normal((channels_out, channels_in, 3, 3), F32)
    bias = rng.standard_normal(channels_out, F32)
    high, wide = rows - 2, columns - 2
    out = np.broadcast_to(bias[:, None, None], (channels_out, high, wide))
    for c in range(channels_in):
        for i, j in np.ndindex(3, 3):
            out = fma(image[c, i:i + high, j:j + wide], weights[:, c, i, j, None, None], out)
    return Job((-(-wide // block[0]), -(-high // block[1]), groups), block,
               {"in": image, "weights": weights, "bias": bias, "out": np.zeros((channels_out, high, wide), F32),
                "channels_in": channels_in, "channels_out": channels_out, "rows": rows, "columns": columns},
               {"out": out})


def lrn_job(channels: int, pixels: int, blocks: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `lrn` on `channels` planes of `pixels`, with constants for which the sums of squares matter."""
    rng = np.random.default_rng(seed)
    samples = (4 * rng.standard_normal((channels, pixels))).astype(F32)
    share, k = F32(0.5 / 5), F32(2)
    around = np.pad(samples, [(2, 2), (0, 0)])
    total = fma(around[2], around[2], around[3] * around[3])
    out = np.zeros((channels, pixels), F32)
    for c in range(channels):
        total = fma(around[c + 4], around[c + 4], total)
        scale = np.sqrt(fma(total, share, k))
        out[c] = around[c + 2] / (scale * np.sqrt(scale))
        total = total - around[c] * around[c]
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"in": samples, "out": np.zeros((channels, pixels), F32), "channels": channels, "pixels": pixels,
                "share": float(share), "k": float(k)}, {"out": out})


def relu_job(n: int, blocks: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `relu`. Its inputs include zeros of both signs, infinities, and NaNs, which become zero."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal(n, F32)
    special = rng.random(n) < 0.1
    samples[special] = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1e-42], F32), special.sum())
    out = np.where(samples > 0, samples, F32(0))
    return Job((blocks, 1, 1), (threads, 1, 1), {"in": samples, "out": np.full(n, -1, F32), "n": n}, {"out": out})
