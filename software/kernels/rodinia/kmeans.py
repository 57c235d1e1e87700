"""Features of points, transposed: jobs of `invert_mapping`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size

__all__ = ["KERNELS", "invert_mapping_job"]


def invert_mapping_job(count: int, length: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `invert_mapping` on `count` points of `length` features."""
    points = np.random.default_rng(seed).standard_normal((count, length), np.float32)
    return Job((-(-count // threads), 1, 1), (threads, 1, 1),
               {"points": points, "features": np.zeros((length, count), np.float32), "count": count, "length": length},
               {"features": points.T.copy()})


def _invert_mapping(size: str, seed: int) -> Job:
    return invert_mapping_job(by_size(size, 2, 12, 48) * 256 - 31, by_size(size, 3, 12, 34), seed)


KERNELS = (
    ShippedKernel("invert_mapping", "transposition, a point a thread",
                  "Lin et al. Table II, KM_1 (TB of 256)", _invert_mapping, "rodinia",
                  PaperRow("KM_1", "invert_mapping", warps=8, tbs=6, registers=9, shared_bytes=32)),
)
