"""The options and a job file together: which clash, and the preemptions and the task that they ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.way import Way
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.job import DEFAULT_CYCLES, JobFile, PreemptionSpec, load_job
from caesura.software.kernels import KERNELS
from caesura.software.names import alternatives

from .options import RunOptions

if TYPE_CHECKING:
    from caesura.sim.job import Task

__all__ = ["check_options", "job_file", "planned_preemptions", "task_of"]

_SHIPPED = ("hostile", *KERNELS)


def job_file(o: RunOptions) -> JobFile | None:
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


def check_options(o: RunOptions, job: JobFile | None) -> None:
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


def planned_preemptions(o: RunOptions, job: JobFile | None, always: bool) -> tuple[PreemptionSpec, ...]:
    """Return the preemptions that `--at` asks for, else those of the job file; other options override the file's keys.

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


def task_of(o: RunOptions, job: JobFile | None, g: Geometry, preemptions: tuple[PreemptionSpec, ...],
            progress: Callable[[str], None]) -> Task:
    """Return the task: the kernel with its inputs, its preemptions and its limit of cycles."""
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
