"""Machines for schedulers with small works of `tiny`, and costs that are round numbers."""

from __future__ import annotations

import numpy as np

from caesura import open_device
from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.sim.model import Costs, KernelCosts, ModelMachine, SwitchCosts
from caesura.sim.model.costs import Line
from caesura.sim.model.traffic import make_work, work_code
from caesura.sim.scenario import verdicts
from caesura.software.sched import DriverMachine, Event, EventKind, KernelRun, Machine, Submission

TINY = PRESETS["tiny"]
MEMORY = 4 << 20
MACHINES = ("golden", "rtl", "model")
START, KILL = 100, 50
"""Cycles in `round_costs`."""
SAVE, PER_TB, BACK = 60, 20, 30
"""Likewise: of any preempt, of each TB of it, of any resume."""
LIMIT = 2_000_000
SILENCE = 16_000
"""Cycles in which some work ends, if any does."""


def round_kernel(name: str, cycles: tuple[tuple[int, float], ...] = ((1, 1000.0), (2, 1500.0)), g: Geometry = TINY,
                 shared_bytes: int | None = None, spread: tuple[float, ...] = (1.0,), bytes_per_tb: float = 0.0,
                 cold: float = 0.0) -> KernelCosts:
    """Costs of a kernel in round numbers."""
    work, _ = make_work(name, g, 1)
    ways = ("live+cp", "in-place", "checkpoint", "flush", "base")
    switches = {way: SwitchCosts(Line(SAVE, PER_TB), (1.0,), None if way == "base" else Line(BACK, 0)) for way in ways}
    return KernelCosts(name, work_code(work), work.threads, work.image.registers, -(-work.threads // g.warp_size),
                       work.image.shared_bytes if shared_bytes is None else shared_bytes, cycles, spread, bytes_per_tb,
                       START, KILL, cold, switches)


def round_costs(*kernels: KernelCosts, g: Geometry = TINY) -> Costs:
    """Costs of some kernels, of those of `traffic` for `tiny` unless given."""
    given = kernels or tuple(round_kernel(name) for name in ("vecadd", "saxpy", "collatz", "rankfilter"))
    return Costs(g, {kernel.name: kernel for kernel in given})


def machine(name: str, g: Geometry = TINY) -> Machine:
    """A machine by name."""
    if name == "model":
        return ModelMachine(round_costs(), g.sms)
    return DriverMachine(open_device(name, g, MEMORY))


def work(name: str, tbs: int, seed: int = 1) -> KernelRun:
    """A work of `tiny`."""
    return make_work(name, TINY, tbs, seed)[0]


def wrong(made: Machine, signal: Submission, seed: int = 1) -> int:
    """Elements that are wrong in the results of a work of `work`; 0 on a model."""
    if not isinstance(made, DriverMachine):
        return 0
    _, job = make_work(signal.work.name, TINY, signal.work.tbs, seed)
    results = made.results(signal)
    assert all(np.size(value) for value in results.values())
    return sum(verdict.wrong for verdict in verdicts(job, results))


def events(made: Machine, *, silence: int = SILENCE) -> list[Event]:
    """Run until nothing happens any more; return what has happened."""
    found = []
    while (event := made.run_until(made.cycle + silence)) is not None:
        found.append(event)
    return found


def kinds(found: list[Event], signal: Submission) -> list[EventKind]:
    """Kinds of the events of a work."""
    return [event.kind for event in found if event.signal is signal]
