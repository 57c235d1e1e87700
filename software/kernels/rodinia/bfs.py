"""Breadth-first search, second half of a step: jobs of `bfs_advance`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size

__all__ = ["KERNELS", "bfs_advance_job"]


def bfs_advance_job(nodes: int, seed: int, threads: int = 512) -> Job:
    """Return a job of `bfs_advance` in which some of `nodes` nodes were reached."""
    rng = np.random.default_rng(seed)
    reached = rng.random(nodes) < 0.3
    visited = ~reached & (rng.random(nodes) < 0.4)
    nothing = np.zeros(nodes, np.uint8)
    return Job((-(-nodes // threads), 1, 1), (threads, 1, 1),
               {"frontier": nothing, "next": reached.astype(np.uint8), "visited": visited.astype(np.uint8),
                "more": np.zeros(1, np.uint8), "nodes": nodes},
               {"frontier": reached.astype(np.uint8), "next": nothing, "visited": (reached | visited).astype(np.uint8),
                "more": np.array([reached.any()], np.uint8)})


def _bfs_advance(size: str, seed: int) -> Job:
    return bfs_advance_job(by_size(size, 2, 6, 48) * 512 - 100, seed)


KERNELS = (
    ShippedKernel("bfs_advance", "nodes that were reached become the frontier",
                  "Lin et al. Table II, BFS_2 (TB of 512)", _bfs_advance, "rodinia",
                  PaperRow("BFS_2", "Kernel2", warps=16, tbs=3, registers=4, shared_bytes=36)),
)
