"""Measures what thread blocks (TBs) and switches of kernels cost on the RTL, through the machine that schedulers see.

Of each kernel, with 1 TB on the SM up to as many as fit (dynamic shared memory keeps others away): how long a TB takes
in the steady state, from the difference of two launches, one twice as long; what a launch takes besides; how much the
times of single TBs differ, from a timeline; and what each way of preempting and bringing back takes, at random moments.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.timeline import EventKind
from caesura.software.driver import Device
from caesura.software.sched import WAYS, DriverMachine, Event, EventKind as Happened, QueueSpec, Signal, Way, Work

from .costs import Costs, KernelCosts, SwitchCosts, fit_line, geometry_digest, read_costs, write_costs
from .traffic import kinds_for, make_work, work_code

__all__ = ["SWITCHES", "fitting", "calibrate", "measure_kernel"]

MEMORY_BYTES = 64 << 20
ROUNDS = 6
"""TBs in a row on each place of the SM in the shorter of two launches."""
LONG = 24
"""The same of launches that are preempted."""
MAX_CYCLES = 20_000_000
"""Of a launch."""
BASE = "base"
"""Name of the costs of a checkpoint."""
SWITCHES: dict[str, Way] = {name: way for name, way in WAYS.items() if way.preempt is not None and name != "drain"}
"""Ways with a cost that is measured. What a drain takes follows from the TBs."""


@dataclass
class Bench:
    """A kernel on a machine that does nothing else.

    Attributes
    ----------
    transport : RtlTransport
    machine : DriverMachine
    queue : int
    """

    transport: RtlTransport
    machine: DriverMachine
    queue: int

    @classmethod
    def open(cls, g: Geometry) -> Bench:
        """Return a fresh one."""
        transport = RtlTransport(g, MEMORY_BYTES)
        machine = DriverMachine(Device(transport))
        return cls(transport, machine, machine.queue(QueueSpec()))

    def expect(self, *kinds: Happened) -> Event:
        """Let time pass until one of some events, and return it."""
        limit = self.machine.cycle + MAX_CYCLES
        while (event := self.machine.run_until(limit)) is not None:
            if event.kind in kinds:
                return event
            if event.kind in (Happened.FAULTED, Happened.REFUSED):
                raise InputError(f"kernel {event.signal.work.name!r} cannot be measured: {event.text}")
        raise InputError(f"a measurement has not ended after {MAX_CYCLES:,} cycles")

    def run(self, work: Work) -> int:
        """Run a work to its end and return its latency."""
        signal = self.machine.submit(self.queue, work)
        self.expect(Happened.FINISHED)
        assert signal.latency is not None
        return signal.latency

    def bytes_moved(self) -> int:
        """Return what was moved on the bus so far."""
        return self.transport.traffic.regular


def fitting(g: Geometry, registers: int, warps: int, shared_bytes: int) -> int:
    """Return how many TBs of a kernel an SM holds."""
    rows, lines = -(-warps * registers // REGISTER_BANKS), -(-shared_bytes // SEGMENT_BYTES)
    return min(g.tb_slots, g.warps // warps, g.register_rows // rows, g.shared_lines // lines if lines else g.tb_slots)


def crowds(g: Geometry, work: Work) -> dict[int, int]:
    """Return bytes of dynamic shared memory with which an SM holds exactly so many TBs, by their number."""
    static = work.image.shared_bytes
    warps = -(-work.threads // g.warp_size)
    most = fitting(g, work.image.registers, warps, static)
    found = {most: 0}
    for count in range(1, most):
        lines = g.shared_lines // count
        if g.shared_lines // lines == count and lines * SEGMENT_BYTES >= static:
            found[count] = lines * SEGMENT_BYTES - static
    return dict(sorted(found.items()))


def _padded(name: str, g: Geometry, tbs: int, seed: int, padding: int) -> Work:
    work, _ = make_work(name, g, tbs, seed)
    return dataclasses.replace(work, shared_bytes=work.shared_bytes + padding)


def _steady(bench: Bench, name: str, g: Geometry, count: int, padding: int, seed: int) -> tuple[float, float, float]:
    """Return cycles of a TB among `count` in the steady state, latency of a launch of `count`, bytes of a TB."""
    first = bench.run(_padded(name, g, count, seed, padding))  # loads the kernel: nothing in caches is its own yet
    short = bench.run(_padded(name, g, ROUNDS * count, seed, padding))
    moved = bench.bytes_moved()
    long = bench.run(_padded(name, g, 2 * ROUNDS * count, seed, padding))
    moved = bench.bytes_moved() - moved
    return max(1.0, (long - short) / ROUNDS), first, moved / (2 * ROUNDS * count)


def tb_times(events: np.ndarray) -> list[int]:
    """Return how long each TB of a timeline was on the SM, in cycles, in the order of their ends.

    Parameters
    ----------
    events : numpy.ndarray
        Of `sim.timeline.EVENT`, of a run without preempts.
    """
    owner: dict[int, tuple[int, int]] = {}
    begun: dict[tuple[int, int], int] = {}
    left: dict[tuple[int, int], int] = {}
    times, before = [], 0
    for row in events:
        if row["kind"] == EventKind.INIT:
            tb, slot = (int(row["kernel"]), int(row["launch"])), int(row["slot"])
            owner[slot] = tb
            begun.setdefault(tb, int(row["cycle"]))
            left[tb] = left.get(tb, 0) + 1
        elif row["kind"] == EventKind.VALID:
            now = int(row["value"])
            for slot in [slot for slot in owner if before >> slot & 1 and not now >> slot & 1]:
                tb = owner.pop(slot)
                left[tb] -= 1
                if not left[tb]:
                    times.append(int(row["cycle"]) - begun[tb])
            before = now
    return times


def _spread(bench: Bench, name: str, g: Geometry, count: int, seed: int) -> list[float]:
    """Return the times of single TBs over their mean, the first ones, with cold caches, left out."""
    bench.transport.record_timeline(1 << 20)
    bench.transport.take_timeline()
    bench.run(_padded(name, g, 2 * ROUNDS * count, seed, 0))
    events, _ = bench.transport.take_timeline()
    bench.transport.record_timeline(0)
    times = tb_times(events)[count:-count]
    mean = float(np.mean(times))
    return [round(each / mean, 4) for each in times]


def _switches(bench: Bench, way: Way, work: Work, cycles: float, moments: int, rng: np.random.Generator
              ) -> Iterator[tuple[str, int, int, int]]:
    """Preempt a work at random moments and bring it back; yield name, TBs, and cycles of save and resume. For a way
    with bases a base is saved before, so long as an announcement is ahead at most."""
    machine = bench.machine
    assert way.preempt is not None
    signal: Signal | None = None
    for _ in range(moments):
        if signal is None or signal.done:
            signal = machine.submit(bench.queue, work)
            bench.expect(Happened.STARTED)
        if _pass(bench, int(rng.uniform(0.3, 1.3) * cycles)):
            continue
        if way.bases:
            asked = machine.cycle
            machine.checkpoint(signal, way.preempt.mechanism)
            event = bench.expect(Happened.CHECKPOINTED, Happened.FINISHED)
            if event.cost is None or not event.cost.tbs:
                continue
            yield BASE, event.cost.tbs, event.cycle - asked, 0
            if _pass(bench, int(rng.uniform(0.1, 0.5) * cycles)):
                continue
        asked = machine.cycle
        machine.preempt(signal, way.preempt)
        event = bench.expect(Happened.PREEMPTED, Happened.FINISHED)
        if event.cost is None:
            continue
        saved, asked = event.cycle - asked, machine.cycle
        machine.resume(signal)
        resumed = bench.expect(Happened.RESUMED)
        if event.cost.tbs:
            yield way.name, event.cost.tbs, saved, resumed.cycle - asked
    if signal is not None and not signal.done:
        machine.kill(signal)
        bench.expect(Happened.KILLED)


def _pass(bench: Bench, cycles: int) -> bool:
    """Let cycles pass; return whether the work has ended meanwhile."""
    end = bench.machine.cycle + cycles
    while (event := bench.machine.run_until(end)) is not None:
        if event.kind in (Happened.FINISHED, Happened.FAULTED):
            return True
    return False


def _switch_costs(bench: Bench, name: str, g: Geometry, crowd: dict[int, int], cycles: dict[int, float], moments: int,
                  seed: int, progress: Callable[[str], None]) -> dict[str, SwitchCosts]:
    found: dict[str, list[tuple[int, int, int]]] = {}
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    for way in SWITCHES.values():
        if not _possible(g, name, way):
            continue
        progress(f"{name}: {way.name}")
        for count in dict.fromkeys((min(crowd), max(crowd))):
            work = _padded(name, g, LONG * count, seed, crowd[count])
            for which, *sample in _switches(bench, way, work, cycles[count], moments, rng):
                found.setdefault(which, []).append((sample[0], sample[1], sample[2]))
    return {which: _cost(samples, which) for which, samples in found.items()}


def _cost(samples: Sequence[tuple[int, int, int]], which: str) -> SwitchCosts:
    tbs = [sample[0] for sample in samples]
    save = fit_line(tbs, [sample[1] for sample in samples])
    resume = None if which == BASE else fit_line(tbs, [sample[2] for sample in samples])
    spread = tuple(round(cycles / max(1.0, save.at(count)), 4) for count, cycles, _ in samples)
    return SwitchCosts(save, spread, resume, tuple(samples))


def _possible(g: Geometry, name: str, way: Way) -> bool:
    from .traffic import KINDS

    assert way.preempt is not None
    return ((KINDS[name].idempotent or not way.idempotent) and (g.restart or not way.preempt.restart)
            and (g.checkpoints or not way.bases) and (g.in_place or not way.preempt.in_place))


def measure_kernel(g: Geometry, name: str, moments: int, seed: int, progress: Callable[[str], None]
                   ) -> tuple[KernelCosts, float, float]:
    """Return the costs of a kernel, and what giving a start and a kill take."""
    bench = Bench.open(g)
    work, _ = make_work(name, g, 1, seed)
    start, kill = _commands(bench, _padded(name, g, 4 * g.tb_slots, seed, 0))
    crowd = crowds(g, work)
    cycles, cold, moved = {}, [], 0.0
    for count, padding in crowd.items():
        progress(f"{name}: {count} of {max(crowd)} TBs on the SM")
        cycles[count], first, moved = _steady(bench, name, g, count, padding, seed)
        cold.append(max(0.0, first - start - cycles[count]))
    spread = _spread(bench, name, g, max(crowd), seed)
    switches = _switch_costs(bench, name, g, crowd, cycles, moments, seed, progress)
    bench.machine.close()
    warps = -(-work.threads // g.warp_size)
    costs = KernelCosts(work_code(work), work.threads, work.image.registers, warps, work.image.shared_bytes,
                        tuple(cycles.items()), tuple(spread), moved, float(np.mean(cold)), switches)
    return costs, start, kill


def _commands(bench: Bench, work: Work) -> tuple[float, float]:
    """Return what it takes to give a start, and to kill a work that has just begun."""
    asked = bench.machine.cycle
    signal = bench.machine.submit(bench.queue, work)
    started = bench.machine.cycle
    bench.expect(Happened.STARTED)
    _pass(bench, 100)
    asked_kill = bench.machine.cycle
    if not signal.done:
        bench.machine.kill(signal)
        bench.expect(Happened.KILLED)
    return float(started - asked), float(bench.machine.cycle - asked_kill)


def calibrate(g: Geometry, kernels: Sequence[str] = (), moments: int = 6, seed: int = 1,
              progress: Callable[[str], None] = lambda text: None, *, file: Path | None = None, resume: bool = False
              ) -> Costs:
    """Measure kernels on the RTL of an SM.

    Parameters
    ----------
    g : Geometry
        Of one SM.
    kernels : sequence of str
        All that fit unless given (`traffic.KINDS`).
    moments : int
        Preempts of each kernel in each way, with as many TBs as fit, and as many with one.
    seed : int
        Of inputs and moments.
    progress : callable
    file : Path, optional
        Cost file, written after each kernel.
    resume : bool
        Take over from the file the kernels whose code is the same, and keep others.

    Raises
    ------
    InputError
        If the geometry has several SMs, a kernel does not fit, or the file is of other settings.
    """
    if g.sms != 1:
        raise InputError(f"costs are measured on one SM, and {g.name} has {g.sms} (sms); the model can have several")
    chosen = tuple(kernels) or kinds_for(g)
    settings = {"moments": moments, "seed": seed}
    known = _earlier(g, settings, file) if resume else {}
    costs = Costs(g, 0.0, 0.0, known, settings)
    commands: list[tuple[float, float]] = []
    if known and file is not None:
        earlier = read_costs(file)
        commands.append((earlier.start_cycles, earlier.kill_cycles))
    for number, name in enumerate(chosen, 1):
        work, _ = make_work(name, g, 1, seed)
        if name in known and known[name].code == work_code(work):
            continue
        found, *command = measure_kernel(g, name, moments, seed,
                                         lambda text, n=number: progress(f"{n} of {len(chosen)}: {text}"))
        commands.append((command[0], command[1]))
        start, kill = (float(each) for each in np.mean(commands, axis=0))
        costs = Costs(g, start, kill, costs.kernels | {name: found}, settings)
        if file is not None:
            write_costs(costs, file)
    if commands and not costs.start_cycles:
        costs = dataclasses.replace(costs, start_cycles=commands[0][0], kill_cycles=commands[0][1])
    return costs


def _earlier(g: Geometry, settings: dict, file: Path | None) -> dict[str, KernelCosts]:
    """Return the kernels of an earlier run, none if there is no file."""
    if file is None or not file.exists():
        return {}
    earlier = read_costs(file)
    if geometry_digest(earlier.geometry) != geometry_digest(g) or earlier.settings != settings:
        raise InputError(f"{file} is of another geometry or other settings ({earlier.geometry.name}, "
                         f"{earlier.settings}): it cannot go on")
    return dict(earlier.kernels)
