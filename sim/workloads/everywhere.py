"""Preempt everywhere: a preemption at every chosen cycle, a hostile neighbour, a resume, and all memory compared.

The undisturbed run advances cycle by cycle; at each chosen cycle the simulation forks (a snapshot), the fork is
preempted, another kernel overwrites every register and all shared memory and writes local memory of its own, the first
is resumed with its unsaved registers brought back as random bits, runs to its end, and all of memory is compared with
what the undisturbed run left there: code, constants, variables, arrays, and what nobody has. Not compared, because it
has to be different:

* contexts of both kernels: the undisturbed run has none;
* local memory of both: a TB has the region of its entry, and which entry a fresh TB is given depends on which TBs have
  ended by then; the neighbour runs only here;
* arrays of the neighbour, and those that the job's order-free judge judges: by their own judges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.words import decode
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.sim.scenario import CompiledJob, PreemptionResult, differences, interrupt, judged, start_job
from caesura.sim.workloads.random_native import NativeProgram
from caesura.software.compiler import KernelImage
from caesura.software.driver import Device, DeviceArray, Launch
from caesura.software.driver.machine.transport import Transport
from caesura.software.driver.memory.regions import Allocation
from caesura.software.driver.preemption.patience import bus_share
from caesura.software.kernels.job import Job

__all__ = ["SMALL_SM", "Forkable", "Outcome", "Campaign", "totals", "has_points", "native_work"]


Patience = int | str | None | Fraction
"""As of `Device.preempt`, or the share of the default one; of a mechanism that does not wait for points it says
nothing."""


class Forkable(Transport, Protocol):
    """A transport whose whole state can be taken and put back."""

    def snapshot(self) -> Any:
        """Return the state of machine and memory."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Put a state back."""
        ...


SMALL_SM = PRESETS["gtx480"].replace(name="campaign", warps=16, tb_slots=2, registers=512, shared_bytes=16 << 10)
"""An SM for long campaigns, which the hostile kernel fills sooner."""
_FILL = 0x5EED
"""Seed of what memory holds that nobody has."""
_MOST_REQUESTS = 10_000
"""Preemptions of a run; one that needs more makes no progress."""


@dataclass(frozen=True)
class Outcome:
    """One run of a campaign.

    Attributes
    ----------
    cycle : int
        Cycle of the (first) request, from the launch.
    requests, saved : int
        Preemptions asked for, and those of them after which something was left to resume: in the others the kernel
        finished in the drain.
    wrong_bytes : int
        Bytes of memory that differ from the undisturbed run, and elements that are wrong in the job's judgement.
    """

    cycle: int
    requests: int
    saved: int
    wrong_bytes: int


def native_work(program: NativeProgram) -> CompiledJob:
    """Return a random machine-code program to interrupt; what it computes depends on the addresses of its arrays.

    The undisturbed run is the only reference; comparing with the golden model is for lockstep.
    """
    arguments = {"output": np.zeros(program.output_bytes, np.uint8), "input": np.frombuffer(program.inputs, np.uint8)}
    return CompiledJob(program.image, Job(program.grid, program.block, arguments))


def totals(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Return `requests` and `saved` of all outcomes.

    Raises
    ------
    AssertionError
        If anything is wrong in one, with its cycle.
    """
    outcomes = list(outcomes)
    wrong = {o.cycle: o.wrong_bytes for o in outcomes if o.wrong_bytes}
    if wrong:
        raise AssertionError(f"wrong bytes by cycle of the (first) request: {wrong}")
    return sum(o.requests for o in outcomes), sum(o.saved for o in outcomes)


def has_points(image: KernelImage) -> bool:
    """Return whether a kernel has a preemption point, a barrier among them; if not its warps run to their end."""
    return any(decode(word).op.format is Format.L for word in image.code)


def _bytes(memory: Allocation) -> tuple[int, int]:
    """Return the first byte of an allocation, and the first one beyond."""
    return memory.address, memory.address + memory.size


def _contexts(launch: Launch) -> list[tuple[int, int]]:
    """Return where the context, with what is in front of it, and the local memory of a launch lie: first byte, and
    first byte beyond."""
    g = launch.device.geometry
    local = launch.local_base, launch.local_base + g.sms * launch.local_bytes
    return [(launch.handle, launch.ccb_base + g.sms * launch.ccb_bytes), local]


def _check(what: str, job: Job, arrays: dict[str, DeviceArray]) -> None:
    wrong = [name for name, count in differences(job, arrays).items() if count]
    if wrong:
        raise AssertionError(f"{what}: {', '.join(wrong)} wrong")


class Campaign:
    """Preemptions of one kernel on one machine; a kernel with preemption routines traps into them.

    Parameters
    ----------
    transport : Forkable
    work : CompiledJob
        The kernel to interrupt.
    neighbour : CompiledJob
        What runs while it is away.
    max_cycles : int
        Limit of every run and every wait.
    fill : bool
        What nobody has is random, so that a write there shows whatever it writes; without, memory is as it was.
    """

    def __init__(self, transport: Forkable, work: CompiledJob, neighbour: CompiledJob, max_cycles: int = 200_000, *,
                 fill: bool = False):
        self.transport, self.work, self.neighbour, self.max_cycles = transport, work, neighbour, max_cycles
        if fill:
            transport.write_memory(0, np.random.default_rng(_FILL).bytes(transport.memory_bytes))
        self.device = Device(transport)
        self._kernel = self.device.load([work.image])[work.image.name]
        self._other = self.device.load([neighbour.image])[neighbour.image.name]
        self._other_arrays = {name: self.device.array(value) for name, value in neighbour.job.arguments.items()
                              if isinstance(value, np.ndarray)}
        self._launch, self._arrays = start_job(self.device, self._kernel, work.job)
        self._own = _contexts(self._launch)
        self._others: list[tuple[int, int]] = []
        self._origin = self._fork()
        self.cycles = self.device.wait(self._launch, max_cycles)
        self._expected = self._memory()
        _check(f"{work.image.name} without any preemption", work.job, self._arrays)
        self._back(self._origin)

    def _memory(self) -> np.ndarray:
        return np.frombuffer(self.transport.read_memory(0, self.transport.memory_bytes), np.uint8)

    def _fork(self):
        return self.transport.snapshot(), self.device.host_state()

    def _back(self, fork) -> None:
        snapshot, host = fork
        self._others = []
        self.transport.restore(snapshot)
        self.device.set_host_state(host)

    def _run_neighbour(self) -> None:
        arguments = [self._other_arrays.get(n, v) for n, v in self.neighbour.job.arguments.items()]
        job = self.neighbour.job
        launch = self._other(job.grid, job.block, arguments, job.shared_bytes)
        self._note(launch)
        self.device.wait(launch, self.max_cycles)
        _check("the neighbour", job, self._other_arrays)

    def _note(self, launch: Launch) -> None:
        """Note what is the neighbour's own."""
        heap = self.device.heap
        self._others += [*_contexts(launch), *(_bytes(array) for array in launch.held
                                               if heap.base <= array.address < heap.end)]

    def _wrong(self) -> int:
        by_judge = judged(self.work.job, self._arrays)
        different = self._memory() != self._expected
        for start, end in (*self._own, *self._others, *(_bytes(self._arrays[name].memory) for name in by_judge)):
            different[start:end] = False
        return int(np.count_nonzero(different)) + sum(by_judge.values())

    def _given(self, mechanism: Mechanism, patience: Patience) -> int | str | None:
        """Return the patience that a preempt of the kernel, as it is now, is to be given."""
        if not mechanism.has(Capability.STOPS_AT_POINTS):
            return None
        return bus_share(self._launch, patience) if isinstance(patience, Fraction) else patience

    def _traps(self, mechanism: Mechanism) -> bool:
        return bool(self.work.image.traps) and mechanism.has(Capability.STOPS_AT_POINTS)

    def _interrupt(self, mechanism: Mechanism, patience: Patience, since: int | None) -> bool:
        given = self._given(mechanism, patience)
        trap = self._traps(mechanism)
        if since is not None:
            self.device.checkpoint(self._launch, mechanism, patience=given, scramble=True, max_cycles=self.max_cycles)
            self.device.run(self._launch, since)
        saved = self.device.preempt(self._launch, mechanism, patience=given, incremental=since is not None,
                                    scramble=True, trap=trap, max_cycles=self.max_cycles)
        self._run_neighbour()
        if saved:
            self.device.resume(self._launch, max_cycles=self.max_cycles)
        return saved is not None

    def _run_to_the_end(self, mechanism: Mechanism, period: int | None, patience: Patience, since: int | None
                        ) -> tuple[int, int]:
        """Preempt now and after each `period` cycles of running time; return how often, and how often it was saved."""
        requests = saved = 0
        while not self._launch.finished and (period or not requests):
            if requests == _MOST_REQUESTS:
                raise AssertionError(f"no end after {requests} preemptions")
            saved += self._interrupt(mechanism, patience, since)
            requests += 1
            self.device.run(self._launch, period or self.max_cycles)
        self.device.wait(self._launch, self.max_cycles)
        return requests, saved

    def _at_each(self, cycles: Iterable[int]) -> Iterator[int]:
        """Yield each cycle (ascending) with the machine there, as an undisturbed run comes to it; go back at the end.

        What is done at one cycle is undone before the next: the run up to it is not repeated.
        """
        now, fork = 0, self._origin
        for cycle in cycles:
            self._back(fork)
            self.device.advance(cycle - now)
            now, fork = cycle, self._fork()
            yield cycle
        self._back(self._origin)

    def at_cycles(self, mechanism: Mechanism, cycles: Iterable[int], period: int | None = None,
                  patience: Patience = UNLIMITED, since: int | None = None) -> Iterator[Outcome]:
        """Preempt at each of the given cycles (ascending), each time a run of its own, and yield what came of it.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            From the launch.
        period : int, optional
            Preempt every run again after each so many cycles of running time, until the kernel ends.
        patience : int or str, optional
            As of `Device.preempt`.
        since : int, optional
            A base is saved at the cycle (PEP III-C), the kernel runs on for so many, and only what it has written since
            is saved.

        Raises
        ------
        AssertionError
            If it has not ended after 10,000 preemptions, or the neighbour's results are wrong.
        CycleLimit, KernelFault
            As of `Device.wait`.
        """
        for cycle in self._at_each(cycles):
            requests, saved = self._run_to_the_end(mechanism, period, patience, since)
            yield Outcome(cycle, requests, saved, self._wrong())

    def results(self, mechanism: Mechanism, cycles: Iterable[int], drive: Callable[[Launch], int] | None = None,
                patience: Patience = UNLIMITED, restart: bool = False) -> Iterator[tuple[PreemptionResult, bool]]:
        """Yield each preemption with all that was measured of it, and whether everything came out right.

        Each is a run of its own, which is at its end while the caller has its result.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            Of the requests, from the launch, ascending.
        drive : callable, optional
            As of `scenario.interrupt`.
        patience, restart : int or str, bool
            As of `Device.preempt`.
        """
        for cycle in self._at_each(cycles):
            result = self.once(mechanism, cycle, self._given(mechanism, patience), restart=restart, drive=drive)
            yield result, result.correct and not self._wrong()

    def once(self, mechanism: Mechanism, cycle: int, patience: int | str | None = None, *, gang: bool = False,
             restart: bool = False, drive: Callable[[Launch], int] | None = None) -> PreemptionResult:
        """Preempt now, at a `cycle`, run the neighbour, resume, and bring the kernel to its end."""
        def noted(launch: Launch) -> int:
            self._note(launch)
            return drive(launch) if drive else self.device.wait(launch, self.max_cycles)

        way = Way(mechanism, patience, restart=restart, trap=self._traps(mechanism) and not restart)
        result = interrupt(self.device, self._launch, self._other, self.neighbour.job, cycle, way, gang=gang,
                           max_cycles=self.max_cycles, drive=noted)
        rest = self.device.wait(self._launch, self.max_cycles) if result.resume else 0
        return dataclasses.replace(result, rest_cycles=rest)

    def estimates(self, cycles: Iterable[int]) -> Iterator[tuple[int | None, int | None, int, int, int] | None]:
        """Yield, for each cycle (ascending), what the driver estimates and what comes then, in cycles.

        The drain by the time of others and by pace, what it takes; the switch and what it takes, with `occupied`. None
        where the kernel had ended by itself. An earlier launch is known to the driver.
        """
        self.device.wait(self._launch, self.max_cycles)
        self.device.estimate(self._launch)
        for _ in self._at_each(cycles):
            found = self.device.estimate(self._launch)
            fork, by_time = self._fork(), found.drain_cycles if found.tb_cycles is not None else None
            if not found.tbs or self._launch.finished:
                yield None
                continue
            took = []
            for grace, counter in ((UNLIMITED, "grace_cycles"), (0, "save_cycles")):
                self.device.preempt(self._launch, Mechanism.OCCUPIED, grace=grace, max_cycles=self.max_cycles)
                took.append(self.device.read(counter))
                self._back(fork)
            yield by_time, found.drain_cycles_by_pace, took[0], found.switch_cycles, took[1]

    def latencies(self, requests: Sequence[tuple[Mechanism, Patience]], cycles: Iterable[int]
                  ) -> Iterator[list[int | None]]:
        """Yield, for each cycle (ascending), the preemption latency of each of some ways to preempt there.

        None where the kernel had ended by itself before the request. One that ends in the drain has a latency: until
        its last TB has left the SM. Nothing is resumed.
        """
        for _ in self._at_each(cycles):
            fork, found = self._fork(), []
            for mechanism, patience in requests:
                self.device.preempt(self._launch, mechanism, patience=self._given(mechanism, patience),
                                    max_cycles=self.max_cycles)
                found.append(self.device.read("save_cycles") or None)
                self._back(fork)
            yield found
