"""Jobs of the kernels that sort, cluster, and process a queue."""

from __future__ import annotations

import numpy as np

from ..job import Job
from ..numerics import fma
from .unordered import SameElements

__all__ = ["hybridsort_job", "mergesort_job", "kmeans_job", "persistent_job"]

F32, INT32 = np.float32, np.int32
BUCKETS = TILE_KEYS = 1024
"""Number of buckets, and keys per tile, of `hybridsort`."""
FEATURES = 8
"""Features per point of `kmeans`."""


def hybridsort_job(n: int, blocks: int, seed: int) -> Job:
    """Return a job of `hybridsort` on `n` keys, some of them equal to each other or to pivots; TBs have 128 threads."""
    rng = np.random.default_rng(seed)
    keys = rng.standard_normal(n, F32)
    pivots = np.sort(rng.standard_normal(BUCKETS, F32))
    alike = rng.random(n) < 0.1
    keys[alike] = rng.choice(pivots[::100], alike.sum())
    tile = np.arange(n) // TILE_KEYS
    bucket = np.searchsorted(pivots[1:], keys, side="right")
    order = np.lexsort((keys, tile))  # buckets ascend with the keys
    tiles = -(-n // TILE_KEYS)
    counts = np.zeros((tiles, BUCKETS), INT32)
    np.add.at(counts, (tile, bucket), 1)
    starts = np.cumsum(counts.reshape(-1), dtype=INT32) - counts.reshape(-1)
    judge = SameElements("sorted", keys[order], (tile * BUCKETS + bucket)[order])
    return Job((blocks, 1, 1), (128, 1, 1),
               {"keys": keys, "pivots": pivots, "sorted": np.zeros(n, F32),
                "starts": np.full(tiles * BUCKETS, -1, INT32), "n": n}, {"starts": starts}, judge=judge)


def mergesort_job(lists: int, fours: int, blocks: int, seed: int, threads: int = 64) -> Job:
    """Return a job of `mergesort` on lists of ``4 * fours`` numbers, each sorted by one thread."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-1000, 1000, (lists, 4 * fours), dtype=INT32)

    def after(passes: int) -> np.ndarray:
        done, run = data.copy(), 4 << passes
        for first in range(0, 4 * fours, run):
            done[:, first:first + run].sort(axis=1)
        return done

    passes = (fours - 1).bit_length()
    last_odd = passes - (passes + 1) % 2
    scratch = np.zeros_like(data)
    return Job((blocks, 1, 1), (threads, 1, 1), {"data": data, "scratch": scratch, "lists": lists, "fours": fours},
               {"data": after(passes - passes % 2), "scratch": after(last_odd) if passes else scratch})


def kmeans_job(points: int, clusters: int, blocks: int, seed: int, threads: int = 64) -> Job:
    """Return a job of `kmeans` on points around some of the centres; the last centre repeats the first."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, FEATURES), F32)
    centres[-1] = centres[0]
    spread = rng.standard_normal((FEATURES, points), F32)
    features = centres[rng.integers(0, clusters, points)].T + F32(0.7) * spread
    least, nearest = np.full(points, 3.4e38, F32), np.full(points, -1, INT32)
    for c, centre in enumerate(centres):
        distance = np.zeros(points, F32)
        for feature, value in zip(features, centre, strict=True):
            away = feature - value
            distance = fma(away, away, distance)
        nearest = np.where(distance < least, INT32(c), nearest)
        least = np.minimum(distance, least)
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"features": np.ascontiguousarray(features), "centres": centres, "nearest": np.zeros(points, INT32),
                "points": points, "clusters": clusters}, {"nearest": nearest})


def _work(values: np.ndarray) -> np.ndarray:
    """Return the results of `persistent`: each input gives its number of turns of xorshift32 (Marsaglia 2003)."""
    state = values | np.uint32(1)
    for turn in range(16):
        following = state ^ state << np.uint32(13)
        following ^= following >> np.uint32(17)
        following ^= following << np.uint32(5)
        state = np.where(values & 15 >= turn, following, state)
    return state


def persistent_job(n: int, blocks: int, seed: int, threads: int = 64) -> Job:
    """Return a job of `persistent` on a queue of `n` inputs, whose threads and order of results are open.

    `in_head` ends at `n` plus the number of threads, since each thread finds the queue empty once.
    """
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    judge = SameElements("out", np.sort(_work(values)), np.zeros(n, INT32))
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"in": values, "out": np.zeros(n, np.uint32), "in_head": np.zeros(1, np.uint32),
                "out_head": np.zeros(1, np.uint32), "n": n},
               {"in_head": np.array([n + blocks * threads], np.uint32), "out_head": np.array([n], np.uint32)},
               judge=judge)
