"""Clustering of a stream of points: jobs of `compute_cost`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "compute_cost_job"]

F32, INT32 = np.float32, np.int32
POINT = np.dtype([("weight", F32), ("centre", INT32), ("cost", F32)])


def compute_cost_job(count: int, dimensions: int, centres: int, seed: int, threads: int = 512) -> Job:
    """Return a job of `compute_cost` on `count` points of `dimensions` dimensions; `centres` of them are centres."""
    rng = np.random.default_rng(seed)
    coordinates = rng.standard_normal((dimensions, count), F32)
    chosen = rng.choice(count, centres, replace=False)
    slot_of = np.full(count, -1, INT32)
    slot_of[chosen] = rng.permutation(centres)
    points = np.zeros(count, POINT)
    points["weight"], points["centre"] = rng.uniform(0.5, 2, count), rng.choice(chosen, count)
    points["cost"] = points["weight"] * 2 * dimensions * rng.uniform(0.2, 1.8, count)
    work, candidate = rng.standard_normal((count, centres + 1), F32), int(rng.integers(count))

    distance = np.zeros(count, F32)
    for row in coordinates:
        apart = row - row[candidate]
        distance = fma(apart, apart, distance)
    there, here, after = distance * points["weight"], points["cost"], work.copy()
    cheaper = there < here
    after[cheaper, centres] += (there - here)[cheaper]
    after[~cheaper, slot_of[points["centre"]][~cheaper]] += (here - there)[~cheaper]
    return Job((-(-count // threads), 1, 1), (threads, 1, 1),
               {"count": count, "dimensions": dimensions, "candidate": candidate,
                "points": points.view(np.uint32).reshape(count, 3), "centres": centres, "coordinates": coordinates,
                "work": work, "slot_of": slot_of, "changes": np.zeros(count, np.uint8)},
               {"work": after, "changes": cheaper.astype(np.uint8)})


def _compute_cost(size: str, seed: int) -> Job:
    return compute_cost_job(by_size(size, 2, 6, 24) * 512 - 65, by_size(size, 3, 16, 64), by_size(size, 5, 12, 20),
                            seed)


KERNELS = (
    ShippedKernel("compute_cost", "distances of points, then either of two sums",
                  "Lin et al. Table II, SC_1 (TB of 512)", _compute_cost, "rodinia",
                  PaperRow("SC_1", "kernel_compute_cost", warps=16, tbs=3, registers=8, shared_bytes=56)),
)
