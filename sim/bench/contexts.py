"""Contents of a warp's registers at random times, for every shipped kernel (Lin et al. Figs. 6 and 8).

``caesura bench contexts`` stops each kernel at cycles drawn at random over its run. Its warps run on to preemption
points, as with mechanism ``live``. The contexts that ``live+cp`` and ``live+tb`` save there are read back; they show
the number of live registers, and the encoding of each. Every stop forks from one undisturbed run, whose results are
checked. The runs use the golden model, which is quicker to stop and has the register values of the RTL at every
preemption point. A cycle of the golden model is a warp instruction, and warps take turns.

The same registers, as ``live`` saves them, are also encoded in steps that lead from the rule of Lin et al. to the rule
of ``live+cp`` (`hw.arch.image.encodings`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import WORD_BYTES, Geometry, preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.encodings import Encoding, encode, encoded_words, encodings_of
from caesura.hw.arch.image.patterns import pattern_group
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim import MEMORY_BYTES
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.register_classes import CLASSES, class_of
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.compiler.image.kernel_image import KernelImage
from caesura.software.compiler.image.lift import lift
from caesura.software.driver import TbContext
from caesura.software.driver.launch.context import WarpContext
from caesura.software.kernels import KERNELS, hostile

from . import resumable
from .mechanisms import PAPER as PAPER_MEANS
from .processes import perform
from .resumable import check_counts, check_settings, code_digest, failure, geometry_settings, write_result

__all__ = ["SAMPLES", "STEPS", "PAPER", "Task", "measure", "averages", "run", "read_result"]

SAMPLES = 100
"""Default number of samples per kernel."""
ROUNDS = 4
"""Most draws of moments; a moment is drawn anew if the kernel ended before a preemption point."""
MAX_CYCLES = 50_000_000
BYTES = "occupied", "live", "compressed", "metadata", "followed", "followed_metadata"
"""Kinds of bytes of a warp: allocated and live registers, then register and other bytes of ``live+cp`` and ``live+tb``.
"""
AS_VECTORS = "occupied", "live", "compressed"
"""Kinds of bytes of a warp on a machine without uniform registers. Uniform registers that are named or live count as
vector registers with one value in all lanes.
"""
STEPS = "paper", "lanes", "widths", "low_bits", "follows"
"""Encodings, each with one more step. The first is that of Lin et al., where all launched lanes count and the block
gives the width of groups. Then exited lanes do not count. Then each register chooses the width of its groups. Then
upper bits that all lanes share are kept once, as in ``live+cp``. Then registers that follow from the warp before are
left out, as in ``live+tb``.
"""
PAPER = PAPER_MEANS | {"occupied": 1664, "live": 656, "compressed": 64}
"""Lin et al. III: mean saving of register context over their kernels; bytes per warp and patterns of BP (BP_1)."""


@dataclass(frozen=True)
class Task:
    """One kernel of the benchmark; it can run in its own process.

    Attributes
    ----------
    name : str
        Name of the kernel.
    geometry : Geometry
    size : str
        Size of the job.
    samples, seed : int
    work : CompiledJob, optional
        Compiled job that replaces the shipped kernel of that name.
    previous : dict, optional
        Row of an earlier run with the same settings; it is used again if the kernel's code is the same.
    """

    name: str
    geometry: Geometry
    size: str
    samples: int
    seed: int
    work: CompiledJob | None = None
    previous: dict | None = None


class _Stops(Campaign):
    """Stops of one kernel at chosen cycles."""

    def contexts(self, cycles: Iterable[int]) -> Iterator[tuple[list[TbContext], ...]]:
        """Yield the TBs as ``live``, ``live+cp`` and ``live+tb`` save them, at each of ascending cycles.

        There are no TBs if the kernel ended before the cycle.
        """
        for _ in self._at_each(cycles):
            fork = self._fork()
            plain = self._saved(Mechanism.LIVE)
            self._back(fork)
            packed = self._saved(Mechanism.LIVE_CP)
            self._back(fork)
            yield plain, packed, self._saved(Mechanism.LIVE_TB)

    def _saved(self, mechanism: Mechanism) -> list[TbContext]:
        saved = self.device.preempt(self._launch, mechanism, patience=UNLIMITED, max_cycles=self.max_cycles)
        return self.device.context(self._launch) if saved else []


def _warp(g: Geometry, tb: TbContext, warp: WarpContext, followed: WarpContext) -> list[int]:
    """Return `BYTES` of one warp, the number of its live uniform registers, then its registers by class."""
    found = [class_of(encoding) for encoding in warp.encodings.values()]
    return [tb.allocated_registers * g.vector_bytes, len(warp.registers) * g.vector_bytes, warp.data_bytes,
            warp.metadata_bytes, followed.data_bytes, followed.metadata_bytes, len(warp.uniforms),
            *(found.count(name) for name in CLASSES)]


def _steps(g: Geometry, warps: Sequence[WarpContext], width: int) -> np.ndarray:
    """Return the bytes of the registers of each warp by all `STEPS` but the last; shape (warps, steps).

    Parameters
    ----------
    g : Geometry
    warps : sequence of WarpContext
        Warps as ``live`` saves them, with the last values of exited lanes.
    width : int
        Lanes per group by the rule of Lin et al.
    """
    owner = np.repeat(np.arange(len(warps)), [len(warp.registers) for warp in warps])
    values = np.array([row for warp in warps for row in warp.registers.values()], np.uint32).reshape(-1, g.warp_size)
    launched, live = (np.array(lanes, np.int64)[owner] for lanes in zip(
        *((warp.launched_lanes, warp.live_lanes) for warp in warps), strict=True))
    every = encodings_of(g.warp_size, g.lanes)
    fixed = [e for e in every if e.group == width or e == Encoding.RANDOM]
    chosen = [e for e in every if e.group or e == Encoding.RANDOM]
    words = {code: encoded_words(code, g.warp_size) for code in every}
    found = np.zeros((len(warps), len(STEPS) - 1))
    for step, (counted, choice) in enumerate(((launched, fixed), (live, fixed), (live, chosen), (live, every))):
        codes, _ = encode(values, counted, g.lanes, choice)
        np.add.at(found[:, step], owner, [WORD_BYTES * words[code] for code in codes.tolist()])
    return found


def _named_uniforms(image: KernelImage) -> int:
    """Return the number of uniform registers that a kernel and its routines name."""
    return len({reg for body in lift(image).kernel.bodies() for op in body.ops() for reg in (*op.read(), *op.written())
                if reg.kind == "U"})


def _row(samples: list[np.ndarray], g: Geometry, named: int) -> dict:
    """Return the means of samples; each sample is an array with a row per warp and the columns of `_warp` and `_steps`.

    Each warp has the same weight. A warp without a live register has no classes, and counts in the bytes only. `named`
    is the number of uniform registers of the kernel.
    """
    if not samples:
        return {"warps": 0, "bytes": None, "as_vectors": None, "classes": None, "encodings": None,
                "standard_error": None}
    warps = np.concatenate(samples)
    size = dict(zip(BYTES, warps[:, :len(BYTES)].mean(axis=0).tolist(), strict=True))
    live = float(warps[:, len(BYTES)].mean())
    more = {"occupied": named * g.vector_bytes, "live": live * g.vector_bytes, "compressed": live * WORD_BYTES}
    registers, steps = np.split(warps[:, len(BYTES) + 1:], [len(CLASSES)], axis=1)
    registers = registers.sum(axis=0)
    of_samples = [1 - sample[:, 2].sum() / sample[:, 0].sum() for sample in samples]
    error = float(np.std(of_samples, ddof=1) / len(samples) ** 0.5) if len(samples) > 1 else None
    return {
        "warps": len(warps),
        "bytes": size,
        "as_vectors": {key: size[key] + more[key] for key in AS_VECTORS},
        "classes": dict(zip(CLASSES, (registers / registers.sum()).tolist(), strict=True)) if registers.any() else None,
        "encodings": dict(zip(STEPS, [*steps.mean(axis=0).tolist(), size["followed"]], strict=True)),
        "standard_error": error,
    }


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> dict:
    """Stop a kernel at random cycles of its run until `task.samples` stops found a context; return its row.

    Raises
    ------
    AssertionError
        If the kernel's results are wrong without any stop.
    software.driver.DriverError, software.compiler.CompileError
        If it does not compile, run or end.
    """
    g = task.geometry
    work = task.work or shipped_work(task.name, g, task.size)
    code = code_digest(work)
    if task.previous and task.previous["code"] == code:
        return task.previous
    width = pattern_group(work.job.block[0], g.warp_size)
    machine = _Stops(GoldenTransport(g, MEMORY_BYTES), work, CompiledJob(*hostile(g)), MAX_CYCLES)
    rng = np.random.default_rng([task.seed, zlib.crc32(task.name.encode())])
    found: list[np.ndarray] = []
    at: list[int] = []
    drawn = 0
    for _ in range(ROUNDS):
        moments = np.sort(rng.integers(1, max(2, machine.cycles), task.samples - len(found))).tolist()
        for moment, (plain, packed, followed) in zip(moments, machine.contexts(moments), strict=True):
            drawn += 1
            warps = [_warp(g, tb, *both) for tb, other in zip(packed, followed, strict=True)
                     for both in zip(tb.warps, other.warps, strict=True)]
            if warps:
                found.append(np.hstack((warps, _steps(g, [warp for tb in plain for warp in tb.warps], width))))
                at.append(moment)
            if drawn % 10 == 0:
                progress(f"{task.name}: {len(found)} of {task.samples} samples")
        if len(found) == task.samples:
            break
    return {"kernel": task.name, "code": code, "cycles": machine.cycles, "registers": work.image.registers,
            "drawn": drawn, "samples": len(found), "moments": at} | _row(found, g, _named_uniforms(work.image))


def _attempt(task: Task, progress: Callable[[str], None]) -> dict:
    """Return a kernel's row, or a row with the error of its measurement."""
    progress(task.name)
    try:
        return measure(task, progress)
    except Exception as error:  # a kernel's error must not lose the other rows
        return _died(task, error)


def _died(task: Task, error: Exception) -> dict:
    """Return the row of a kernel that could not be measured or whose process was killed."""
    return {"kernel": task.name, "error": failure(error)}


def averages(rows: Sequence[dict]) -> dict | None:
    """Return means over kernels: shares of context saved and live registers by class; None without a kernel.

    ``saved_*`` are arithmetic means. ``saved_*_geometric`` come from the geometric mean of the remaining shares.
    ``saved_*_as_vectors`` are arithmetic means of `AS_VECTORS`.
    """
    rows = [row for row in rows if row.get("bytes")]
    if not rows:
        return None
    left = {key: np.array([sum(row["bytes"][what] for what in parts) / row["bytes"]["occupied"] for row in rows])
            for key, parts in (("saved_by_liveness", ("live",)), ("saved_by_both", ("compressed",)),
                               ("saved_with_metadata", ("compressed", "metadata")), ("saved_by_tb", ("followed",)),
                           ("saved_by_tb_with_metadata", ("followed", "followed_metadata")))}
    shares = [row["classes"] for row in rows if row["classes"]]
    with np.errstate(divide="ignore"):
        geometric = {f"{key}_geometric": 1 - float(np.exp(np.log(values).mean())) for key, values in left.items()}
    as_vectors = {f"saved_by_{key}_as_vectors": 1 - float(np.mean([
        row["as_vectors"][what] / row["as_vectors"]["occupied"] for row in rows]))
        for key, what in (("liveness", "live"), ("both", "compressed"))}
    encodings = {step: 1 - float(np.mean([row["encodings"][step] / row["bytes"]["occupied"] for row in rows]))
                 for step in STEPS}
    return ({"kernels": len(rows)} | {key: 1 - float(values.mean()) for key, values in left.items()} | geometric
            | as_vectors | {"saved_by_encodings": encodings}
            | {name: float(np.mean([share[name] for share in shares])) for name in (shares[0] if shares else ())})


def _result(settings: dict, names: Sequence[str], rows: dict[str, dict]) -> dict:
    ordered = [rows[name] for name in names if name in rows]
    table = [row for row in ordered if row["kernel"] in KERNELS and KERNELS[row["kernel"]].paper]
    return settings | {"met": len(ordered) == len(names) and not any("error" in row for row in ordered),
                       "runs": ordered, "mean": averages(ordered), "mean_of_table_ii": averages(table), "paper": PAPER}


def read_result(path: Path) -> dict | None:
    """Return the result that an earlier run wrote with `run(json_file=...)`, None if there is no such file.

    Raises
    ------
    ValueError
        If the file is something else.
    """
    return resumable.read_result(path, "caesura bench contexts", ("samples", "mean_of_table_ii"), ("as_vectors",))


def _earlier(resume: dict | None, settings: dict) -> dict[str, dict]:
    """Return the rows of an earlier run by kernel, without those that failed."""
    if resume is None:
        return {}
    check_settings(resume, settings)
    return {row["kernel"]: row for row in resume["runs"] if "error" not in row}


def run(geometry: Geometry | str, size: str = "small", kernels: Sequence[str] = (), samples: int = SAMPLES,
        seed: int = 1, jobs: int = 1, progress: Callable[[str], None] = lambda text: None, *,
        json_file: Path | None = None, resume: dict | None = None,
        works: Sequence[tuple[str, CompiledJob, Geometry]] = ()) -> dict:
    """Measure kernels; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    geometry : Geometry or str
        Geometry, or the name of a preset.
    size : str
        Size of the jobs.
    kernels : sequence of str
        All by default.
    samples : int
        Number of samples per kernel, 1 or more.
    seed : int
        Seed of the moments.
    jobs : int
        Number of processes.
    progress : callable
    json_file : Path, optional
        File that is written after each kernel.
    resume : dict, optional
        Result of an earlier run. Its rows are used again where the kernel's code is the same. Rows of kernels that are
        not among `kernels` are kept.
    works : sequence of (str, CompiledJob, Geometry)
        Kernels that replace the shipped ones.

    Raises
    ------
    ValueError
        If there are no samples or processes, or the earlier run had other settings.
    """
    check_counts(samples=samples, jobs=jobs)
    own = preset(geometry) if isinstance(geometry, str) else geometry
    settings = geometry_settings(own) | {"size": size, "samples": samples, "seed": seed}
    rows = _earlier(resume, settings)
    chosen = list(works) or [(name, None, own) for name in kernels or KERNELS]
    tasks = [Task(name, g, size, samples, seed, work, rows.get(name)) for name, work, g in chosen]
    names = [task.name for task in tasks]
    names = [name for name in KERNELS if name in {*names, *rows}] if not works else names
    result = _result(settings, names, rows)
    for _, row in perform(_attempt, tasks, jobs, progress, lambda task: task.name, _died):
        rows[row["kernel"]] = row
        result = _result(settings, names, rows)
        if json_file is not None:
            write_result(json_file, result)
    return result
