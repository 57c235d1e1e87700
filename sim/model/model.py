"""`ModelMachine`: a discrete-event model (SimPy) of a GPU for schedulers, with costs measured on the RTL.

Thread blocks (TBs) are modelled one by one. They take room as the allocation tables give it, share their SM, and end
separately. Commands are processes that last as long as they did on the RTL. The model implements
`caesura.software.sched.Machine`, so a scheduler runs on it unchanged. Results depend on the seed alone, so the same
calls give the same cycles.

The model does not compute, so nothing faults and there are no results. A TB stops at once, and not at its next
preemption point. The traffic of a save does not slow down the other TBs.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable

import numpy as np
import simpy

from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.way import Way
from caesura.software.sched.machine import (
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
from caesura.software.sched.policies.rules import check_preempt, check_queue, waiting_works

from .costs import Costs
from .flight import Flight
from .residents import Sm, Tb, footprint_of
from .switching import Switching
from .traffic import work_code

__all__ = ["ModelMachine"]

_BUS_CHANGE = 0.02
"""SMs learn the memory's slow-down when it has changed by more than this share."""


class ModelMachine:
    """A model of a GPU as a `Machine`.

    Parameters
    ----------
    costs : Costs
    sms : int
        Number of SMs, 1 or more.
    bytes_per_cycle : float, optional
        Bandwidth of the memory that they share; by default the bandwidth of the geometry times the number of SMs.
    seed : int
        Seed of the random differences between TBs, and between switches.

    Attributes
    ----------
    name : str
    geometry : Geometry
    sms : int
    env : simpy.Environment
    ended_tbs : int
        Number of TBs of all works that have ended.
    """

    name = "model"

    def __init__(self, costs: Costs, sms: int = 1, bytes_per_cycle: float | None = None, seed: int = 1):
        if sms < 1:
            raise InputError(f"a model has 1 SM or more, not {sms}")
        self.costs, self.geometry, self.sms = costs, costs.geometry, sms
        self.env = simpy.Environment()
        self.ended_tbs = 0
        self._bytes_per_cycle = bytes_per_cycle or self.geometry.bytes_per_cycle * sms
        self._random = np.random.default_rng(seed)
        self._sms = [Sm(self.geometry, number) for number in range(sms)]
        self._specs: list[QueueSpec] = []
        self._signals: list[Submission] = []
        self._flights: dict[Submission, Flight] = {}
        self._done: weakref.WeakKeyDictionary[Submission, int] = weakref.WeakKeyDictionary()
        self._events: deque[Event] = deque()
        self._turn, self._demand = -1, 0.0
        self._host_free = 0
        scale = self._bytes_per_cycle / self.geometry.bytes_per_cycle
        self._switching = Switching(self.env, scale, self._random, self.fill, self._settled, self._plan)

    # Clock

    @property
    def cycle(self) -> int:
        """The clock."""
        return int(self.env.now)

    def run_until(self, cycle: int) -> Event | None:
        """Let time pass until something happens or the clock is at `cycle`; see `Machine.run_until`."""
        while not self._events and self.env.peek() <= cycle:
            self.env.step()
        if self._events:
            return self._events.popleft()
        if self.env.now < cycle:
            self.env.run(until=cycle)
        return None

    def close(self) -> None:
        """End the model; safe to repeat."""
        self._flights.clear()
        self._signals.clear()
        self._events.clear()

    def _after(self, cycles: float, call: Callable[[], None]) -> None:
        """Do something later."""
        timeout = self.env.timeout(max(0, round(cycles)))
        assert timeout.callbacks is not None
        timeout.callbacks.append(lambda event: call())

    def _host(self, cycles: float) -> float:
        """Occupy the host for some cycles after its earlier work; return the cycles until it is done."""
        self._host_free = max(self._host_free, self.cycle) + round(cycles)
        return self._host_free - self.cycle

    # Queues

    def queue(self, spec: QueueSpec) -> int:
        """Make a queue; see `Machine.queue`."""
        check_queue(spec, self._specs, self.geometry.kernel_slots, self.sms)
        self._specs.append(spec)
        return len(self._specs) - 1

    def submit(self, queue: int, work: KernelRun, memory_of: Submission | None = None) -> Submission:
        """Put a work into a queue; see `Machine.submit`.

        Raises
        ------
        CostError
            If its costs are not known.
        """
        if not 0 <= queue < len(self._specs):
            raise MachineError(f"there is no queue {queue}; this machine has {len(self._specs)}")
        costs = self.costs.of(work.name, work.threads, work_code(work))
        rows, lines = footprint_of(costs, costs.shared_bytes + work.shared_bytes)
        g = self.geometry
        if rows > g.register_rows or lines > g.shared_lines or costs.warps > g.warps:
            raise MachineError(f"a TB of work {work.name!r} does not fit the SM ({g.name})")
        signal = Submission(work, queue, self.cycle, memory_of)
        self._signals.append(signal)
        self._begin()
        return signal

    def reset(self, queue: int) -> list[Submission]:
        """Empty a queue; see `Machine.reset`."""
        own = [signal for signal in self._signals if signal.queue == queue]
        for signal in sorted(own, key=lambda signal: signal.state is not RunState.WAITING):
            self.kill(signal)
        return own

    def _begin(self) -> None:
        """Start works while there is capacity."""
        for signal in waiting_works(self._specs, self._signals):
            work = signal.work
            costs = self.costs.of(work.name, work.threads)
            sms = self._specs[signal.queue].sms
            flight = Flight(signal, costs, footprint_of(costs, costs.shared_bytes + work.shared_bytes), work.tbs,
                            [sm for sm in self._sms if sms is None or sm.number in sms])
            self._flights[signal] = flight
            signal.state = RunState.RUNNING
            self._after(self._host(costs.start_cycles), lambda flight=flight: self._started(flight))

    def _started(self, flight: Flight) -> None:
        if flight.signal.done:
            return
        flight.signal.started, flight.begun = self.cycle, True
        self._note(EventKind.STARTED, flight.signal)
        self.fill(flight.sms)

    # TBs

    def fill(self, sms: list[Sm]) -> None:
        """Begin TBs on SMs, first on the SM with the fewest warps; works take turns.

        No fresh TB begins on an SM while TBs return to it.
        """
        able = [sm for sm in sms if not self._switching.brings_back(sm)]
        while able:
            sm = min(able, key=lambda sm: (sm.warps, sm.number)) if len(able) > 1 else able[0]
            if not self._launch_on(sm):
                able.remove(sm)
        for sm in sms:
            self._plan(sm)

    def _launch_on(self, sm: Sm) -> bool:
        """Begin one TB on an SM; return whether there was room for one."""
        flights = [flight for flight in self._flights.values() if flight.launches and sm in flight.sms]
        if not flights:
            return False
        flights = sorted(flights, key=lambda flight: flight.number)
        turn = next((place for place, flight in enumerate(flights) if flight.number > self._turn), 0)
        for flight in flights[turn:] + flights[:turn]:
            if not sm.has_slots(flight.costs):
                continue
            tb = Tb(flight, flight.costs, *flight.footprint)
            if sm.enter(tb, self.cycle):
                flight.fresh -= 1
                self._turn = flight.number
                self._draw(tb, flight, sm)
                return True
            self._switching.make_room(sm, tb)
        return False

    def _draw(self, tb: Tb, flight: Flight, sm: Sm) -> None:
        """Draw the duration of a TB; the first TBs of a work on an SM find caches cold."""
        costs = flight.costs
        if costs.spread:
            tb.factor = costs.spread[int(self._random.integers(len(costs.spread)))]
        if sm not in flight.warm:
            tb.left += costs.cold_cycles / costs.cycles_with(1)

    def _plan(self, sm: Sm) -> None:
        """Plan to wake when the next TB of an SM ends, by the present state."""
        self._share_bus(sm)
        sm.advance(self.cycle)
        cycles, generation = sm.next_end(self.cycle), sm.generation
        if cycles is not None:
            self._after(cycles, lambda: self._wake(sm, generation))

    def _share_bus(self, changed: Sm) -> None:
        """Tell SMs the slow-down of the memory that they share."""
        if self.sms == 1:
            return
        demand = changed.demand
        self._demand, changed.counted = self._demand + demand - changed.counted, demand
        slower = max(1.0, self._demand / self._bytes_per_cycle)
        if abs(slower / changed.bus - 1) > _BUS_CHANGE:
            for sm in self._sms:
                sm.slow(slower, self.cycle)
                if sm is not changed:
                    cycles, generation = sm.next_end(self.cycle), sm.generation
                    if cycles is not None:
                        self._after(cycles, lambda sm=sm, generation=generation: self._wake(sm, generation))

    def _wake(self, sm: Sm, generation: int) -> None:
        if generation != sm.generation:
            return  # a later change has made a plan of its own
        sm.advance(self.cycle)
        for tb in sm.ended():
            flight = tb.launch
            assert isinstance(flight, Flight)
            sm.leave(tb, self.cycle)
            flight.warm.add(sm)
            flight.ended += 1
            self.ended_tbs += 1
            self._switching.has_ended(flight)
            if flight.ended == flight.total:
                self._finish(flight)
        self._switching.freed(sm)
        self.fill([sm])

    def _finish(self, flight: Flight) -> None:
        self._end(flight.signal, RunState.FINISHED, EventKind.FINISHED)
        self._begin()

    # Commands

    def preempt(self, signal: Submission, way: Way, newcomer: Submission | None = None,
                sms: frozenset[int] | None = None) -> None:
        """Ask for a work to be taken off the SMs; see `Machine.preempt`.

        Raises
        ------
        MachineError
            If the work neither runs nor is being resumed, or if some SMs are chosen: the model takes works off all SMs.
        CostError
            If the cost of this way is not known.
        """
        check_preempt(signal)
        if sms is not None and len(sms) < self.sms:
            raise MachineError("the model takes works off all SMs; leave sms out")
        flight = self._flights[signal]
        other = self._flights.get(newcomer) if newcomer is not None else None
        self._switching.check(flight, way)
        signal.state = RunState.PREEMPTING
        self._switching.preempt(flight, way, other, self._host(0))

    def checkpoint(self, signal: Submission, mechanism: Mechanism) -> None:
        """Ask for bases; see `Machine.checkpoint`. All mechanisms have the costs that were measured with one."""
        if signal.state is not RunState.RUNNING:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value}: only one that runs can have bases")
        flight = self._flights[signal]
        self._switching.check(flight, Way(incremental=True))
        signal.state = RunState.CHECKPOINTING
        self._switching.checkpoint(flight, self._host(0))

    def resume(self, signal: Submission) -> None:
        """Ask for a work to be brought back; see `Machine.resume`."""
        if signal.state is not RunState.PREEMPTED:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value}: only one that is preempted can be "
                               "resumed")
        signal.state = RunState.RESUMING
        self._switching.resume(self._flights[signal], self._host(0))

    def kill(self, signal: Submission) -> None:
        """End a work; see `Machine.kill`."""
        if signal.done:
            return
        flight = self._flights.get(signal)
        if flight is not None:
            self._host(flight.costs.kill_cycles)
            self._switching.drop(flight)
            self._done[signal] = 0
        self._end(signal, RunState.KILLED, EventKind.KILLED)
        if flight is not None:
            self._begin()
            for sm in flight.sms:
                self._switching.freed(sm)
            self.fill(flight.sms)

    # Events

    def _note(self, kind: EventKind, signal: Submission, cost: SwitchCost | None = None) -> None:
        self._events.append(Event(self.cycle, kind, signal, cost))

    def _end(self, signal: Submission, state: RunState, kind: EventKind) -> None:
        signal.state, signal.ended = state, self.cycle
        self._signals.remove(signal)
        if flight := self._flights.pop(signal, None):
            flight.over = True
            if state is RunState.FINISHED:
                self._done[signal] = flight.total
        self._note(kind, signal)

    def _settled(self, flight: Flight, kind: EventKind, state: RunState, cost: SwitchCost) -> None:
        """Report that a command of the scheduler has been carried out."""
        flight.signal.state = state
        flight.signal.counts.add(kind, cost)
        self._note(kind, flight.signal, cost)

    # Counters and estimates

    def progress(self, signal: Submission) -> tuple[int, int]:
        """Return the TBs that have ended, and all TBs of a work; a killed work counts none as ended."""
        flight = self._flights.get(signal)
        return (flight.ended if flight else self._done.get(signal, 0)), signal.work.tbs

    def estimate(self, signal: Submission) -> Left:
        """Estimate how long a work would hold its SMs, from the mean time of TBs, as the driver does."""
        flight = self._flights.get(signal)
        if flight is None or signal.state not in IN_FLIGHT:
            raise MachineError(f"work {signal.work.name!r} is {signal.state.value} and holds no SM")
        drain, most = 0.0, 0
        for sm in flight.sms:
            sm.advance(self.cycle)
            own = [tb for tb in sm.tbs if tb.launch is flight]
            most += sum(flight.occupied_tb_bytes(self.geometry) for _ in own)
            drain = max([drain, *(max(0.0, tb.left) * sm.cycles(tb) / tb.factor for tb in own)])
        bus = most / self._bytes_per_cycle
        return Left(round(drain), round(bus) + self.geometry.memory_latency if most else 0)
