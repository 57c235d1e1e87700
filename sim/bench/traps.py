"""Size and time of saves by preemption routines, next to preemption points.

``caesura bench traps`` preempts kernels on the RTL at the same moments in several ways: with `occupied`, at preemption
points, and by preemption routines. Each kind of routine that hands registers over is measured with the given mechanism.
Three kinds of routine store registers: all of them (the comparison of CTXBack), the live ones, and those that a
flashback needs. After each preempt, another kernel overwrites the SM, the first is resumed, and the results are
compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.traps import OCCUPIED, POINTS, STORED, print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.compiler.flashback.kinds import ROUTINES, RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .resumable import KernelTask, check_counts, geometry_settings, measure_kernels

__all__ = ["Task", "ways_of", "measure", "summary", "read_result", "run", "print_report"]

MAX_CYCLES = 5_000_000
_TIMES = "latency", "bytes", "restore"
_MEANS = *_TIMES, *(f"{key}_of_stored" for key in _TIMES), "drain", "lost", "code"
_STORED = RoutineKind.ALL, RoutineKind.LIVE, RoutineKind.CTXBACK
_MEASURED = [routines for routines in ROUTINES.values()
             if (routines.kind in _STORED if routines.form is RoutineForm.SOFTWARE
                 else routines.kind is not RoutineKind.ALL)]


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    ways : dict
        Result of `ways_of`.
    moments : int
        Number of preempts, spread evenly over the run.
    """

    ways: dict[str, tuple[CompiledJob, Mechanism]]
    moments: int


def ways_of(g: Geometry, work: CompiledJob, mechanism: Mechanism) -> dict[str, tuple[CompiledJob, Mechanism]]:
    """Return the ways to preempt a kernel, each with its routines, if any, and its mechanism."""
    images = {routines.label: with_routines(work.image, g, routines.kind, form=routines.form) for routines in _MEASURED}
    return {OCCUPIED: (work, Mechanism.OCCUPIED), POINTS: (work, mechanism),
            **{label: (dataclasses.replace(work, image=image), mechanism) for label, image in images.items()}}


def _preempted(task: Task, work: CompiledJob, mechanism: Mechanism) -> tuple[list[dict | None], bool]:
    """Return the figures of each moment, None after the kernel's end, and whether all results were right."""
    other = CompiledJob(*hostile(task.geometry))
    machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), work, other, MAX_CYCLES)
    cycles = [machine.cycles * (2 * k + 1) // (2 * task.moments) for k in range(task.moments)]
    found, right = [], True
    for result, correct in machine.results(mechanism, cycles, patience=UNLIMITED):
        right &= correct
        saved = result.preempt
        if saved is None or not saved.tbs or result.resume is None:
            found.append(None)
            continue
        stored, restore = result.stored_bytes, result.resume.restore_cycles
        found.append({
            "latency": saved.save_cycles, "drain": saved.drain_cycles, "tbs": saved.tbs,
            "bytes": saved.saved_bytes + stored, "data": saved.data_bytes + stored,
            "restore": restore,
            "lost": saved.save_cycles + restore + result.rest_cycles - (machine.cycles - result.at)})
    return found, right


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Preempt a kernel in every way; return its rows."""
    rows = []
    for way, (work, mechanism) in task.ways.items():
        progress(f"{task.name}: {way}")
        found, right = _preempted(task, work, mechanism)
        rows.append({"way": way, "words": len(work.image.code), "trap_words": len(work.image.traps), "correct": right,
                     "moments": found})
    return rows


def summary(rows: Sequence[dict]) -> dict[str, dict]:
    """Return the figures of each way, as means over the kernels of the means over their moments.

    Latency, bytes and restore time are ratios to `occupied` at the same moment, and to routines that store everything.
    The others are the worst latency of a moment, cycles of drain, lost cycles, and words of routines over words of
    code.

    A moment counts only if all ways found something to save.
    """
    kernels: dict[str, dict[str, dict]] = {}
    for row in rows:
        kernels.setdefault(row["kernel"], {})[row["way"]] = row
    found: dict[str, dict] = {}
    for way in dict.fromkeys(row["way"] for row in rows):
        means = []
        for ways in kernels.values():
            common = [k for k, moments in enumerate(zip(*(each["moments"] for each in ways.values()), strict=True))
                      if all(moments)]
            if not common:
                continue
            mine, occupied, stored = ([ways[each]["moments"][k] for k in common] for each in (way, OCCUPIED, STORED))
            means.append({key: _relative(mine, occupied, key) for key in _TIMES}
                         | {f"{key}_of_stored": _relative(mine, stored, key) for key in _TIMES}
                         | {key: float(np.mean([each[key] for each in mine])) for key in ("drain", "lost")}
                         | {"worst": max(a["latency"] / b["latency"] for a, b in zip(mine, occupied, strict=True)),
                            "code": ways[way]["trap_words"] / ways[way]["words"]})
        found[way] = {"kernels": len(means)} | {
            key: float(np.mean([each[key] for each in means])) if means else None for key in _MEANS} | {
            "worst": max((each["worst"] for each in means), default=None)}
    return found


def _relative(mine: Sequence[dict], theirs: Sequence[dict], key: str) -> float:
    return float(np.mean([a[key] / max(b[key], 1) for a, b in zip(mine, theirs, strict=True)]))


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench traps", ("mechanism", "moments", "summary"))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanism: Mechanism = Mechanism.LIVE_CP,
        moments: int = 5, jobs: int = 1, progress: Callable[[str], None] = lambda text: None, *,
        json_file: Path | None = None, resume: dict | None = None) -> dict:
    """Measure kernels; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    kernels : sequence of str
        All by default.
    mechanism : Mechanism
        Mechanism of all ways but the first.
    moments : int
        Number of preempts per kernel.
    jobs : int
        Number of processes.
    progress : callable
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(jobs=jobs, moments=moments)
    if not g.traps:
        raise InputError(f"geometry {g.name!r} has no traps: there is nothing to be measured")
    tasks = []
    for name in kernels or KERNELS:
        progress(f"{name}: making its routines")
        work = shipped_work(name, g, size)
        tasks.append(Task(g, work, ways_of(g, work, mechanism), moments))
    settings = geometry_settings(g) | {"size": size, "mechanism": mechanism.label, "moments": moments}
    return measure_kernels(measure, tasks, jobs, progress, settings, _outcome, json_file, resume,
                           works=lambda task: [work for work, _ in task.ways.values()])


def _outcome(rows: list[dict]) -> dict:
    """Return the summary of all rows."""
    return {"met": all(row["correct"] for row in rows), "summary": summary(rows)}
