"""One preemption from start to finish, judged: launch, preempt, run another kernel, resume, compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import WORD_BYTES, Geometry
from caesura.hw.arch.way import Way
from caesura.software.compiler import CompileOptions, ImageError, KernelImage, kernel_names, stored_module
from caesura.software.compiler.codegen.elf import is_elf, read_elf
from caesura.software.compiler.codegen.listing import rows
from caesura.software.compiler.preemption.routine_check import routine_words
from caesura.software.compiler.source import source_text
from caesura.software.driver import Device, DeviceArray, Launch, PreemptReport, ResumeReport, TbContext
from caesura.software.driver.launch.module import Kernel
from caesura.software.job import JobFile, Verdict, compare
from caesura.software.kernels import Job, hostile, kernel

__all__ = ["CompiledJob", "Limit", "PreemptionResult", "report_json", "shipped_work", "start_job", "differences",
           "judged", "live_bytes", "stored_bytes", "user_work", "verdicts", "interrupt", "run_preemption",
           "save_limit", "restore_limit", "Allowance", "allowance"]


@dataclass(frozen=True)
class Allowance:
    """The allowance of a limit beside the bus, for every mechanism.

    Attributes
    ----------
    bus_factor : float
        Factor on the bus time.
    save_trips, restore_trips : int
        Memory round trips.
    warp_cycles : int
        Cycles a warp.
    """

    bus_factor: float
    save_trips: int
    restore_trips: int
    warp_cycles: int


NARROW = Allowance(bus_factor=1.05, save_trips=2, restore_trips=3, warp_cycles=2)
WIDE = Allowance(bus_factor=1.15, save_trips=3, restore_trips=4, warp_cycles=4)
NARROW_BYTES = 16
"""Bytes a cycle up to which a bus counts as narrow."""


def allowance(g: Geometry) -> Allowance:
    """Return what the limits on a geometry's saves and restores allow.

    As in docs/preemption.md, Limits on save and restore time.
    """
    return NARROW if g.bytes_per_cycle <= NARROW_BYTES else WIDE


@dataclass(frozen=True)
class CompiledJob:
    """A compiled kernel with a job for it."""

    image: KernelImage
    job: Job


def shipped_work(name: str, g: Geometry, size: str = "small", seed: int = 1, preemption_points: bool = True,
                 check_bounds: bool = False, eviction_check: bool = False) -> CompiledJob:
    """Return a shipped kernel, or ``hostile``, compiled for a geometry, with a job; options as `user_work`."""
    if name == "hostile":
        return CompiledJob(*hostile(g))
    shipped = kernel(name)
    options = CompileOptions(max_registers=g.regs_per_thread, preemption_points=preemption_points,
                             check_addresses=check_bounds, eviction_check=eviction_check)
    return CompiledJob(shipped.image(options), shipped.job(size, seed))


def user_work(source: str | Path, job: JobFile, g: Geometry, progress: Callable[[str], None] = lambda text: None,
              check_bounds: bool = False, eviction_check: bool = False) -> CompiledJob:
    """Return a kernel of the user's own, compiled for a geometry, with its job.

    Parameters
    ----------
    source : path
        PTX, or an ELF file of kernel images.
    job : JobFile
    g : Geometry
    progress : callable
        Told before something is compiled.
    check_bounds : bool
        Compile such that 64-bit addresses with an upper word are found; an image is taken as it is.
    eviction_check : bool
        Thread blocks leave when they begin if a flag is set; not with an image, which is taken as it is.

    Raises
    ------
    CompileError, ImageError
        If the kernel cannot be compiled, or the file cannot be used.
    JobError
        If the job does not go with the kernel.
    """
    raw = Path(source).read_bytes()
    if is_elf(raw):
        if eviction_check:
            raise ImageError(f"{source}: a kernel image has its eviction check already, or has none; leave "
                             "--eviction-check (eviction_check) out, or give PTX")
        images = read_elf(raw, str(source))
    else:
        text = source_text(raw, str(source))
        options = CompileOptions(max_registers=g.regs_per_thread, check_addresses=check_bounds,
                                 eviction_check=eviction_check)
        name = job.choose(kernel_names(text, str(source)))
        images = stored_module(text, str(source), options, [name], progress).all_images()
    image = images[job.choose(images)]
    return CompiledJob(image, job.job(image))


@dataclass(frozen=True)
class Limit:
    """A time against its limit (docs/preemption.md, Limits on save and restore time), in cycles.

    Attributes
    ----------
    cycles : int
        Measured, the drain taken off.
    bus_cycles : float
        Payload bytes over the memory's bytes a cycle, or registers read if that is more.
    limit : float
        ``bus_factor * bus_cycles`` plus round trips and cycles a warp (`Allowance`) plus `regular_cycles`.
    regular_cycles : float
        Bus time that regular traffic took meanwhile, since it comes first: of warps still running during a save
        (but for the drain), of TBs already back during a restore (0 in a gang resume).
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
    """The result of a preemption, ready to print.

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
        Cycles from the resume to the end.
    save_limit, restore_limit : Limit or None
        None on the golden model, whose cycles are instructions.
    saved_tbs : list
        `TbContext` of every TB, read back while it was away.
    live_bytes : int
        Bytes of the saved TBs' registers that are live where their warps stand, and of the shared memory saved.
    differences : dict of str to int
        Wrong elements of each array of both kernels.
    stored_bytes : int
        Bytes that the warps of saved TBs have stored themselves, in preemption routines.
    evicted_tbs, evicted_bytes : int
        TBs, of any kernel, that had stayed on the SM and were written to memory until all were back, and bytes of them.
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
    stored_bytes: int = 0
    evicted_tbs: int = 0
    evicted_bytes: int = 0

    @property
    def correct(self) -> bool:
        """Every array holds what it should."""
        return not any(self.differences.values())


def start_job(device: Device, kernel: Kernel, job: Job) -> tuple[Launch, dict[str, DeviceArray]]:
    """Copy a job's arrays to the device and launch it."""
    arrays = {name: device.array(value) for name, value in job.arguments.items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        array.label = name
    arguments = [arrays.get(name, value) for name, value in job.arguments.items()]
    return kernel(job.grid, job.block, arguments, job.shared_bytes), arrays


def differences(job: Job, arrays: dict[str, DeviceArray]) -> dict[str, int]:
    """Return how many elements of each expected or judged array are wrong.

    Where the job states no tolerance, -0.0 is not 0.0 and a NaN equals itself.
    """
    return {verdict.name: verdict.wrong for verdict in verdicts(job, {name: a.get() for name, a in arrays.items()})}


def verdicts(job: Job, arrays: dict[str, np.ndarray]) -> list[Verdict]:
    """Return how each expected or judged array compares with what it should be; `arrays` are as at the end."""
    found = [compare(name, arrays[name], value, *job.bounds(name)) for name, value in job.expected.items()]
    wrong = job.judge(arrays) if job.judge else {}
    return found + [Verdict(name, arrays[name].size, count, None, None, None, None, None, None, True)
                    for name, count in wrong.items()]


def judged(job: Job, arrays: dict[str, DeviceArray]) -> dict[str, int]:
    """Return how many elements are wrong of each array that the job's order-free judge judges."""
    return job.judge({name: array.get() for name, array in arrays.items()}) if job.judge else {}


def live_bytes(g: Geometry, image: KernelImage, saved: list[TbContext]) -> int:
    """Return the bytes of live registers of saved warps, and of their TBs' saved shared memory.

    A register counts if it is live at the warp's PC or, with the warp diverged, may be needed by lanes that wait
    elsewhere (Lin et al. III-B, Fig. 5). In a preemption routine the PC is that of the interrupted instruction.
    """
    table = rows(image)
    total = 0
    for tb in saved:
        total += sum(len(line) for line in tb.whole.shared_lines.values())
        for warp in tb.warps:
            own = [entry for entry in warp.stack if not 0 < image.trap_base <= entry.pc]
            row = table[own[-1].pc]
            total += len({*row.live, *(row.waiting if len(own) > 1 else ())}) * g.vector_bytes
    return total


def stored_bytes(image: KernelImage, saved: Sequence[TbContext]) -> int:
    """Return what the warps of saved TBs have stored themselves, in preemption routines."""
    if not image.routine_bytes:
        return 0
    total = 0
    for warp in (warp for tb in saved for warp in tb.warps if warp.stack):
        if 0 < image.trap_base <= warp.stack[-1].pc:
            stores = sum(instruction.op.all_lanes and instruction.op.store
                         for _, instruction in routine_words(image, warp.stack[-1].reconv))
            total += WORD_BYTES * stores * warp.live_lanes.bit_count()
    return total


def _limit(g: Geometry, saved: PreemptReport, cycles: int, payload: int, trips: int, regular: int = 0) -> Limit:
    bus, others = max(payload / g.bytes_per_cycle, saved.registers * g.beats), regular / g.bytes_per_cycle
    allowed = allowance(g)
    fixed = trips * g.memory_latency + allowed.warp_cycles * saved.warps
    return Limit(cycles, bus, allowed.bus_factor * bus + fixed + others, others)


def save_limit(g: Geometry, report: PreemptReport, regular_bytes: int = 0) -> Limit:
    """Return the save time against its limit, which grows by the bus time of `regular_bytes` of running warps."""
    payload = report.saved_bytes
    return _limit(g, report, report.save_cycles - report.drain_cycles, payload,
                  allowance(g).save_trips, regular_bytes)


def _regular_traffic(device: Device) -> int:
    """Return the bytes that all but the preemption unit have moved, but for drains; 0 where they are not counted."""
    traffic = getattr(device.transport, "traffic", None)
    return traffic.regular - traffic.drain if traffic else 0


def restore_limit(g: Geometry, saved: PreemptReport, report: ResumeReport, regular_bytes: int = 0) -> Limit:
    """Return the restore time against its limit, which grows by the bus time of `regular_bytes` that others moved."""
    return _limit(g, saved, report.restore_cycles, report.bytes, allowance(g).restore_trips, regular_bytes)


def interrupt(device: Device, launch: Launch, kernel: Kernel, job: Job, at: int, way: Way, *, newcomer: bool = False,
              gang: bool = False, max_cycles: int = 5_000_000, progress: Callable[[str], None] = lambda text: None,
              drive: Callable[[Launch], int] | None = None) -> PreemptionResult:
    """Preempt a launch now, run another kernel to its end, resume; `rest_cycles` of the result is 0.

    Parameters
    ----------
    device : Device
    launch : Launch
        Running, or finished.
    kernel, job : Kernel, Job
        Kernel that runs meanwhile, and its job; `differences` of the result are its own.
    at : int
        Value of `at` in the result.
    way : Way
        How it is preempted.
    newcomer : bool
        The other kernel is launched before the preempt, which is in place and makes room for it.
    gang, max_cycles, progress
        As in `Device.resume`.
    drive : callable, optional
        Brings the other launch to its end and returns the cycles; ``device.wait`` unless given.
    """
    g, image = device.geometry, launch.kernel.image
    progress(f"{image.name}: preempting")
    in_place = way.in_place or newcomer
    before = _evicted(device) if in_place else (0, 0)
    named = start_job(device, kernel, job) if newcomer else None
    others = _regular_traffic(device)
    saved = device.preempt(launch, way, newcomer=named[0] if named else None, max_cycles=max_cycles)
    others = _regular_traffic(device) - others
    contexts = device.context(launch) if saved else []
    progress(f"{kernel.image.name}: running")
    other_launch, arrays = named or start_job(device, kernel, job)
    other_cycles = drive(other_launch) if drive else device.wait(other_launch, max_cycles)
    wrong = {f"{kernel.image.name}.{name}": count for name, count in differences(job, arrays).items()}
    for array in arrays.values():
        array.free()
    resumed, regular = None, _regular_traffic(device)
    if saved:
        progress(f"{image.name}: resuming")
        resumed = device.resume(launch, gang=gang, max_cycles=max_cycles)
        regular = 0 if gang else _regular_traffic(device) - regular
        progress(f"{image.name}: running on")
    evicted = _evicted(device) if in_place else (0, 0)
    timed = device.transport.name != "golden"  # whose cycles are instructions
    save = None
    if timed and saved and not saved.grace_cycles:  # what others moved while TBs had grace is nobody's limit
        save = save_limit(g, saved, others)
    restore = restore_limit(g, saved, resumed, regular) if timed and saved and resumed else None
    return PreemptionResult(at, saved, other_cycles, resumed, 0, save, restore, contexts,
                            live_bytes(g, image, contexts), wrong, stored_bytes(image, contexts),
                            *((now - then) % (1 << 32) for now, then in zip(evicted, before, strict=True)))


def _evicted(device: Device) -> tuple[int, int]:
    return device.read("evicted_tbs"), device.read("evicted_bytes")


def run_preemption(device: Device, work: CompiledJob, other: CompiledJob, at: int, way: Way, *, gang: bool = False,
                   max_cycles: int = 5_000_000, progress: Callable[[str], None] = lambda text: None
                   ) -> PreemptionResult:
    """Launch `work`, preempt it after `at` cycles, run `other` to its end, resume, and compare all arrays.

    Raises
    ------
    software.driver.DriverError
        If a launch, a preempt or a resume fails, a kernel faults or does not end.
    """
    kernel = device.load([work.image])[work.image.name]
    other_kernel = device.load([other.image])[other.image.name]
    launch, arrays = start_job(device, kernel, work.job)
    progress(f"{work.image.name}: running")
    device.advance(at)
    result = interrupt(device, launch, other_kernel, other.job, at, way, gang=gang, max_cycles=max_cycles,
                       progress=progress)
    rest = device.wait(launch, max_cycles) if result.resume else 0
    own = {f"{work.image.name}.{name}": count for name, count in differences(work.job, arrays).items()}
    return dataclasses.replace(result, rest_cycles=rest, differences=own | result.differences)


def report_json(report: PreemptReport) -> dict:
    """Return what a preempt or a checkpoint took as plain data."""
    plain = dataclasses.asdict(report)
    way = plain.pop("way") | {"mechanism": report.way.mechanism.label}
    return way | plain | {"patience_over": report.patience_over}


def as_json(result: PreemptionResult) -> dict:
    """Return a result as plain data; keys are documented in `docs/keys.md`."""
    def limit(value: Limit | None):
        return dataclasses.asdict(value) | {"met": value.met} if value else None

    return {
        "at": result.at, "correct": result.correct, "differences": result.differences,
        "preempt": report_json(result.preempt) if result.preempt else None,
        "other_cycles": result.other_cycles,
        "resume": dataclasses.asdict(result.resume) if result.resume else None,
        "rest_cycles": result.rest_cycles,
        "save_limit": limit(result.save_limit), "restore_limit": limit(result.restore_limit),
        "live_bytes": result.live_bytes, "stored_bytes": result.stored_bytes,
        "evicted_tbs": result.evicted_tbs, "evicted_bytes": result.evicted_bytes,
        "saved_tbs": [{
            "launch_id": tb.launch_id, "ctaid": list(tb.ctaid), "bytes": tb.length, "data_bytes": tb.data_bytes,
            "metadata_bytes": tb.metadata_bytes, "shared_lines": len(tb.shared_lines),
            "registers_stay": tb.registers_stay, "lines_stay": tb.lines_stay,
            "warps": [{"warp": w.warp, "pc": w.pc, "depth": len(w.stack), "live_lanes": w.live_lanes,
                       "barrier": w.barrier, "registers": len(w.registers)} for w in tb.warps],
        } for tb in result.saved_tbs],
    }
