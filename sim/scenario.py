"""One preemption from start to finish, judged: launch, preempt, run another kernel, resume, compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler.codegen.image import KernelImage
from caesura.software.compiler.codegen.listing import rows
from caesura.software.driver import Device, DeviceArray, Launch, PreemptReport, ResumeReport, TbContext
from caesura.software.driver.module import Kernel
from caesura.software.kernels import Job

__all__ = ["Work", "Limit", "PreemptionResult", "start_job", "differences", "live_bytes", "run_preemption",
           "save_limit", "restore_limit", "LIMIT_FACTOR"]

LIMIT_FACTOR = 1.25
"""Factor on the bus time in the save and restore limits, uncompressed."""
SAVE_ROUND_TRIPS = 3
RESTORE_ROUND_TRIPS = 4
CYCLES_PER_WARP = 4


@dataclass(frozen=True)
class Work:
    """A compiled kernel with a job for it."""

    image: KernelImage
    job: Job


@dataclass(frozen=True)
class Limit:
    """A time against its limit (design section 9), in cycles.

    Attributes
    ----------
    cycles : int
        Measured, the drain taken off.
    bus_cycles : float
        Payload bytes over the memory's bytes a cycle, or registers read if that is more.
    limit : float
        ``LIMIT_FACTOR * bus_cycles`` plus round trips plus 4 cycles a warp plus `regular_cycles`.
    regular_cycles : float
        Bus time of what TBs already back moved during a restore: regular traffic comes first. 0 in a gang resume.
    """

    cycles: int
    bus_cycles: float
    limit: float
    regular_cycles: float = 0

    @property
    def met(self) -> bool:
        """The time is within the limit."""
        return self.cycles <= self.limit


@dataclass(frozen=True)
class PreemptionResult:
    """What happened, ready to print.

    Attributes
    ----------
    at : int
        Cycle of the request, from the launch.
    preempt : PreemptReport or None
        None if the first kernel had finished before.
    other_cycles : int
        Cycles of the other kernel.
    resume : ResumeReport or None
    rest_cycles : int
        From the resume to the end.
    save_limit, restore_limit : Limit or None
        None on the golden model, whose cycles are instructions.
    saved_tbs : list
        `TbContext` of every TB, read back while it was away.
    live_bytes : int
        What of the saved TBs' registers is live where their warps stand, and the shared memory saved.
    differences : dict of str to int
        Wrong elements of each array of both kernels.
    """

    at: int
    preempt: PreemptReport | None
    other_cycles: int
    resume: ResumeReport | None
    rest_cycles: int
    save_limit: Limit | None
    restore_limit: Limit | None
    saved_tbs: list[TbContext]
    live_bytes: int
    differences: dict[str, int]

    @property
    def correct(self) -> bool:
        """Every array holds what it should."""
        return not any(self.differences.values())


def start_job(device: Device, kernel: Kernel, job: Job) -> tuple[Launch, dict[str, DeviceArray]]:
    """Copy a job's arrays to the device and launch it."""
    arrays = {name: device.array(value) for name, value in job.arguments.items() if isinstance(value, np.ndarray)}
    arguments = [arrays.get(name, value) for name, value in job.arguments.items()]
    return kernel(job.grid, job.block, arguments, job.shared_bytes), arrays


def differences(job: Job, arrays: dict[str, DeviceArray]) -> dict[str, int]:
    """Return how many elements of each expected array are wrong."""
    return {name: int(np.count_nonzero(arrays[name].get() != value)) for name, value in job.expected.items()}


def live_bytes(g: Geometry, image: KernelImage, saved: list[TbContext]) -> int:
    """Return the bytes of live registers of saved warps, and of their TBs' saved shared memory.

    A register counts if it is live at the warp's PC or, with the warp diverged, may be needed by lanes that wait
    elsewhere (Lin et al. III-B, Fig. 5).
    """
    table = rows(image)
    total = 0
    for tb in saved:
        total += sum(len(line) for line in tb.shared_lines.values())
        for warp in tb.warps:
            row = table[warp.pc]
            total += len({*row.live, *(row.waiting if len(warp.stack) > 1 else ())}) * g.vector_bytes
    return total


def _limit(g: Geometry, cycles: int, payload: int, registers: int, warps: int, trips: int, regular: int = 0) -> Limit:
    bus, others = max(payload / g.bytes_per_cycle, registers), regular / g.bytes_per_cycle
    return Limit(cycles, bus, LIMIT_FACTOR * bus + trips * g.memory_latency + CYCLES_PER_WARP * warps + others, others)


def save_limit(g: Geometry, report: PreemptReport) -> Limit:
    """Return the save time against its limit."""
    return _limit(g, report.save_cycles - report.drain_cycles, report.data_bytes + report.metadata_bytes,
                  report.registers * g.beats, report.warps, SAVE_ROUND_TRIPS)


def _regular_traffic(device: Device) -> int:
    """Return the bytes that all but the preemption unit have moved on the bus, 0 where they are not counted."""
    traffic = getattr(device.transport, "traffic", None)
    return sum(traffic.read[:2]) + sum(traffic.written[:1]) if traffic else 0


def restore_limit(g: Geometry, saved: PreemptReport, report: ResumeReport, regular_bytes: int = 0) -> Limit:
    """Return the restore time against its limit, which grows by the bus time of `regular_bytes` that others moved."""
    return _limit(g, report.restore_cycles, report.bytes, saved.registers * g.beats, saved.warps,
                  RESTORE_ROUND_TRIPS, regular_bytes)


def run_preemption(device: Device, work: Work, other: Work, at: int, mechanism: Mechanism, *, scramble: bool = False,
                   gang: bool = False, max_cycles: int = 5_000_000, progress: Callable[[str], None] = lambda text: None
                   ) -> PreemptionResult:
    """Launch `work`, preempt it after `at` cycles, run `other` to its end, resume, and compare all arrays.

    Raises
    ------
    software.driver.DriverError
        If a launch, a preempt or a resume fails, a kernel faults or does not end.
    """
    g = device.geometry
    kernel = device.load([work.image])[work.image.name]
    other_kernel = device.load([other.image])[other.image.name]
    launch, arrays = start_job(device, kernel, work.job)
    progress(f"{work.image.name}: running")
    device.advance(at)
    progress(f"{work.image.name}: preempting")
    saved = device.preempt(launch, mechanism, scramble=scramble, max_cycles=max_cycles)
    contexts = device.context(launch) if saved else []
    progress(f"{other.image.name}: running")
    other_launch, other_arrays = start_job(device, other_kernel, other.job)
    other_cycles = device.wait(other_launch, max_cycles)
    resumed, rest, regular = None, 0, _regular_traffic(device)
    if saved:
        progress(f"{work.image.name}: resuming")
        resumed = device.resume(launch, gang=gang, max_cycles=max_cycles)
        regular = 0 if gang else _regular_traffic(device) - regular
        progress(f"{work.image.name}: running to its end")
        rest = device.wait(launch, max_cycles)
    wrong = {f"{w.image.name}.{name}": count for w, a in ((work, arrays), (other, other_arrays))
             for name, count in differences(w.job, a).items()}
    timed = device.transport.name != "golden"  # whose cycles are instructions
    save = save_limit(g, saved) if timed and saved else None
    restore = restore_limit(g, saved, resumed, regular) if timed and saved and resumed else None
    return PreemptionResult(at, saved, other_cycles, resumed, rest, save, restore, contexts,
                            live_bytes(g, work.image, contexts), wrong)


def as_json(result: PreemptionResult) -> dict:
    """Return a result as plain data; keys are documented in `docs/cli.md`."""
    def plain(value):
        return {k: (v.name.lower() if isinstance(v, Mechanism) else v) for k, v in dataclasses.asdict(value).items()}

    def limit(value: Limit | None):
        return plain(value) | {"met": value.met} if value else None

    return {
        "at": result.at, "correct": result.correct, "differences": result.differences,
        "preempt": plain(result.preempt) if result.preempt else None,
        "other_cycles": result.other_cycles,
        "resume": plain(result.resume) if result.resume else None,
        "rest_cycles": result.rest_cycles,
        "save_limit": limit(result.save_limit), "restore_limit": limit(result.restore_limit),
        "live_bytes": result.live_bytes,
        "saved_tbs": [{
            "launch_id": tb.launch_id, "ctaid": list(tb.ctaid), "bytes": tb.length, "data_bytes": tb.data_bytes,
            "metadata_bytes": tb.metadata_bytes, "shared_lines": len(tb.shared_lines),
            "warps": [{"warp": w.warp, "pc": w.pc, "depth": len(w.stack), "live_lanes": w.live_lanes,
                       "barrier": w.barrier, "registers": len(w.registers)} for w in tb.warps],
        } for tb in result.saved_tbs],
    }
