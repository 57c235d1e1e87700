"""The regression of cycles, which compares every shipped kernel in every cycle with a recording.

``caesura bench cycles FOLDER`` runs each kernel on each geometry, undisturbed, and preempted with each mechanism at a
quarter, half and three quarters of its run. It compares cycles, digests of all AXI beats with their cycles, and saved
contexts with the recording in a folder. Another kernel, the neighbour, runs while the first is preempted. Its image
lies in the folder, so that a change of the compiler only moves the rows of the kernels that it changes. A change
without effect on the machine's behaviour leaves all rows equal. A change with an effect records them anew
(``--record``).
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.cache import cache_directory, digest, file_digest, write_atomically
from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS, Geometry, preset
from caesura.hw.arch.image.context import CCB_ENTRY, Mechanism, State, entry_address, from_words
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import library
from caesura.sim.scenario import CompiledJob, PreemptionResult, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.compiler import CompileError
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.driver import Device, Launch, LaunchError
from caesura.software.kernels import KERNELS, Job
from caesura.software.kernels.fit import check_job

from .processes import perform
from .recording import NOTHING, Difference, Row, StateBits, compare, read_rows, replace_rows, write_rows
from .state_bits import state_bits

__all__ = ["GEOMETRIES", "MOMENTS", "measure", "neighbour", "print_report", "recorded", "recorded_state", "run"]

GEOMETRIES = "gtx480", "gtx980", "ecp5"
MOMENTS = "1/4", "1/2", "3/4"
"""Moments of preempts, as shares of the undisturbed run."""
SIZE = "tiny"
MAX_CYCLES = 5_000_000
NEIGHBOUR, STATE = "neighbour.elf", "state.tsv"
"""Files of the folder besides the file of each geometry."""


def _table(folder: Path, geometry: str) -> Path:
    return folder / f"{geometry}.tsv"


def recorded(folder: Path, geometry: str, kernel: str) -> list[Row]:
    """Return the recorded rows of a kernel on a geometry."""
    return [row for row in read_rows(_table(folder, geometry), Row) if row.kernel == kernel]


def recorded_state(folder: Path, geometry: str) -> list[StateBits]:
    """Return the recorded state of a geometry."""
    return [row for row in read_rows(folder / STATE, StateBits) if row.preset == geometry]


def neighbour(folder: Path) -> CompiledJob:
    """Return the neighbour, the kernel that runs during a preemption, from a folder.

    Raises
    ------
    ValueError
        If the folder has no neighbour.
    """
    path = folder / NEIGHBOUR
    if not path.exists():
        raise InputError(f"{path} is missing: nothing is recorded in this folder; --record does it")
    return _neighbour(path.read_bytes())


def _neighbour(elf: bytes) -> CompiledJob:
    (image,) = read_elf(elf, NEIGHBOUR).values()
    a, b = np.arange(475, dtype=np.int32), 1_000_003 * np.arange(475, dtype=np.int32)
    return CompiledJob(image, Job((2, 1, 1), (256, 1, 1), {"a": a, "b": b, "c": np.zeros_like(a), "n": len(a)},
                           {"c": a + b}))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _saved_bytes(device: Device, launch: Launch) -> bytes:
    """Return each complete entry of a launch's context with its stream, as stored in memory."""
    found, read = [], device.transport.read_memory
    for slot in range(device.geometry.context_entries):
        raw = read(entry_address(launch.ccb_base, slot), CCB_ENTRY.size // 8)
        entry = from_words(CCB_ENTRY, np.frombuffer(raw, "<u4"))
        if entry["state"] == State.COMPLETE:
            found += [raw, read(entry["register_image"], entry["length"])]
    return b"".join(found)


class _Runs(Campaign):
    """Runs of one kernel, with their traffic on the bus and their contexts in memory."""

    def __init__(self, g: Geometry, work: CompiledJob, other: CompiledJob):
        self.bus = RtlTransport(g, MEMORY_BYTES)
        self.bus.digest_beats()
        self._saved = b""
        super().__init__(self.bus, work, other, MAX_CYCLES)

    def undisturbed(self) -> Row:
        """Return the row of the run without a preemption."""
        self._back(self._origin)
        self.device.wait(self._launch, self.max_cycles)
        image = self.work.image
        return Row(image.name, outcome="ran", image=_hash(write_elf([image])), cycles=str(self.cycles),
                   beats=self.bus.beat_digest)

    def preempted(self, mechanism: Mechanism, moments: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of preemptions at some of `MOMENTS`, in ascending order.

        Raises
        ------
        AssertionError
            If a result is wrong.
        """
        cycles = [self.cycles * (MOMENTS.index(moment) + 1) // (len(MOMENTS) + 1) for moment in moments]
        self._saved = b""
        for moment, (result, right) in zip(moments, self.results(mechanism, cycles, self._run_other), strict=True):
            if not right:
                raise AssertionError(f"{self.work.image.name}, {mechanism.label}, {moment}: wrong results")
            yield self._row(mechanism, moment, result)
            self._saved = b""

    def _run_other(self, other: Launch) -> int:
        """Run the other kernel to its end while the saved context lies in memory."""
        self._saved = _saved_bytes(self.device, self._launch)
        return self.device.wait(other, self.max_cycles)

    def _row(self, mechanism: Mechanism, moment: str, result: PreemptionResult) -> Row:
        row = Row(self.work.image.name, mechanism.label, moment, "finished before", at=str(result.at),
                  other=str(result.other_cycles), beats=self.bus.beat_digest)
        if result.preempt is None or result.resume is None:
            return row
        return row._replace(outcome="preempted", save=str(result.preempt.save_cycles),
                            restore=str(result.resume.restore_cycles), rest=str(result.rest_cycles),
                            contexts=_hash(self._saved) if self._saved else NOTHING)


def measure(g: Geometry, name: str, other: CompiledJob, mechanisms: Iterable[Mechanism] = tuple(Mechanism),
            moments: Sequence[str] = MOMENTS) -> list[Row]:
    """Return the rows of a shipped kernel on a geometry; a kernel that does not fit has a single row.

    Parameters
    ----------
    g : Geometry
    name : str
        Name of the kernel.
    other : CompiledJob
        Compiled job that runs during a preemption.
    mechanisms : iterable of Mechanism
    moments : sequence of str
        Some of `MOMENTS`, in their order.

    Raises
    ------
    AssertionError
        If a result is wrong.
    """
    try:
        check_job(KERNELS[name], g, KERNELS[name].job(SIZE))
    except (CompileError, LaunchError) as error:
        return [Row(name, outcome=f"does not fit: {type(error).__name__}")]
    runs = _Runs(g, shipped_work(name, g, SIZE), other)
    return [runs.undisturbed(), *(row for mechanism in mechanisms for row in runs.preempted(mechanism, moments))]


@dataclass(frozen=True)
class _Task:
    """A kernel, or the state of a geometry; it can run in its own process.

    Attributes
    ----------
    preset, kernel : str
        Names of geometry and kernel. An empty kernel stands for the state of the geometry.
    neighbour : bytes
    sources : str
        Digest of all sources; the cache keeps the measurements of each digest.
    """

    preset: str
    kernel: str
    neighbour: bytes
    sources: str

    @property
    def label(self) -> str:
        """Name in progress messages."""
        return f"{self.preset}, {self.kernel or 'bits of state'}"

    def kept(self) -> Path:
        """Return the path of its cached rows."""
        parts = self.sources, self.preset, self.kernel, self.neighbour.hex()
        return cache_directory() / "cycles" / f"{digest(parts)}.tsv"


def _perform(task: _Task, progress: Callable[[str], None]) -> list:
    kind, path = Row if task.kernel else StateBits, task.kept()
    rows = read_rows(path, kind)
    if not rows:
        g = preset(task.preset)
        rows = measure(g, task.kernel, _neighbour(task.neighbour)) if task.kernel else [state_bits(g)]
        write_rows(path, kind, rows)
    progress(task.label)
    return rows


def _sources() -> str:
    """Return the digest of all sources that a row depends on, and of some others."""
    found = []
    for name in ("hw", "sim", "software"):
        root = Path(str(importlib.import_module(f"caesura.{name}").__file__)).resolve().parent
        found += [f"{name}/{path.relative_to(root)}\0{file_digest(path)}"
                  for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return digest(found)


def run(folder: Path, presets: Sequence[str] = (), kernels: Sequence[str] = (), record: bool = False, jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure kernels and compare them with a recording, or record them; `docs/keys.md` documents the keys.

    Earlier measurements of the same sources come from the cache, so an interrupted run can go on.

    Parameters
    ----------
    folder : Path
        Folder of the recording.
    presets, kernels : sequence of str
        All by default. Without a choice of kernels, the state of each geometry is counted too.
    record : bool
        Replace the measured rows in the folder instead of comparing them. An empty folder gets a neighbour.
    jobs : int
        Number of processes.
    progress : callable

    Raises
    ------
    ValueError
        If the folder has no recording, or something else.
    AssertionError
        If a result is wrong.
    """
    path = folder / NEIGHBOUR
    if record and not path.exists():
        write_atomically(path, write_elf([KERNELS["vecadd"].image()]))
    neighbour(folder)
    chosen, sources = presets or GEOMETRIES, _sources()
    for name in chosen:
        progress(f"building the simulator of {name}")
        library(preset(name))
    tasks = [_Task(name, kernel, path.read_bytes(), sources) for name in chosen for kernel in kernels or (*KERNELS, "")]
    measured: dict[_Task, list] = {}
    for index, rows in perform(_perform, tasks, jobs, progress, lambda task: task.label):
        measured[tasks[index]] = rows
    found: list[Difference] = []
    if record:
        _record(folder, measured)
    else:
        found = [difference for task in tasks for difference in _differences(folder, task, measured[task])]
    return {"folder": str(folder), "presets": list(chosen), "rows": sum(map(len, measured.values())),
            "recorded": record, "met": not found, "differences": [dataclasses.asdict(d) for d in found]}


def _differences(folder: Path, task: _Task, rows: list) -> list[Difference]:
    if task.kernel:
        return compare(task.preset, recorded(folder, task.preset, task.kernel), rows)
    return compare(NOTHING, recorded_state(folder, task.preset), rows)


def _record(folder: Path, measured: dict[_Task, list]) -> None:
    for name in dict.fromkeys(task.preset for task in measured):
        replace_rows(_table(folder, name), Row, [
            row for task, rows in measured.items() if task.preset == name and task.kernel for row in rows],
            tuple(KERNELS))
    state = [row for task, rows in measured.items() if not task.kernel for row in rows]
    if state:
        replace_rows(folder / STATE, StateBits, state, tuple(PRESETS))


def print_report(result: dict) -> None:
    """Print the result of `run`, with a line per difference."""
    for difference in result["differences"]:
        print(Difference(**difference))
    verdict = "recorded" if result["recorded"] else f"measured, {len(result['differences'])} differences"
    print(f"{result['rows']:,} rows of {', '.join(result['presets'])} {verdict}: {result['folder']}")
