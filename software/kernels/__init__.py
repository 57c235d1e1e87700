"""Shipped kernels: CUDA sources, their PTX, launches and references."""

from .catalogue import KERNELS, bfs_job, collatz_job, kernel, reduction_job
from .f32 import hotspot_job, layerforward_job, matmul_job, saxpy_job
from .hostile import hostile
from .job import SIZES, Job, ShippedKernel

__all__ = ["KERNELS", "kernel", "hostile", "bfs_job", "collatz_job", "reduction_job", "saxpy_job", "matmul_job",
           "hotspot_job", "layerforward_job", "SIZES", "Job", "ShippedKernel"]
