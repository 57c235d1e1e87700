"""Measures the costs of thread blocks (TBs) and switches of kernels on the RTL, through the machine of schedulers.

Each kernel is measured with 1 TB on the SM up to as many as fit. Dynamic shared memory keeps other TBs away. Two
launches, one twice as long as the other, give the time of a TB in the steady state, and the overhead of a launch. A
timeline shows how much the times of single TBs differ. Preempts and resumes at random moments give the cost of each way
to preempt. Pairs of kernels show how much two kernels slow each other down side by side.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caesura.cache import cache_directory, digest, seal, whole, write_atomically
from caesura.errors import InputError
from caesura.hw.arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import library
from caesura.software import driver, sched
from caesura.software.driver import Device
from caesura.software.sched import TECHNIQUES, DriverMachine, Event, KernelRun, QueueSpec, Submission, Technique
from caesura.software.sched import EventKind as Happened

from .costs import Costs, KernelCosts, SwitchCosts, fit_line, kernel_data, kernel_of
from .opening import possible
from .spans import slowdown, tb_spans
from .traffic import KINDS, kinds_for, make_work, work_code

__all__ = ["SWITCHES", "fitting", "calibrate", "measure_kernel", "measure_pair"]

MEMORY_BYTES = 64 << 20
ROUNDS = 6
"""Number of successive TBs per place on the SM in the shorter of two launches; long TBs get fewer."""
LEAST_ROUNDS = 2
STRETCH = 40_000
"""Most cycles that such a launch aims at, and twice the most cycles between two switches."""
LONG = 24
"""Number of successive TBs per place on the SM in a launch that is preempted."""
CROWDS = 1, 2, 3, 4, 6, 8, 12, 16, 24
"""Numbers of TBs on the SM that are measured, besides the most that fit."""
PAIR_ROUNDS = 4
"""Number of successive TBs per place in launches of two kernels side by side."""
MAX_CYCLES = 20_000_000
"""Limit of a launch."""
BASE = "base"
"""Name of the costs of a checkpoint."""
SWITCHES: dict[str, Technique] = {name: each for name, each in TECHNIQUES.items()
                                  if each.preempt is not None and name != "drain"}
"""Ways with a measured cost. The cost of a drain follows from the TBs."""


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
        """Return a bench with a fresh machine."""
        transport = RtlTransport(g, MEMORY_BYTES)
        machine = DriverMachine(Device(transport))
        return cls(transport, machine, machine.queue(QueueSpec(capacity=min(2, g.kernel_slots))))

    def expect(self, *kinds: Happened) -> Event:
        """Let time pass until one of some events, and return it."""
        limit = self.machine.cycle + MAX_CYCLES
        while (event := self.machine.run_until(limit)) is not None:
            if event.kind in kinds:
                return event
            if event.kind in (Happened.FAULTED, Happened.REFUSED):
                raise InputError(f"kernel {event.signal.work.name!r} cannot be measured: {event.text}")
        raise InputError(f"a measurement has not ended after {MAX_CYCLES:,} cycles")

    def run(self, work: KernelRun) -> int:
        """Run a work to its end and return its latency."""
        signal = self.machine.submit(self.queue, work)
        self.expect(Happened.FINISHED)
        assert signal.latency is not None
        return signal.latency

    def bytes_moved(self) -> int:
        """Return the bytes moved on the bus so far."""
        return self.transport.traffic.regular


def fitting(g: Geometry, registers: int, warps: int, shared_bytes: int) -> int:
    """Return the number of TBs of a kernel that fit an SM."""
    rows, lines = -(-warps * registers // REGISTER_BANKS), -(-shared_bytes // SEGMENT_BYTES)
    return min(g.tb_slots, g.warps // warps, g.register_rows // rows, g.shared_lines // lines if lines else g.tb_slots)


def crowds(g: Geometry, work: KernelRun) -> dict[int, int]:
    """Return the dynamic shared memory, in bytes, that limits an SM to a number of TBs, by that number.

    The numbers are those of `CROWDS` that can be had, and the most TBs that fit.
    """
    static = work.image.shared_bytes
    warps = -(-work.threads // g.warp_size)
    most = fitting(g, work.image.registers, warps, static)
    found = {most: 0}
    for count in (count for count in CROWDS if count < most):
        lines = g.shared_lines // count
        if g.shared_lines // lines == count and lines * SEGMENT_BYTES >= static:
            found[count] = lines * SEGMENT_BYTES - static
    return dict(sorted(found.items()))


def _padded(name: str, g: Geometry, tbs: int, seed: int, padding: int) -> KernelRun:
    work, _ = make_work(name, g, tbs, seed)
    return dataclasses.replace(work, shared_bytes=work.shared_bytes + padding)


def _steady(bench: Bench, name: str, g: Geometry, count: int, padding: int, seed: int) -> tuple[float, float, float]:
    """Return the cycles of a TB among `count` in the steady state, the latency of such a launch, the bytes of a TB."""
    first = bench.run(_padded(name, g, count, seed, padding))  # loads the kernel; caches are cold
    rounds = min(ROUNDS, max(LEAST_ROUNDS, STRETCH // first))
    short = bench.run(_padded(name, g, rounds * count, seed, padding))
    moved = bench.bytes_moved()
    long = bench.run(_padded(name, g, 2 * rounds * count, seed, padding))
    moved = bench.bytes_moved() - moved
    return max(1.0, (long - short) / rounds), first, moved / (2 * rounds * count)


def _spread(bench: Bench, name: str, g: Geometry, count: int, cycles: float, seed: int) -> list[float]:
    """Return the times of single TBs over their mean, without the first and the last ones."""
    bench.transport.record_timeline(1 << 20)
    bench.transport.take_timeline()
    rounds = min(2 * ROUNDS, max(2 * LEAST_ROUNDS, round(2 * STRETCH / cycles)))
    bench.run(_padded(name, g, rounds * count, seed, 0))
    events, _ = bench.transport.take_timeline()
    bench.transport.record_timeline(0)
    times = [span.end - span.begin for span in tb_spans(events)][count:-count]
    mean = float(np.mean(times))
    return [round(each / mean, 4) for each in times]


def _switches(bench: Bench, technique: Technique, work: KernelRun, cycles: float, moments: int, rng: np.random.Generator
              ) -> Iterator[tuple[str, int, int, int]]:
    """Preempt a work at random moments and bring it back; yield name, TBs, and cycles of save and resume.

    A way with bases saves a base before the preempt.
    """
    machine, cycles = bench.machine, min(cycles, STRETCH / 2)
    assert technique.preempt is not None
    signal: Submission | None = None
    for _ in range(moments):
        if signal is None or signal.done:
            signal = machine.submit(bench.queue, work)
            bench.expect(Happened.STARTED)
        if _pass(bench, int(rng.uniform(0.3, 1.3) * cycles)):
            continue
        if technique.bases:
            asked = machine.cycle
            machine.checkpoint(signal, technique.preempt.mechanism)
            event = bench.expect(Happened.CHECKPOINTED, Happened.FINISHED)
            if event.cost is None or not event.cost.tbs:
                continue
            yield BASE, event.cost.tbs, event.cycle - asked, 0
            if _pass(bench, int(rng.uniform(0.1, 0.5) * cycles)):
                continue
        asked = machine.cycle
        machine.preempt(signal, technique.preempt)
        event = bench.expect(Happened.PREEMPTED, Happened.FINISHED)
        if event.cost is None:
            continue
        saved, asked = event.cycle - asked, machine.cycle
        machine.resume(signal)
        resumed = bench.expect(Happened.RESUMED)
        if event.cost.tbs:
            yield technique.name, event.cost.tbs, saved, resumed.cycle - asked
    if signal is not None and not signal.done:
        machine.kill(signal)
        bench.expect(Happened.KILLED)


def _pass(bench: Bench, cycles: int) -> bool:
    """Let cycles pass until the work ends at the latest; return whether it has ended."""
    end = bench.machine.cycle + cycles
    while (event := bench.machine.run_until(end)) is not None:
        if event.kind in (Happened.FINISHED, Happened.FAULTED):
            return True
    return False


def _switch_costs(bench: Bench, name: str, g: Geometry, crowd: dict[int, int], cycles: dict[int, float], moments: int,
                  seed: int, progress: Callable[[str], None]) -> dict[str, SwitchCosts]:
    found: dict[str, list[tuple[int, int, int]]] = {}
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    for technique in SWITCHES.values():
        if not possible(g, technique) or technique.idempotent and not KINDS[name].idempotent:
            continue
        progress(f"{name}: {technique.name}")
        for count in dict.fromkeys((min(crowd), max(crowd))):
            work = _padded(name, g, LONG * count, seed, crowd[count])
            for which, *sample in _switches(bench, technique, work, cycles[count], moments, rng):
                found.setdefault(which, []).append((sample[0], sample[1], sample[2]))
    return {which: _cost(samples, which) for which, samples in found.items()}


def _cost(samples: Sequence[tuple[int, int, int]], which: str) -> SwitchCosts:
    tbs = [sample[0] for sample in samples]
    save = fit_line(tbs, [sample[1] for sample in samples])
    resume = None if which == BASE else fit_line(tbs, [sample[2] for sample in samples])
    spread = tuple(round(cycles / max(1.0, save.at(count)), 4) for count, cycles, _ in samples)
    return SwitchCosts(save, spread, resume, tuple(samples))


def measure_kernel(g: Geometry, name: str, moments: int, seed: int, progress: Callable[[str], None]) -> KernelCosts:
    """Measure the costs of a kernel and return them; `calibrate` documents the parameters."""
    bench = Bench.open(g)
    work, _ = make_work(name, g, 1, seed)
    start, kill = _commands(bench, _padded(name, g, 4 * g.tb_slots, seed, 0))
    crowd = crowds(g, work)
    cycles, cold, moved = {}, [], 0.0
    for count, padding in crowd.items():
        progress(f"{name}: {count} of {max(crowd)} TBs on the SM")
        cycles[count], first, moved = _steady(bench, name, g, count, padding, seed)
        cold.append(max(0.0, first - start - cycles[count]))
    spread = _spread(bench, name, g, max(crowd), cycles[max(crowd)], seed)
    switches = _switch_costs(bench, name, g, crowd, cycles, moments, seed, progress)
    bench.machine.close()
    warps = -(-work.threads // g.warp_size)
    return KernelCosts(name, work_code(work), work.threads, work.image.registers, warps, work.image.shared_bytes,
                       tuple(cycles.items()), tuple(spread), moved, start, kill, float(np.mean(cold)), switches)


def measure_pair(g: Geometry, pair: tuple[KernelCosts, KernelCosts], seed: int) -> tuple[float, float]:
    """Return how much each TB of the second kernel slows down a TB of the first, and the reverse (`spans`).

    Two launches of equally many TBs run side by side and take turns.
    """
    bench = Bench.open(g)
    most = max(costs.tb_cycles[-1][0] for costs in pair)
    longest = max(costs.tb_cycles[-1][1] for costs in pair)
    rounds = min(PAIR_ROUNDS, max(1, round(2 * STRETCH / longest)))
    bench.transport.record_timeline(1 << 20)
    signals = [bench.machine.submit(bench.queue, make_work(costs.name, g, rounds * most, seed)[0])
               for costs in pair]
    while not all(signal.done for signal in signals):
        bench.expect(Happened.FINISHED)
    spans = tb_spans(bench.transport.take_timeline()[0])
    bench.machine.close()
    return slowdown(spans, 0, 1, pair[0]), slowdown(spans, 1, 0, pair[1])


def _commands(bench: Bench, work: KernelRun) -> tuple[float, float]:
    """Return the cycles of a start command, and of a kill of a work that has just begun."""
    asked = bench.machine.cycle
    signal = bench.machine.submit(bench.queue, work)
    started = bench.machine.cycle
    bench.expect(Happened.STARTED)
    _pass(bench, 100)
    asked_kill = bench.machine.cycle
    bench.machine.kill(signal)
    killed = bench.machine.cycle
    while bench.machine.run_until(bench.machine.cycle):
        pass
    return float(started - asked), float(killed - asked_kill)


def calibrate(g: Geometry, kernels: Sequence[str] = (), moments: int = 6, seed: int = 1,
              progress: Callable[[str], None] = lambda text: None) -> Costs:
    """Return the costs of kernels, measured on the RTL of an SM.

    The cache (`costs`) keeps the measurements of each kernel. They are used again with the same simulator, code and
    settings.

    Parameters
    ----------
    g : Geometry
        A geometry of one SM.
    kernels : sequence of str
        Names of `traffic.KINDS`; by default all that fit.
    moments : int
        Number of preempts per kernel, way and number of TBs; both the fewest and the most TBs are measured.
    seed : int
        Seed of inputs and moments.
    progress : callable

    Raises
    ------
    InputError
        If the geometry has several SMs, or a kernel does not fit.
    """
    if g.sms != 1:
        raise InputError(f"costs are measured on one SM, and {g.name} has {g.sms} (sms); the model can have several")
    if moments < 1:
        raise InputError(f"moments must be 1 or more, not {moments}")
    chosen = tuple(kernels) or kinds_for(g)
    settings = {"moments": moments, "seed": seed}
    key = [library(g).name, repr(settings), _sources()]
    found: dict[str, KernelCosts] = {}
    for number, name in enumerate(chosen, 1):
        work, _ = make_work(name, g, 1, seed)
        stored = _kept([*key, work_code(work)], f"{g.name}, {name}", lambda name=name, number=number: kernel_data(
            measure_kernel(g, name, moments, seed,
                           lambda text: progress(f"kernel {number} of {len(chosen)}: {text}"))))
        found[name] = kernel_of(stored)
    pairs = [*itertools.combinations(found.values(), 2)] if g.kernel_slots > 1 else []
    for number, pair in enumerate(pairs, 1):
        names = tuple(costs.name for costs in pair)

        def measure(pair=pair, number=number, names=names) -> list[float]:
            progress(f"pair {number} of {len(pairs)}: {' beside '.join(names)}")
            return [*measure_pair(g, pair, seed)]

        slower = _kept([*key, *(costs.code for costs in pair)], f"{g.name}, {' and '.join(names)}", measure)
        for costs, other, share in ((pair[0], names[1], slower[0]), (pair[1], names[0], slower[1])):
            costs.beside[other] = share
    return Costs(g, found, settings)


def _kept(key: Sequence[str], what: str, measure: Callable[[], Any]) -> Any:
    """Return the cached measurement under a key; measure and keep it if there is none."""
    path = cache_directory() / "costs" / f"{digest(key)}.json"
    if whole(path):
        return json.loads(path.read_text())
    data = json.loads(json.dumps(measure()))  # equal to the data that a later read gives
    write_atomically(path, json.dumps(data) + "\n")
    seal(path, "costs", what)
    return data


@functools.cache
def _sources() -> str:
    """Return the hash of the sources that measure, and of the scheduler and the driver that they use."""
    here, machine = Path(__file__).parent, Path(sched.__file__).parent
    files = [*(here / f"{name}.py" for name in ("calibrate", "costs", "spans", "traffic")),
             *sorted(machine.rglob("*.py")), *sorted(Path(driver.__file__).parent.rglob("*.py"))]
    return digest(path.read_text() for path in files)
