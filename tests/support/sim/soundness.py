"""Are the liveness vectors of preemption points large enough? Random kernels, judged by the golden model.

A warp that stops at a preemption point or waits at a barrier may lose every vector register, predicate and uniform
register that the point's vector leaves out (that of ``pp.div`` where the SIMT stack is deeper than one entry).
`ScramblingMachine` is the golden model on which that happens without the way to memory and back: it stops a warp as
for a preemption, fills those registers with random bits in all lanes, and lets the warp go on. A thread block is one
run: it has data of its own, so it takes paths of its own, and ends with the same output as on the undisturbed model,
or a vector lacks a register.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.geometry import (
    MAX_REGISTERS,
    PC_NONE,
    PREDICATES,
    PRESETS,
    UNIFORMS,
    Geometry,
)
from caesura.hw.arch.isa.liveness import Saved, saved_by
from caesura.sim.golden.machine import Machine
from caesura.sim.golden.semantics.operation import Kind
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx
from support.sim.launch import Bench, FaultReport, argument_words

__all__ = ["GEOMETRY", "RATES", "ScramblingMachine", "Subject", "Verdict", "subject", "judge"]

GEOMETRY = PRESETS["tiny"].replace(warps=64, tb_slots=32, registers=4096, regs_per_thread=MAX_REGISTERS,
                                   shared_bytes=32 * 1024, stack_depth=64)
"""Warps of eight lanes, room for 32 thread blocks and for divergence wherever eight lanes can diverge."""

RATES = 1.0, 1.0, 0.5, 0.1

_BLOCKS = 32
_MEMORY_BYTES = 1 << 19
_MOST_CYCLES = 200_000
_FEWEST_BRANCHES, _MOST_BRANCHES = 10, 36
_LEAST_DEPTH = 5
_MOST_CYCLES_OF_ONE = 500
_NESTED = 3


class ScramblingMachine(Machine):
    """The golden model, on which preemption points scramble the registers that they do not save.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
    seed : int

    Attributes
    ----------
    rate : float
        Probability of it at each point.
    scrambles, registers, predicates, uniforms, divergent, deep : int
        Points that did it; what they filled; points where lanes waited elsewhere, and where they waited at three
        reconvergence points or more (divergence nested three deep).
    """

    def __init__(self, g: Geometry, memory_bytes: int, seed: int = 0):
        super().__init__(g, memory_bytes)
        self.rate = 0.0
        self.scrambles = self.registers = self.predicates = self.uniforms = self.divergent = self.deep = 0
        self._random = random.Random(seed)
        self._bits = np.random.default_rng(seed)
        self._stopping = False

    def pending(self, tb) -> bool:
        """Warps of `tb` are to stop; so is, by itself, the one whose point scrambles."""
        return self._stopping or super().pending(tb)

    def _pause(self, warp, op, kind: Kind, diverged: bool) -> None:
        # A warp stopped by its `pp` has to go on to the `pp.div`.
        self._stopping = kind is not Kind.PP_DIV and self._random.random() < self.rate
        stops = self._stopping or warp.after_pp
        super()._pause(warp, op, kind, diverged)
        self._stopping = False
        if stops and (warp.parked or warp.waiting):
            warp.parked = False
            self._scramble(warp)

    def _scramble(self, warp) -> None:
        lost = _unsaved(warp.live_vector, len(warp.registers))
        registers, uniforms = [*lost.registers], [*lost.uniforms]
        warp.registers[registers] = self._bits.integers(0, 1 << 32, (len(registers), self.g.warp_size), np.uint32)
        warp.uniforms[uniforms] = self._bits.integers(0, 1 << 32, len(uniforms), np.uint32)
        for predicate in lost.predicates:
            warp.predicates[predicate] = self._random.getrandbits(self.g.warp_size)
        self.scrambles += 1
        self.registers += len(registers)
        self.predicates += len(lost.predicates)
        self.uniforms += len(uniforms)
        self.divergent += len(warp.stack) > 1
        self.deep += len({entry.reconv for entry in warp.stack} - {PC_NONE}) >= _NESTED


@functools.lru_cache(1 << 14)
def _unsaved(vector: int, registers: int) -> Saved:
    """Return what a vector leaves out."""
    saved = saved_by(vector, registers)
    return Saved(tuple(r for r in range(registers) if r not in saved.registers),
                 tuple(p for p in range(PREDICATES) if p not in saved.predicates),
                 tuple(u for u in range(UNIFORMS) if u not in saved.uniforms))


@dataclass(frozen=True)
class Subject:
    """A random kernel and its image.

    Attributes
    ----------
    kernel : RandomKernel
    image : KernelImage
    """

    kernel: RandomKernel
    image: KernelImage


@dataclass(frozen=True)
class Verdict:
    """What became of the runs of one kernel.

    Attributes
    ----------
    runs : int
        Thread blocks that ran on the scrambling model.
    wrong : int
        Those whose output differs from the undisturbed run, faulted, or did not end.
    scrambles, registers, predicates, uniforms, divergent, deep : int
        As in `ScramblingMachine`.
    spilled : bool
        The kernel keeps values in local memory.
    """

    runs: int
    wrong: int
    scrambles: int
    registers: int
    predicates: int
    uniforms: int
    divergent: int
    deep: int
    spilled: bool


def subject(seed: int) -> Subject:
    """Return random kernel number `seed`, with nested divergence; every second one has unstructured control flow.

    A quarter has thread blocks of two warps, which meet barriers. Another quarter has more values than fit the 10
    or 12 registers it is compiled for, so that some lie in local memory.
    """
    rng = random.Random(seed)
    barriers, crowded = seed // 2 % 4 == 0, seed // 2 % 4 == 1
    variables, wide = (7, 2) if crowded else (rng.randint(2, 4), 1)
    while True:
        kernel = RandomKernel(
            rng.getrandbits(40), grid=(_BLOCKS,), block=(rng.randint(9, 16) if barriers else 8,), statements=3,
            depth=4, variables=variables, wide=wide, barriers=barriers, heavy=False, nested_leaves=rng.random() < 0.3,
            floats=rng.random() < 0.1, unstructured=bool(seed % 2))
        if _FEWEST_BRANCHES <= len(re.findall(r"\bbra\b", kernel.ptx)) <= _MOST_BRANCHES:
            options = CompileOptions(interval=rng.choice((6, 20, 40, 500)),
                                     max_registers=rng.choice((10, 12)) if crowded else MAX_REGISTERS)
            image = compile_ptx(kernel.ptx, "random.ptx", options)[kernel.name]
            if image.stack_depth >= _LEAST_DEPTH and _cycles_of_one(kernel, image) <= _MOST_CYCLES_OF_ONE:
                return Subject(kernel, image)


class _Runs:
    """Runs of the first `blocks` thread blocks of a kernel on a `ScramblingMachine`."""

    def __init__(self, kernel: RandomKernel, image: KernelImage, seed: int = 0, blocks: int = _BLOCKS):
        self.transport = GoldenTransport(GEOMETRY, _MEMORY_BYTES)
        self.machine = self.transport.machine = ScramblingMachine(GEOMETRY, _MEMORY_BYTES, seed)
        self._blocks, self._bytes = blocks, kernel.output_bytes // _BLOCKS * blocks
        self._bench = Bench(self.transport)
        self._bits = np.random.default_rng(seed)
        self._output = self._bench.allocate(self._bytes)
        words = argument_words(image, self._output, self._bench.store(kernel.inputs()), kernel.n)
        self._loaded = self._bench.load(0, image, (blocks,), kernel.block, words)

    def run(self, rate: float, most_cycles: int = _MOST_CYCLES) -> tuple[np.ndarray, FaultReport | None]:
        """Run; return the output, a row a thread block, and the first fault.

        Local memory holds random bits at first.

        Raises
        ------
        TimeoutError
            If it does not end.
        """
        local = self._loaded.local_base
        self.transport.write_memory(local, self._bits.bytes(self._loaded.local_end - local))
        self.transport.write_memory(self._output, bytes(self._bytes))
        self.machine.rate = rate
        self._bench.start(0)
        self._bench.finish(0, most_cycles)
        output = np.frombuffer(self.transport.read_memory(self._output, self._bytes), np.uint8)
        return output.reshape(self._blocks, -1), self._bench.fault()


def _cycles_of_one(kernel: RandomKernel, image: KernelImage) -> int:
    runs = _Runs(kernel, image, blocks=1)
    runs.run(0.0)
    return runs.machine.cycle


def judge(kernel: RandomKernel, image: KernelImage, seed: int = 0, rates: Sequence[float] = RATES) -> Verdict:
    """Run the grid of a kernel undisturbed, then once for each of `rates`, and compare.

    Parameters
    ----------
    kernel : RandomKernel
        As `subject` makes it.
    image : KernelImage
    seed : int
        Of the random bits and of the choice of points.
    rates : sequence of float
        Share of the preemption points met that scramble.

    Raises
    ------
    AssertionError
        If the undisturbed run faults.
    """
    runs = _Runs(kernel, image, seed)
    expected, fault = runs.run(0.0)
    assert fault is None, f"the undisturbed run ends with {fault}"
    wrong, most_cycles = 0, 2 * runs.machine.cycle
    for done, rate in enumerate(rates):
        try:
            output, fault = runs.run(rate, most_cycles)
        except TimeoutError:
            wrong += _BLOCKS * (len(rates) - done)  # the model is still busy: no round can follow
            break
        differs = (output != expected).any(axis=1)
        if fault is not None:
            differs[fault.tb] = True
        wrong += int(differs.sum())
    m = runs.machine
    return Verdict(_BLOCKS * len(rates), wrong, m.scrambles, m.registers, m.predicates, m.uniforms,
                   m.divergent, m.deep, image.local_bytes > 0)
