"""Gain and cost of preemption points placed by estimated cycles (`compiler.preemption.placement`, rule 2).

``caesura bench points`` compiles each kernel with the compiler's default, which counts instructions, and for each
interval of estimated cycles. It runs each version undisturbed, and preempts it at the same random shares of its run. It
uses mechanisms that wait for points, with patience 0, with the default patience and without a bound, and `occupied`.
All requests of a moment fork from one run, whose results are checked.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.compiler.options import CompileOptions
from caesura.software.kernels import KERNELS, hostile, kernel

from . import resumable
from .patience import MAX_CYCLES, PATIENCES, WAITING, latencies, ways_to_preempt
from .resumable import KernelTask, check_counts, code_digest, geometry_settings, measure_kernels

__all__ = ["INSTRUCTIONS", "INTERVALS", "Task", "measure", "summary", "read_result", "run"]

INTERVALS = 250, 500, 1000, 2000
"""Default intervals, in estimated cycles."""
INSTRUCTIONS = "instructions"
"""Name of the compiler's default placement, used in place of an interval."""


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    placed : tuple of (str, CompiledJob)
        Versions of the kernel with other points, by interval in estimated cycles.
    mechanisms : tuple of Mechanism
        Some of `WAITING`.
    moments, seed : int
    """

    placed: tuple[tuple[str, CompiledJob], ...]
    mechanisms: tuple[Mechanism, ...]
    moments: int
    seed: int


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Return a row for each placement, with the placement by instructions first."""
    shares = np.sort(np.random.default_rng([task.seed, zlib.crc32(task.name.encode())]).random(task.moments))
    ways = ways_to_preempt(task.mechanisms, PATIENCES)

    def figures(interval: str, work: CompiledJob) -> dict:
        machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), work, CompiledJob(*hostile(task.geometry)),
                           MAX_CYCLES)
        found = latencies(machine, ways, [1 + int(share * (machine.cycles - 1)) for share in shares],
                          lambda number: progress(f"{task.name}, {interval}: {number} of {task.moments}"))
        return {"points": len(work.image.points), "words": len(work.image.code), "cycles": machine.cycles,
                "moments": len(found["occupied"]),
                "mean": {way: float(np.mean(of)) if of else 0.0 for way, of in found.items()},
                "worst": {way: max(of, default=0) for way, of in found.items()}}

    measured: dict[str, dict] = {}  # by code, since several intervals may give the same points
    rows = []
    for interval, work in ((INSTRUCTIONS, task.work), *task.placed):
        code = code_digest(work)
        if code not in measured:
            measured[code] = figures(interval, work)
        rows.append({"interval": interval} | measured[code])
    return rows


def summary(rows: Sequence[dict]) -> list[dict]:
    """Return the figures of each placement over the kernels that were preempted with all placements.

    ``cycles`` is the mean ratio of the undisturbed run to the run with points by instructions; ``words`` is the same
    ratio of the code. ``over_occupied`` is the mean ratio of the mean latency to the mean latency of `occupied` **with
    points by instructions**, so that all placements have the same base. ``worst`` is the greatest ratio of the worst
    latency to the worst latency of that base.
    """
    base = {row["kernel"]: row for row in rows if row["interval"] == INSTRUCTIONS}
    used = base.keys() - {row["kernel"] for row in rows if not row["moments"]}
    found = []
    for interval in dict.fromkeys(row["interval"] for row in rows):
        mine = [(row, base[row["kernel"]]) for row in rows if row["interval"] == interval and row["kernel"] in used]
        if not mine:
            continue
        found.append({
            "interval": interval, "kernels": len(mine), "points": sum(row["points"] for row, _ in mine),
            "cycles": float(np.mean([row["cycles"] / first["cycles"] for row, first in mine])),
            "words": float(np.mean([row["words"] / first["words"] for row, first in mine])),
            "over_occupied": {way: float(np.mean([row["mean"][way] / first["mean"]["occupied"] for row, first in mine]))
                              for way in mine[0][0]["mean"]},
            "worst": {way: max(row["worst"][way] / first["worst"]["occupied"] for row, first in mine)
                      for way in mine[0][0]["mean"]}})
    return found


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench points", ("moments", "intervals", "summary"))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        intervals: Sequence[int] = (), moments: int = 10, seed: int = 1, jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None) -> dict:
    """Measure kernels with their points placed in several ways; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
        Geometry whose cycles are estimated and measured.
    size : str
        Size of the jobs.
    kernels, mechanisms : sequence
        All by default.
    intervals : sequence of int
        Intervals in estimated cycles, 4 or more; by default `INTERVALS`.
    moments : int
        Number of moments per kernel and placement, 1 or more; moments after the kernel's end do not count.
    seed : int
        Seed of the moments.
    jobs : int
        Number of processes.
    progress : callable
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(moments=moments, jobs=jobs)
    chosen, by_cycles = tuple(mechanisms) or WAITING, tuple(dict.fromkeys(intervals)) or INTERVALS
    options = CompileOptions(max_registers=g.regs_per_thread)
    tasks = []
    for name in kernels or KERNELS:
        shipped = kernel(name)
        plain, *placed = (CompiledJob(shipped.image(wanted), shipped.job(size)) for wanted in (
            options, *(dataclasses.replace(options, interval=cycles, interval_on=g) for cycles in by_cycles)))
        tasks.append(Task(g, plain, tuple(zip(map(str, by_cycles), placed, strict=True)), chosen, moments, seed))
    settings = geometry_settings(g) | {
        "size": size, "moments": moments, "seed": seed, "mechanisms": [mechanism.label for mechanism in chosen],
        "intervals": list(by_cycles)}
    return measure_kernels(measure, tasks, jobs, progress, settings, lambda rows: {"summary": summary(rows)}, json_file,
                           resume, works=lambda task: (task.work, *(work for _, work in task.placed)))
