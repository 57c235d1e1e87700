"""Kernels after the Rodinia programs of Lin et al. Table II, written from the algorithms.

`layerforward` (BP_1), `bfs` (BFS_1), `hotspot` (HS_1) and `pathfinder` (PF_1) are among the examples.
"""

from ..job import ShippedKernel
from . import (
    backprop,
    bfs,
    btree,
    cfd,
    dwt2d,
    heartwall,
    hybridsort,
    kmeans,
    leukocyte,
    lud,
    srad,
    streamcluster,
)

__all__ = ["KERNELS"]

KERNELS: tuple[ShippedKernel, ...] = (
    *backprop.KERNELS, *bfs.KERNELS, *btree.KERNELS, *cfd.KERNELS, *dwt2d.KERNELS, *heartwall.KERNELS,
    *hybridsort.KERNELS, *kmeans.KERNELS, *leukocyte.KERNELS, *lud.KERNELS, *srad.KERNELS, *streamcluster.KERNELS)
"""The kernels of this folder, in the table's order."""
