"""An NVIDIA GPU through the CUDA driver API (``cuda-bindings``, extra ``gpu``)."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

from .device import GpuError

__all__ = ["CudaGpu", "open_gpu"]


def open_gpu(number: int = 0) -> CudaGpu:
    """Return the host's GPU.

    Raises
    ------
    GpuError
        If there is no GPU, or no driver or binding; the message says which.
    """
    try:
        cuda = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise GpuError(f"cuda-bindings is not installed (pip install 'caesura[gpu]'): {error}") from None
    return CudaGpu(cuda, number)


class CudaGpu:
    """A `Gpu` on the CUDA driver API, in the device's primary context.

    Parameters
    ----------
    cuda : module
        ``cuda.bindings.driver``.
    number : int
        Number of the device.

    Raises
    ------
    GpuError
        If the driver or the device is not there.
    """

    def __init__(self, cuda: Any, number: int = 0):
        self._cuda = cuda
        try:
            self._do("cuInit", 0)
        except RuntimeError as error:  # cuda-bindings cannot find the driver's library
            raise GpuError(f"there is no NVIDIA driver: {error}") from None
        if number >= self._do("cuDeviceGetCount"):
            raise GpuError(f"there is no GPU {number}")
        self._device = self._do("cuDeviceGet", number)
        self.name = self._do("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode()
        self.capability = self._attribute("MAJOR"), self._attribute("MINOR")
        version = self._do("cuDriverGetVersion")
        self.driver = f"{version // 1000}.{version % 1000 // 10}"
        self._do("cuCtxSetCurrent", self._do("cuDevicePrimaryCtxRetain", self._device))

    def _attribute(self, part: str) -> int:
        names = self._cuda.CUdevice_attribute
        return self._do("cuDeviceGetAttribute", getattr(names, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"),
                        self._device)

    def _do(self, name: str, *arguments) -> Any:
        """Call the driver; return its one result, if it has one."""
        status, *results = getattr(self._cuda, name)(*arguments)
        if int(status) != 0:
            _, text = self._cuda.cuGetErrorString(status)
            words = text.decode() if isinstance(text, bytes) else f"error {int(status)}"
            raise GpuError(f"{name}: {words}")
        return results[0] if results else None

    def load(self, ptx: str, entry: str, optimise: bool = True) -> object:
        """Compile PTX in the driver and return a kernel of it."""
        text = ctypes.create_string_buffer(ptx.encode())
        if optimise:
            module = self._do("cuModuleLoadData", ctypes.addressof(text))
        else:
            options = [self._cuda.CUjit_option.CU_JIT_OPTIMIZATION_LEVEL]
            module = self._do("cuModuleLoadDataEx", ctypes.addressof(text), len(options), options, [0])
        return self._do("cuModuleGetFunction", module, entry.encode())

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes (1 or more) of device memory."""
        return int(self._do("cuMemAlloc", size))

    def free(self, address: int) -> None:
        """Give memory back."""
        self._do("cuMemFree", address)

    def write(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        if data:
            buffer = ctypes.create_string_buffer(data, len(data))
            self._do("cuMemcpyHtoD", address, ctypes.addressof(buffer), len(data))

    def read(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        buffer = ctypes.create_string_buffer(max(size, 1))
        if size:
            self._do("cuMemcpyDtoH", ctypes.addressof(buffer), address, size)
        return buffer.raw[:size]

    def launch(self, kernel: object, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               parameters: Sequence[bytes]) -> None:
        """Run a kernel to its end; each parameter is given by its bytes in memory."""
        buffers = [ctypes.create_string_buffer(data, len(data)) for data in parameters]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*(ctypes.addressof(buffer) for buffer in buffers))
        self._do("cuLaunchKernel", kernel, *grid, *block, shared_bytes, 0, ctypes.addressof(pointers), 0)
        self._do("cuCtxSynchronize")

    def close(self) -> None:
        """Release the GPU with all that was allocated and loaded, also after a fault."""
        self._do("cuDevicePrimaryCtxReset", self._device)
        self._do("cuDevicePrimaryCtxRelease", self._device)
