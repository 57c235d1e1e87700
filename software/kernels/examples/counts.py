"""Job of the kernel of atomics."""

from __future__ import annotations

import functools

import numpy as np

from ..job import Job

__all__ = ["histogram_job"]

BINS = 64


def _tickets(chosen: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, int]:
    """Judge that every chosen sample has one ticket; the number of the ticket depends on the order."""
    order = arrays["order"]
    return {"order": int((np.sort(order[:len(chosen)]) != chosen).sum() + (order[len(chosen):] != -1).sum())}


def histogram_job(blocks: int, rounds: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `histogram` with `rounds` samples per thread, many of them equal; a TB has 64 threads or more."""
    rng = np.random.default_rng(seed)
    n = blocks * threads * rounds - 7
    samples = rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    alike = rng.random(n) < 0.3
    samples[alike] = samples[alike] & 0xFFFF_FF00 | 3
    bins, index = samples % BINS, np.arange(n)
    counts = np.zeros((blocks, BINS), np.int64)
    np.add.at(counts, (index // threads % blocks, bins), 1)
    chosen = np.flatnonzero(samples & 15 == 3).astype(np.int32)

    handed_out = np.zeros(n, np.uint32)
    handed_out[:len(chosen)] = 1
    return Job(
        (blocks, 1, 1), (threads, 1, 1),
        {"samples": samples, "bins": np.zeros(BINS, np.uint32), "ranks": np.zeros(BINS, np.uint32),
         "weights": np.zeros(BINS, np.float32), "counter": np.zeros(1, np.uint32), "tickets": np.zeros(n, np.uint32),
         "order": np.full(n, -1, np.int32), "largest": np.zeros(1, np.uint64), "total": np.zeros(1, np.float64),
         "n": n},
        {"bins": counts.sum(axis=0).astype(np.uint32),
         "ranks": (counts * (counts - 1) // 2).sum(axis=0).astype(np.uint32),
         "weights": np.bincount(bins, samples >> 24, BINS).astype(np.float32),
         "counter": np.array([len(chosen)], np.uint32), "tickets": handed_out,
         "largest": np.array([max(int(x) << 32 | i for i, x in enumerate(samples))], np.uint64),
         "total": np.array([(samples[chosen] >> 8).sum(dtype=np.float64)])},
        judge=functools.partial(_tickets, chosen))
