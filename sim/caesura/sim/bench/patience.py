"""How long a preempt takes with the default patience, next to mechanisms that do not wait and that wait for ever.

``caesura bench patience`` preempts each kernel at cycles drawn at random over its run, at each of them with `occupied`,
and with the mechanisms that wait for preemption points with patience 0, the default one, and without a bound. All
requests of a moment fork from one run, whose results are those of the reference.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from caesura.hw.arch.context import Capability, Mechanism
from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import library
from caesura.sim.scenario import Work, shipped_work
from caesura.sim.workloads.everywhere import Campaign, Patience
from caesura.software.kernels import KERNELS, hostile
from caesura.software.patience import UNLIMITED
from caesura.software.report.console import report_console

from .processes import perform

__all__ = ["MOMENTS", "WAITING", "WORST_LIMIT", "MEAN_LIMIT", "Task", "measure", "verdict", "run", "print_report"]

MOMENTS = 100
"""Moments of each kernel unless given."""
WORST_LIMIT = 1.1
"""Of the worst latency of `occupied`: the worst with the default patience."""
MEAN_LIMIT = 1.0
"""Of the mean latency with patience 0, and of that without a bound: the mean with the default patience."""
MAX_CYCLES = 5_000_000
WAITING = tuple(m for m in Mechanism if m.has(Capability.STOPS_AT_POINTS))
"""Mechanisms that wait for preemption points."""
_PATIENCES: dict[str, Patience] = {"zero": 0, "default": None, "unlimited": UNLIMITED}


@dataclass(frozen=True)
class Task:
    """A kernel, measured in a process of its own if more than one is allowed.

    Attributes
    ----------
    geometry : Geometry
    work : Work
        The kernel and its job.
    mechanisms : tuple of Mechanism
        Which of `WAITING`.
    moments, seed : int
    """

    geometry: Geometry
    work: Work
    mechanisms: tuple[Mechanism, ...]
    moments: int
    seed: int

    @property
    def name(self) -> str:
        """Of the kernel."""
        return self.work.image.name


def verdict(latencies: dict[str, list[int]]) -> dict:
    """Return the figures of a kernel and a mechanism next to their limits.

    Parameters
    ----------
    latencies : dict of str to list of int
        Preemption latency in cycles by ``occupied``, ``zero``, ``default``, ``unlimited``, moment by moment.
    """
    worst = {name: max(values, default=0) for name, values in latencies.items()}
    mean = {name: float(np.mean(values)) if values else 0.0 for name, values in latencies.items()}
    worst_limit, mean_limit = WORST_LIMIT * worst["occupied"], MEAN_LIMIT * min(mean["zero"], mean["unlimited"])
    return {"worst": worst, "mean": mean, "worst_limit": worst_limit, "mean_limit": mean_limit,
            "worst_met": worst["default"] <= worst_limit, "mean_met": mean["default"] <= mean_limit}


def measure(task: Task, progress: Callable[[str], None] = lambda text: None) -> list[dict]:
    """Preempt a kernel at random cycles of its run; return a row for each mechanism."""
    machine = Campaign(RtlTransport(task.geometry, MEMORY_BYTES), task.work, Work(*hostile(task.geometry)), MAX_CYCLES)
    rng = np.random.default_rng([task.seed, zlib.crc32(task.name.encode())])
    moments = np.sort(rng.integers(1, machine.cycles, task.moments)).tolist()
    requests = [(Mechanism.OCCUPIED, None), *((m, p) for m in task.mechanisms for p in _PATIENCES.values())]
    found = []
    for number, latencies in enumerate(machine.latencies(requests, moments), 1):
        if None not in latencies:
            found.append(latencies)
        progress(f"{task.name}: {number} of {task.moments}")
    columns = list(zip(*found, strict=True)) if found else [()] * len(requests)
    rows = []
    for number, mechanism in enumerate(task.mechanisms):
        first = 1 + number * len(_PATIENCES)
        by_name = {"occupied": columns[0]} | dict(zip(_PATIENCES, columns[first:first + len(_PATIENCES)], strict=True))
        rows.append({"kernel": task.name, "mechanism": mechanism.label, "moments": len(found)}
                    | verdict({name: list(values) for name, values in by_name.items()}))
    return rows


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (), mechanisms: Sequence[Mechanism] = (),
        moments: int = MOMENTS, seed: int = 1, jobs: int = 1,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure kernels with mechanisms that wait; keys are documented in `docs/cli.md`.

    Parameters
    ----------
    g : Geometry
    size : str
        Of the jobs.
    kernels, mechanisms : sequence
        All there are unless given.
    moments : int
        Of each kernel, 1 or more; those after which it had ended by itself do not count.
    seed : int
        Of the moments.
    jobs : int
        Processes.
    progress : callable
    """
    if moments < 1 or jobs < 1:
        raise InputError(f"moments and jobs must be 1 or more, not {moments} and {jobs}")
    progress(f"building the simulator of {g.name}")
    library(g)
    tasks = [Task(g, shipped_work(name, g, size), tuple(mechanisms) or WAITING, moments, seed)
             for name in kernels or KERNELS]
    ended = dict(perform(measure, tasks, jobs, progress, lambda task: task.name))
    rows = [row for index in range(len(tasks)) for row in ended[index]]
    return {"preset": g.name, "size": size, "moments": moments, "seed": seed,
            "met": all(row["worst_met"] and row["mean_met"] for row in rows), "runs": rows}


def _against(cycles: float, limit: float, met: bool) -> str:
    return f"{cycles:,.0f} / {limit:,.0f}" + ("" if met else f" MISSED ({100 * (cycles / limit - 1):+.1f} %)")


def print_report(result: dict) -> None:
    """Print what `run` returned: the worst and the mean latency of each kernel, next to their limits."""
    table = Table("kernel", "mechanism", "moments", "worst: occupied", "0", "unlimited", "default / limit",
                  "mean: occupied", "0", "unlimited", "default / limit", box=None,
                  title=f"{result['preset']}: preemption latency in cycles, by patience")
    for row in result["runs"]:
        worst, mean = row["worst"], row["mean"]
        table.add_row(
            row["kernel"], row["mechanism"], f"{row['moments']}",
            *(f"{worst[name]:,}" for name in ("occupied", "zero", "unlimited")),
            _against(worst["default"], row["worst_limit"], row["worst_met"]),
            *(f"{mean[name]:,.0f}" for name in ("occupied", "zero", "unlimited")),
            _against(mean["default"], row["mean_limit"], row["mean_met"]))
    report_console(180).print(table)
