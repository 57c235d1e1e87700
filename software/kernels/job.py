"""A launch of a shipped kernel with its input and expected output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from caesura.errors import InputError
from caesura.software.compiler import CompileOptions, KernelImage, stored_module

__all__ = ["Job", "PaperRow", "ShippedKernel", "SIZES", "by_size"]

T = TypeVar("T")
SIZES = ("tiny", "small", "medium")
"""Problem sizes: a few TBs for exhaustive tests, one full SM, several rounds of an SM."""


def by_size(size: str, tiny: T, small: T, medium: T) -> T:
    """Return the value for a problem size."""
    return (tiny, small, medium)[SIZES.index(size)]


@dataclass
class Job:
    """One launch of a kernel.

    Attributes
    ----------
    grid, block : tuple of int
        TBs of the grid, and threads of a TB, in x, y, z.
    arguments : dict of str to (int, float, bytes or numpy.ndarray)
        Arguments in the order of the parameters. Arrays are copied to the device before the launch. Those named in
        `expected` are compared after it.
    expected : dict of str to numpy.ndarray
        Right values of arrays at the end, to the bit or within the array's tolerance.
    shared_bytes : int
        Bytes of dynamic shared memory per TB.
    judge : callable, optional
        Order-free checker of arrays that depend on the order of atomics. It takes all final arrays by name, and returns
        the number of wrong elements of each array that it judges.
    tolerance : dict of str to (float, or pair of float or None)
        Tolerances ``(atol, rtol)`` of arrays that need not be equal to the bit. An element is right if ``|got -
        expected| <= atol + rtol * |expected|``. A number stands for both.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: dict[str, int | float | bytes | np.ndarray]
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    shared_bytes: int = 0
    judge: Callable[[dict[str, np.ndarray]], dict[str, int]] | None = None
    tolerance: dict[str, float | tuple[float | None, float | None]] = field(default_factory=dict)

    def bounds(self, name: str) -> tuple[float | None, float | None]:
        """Return ``(atol, rtol)`` of an array of `expected`; both are None if it must be equal to the bit."""
        stated = self.tolerance.get(name)
        return stated if isinstance(stated, tuple) else (stated, stated)


@dataclass(frozen=True)
class PaperRow:
    """A row of Lin et al. Table II.

    Attributes
    ----------
    label : str
        Label of the kernel, such as ``BP_1``.
    kernel : str
        Name of the kernel in Rodinia.
    warps, tbs : int
        Warps per TB, and TBs per SM.
    registers : int
        Vector registers per warp, compiled for GT200.
    shared_bytes : int
        Shared memory per TB, which also holds the parameters on GT200.
    """

    label: str
    kernel: str
    warps: int
    tbs: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True)
class ShippedKernel:
    """A shipped kernel: CUDA source, the PTX of nvcc for it, and its jobs.

    Attributes
    ----------
    name : str
        Name of the kernel and of its entry, and stem of its files.
    summary : str
        Summary in one line.
    source : str
        Benchmark of the paper that it represents, with its TB shape.
    make_job : callable
        ``make_job(size, seed)`` returns a `Job`; `size` is one of `SIZES`.
    folder : str
        Folder of this package with its files.
    paper : PaperRow, optional
        Figures of Lin et al. for the kernel.
    """

    name: str
    summary: str
    source: str
    make_job: Callable[[str, int], Job]
    folder: str
    paper: PaperRow | None = None

    @property
    def ptx_path(self) -> Path:
        """Path of the PTX."""
        return Path(__file__).with_name(self.folder) / f"{self.name}.ptx"

    @property
    def cuda_path(self) -> Path:
        """Path of the CUDA source."""
        return Path(__file__).with_name(self.folder) / f"{self.name}.cu"

    def image(self, options: CompileOptions | None = None) -> KernelImage:
        """Return the kernel compiled with some options; it is compiled once for each, and kept in the cache."""
        return _compiled(self, options or CompileOptions())

    def job(self, size: str = "small", seed: int = 1) -> Job:
        """Return a job of the given size with inputs from the given seed.

        Raises
        ------
        ValueError
            If there is no such size.
        """
        if size not in SIZES:
            raise InputError(f"no size {size!r}; there are {', '.join(SIZES)}")
        return self.make_job(size, seed)


@functools.cache
def _compiled(kernel: ShippedKernel, options: CompileOptions) -> KernelImage:
    compiled = stored_module(kernel.ptx_path.read_text(), kernel.ptx_path.name, options, [kernel.name])
    return compiled.all_images()[kernel.name]
