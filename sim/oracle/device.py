"""The interface of a GPU, and runs of a job on one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from caesura.software.compiler import Parameter
from caesura.software.driver.launch.arguments import number_bytes
from caesura.software.kernels import Job

__all__ = ["Gpu", "GpuError", "freed", "pinned", "run_job"]

_FREE = re.compile(r"(?<![.\w])(add|sub|mul)\.((?:ftz\.)?(?:sat\.)?f(?:32|64))\b")


class GpuError(Exception):
    """The GPU, its driver or its binding refused something; the message says what and why."""


class Gpu(Protocol):
    """One GPU; addresses are plain integers.

    Attributes
    ----------
    name : str
        The maker's name of the GPU.
    capability : tuple of int
        Compute capability, major and minor.
    driver : str
        The CUDA version that its driver supports.
    """

    name: str
    capability: tuple[int, int]
    driver: str

    def load(self, ptx: str, entry: str, optimise: bool = True) -> object:
        """Compile PTX in the driver, with its optimisations or without, and return a kernel of it."""
        ...

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes (1 or more) of device memory."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        ...

    def launch(self, kernel: object, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
               parameters: Sequence[bytes]) -> None:
        """Run a kernel to its end; each parameter is given by its bytes in memory."""
        ...

    def close(self) -> None:
        """Release the GPU."""
        ...


def pinned(ptx: str) -> str:
    """Return PTX in which every floating-point sum and product names its rounding, to nearest even.

    Without a name they round the same way, but a compiler may fuse a product into a sum. With a name, each bit is
    defined.
    """
    return _FREE.sub(r"\1.rn.\2", ptx)


def run_job(gpu: Gpu, ptx: str, entry: str, parameters: Sequence[Parameter], job: Job) -> dict[str, np.ndarray]:
    """Run a job's launch on a GPU and return every array at the end.

    Parameters
    ----------
    gpu : Gpu
    ptx, entry : str
        The module and the kernel in it.
    parameters : sequence of Parameter
        Parameters of the kernel.
    job : Job

    Raises
    ------
    GpuError
        If the GPU refuses something or the kernel faults.
    """
    kernel = gpu.load(pinned(ptx), entry)
    with contextlib.ExitStack() as memory:
        places: dict[str, int] = {}
        given = []
        for parameter, (name, value) in zip(parameters, job.arguments.items(), strict=True):
            if isinstance(value, np.ndarray):
                places[name] = value_at = gpu.allocate(max(value.nbytes, 1))
                memory.callback(freed, gpu, value_at)
                gpu.write(value_at, np.ascontiguousarray(value).tobytes())
                given.append(value_at.to_bytes(8, "little"))
            else:
                given.append(number_bytes(parameter, value, f"kernel {entry!r}, parameter {name}"))
        gpu.launch(kernel, job.grid, job.block, job.shared_bytes, given)
        return {name: _array(gpu, places[name], value) for name, value in job.arguments.items()
                if isinstance(value, np.ndarray)}


def freed(gpu: Gpu, address: int) -> None:
    """Give memory back, also after a fault."""
    with contextlib.suppress(GpuError):  # after a fault nothing can be freed, and the fault is what counts
        gpu.free(address)


def _array(gpu: Gpu, address: int, like: np.ndarray) -> np.ndarray:
    return np.frombuffer(gpu.read(address, like.nbytes), like.dtype).reshape(like.shape)
