"""A user's kernel from start to finish: launch, preemptions as the job file says, results judged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.sim import open_device
from caesura.software.compiler.codegen.image import KernelImage
from caesura.software.driver import CycleLimit, Device, Launch, LaunchError
from caesura.software.driver.module import Kernel
from caesura.software.job import JobError, JobFile, PreemptionSpec, Verdict, compare
from caesura.software.kernels import Job

from .scenario import PreemptionResult, Work, as_json, interrupt, shipped_work, start_job

__all__ = ["Preempted", "JobResult", "run_job", "result_json"]

_WORD = 1 << 32
_MOST_MEMORY = 1 << 32
MEMORY_BYTES = 64 << 20
"""At least; room for the contexts of four kernels on the largest preset."""


@dataclass(frozen=True)
class Preempted:
    """One preemption that took place.

    Attributes
    ----------
    spec : PreemptionSpec
    result : PreemptionResult
        `at` and `rest_cycles` are of the kernel's own time; `differences` those of the kernel that ran meanwhile.
    nested : list of Preempted
        Of the kernel that ran meanwhile.
    missed : list of int
        As in `JobResult`, of the kernel that ran meanwhile.
    """

    spec: PreemptionSpec
    result: PreemptionResult
    nested: list[Preempted]
    missed: list[int]

    @property
    def correct(self) -> bool:
        """What ran meanwhile computed what it should."""
        return self.result.correct and all(p.correct for p in self.nested)


@dataclass(frozen=True)
class JobResult:
    """What happened, ready to print.

    Attributes
    ----------
    cycles : int
        From the launch to the end, with everything in between.
    run_cycles : int
        Of them, those in which the kernel was not being saved, away or being restored.
    instructions : int
        Warp instructions the kernel retired; on the RTL, preemption points at which warps were stopped are among them.
    tbs : int
    preemptions : list of Preempted
    missed : list of int
        Cycles at which the kernel was to be preempted and had finished before anything was saved.
    verdicts : list of Verdict
        Of each array with something expected.
    arrays : dict of str to ndarray
        Every array argument at the end.
    """

    cycles: int
    run_cycles: int
    instructions: int
    tbs: int
    preemptions: list[Preempted]
    missed: list[int]
    verdicts: list[Verdict]
    arrays: dict[str, np.ndarray]

    @property
    def correct(self) -> bool:
        """Every array is what was expected, of the kernels that ran meanwhile too."""
        return not any(v.wrong for v in self.verdicts) and all(p.correct for p in self.preemptions)


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

    def __init__(self, device: Device, others: Mapping[tuple, tuple[Kernel, Job]], max_cycles: int,
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
            own += ran(self.device.run(launch, min(at - own, self.left)))
            if own < at or launch.finished:
                break
            preempted = self._preempt(launch, at, spec)
            if preempted.result.preempt is None:  # it finished before anything was saved
                break
            done.append(preempted)
            plan.done()
        own += ran(self.device.wait(launch, self.left))
        return own, done, plan.missed()

    def _preempt(self, launch: Launch, at: int, spec: PreemptionSpec) -> Preempted:
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
        result = interrupt(self.device, launch, kernel, job, at, spec.mechanism, scramble=spec.scramble,
                           gang=spec.gang, max_cycles=self.left, progress=self.progress, drive=drive)
        return Preempted(spec, result, nested, missed)


def _with_rest(preempted: Preempted, cycles: int) -> Preempted:
    return dataclasses.replace(preempted, result=dataclasses.replace(preempted.result, rest_cycles=cycles))


def _key(spec: PreemptionSpec) -> tuple[str, str, int]:
    return spec.other, spec.size, spec.seed


def _all(specs: Sequence[PreemptionSpec]) -> Iterator[PreemptionSpec]:
    for spec in specs:
        yield spec
        yield from _all(spec.nested)


def _memory_bytes(job: JobFile, works: Iterable[Work]) -> int:
    """Return a size of memory in which all arrays have room."""
    jobs = [work.job for work in works]
    arrays = [a for j in jobs for a in j.arguments.values() if isinstance(a, np.ndarray)]
    wanted = 2 * sum(array.nbytes + 512 for array in arrays) + (1 << 20)
    if wanted > _MOST_MEMORY:
        raise JobError(f"{job.path}: the arrays need {wanted // 2:,} bytes; half of the 32-bit address space is theirs")
    return max(MEMORY_BYTES, -(-wanted // 4096) * 4096)


def run_job(job: JobFile, images: Mapping[str, KernelImage], geometry: Geometry, backend: str = "rtl",
            max_cycles: int | None = None, progress: Callable[[str], None] = lambda text: None) -> JobResult:
    """Run a job on a device of its own.

    Parameters
    ----------
    job : JobFile
    images : mapping of str to KernelImage
        The compiled PTX.
    geometry : Geometry
    backend : str
    max_cycles : int, optional
        The job file's unless given.
    progress : callable

    Raises
    ------
    JobError
        If the job does not go with the kernel, or the kernel not with the SM.
    KernelFault
        If the kernel faulted.
    CycleLimit
        If it did not end in time.
    """
    image = job.choose(images)
    work = Work(image, job.job(image))
    others = {_key(spec): shipped_work(spec.other, geometry, spec.size, spec.seed) for spec in _all(job.preemptions)}
    limit = max_cycles or job.max_cycles
    progress(f"building the {backend} back end for {geometry.name}")
    device = open_device(backend, geometry, _memory_bytes(job, [work, *others.values()]))
    kernel = device.load([image])[image.name]
    loaded = {key: (device.load([other.image])[other.image.name], other.job) for key, other in others.items()}
    progress(f"{image.name}: running")
    try:
        launch, arrays = start_job(device, kernel, work.job)
        runner = _Runner(device, loaded, limit, progress)
        own, preemptions, missed = runner.drive(launch, job.preemptions)
    except LaunchError as error:
        raise JobError(f"{job.path}: {error}") from None
    except CycleLimit as error:
        raise CycleLimit(f"{job.path}: the limit of {limit:,} cycles for the whole job (max_cycles) has passed: "
                         f"{error}") from None
    results = {name: array.get() for name, array in arrays.items()}
    verdicts = [compare(name, results[name], argument.expected.values, argument.expected.atol, argument.expected.rtol)
                for name, argument in job.bind(image).items() if argument.expected]
    return JobResult(runner.cycles, own, runner.instructions, launch.progress[0], preemptions, missed, verdicts,
                     results)


def _preempted_json(preempted: Preempted) -> dict:
    spec, row = preempted.spec, as_json(preempted.result)
    del row["saved_tbs"]
    head = {"with": spec.other, "mechanism": spec.mechanism.label, "scramble": spec.scramble, "gang": spec.gang}
    return head | row | {"correct": preempted.correct, "preemptions": [_preempted_json(p) for p in preempted.nested],
                         "missed": preempted.missed}


def result_json(result: JobResult) -> dict:
    """Return a result as plain data; keys are documented in `docs/jobs.md`."""
    return {
        "correct": result.correct, "cycles": result.cycles, "run_cycles": result.run_cycles,
        "instructions": result.instructions, "tbs": result.tbs,
        "arrays": [{key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
                    for key, value in dataclasses.asdict(verdict).items()} for verdict in result.verdicts],
        "preemptions": [_preempted_json(p) for p in result.preemptions], "missed": result.missed,
    }
