"""A real GPU, to judge what the suite and the golden model say of a kernel's PTX."""

from .cuda import CudaGpu, open_gpu
from .device import Gpu, GpuError, pinned, run_job

__all__ = ["Gpu", "GpuError", "CudaGpu", "open_gpu", "pinned", "run_job"]
