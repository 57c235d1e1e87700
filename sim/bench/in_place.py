"""Preemption latency in place, next to the latency of a complete switch (Lin et al. III-A, V-E, Fig. 17).

``caesura bench in-place`` takes pairs of kernels. It launches the second kernel, the newcomer, after a quarter, half
and three quarters of the first kernel's run. The first kernel is preempted for it with ``live+cp``. One run saves all
of the first kernel; another saves only the TBs in the way of the newcomer. Warps wait for their preemption points
without a limit, as in the paper. In both runs the newcomer runs to its end, the first kernel is resumed and runs to its
end, and all results are compared. The latency alone is also measured with the driver's patience. All runs of a moment
fork from one state of the machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.in_place import PAPER, print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.newcomer import Departure, PairCampaign, Switch
from caesura.software.kernels import KERNELS

from . import resumable
from .resumable import KernelTask, check_counts, geometry_settings, measure_kernels

__all__ = ["DRAWN", "CHOSEN", "PAIRS", "MOMENTS", "Pair", "Task", "check", "drawn", "measure", "summary", "read_result",
           "run", "print_report"]

Pair = tuple[str, str]
"""The preempted kernel, and the newcomer."""
MECHANISM = Mechanism.LIVE_CP
SEED = 1
MOMENTS = {"1/4": 0.25, "1/2": 0.5, "3/4": 0.75}
"""Moments of preempts, as shares of the first kernel's undisturbed run."""


def drawn(count: int, seed: int = SEED) -> list[Pair]:
    """Return pairs of kernels of Lin et al.'s Table II, no kernel twice."""
    table = [name for name, kernel in KERNELS.items() if "Lin et al. Table II" in kernel.source]
    names = random.Random(seed).sample(table, 2 * count)
    return list(zip(names[::2], names[1::2], strict=True))


DRAWN: tuple[Pair, ...] = tuple(drawn(8))
"""Eight random pairs, as in the paper."""
CHOSEN: tuple[Pair, ...] = (
    ("find_range_k", "histogram1024"),
    *((first, second) for first in ("layerforward", "lud_perimeter", "compute_flux", "fdwt53")
      for second in ("initialize_variable", "heartwall")))
"""BT_1-HG_1, the one pair that the paper's text names, and eight pairs from Table II. The first kernels are limited by
warp slots, TB slots, registers and shared memory alone. Each is paired with the kernel that fills the least registers
and shared memory of a full SM, and with the one that fills the most.
"""
PAIRS = DRAWN + CHOSEN


@dataclass(frozen=True)
class Task(KernelTask):
    """A pair of kernels to be measured.

    Attributes
    ----------
    pair : tuple of str
    newcomer : CompiledJob
        Second kernel, with its job.
    """

    pair: Pair
    newcomer: CompiledJob

    @property
    def name(self) -> str:
        """Name of the pair in the paper's notation."""
        return "-".join(self.pair)


def _departure(found: Departure) -> dict:
    report = found.report
    return {"saves": report.save_cycles, "drains": report.drain_cycles, "patience": report.way.patience,
            "tbs": report.tbs,
            "bytes": report.saved_bytes, "registers": report.registers, "lines": report.lines,
            "registers_stay": found.registers_stay, "lines_stay": found.lines_stay, "first": found.first}


def _switch(found: Switch) -> dict:
    back = found.resumed
    return _departure(found.departure) | {
        "newcomer": found.newcomer, "evicted_tbs": found.evicted_tbs, "evicted_bytes": found.evicted_bytes,
        "restores": back.restore_cycles, "resumes": back.resume_cycles, "restored_bytes": back.bytes,
        "total": found.total}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Preempt the first of a pair for the second at all moments; return its row."""
    progress(f"{task.name}: undisturbed")
    machine = PairCampaign(RtlTransport(task.geometry, MEMORY_BYTES), task.work, task.newcomer)
    cycles = [int(share * machine.cycles) for share in MOMENTS.values()]
    row: dict = {"cycles": machine.cycles, "correct": True, "moments": {}}
    for name, at, found in zip(MOMENTS, cycles, machine.switches(MECHANISM, cycles, UNLIMITED), strict=True):
        progress(f"{task.name}: {name}")
        if found is None:
            continue
        complete, in_place, own_complete, own_in_place = found
        row["correct"] &= complete.correct and in_place.correct
        row["moments"][name] = {"at": at, "complete": _switch(complete), "in_place": _switch(in_place),
                                "own_complete": _departure(own_complete), "own_in_place": _departure(own_in_place)}
    return [row]


def _relative(moments: Sequence[dict], key: str, prefix: str = "") -> float | None:
    """Return the sum over all moments of a pair in place, over the sum with complete switches; None without any."""
    known = [(each[f"{prefix}in_place"][key], each[f"{prefix}complete"][key]) for each in moments]
    known = [(ours, theirs) for ours, theirs in known if None not in (ours, theirs)]
    whole = sum(theirs for _, theirs in known)
    return sum(ours for ours, _ in known) / whole if whole else None


def summary(rows: Sequence[dict]) -> dict[str, dict]:
    """Return the mean ratios of in place to complete over the drawn, the chosen and all pairs.

    There are ratios of the latency, of the latency with the driver's patience, and of other figures.
    """
    names = {"drawn": {"-".join(pair) for pair in DRAWN}, "chosen": {"-".join(pair) for pair in CHOSEN},
             "all": {row["kernel"] for row in rows}}
    found: dict[str, dict] = {}
    for group, members in names.items():
        mine = [[*row["moments"].values()] for row in rows if row["kernel"] in members and row["moments"]]
        if not mine:
            continue
        figures = {key: [_relative(moments, key) for moments in mine]
                   for key in ("saves", "bytes", "first", "newcomer", "restores", "total")}
        figures |= {f"own_{key}": [_relative(moments, key, "own_") for moments in mine] for key in ("saves", "first")}
        found[group] = {"pairs": len(mine)} | {key: _mean(values) for key, values in figures.items()}
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote (`sim.bench.resumable.read_result`)."""
    return resumable.read_result(path, "caesura bench in-place", ("paper", "summary"))


def check(g: Geometry) -> None:
    """Refuse an SM on which nothing stays in place."""
    if not g.in_place:
        raise InputError(f"geometry {g.name!r} keeps nothing in place (in_place = false): there is nothing to be "
                         "measured; gtx480 does")


def run(g: Geometry, size: str = "small", pairs: Sequence[Pair] = (), jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None) -> dict:
    """Measure pairs; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    pairs : sequence of tuple of str
        `PAIRS` by default.
    jobs : int
        Number of processes.
    progress : callable
    json_file, resume
        See `sim.bench.resumable.measure_kernels`.
    """
    check_counts(jobs=jobs)
    check(g)
    chosen = list(dict.fromkeys(pairs)) or list(PAIRS)
    tasks = [Task(g, shipped_work(first, g, size), (first, second), shipped_work(second, g, size))
             for first, second in chosen]
    settings = geometry_settings(g) | {"size": size, "mechanism": MECHANISM.label, "paper": PAPER}
    order = ["-".join(pair) for pair in (*PAIRS, *chosen)]
    return measure_kernels(measure, tasks, jobs, progress, settings, _outcome, json_file, resume,
                           works=lambda task: (task.work, task.newcomer),
                           place=lambda name: order.index(name) if name in order else len(order))


def _outcome(rows: list[dict]) -> dict:
    """Return the summary of all rows."""
    return {"met": all(row["correct"] for row in rows), "summary": summary(rows)}
