"""Size and time of an incremental save, by the time since its base (PEP III-C, Fig. 5; V-D, Fig. 12).

``caesura bench checkpoints`` saves a base of each kernel after a quarter of its run, lets it run on, and preempts it.
The first preempt comes as long after the base as an announcement precedes its launch (PEP III-D). The others come after
half and three quarters of the run. Each of these moments forks into two runs: one saves everything, the other saves the
increment. After the increment, another kernel overwrites the SM, the first is resumed from base and increment, and its
results are compared. A further run preempts and resumes the kernel three times; the image of its first restore stays
its base. All these runs fork from one run per mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism, mechanisms_of
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.checkpoints import MOMENTS, print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.driver import PreemptReport
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .resumable import KernelTask, check_counts, geometry_settings, measure_kernels

__all__ = ["WARNING", "Increment", "Task", "measure", "moment", "summary", "read_result", "run", "print_report"]

WARNING = 3_500
"""Cycles from the call of a launch to its kernel: 5 us at 700 MHz; PEP says several to tens of microseconds."""
MAX_CYCLES = 5_000_000


@dataclass(frozen=True)
class Task(KernelTask):
    """A kernel to measure.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
    """

    mechanisms: tuple[Mechanism, ...]


class Increment(NamedTuple):
    """An increment, and the whole preempt at the same moment.

    Attributes
    ----------
    report, whole : PreemptReport
    with_base : list of (int, int)
        Bytes of the stream of each TB with a base, and bytes of the base's stream.
    """

    report: PreemptReport
    whole: PreemptReport
    with_base: list[tuple[int, int]]


class _Checkpoints(Campaign):
    """Bases and increments of one kernel."""

    def _increment(self, mechanism: Mechanism) -> Increment | None:
        """Preempt now; None if the kernel had ended."""
        moment, others = self._fork(), self._others
        whole = self.device.preempt(self._launch, mechanism, max_cycles=self.max_cycles)
        self._back(moment)
        self._others = others
        report = self.device.preempt(self._launch, mechanism, incremental=True, max_cycles=self.max_cycles)
        if report is None or whole is None:
            return None
        return Increment(report, whole, [(tb.length, tb.base.length) for tb in self.device.context(self._launch)
                                         if tb.base is not None])

    def _return(self) -> None:
        self._run_neighbour()
        self.device.resume(self._launch, max_cycles=self.max_cycles)

    def _ends_well(self) -> bool:
        self.device.wait(self._launch, self.max_cycles)
        return not self._wrong()

    def increments(self, mechanism: Mechanism, cycle: int, gaps: Sequence[int]
                   ) -> Iterator[tuple[PreemptReport, Increment | None, bool] | None]:
        """Save a base at a cycle; yield it for each gap, with the later increment and whether the results are right.

        There is no increment if the kernel had ended. All are None if no base was saved.
        """
        for _ in self._at_each([cycle]):
            base = self.device.checkpoint(self._launch, mechanism, max_cycles=self.max_cycles)
            fork = self._fork()
            for gap in gaps:
                self._back(fork)
                self.device.run(self._launch, gap)
                found = self._increment(mechanism)
                if found:
                    self._return()
                right = self._ends_well()
                yield (base, found, right) if base else None

    def restored(self, mechanism: Mechanism, cycles: Sequence[int]) -> tuple[list[Increment | None], bool]:
        """Preempt at the first of some cycles of running time, and after each resume at the next one.

        Returns
        -------
        list of Increment or None
            Increments at all cycles but the first; None where the kernel had ended.
        bool
            Whether the results are right in the end.
        """
        found: list[Increment | None] = []
        right = True
        for now in self._at_each(cycles[:1]):
            saved = self.device.preempt(self._launch, mechanism, max_cycles=self.max_cycles) is not None
            for cycle in cycles[1:]:
                increment = None
                if saved:
                    self._return()
                    self.device.run(self._launch, cycle - now)
                    now, increment = cycle, self._increment(mechanism)
                    saved = increment is not None
                found.append(increment)
            if saved:
                self._return()
            right = self._ends_well()
        return found, right


def _size(report: PreemptReport) -> int:
    return report.saved_bytes


def moment(found: Increment) -> dict:
    """Return the figures of an increment, next to those of a whole preempt at the same moment.

    Bytes count everything that is written. `saves` are the latencies without the drain, in cycles. `with_base` counts
    the TBs with a base; `stream_bytes` and `base_stream_bytes` are the bytes of their increments and of their bases.
    """
    increment, whole = found.report, found.whole
    return {"with_base": len(found.with_base), "stream_bytes": sum(now for now, _ in found.with_base),
            "base_stream_bytes": sum(then for _, then in found.with_base),
            "tbs": increment.tbs, "bytes": _size(increment), "whole_bytes": _size(whole),
            "registers": increment.registers, "whole_registers": whole.registers,
            "saves": increment.save_cycles - increment.drain_cycles,
            "whole_saves": whole.save_cycles - whole.drain_cycles}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Save a base and three increments of a kernel with each mechanism, and two after a restore; return its rows."""
    rows = []
    for mechanism in task.mechanisms:
        machine = _Checkpoints(RtlTransport(task.geometry, MEMORY_BYTES), task.work,
                               CompiledJob(*hostile(task.geometry)),
                               MAX_CYCLES)
        at = machine.cycles // 4
        gaps = dict(zip(MOMENTS, (WARNING, at, 2 * at), strict=True))
        row: dict = {"mechanism": mechanism.label, "at": at, "correct": True, "base": None, "moments": {},
                     "restored": {}}
        for (name, gap), found in zip(gaps.items(), machine.increments(mechanism, at, [*gaps.values()]), strict=True):
            progress(f"{task.name}, {mechanism.label}: {name}")
            if found is None:
                continue
            base, increment, right = found
            row["correct"] &= right
            row["base"] = {"tbs": base.tbs, "bytes": _size(base), "registers": base.registers,
                           "occupied_bytes": base.occupied_bytes, "saves": base.save_cycles - base.drain_cycles}
            if increment is not None and increment.report.tbs:
                row["moments"][name] = {"after": gap} | moment(increment)
        progress(f"{task.name}, {mechanism.label}: restored")
        again, right = machine.restored(mechanism, [at, 2 * at, 3 * at])
        row["correct"] &= right
        row["restored"] = {name: {"after": gaps[name]} | moment(found)
                           for name, found in zip(MOMENTS[1:], again, strict=True)
                           if found is not None and found.report.tbs}
        rows.append(row)
    return rows


def summary(rows: Sequence[dict]) -> dict[str, dict[str, dict]]:
    """Return means over all kernels, by mechanism and increment; the name of an increment says if its base was
    restored.

    ``of_base`` is the size of increments over the size of their bases, in the kernels with such TBs (``with_base``).
    The others are the bytes, registers and time of an increment over those of a whole preempt.
    """
    found: dict[str, dict[str, dict]] = {}
    for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
        mine = [row for row in rows if row["mechanism"] == mechanism]
        by_name = {name: [row["moments"][name] for row in mine if name in row["moments"]] for name in MOMENTS}
        by_name |= {f"{name}, restored": [row["restored"][name] for row in mine if name in row["restored"]]
                    for name in MOMENTS[1:]}
        found[mechanism] = {}
        for name, known in by_name.items():
            pairs = {"of_base": [(each["stream_bytes"], each["base_stream_bytes"]) for each in known],
                     **{f"of_whole_{key}": [(each[key], each[f"whole_{key}"]) for each in known]
                        for key in ("bytes", "registers", "saves")}}
            found[mechanism][name] = {
                "kernels": len(known), "with_base": sum(each["with_base"] > 0 for each in known)} | {
                key: float(np.mean([a / b for a, b in values if b])) if any(b for _, b in values) else None
                for key, values in pairs.items()}
    return found


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench checkpoints", ("mechanisms", "summary"), ("restored",))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        jobs: int = 1, progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None) -> dict:
    """Measure kernels; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    kernels, mechanisms : sequence
        All by default.
    jobs : int
        Number of processes.
    progress : callable
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(jobs=jobs)
    if not g.checkpoints:
        raise InputError(f"geometry {g.name!r} has no checkpoints: there is nothing to be measured")
    chosen = tuple(mechanisms) or tuple(mechanisms_of(g))
    tasks = [Task(g, shipped_work(name, g, size), chosen) for name in kernels or KERNELS]
    settings = geometry_settings(g) | {"size": size, "mechanisms": [mechanism.label for mechanism in chosen]}
    return measure_kernels(measure, tasks, jobs, progress, settings, _outcome, json_file, resume)


def _outcome(rows: list[dict]) -> dict:
    """Return the summary of all rows."""
    return {"met": all(row["correct"] for row in rows), "summary": summary(rows)}
