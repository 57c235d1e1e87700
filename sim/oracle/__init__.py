"""A real GPU, which judges the results of the suite and of the golden model for a kernel's PTX."""

from .cuda import CudaGpu, open_gpu
from .device import Gpu, GpuError, pinned, run_job

__all__ = ["Gpu", "GpuError", "CudaGpu", "open_gpu", "pinned", "run_job"]
