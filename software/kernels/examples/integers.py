"""Jobs of the integer kernels."""

from __future__ import annotations

import numpy as np

from ..job import Job

__all__ = ["vecadd_job", "reduction_job", "pathfinder_job", "bfs_job", "collatz_job", "rankfilter_job"]

INT32 = np.int32


def vecadd_job(blocks: int, seed: int) -> Job:
    """Return a job of `vecadd` on nearly as many elements as `blocks` TBs have threads."""
    rng = np.random.default_rng(seed)
    n = blocks * 256 - 37
    a, b = (rng.integers(-2**31, 2**31, n, dtype=np.int64).astype(INT32) for _ in range(2))
    return Job((blocks, 1, 1), (256, 1, 1), {"a": a, "b": b, "c": np.zeros(n, INT32), "n": n},
               {"c": a + b})


def reduction_job(blocks: int, rounds: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `reduction` with `rounds` elements per thread; threads per TB are a power of two, at most 256."""
    rng = np.random.default_rng(seed)
    n = blocks * threads * rounds - 5
    data = rng.integers(-2**31, 2**31, n, dtype=np.int64).astype(INT32)
    padded = np.zeros(blocks * threads * rounds, INT32)
    padded[:n] = data
    sums = padded.reshape(-1, blocks, threads).sum(axis=(0, 2), dtype=INT32)
    return Job((blocks, 1, 1), (threads, 1, 1), {"in": data, "out": np.zeros(blocks, INT32), "n": n}, {"out": sums})


def pathfinder_job(blocks: int, rows: int, seed: int) -> Job:
    """Return a job of `pathfinder` on `rows` rows; `blocks` TBs advance slightly more columns than there are."""
    rng = np.random.default_rng(seed)
    border = rows
    columns = blocks * (256 - 2 * rows) - 3
    wall = rng.integers(0, 10, (rows, columns), dtype=np.int64).astype(INT32)
    source = rng.integers(0, 10, columns, dtype=np.int64).astype(INT32)
    best = source
    for row in wall:
        left = np.concatenate([best[:1], best[:-1]])
        right = np.concatenate([best[1:], best[-1:]])
        best = np.minimum(np.minimum(left, best), right) + row
    return Job((blocks, 1, 1), (256, 1, 1),
               {"wall": wall, "source": source, "result": np.zeros(columns, INT32), "columns": columns, "rows": rows,
                "first_row": 0, "border": border},
               {"result": best})


def bfs_job(nodes: int, most_edges: int, seed: int, threads: int = 512) -> Job:
    """Return a job of `bfs` on a random graph with up to `most_edges` edges per node."""
    rng = np.random.default_rng(seed)
    blocks = -(-nodes // threads)
    degree = rng.integers(0, most_edges + 1, nodes)
    first = np.concatenate([[0], np.cumsum(degree)[:-1]]).astype(INT32)
    edges = rng.integers(0, nodes, int(degree.sum())).astype(INT32)
    frontier = rng.random(nodes) < 0.4
    visited = frontier | (rng.random(nodes) < 0.2)
    cost = np.where(visited, 3, -1).astype(INT32)
    reached = np.zeros(nodes, bool)
    source_of_edge = np.repeat(np.arange(nodes), degree)
    reached[edges[frontier[source_of_edge]]] = True
    reached &= ~visited
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"first_edge": first, "edge_count": degree.astype(INT32), "edges": edges,
                "frontier": frontier.astype(np.uint8), "next": np.zeros(nodes, np.uint8),
                "visited": visited.astype(np.uint8), "cost": cost, "nodes": nodes},
               {"frontier": np.zeros(nodes, np.uint8), "next": reached.astype(np.uint8),
                "cost": np.where(reached, 4, cost).astype(INT32)})


def _steps(value: int, most: int) -> int:
    count = 0
    while value > 1 and count < most:
        if value & 1:
            value, count = (3 * value + 1) & 0xFFFF_FFFF, count + 1
        else:
            zeros = (value & -value).bit_length() - 1
            value, count = value >> zeros, count + zeros
    return count


def collatz_job(n: int, largest: int, seed: int, threads: int = 128, most: int = 1000) -> Job:
    """Return a job of `collatz` on `n` random numbers from 1 to `largest`."""
    rng = np.random.default_rng(seed)
    start = rng.integers(1, largest + 1, n).astype(np.uint32)
    expected = np.array([_steps(int(value), most) for value in start], INT32)
    return Job((-(-n // threads), 1, 1), (threads, 1, 1),
               {"start": start, "steps": np.zeros(n, INT32), "n": n, "most": most}, {"steps": expected})


def rankfilter_job(n: int, length: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `rankfilter` on `n` windows of up to 16 random samples."""
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, 1 << 16, n + length - 1).astype(np.uint32)
    squares = np.arange(32, dtype=INT32) ** 2
    curve = np.concatenate([squares, -squares[::-1]])
    weights = np.array([1, -3, 5, 9, -17, 31, 60, 111], INT32)
    values = curve[samples & 63] + (samples >> 6).astype(INT32)
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(values, length), axis=1)
    return Job((-(-n // threads), 1, 1), (threads, 1, 1),
               {"samples": samples, "out": np.zeros(n, INT32), "n": n, "length": length},
               {"out": windows @ np.concatenate([weights, weights[::-1]])[:length]})
