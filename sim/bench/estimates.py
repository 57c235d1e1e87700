"""Accuracy of the estimates of a drain and of a switch (PEP III-B; Chimera).

``caesura bench estimates`` stops each kernel at cycles drawn at random over its run, and asks the driver for its
estimates. One fork then lets all thread blocks on the SM end; another preempts them with `occupied`. All forks come
from one run, whose results are checked. The driver has seen an earlier launch of the kernel, as it would if a kernel
were launched repeatedly.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.estimates import print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .resumable import KernelTask, check_counts, geometry_settings, measure_kernels

__all__ = ["MOMENTS", "Moment", "Task", "measure", "verdict", "summary", "read_result", "run", "print_report"]

MOMENTS = 30
"""Default number of moments per kernel."""
MAX_CYCLES = 5_000_000


class Moment(NamedTuple):
    """Estimated and measured cycles; a missing estimate is None.

    Attributes
    ----------
    by_time, by_pace : int or None
        Estimates of the drain, by the mean time of TBs that have ended (PEP) and by the pace of each TB (Chimera).
    drain, switch : int
        Measured cycles of both.
    by_size : int
        Estimate of the switch (PEP).
    """

    by_time: int | None
    by_pace: int | None
    drain: int
    by_size: int
    switch: int


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    moments, seed : int
    """

    moments: int
    seed: int


def _errors(estimates: Sequence[int | None], truth: Sequence[int]) -> dict:
    """Return the number of estimates, and their mean error and bias as shares of the mean measured cycles."""
    known = [(estimate, true) for estimate, true in zip(estimates, truth, strict=True) if estimate is not None]
    if not known:
        return {"known": 0, "error": None, "bias": None}
    difference = np.array([estimate - true for estimate, true in known], float)
    mean = max(float(np.mean([true for _, true in known])), 1.0)
    return {"known": len(known), "error": float(np.abs(difference).mean()) / mean,
            "bias": float(difference.mean()) / mean}


def _choices(estimates: Sequence[int | None], moments: Sequence[Moment]) -> dict:
    """Return how often the shorter of drain and switch is chosen, and the time of the choices over the shortest times.
    """
    known = [(estimate, each) for estimate, each in zip(estimates, moments, strict=True) if estimate is not None]
    chosen = [each.drain if estimate <= each.by_size else each.switch for estimate, each in known]
    best = [min(each.drain, each.switch) for _, each in known]
    return {"right": sum(a == b for a, b in zip(chosen, best, strict=True)),
            "over_best": sum(chosen) / max(sum(best), 1) if known else None}


def verdict(moments: Sequence[Moment]) -> dict:
    """Return the figures of a kernel."""
    drain, switch = [each.drain for each in moments], [each.switch for each in moments]
    by_time, by_pace = [each.by_time for each in moments], [each.by_pace for each in moments]
    return {"moments": len(moments), "drain": float(np.mean(drain)) if drain else 0.0,
            "switch": float(np.mean(switch)) if switch else 0.0,
            "by_time": _errors(by_time, drain) | _choices(by_time, moments),
            "by_pace": _errors(by_pace, drain) | _choices(by_pace, moments),
            "by_size": _errors([each.by_size for each in moments], switch)}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Estimate, drain and switch a kernel at random cycles of its run; return its row."""
    machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), task.work, CompiledJob(*hostile(task.geometry)),
                       MAX_CYCLES)
    rng = np.random.default_rng([task.seed, zlib.crc32(task.name.encode())])
    moments = np.sort(rng.integers(1, machine.cycles, task.moments)).tolist()
    found = []
    for number, each in enumerate(machine.estimates(moments), 1):
        if each is not None:
            found.append(Moment(*each))
        progress(f"{task.name}: {number} of {task.moments}")
    return [verdict(found)]


def summary(rows: Sequence[dict]) -> dict[str, dict]:
    """Return the mean error of each estimate over all kernels, and how often the choice by it is right."""
    found = {}
    for name in ("by_time", "by_pace", "by_size"):
        known = [row for row in rows if row[name]["known"]]
        found[name] = {"kernels": len(known), "moments": sum(row[name]["known"] for row in known),
                       "error": float(np.mean([row[name]["error"] for row in known])) if known else None,
                       "bias": float(np.mean([row[name]["bias"] for row in known])) if known else None}
        if name != "by_size":
            found[name] |= {"right": sum(row[name]["right"] for row in known),
                            "over_best": float(np.mean([row[name]["over_best"] for row in known])) if known else None}
    return found


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench estimates", ("moments", "summary"))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), moments: int = MOMENTS, seed: int = 1,
        jobs: int = 1, progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None) -> dict:
    """Measure kernels; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    kernels : sequence
        All by default.
    moments : int
        Number of moments per kernel, 1 or more; moments after the kernel's end do not count.
    seed : int
        Seed of the moments.
    jobs : int
        Number of processes.
    progress : callable
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(moments=moments, jobs=jobs)
    if not (g.profile and g.grace):
        raise InputError(f"geometry {g.name!r} has no profile or no grace: there is nothing to be compared")
    tasks = [Task(g, shipped_work(name, g, size), moments, seed) for name in kernels or KERNELS]
    settings = geometry_settings(g) | {"size": size, "moments": moments, "seed": seed}
    return measure_kernels(measure, tasks, jobs, progress, settings, lambda rows: {"summary": summary(rows)},
                           json_file, resume)
