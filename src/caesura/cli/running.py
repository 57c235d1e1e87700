"""The parts that ``caesura run`` and ``caesura preempt`` share: their options, and how a run is made of them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import FLAGS, Way
from caesura.progress import watched
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.job import BACKENDS, DEFAULT_CYCLES, JobError, JobFile, PreemptionSpec, load_job
from caesura.software.kernels import KERNELS, SIZES
from caesura.software.names import alternatives

from .board import baud_option, opened_board
from .build import offer
from .common import (
    EXIT_WRONG,
    Choice,
    JsonTarget,
    eviction_option,
    grace_option,
    json_option,
    patience_option,
    progress_lines,
)
from .machine import geometry_option
from .outputs import FOLDER, NAME_OR_FILE, OUTPUT

if TYPE_CHECKING:
    from caesura.sim.job import JobResult, Task
    from caesura.sim.trace.statistics import Statistics
    from caesura.software.compiler import KernelImage
    from caesura.software.driver import Device
    from caesura.software.driver.machine.board import SerialTransport

__all__ = ["RunOptions", "execute", "run_options"]

_IN = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHIPPED = ("hostile", *KERNELS)
CUDA_WARP = 32
"""Threads of a warp of CUDA's."""


@dataclass(frozen=True)
class RunOptions:
    """The options; None, an empty tuple or False where one is not given.

    Attributes
    ----------
    what : str
        Name of a shipped kernel, or path of PTX or of a kernel image.
    job_path, kernel : Path, str
        Job file, and which kernel of the file it is for.
    at : tuple of int
    other, other_job : str, Path
        Kernel that runs meanwhile: a shipped one, or a file and its job.
    mechanism : str
    patience, grace : int or str
    restart, incremental, in_place, newcomer, trap, scramble, gang : bool
    routines : str
        Which preemption routines the kernel is given.
    eviction_check : bool
    checkpoint, announced : int
    size, seed : str, int
        Size and seed for jobs of shipped kernels.
    geometry : Geometry
    backend : str
    board, baud : str, int
        The serial port of a board, and its speed.
    check_bounds : bool
    max_cycles : int
    timeline, vcd, output : Path
    statistics : bool
    as_json : JsonTarget
    transport : SerialTransport
        The board, once it is open.
    """

    what: str
    job_path: Path | None
    kernel: str | None
    at: tuple[int, ...]
    other: str | None
    other_job: Path | None
    mechanism: str | None
    patience: int | str | None
    grace: int | str | None
    restart: bool
    incremental: bool
    in_place: bool
    newcomer: bool
    trap: bool
    routines: str | None
    eviction_check: bool
    checkpoint: int | None
    announced: int | None
    scramble: bool
    gang: bool
    size: str | None
    seed: int | None
    geometry: Geometry | None
    backend: str | None
    board: str | None
    baud: int
    check_bounds: bool
    max_cycles: int | None
    timeline: Path | None
    vcd: Path | None
    statistics: bool
    output: Path | None
    as_json: JsonTarget
    transport: SerialTransport | None = None

    @property
    def way_options(self) -> dict[str, Any]:
        """The options given that say how to preempt, as fields of a `Way`."""
        given: dict[str, Any] = {"mechanism": Mechanism.of(self.mechanism)} if self.mechanism else {}
        given |= {name: getattr(self, name) for name in ("patience", "grace") if getattr(self, name) is not None}
        given |= {name: True for name in FLAGS if name != "checkpoint" and getattr(self, name)}
        return given | ({"trap": True} if self.routines else {})

    @property
    def plan_options(self) -> dict[str, Any]:
        """The options given that say when and for what, as fields of a `PreemptionSpec`."""
        if self.checkpoint is not None and self.announced is not None:
            raise click.UsageError("give one of --checkpoint and --announced; the latter chooses when bases are saved")
        given: dict[str, Any] = {name: True for name in ("newcomer", "gang") if getattr(self, name)}
        if self.checkpoint is not None or self.announced is not None:
            given |= {"checkpoint": self.checkpoint, "announced": self.announced}
        return given

    def neighbour(self) -> dict[str, Any]:
        """Return the options given that say what runs meanwhile, as fields of a `PreemptionSpec`; its job is read."""
        if not self.other:
            return {}
        job = load_job(self.other_job) if self.other_job else None
        given = {"other": self.other, "size": self.inputs[0], "seed": self.inputs[1] + 1, "job": job}
        return given | ({"nested": job.preemptions} if job else {})

    @property
    def names(self) -> dict[str, str]:
        """The options given, as messages name them, by the names of fields."""
        names = {name: f"--{name.replace('_', '-')}" for name in (*self.way_options, *self.plan_options)}
        return names | ({"trap": "--routines"} if self.routines else {})

    @property
    def inputs(self) -> tuple[str, int]:
        """Size and seed of the job of a shipped kernel; the one that runs meanwhile has the next seed."""
        return self.size or "small", 1 if self.seed is None else self.seed


_OPTIONS: tuple[Callable, ...] = (
    click.argument("what", type=NAME_OR_FILE, metavar="KERNEL|FILE"),
    click.option("--job", "job_path", type=_IN, help="Job file of a kernel of your own (TOML; docs/jobs.md)."),
    click.option("--kernel", help="Which kernel of the file  [default: the job file's entry, else the only one]"),
    click.option("--at", multiple=True, type=click.IntRange(0),
                 help="Take the SM away when the kernel has run for so many cycles; may be given more than once."),
    click.option("--with", "other", type=NAME_OR_FILE, help="Kernel that runs meanwhile. It is a shipped "
                 "one, one of a file, or `hostile`, which overwrites all registers and shared memory  "
                 "[default: hostile]"),
    click.option("--with-job", "other_job", type=_IN, help="Job file of the file of --with."),
    click.option("--mechanism", type=Choice([m.label for m in Mechanism]), help="[default: live]"),
    patience_option,
    grace_option,
    click.option("--restart", is_flag=True, help="Save nothing of thread blocks: they stop at once and begin anew "
                 "later. Only for idempotent kernels."),
    click.option("--incremental", is_flag=True, help="Save only what thread blocks have written since they were last "
                 "saved."),
    click.option("--in-place", is_flag=True, help="Registers and shared memory stay on the SM as long as their room "
                 "is not needed. Only for geometries with in_place."),
    click.option("--newcomer", is_flag=True, help="In place, and room is made for the kernel of --with, which is "
                 "launched before the SM is taken away."),
    click.option("--routines", type=Choice(list(ROUTINES)),
                 help="Give the kernel preemption routines, and preempt it by them (docs/ctxback.md). Of geometries "
                 "with traps only."),
    eviction_option,
    click.option("--trap", is_flag=True, help="Preempt by the routines that the image of the kernel has."),
    click.option("--checkpoint", type=click.IntRange(0), help="Save a base so many cycles before the SM is taken away, "
                 "then only what was written since."),
    click.option("--announced", type=click.IntRange(0), help="The SM is known so many cycles before to be taken away: "
                 "bases are saved of thread blocks that will not have ended by then."),
    click.option("--scramble", is_flag=True, help="Registers that are not saved come back as random bits, and lanes "
                 "that have exited changed."),
    click.option("--gang", is_flag=True, help="TBs start together when all are back, rather than each when it is."),
    click.option("--size", type=Choice(SIZES), help="Size of jobs of shipped kernels  [default: small]"),
    click.option("--seed", type=click.IntRange(0), help="Seed of jobs of shipped kernels  [default: 1]"),
    geometry_option(None, "the job file's, else gtx480"),
    click.option("--backend", type=Choice(BACKENDS), help="Where it runs  [default: the job file's, else rtl]"),
    click.option("--board", metavar="PORT", help="Run on the board on this serial port (docs/board.md); `simulated`: "
                 "on one under Verilator."),
    baud_option,
    click.option("--check-bounds", is_flag=True, help="Run on the golden model, and check each access to global memory "
                 "against the array that its address comes from (docs/bounds.md)."),
    click.option("--max-cycles", type=click.IntRange(1, 2**31 - 1),
                 help=f"Limit for everything together  [default: the job file's, else {DEFAULT_CYCLES:,}]"),
    click.option("--timeline", type=OUTPUT, help="Write the run as a timeline for ui.perfetto.dev."),
    click.option("--vcd", type=OUTPUT, help="Write waveforms of the preemption engine, from the first request to the "
                 "end of the first resume."),
    click.option("--statistics", is_flag=True, help="Count how full SMs are, what they issue, what warps wait for, "
                 "what caches and the bus do."),
    click.option("--output", type=FOLDER,
                 help="Directory for the arrays the job file marks with `output`; of a shipped kernel, its results."),
    json_option,
)


def run_options(command: Callable[[RunOptions], None]) -> Callable[..., None]:
    """Give a command the options of a run, as one `RunOptions`."""
    def with_options(**options):
        command(RunOptions(**options))

    with_options.__doc__ = command.__doc__
    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _job(o: RunOptions) -> JobFile | None:
    """Return the job file; check that a kernel that does not ship has one."""
    if o.job_path is None:
        if o.what in _SHIPPED:
            if o.kernel is not None:
                raise click.UsageError("--kernel chooses a kernel of a file; shipped kernels have one each")
            return None
        if Path(o.what).is_file():
            raise click.UsageError(f"{o.what}: a kernel of your own needs --job FILE.toml: its launch, arguments and "
                                   "results (docs/jobs.md)")
        raise click.UsageError(f"no file and no shipped kernel {o.what!r}; {alternatives(o.what, _SHIPPED)}")
    if o.what not in KERNELS and not Path(o.what).is_file():
        raise click.UsageError(f"{o.what}: there is no such file")
    job = load_job(o.job_path)
    return dataclasses.replace(job, entry=o.kernel) if o.kernel else job


def _check(o: RunOptions, job: JobFile | None) -> None:
    """Refuse options that do not go together."""
    if o.other_job is None and o.other is not None and o.other not in _SHIPPED:
        if Path(o.other).is_file():
            raise click.UsageError(f"--with {o.other}: a kernel of your own needs --with-job FILE.toml")
        raise click.BadParameter(f"no file and no shipped kernel {o.other!r}; {alternatives(o.other, _SHIPPED)}",
                                 param_hint="'--with'")
    if o.other_job is not None and (o.other is None or not Path(o.other).is_file()):
        raise click.UsageError("--with-job is the job of a PTX file given by --with"
                               + (f"; there is no file {o.other}" if o.other else ""))
    if o.board is not None:
        for given, name in ((o.backend, "--backend"), (o.check_bounds, "--check-bounds"), (o.vcd, "--vcd"),
                            (o.timeline, "--timeline"), (o.statistics, "--statistics")):
            if given:
                raise click.UsageError(f"{name} is of simulators of an SM; a board (--board) has no such thing")
    elif click.get_current_context().get_parameter_source("baud") is not ParameterSource.DEFAULT:
        raise click.UsageError("--baud is of a board's serial line; say which, with --board PORT")
    for name in ("size", "seed"):
        if getattr(o, name) is not None and job is not None and (o.other is None or o.other_job is not None):
            raise click.UsageError(f"--{name} is of the jobs of shipped kernels; here the job file says it all")
    if o.check_bounds and o.backend not in (None, "golden"):
        raise click.UsageError(f"--check-bounds needs the golden model, not --backend {o.backend}")
    if o.check_bounds and o.timeline:
        raise click.UsageError("--timeline shows what the RTL does; --check-bounds runs on the golden model")
    if o.check_bounds and o.statistics:
        raise click.UsageError("--statistics counts what the RTL does; --check-bounds runs on the golden model")
    if o.vcd and o.statistics:
        raise click.UsageError("--statistics and --vcd need simulators of their own: give one at a time")
    limit = o.max_cycles or (job.max_cycles if job else DEFAULT_CYCLES)
    for at in o.at:
        if at > limit:
            raise click.BadParameter(f"{at} is beyond the limit of {limit} cycles (--max-cycles)", param_hint="'--at'")


def _preemptions(o: RunOptions, job: JobFile | None, always: bool) -> tuple[PreemptionSpec, ...]:
    """Return what `--at` asks for, else what the job file does; other options go before the file's keys.

    With `always`, and neither, there is one whose moment is not known yet: at cycle -1.
    """
    way, more = o.way_options, o.plan_options | o.neighbour()
    planned = job.preemptions if job else ()
    if o.at or (always and not planned):
        planned = tuple(PreemptionSpec(at=at, way=Way(**way), **more) for at in o.at or (-1,))
    else:
        planned = tuple(dataclasses.replace(spec, way=spec.way.but(**way), **more) for spec in planned)
    names = o.names
    for spec in planned:
        if why := spec.clash(names):
            raise click.UsageError(why)
    if not planned:
        if way or more:
            raise click.UsageError("nothing is preempted: say when, with --at CYCLE, or take `caesura preempt`")
        if o.vcd:
            raise click.UsageError("--vcd writes a preemption, and nothing is preempted: say when, with --at CYCLE")
    return planned


def _task(o: RunOptions, job: JobFile | None, g: Geometry, preemptions: tuple[PreemptionSpec, ...],
          progress: Callable[[str], None]) -> Task:
    from caesura.sim import job as runs
    from caesura.sim import scenario
    if job is None:
        work = scenario.shipped_work(o.what, g, *o.inputs, check_bounds=o.check_bounds,
                                     eviction_check=o.eviction_check)
    else:
        source = KERNELS[o.what].ptx_path if o.what in KERNELS else o.what
        work = scenario.user_work(source, job, g, progress, o.check_bounds, o.eviction_check)
    if o.routines:
        from caesura.software.compiler.flashback import traps
        progress(f"{work.image.name}: making its preemption routines")
        kind, form = ROUTINES[o.routines]
        image = traps.with_routines(work.image, g, kind, form=form)
        work = dataclasses.replace(work, image=image)
    limit = o.max_cycles or (job.max_cycles if job else DEFAULT_CYCLES)
    return runs.Task(work, str(job.path) if job else o.what, preemptions, limit, o.check_bounds, o.names)


def _opener(o: RunOptions, g: Geometry, backend: str, told: Callable[[Statistics], None]
            ) -> Callable[[int], AbstractContextManager[Device]] | None:
    """Return what makes a device that is a board, or writes what is to be written and tells what is to be counted; None
    for a plain one."""
    if o.transport is not None:
        return _board_opener(o.transport)
    if o.vcd is None and o.timeline is None and not o.statistics:
        return None
    for given, what, option in ((o.vcd, "waveforms", "--vcd"), (o.statistics, "statistics", "--statistics")):
        if given and backend != "rtl":
            raise InputError(f"no {what} of the back end {backend!r}: {option} needs --backend rtl")
    from caesura import sim
    from caesura.sim.trace import statistics as counts
    from caesura.sim.trace import timeline, waveform

    @contextmanager
    def opened(memory_bytes: int) -> Iterator[Device]:
        with ExitStack() as during:
            if o.vcd is None:
                device = sim.open_device(backend, g, memory_bytes, **({"observed": True} if o.statistics else {}))
            else:
                device = watched(waveform.WaveformDevice(g, o.vcd, memory_bytes))
                during.callback(device.finish)
            if o.timeline is not None:
                during.enter_context(timeline.recording(device, o.timeline))
            if o.statistics:
                counted = during.enter_context(counts.counting(device))
                during.callback(lambda: told(counted.statistics))
            yield device

    return opened


def _board_opener(board: SerialTransport) -> Callable[[int], AbstractContextManager[Device]]:
    """Return what makes the device of a board; each begins with a reset."""
    from caesura.software import driver

    @contextmanager
    def opened(memory_bytes: int) -> Iterator[Device]:
        board.reset()
        yield watched(driver.Device(board))

    return opened


def _run(o: RunOptions, job: JobFile | None, g: Geometry, backend: str, always: bool
         ) -> tuple[Task, JobResult, Statistics | None]:
    from caesura.sim import job as runs
    counted: list[Statistics] = []
    with progress_lines() as progress:
        opener = _opener(o, g, backend, counted.append)
        task = _task(o, job, g, _preemptions(o, job, always), progress)
        _results(o, job, task)
        others = runs.neighbours(task, g, progress)
        runs.check_task(task, others, g)
        _warn_of_warps([*([task.work.image] if job else ()), *(w.image for key, w in others.items() if key[3])], g)
        alone = None
        if any(spec.at < 0 for spec in task.preemptions):
            plain = opener if o.transport is not None else None
            alone = runs.run_task(dataclasses.replace(task, preemptions=()), g, backend, progress, plain)
            middle = tuple(dataclasses.replace(spec, at=alone.run_cycles // 2) for spec in task.preemptions)
            task = dataclasses.replace(task, preemptions=middle)
        result = runs.run_task(task, g, backend, progress, opener)
        if alone is not None and not result.verdicts:
            result = result.next_to(alone)
    return task, result, counted[0] if counted else None


def _warn_of_warps(own: Sequence[KernelImage], g: Geometry) -> None:
    """Say of kernels of the user's own that they may count on warps of another size."""
    for image in own:
        if g.warp_size < CUDA_WARP and image.exchanges:
            click.echo(f"caesura: warning: kernel {image.name!r} has shuffles, votes or matches, and a warp of this SM "
                       f"({g.name}) has {g.warp_size} threads, of CUDA {CUDA_WARP}: it may compute something else "
                       "(docs/geometry.md)", err=True)


def _results(o: RunOptions, job: JobFile | None, task: Task) -> list[str]:
    """Return the names of the arrays that --output writes."""
    if job is None:
        return list(task.work.job.expected)
    marked = [name for name, argument in job.bind(task.work.image).items() if argument.output]
    if o.output and not marked:
        raise JobError(f"{job.path}: --output is given, but no argument has 'output = true'")
    return marked


def _write(directory: Path, arrays: dict[str, np.ndarray], names: Sequence[str]) -> list[str]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{name}.npy" for name in names]
    for name, path in zip(names, paths, strict=True):
        np.save(path, arrays[name])
    return [str(path) for path in paths]


def execute(o: RunOptions, always: bool) -> None:
    """Run, report, and exit with the verdict; with `always`, in the middle of the run if nothing says when."""
    job = _job(o)
    _check(o, job)
    g = o.geometry or (job.machine if job else preset("gtx480"))
    backend = "golden" if o.check_bounds else o.backend or (job.backend if job else "rtl")
    if o.board is not None:
        with progress_lines() as progress:
            board = opened_board(o.board, o.geometry, o.baud, progress)
        o, g, backend = dataclasses.replace(o, transport=board), board.geometry, "board"
    task, result, counted = _run(o, job, g, backend, always)

    written = _write(o.output, result.arrays, _results(o, job, task)) if o.output else []
    name = task.work.image.name
    if o.as_json.asked:
        head = {"kernel": name, "source": o.what, "job": str(o.job_path) if o.job_path else None, "preset": g.name,
                "backend": backend}
        from caesura.sim.job import result_json
        from caesura.sim.report.statistics_table import statistics_json

        more = {"statistics": statistics_json(counted)} if counted else {}
        o.as_json.write(head | result_json(result) | {"written": written} | more)
    if not o.as_json.instead:
        from caesura.sim.report.job import print_job
        from caesura.sim.report.statistics_table import print_statistics

        print_job(g, name, backend, result)
        if counted:
            print_statistics(g, counted)
        for path in written:
            click.echo(f"written: {path}")
    if backend == "rtl":
        offer(g, result.cycles)
    sys.exit(EXIT_WRONG if result.correct is False else 0)
