"""Shipped kernels: CUDA sources, their PTX, launches and references."""

from .catalogue import KERNELS, bfs_job, collatz_job, kernel, rankfilter_job, reduction_job
from .counts import histogram_job
from .f32 import hotspot_job, layerforward_job, matmul_job, saxpy_job
from .f64 import nbody_job
from .hostile import hostile
from .job import SIZES, Job, ShippedKernel
from .warp import warpscan_job

__all__ = ["KERNELS", "kernel", "hostile", "bfs_job", "collatz_job", "reduction_job", "saxpy_job", "matmul_job",
           "hotspot_job", "layerforward_job", "warpscan_job", "histogram_job", "rankfilter_job", "nbody_job",
           "SIZES", "Job", "ShippedKernel"]
