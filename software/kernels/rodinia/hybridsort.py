"""Histogram of floats, the first step of a bucket sort: jobs of `histogram1024`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size

__all__ = ["KERNELS", "histogram1024_job"]

F32 = np.float32
BLOCK = 96
BINS = 1024


def histogram1024_job(blocks: int, n: int, seed: int) -> Job:
    """Return a job of `histogram1024` on `n` floats, many of them equal. Its warps must have 32 lanes."""
    rng = np.random.default_rng(seed)
    data = rng.uniform(-3, 5, n).astype(F32)
    alike = rng.random(n) < 0.3
    data[alike] = data[0]
    least, most = data.min(), data.max()
    bins = ((data - least) / (most - least) * F32(BINS)).astype(np.int64).clip(max=BINS - 1)
    before = rng.integers(0, 100, BINS).astype(np.uint32)
    return Job((blocks, 1, 1), (BLOCK, 1, 1),
               {"result": before, "data": data, "least": float(least), "most": float(most), "n": n},
               {"result": before + np.bincount(bins, minlength=BINS).astype(np.uint32)})


def _histogram1024(size: str, seed: int) -> Job:
    return histogram1024_job(by_size(size, 1, 3, 12), by_size(size, 200, 4000, 24_000) - 7, seed)


KERNELS = (
    ShippedKernel("histogram1024", "a table a warp in shared memory, marks instead of atomics",
                  "Lin et al. Table II, HG_1 (TB of 96)", _histogram1024, "rodinia",
                  PaperRow("HG_1", "histogram1024", warps=3, tbs=3, registers=10, shared_bytes=12324)),
)
