"""Job of the kernel whose lanes exchange registers."""

from __future__ import annotations

import numpy as np

from ..job import Job

__all__ = ["warpscan_job"]

ROW = 8
"""Elements per row, which is the number of lanes that work together."""


def warpscan_job(n: int, blocks: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `warpscan` on `n` elements in rows of 8; each of `blocks` TBs has a multiple of 8 threads."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-20, 1000, n).astype(np.int32)
    rows = -(-n // ROW)
    alike = rng.random(rows) < 0.2
    padded = np.zeros((rows, ROW), np.int32)
    padded.reshape(-1)[:n] = data
    padded[:n // ROW][alike[:n // ROW]] = padded[:n // ROW][alike[:n // ROW], :1]
    data = padded.reshape(-1)[:n].copy()

    odd = padded & 1 == 1
    scans = padded.cumsum(axis=1, dtype=np.int32)
    kept = np.zeros((rows, ROW), np.int32)
    same = np.zeros((rows, ROW), np.int32)
    for side, bits, sign in ((odd, 12, 1), (~odd, 6, -1)):
        key = padded & bits
        count = ((key[:, :, None] == key[:, None, :]) & side[:, None, :]).sum(2)
        same += np.where(side, sign * count, 0).astype(np.int32)
    for row in range(rows):
        found = scans[row][odd[row]]
        kept[row, :len(found)] = found - found[:1]
    facts = (padded.max(axis=1) * 8 + (padded == padded[:, :1]).all(axis=1) * 4 + (padded > 0).all(axis=1) * 2
             + (padded > 900).any(axis=1)).astype(np.int32)
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"in": data, "scans": np.zeros(n, np.int32), "kept": np.zeros(rows * ROW, np.int32),
                "facts": np.zeros(rows, np.int32), "n": n},
               {"scans": (scans + (same << 20)).reshape(-1)[:n], "kept": kept.reshape(-1), "facts": facts})
