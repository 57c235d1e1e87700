"""Works for measurements of machines, from the kernels of the package, with any number of thread blocks (TBs)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler import CompileOptions
from caesura.software.kernels import Job, kernel
from caesura.software.kernels.examples.f32 import hotspot_job, matmul_job, saxpy_job
from caesura.software.kernels.examples.integers import collatz_job, pathfinder_job, rankfilter_job, reduction_job
from caesura.software.kernels.fit import refusal
from caesura.software.sched import KernelRun

__all__ = ["Kind", "KINDS", "BATCHES", "URGENT", "kinds_for", "make_work", "batch_kind", "work_code", "block_threads"]

SIDE = 16
_FULL = 256
"""Threads per TB of the kernels with one size of block."""


@dataclass(frozen=True)
class Kind:
    """A kernel from which works are made.

    Attributes
    ----------
    name : str
    job : callable
        ``job(tbs, threads, seed)`` returns a job of `tbs` TBs or a few more. All TBs have the same amount of work, but
        for work that depends on data.
    idempotent : bool
        Its TBs and its launch can begin anew.
    threads : int or None
        Threads per TB; None if any power of two will do.
    """

    name: str
    job: Callable[[int, int, int], Job]
    idempotent: bool = True
    threads: int | None = None


def _vecadd(tbs: int, threads: int, seed: int) -> Job:
    rng = np.random.default_rng(seed)
    n = tbs * threads
    a, b = (rng.integers(-2**31, 2**31, n, dtype=np.int64).astype(np.int32) for _ in range(2))
    return Job((tbs, 1, 1), (threads, 1, 1), {"a": a, "b": b, "c": np.zeros(n, np.int32), "n": n}, {"c": a + b})


def _matmul(tbs: int, threads: int, seed: int) -> Job:
    return matmul_job(SIDE * tbs, 64, SIDE, seed)


KINDS: dict[str, Kind] = {kind.name: kind for kind in (
    Kind("vecadd", _vecadd),
    Kind("saxpy", lambda tbs, threads, seed: saxpy_job(tbs, 4, seed, threads), idempotent=False),
    Kind("collatz", lambda tbs, threads, seed: collatz_job(tbs * threads, 1000, seed, threads, 60)),
    Kind("rankfilter", lambda tbs, threads, seed: rankfilter_job(tbs * threads, 8, seed, threads)),
    Kind("reduction", lambda tbs, threads, seed: reduction_job(tbs, 8, seed, threads)),
    Kind("matmul", _matmul, threads=_FULL),
    Kind("hotspot", lambda tbs, threads, seed: hotspot_job(10 * tbs, 10, 3, seed), threads=_FULL),
    Kind("pathfinder", lambda tbs, threads, seed: pathfinder_job(tbs, 8, seed), threads=_FULL))}
"""All kinds, by the name of the kernel."""
BATCHES = ("matmul", "rankfilter")
"""Candidates for the batch kernel of the deadline demonstration; the first that fits is used."""
URGENT = "vecadd"
"""The small kernel of the deadline demonstration."""


def block_threads(g: Geometry, kind: Kind) -> int:
    """Return the threads of a TB: the kernel's own, or a power of two of at most 256 with warp slots for two TBs."""
    if kind.threads:
        return kind.threads
    most = max(g.warp_size, min(_FULL, g.max_block_threads, g.warps * g.warp_size // 2))
    return 1 << (most.bit_length() - 1)


@cache
def kinds_for(g: Geometry) -> tuple[str, ...]:
    """Return the kernels that fit an SM."""
    return tuple(name for name, kind in KINDS.items()
                 if not refusal(kernel(name), g, kind.job(2, block_threads(g, kind), 1)))


def make_work(name: str, g: Geometry, tbs: int, seed: int = 1) -> tuple[KernelRun, Job]:
    """Return a work of a kernel with a number of TBs, and the job that knows the right result.

    Raises
    ------
    InputError
        If there is no such kernel, or it does not fit.
    """
    if name not in kinds_for(g):
        raise InputError(f"kernel {name!r} cannot be measured on {g.name}; these can: {', '.join(kinds_for(g))}")
    kind = KINDS[name]
    job = kind.job(tbs, block_threads(g, kind), seed)
    image = kernel(name).image(CompileOptions(max_registers=g.regs_per_thread))
    return KernelRun(image, job.grid, job.block, lambda: job.arguments, job.shared_bytes), job


def batch_kind(g: Geometry) -> str:
    """Return the batch kernel for a geometry."""
    return next(name for name in BATCHES if name in kinds_for(g))


def work_code(work: KernelRun) -> str:
    """Return a hash of a work's code and block, which identifies its costs."""
    words = np.array(work.image.words, np.uint64).tobytes()
    return hashlib.sha256(words + repr(work.block).encode()).hexdigest()[:16]
