"""Kernels that each show one trait of the core, including four of Lin et al. Table II."""

from __future__ import annotations

from ..job import Job, PaperRow, ShippedKernel, by_size
from .counts import histogram_job
from .f32 import hotspot_job, layerforward_job, matmul_job, saxpy_job
from .f64 import nbody_job
from .integers import bfs_job, collatz_job, pathfinder_job, rankfilter_job, reduction_job, vecadd_job
from .warp import warpscan_job

__all__ = ["KERNELS"]


def _vecadd(size: str, seed: int) -> Job:
    return vecadd_job(by_size(size, 2, 24, 96), seed)


def _reduction(size: str, seed: int) -> Job:
    return reduction_job(by_size(size, 2, 12, 24), by_size(size, 2, 8, 16), seed)


def _pathfinder(size: str, seed: int) -> Job:
    return pathfinder_job(by_size(size, 2, 12, 24), by_size(size, 4, 20, 40), seed)


def _bfs(size: str, seed: int) -> Job:
    return bfs_job(by_size(size, 2, 6, 12) * 512 - 100, by_size(size, 3, 11, 11), seed)


def _collatz(size: str, seed: int) -> Job:
    return collatz_job(by_size(size, 2, 12, 48) * 128 - 9, by_size(size, 20, 10_000, 10_000), seed)


def _rankfilter(size: str, seed: int) -> Job:
    return rankfilter_job(by_size(size, 2, 12, 48) * 128 - 11, by_size(size, 9, 16, 16), seed)


def _nbody(size: str, seed: int) -> Job:
    return nbody_job(by_size(size, 2, 12, 48) * 64 - 5, by_size(size, 5, 12, 24), seed)


def _saxpy(size: str, seed: int) -> Job:
    return saxpy_job(by_size(size, 2, 12, 24), by_size(size, 3, 12, 24), seed)


def _matmul(size: str, seed: int) -> Job:
    return matmul_job(by_size(size, 20, 60, 125), by_size(size, 24, 61, 140), by_size(size, 14, 75, 131), seed)


def _hotspot(size: str, seed: int) -> Job:
    return hotspot_job(by_size(size, 20, 70, 130), by_size(size, 29, 61, 125), 2, seed)


def _layerforward(size: str, seed: int) -> Job:
    return layerforward_job(by_size(size, 3, 36, 144), seed)


def _histogram(size: str, seed: int) -> Job:
    return histogram_job(by_size(size, 2, 12, 48), by_size(size, 1, 6, 12), seed)


def _warpscan(size: str, seed: int) -> Job:
    return warpscan_job(by_size(size, 600, 12 * 512, 96 * 512) - 3, by_size(size, 2, 12, 48), seed)


KERNELS: tuple[ShippedKernel, ...] = (
    ShippedKernel("vecadd", "integer vector addition", "CTXBack Table I (vector addition)", _vecadd, "examples"),
    ShippedKernel("reduction", "block sums: shared memory, barriers in a loop", "parallel reduction (Harris 2007)",
                  _reduction, "examples"),
    ShippedKernel("pathfinder", "dynamic programming over rows, halo in shared memory",
                  "Lin et al. Table II, PF_1 (TB of 256)", _pathfinder, "examples",
                  PaperRow("PF_1", "dynproc_kernel", warps=8, tbs=6, registers=12, shared_bytes=2096)),
    ShippedKernel("bfs", "one frontier step of breadth-first search, divergent",
                  "Lin et al. Table II, BFS_1 (TB of 512)", _bfs, "examples",
                  PaperRow("BFS_1", "Kernel1", warps=16, tbs=3, registers=7, shared_bytes=44)),
    ShippedKernel("collatz", "nested loops of data-dependent length, divergent", "Lin et al. Fig. 5 (divergence)",
                  _collatz, "examples"),
    ShippedKernel("rankfilter", "windows sorted in local memory, tables in constant memory",
                  "order-statistic filter (Bovik et al. 1983)", _rankfilter, "examples"),
    ShippedKernel("histogram", "atomics of all kinds, shared and global; tickets handed out once",
                  "histogram64 (Podlozhnyuk 2007), with atomics", _histogram, "examples"),
    ShippedKernel("warpscan", "rows scanned and compacted by shuffles, votes and matches, divergent",
                  "parallel prefix sums (Harris et al. 2007), by lanes", _warpscan, "examples"),
    ShippedKernel("saxpy", "f32 y = a x + y, several elements a thread", "BLAS saxpy (TB of 256)", _saxpy, "examples"),
    ShippedKernel("matmul", "f32 matrix product, tiles in shared memory",
                  "CTXBack Table I (matrix product; TB of 16x16)", _matmul, "examples"),
    ShippedKernel("hotspot", "f32 2-D stencil, halo in shared memory", "Lin et al. Table II, HS_1 (TB of 16x16)",
                  _hotspot, "examples",
                  PaperRow("HS_1", "calculate_temp", warps=8, tbs=4, registers=31, shared_bytes=3144)),
    ShippedKernel("nbody", "f64 accelerations by gravity: a root and a division a turn",
                  "GPU Gems 3, chapter 31 (n-body; TB of 64)", _nbody, "examples"),
    ShippedKernel("layerforward", "f32 products, tree of sums in shared memory",
                  "Lin et al. Table II, BP_1 (TB of 16x16)", _layerforward, "examples",
                  PaperRow("BP_1", "layerforward", warps=8, tbs=6, registers=13, shared_bytes=1128)),
)
"""The examples."""
