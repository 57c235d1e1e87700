"""`DriverMachine`: a device as a machine for schedulers, through the driver and any transport.

The host keeps the queues, and a work gets a kernel slot at its start. A scheduler's call takes the cycles of its
register accesses, a few for a command and some hundred for a start.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.way import Way
from caesura.software.driver import (
    CommandRefused,
    Device,
    DeviceArray,
    Kernel,
    Launch,
    PreemptReport,
    ResumeReport,
)
from caesura.software.driver.launch.fit import check_fit
from caesura.software.driver.launch.inspection import Inspection
from caesura.software.driver.machine.time_slices import uninterrupted
from caesura.software.driver.time.simulated_time import SimulatedTime

from ..machine import (
    ENDED,
    IN_FLIGHT,
    Event,
    EventKind,
    KernelRun,
    Left,
    MachineError,
    QueueSpec,
    RunState,
    Submission,
)
from ..policies.rules import check_preempt, check_queue, waiting_works

__all__ = ["DriverMachine"]

_UNDER_WAY = {RunState.PREEMPTING: KernelState.PREEMPTING, RunState.CHECKPOINTING: KernelState.PREEMPTING,
              RunState.RESUMING: KernelState.RESUMING}
"""State of the kernel slot while a command of the scheduler is carried out."""
KILL_CYCLES = 1_000_000
"""Limit of a kill, which waits for the memory alone."""


class DriverMachine:
    """A device as a `Machine`.

    Parameters
    ----------
    device : Device
        Device. No other code may launch, preempt or resume kernels on it meanwhile.

    Attributes
    ----------
    device : Device
    name : str
        Name of its transport.
    geometry : Geometry
    sms : int
    """

    def __init__(self, device: Device):
        self.device, self.geometry, self.sms = device, device.geometry, device.geometry.sms
        self.name = device.transport.name
        self._time = SimulatedTime(device.launcher, Inspection(device.host, device.launches))
        self._specs: list[QueueSpec] = []
        self._signals: list[Submission] = []
        self._launches: dict[Submission, Launch] = {}
        self._progress: weakref.WeakKeyDictionary[Submission, int] = weakref.WeakKeyDictionary()
        self._arrays: weakref.WeakKeyDictionary[Submission, dict[str, DeviceArray]] = weakref.WeakKeyDictionary()
        self._kernels: dict[int, Kernel] = {}
        self._events: deque[Event] = deque()

    # Clock

    @property
    def cycle(self) -> int:
        """The clock, in cycles; reading it takes no time."""
        return self.device.cycle

    def run_until(self, cycle: int) -> Event | None:
        """Let time pass until an event, or until the clock is at `cycle`; see `Machine.run_until`."""
        while not self._look() and self.cycle < cycle:
            if watched := next(iter(self._launches.values()), None):
                self._time.wait_until(self._look, cycle - self.cycle, watched)
            else:
                self.device.advance(cycle - self.cycle)
        return self._events.popleft() if self._events else None

    def close(self) -> None:
        """End the machine; safe to repeat."""
        self._launches.clear()
        self._kernels.clear()
        self.device.close()

    # Queues

    def queue(self, spec: QueueSpec) -> int:
        """Make a queue; see `Machine.queue`. The driver starts kernels on all SMs, so a queue cannot be restricted to
        some.
        """
        slots = self.geometry.kernel_slots - len(self.device.launcher.slots.queue_slots)
        check_queue(spec, self._specs, slots, self.sms)
        if spec.sms is not None and len(spec.sms) < self.sms:
            raise MachineError(f"machine {self.name!r} cannot keep a queue to SMs {sorted(spec.sms)}: the driver "
                               f"starts kernels on all {self.sms}; leave sms out, or preempt works on some SMs")
        self._specs.append(spec)
        return len(self._specs) - 1

    def submit(self, queue: int, work: KernelRun, memory_of: Submission | None = None) -> Submission:
        """Put a work into a queue; see `Machine.submit`.

        An error of an immediate start is raised. An error of a later start ends the work with an event `FAULTED`.
        """
        if not 0 <= queue < len(self._specs):
            raise MachineError(f"there is no queue {queue}; this machine has {len(self._specs)}")
        check_fit(self.geometry, work.image, work.grid, work.block, work.image.shared_bytes + work.shared_bytes)
        if memory_of is not None and (memory_of.work is not work or not memory_of.done):
            raise MachineError("memory can be had of an earlier submission of the same work that has ended")
        if memory_of is not None and memory_of not in self._arrays:
            raise MachineError(f"that submission of work {work.name!r} has not begun on this machine: it has left no "
                               "memory; leave memory_of out")
        signal = Submission(work, queue, self.cycle, memory_of)
        self._signals.append(signal)
        self._begin(signal)
        return signal

    def reset(self, queue: int) -> list[Submission]:
        """Empty a queue; see `Machine.reset`."""
        own = [signal for signal in self._signals if signal.queue == queue]
        for signal in own:
            if signal.state is RunState.WAITING:  # first, so that none of them begins when a slot becomes free
                self._end(signal, RunState.KILLED, EventKind.KILLED)
        for signal in own:
            if not signal.done:
                self.kill(signal)
        return own

    def _begin(self, submitted: Submission | None = None) -> None:
        """Start works while there is capacity.

        A work that cannot be started leaves its queue. The reason is raised for `submitted`, and given in an event for
        other works.
        """
        failed: Exception | None = None
        while waiting := waiting_works(self._specs, self._signals):
            for signal in waiting:
                try:
                    with uninterrupted():
                        self._start(signal)
                except Exception as error:  # noqa: BLE001 - whatever keeps it from being started
                    if signal is submitted:
                        self._signals.remove(signal)
                        failed = error
                    else:
                        self._end(signal, RunState.FAULTED, EventKind.FAULTED, f"it could not be started: {error}")
        if failed is not None:
            raise failed

    def _start(self, signal: Submission) -> None:
        work, values = signal.work, dict(signal.work.arguments())
        arrays = self._memory(signal, values)
        given = [arrays.get(name, value) for name, value in values.items()]
        self._launches[signal] = self._kernel(work)(work.grid, work.block, given, work.shared_bytes)
        self._arrays[signal] = arrays
        signal.started, signal.state = self.cycle, RunState.RUNNING
        self._note(EventKind.STARTED, signal)

    def _kernel(self, work: KernelRun) -> Kernel:
        """Return the kernel of a work, loaded the first time."""
        if id(work.image) not in self._kernels:
            self._kernels[id(work.image)] = self.device.load([work.image])[work.image.name]
        return self._kernels[id(work.image)]

    def _memory(self, signal: Submission, values: Mapping[str, Any]) -> dict[str, DeviceArray]:
        """Return the arrays of a work, as fresh copies or from an earlier submission."""
        if signal.memory_of is not None:
            return self._arrays[signal.memory_of]
        return {name: self.device.array(value) for name, value in values.items() if isinstance(value, np.ndarray)}

    def results(self, signal: Submission) -> dict[str, np.ndarray]:
        """Return the present arrays of a work by name; they are kept as long as its signal.

        Raises
        ------
        MachineError
            If the work has not begun.
        """
        if signal not in self._arrays:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value} and has not begun on this machine: "
                               "it has no arrays")
        return {name: array.get() for name, array in self._arrays[signal].items()}

    # Commands

    def preempt(self, signal: Submission, way: Way, newcomer: Submission | None = None,
                sms: frozenset[int] | None = None) -> None:
        """Ask for a preempt of a work; see `Machine.preempt`.

        Raises
        ------
        MachineError
            If the work neither runs nor is being resumed, or there are no such SMs.
        DriverError
            Errors of `Device.begin_preempt`.
        """
        check_preempt(signal)
        other = self._launches.get(newcomer) if newcomer is not None else None
        if other is not None and newcomer is not None and newcomer.done:
            other = None
        with self._only(sms, way):
            self._give(signal, RunState.PREEMPTING,
                       lambda launch: self.device.begin_preempt(launch, way, newcomer=other))

    @contextmanager
    def _only(self, sms: frozenset[int] | None, way: Way) -> Iterator[None]:
        """Send the commands within to some SMs; held register values are written to all SMs before."""
        if sms is None or len(sms) == self.sms:
            yield
            return
        if not sms or not sms <= frozenset(range(self.sms)):
            raise MachineError(f"a preempt is of SMs {sorted(sms)}, this machine has {self.sms}, numbered from 0")
        if way.in_place:
            raise MachineError("a preempt in place is of all SMs; leave sms out")
        host = self.device.host
        host.hold("grace", way.grace_cycles)
        host.hold("spared", 0)
        host.hold("sm_write", sum(1 << sm for sm in sms))
        try:
            yield
        finally:
            host.hold("sm_write", 0xFFFF)

    def checkpoint(self, signal: Submission, mechanism: Mechanism) -> None:
        """Ask for bases; see `Machine.checkpoint`. Errors are those of `preempt`."""
        if signal.state is not RunState.RUNNING:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value}: only one that runs can have bases")
        self._give(signal, RunState.CHECKPOINTING, lambda launch: self.device.begin_checkpoint(launch, mechanism))

    def resume(self, signal: Submission) -> None:
        """Ask for a resume of a work; see `Machine.resume`."""
        if signal.state is not RunState.PREEMPTED:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value}: only one that is preempted can be "
                               "resumed")
        self._give(signal, RunState.RESUMING, self.device.begin_resume)

    def _give(self, signal: Submission, state: RunState, command: Callable[[Launch], None]) -> None:
        """Give a command; an event reports it if the device refuses."""
        self._look()  # a work that has ended by itself needs no command
        if signal.done:
            return
        try:
            command(self._launches[signal])
            signal.state = state
        except CommandRefused as error:
            self._note(EventKind.REFUSED, signal, text=str(error))

    def kill(self, signal: Submission) -> None:
        """End a work; see `Machine.kill`. It waits for outstanding memory requests of the work's TBs."""
        if signal.done:
            return
        if signal.state is not RunState.WAITING:
            launch = self._launches[signal]
            self.device.kill(launch, KILL_CYCLES)
            if launch.finished:  # before the command came
                self._look()
                return
            self._progress[signal] = 0
        self._end(signal, RunState.KILLED, EventKind.KILLED)
        self._begin()

    # Events

    def _note(self, kind: EventKind, signal: Submission, cost: SwitchCost | None = None, text: str = "") -> None:
        self._events.append(Event(self.cycle, kind, signal, cost, text))

    def _end(self, signal: Submission, state: RunState, kind: EventKind, text: str = "") -> None:
        signal.state, signal.ended = state, self.cycle
        self._launches.pop(signal, None)
        self._signals.remove(signal)
        self._note(kind, signal, text=text)

    def _look(self) -> bool:
        """Look at all works in flight, start works while there is room; return whether there are events."""
        for signal in [signal for signal in self._signals if signal.state in IN_FLIGHT]:
            self._look_at(signal, self._launches[signal])
        self._begin()
        return bool(self._events)

    def _look_at(self, signal: Submission, launch: Launch) -> None:
        state = launch.state
        if signal.state in _UNDER_WAY and state is not _UNDER_WAY[signal.state] and state is not KernelState.FINISHED:
            self._settle(signal, launch, state)
        elif state is KernelState.FINISHED:
            self._progress[signal] = signal.work.tbs
            if faults := launch.faulted_tbs:
                text = f"{faults} TBs have faulted" + (f", the first: {launch.fault}" if launch.fault else "")
                self._end(signal, RunState.FAULTED, EventKind.FAULTED, text)
            else:
                self._end(signal, RunState.FINISHED, EventKind.FINISHED)

    def _settle(self, signal: Submission, launch: Launch, state: KernelState) -> None:
        """Note that a preempt, a checkpoint or a resume has ended, with or without success."""
        asked, alone = signal.state, self._switches_alone(signal)
        signal.state = RunState.PREEMPTED if state is KernelState.PREEMPTED else RunState.RUNNING
        try:
            if asked is RunState.RESUMING:
                self._switched(EventKind.RESUMED, signal, self.device.finish_resume(launch, 0), alone)
                return
            report = self.device.finish_preempt(launch, 0)
        except CommandRefused as error:
            self._note(EventKind.REFUSED, signal, text=str(error))
            return
        if report is None:  # the work has finished meanwhile
            return
        self._switched(EventKind.CHECKPOINTED if asked is RunState.CHECKPOINTING else EventKind.PREEMPTED, signal,
                       report, alone)

    def _switched(self, kind: EventKind, signal: Submission, report: PreemptReport | ResumeReport, alone: bool) -> None:
        """Note that a command was successful; its cost is known if no other work was switched meanwhile."""
        cost = report.cost if alone else None
        signal.counts.add(kind, cost)
        self._note(kind, signal, cost)

    def _switches_alone(self, signal: Submission) -> bool:
        """Return whether no other work is being switched; the one set of counters belongs to the latest switch."""
        return not any(other.state in _UNDER_WAY for other in self._signals if other is not signal)

    # Counters and estimates

    def progress(self, signal: Submission) -> tuple[int, int]:
        """Return the number of TBs of a work that have ended, 0 if it was killed, and the number of all its TBs."""
        launch = self._launches.get(signal)
        return (launch.progress[0] if launch else self._progress.get(signal, 0)), signal.work.tbs

    def estimate(self, signal: Submission) -> Left:
        """Estimate the time for which a work would hold its SMs; see `Device.estimate`."""
        if signal.state in ENDED or signal not in self._launches:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value} and holds no SM")
        found = self.device.estimate(self._launches[signal])
        return Left(found.drain_cycles, found.switch_cycles)
