"""Lets a benchmark of many parts go on where it stopped.

A file holds the result so far, and a later run with the same settings takes its rows over.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from caesura.cache import write_atomically
from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.sim.rtl.verilator import library
from caesura.sim.scenario import CompiledJob
from caesura.software.kernels import KERNELS
from caesura.software.schema import with_schema

from .processes import perform

__all__ = ["KernelTask", "check_counts", "code_digest", "geometry_settings", "failure", "read_result", "write_result",
           "check_settings", "kernel_place", "measure_kernels"]


@dataclass(frozen=True)
class KernelTask:
    """A kernel to measure, in its own process if more than one is allowed.

    Attributes
    ----------
    geometry : Geometry
    work : CompiledJob
        The kernel and its job.
    """

    geometry: Geometry
    work: CompiledJob

    @property
    def name(self) -> str:
        """Name of the kernel, or joint name of several kernels."""
        return self.work.image.name


Task = TypeVar("Task", bound=KernelTask)


def code_digest(*works: CompiledJob) -> str:
    """Return a hash of the code of kernels, with their preemption routines, and of their grids and blocks."""
    text = b"".join(np.array(work.image.words, np.uint64).tobytes() + repr((work.job.grid, work.job.block)).encode()
                    for work in works)
    return hashlib.sha256(text).hexdigest()[:16]


def geometry_settings(g: Geometry) -> dict:
    """Return a result's entries on its geometry: `preset`, and all sizes in `geometry` unless they are the preset's."""
    return {"preset": g.name, "geometry": None if g == PRESETS.get(g.name) else dataclasses.asdict(g)}


def check_counts(**counts: int) -> None:
    """Refuse numbers, given by their names, if one is below 1.

    Raises
    ------
    ValueError
        If one is below 1; the message names all of them.
    """
    if min(counts.values()) < 1:
        raise InputError(f"{' and '.join(counts)} must be 1 or more, not {' and '.join(map(str, counts.values()))}")


def failure(error: Exception) -> str:
    """Return a row's text for the error that it has instead of figures."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def read_result(path: Path, command: str, keys: Iterable[str], measured: Iterable[str] = ()) -> dict | None:
    """Return the result that an earlier run wrote with `write_result`, None if there is no such file.

    Parameters
    ----------
    path : Path
    command : str
        Command that writes the file, for the message.
    keys : iterable of str
        Some keys of the result.
    measured : iterable of str
        Keys of a row that an earlier version may not have measured. Kernels without them are left out. Rows of errors
        have no such keys and stay.

    Raises
    ------
    ValueError
        If the file is something else.
    """
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_text())
    except ValueError:
        result = None
    if not isinstance(result, dict) or not {"runs", *keys} <= result.keys():
        raise InputError(f"{path} is not what `{command} --json` writes")
    lacking = {row.get("kernel") for row in result["runs"] if "error" not in row and not set(measured) <= row.keys()}
    rows = [row for row in result["runs"] if row.get("kernel") not in lacking]
    return {key: value for key, value in result.items() if key != "schema"} | {"runs": rows}


def write_result(path: Path, result: dict) -> None:
    """Replace a file in one step, so that it stays whole if the run is stopped."""
    write_atomically(path, json.dumps(with_schema(result), indent=2) + "\n")


def check_settings(earlier: dict, settings: dict) -> None:
    """Refuse to go on from a result with other settings.

    Raises
    ------
    ValueError
        If a setting differs; the message says which.
    """
    for key, value in settings.items():
        if earlier.get(key) != value:
            raise InputError(f"the earlier run has {key} {earlier.get(key)!r}, not {value!r}: it cannot go on")


def kernel_place(kernel: str) -> int:
    """Return the position of a kernel in a result: the order of the package, others last."""
    return list(KERNELS).index(kernel) if kernel in KERNELS else len(KERNELS)


def measure_kernels(measure: Callable[[Task, Callable[[str], None]], list[dict]], tasks: Sequence[Task], jobs: int,
                    progress: Callable[[str], None], settings: dict, outcome: Callable[[list[dict]], dict],
                    json_file: Path | None = None, resume: dict | None = None, *,
                    works: Callable[[Task], Sequence[CompiledJob]] = lambda task: (task.work,),
                    place: Callable[[str], int] = kernel_place) -> dict:
    """Measure kernels one by one, and keep the finished rows if the run is stopped.

    Parameters
    ----------
    measure : callable
        Function of a task and the progress that returns the rows of the kernel.
    tasks : sequence
    jobs : int
        Number of processes.
    progress : callable
    settings : dict
        Settings on which the rows depend besides the code; the first keys of the result.
    outcome : callable
        Returns the summary of the present rows.
    json_file : Path, optional
        File that is written after each kernel.
    resume : dict, optional
        Result of an earlier run. Its rows are used again where the kernel's code is the same. Rows of kernels that are
        not among the tasks are kept.
    works : callable
        Returns all kernels of a task, with their jobs. Earlier rows are not used if the code of one has changed.
    place : callable
        Returns the position of a task in the result, by its name.

    Returns
    -------
    dict
        `settings`, `met` (false as long as a kernel is missing), `runs`, and the result of `outcome`.

    Raises
    ------
    ValueError
        If the earlier run had other settings.
    """
    codes = {task.name: code_digest(*works(task)) for task in tasks}
    rows: dict[str, list[dict]] = {}
    if resume is not None:
        check_settings(resume, settings)
        for row in resume["runs"]:
            if codes.get(row["kernel"], row.get("code")) == row.get("code"):
                rows.setdefault(row["kernel"], []).append(row)

    def result() -> dict:
        ordered = [row for name in sorted(rows, key=place) for row in rows[name]]
        found = outcome(ordered)
        met = found.get("met", True) and codes.keys() <= rows.keys()
        return settings | found | {"met": met, "runs": ordered}

    left = [task for task in tasks if task.name not in rows]
    for g in dict.fromkeys(task.geometry for task in left):
        progress(f"building the simulator of {g.name}")
        library(g)  # once for all processes
    for index, found in perform(measure, left, jobs, progress, lambda task: task.name, taken=len(tasks) - len(left)):
        name = left[index].name
        rows[name] = [{"kernel": name, "code": codes[name]} | row for row in found]
        if json_file is not None:
            write_result(json_file, result())
    return result()
