"""Shipped kernels: CUDA sources, their PTX, launches and references."""

from .catalogue import KERNELS, kernel
from .examples.counts import histogram_job
from .examples.f32 import hotspot_job, layerforward_job, matmul_job, saxpy_job
from .examples.f64 import nbody_job
from .examples.integers import bfs_job, collatz_job, rankfilter_job, reduction_job
from .examples.warp import warpscan_job
from .hostile import hostile
from .job import SIZES, Job, PaperRow, ShippedKernel

__all__ = ["KERNELS", "kernel", "hostile", "bfs_job", "collatz_job", "reduction_job", "saxpy_job", "matmul_job",
           "hotspot_job", "layerforward_job", "warpscan_job", "histogram_job", "rankfilter_job", "nbody_job",
           "SIZES", "Job", "PaperRow", "ShippedKernel"]
