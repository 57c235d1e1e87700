"""Kernels with jobs that are small enough to be preempted at each cycle of their run."""

from typing import Any

import numpy as np

from caesura.hw.arch.geometry import preset
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.kernels import (
    collatz_job,
    histogram_job,
    hotspot_job,
    kernel,
    layerforward_job,
    matmul_job,
    nbody_job,
    rankfilter_job,
    reduction_job,
    warpscan_job,
)
from caesura.software.kernels.job import Job
from support.programs.routines import routines_work

__all__ = ["SMALL_RUNS", "TINY_RUNS", "shipped", "random_run"]

FOR_TINY = CompileOptions(max_registers=preset("tiny").regs_per_thread)


def shipped(name: str, job: Job, options: CompileOptions | None = None) -> CompiledJob:
    """Return a kernel that ships, with a job of its own."""
    return CompiledJob(kernel(name).image(options), job)


def random_run(seed: int, compiled: CompileOptions | None = None, **options: Any) -> CompiledJob:
    """Return a random kernel, made with options of `RandomKernel`, of which two TBs of nine threads are launched."""
    k = RandomKernel(seed, grid=(2,), block=(9,), **options)
    arguments = {"output": np.zeros(k.output_bytes, np.uint8), "input": np.frombuffer(k.inputs(), np.uint8), "n": k.n}
    return CompiledJob(compile_ptx(k.ptx, "random.ptx", compiled)[k.name],
                Job(k.grid, k.block, arguments, {"output": np.frombuffer(k.expected(), np.uint8)}))


SMALL_RUNS = {
    "divergent": lambda: shipped("collatz", collatz_job(100, 5, seed=5, threads=56)),
    "barriers": lambda: shipped("reduction", reduction_job(2, 1, seed=6, threads=128)),
    "random": lambda: random_run(12, statements=1, variables=2, wide=1, heavy=False),
    "matmul": lambda: shipped("matmul", matmul_job(16, 16, 16, seed=7)),
    "hotspot": lambda: shipped("hotspot", hotspot_job(12, 12, 2, seed=8)),
    "layerforward": lambda: shipped("layerforward", layerforward_job(1, seed=9)),
    "doubles": lambda: shipped("nbody", nbody_job(8, 2, seed=10, threads=8)),
    "atomics": lambda: shipped("histogram", histogram_job(1, 1, seed=11, threads=64)),
    "shuffles": lambda: shipped("warpscan", warpscan_job(75, 2, seed=12, threads=40)),
    "routines": lambda: routines_work(2, 45),
    "local": lambda: shipped("rankfilter", rankfilter_job(41, 3, seed=13, threads=41)),
}
"""By the reason of their choice, or by name: each call makes one anew."""
TINY_RUNS = {
    "divergent": lambda: shipped("collatz", collatz_job(60, 5, seed=5, threads=15), FOR_TINY),
    "barriers": lambda: shipped("reduction", reduction_job(2, 1, seed=6, threads=32), FOR_TINY),
    "random": lambda: random_run(12, FOR_TINY, statements=1, variables=2, wide=1, heavy=False),
    "doubles": lambda: shipped("nbody", nbody_job(8, 2, seed=10, threads=8), FOR_TINY),
    "shuffles": lambda: shipped("warpscan", warpscan_job(20, 1, seed=12, threads=16), FOR_TINY),
    "routines": lambda: routines_work(1, 13),
    "local": lambda: shipped("rankfilter", rankfilter_job(9, 3, seed=13, threads=9), FOR_TINY),
}
"""Those that fit `tiny`, smaller still."""
