"""The kernels that ship, with input generators and numpy references."""

from __future__ import annotations

import numpy as np

from .counts import histogram_job
from .f32 import hotspot_job, layerforward_job, matmul_job, saxpy_job
from .f64 import nbody_job
from .job import Job, ShippedKernel
from .warp import warpscan_job

__all__ = ["KERNELS", "kernel", "bfs_job", "collatz_job", "rankfilter_job", "reduction_job"]

INT32 = np.int32


def _blocks(size: str, tiny: int, small: int, medium: int) -> int:
    return {"tiny": tiny, "small": small, "medium": medium}[size]


def _vecadd(size: str, seed: int) -> Job:
    rng = np.random.default_rng(seed)
    blocks = _blocks(size, 2, 24, 96)
    n = blocks * 256 - 37
    a, b = (rng.integers(-2**31, 2**31, n, dtype=np.int64).astype(INT32) for _ in range(2))
    return Job((blocks, 1, 1), (256, 1, 1), {"a": a, "b": b, "c": np.zeros(n, INT32), "n": n},
               {"c": a + b})


def reduction_job(blocks: int, rounds: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `reduction`: `rounds` elements a thread, a power of two of threads a TB, at most 256."""
    rng = np.random.default_rng(seed)
    n = blocks * threads * rounds - 5
    data = rng.integers(-2**31, 2**31, n, dtype=np.int64).astype(INT32)
    padded = np.zeros(blocks * threads * rounds, INT32)
    padded[:n] = data
    sums = padded.reshape(-1, blocks, threads).sum(axis=(0, 2), dtype=INT32)
    return Job((blocks, 1, 1), (threads, 1, 1), {"in": data, "out": np.zeros(blocks, INT32), "n": n}, {"out": sums})


def _reduction(size: str, seed: int) -> Job:
    return reduction_job(_blocks(size, 2, 12, 24), _blocks(size, 2, 8, 16), seed)


def _pathfinder(size: str, seed: int) -> Job:
    rng = np.random.default_rng(seed)
    blocks, rows = _blocks(size, 2, 12, 24), _blocks(size, 4, 20, 40)
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
    """Return a job of `bfs` on a random graph with up to `most_edges` edges a node."""
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


def _bfs(size: str, seed: int) -> Job:
    return bfs_job(_blocks(size, 2, 6, 12) * 512 - 100, 11, seed)


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


def _collatz(size: str, seed: int) -> Job:
    return collatz_job(_blocks(size, 2, 12, 48) * 128 - 9, 10_000, seed)


def rankfilter_job(n: int, length: int, seed: int, threads: int = 128) -> Job:
    """Return a job of `rankfilter`: `n` windows of up to 16 random samples."""
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


def _rankfilter(size: str, seed: int) -> Job:
    return rankfilter_job(_blocks(size, 2, 12, 48) * 128 - 11, _blocks(size, 9, 16, 16), seed)


def _nbody(size: str, seed: int) -> Job:
    return nbody_job(_blocks(size, 2, 12, 48) * 64 - 5, _blocks(size, 5, 12, 24), seed)


def _saxpy(size: str, seed: int) -> Job:
    return saxpy_job(_blocks(size, 2, 12, 24), _blocks(size, 3, 12, 24), seed)


def _matmul(size: str, seed: int) -> Job:
    return matmul_job(_blocks(size, 20, 60, 125), _blocks(size, 24, 61, 140), _blocks(size, 36, 75, 131), seed)


def _hotspot(size: str, seed: int) -> Job:
    return hotspot_job(_blocks(size, 20, 70, 130), _blocks(size, 29, 61, 125), 2, seed)


def _layerforward(size: str, seed: int) -> Job:
    return layerforward_job(_blocks(size, 3, 36, 144), seed)


def _histogram(size: str, seed: int) -> Job:
    return histogram_job(_blocks(size, 2, 12, 48), _blocks(size, 2, 6, 12), seed)


def _warpscan(size: str, seed: int) -> Job:
    return warpscan_job(_blocks(size, 600, 12 * 512, 96 * 512) - 3, _blocks(size, 2, 12, 48), seed)


KERNELS: dict[str, ShippedKernel] = {
    k.name: k
    for k in (
        ShippedKernel("vecadd", "integer vector addition", "CTXBack Table I (vector addition)", _vecadd),
        ShippedKernel("reduction", "block sums: shared memory, barriers in a loop", "Lin et al. Table II, SR_1 (tree)",
                      _reduction),
        ShippedKernel("pathfinder", "dynamic programming over rows, halo in shared memory",
                      "Lin et al. Table II, PF_1 (TB of 256)", _pathfinder),
        ShippedKernel("bfs", "one frontier step of breadth-first search, divergent",
                      "Lin et al. Table II, BFS_1 (TB of 512)", _bfs),
        ShippedKernel("collatz", "nested loops of data-dependent length, divergent", "Lin et al. Fig. 5 (divergence)",
                      _collatz),
        ShippedKernel("rankfilter", "windows sorted in local memory, tables in constant memory",
                      "order-statistic filter (Bovik et al. 1983)", _rankfilter),
        ShippedKernel("histogram", "atomics of all kinds, shared and global; tickets handed out once",
                      "histogram64 (Podlozhnyuk 2007), with atomics", _histogram),
        ShippedKernel("warpscan", "rows scanned and compacted by shuffles, votes and matches, divergent",
                      "parallel prefix sums (Harris et al. 2007), by lanes", _warpscan),
        ShippedKernel("saxpy", "f32 y = a x + y, several elements a thread", "BLAS saxpy (TB of 256)", _saxpy),
        ShippedKernel("matmul", "f32 matrix product, tiles in shared memory",
                      "CTXBack Table I (matrix product; TB of 16x16)", _matmul),
        ShippedKernel("hotspot", "f32 2-D stencil, halo in shared memory", "Lin et al. Table II, HS_1 (TB of 16x16)",
                      _hotspot),
        ShippedKernel("nbody", "f64 accelerations by gravity: a root and a division a turn",
                      "GPU Gems 3, chapter 31 (n-body; TB of 64)", _nbody),
        ShippedKernel("layerforward", "f32 products, tree of sums in shared memory",
                      "Lin et al. Table II, BP_1 (TB of 16x16)", _layerforward),
    )
}
"""Every shipped kernel by name."""


def kernel(name: str) -> ShippedKernel:
    """Return a shipped kernel.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    try:
        return KERNELS[name]
    except KeyError:
        raise ValueError(f"no kernel {name!r}; there are {', '.join(KERNELS)}") from None
