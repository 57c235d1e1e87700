"""Speckle-reducing anisotropic diffusion of images: jobs of `reduce` and `srad`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma, fma_f64

__all__ = ["KERNELS", "reduce_job", "srad_job"]

F32, INT32 = np.float32, np.int32
BLOCK = 512


def reduce_job(count: int, stride: int, seed: int) -> Job:
    """Return a job of `reduce` on `count` elements with distance `stride`."""
    rng = np.random.default_rng(seed)
    blocks = -(-count // BLOCK)
    arrays = {name: rng.random(count * stride, F32) for name in ("sums", "squares")}
    expected = {}
    for name, before in arrays.items():
        tree = np.zeros(blocks * BLOCK, F32)
        tree[:count] = before[::stride]
        tree = tree.reshape(blocks, BLOCK)
        while tree.shape[1] > 1:
            tree = tree[:, ::2] + tree[:, 1::2]
        expected[name] = before.copy()
        expected[name][::BLOCK * stride] = tree[:, 0]
    return Job((blocks, 1, 1), (BLOCK, 1, 1), {"count": count, "stride": stride, **arrays}, expected)


def srad_job(rows: int, columns: int, seed: int, threads: int = BLOCK) -> Job:
    """Return a job of `srad` on a random image, stored by columns; pixels beyond an edge are those of the edge."""
    rng = np.random.default_rng(seed)
    image = np.exp(rng.normal(0, 0.3, (columns, rows))).astype(F32)
    speckle = F32(0.05)
    around = np.pad(image, 1, mode="edge")
    n, s, w, e = (x - image for x in (around[1:-1, :-2], around[1:-1, 2:], around[:-2, 1:-1], around[2:, 1:-1]))
    gradient = fma(e, e, fma(w, w, fma(n, n, s * s))) / (image * image)
    laplacian = (n + s + w + e) / image
    numerator = fma_f64(gradient.astype(float), 0.5, -0.0625 * (laplacian * laplacian).astype(float)).astype(F32)
    denominator = (1 + 0.25 * laplacian.astype(float)).astype(F32)
    variation = numerator / (denominator * denominator)
    relative = (variation - speckle) / (speckle * (speckle + F32(1)))
    coefficient = (1 / (1 + relative.astype(float))).astype(F32).clip(0, 1)
    outputs = {"north": n, "south": s, "west": w, "east": e, "coefficient": coefficient}
    north, south, west, east, empty = (np.zeros((columns, rows), F32) for _ in outputs)
    y, x = np.arange(rows, dtype=INT32), np.arange(columns, dtype=INT32)
    return Job((-(-rows * columns // threads), 1, 1), (threads, 1, 1),
               {"rows": rows, "columns": columns, "north_of": np.maximum(y - 1, 0),
                "south_of": np.minimum(y + 1, rows - 1), "west_of": np.maximum(x - 1, 0),
                "east_of": np.minimum(x + 1, columns - 1), "north": north, "south": south, "west": west, "east": east,
                "speckle": float(speckle), "coefficient": empty, "image": image}, outputs)


def _reduce(size: str, seed: int) -> Job:
    return reduce_job(by_size(size, 2, 6, 48) * BLOCK - 77, by_size(size, 1, 3, 3), seed)


def _srad(size: str, seed: int) -> Job:
    return srad_job(by_size(size, 19, 41, 123), by_size(size, 23, 71, 150), seed)


KERNELS = (
    ShippedKernel("reduce", "two sums by a tree in shared memory, elements a stride apart",
                  "Lin et al. Table II, SR_1 (TB of 512)", _reduce, "rodinia",
                  PaperRow("SR_1", "reduce", warps=16, tbs=3, registers=14, shared_bytes=4132)),
    ShippedKernel("srad", "diffusion coefficients of an image, partly f64",
                  "Lin et al. Table II, SR_2 (TB of 512)", _srad, "rodinia",
                  PaperRow("SR_2", "srad", warps=16, tbs=3, registers=16, shared_bytes=128)),
)
