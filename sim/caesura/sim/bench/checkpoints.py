"""What an increment saves, by the time since its base (PEP III-C, Fig. 5; V-D, Fig. 12).

``caesura bench checkpoints`` saves a base of each kernel when a quarter of its run is over, lets it run on, and
preempts it: as long after as a launch announces itself before it comes (PEP III-D), and when half and three quarters of
its run are over. From each of these moments two runs go on, one in which everything is saved, one in which the
increment is. After the latter another kernel overwrites the SM, the first is resumed from base and increment, and its
results are compared. All of it forks from one run a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.context import Mechanism, mechanisms_of
from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.checkpoints import MOMENTS, print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import Work, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.driver import PreemptReport
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .resumable import KernelTask, geometry_settings, measure_kernels

__all__ = ["WARNING", "Task", "measure", "moment", "summary", "read_result", "run", "print_report"]

WARNING = 3_500
"""Cycles from the call of a launch to its kernel: 5 us at 700 MHz; PEP says several to tens of microseconds."""
MAX_CYCLES = 5_000_000


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to be measured.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
    """

    mechanisms: tuple[Mechanism, ...]


def _size(report: PreemptReport) -> int:
    return report.data_bytes + report.metadata_bytes


def moment(increment: PreemptReport, whole: PreemptReport) -> dict:
    """Return the figures of an increment, next to what a whole preempt saves at the same moment.

    Bytes are all that is written, `saves` the latencies without the drain, in cycles.
    """
    return {"tbs": increment.tbs, "bytes": _size(increment), "whole_bytes": _size(whole),
            "registers": increment.registers, "whole_registers": whole.registers,
            "saves": increment.save_cycles - increment.drain_cycles,
            "whole_saves": whole.save_cycles - whole.drain_cycles}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Save a base and three increments of a kernel with each mechanism; return its rows."""
    rows = []
    for mechanism in task.mechanisms:
        machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), task.work, Work(*hostile(task.geometry)),
                           MAX_CYCLES)
        at = machine.cycles // 4
        gaps = dict(zip(MOMENTS, (WARNING, machine.cycles // 4, machine.cycles // 2), strict=True))
        row: dict = {"mechanism": mechanism.label, "at": at, "correct": True, "base": None, "moments": {}}
        for (name, gap), found in zip(gaps.items(), machine.increments(mechanism, at, [*gaps.values()]), strict=True):
            progress(f"{task.name}, {mechanism.label}: {name}")
            if found is None:
                continue
            base, increment, whole, right = found
            row["correct"] &= right
            row["base"] = {"tbs": base.tbs, "bytes": _size(base), "registers": base.registers,
                           "occupied_bytes": base.occupied_bytes, "saves": base.save_cycles - base.drain_cycles}
            if increment is not None and whole is not None and increment.tbs:
                row["moments"][name] = {"after": gap} | moment(increment, whole)
        rows.append(row)
    return rows


def summary(rows: Sequence[dict]) -> dict[str, dict[str, dict]]:
    """Return, by mechanism and moment, the means over all kernels of an increment's bytes a TB over those of the base,
    and of its bytes, registers and time over those of a whole preempt."""
    found: dict[str, dict[str, dict]] = {}
    for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
        mine = [row for row in rows if row["mechanism"] == mechanism]
        found[mechanism] = {}
        for name in MOMENTS:
            known = [(row["base"], row["moments"][name]) for row in mine if name in row["moments"]]
            pairs = {
                "of_base": [(each["bytes"] / each["tbs"], base["bytes"] / base["tbs"]) for base, each in known],
                **{f"of_whole_{key}": [(each[key], each[f"whole_{key}"]) for _, each in known]
                   for key in ("bytes", "registers", "saves")}}
            found[mechanism][name] = {"kernels": len(known)} | {
                key: float(np.mean([a / b for a, b in values if b])) if any(b for _, b in values) else None
                for key, values in pairs.items()}
    return found


def read_result(path: Path) -> dict | None:
    """Return what an earlier run wrote with `run(json_file=...)`; as `sim.bench.resumable.read_result`."""
    return resumable.read_result(path, "caesura bench checkpoints", ("mechanisms", "summary"))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        jobs: int = 1, progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None) -> dict:
    """Measure kernels; keys are documented in `docs/cli.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Of the jobs.
    kernels, mechanisms : sequence
        All there are unless given.
    jobs : int
        Processes.
    progress : callable
    json_file, resume
        As in `sim.bench.resumable.measure_kernels`.
    """
    if jobs < 1:
        raise InputError(f"jobs must be 1 or more, not {jobs}")
    if not g.checkpoints:
        raise InputError(f"geometry {g.name!r} has no checkpoints: there is nothing to be measured")
    chosen = tuple(mechanisms) or tuple(mechanisms_of(g))
    tasks = [Task(g, shipped_work(name, g, size), chosen) for name in kernels or KERNELS]
    settings = geometry_settings(g) | {"size": size, "mechanisms": [mechanism.label for mechanism in chosen]}
    return measure_kernels(measure, tasks, jobs, progress, settings, _outcome, json_file, resume)


def _outcome(rows: list[dict]) -> dict:
    """Return what follows from all rows."""
    return {"met": all(row["correct"] for row in rows), "summary": summary(rows)}
