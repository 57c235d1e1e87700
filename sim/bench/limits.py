"""Save and restore time of every shipped kernel against the limit of the bus.

``caesura bench limits`` preempts each kernel at several moments of its run, and runs another kernel that overwrites
everything. It then brings the first kernel back, with its TBs starting one by one and in a gang, and checks all
results. It prints the times that come closest to their limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism, mechanisms_of
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import PreemptionResult, as_json, shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.kernels import KERNELS
from caesura.software.report.console import report_console

__all__ = ["MOMENTS", "LimitRuns", "failures", "run", "print_report"]

MOMENTS = 0.1, 0.3, 0.5, 0.7, 0.9
"""Moments of preempts, as shares of the undisturbed run."""
MAX_CYCLES = 5_000_000


class LimitRuns(Campaign):
    """Preemptions of a shipped kernel on the RTL, each resumed TB by TB, and in a gang.

    All fork from one undisturbed run.

    Parameters
    ----------
    g : Geometry
    name : str
        Name of the kernel.
    size : str
        Size of its job.
    """

    def __init__(self, g: Geometry, name: str, size: str = "small"):
        super().__init__(RtlTransport(g, MEMORY_BYTES), shipped_work(name, g, size), shipped_work("hostile", g),
                         MAX_CYCLES)

    def pairs(self, mechanism: Mechanism, moments: Sequence[float] = MOMENTS
              ) -> Iterator[tuple[PreemptionResult, PreemptionResult]]:
        """Yield the times of a preemption with the default patience at each moment, a share of the undisturbed run.

        Raises
        ------
        AssertionError
            If a byte of memory is wrong at the end.
        """
        at = [int(moment * self.cycles) for moment in moments]
        for cycles in [at] if at == sorted(at) else [[cycle] for cycle in at]:  # a fork only goes forward
            for cycle in self._at_each(cycles):
                fork = self._fork()
                early = self._result(mechanism, cycle, False)
                self._back(fork)
                yield early, self._result(mechanism, cycle, True)

    def _result(self, mechanism: Mechanism, cycle: int, gang: bool) -> PreemptionResult:
        result = self.once(mechanism, cycle, gang=gang)
        if wrong := self._wrong():
            raise AssertionError(f"{self.work.image.name}, {mechanism.label} at {cycle:,}: {wrong} bytes are wrong")
        return result


def failures(result: PreemptionResult) -> list[str]:
    """Return the faults of a preemption: arrays with wrong elements, and times beyond their limits."""
    found = [f"{name}: {count} wrong" for name, count in result.differences.items() if count]
    limits = {"save": result.save_limit, "restore": result.restore_limit}
    return found + [f"{what}: {limit}" for what, limit in limits.items() if limit and not limit.met]


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = (),
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure shipped kernels, by default all, with every mechanism; `docs/keys.md` documents the keys."""
    rows, met = [], True
    for name in kernels or KERNELS:
        progress(name)
        runs = LimitRuns(g, name, size)
        for mechanism in mechanisms_of(g):
            progress(f"{name}, {mechanism.label}")
            for pair in runs.pairs(mechanism):
                for gang, result in enumerate(pair):
                    met = met and not failures(result)
                    row = as_json(result)
                    del row["saved_tbs"]
                    rows.append({"kernel": name, "mechanism": mechanism.label, "gang": bool(gang)} | row)
    return {"preset": g.name, "size": size, "met": met, "runs": rows}


def _against(limits: list[dict]) -> str:
    """Return the time that comes closest to its limit, and the limit."""
    worst = max(limits, key=lambda limit: limit["cycles"] / limit["limit"])
    return f"{worst['cycles']:,} / {worst['limit']:,.0f}" + ("" if worst["met"] else " MISSED")


def print_report(result: dict) -> None:
    """Print the result of `run`: bytes, and for each kind of time the one closest to its limit."""
    table = Table("kernel", "mechanism", "occupied B", "written B", "drain", "save / limit", "restore / limit",
                  "first instr.", "gang restore / limit", "first instr.", "result", box=None,
                  title=f"{result['preset']}: cycles, and bytes of the SM's context (the largest seen)")
    keys = dict.fromkeys((row["kernel"], row["mechanism"]) for row in result["runs"])
    for key in keys:
        rows = [row for row in result["runs"] if (row["kernel"], row["mechanism"]) == key]
        verdict = "right" if all(row["correct"] for row in rows) else "WRONG"
        saved = [row for row in rows if row["preempt"] and row["preempt"]["tbs"]]
        if not saved:
            table.add_row(*key, *["-"] * 8, verdict + ", had finished")
            continue
        early, gang = ([row for row in saved if row["gang"] is together] for together in (False, True))
        preempts = [row["preempt"] for row in saved]
        table.add_row(
            *key, f"{max(p['occupied_bytes'] for p in preempts):,}",
            f"{max(p['data_bytes'] + p['metadata_bytes'] for p in preempts):,}",
            f"{max(p['drain_cycles'] for p in preempts):,}", _against([row["save_limit"] for row in saved]),
            _against([row["restore_limit"] for row in early]),
            f"{max(row['resume']['resume_cycles'] for row in early):,}",
            _against([row["restore_limit"] for row in gang]),
            f"{max(row['resume']['resume_cycles'] for row in gang):,}", verdict)
    report_console(160).print(table)
