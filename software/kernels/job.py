"""A launch with its input and expected output: what a shipped kernel is run and judged with."""

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
"""Problem sizes: a handful of TBs for exhaustive tests, one SM's worth, several rounds of an SM."""


def by_size(size: str, tiny: T, small: T, medium: T) -> T:
    """Return the value for a problem size."""
    return (tiny, small, medium)[SIZES.index(size)]


@dataclass
class Job:
    """One launch of a kernel.

    Attributes
    ----------
    grid, block : tuple of int
        TBs of the grid and threads of a TB in x, y, z.
    arguments : dict of str to (int, float, bytes or numpy.ndarray)
        In parameter order. Arrays are copied to the device before and, where named in `expected`, compared after.
    expected : dict of str to numpy.ndarray
        What the arrays named must hold at the end: to the bit, or within their tolerance.
    shared_bytes : int
        Dynamic shared memory.
    judge : callable, optional
        Order-free checker of arrays whose content depends on the order of atomics. It takes every array as it is at the
        end, by name, and returns how many elements are wrong of each array that it judges.
    tolerance : dict of str to (float, or pair of float or None)
        For arrays of `expected` that need not be equal to the bit: an element is right if
        ``|got - expected| <= atol + rtol * |expected|`` with the pair ``(atol, rtol)``; a number stands for both.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: dict[str, int | float | bytes | np.ndarray]
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    shared_bytes: int = 0
    judge: Callable[[dict[str, np.ndarray]], dict[str, int]] | None = None
    tolerance: dict[str, float | tuple[float | None, float | None]] = field(default_factory=dict)

    def bounds(self, name: str) -> tuple[float | None, float | None]:
        """Return ``(atol, rtol)`` of an array of `expected`; both None: to the bit."""
        stated = self.tolerance.get(name)
        return stated if isinstance(stated, tuple) else (stated, stated)


@dataclass(frozen=True)
class PaperRow:
    """A row of Lin et al. Table II.

    Attributes
    ----------
    label : str
        Of the kernel, e.g. ``BP_1``.
    kernel : str
        Its name in Rodinia.
    warps, tbs : int
        Warps a TB, TBs an SM.
    registers : int
        Vector registers a warp, compiled for GT200.
    shared_bytes : int
        Shared memory of a TB, in which GT200 also keeps the parameters.
    """

    label: str
    kernel: str
    warps: int
    tbs: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True)
class ShippedKernel:
    """A kernel that ships: CUDA source, the PTX nvcc makes of it, and its jobs.

    Attributes
    ----------
    name : str
        Also the entry's name and the files' stem.
    summary : str
        One line.
    source : str
        The paper's benchmark it stands for, with its TB shape.
    make_job : callable
        ``make_job(size, seed)`` returns a `Job`; `size` is one of `SIZES`.
    folder : str
        Of this package, where its files are.
    paper : PaperRow, optional
        What Lin et al. report of it.
    """

    name: str
    summary: str
    source: str
    make_job: Callable[[str, int], Job]
    folder: str
    paper: PaperRow | None = None

    @property
    def ptx_path(self) -> Path:
        """The PTX."""
        return Path(__file__).with_name(self.folder) / f"{self.name}.ptx"

    @property
    def cuda_path(self) -> Path:
        """The CUDA source it was made of."""
        return Path(__file__).with_name(self.folder) / f"{self.name}.cu"

    def image(self, options: CompileOptions | None = None) -> KernelImage:
        """Return the kernel compiled with the given options: once for each of them, and kept in the cache."""
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
