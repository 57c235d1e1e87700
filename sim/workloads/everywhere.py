"""Preempts at every chosen cycle, runs a hostile neighbour, resumes, and compares all memory.

The undisturbed run advances cycle by cycle. At each chosen cycle the simulation forks (a snapshot), and the fork is
preempted. Another kernel, the neighbour, overwrites every register and all shared memory, and writes its own local
memory. Then the first kernel is resumed, with random bits in its unsaved registers, and runs to its end. All memory is
compared with the memory of the undisturbed run: code, constants, variables, arrays, and unallocated memory. Some memory
must differ, and is not compared:

* contexts of both kernels, since the undisturbed run has none;
* local memory of both kernels: a TB has the region of its entry, and the entry of a fresh TB depends on the TBs that
  have ended before; the neighbour only runs in the fork;
* arrays of the neighbour, and arrays with an order-free judge, which are checked by their own judges.
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
"""Patience of `Device.preempt`, or a share of the bus in the measure of the default. It has no effect on mechanisms
that do not wait for points.
"""


class Forkable(Transport, Protocol):
    """A transport whose whole state can be saved and restored."""

    def snapshot(self) -> Any:
        """Return the state of the machine and its memory."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Restore a state."""
        ...


SMALL_SM = PRESETS["gtx480"].replace(name="campaign", warps=16, tb_slots=2, registers=512, shared_bytes=16 << 10)
"""A small SM for long campaigns, which the hostile kernel fills faster."""
_FILL = 0x5EED
"""Seed of the content of unallocated memory."""
_MOST_REQUESTS = 10_000
"""Most preemptions of a run; a run that needs more makes no progress."""


@dataclass(frozen=True)
class Outcome:
    """One run of a campaign.

    Attributes
    ----------
    cycle : int
        Cycle of the (first) request, from the launch.
    requests, saved : int
        Number of requested preemptions, and of those that saved something. In the others the kernel finished in the
        drain.
    wrong_bytes : int
        Number of bytes that differ from the undisturbed run, plus the wrong elements that the job's judge found.
    """

    cycle: int
    requests: int
    saved: int
    wrong_bytes: int


def native_work(program: NativeProgram) -> CompiledJob:
    """Return a random machine-code program to interrupt; its results depend on the addresses of its arrays.

    The undisturbed run is the only reference; lockstep compares with the golden model.
    """
    arguments = {"output": np.zeros(program.output_bytes, np.uint8), "input": np.frombuffer(program.inputs, np.uint8)}
    return CompiledJob(program.image, Job(program.grid, program.block, arguments))


def totals(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Return `requests` and `saved` of all outcomes.

    Raises
    ------
    AssertionError
        If an outcome is wrong; the message has its cycle.
    """
    outcomes = list(outcomes)
    wrong = {o.cycle: o.wrong_bytes for o in outcomes if o.wrong_bytes}
    if wrong:
        raise AssertionError(f"wrong bytes by cycle of the (first) request: {wrong}")
    return sum(o.requests for o in outcomes), sum(o.saved for o in outcomes)


def has_points(image: KernelImage) -> bool:
    """Return whether a kernel has a preemption point or a barrier; without one its warps run to their end."""
    return any(decode(word).op.format is Format.L for word in image.code)


def _bytes(memory: Allocation) -> tuple[int, int]:
    """Return the first byte of an allocation, and the first byte beyond it."""
    return memory.address, memory.address + memory.size


def _contexts(launch: Launch) -> list[tuple[int, int]]:
    """Return the ranges of a launch's context, with the data in front of it, and of its local memory.

    A range is the first byte, and the first byte beyond.
    """
    g = launch.device.geometry
    local = launch.local_base, launch.local_base + g.sms * launch.local_bytes
    return [(launch.handle, launch.ccb_base + g.sms * launch.ccb_bytes), local]


def _check(what: str, job: Job, arrays: dict[str, DeviceArray]) -> None:
    wrong = [name for name, count in differences(job, arrays).items() if count]
    if wrong:
        raise AssertionError(f"{what}: {', '.join(wrong)} wrong")


class Campaign:
    """Preemptions of one kernel on one machine; a kernel with preemption routines enters them by traps.

    Parameters
    ----------
    transport : Forkable
    work : CompiledJob
        The kernel to interrupt.
    neighbour : CompiledJob
        Compiled job that runs during a preemption.
    max_cycles : int
        Limit of every run and every wait.
    fill : bool
        Fill unallocated memory with random bytes, so that any write there is noticed. Otherwise memory is left
        unchanged.
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
        """Note the memory of the neighbour."""
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
        """Return the patience for a preempt of the kernel in its present state."""
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
        """Preempt now and after each `period` cycles of running time; return the number of requests and of saves."""
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
        """Yield each cycle (ascending) with the machine in the state of the undisturbed run; go back at the end.

        Actions at one cycle are undone before the next, so the run up to it is not repeated.
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
        """Preempt at each of the given cycles (ascending), each in its own run, and yield the outcome.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            Cycles from the launch.
        period : int, optional
            Preempt every run again after each period of this many cycles of running time, until the kernel ends.
        patience : int or str, optional
            See `Device.preempt`.
        since : int, optional
            Cycles from a base to the preempt (PEP III-C). The base is saved at the cycle, and the preempt only saves
            later writes.

        Raises
        ------
        AssertionError
            If the kernel has not ended after 10,000 preemptions, or the neighbour's results are wrong.
        CycleLimit, KernelFault
            Errors of `Device.wait`.
        """
        for cycle in self._at_each(cycles):
            requests, saved = self._run_to_the_end(mechanism, period, patience, since)
            yield Outcome(cycle, requests, saved, self._wrong())

    def results(self, mechanism: Mechanism, cycles: Iterable[int], drive: Callable[[Launch], int] | None = None,
                patience: Patience = UNLIMITED, restart: bool = False) -> Iterator[tuple[PreemptionResult, bool]]:
        """Yield each preemption with all its measurements, and whether all results were right.

        Each is a separate run, which is at its end while the caller has its result.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            Cycles of the requests, from the launch, ascending.
        drive : callable, optional
            See `scenario.interrupt`.
        patience, restart : int or str, bool
            See `Device.preempt`.
        """
        for cycle in self._at_each(cycles):
            result = self.once(mechanism, cycle, self._given(mechanism, patience), restart=restart, drive=drive)
            yield result, result.correct and not self._wrong()

    def once(self, mechanism: Mechanism, cycle: int, patience: int | str | None = None, *, gang: bool = False,
             restart: bool = False, drive: Callable[[Launch], int] | None = None) -> PreemptionResult:
        """Preempt now, at a `cycle`, run the neighbour, resume, and run the kernel to its end."""
        def noted(launch: Launch) -> int:
            self._note(launch)
            return drive(launch) if drive else self.device.wait(launch, self.max_cycles)

        way = Way(mechanism, patience, restart=restart, trap=self._traps(mechanism) and not restart)
        result = interrupt(self.device, self._launch, self._other, self.neighbour.job, cycle, way, gang=gang,
                           max_cycles=self.max_cycles, drive=noted)
        rest = self.device.wait(self._launch, self.max_cycles) if result.resume else 0
        return dataclasses.replace(result, rest_cycles=rest)

    def estimates(self, cycles: Iterable[int]) -> Iterator[tuple[int | None, int | None, int, int, int] | None]:
        """Yield the driver's estimates and the measured cycles for each cycle (ascending).

        The values are the estimates of the drain by time and by pace, its cycles, the estimate of the switch, and its
        cycles with `occupied`. The result is None if the kernel had ended by itself. The driver knows an earlier
        launch.
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
        """Yield the preemption latency of each of some ways to preempt, for each cycle (ascending).

        The result is None if the kernel had ended by itself before the request. The latency of a kernel that ends in
        the drain lasts until its last TB has left the SM. Nothing is resumed.
        """
        for _ in self._at_each(cycles):
            fork, found = self._fork(), []
            for mechanism, patience in requests:
                self.device.preempt(self._launch, mechanism, patience=self._given(mechanism, patience),
                                    max_cycles=self.max_cycles)
                found.append(self.device.read("save_cycles") or None)
                self._back(fork)
            yield found
