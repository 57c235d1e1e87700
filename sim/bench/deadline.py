"""A small urgent kernel arrives every n cycles while a kernel of a thousand thread blocks (TBs) runs.

``caesura bench deadline`` runs the same traffic with each way to make room. The ways are: none; waiting for TBs to end
(drain); saving contexts, also in place or as increments of a base; dropping the work of TBs (flush) or of the kernel
(reset). The latency of an urgent kernel lasts from its arrival to its end. The long kernel begins again as soon as it
has ended, so no urgent kernel finds the machine idle. On the RTL the results of all kernels are compared with their
references.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim.model.calibrate import calibrate
from caesura.sim.model.costs import Costs
from caesura.sim.model.opening import MACHINES, of_one_sm, open_machine, possible
from caesura.sim.model.traffic import KINDS, URGENT, batch_kind, kinds_for, make_work
from caesura.sim.report.deadline import print_report
from caesura.sim.scenario import verdicts
from caesura.software.kernels import Job
from caesura.software.sched import (
    TECHNIQUES,
    Arrival,
    DriverMachine,
    KernelRun,
    Machine,
    PriorityScheduler,
    Request,
    Technique,
)

from .machines import MOMENTS
from .mechanisms import spread
from .resumable import geometry_settings

__all__ = ["TBS", "ARRIVALS", "EVERY", "URGENT_TBS", "LEAD", "Demonstration", "run", "print_report"]

TBS = 1000
"""Number of TBs of the long kernel."""
ARRIVALS = 100
EVERY = 10_000
"""Cycles between two arrivals."""
URGENT_TBS = 2
LEAD = 3_500
"""Cycles from the announcement of an arrival to the arrival, as in `sim.bench.checkpoints.WARNING`."""
CAPACITY = {0: 1, 1: 2}
"""Works in flight by priority."""
PATIENCE, LONG = 50, 20_000
"""Factor of a run's limit over the cycles of all arrivals, and cycles that are added per arrival."""


@dataclass
class Demonstration:
    """One way to make room, on one machine.

    Parameters
    ----------
    machine : Machine
    way : Way
    batch, urgent : tuple of KernelRun and Job
        Works of the long and of the urgent kernel, and jobs that check their results.
    arrivals, every, lead : int
    progress : callable

    Attributes
    ----------
    done : list of Request
        Urgent kernels that have ended.
    batches : list of Request
        Runs of the long kernel that have ended.
    wrong : int
        Number of wrong elements in the results.
    """

    machine: Machine
    technique: Technique
    batch: tuple[KernelRun, Job]
    urgent: tuple[KernelRun, Job]
    arrivals: int
    every: int
    lead: int
    progress: Callable[[str], None]
    done: list[Request] = field(default_factory=list)
    batches: list[Request] = field(default_factory=list)
    wrong: int = 0

    def run(self) -> None:
        """Run until the last urgent kernel has ended, or until the limit."""
        self._scheduler = PriorityScheduler(self.machine, self.technique, CAPACITY, min(self.lead, self.every - 1),
                                            self._finished)
        self._running = self._scheduler.submit(self.batch[0], 0)
        start = self.machine.cycle
        coming = [Arrival(start + self.every * (1 + number), self.urgent[0], 1) for number in range(self.arrivals)]
        self._scheduler.run(coming, until=lambda: len(self.done) == self.arrivals,
                            limit=start + PATIENCE * (self.every + LONG) * (self.arrivals + 1))
        self.cycles = self.machine.cycle - start

    def _finished(self, request: Request) -> None:
        job = self.urgent[1] if request.priority else self.batch[1]
        if isinstance(self.machine, DriverMachine) and request.signal:
            self.wrong += sum(verdict.wrong for verdict in verdicts(job, self.machine.results(request.signal)))
        if request.priority:
            self.done.append(request)
            self.progress(f"{self.technique.name}: {len(self.done)} of {self.arrivals} urgent kernels")
        else:
            self.batches.append(request)
            self._running = self._scheduler.submit(self.batch[0], 0)

    def batch_tbs(self) -> int:
        """Return the number of TBs of the long kernel that have ended and were not lost."""
        now = self._running.signal
        return len(self.batches) * self.batch[0].tbs + (self.machine.progress(now)[0] if now else 0)


def _row(shown: Demonstration, deadline: int, seconds: float) -> dict:
    latencies = sorted(request.latency or 0 for request in shown.done)
    row: dict = {"way": shown.technique.name, "arrivals": shown.arrivals, "ended": len(latencies),
                 "latencies": latencies, "cycles": shown.cycles, "batch_tbs": shown.batch_tbs(), "wrong": shown.wrong,
                 "seconds": seconds,
                 "late": sum(latency > deadline for latency in latencies) + shown.arrivals - len(latencies)}
    if latencies:
        row |= {"min": latencies[0]} | (spread(latencies) or {})
    return row


def _chosen(g: Geometry, ways: Sequence[str], batch: str) -> list[Technique]:
    """Return the ways to show."""
    for name in ways:
        if name not in TECHNIQUES:
            raise InputError(f"there is no way {name!r}; there are {', '.join(TECHNIQUES)}")
        if not possible(g, TECHNIQUES[name]):
            raise InputError(f"this SM ({g.name}) cannot make room by {name!r}; leave that way out")
    able = [each for each in TECHNIQUES.values()
            if possible(g, each) and (KINDS[batch].idempotent or not each.idempotent)]
    return [each for each in able if not ways or each.name in ways]


def run(g: Geometry, machine: str = "model", ways: Sequence[str] = (), tbs: int = TBS, arrivals: int = ARRIVALS,
        every: int = EVERY, deadline: int | None = None, lead: int = LEAD, seed: int = 1,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Show the ways to make room; `docs/keys.md` documents the keys.

    Parameters
    ----------
    g : Geometry
        Geometry of one or several SMs.
    machine : str
        One of `MACHINES`.
    ways : sequence of str
        All ways of the SM by default.
    tbs, arrivals, every : int
        Number of TBs of the long kernel, number of urgent kernels, and cycles between their arrivals.
    deadline : int, optional
        Cycles after which an urgent kernel is late; by default `every`, when the next one arrives.
    lead : int
        Cycles from the announcement of an arrival to the arrival. No announcement comes before the previous arrival.
    seed : int
        Seed of inputs and of a model.
    progress : callable

    Raises
    ------
    InputError
        If a number is out of range, or there is no such machine or way.
    """
    if machine not in MACHINES:
        raise InputError(f"machine must be {' or '.join(MACHINES)}, not {machine!r}: cycles of others are no times")
    for name, value in (("tbs", tbs), ("arrivals", arrivals), ("every", every)):
        if value < 1:
            raise InputError(f"{name} must be 1 or more, not {value}")
    if lead < 0:
        raise InputError(f"lead must be 0 or more, not {lead}")
    one = of_one_sm(g)
    if URGENT not in kinds_for(one):
        raise InputError(f"kernel {URGENT!r} does not fit this SM ({g.name}); choose a larger one")
    kind = batch_kind(one)
    chosen = _chosen(g, ways, kind)
    costs: Costs | None = calibrate(one, (kind, URGENT), MOMENTS, seed, progress) if machine == "model" else None
    batch, urgent = make_work(kind, one, tbs, seed), make_work(URGENT, one, URGENT_TBS, seed)
    limit, rows = every if deadline is None else deadline, []
    for technique in chosen:
        progress(f"{technique.name}: running")
        opened = open_machine(machine, g, costs, seed)
        shown = Demonstration(opened, technique, batch, urgent, arrivals, every, lead, progress)
        began = time.perf_counter()
        shown.run()
        rows.append(_row(shown, limit, time.perf_counter() - began))
        opened.close()
    alone = next((row["batch_tbs"] / row["cycles"] for row in rows if row["way"] == "none"), None)
    for row in rows:
        row["batch_speed"] = row["batch_tbs"] / row["cycles"] / alone if alone else None
    return geometry_settings(g) | {
        "machine": machine, "sms": g.sms, "clock_mhz": g.clock_mhz, "seed": seed, "batch": kind, "tbs": tbs,
        "urgent": URGENT, "urgent_tbs": URGENT_TBS, "arrivals": arrivals, "every": every, "lead": lead,
        "deadline": limit, "runs": rows, "met": not any(row["wrong"] for row in rows)}
