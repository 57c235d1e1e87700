"""Size and time of each preemption mechanism, for every shipped kernel (Lin et al. Figs. 6, 8, 15).

``caesura bench mechanisms`` preempts each kernel with each mechanism at cycles drawn at random over its run. It runs
another kernel that overwrites everything, brings the first back, and compares all memory with an undisturbed run, whose
results are checked. Every preemption forks from one run (a snapshot). A part that fails is listed with its error, and
the other parts go on. A run that was stopped can go on.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.sim import MEMORY_BYTES
from caesura.sim.register_classes import CLASSES, class_of
from caesura.sim.report.mechanisms import print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import library
from caesura.sim.scenario import CompiledJob, PreemptionResult, differences, live_bytes, shipped_work, start_job
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.driver import Device, TbContext
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .processes import perform
from .resumable import (
    KernelTask,
    check_counts,
    check_settings,
    code_digest,
    failure,
    geometry_settings,
    kernel_place,
    write_result,
)

__all__ = ["PREEMPTIONS", "OVERHEAD_LIMIT", "PAPER", "Task", "measure", "measure_overhead", "class_shares", "run",
           "read_result", "print_report", "spread"]

PREEMPTIONS = 50
"""Default number of preemptions per kernel and mechanism."""
ROUNDS = 4
"""Most draws of moments; a moment is drawn anew if the kernel ended during the request."""
OVERHEAD_LIMIT = 0.5
"""Limit of the cost of preemption points that are never taken, in percent."""
MAX_CYCLES = 5_000_000
PAPER = {
    "kernel": "layerforward", "uniform": 0.474, "strided": 0.526, "random": 0.0,
    "saved_by_liveness": 0.343, "saved_by_both": 0.915,
}
"""Lin et al. III-B and III-C: live registers of BP by pattern; mean saving of register context over their kernels."""


@dataclass(frozen=True)
class Task(KernelTask):
    """A part of the benchmark: a kernel and a mechanism.

    Attributes
    ----------
    mechanism : Mechanism or None
        None measures the overhead of preemption points.
    preemptions, seed : int
    """

    mechanism: Mechanism | None
    preemptions: int
    seed: int

    @property
    def key(self) -> tuple[str, str | None]:
        """Key of its row: the kernel, and the mechanism if there is one."""
        return self.name, None if self.mechanism is None else self.mechanism.label

    @property
    def label(self) -> str:
        """Name in progress messages."""
        return f"{self.name}, {self.mechanism.label if self.mechanism is not None else 'overhead of preemption points'}"


def class_shares(saved: Sequence[TbContext]) -> dict[str, float]:
    """Return the share of each class among the allocated registers of saved warps; dead ones count, so the sum is 1."""
    found = [class_of(encoding) for tb in saved for warp in tb.warps for encoding in warp.encodings.values()]
    return {name: found.count(name) / max(1, len(found)) for name in ("dead", *CLASSES)}


def _bytes(g: Geometry, work: CompiledJob, result: PreemptionResult) -> dict[str, float]:
    """Return the bytes of one preemption: register bytes per warp, and all bytes of the SM with its shared memory."""
    saved, tbs = result.preempt, result.saved_tbs
    assert saved is not None
    warps = max(1, sum(len(tb.warps) for tb in tbs))
    registers_only = [dataclasses.replace(tb, shared_lines={}) for tb in tbs]
    return {
        "warp_occupied": sum(len(tb.warps) * tb.allocated_registers for tb in tbs) * g.vector_bytes / warps,
        "warp_live": live_bytes(g, work.image, registers_only) / warps,
        "warp_written": sum(warp.data_bytes for tb in tbs for warp in tb.warps) / warps,
        "warp_metadata": sum(warp.metadata_bytes for tb in tbs for warp in tb.warps) / warps,
        "sm_occupied": saved.occupied_bytes, "sm_live": result.live_bytes, "sm_written": saved.data_bytes,
        "sm_metadata": saved.metadata_bytes, "tbs": saved.tbs, "warps": saved.warps,
    }


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return median, 99th percentile (the least value measured that 99 % do not exceed) and maximum."""
    if not values:
        return None
    return {"median": float(np.median(values)), "p99": float(np.percentile(values, 99, method="inverted_cdf")),
            "max": float(max(values))}


def _against(limits: Sequence) -> dict:
    """Return times (`scenario.Limit`) next to the time that the bus needs for the same bytes."""
    return {"median": float(np.median([limit.cycles for limit in limits])),
            "bus_median": float(np.median([limit.bus_cycles for limit in limits])),
            "limit_median": float(np.median([limit.limit for limit in limits])),
            "worst_share": max(limit.cycles / limit.limit for limit in limits),
            "met": all(limit.met for limit in limits)}


def _context(g: Geometry, task: Task, results: list[PreemptionResult]) -> dict:
    """Return the figures of preemptions that saved something, and their times next to the bus's."""
    if not results:
        return {"bytes": None, "save": None, "restore": None, "classes": None}
    amounts = [_bytes(g, task.work, result) for result in results]
    classes = None
    mechanism = task.mechanism
    if mechanism and mechanism.has(Capability.COMPRESSES) and not mechanism.has(Capability.FOLLOWS):
        shares = [class_shares(result.saved_tbs) for result in results]
        classes = {name: float(np.mean([share[name] for share in shares])) for name in shares[0]}
    return {
        "bytes": {name: float(np.mean([amount[name] for amount in amounts])) for name in amounts[0]},
        "save": _against([result.save_limit for result in results]),
        "restore": _against([result.restore_limit for result in results]), "classes": classes,
    }


def _summary(g: Geometry, task: Task, results: list[PreemptionResult], drawn: int, correct: bool) -> dict:
    """Return one row of the benchmark; `results` are those of the `drawn` moments that came before the kernel's end."""
    assert task.mechanism is not None
    saved = [result.preempt for result in results if result.preempt]
    held = [result for result in results if result.preempt and result.preempt.tbs]
    row = {"kernel": task.name, "mechanism": task.mechanism.label, "drawn": drawn, "preemptions": len(saved),
           "saved": len(held), "correct": correct}
    latencies = [report.save_cycles for report in saved]
    return row | _context(g, task, held) | {
        "moments": [result.at for result in results], "latencies": latencies, "latency": spread(latencies),
        "drain": spread([report.drain_cycles for report in saved]),
        "resume": spread([result.resume.resume_cycles for result in held if result.resume]),
    }


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> dict:
    """Preempt a kernel at random cycles of its run until `task.preemptions` cycles came before its end.

    A kernel without preemption points drains until its resident TBs have ended. The drain is its latency, and nothing
    is saved.
    """
    assert task.mechanism is not None
    g = task.geometry
    try:
        machine = Campaign(RtlTransport(g, MEMORY_BYTES), task.work, CompiledJob(*hostile(g)), MAX_CYCLES)
    except AssertionError as error:  # wrong without any preemption
        progress(str(error))
        return _summary(g, task, [], 0, False)
    rng = np.random.default_rng([task.seed, zlib.crc32(task.name.encode())])
    found: list[PreemptionResult] = []
    drawn, correct = 0, True
    for _ in range(ROUNDS):
        moments = np.sort(rng.integers(1, machine.cycles, task.preemptions - len(found))).tolist()
        for result, right in machine.results(task.mechanism, moments):
            drawn, correct = drawn + 1, correct and right
            if result.preempt:
                found.append(result)
            if drawn % 10 == 0:
                progress(f"{task.label}: {len(found)} of {task.preemptions}")
        if len(found) == task.preemptions:
            break
    return _summary(g, task, found, drawn, correct)


def _undisturbed(g: Geometry, work: CompiledJob) -> tuple[int, bool]:
    """Return the cycles of a run without preemption, and whether its results are right."""
    device = Device(RtlTransport(g, MEMORY_BYTES))
    launch, arrays = start_job(device, device.load([work.image])[work.image.name], work.job)
    first = device.read("cycle_low")
    device.wait(launch, MAX_CYCLES)
    return device.read("cycle_low") - first, not any(differences(work.job, arrays).values())


def measure_overhead(task: Task, plain: CompiledJob) -> dict:
    """Run a kernel with preemption points, and `plain` without them, and compare the cycles."""
    (cycles, right), (without, plain_right) = (_undisturbed(task.geometry, work) for work in (task.work, plain))
    percent = 100 * (cycles - without) / without
    return {"kernel": task.name, "cycles": cycles, "cycles_without": without, "percent": percent,
            "limit": OVERHEAD_LIMIT, "met": percent <= OVERHEAD_LIMIT, "correct": right and plain_right}


def _perform(task: tuple[Task, CompiledJob | None], progress: Callable[[str], None]) -> dict:
    """Return a row; a part that cannot be measured has an `error` and no figures."""
    measured, plain = task
    progress(measured.label)
    try:
        row = measure_overhead(measured, plain) if plain else measure(measured, progress)
    except Exception as error:  # a part's error must not lose the other rows
        return _died(task, error)
    return row | {"code": _code(task)}


def _died(task: tuple[Task, CompiledJob | None], error: Exception) -> dict:
    """Return the row of a part that could not be measured or whose process was killed."""
    kernel, mechanism = task[0].key
    row = {"kernel": kernel, "error": failure(error)}
    return row if mechanism is None else row | {"mechanism": mechanism}


def _code(task: tuple[Task, CompiledJob | None]) -> str:
    measured, plain = task
    return code_digest(measured.work, *([plain] if plain else []))


def _key(row: dict) -> tuple[str, str | None]:
    """Return the key of a row's task."""
    return row["kernel"], row.get("mechanism")


def _averages(rows: list[dict]) -> dict[str, float]:
    """Return the mean share of register context that is not written, over the kernels, by mechanism."""
    saved: dict[str, list[float]] = {}
    for row in rows:
        if row.get("bytes"):
            share = 1 - row["bytes"]["warp_written"] / row["bytes"]["warp_occupied"]
            saved.setdefault(row["mechanism"], []).append(share)
    return {mechanism: float(np.mean(shares)) for mechanism, shares in saved.items()}


def _result(g: Geometry, settings: dict, rows: list[dict], parts: int) -> dict:
    runs, overhead = ([row for row in rows if ("mechanism" in row) is whole] for whole in (True, False))
    good = [row for row in rows if "error" not in row]
    limits = [row for row in good if "mechanism" not in row]
    limits += [row[key] for row in good if "mechanism" in row for key in ("save", "restore") if row[key]]
    correct = all(row["correct"] for row in good)
    return settings | {
        "clock_mhz": g.clock_mhz, "correct": correct,
        "met": correct and len(good) == len(rows) == parts and all(limit["met"] for limit in limits),
        "runs": runs, "overhead": overhead, "saved_share": _averages(runs), "paper": PAPER}


def _taken_over(earlier: dict, codes: dict[tuple[str, str | None], str]) -> dict[tuple[str, str | None], dict]:
    """Return the rows of an earlier run by key, without failed rows and rows of changed code."""
    rows = {_key(row): row for row in (*earlier["runs"], *earlier["overhead"]) if "error" not in row}
    return {key: row for key, row in rows.items() if key not in codes or row.get("code") == codes[key]}


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote with `run(json_file=...)`, None if there is no such file.

    Raises
    ------
    ValueError
        If the file is something else.
    """
    return resumable.read_result(path, "caesura bench mechanisms", ("preemptions", "overhead"))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        preemptions: int = PREEMPTIONS, seed: int = 1, jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None, *, json_file: Path | None = None,
        resume: dict | None = None, works: Sequence[tuple[CompiledJob, CompiledJob]] = ()) -> dict:
    """Measure kernels with mechanisms; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Size of the jobs.
    kernels, mechanisms : sequence
        All by default.
    preemptions : int
        Number of preemptions per kernel and mechanism, 1 or more.
    seed : int
        Seed of the moments. All mechanisms have the same moments as long as there is something to save.
    jobs : int
        Number of processes.
    progress : callable
    json_file : Path, optional
        File that is written after each kernel and mechanism.
    resume : dict, optional
        Result of an earlier run. Its rows are used again where the kernel's code is the same. Rows of kernels and
        mechanisms that are not asked for are kept.
    works : sequence of (CompiledJob, CompiledJob)
        Kernels that replace the shipped ones, each with and without preemption points.

    Raises
    ------
    ValueError
        If there are no preemptions or processes, or the earlier run had other settings.
    """
    check_counts(preemptions=preemptions, jobs=jobs)
    settings = geometry_settings(g) | {"size": size, "preemptions": preemptions, "seed": seed}
    if resume is not None:
        check_settings(resume, settings)
    chosen = tuple(mechanisms) or tuple(Mechanism)
    pairs = works or [tuple(shipped_work(name, g, size, preemption_points=points) for points in (True, False))
                      for name in kernels or KERNELS]
    tasks: list[tuple[Task, CompiledJob | None]] = [
        (Task(g, work, mechanism, preemptions, seed), plain if mechanism is None else None)
        for work, plain in pairs for mechanism in (None, *chosen)]
    names = [task.key for task, _ in tasks]
    codes = dict(zip(names, map(_code, tasks), strict=True))
    rows = _taken_over(resume, codes) if resume else {}
    left = [task for name, task in zip(names, tasks, strict=True) if name not in rows]
    if left:
        progress(f"building the simulator of {g.name}")
        library(g)
    order = sorted(dict.fromkeys((*names, *rows)), key=_place)
    result = _result(g, settings, [rows[name] for name in order if name in rows], len(order))
    for _, row in perform(_perform, left, jobs, progress, lambda task: task[0].label, _died,
                           len(tasks) - len(left)):
        rows[_key(row)] = row
        result = _result(g, settings, [rows[name] for name in order if name in rows], len(order))
        if json_file is not None:
            write_result(json_file, result)
    return result


def _place(name: tuple[str, str | None]) -> tuple[int, int]:
    """Return the position of a row: kernels in the order of the package, then mechanisms in theirs."""
    kernel, mechanism = name
    labels = [None, *(each.label for each in Mechanism)]
    return kernel_place(kernel), labels.index(mechanism)
