"""Errors of the model's latency and throughput, from the same workloads and scheduler on the RTL and on the model.

``caesura bench machines`` draws workloads with random kernels, sizes, arrivals and priorities; the ways to preempt take
turns. Each workload runs on both machines to its end. The latency of a work lasts from its arrival to its end. The
throughput of a workload is its thread blocks (TBs) over the time to the last end. Results on the RTL are compared with
the references.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim.model.calibrate import calibrate
from caesura.sim.model.costs import Costs
from caesura.sim.model.opening import of_one_sm, open_machine, possible
from caesura.sim.model.traffic import KINDS, make_work
from caesura.sim.report.machines import print_report
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

from .resumable import geometry_settings

__all__ = ["WORKLOADS", "LATENCY_AIM", "THROUGHPUT_AIM", "CAPACITY", "Workload", "draw", "play", "run", "print_report"]

WORKLOADS = 20
LATENCY_AIM, THROUGHPUT_AIM = 0.10, 0.05
"""Limits of the mean errors over all workloads."""
CAPACITY = {0: 2, 1: 1, 2: 1}
"""Works in flight by priority."""
MOMENTS = 6
"""Default of `calibrate`'s parameter of that name."""
MAX_CYCLES = 50_000_000
"""Limit of a workload."""


@dataclass(frozen=True)
class Workload:
    """A mix of works.

    Attributes
    ----------
    number : int
    way : Way
    lead : int
        Cycles from the announcement of an arrival to the arrival.
    arrivals : tuple of Arrival
    jobs : dict of KernelRun to Job
        Jobs that check the results of works.
    """

    number: int
    technique: Technique
    lead: int
    arrivals: tuple[Arrival, ...]
    jobs: dict[KernelRun, Job]

    @property
    def tbs(self) -> int:
        """TBs of all works."""
        return sum(arrival.work.tbs for arrival in self.arrivals)


def draw(g: Geometry, costs: Costs, number: int, seed: int) -> Workload:
    """Return a workload of the kernels with known costs.

    It has one or two long works, and three to six shorter, more urgent works that arrive while the long ones run.

    Raises
    ------
    InputError
        If no kernel is suited to the workload's way to preempt.
    """
    rng = np.random.default_rng([seed, number])
    ways = [technique for technique in TECHNIQUES.values() if possible(g, technique)]
    technique = ways[number % len(ways)]
    able = [name for name in costs.kernels if KINDS[name].idempotent or not technique.idempotent]
    if not able:
        raise InputError(f"way {technique.name!r} is for kernels of which thread blocks can begin anew, and none of "
                         f"{', '.join(costs.kernels)} is one; choose others besides")
    arrivals, jobs, span, shortest = [], {}, 0.0, 1e9

    def add(cycle: int, name: str, tbs: int, priority: int) -> None:
        work, job = make_work(name, of_one_sm(g), tbs, int(rng.integers(1 << 31)))
        jobs[work] = job
        arrivals.append(Arrival(cycle, work, priority))

    for _ in range(int(rng.integers(1, 3))):
        name = able[int(rng.integers(len(able)))]
        most, cycles = costs.kernels[name].tb_cycles[-1]
        rounds = max(3, round(float(rng.uniform(0.5, 1.5)) * 40_000 / cycles))
        add(int(rng.integers(200)), name, rounds * most * g.sms, 0)
        span, shortest = span + rounds * cycles, min(shortest, cycles)
    for _ in range(int(rng.integers(3, 7))):
        name = able[int(rng.integers(len(able)))]
        most = costs.kernels[name].tb_cycles[-1][0]
        add(int(rng.uniform(0.05, 0.9) * span), name, int(rng.integers(1, 2 * most * g.sms + 1)),
            int(rng.integers(1, 3)))
    arrivals.sort(key=lambda arrival: arrival.cycle)
    return Workload(number, technique, int(shortest / 4), tuple(arrivals), jobs)


def play(machine: Machine, workload: Workload) -> tuple[list[Request], int]:
    """Run a workload to its end; return the requests in the order of arrival, and the cycle of the end.

    Raises
    ------
    InputError
        If the workload has not ended after `MAX_CYCLES`.
    """
    done: list[Request] = []
    start = machine.cycle
    scheduler = PriorityScheduler(machine, workload.technique, CAPACITY, workload.lead, done.append)
    scheduler.run([Arrival(start + each.cycle, each.work, each.priority) for each in workload.arrivals],
                  limit=start + MAX_CYCLES)
    if len(done) < len(workload.arrivals):
        raise InputError(f"workload {workload.number} has not ended on machine {machine.name!r} after {MAX_CYCLES:,} "
                         f"cycles: {len(done)} of {len(workload.arrivals)} works have")
    order = {arrival.work: place for place, arrival in enumerate(workload.arrivals)}
    done.sort(key=lambda request: order[request.work])
    ends = [request.signal.ended for request in done if request.signal and request.signal.ended is not None]
    return done, max(ends) - start


def _wrong(machine: Machine, workload: Workload, done: Sequence[Request]) -> int:
    """Return the number of wrong elements in the results; a model has none."""
    if not isinstance(machine, DriverMachine):
        return 0
    return sum(verdict.wrong for request in done if request.signal
               for verdict in verdicts(workload.jobs[request.work], machine.results(request.signal)))


def _measure(name: str, g: Geometry, costs: Costs, workload: Workload, seed: int) -> dict:
    machine = open_machine(name, g, costs, seed)
    began = time.perf_counter()
    done, end = play(machine, workload)
    seconds = time.perf_counter() - began
    latencies = [request.latency or 0 for request in done]
    counts = [signal.counts for request in done for signal in request.signals]
    row = {"latencies": latencies, "latency": float(np.mean(latencies)), "cycles": end,
           "tbs_per_kilocycle": 1000 * workload.tbs / end, "preempts": sum(each.preempts for each in counts),
           "seconds": seconds, "wrong": _wrong(machine, workload, done)}
    machine.close()
    return row


def _compare(workload: Workload, rtl: dict, model: dict) -> dict:
    pairs = list(zip(rtl["latencies"], model["latencies"], strict=True))
    return {"workload": workload.number, "way": workload.technique.name, "works": len(workload.arrivals),
            "tbs": workload.tbs, "rtl": rtl, "model": model,
            "latency_error": abs(model["latency"] / rtl["latency"] - 1),
            "work_error": float(np.mean([abs(ours / theirs - 1) for theirs, ours in pairs])),
            "throughput_error": abs(model["tbs_per_kilocycle"] / rtl["tbs_per_kilocycle"] - 1)}


def run(g: Geometry, workloads: int = WORKLOADS, seed: int = 1, kernels: Sequence[str] = (),
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Compare the machines; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
        Geometry of one or several SMs; the costs are those of one SM.
    workloads, seed : int
    kernels : sequence of str
        Kernels of the workloads (`sim.model.traffic.KINDS`); by default all that fit.
    progress : callable
    """
    if workloads < 1:
        raise InputError(f"workloads must be 1 or more, not {workloads}")
    costs = calibrate(of_one_sm(g), tuple(dict.fromkeys(kernels)), MOMENTS, seed, progress)
    rows = []
    for number in range(workloads):
        workload = draw(g, costs, number, seed)
        progress(f"workload {number + 1} of {workloads}: {workload.technique.name}, {workload.tbs} TBs")
        rows.append(_compare(workload, *(_measure(name, g, costs, workload, seed) for name in ("rtl", "model"))))
    errors = {key: {"mean": float(np.mean([row[key] for row in rows])), "max": max(row[key] for row in rows)}
              for key in ("latency_error", "work_error", "throughput_error")}
    wrong = sum(row["rtl"]["wrong"] for row in rows)
    seconds = {name: sum(row[name]["seconds"] for row in rows) for name in ("rtl", "model")}
    met = (not wrong and errors["latency_error"]["mean"] <= LATENCY_AIM
           and errors["throughput_error"]["mean"] <= THROUGHPUT_AIM)
    return geometry_settings(g) | {
        "sms": g.sms, "seed": seed, "kernels": [*costs.kernels], "workloads": rows, "errors": errors, "wrong": wrong,
        "aims": {"latency_error": LATENCY_AIM, "throughput_error": THROUGHPUT_AIM}, "seconds": seconds,
        "times_as_fast": seconds["rtl"] / max(seconds["model"], 1e-9), "met": met}
