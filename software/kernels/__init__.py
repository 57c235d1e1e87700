"""Shipped kernels: CUDA sources, their PTX, launches and references."""

from .catalogue import KERNELS, bfs_job, collatz_job, kernel, reduction_job
from .hostile import hostile
from .job import SIZES, Job, ShippedKernel

__all__ = ["KERNELS", "kernel", "hostile", "bfs_job", "collatz_job", "reduction_job", "SIZES", "Job", "ShippedKernel"]
