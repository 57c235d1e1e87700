"""The run itself: its device, its report, what it writes, and the exit status."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.progress import watched
from caesura.software.job import JobError, JobFile

from ..board import opened_board
from ..build import offer
from ..common import EXIT_WRONG, progress_lines
from .options import RunOptions
from .plan import check_options, job_file, planned_preemptions, task_of

if TYPE_CHECKING:
    from caesura.sim.job import JobResult, Task
    from caesura.sim.trace.statistics import Statistics
    from caesura.software.compiler import KernelImage
    from caesura.software.driver import Device
    from caesura.software.driver.machine.board import SerialTransport

__all__ = ["execute"]

CUDA_WARP = 32
"""Threads of a CUDA warp."""


def _opener(o: RunOptions, g: Geometry, backend: str, told: Callable[[Statistics], None]
            ) -> Callable[[int], AbstractContextManager[Device]] | None:
    """Return the opener of a board, or of a device that writes and counts as the options ask; None for a plain one."""
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
    """Return the opener of the device of a board; each device begins with a reset."""
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
        task = task_of(o, job, g, planned_preemptions(o, job, always), progress)
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
    """Warn that kernels of the user's own may count on warps of another size."""
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
    """Run, report, and exit with the verdict. With `always`, preempt in the middle of the run if nothing says when."""
    job = job_file(o)
    check_options(o, job)
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
