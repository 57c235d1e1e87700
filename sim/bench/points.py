"""What it gives, and costs, to place preemption points by estimated cycles (`compiler.preemption.placement`, rule 2).

``caesura bench points`` compiles each kernel as the compiler does unless told otherwise, counting instructions, and for
each interval of estimated cycles; runs it undisturbed, and preempts it at the same shares of its run, drawn at random,
with mechanisms that wait for points, without patience, with the default one and without a bound, and with `occupied`.
All requests of a moment fork from one run, whose results are those of the reference.
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
"""Estimated cycles that are measured unless given."""
INSTRUCTIONS = "instructions"
"""Stands where an interval would for kernels as they are compiled unless told otherwise."""


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    placed : tuple of (str, CompiledJob)
        It with its points elsewhere, by interval in estimated cycles.
    mechanisms : tuple of Mechanism
        Which of `WAITING`.
    moments, seed : int
    """

    placed: tuple[tuple[str, CompiledJob], ...]
    mechanisms: tuple[Mechanism, ...]
    moments: int
    seed: int


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Return a row for each placement, that by instructions first."""
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

    measured: dict[str, dict] = {}  # by code: intervals may come to the same points
    rows = []
    for interval, work in ((INSTRUCTIONS, task.work), *task.placed):
        code = code_digest(work)
        if code not in measured:
            measured[code] = figures(interval, work)
        rows.append({"interval": interval} | measured[code])
    return rows


def summary(rows: Sequence[dict]) -> list[dict]:
    """Return what each placement comes to over the kernels that were preempted with all of them.

    ``cycles`` is the mean over the kernels of the undisturbed run over that with points by instructions, ``words`` of
    the code; ``over_occupied`` the mean of the mean latency over that of `occupied` **with points by instructions**, so
    that all are compared with one thing; ``worst`` the greatest of the worst latency over the worst of that.
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
        Whose cycles are estimated, and measured.
    size : str
        Size of the jobs.
    kernels, mechanisms : sequence
        By default all.
    intervals : sequence of int
        Estimated cycles, 4 or more; `INTERVALS` unless given.
    moments : int
        Of each kernel and placement, 1 or more; those after which it had ended by itself do not count.
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
