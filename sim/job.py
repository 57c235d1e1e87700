"""A user's kernel from start to finish: launch, preemptions as the job file says, results judged."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import area_bound, ccb_bytes
from caesura.sim import open_device
from caesura.software.compiler import KernelImage
from caesura.software.compiler.preemption.restartable import reason, spoilers
from caesura.software.driver import CycleLimit, Device, Launch, LaunchError, PreemptReport, Switches
from caesura.software.driver.launch.fit import check_fit
from caesura.software.driver.launch.module import Kernel
from caesura.software.driver.machine.bounds import GUARD_BYTES
from caesura.software.job import DEFAULT_CYCLES, JobError, PreemptionSpec, Verdict, compare
from caesura.software.kernels import Job

from . import scenario
from .scenario import CompiledJob, PreemptionResult, as_json, interrupt, report_json, start_job, user_work, verdicts

__all__ = ["Opener", "Preempted", "JobResult", "Task", "check_task", "device_opener", "neighbour", "neighbours",
           "run_task", "result_json"]

Opener = Callable[[int], AbstractContextManager[Device]]
"""Makes a device with so many bytes of memory, in a context that ends with its use."""
Progress = Callable[[str], None]
Running = tuple[str, str, int, Path | None]
"""The kernel that runs while another one is away: kernel, size and seed of its job, or the job file."""

_WORD = 1 << 32
_MOST_MEMORY = 1 << 32
MEMORY_BYTES = 128 << 20
"""Least size of a device's memory; it has room for the contexts of four kernels on the largest preset."""


@dataclass(frozen=True)
class Preempted:
    """One preemption that took place.

    Attributes
    ----------
    spec : PreemptionSpec
    result : PreemptionResult
        `at` and `rest_cycles` are of the kernel's own time; `differences` those of the kernel that ran meanwhile.
    nested : list of Preempted
        Preemptions of the kernel that ran meanwhile.
    missed : list of int
        Value of `JobResult` for the kernel that ran meanwhile.
    bases : tuple of PreemptReport
        Reports of the checkpoints before it.
    """

    spec: PreemptionSpec
    result: PreemptionResult
    nested: list[Preempted]
    missed: list[int]
    bases: tuple[PreemptReport, ...] = ()

    @property
    def correct(self) -> bool | None:
        """Whether the kernel that ran meanwhile was correct; None if its job states no expected results."""
        return _verdict(self.result.correct, bool(self.result.differences), self.nested)


@dataclass(frozen=True)
class JobResult:
    """The result of a job, ready to print.

    Attributes
    ----------
    cycles : int
        Cycles from the launch to the end, with everything in between.
    run_cycles : int
        Those of the `cycles` in which the kernel was not being saved, away or being restored.
    instructions : int
        Warp instructions the kernel retired; on the RTL, preemption points at which warps were stopped are among them.
    tbs : int
    switches : Switches or None
        Counts of the machine; None if it does not count.
    preemptions : list of Preempted
    missed : list of int
        Cycles at which the kernel was to be preempted and had finished before anything was saved.
    verdicts : list of Verdict
        Verdict on each array with expected contents.
    arrays : dict of str to ndarray
        Every array argument at the end.
    uncompared : tuple of str
        Array arguments that the kernel may have written and that were compared with nothing.
    """

    cycles: int
    run_cycles: int
    instructions: int
    tbs: int
    switches: Switches | None
    preemptions: list[Preempted]
    missed: list[int]
    verdicts: list[Verdict]
    arrays: dict[str, np.ndarray]
    uncompared: tuple[str, ...] = ()

    @property
    def correct(self) -> bool | None:
        """Every array that was compared is what it should be, of the kernels that ran meanwhile too; None if no array
        of this kernel was compared."""
        return _verdict(not any(v.wrong for v in self.verdicts), bool(self.verdicts), self.preemptions)

    def next_to(self, undisturbed: JobResult) -> JobResult:
        """Return the result with each array that is not compared next to that of a run without preemptions."""
        known = {verdict.name for verdict in self.verdicts}
        more = [dataclasses.replace(compare(name, self.arrays[name], undisturbed.arrays[name]), undisturbed=True)
                for name in self.arrays if name not in known]
        return dataclasses.replace(self, verdicts=self.verdicts + more, uncompared=())


def _verdict(right: bool, compared: bool, inner: Sequence[Preempted]) -> bool | None:
    """Return the verdict on a kernel and those that ran meanwhile: wrong if one is, unknown if it was not compared."""
    if not right or any(p.correct is False for p in inner):
        return False
    return True if compared else None


@dataclass(frozen=True)
class Task:
    """A job that is to be run.

    Attributes
    ----------
    work : CompiledJob
        The kernel and its launch.
    where : str
        Origin of the job for messages: a job file, or the name of a shipped kernel.
    preemptions : tuple of PreemptionSpec
    max_cycles : int
        Cycle limit for everything: the kernel, saving, restoring, and the kernel that runs meanwhile.
    check_bounds : bool
        Check each access to global memory; on the golden model only.
    names : mapping of str to str
        Names that messages use for fields of `preemptions` that do not come from a job file; not for nested ones.
    """

    work: CompiledJob
    where: str
    preemptions: tuple[PreemptionSpec, ...] = ()
    max_cycles: int = DEFAULT_CYCLES
    check_bounds: bool = False
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)


@contextmanager
def _opened(backend: str, geometry: Geometry, check_bounds: bool, memory_bytes: int) -> Iterator[Device]:
    yield open_device(backend, geometry, memory_bytes, check_bounds=check_bounds)


def device_opener(backend: str, geometry: Geometry, check_bounds: bool = False) -> Opener:
    """Return what makes the device of a run, given bytes of memory; `check_bounds` on the golden model only."""
    return functools.partial(_opened, backend, geometry, check_bounds)


class _Plan:
    """Which preemption comes next, in the kernel's own time; at one cycle, in the order of the file."""

    def __init__(self, specs: Sequence[PreemptionSpec]):
        self._specs = specs
        self._due = [(spec.at, k, 1) for k, spec in enumerate(specs)]

    def next(self) -> tuple[int, PreemptionSpec] | None:
        """Return the earliest one left."""
        if not self._due:
            return None
        at, index, _ = min(self._due)
        return at, self._specs[index]

    def done(self) -> None:
        """Go past the earliest one."""
        at, index, number = entry = min(self._due)
        spec = self._specs[index]
        self._due.remove(entry)
        if number != spec.times:
            self._due.append((at + spec.every, index, number + 1))

    def missed(self) -> list[int]:
        """Return the cycles left; a series without a limit misses nothing once it has begun."""
        return sorted(at for at, k, number in self._due if self._specs[k].times or number == 1)


class _Runner:
    """One run of a job, from its launch: brings launches to their end, each with its preemptions."""

    def __init__(self, device: Device, others: Mapping[Running, tuple[Kernel, Job]], max_cycles: int,
                 progress: Callable[[str], None]):
        self.device, self.others, self.max_cycles, self.progress = device, others, max_cycles, progress
        self.foreign = 0
        self.first_cycle, self.first_retired = self._count("cycle_low"), self._count("retired")

    def _count(self, register: str, since: int = 0) -> int:
        return (self.device.read(register) - since) % _WORD

    @property
    def cycles(self) -> int:
        return self._count("cycle_low", self.first_cycle)

    @property
    def instructions(self) -> int:
        """Retired since the start, without those of kernels that ran meanwhile."""
        return self._count("retired", self.first_retired) - self.foreign

    @property
    def left(self) -> int:
        return max(1, self.max_cycles - self.cycles)

    def drive(self, launch: Launch, specs: Sequence[PreemptionSpec]) -> tuple[int, list[Preempted], list[int]]:
        """Bring a launch to its end; return the cycles it ran, its preemptions, and the cycles of missed ones."""
        plan, own, done = _Plan(specs), 0, []

        def ran(cycles: int) -> int:
            if done:
                done[-1] = _with_rest(done[-1], done[-1].result.rest_cycles + cycles)
            return cycles

        while due := plan.next():
            at, spec = due
            bases: tuple[PreemptReport, ...] = ()
            if spec.lead is not None:
                own += ran(self.device.run(launch, min(max(at - spec.lead - own, 0), self.left)))
                bases, passed = self._prepare(launch, spec, min(at - own, self.left))
                own += ran(passed)
            own += ran(self.device.run(launch, min(at - own, self.left)))
            if own < at or launch.finished:
                break
            preempted = self._preempt(launch, at, spec, bases)
            if preempted.result.preempt is None:  # it finished before anything was saved
                break
            done.append(preempted)
            plan.done()
        own += ran(self.device.wait(launch, self.left))
        return own, done, plan.missed()

    def _prepare(self, launch: Launch, spec: PreemptionSpec, cycles: int) -> tuple[tuple[PreemptReport, ...], int]:
        """Save bases before a preempt: one now, or those wanted in so many cycles; return them, and the cycles that the
        kernel has run meanwhile."""
        if spec.announced is not None:
            done = self.device.anticipate(launch, cycles, spec.base, max_cycles=self.left)
            return done.checkpoints, 0 if launch.finished else cycles
        report = self.device.checkpoint(launch, spec.base, max_cycles=self.left)
        return (report,) if report else (), 0

    def _preempt(self, launch: Launch, at: int, spec: PreemptionSpec, bases: tuple[PreemptReport, ...]) -> Preempted:
        nested: list[Preempted] = []
        missed: list[int] = []

        def drive(other: Launch) -> int:
            retired, foreign = self._count("retired"), self.foreign
            cycles, inner, late = self.drive(other, spec.nested)
            nested.extend(inner)
            missed.extend(late)
            self.foreign = foreign + self._count("retired", retired)
            return cycles

        kernel, job = self.others[_key(spec)]
        result = interrupt(self.device, launch, kernel, job, at, spec.asked, newcomer=spec.newcomer, gang=spec.gang,
                           max_cycles=self.left, progress=self.progress, drive=drive)
        return Preempted(spec, result, nested, missed, bases)


def _with_rest(preempted: Preempted, cycles: int) -> Preempted:
    return dataclasses.replace(preempted, result=dataclasses.replace(preempted.result, rest_cycles=cycles))


def _key(spec: PreemptionSpec) -> Running:
    return spec.other, spec.size, spec.seed, spec.job.path if spec.job else None


def _all(specs: Sequence[PreemptionSpec]) -> Iterator[PreemptionSpec]:
    for spec in specs:
        yield spec
        yield from _all(spec.nested)


def _depth(specs: Sequence[PreemptionSpec]) -> int:
    """Return how many kernels are on the SM or away from it at once."""
    return 1 + max((_depth(spec.nested) for spec in specs), default=0)


def neighbour(spec: PreemptionSpec, g: Geometry, progress: Progress = lambda text: None, check_bounds: bool = False
              ) -> CompiledJob:
    """Return what runs while a kernel is away; parameters and errors as of `user_work` and `shipped_work`."""
    if spec.job is None:
        return scenario.shipped_work(spec.other, g, spec.size, spec.seed, check_bounds=check_bounds)
    return user_work(spec.other, spec.job, g, progress, check_bounds)


def neighbours(task: Task, g: Geometry, progress: Progress = lambda text: None) -> dict[Running, CompiledJob]:
    """Return what runs while kernels of a task are away, as `check_task` takes it; errors as of `neighbour`."""
    return {_key(spec): neighbour(spec, g, progress, task.check_bounds) for spec in _all(task.preemptions)}


def _check_preemptions(task: Task, others: Mapping[Running, CompiledJob], g: Geometry) -> None:
    def check(image: KernelImage, specs: Sequence[PreemptionSpec], names: Mapping[str, str]) -> None:
        for spec in specs:
            if wrong := _unable(spec, image, g, names):
                raise JobError(f"{task.where}: {wrong}")
            check(others[_key(spec)].image, spec.nested, {})

    check(task.work.image, task.preemptions, task.names)


def _unable(spec: PreemptionSpec, image: KernelImage, g: Geometry, names: Mapping[str, str]) -> str:
    """Return why a kernel cannot be preempted so on an SM, empty if it can."""
    if why := spec.refusal(g, names):
        return why
    trap, restart = (names.get(option, option) for option in ("trap", "restart"))
    if spec.way.trap and not image.traps:
        return (f"{trap}: kernel {image.name!r} has no preemption routines to stop in; give it some with --routines, "
                "or leave it out")
    if spec.way.restart and (spoiler := spoilers(image).apart):  # arrays of a job do not overlap
        return (f"{restart}: the thread blocks of kernel {image.name!r} cannot begin anew: {reason(spoiler)}; leave it "
                "out")
    return ""


def check_task(task: Task, others: Mapping[Running, CompiledJob], g: Geometry) -> None:
    """Refuse, before anything is built, what the SM has no room for, and preemptions that it cannot do.

    Raises
    ------
    JobError
        If a thread block, the parameters, the arrays or the kernels that are away at once do not fit, or an option of a
        preemption does not go with the SM, with the kernel or with another one.
    """
    _check_preemptions(task, others, g)
    try:
        for work in (task.work, *others.values()):
            job = work.job
            check_fit(g, work.image, job.grid, job.block, work.image.shared_bytes + job.shared_bytes)
    except LaunchError as error:
        raise JobError(f"{task.where}: {error}") from None
    if _depth(task.preemptions) > g.kernel_slots:
        raise JobError(f"{task.where}: preemptions of kernels that run meanwhile nest {_depth(task.preemptions)} "
                       f"kernels deep; this SM ({g.name}) has {g.kernel_slots} kernel slots")


def _memory_bytes(task: Task, works: Sequence[CompiledJob], g: Geometry) -> int:
    """Return a size of memory in whose halves all arrays, and all code and contexts have room."""
    more = 512 + GUARD_BYTES * task.check_bounds
    arrays = sum(a.nbytes + more for work in works for a in work.job.arguments.values() if isinstance(a, np.ndarray))
    system = 0
    for work in works:
        warps = -(-math.prod(work.job.block) // g.warp_size)
        area = area_bound(g, warps, work.image.registers, work.image.shared_bytes + work.job.shared_bytes)
        local = g.tb_slots * warps * g.warp_size * work.image.all_local_bytes
        system += _depth(task.preemptions) * (ccb_bytes(g, area) + local) + 8 * len(work.image.code) + \
            len(work.image.constants) + work.image.global_bytes + 4096
    wanted = 2 * max(arrays, system) + (1 << 20)
    if wanted > _MOST_MEMORY:
        raise JobError(f"{task.where}: the arrays need {arrays:,} bytes, code and contexts {system:,}; half of the "
                       "32-bit address space is there for each")
    return max(MEMORY_BYTES, -(-wanted // 4096) * 4096)


def run_task(task: Task, geometry: Geometry, backend: str = "rtl", progress: Progress = lambda text: None,
             open_device: Opener | None = None) -> JobResult:
    """Run a task on a device of its own.

    Parameters
    ----------
    task : Task
    geometry : Geometry
    backend : str
    progress : callable
    open_device : callable, optional
        Makes the device, given bytes of memory, in a context that ends with the run.

    Raises
    ------
    JobError
        As `check_task`: before a simulator is built.
    CompileError, ImageError
        If a kernel of the user's own that is to run meanwhile cannot be used.
    KernelFault
        If the kernel faulted.
    CycleLimit
        If it did not end in time.
    """
    others = neighbours(task, geometry, progress)
    check_task(task, others, geometry)
    memory = _memory_bytes(task, [task.work, *others.values()], geometry)
    progress(f"building the {backend} back end for {geometry.name}")
    with (open_device or device_opener(backend, geometry, task.check_bounds))(memory) as device:
        return _run(task, others, device, progress)


def _run(task: Task, others: Mapping[Running, CompiledJob], device: Device, progress: Progress) -> JobResult:
    image, job = task.work.image, task.work.job
    kernel = device.load([image])[image.name]
    loaded = {key: (device.load([other.image])[other.image.name], other.job) for key, other in others.items()}
    progress(f"{image.name}: running")
    try:
        launch, arrays = start_job(device, kernel, job)
        runner = _Runner(device, loaded, task.max_cycles, progress)
        own, preemptions, missed = runner.drive(launch, task.preemptions)
    except LaunchError as error:
        raise JobError(f"{task.where}: {error}") from None
    except CycleLimit as error:
        raise CycleLimit(f"{task.where}: the limit of {task.max_cycles:,} cycles for the whole run has passed; raise "
                         f"it with --max-cycles (max_cycles), unless the kernel never ends\n{error}") from None
    results = {name: array.get() for name, array in arrays.items()}
    found = verdicts(job, results)
    uncompared = _may_be_written(image, job) - {verdict.name for verdict in found}
    return JobResult(runner.cycles, own, runner.instructions, launch.progress[0], launch.switches, preemptions, missed,
                     found, results, tuple(name for name in results if name in uncompared))


def _may_be_written(image: KernelImage, job: Job) -> set[str]:
    """Return the names of the arguments through which a kernel may write memory."""
    written = spoilers(image).written
    return {name for name, parameter in zip(job.arguments, image.parameters, strict=True)
            if written is None or parameter.offset in written}


def _preempted_json(preempted: Preempted) -> dict:
    spec, row = preempted.spec, as_json(preempted.result)
    head = {"with": spec.other, "mechanism": spec.way.mechanism.label, "scramble": spec.way.scramble, "gang": spec.gang,
            "checkpoints": [report_json(base) for base in preempted.bases]}
    return head | row | {"correct": preempted.correct, "preemptions": [_preempted_json(p) for p in preempted.nested],
                         "missed": preempted.missed}


def result_json(result: JobResult) -> dict:
    """Return a result as plain data; keys are documented in `docs/keys.md`."""
    return {
        "correct": result.correct, "cycles": result.cycles, "run_cycles": result.run_cycles,
        "instructions": result.instructions, "tbs": result.tbs,
        "switches": result.switches and dataclasses.asdict(result.switches),
        "arrays": [{key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
                    for key, value in dataclasses.asdict(verdict).items()} for verdict in result.verdicts],
        "uncompared": list(result.uncompared),
        "preemptions": [_preempted_json(p) for p in result.preemptions], "missed": result.missed,
    }
