"""Compares random PTX kernels on a GPU with their interpreter, in the operations that PTX defines to the bit."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

import numpy as np

from caesura.sim.workloads.random_ptx import RandomKernel

from .device import Gpu, freed, pinned

__all__ = ["STYLES", "random_kernels", "wrong_words"]

STYLES: dict[str, dict] = {
    "structured": {"block": (9, 5), "grid": (2, 2)},
    "unstructured": {"block": (20,), "unstructured": True},
    "divisions": {"block": (40,), "divisions": True},
    "nested": {"block": (33,), "nested_leaves": True, "statements": 20},
}
"""Options of `RandomKernel` by style: launches with ragged warps, control flow of all kinds, divisions and roots."""


def random_kernels(count: int, seed: int) -> Iterator[tuple[str, RandomKernel]]:
    """Yield `count` kernels, each with its style. The styles take turns; seeds begin at `seed`."""
    for number in range(count):
        style = list(STYLES)[number % len(STYLES)]
        yield style, RandomKernel(seed + number, portable=True, **STYLES[style])


def wrong_words(gpu: Gpu, program: RandomKernel, optimise: bool = True) -> int:
    """Run a kernel on a GPU, compiled there with or without optimisations.

    Returns
    -------
    int
        Number of 32-bit words of the output that differ from the interpreter's.

    Raises
    ------
    GpuError
        If the GPU refuses something or the kernel faults.
    """
    kernel = gpu.load(pinned(program.ptx), program.name, optimise)
    with contextlib.ExitStack() as memory:
        inputs, output = gpu.allocate(program.input_bytes), gpu.allocate(program.output_bytes)
        for address in (output, inputs):
            memory.callback(freed, gpu, address)
        gpu.write(output, bytes(program.output_bytes))
        gpu.write(inputs, program.inputs())
        given = [struct.pack("<Q", output), struct.pack("<Q", inputs), struct.pack("<I", program.n)]
        gpu.launch(kernel, program.grid, program.block, 0, given)
        got = np.frombuffer(gpu.read(output, program.output_bytes), np.uint32)
    return int(np.count_nonzero(got != np.frombuffer(program.expected(), np.uint32)))
