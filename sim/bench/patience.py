"""Time of a preempt with the default patience, next to mechanisms that do not wait or wait without a bound.

``caesura bench patience`` preempts each kernel at cycles drawn at random over its run. At each cycle it uses `occupied`
and the mechanisms that wait for preemption points, with patience 0, with the default patience, and without a bound.
Further patiences can be given in the measure of the default. All requests of a moment fork from one run, whose results
are checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.patience import print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign, Patience
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .resumable import KernelTask, check_counts, geometry_settings, measure_kernels

__all__ = ["MOMENTS", "PATIENCES", "WAITING", "WORST_LIMIT", "MEAN_LIMIT", "Task", "latencies", "measure", "verdict",
           "summary", "read_result", "run", "print_report", "ways_to_preempt"]

MOMENTS = 100
"""Default number of moments per kernel."""
WORST_LIMIT = 1.1
"""Limit of the worst latency with the default patience, over the worst latency of `occupied`."""
MEAN_LIMIT = 1.0
"""Limit of the mean latency with the default patience, over the means with patience 0 and without a bound."""
MAX_CYCLES = 5_000_000
WAITING = tuple(m for m in Mechanism if m.has(Capability.STOPS_AT_POINTS))
"""Mechanisms that wait for preemption points."""
PATIENCES: dict[str, Patience] = {"zero": 0, "default": None, "unlimited": UNLIMITED}
"""Patiences that are always measured, by name."""


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        Some of `WAITING`.
    moments, seed : int
    shares : tuple of Fraction
        Further patiences to measure.
    """

    mechanisms: tuple[Mechanism, ...]
    moments: int
    seed: int
    shares: tuple[Fraction, ...] = ()


def verdict(latencies: dict[str, list[int]]) -> dict:
    """Return the figures of a kernel and a mechanism, next to their limits.

    ``worst_moment`` is the greatest ratio of the latency to the latency of `occupied` at the same moment.

    Parameters
    ----------
    latencies : dict of str to list of int
        Preemption latency in cycles by ``occupied``, ``zero``, ``default``, ``unlimited`` and any shares, moment by
        moment.
    """
    worst = {name: max(values, default=0) for name, values in latencies.items()}
    mean = {name: float(np.mean(values)) if values else 0.0 for name, values in latencies.items()}
    worst_limit, mean_limit = WORST_LIMIT * worst["occupied"], MEAN_LIMIT * min(mean["zero"], mean["unlimited"])
    occupied = latencies["occupied"]
    worst_moment = {name: max((mine / theirs for mine, theirs in zip(values, occupied, strict=True)), default=0.0)
                    for name, values in latencies.items()}
    return {"worst": worst, "mean": mean, "worst_moment": worst_moment,
            "worst_limit": worst_limit, "mean_limit": mean_limit,
            "worst_met": worst["default"] <= worst_limit, "mean_met": mean["default"] <= mean_limit}


def ways_to_preempt(mechanisms: Iterable[Mechanism], patiences: Mapping[str, Patience]
                    ) -> dict[str, tuple[Mechanism, Patience]]:
    """Return `occupied`, and each mechanism with each patience, by names like ``"live default"``."""
    return {"occupied": (Mechanism.OCCUPIED, None)} | {
        f"{m.label} {name}": (m, given) for m in mechanisms for name, given in patiences.items()}


def latencies(machine: Campaign, ways: Mapping[str, tuple[Mechanism, Patience]], moments: Sequence[int],
              progress: Callable[[int], None]) -> dict[str, list[int]]:
    """Return the preemption latencies of each way, in cycles, at the moments before the kernel's end.

    Parameters
    ----------
    machine : Campaign
    ways : mapping
        Result of `ways_to_preempt`.
    moments : sequence of int
        Cycles from the launch, ascending.
    progress : callable
        Called with the number of finished moments.
    """
    found = []
    for number, of_moment in enumerate(machine.latencies([*ways.values()], moments), 1):
        if None not in of_moment:
            found.append(of_moment)
        progress(number)
    return {way: [of_moment[k] for of_moment in found] for k, way in enumerate(ways)}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Preempt a kernel at random cycles of its run; return a row for each mechanism."""
    machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), task.work, CompiledJob(*hostile(task.geometry)),
                       MAX_CYCLES)
    rng = np.random.default_rng([task.seed, zlib.crc32(task.name.encode())])
    moments = np.sort(rng.integers(1, machine.cycles, task.moments)).tolist()
    patiences: dict[str, Patience] = PATIENCES | {str(share): share for share in task.shares}
    found = latencies(machine, ways_to_preempt(task.mechanisms, patiences), moments,
                      lambda number: progress(f"{task.name}: {number} of {task.moments}"))
    occupied = found["occupied"]
    return [{"mechanism": mechanism.label, "moments": len(occupied)}
            | verdict({"occupied": occupied} | {name: found[f"{mechanism.label} {name}"] for name in patiences})
            for mechanism in task.mechanisms]


def summary(rows: Sequence[dict]) -> dict[str, dict[str, dict]]:
    """Return the figures of each patience over all kernels, by mechanism and patience.

    ``relative`` compares the mean latency with the lower of the means of patience 0 and unlimited patience; it is the
    geometric mean of these ratios over the kernels. ``kept`` counts the kernels with a ratio of at most 1. ``worst`` is
    the greatest ratio, over the kernels, of the worst latency to the worst latency of `occupied`. ``over_occupied`` is
    the mean ratio of the mean latency to the mean latency of `occupied`. ``worst_moment`` is the greatest ratio at any
    moment.
    """
    found: dict[str, dict[str, dict]] = {}
    for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
        mine = [row for row in rows if row["mechanism"] == mechanism and row["moments"]]
        found[mechanism] = {}
        for name in (name for name in (mine[0]["mean"] if mine else ()) if name != "occupied"):
            relative = np.array([row["mean"][name] / row["mean_limit"] for row in mine])
            found[mechanism][name] = {
                "kernels": len(mine), "relative": float(np.exp(np.log(relative).mean())),
                "kept": int((relative <= 1).sum()),
                "worst": max(row["worst"][name] / row["worst"]["occupied"] for row in mine),
                "over_occupied": float(np.mean([row["mean"][name] / row["mean"]["occupied"] for row in mine])),
                "worst_moment": max(row["worst_moment"][name] for row in mine)}
    return found


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench patience", ("moments", "summary"), ("worst_moment",))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        moments: int = MOMENTS, seed: int = 1, jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None, shares: Sequence[Fraction] = (), *,
        json_file: Path | None = None, resume: dict | None = None) -> dict:
    """Measure kernels with mechanisms that wait; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    kernels, mechanisms : sequence
        All by default.
    moments : int
        Number of moments per kernel, 1 or more; moments after the kernel's end do not count.
    seed : int
        Seed of the moments.
    jobs : int
        Number of processes.
    progress : callable
    shares : sequence of Fraction
        Further patiences to measure, in the unit of `software.driver.preemption.patience.SHARE`.
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(moments=moments, jobs=jobs)
    chosen = tuple(mechanisms) or WAITING
    tasks = [Task(g, shipped_work(name, g, size), chosen, moments, seed, tuple(shares)) for name in kernels or KERNELS]
    settings = geometry_settings(g) | {"size": size, "moments": moments, "seed": seed,
                                       "mechanisms": [mechanism.label for mechanism in chosen],
                                       "shares": [str(share) for share in shares]}
    return measure_kernels(measure, tasks, jobs, progress, settings, _outcome, json_file, resume)


def _outcome(rows: list[dict]) -> dict:
    """Return the summary of all rows."""
    return {"met": all(row["worst_met"] and row["mean_met"] for row in rows), "summary": summary(rows)}
