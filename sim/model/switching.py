"""SimPy processes that take works off the SMs of the model and bring them back, with the costs of the RTL."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import simpy

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.software.sched import TECHNIQUES
from caesura.software.sched.machine import EventKind, RunState

from .costs import CostError, Line, SwitchCosts
from .flight import Flight
from .residents import Sm, Tb

__all__ = ["Switching", "cost_name"]

BASE, WHOLE = "base", "live+cp"
"""Names of the costs of a checkpoint, and of an eviction."""
Steps = Generator[simpy.Event, Any, None]
"""Events that a process waits for, one after the other."""


def _facts(way: Way) -> tuple[Mechanism, bool, bool, bool]:
    """Return the parts of a way on which the costs of a preempt depend."""
    return way.mechanism, way.restart, way.incremental, way.in_place


_WHOLE = Way(Mechanism.LIVE)
"""Costs as much as a base."""
_NAMES = {_facts(_WHOLE): BASE} | {
    _facts(way.preempt): name for name, way in TECHNIQUES.items() if way.preempt is not None and name != "drain"}


def cost_name(way: Way) -> str:
    """Return the name of the costs of a preempt.

    Raises
    ------
    CostError
        If no measured way has the same costs.
    """
    name = _NAMES.get(_facts(way))
    if name is None:
        raise CostError(f"it was not measured what a preempt with {way} costs; the ways are {', '.join(TECHNIQUES)}")
    return name


def _saved_as(way: Way, tb: Tb, gone: list[Tb]) -> str:
    """Return the name of the costs of a TB's return."""
    if tb in gone or way.incremental and not tb.base:
        return WHOLE
    return WHOLE if cost_name(way) == BASE else cost_name(way)


class Switching:
    """Takes works off SMs and brings them back.

    Parameters
    ----------
    env : simpy.Environment
    bus_scale : float
        Bandwidth of the memory over the bandwidth in the measurement.
    random : numpy.random.Generator
    fill, plan : callable
        Begin fresh TBs on SMs; plan the next end of a TB on one SM.
    settled : callable
        Receives the result of a command.
    """

    def __init__(self, env: simpy.Environment, bus_scale: float, random: np.random.Generator,
                 fill: Callable[[list[Sm]], None], settled: Callable[[Flight, EventKind, RunState, SwitchCost], None],
                 plan: Callable[[Sm], None]):
        self._env, self._bus_scale, self._random = env, bus_scale, random
        self._fill, self._settled, self._plan = fill, settled, plan
        self._engines: dict[Sm, simpy.Resource] = {}
        self._wanting: dict[Sm, list[simpy.Event]] = {}
        self._returning: dict[Sm, set[Flight]] = {}
        self._evicting: set[Tb] = set()

    @property
    def now(self) -> int:
        """The clock."""
        return int(self._env.now)

    # Costs

    def check(self, flight: Flight, way: Way) -> None:
        """Check that the costs are known.

        Raises
        ------
        CostError
            If they are not known.
        """
        if way.grace != UNLIMITED:
            self._switch(flight, cost_name(way))

    def _switch(self, flight: Flight, name: str) -> SwitchCosts:
        found = flight.costs.switches.get(name)
        if found is None:
            known = ", ".join(flight.costs.switches) or "none"
            raise CostError(f"it was not measured what {name!r} costs of kernel {flight.signal.work.name!r}; there are "
                            f"{known}")
        return found

    def _cycles(self, line: Line, tbs: int, at_once: int, spread: tuple[float, ...] = ()) -> float:
        """Return the cost of a number of TBs on one of several SMs that use the memory at once."""
        slower = max(1.0, at_once / self._bus_scale)
        factor = spread[int(self._random.integers(len(spread)))] if spread else 1.0
        return (line.base + line.per_tb * tbs * slower) * factor

    # Off the SMs

    def preempt(self, flight: Flight, way: Way, newcomer: Flight | None, delay: float) -> None:
        """Take a work off its SMs after some cycles; withdraw a resume that is under way."""
        self._interrupt(flight)
        flight.held = True
        flight.process = self._env.process(self._preempt(flight, way, newcomer, delay))
        self._fill(flight.sms)  # TBs that were to return block fresh ones no longer

    def _preempt(self, flight: Flight, way: Way, newcomer: Flight | None, delay: float) -> Steps:
        saved: list[Tb] = []
        try:
            yield self._env.timeout(delay)
            if way.grace:
                yield from self._grace(flight, way.grace)
            if flight.over:
                return
            begun = self.now
            sms = [sm for sm in flight.sms if flight.on(sm)]
            saves = [self._env.process(self._save(flight, sm, way, newcomer, len(sms), saved)) for sm in sms]
            if saves:
                yield self._env.all_of(saves)
            elif not way.grace:  # nothing is there: it takes what a command takes
                yield self._env.timeout(round(self._empty(flight, way)))
        except simpy.Interrupt:
            return
        if flight.over:
            return
        flight.process = None
        self._settled(flight, EventKind.PREEMPTED, RunState.PREEMPTED, SwitchCost(self.now - begun, len(saved)))

    def _empty(self, flight: Flight, way: Way) -> float:
        return self._switch(flight, cost_name(way)).save.base

    def _grace(self, flight: Flight, grace: int | str) -> Steps:
        """Wait until none of a work's TBs is on an SM, or until the time is over."""
        if not any(flight.on(sm) for sm in flight.sms):
            return
        flight.drained = self._env.event()
        over = [] if grace == UNLIMITED else [self._env.timeout(int(grace))]
        yield self._env.any_of([flight.drained, *over])
        flight.drained = None

    def has_ended(self, flight: Flight) -> None:
        """Note that a TB of a work has ended."""
        if flight.drained is not None and not flight.drained.triggered and not any(flight.on(sm) for sm in flight.sms):
            flight.drained.succeed()

    def _save_cycles(self, flight: Flight, way: Way, tbs: list[Tb], at_once: int) -> float:
        name = cost_name(way)
        costs = self._switch(flight, name)
        if not way.incremental:
            return self._cycles(costs.save, len(tbs), at_once, costs.spread)
        whole, based = self._switch(flight, BASE), sum(tb.base for tb in tbs)
        if not based:
            return self._cycles(whole.save, len(tbs), at_once, whole.spread)
        return self._cycles(costs.save, based, at_once, costs.spread) + (len(tbs) - based) * whole.save.per_tb

    def _save(self, flight: Flight, sm: Sm, way: Way, newcomer: Flight | None, at_once: int, saved: list[Tb]
              ) -> Steps:
        """Let TBs leave an SM one after the other, spread over the time of their save.

        They wait until the SM's preemption engine has finished its earlier commands.
        """
        with self._engine(sm).request() as turn:
            yield turn
            tbs = flight.on(sm)
            if flight.over or not tbs:
                return
            cost = self._save_cycles(flight, way, tbs, at_once)
            gone = self._evicted_for(sm, tbs, newcomer) if way.in_place else []
            cost += len(gone) * self._eviction(flight)
            begun = self._stop_all(sm, tbs)
            for number, tb in enumerate(tbs, 1):
                yield self._until(begun + round(cost * number / len(tbs)))
                if flight.over:
                    return
                sm.leave(tb, self.now, stays=way.in_place and tb not in gone)
                tb.stopped, tb.saved_as = False, _saved_as(way, tb, gone)
                flight.saved[tb] = sm
                saved.append(tb)
                if way.restart:
                    tb.begin_anew()
                self.freed(sm)
                self._fill([sm])

    def _stop_all(self, sm: Sm, tbs: list[Tb]) -> int:
        """Stop TBs of an SM; return the cycle."""
        for tb in tbs:
            sm.stop(tb, self.now)
        self._plan(sm)
        return self.now

    def _until(self, cycle: int) -> simpy.Timeout:
        """Return an event at a cycle, at once if that has passed."""
        return self._env.timeout(max(0, cycle - self.now))

    def _engine(self, sm: Sm) -> simpy.Resource:
        """Return the preemption engine of an SM: it carries out one command after the other."""
        if sm not in self._engines:
            self._engines[sm] = simpy.Resource(self._env)
        return self._engines[sm]

    # Preempts in place

    def _evicted_for(self, sm: Sm, tbs: list[Tb], newcomer: Flight | None) -> list[Tb]:
        """Return the TBs that give up their room for the first TBs of a newcomer."""
        gone: list[Tb] = []
        if newcomer is None or newcomer.over:
            return gone
        rows, lines = newcomer.footprint
        wanted = min(-(-newcomer.fresh // len(newcomer.sms)), sm.geometry.tb_slots,
                     sm.geometry.warps // newcomer.costs.warps)
        found = sm.in_the_way(rows * wanted, lines * wanted, tbs)
        while found is None and wanted > 1:
            wanted -= 1
            found = sm.in_the_way(rows * wanted, lines * wanted, tbs)
        return found or []

    def _eviction(self, flight: Flight) -> float:
        return self._switch(flight, WHOLE).save.per_tb

    def make_room(self, sm: Sm, tb: Tb) -> None:
        """Evict TBs that were preempted in place if that makes room for a fresh TB."""
        staying = [each for each in sm.staying if each not in self._evicting]
        if not staying or not sm.has_slots(tb.costs):
            return
        if gone := sm.in_the_way(tb.rows, tb.lines, staying):
            self._evicting |= {*gone}
            self._env.process(self._evict(sm, gone))

    def _evict(self, sm: Sm, gone: list[Tb]) -> Steps:
        for tb in gone:
            flight = tb.launch
            assert isinstance(flight, Flight)
            yield self._env.timeout(round(self._eviction(flight)))
            self._evicting.discard(tb)
            if tb in sm.staying:
                sm.leave(tb, self.now)
                tb.saved_as = WHOLE
        self.freed(sm)
        self._fill([sm])

    # Bases

    def checkpoint(self, flight: Flight, delay: float) -> None:
        """Save bases of the TBs that run, after some cycles."""
        flight.process = self._env.process(self._checkpoint(flight, delay))

    def _checkpoint(self, flight: Flight, delay: float) -> Steps:
        saved: list[Tb] = []
        try:
            yield self._env.timeout(delay)
            begun = self.now
            flight.held = True
            sms = [sm for sm in flight.sms if flight.on(sm)]
            saves = [self._env.process(self._save_base(flight, sm, len(sms), saved)) for sm in sms]
            yield self._env.all_of(saves) if saves else self._env.timeout(round(self._switch(flight, BASE).save.base))
        except simpy.Interrupt:
            return
        if flight.over:  # it finished while it waited for its turn
            return
        flight.process, flight.held = None, False
        cost = SwitchCost(self.now - begun, len(saved))
        self._settled(flight, EventKind.CHECKPOINTED, RunState.RUNNING, cost)
        self._fill(flight.sms)

    def _save_base(self, flight: Flight, sm: Sm, at_once: int, saved: list[Tb]) -> Steps:
        """Stop the TBs; each runs on when it has been saved."""
        costs = self._switch(flight, BASE)
        with self._engine(sm).request() as turn:
            yield turn
            tbs = flight.on(sm)
            cost = self._cycles(costs.save, len(tbs), at_once, costs.spread)
            begun = self._stop_all(sm, tbs)
            for number, tb in enumerate(tbs, 1):
                yield self._until(begun + round(cost * number / len(tbs)))
                if flight.over:
                    return
                tb.base = True
                saved.append(tb)
                sm.stop(tb, self.now, False)
                self._plan(sm)

    # Back

    def resume(self, flight: Flight, delay: float) -> None:
        """Bring a work back after some cycles. No fresh TB begins earlier on the SMs to which it returns."""
        flight.commands += 1
        for sm in flight.saved.values():
            self._returning.setdefault(sm, set()).add(flight)
        flight.process = self._env.process(self._resume(flight, delay))

    def _resume(self, flight: Flight, delay: float) -> Steps:
        asked = self.now
        back: dict[Sm, list[Tb]] = {}
        for tb, sm in flight.saved.items():
            back.setdefault(sm, []).append(tb)
        try:
            yield self._env.timeout(delay)
            coming = [self._env.process(self._return(flight, sm, tbs, len(back))) for sm, tbs in back.items()]
            yield self._env.all_of(coming) if coming else self._env.timeout(round(self._bare(flight)))
        except simpy.Interrupt:
            return
        if flight.over:
            return
        flight.process, flight.held = None, False
        self._settled(flight, EventKind.RESUMED, RunState.RUNNING, SwitchCost(self.now - asked))
        self._fill(flight.sms)

    def _bare(self, flight: Flight) -> float:
        """Return the cycles of a resume that brings no TB back."""
        known = [each.resume.base for each in flight.costs.switches.values() if each.resume is not None]
        return min(known, default=0.0)

    def _return(self, flight: Flight, sm: Sm, tbs: list[Tb], at_once: int) -> Steps:
        """Bring TBs back to an SM one after the other.

        A TB without room leaves the engine to other commands until room may be free.
        """
        command, first = flight.commands, True
        left = [*tbs]
        while left:
            with self._engine(sm).request() as turn:
                yield turn
                while left and flight.commands == command:
                    tb = left[0]
                    if not sm.has_room(tb):
                        self.make_room(sm, tb)
                        break
                    line = self._return_line(flight, tb)
                    cost = self._cycles(Line(line.base if first else 0.0, line.per_tb), 1, at_once)
                    sm.enter(tb, self.now)
                    sm.stop(tb, self.now)
                    yield self._env.timeout(round(cost))
                    if flight.over:
                        return
                    first, tb.base = False, True
                    del left[0], flight.saved[tb]
                    flight.warm.add(sm)
                    sm.stop(tb, self.now, False)
                    self._plan(sm)
            if flight.commands != command:
                return
            if left:
                room = self._env.event()
                self._wanting.setdefault(sm, []).append(room)
                yield room
        self._has_returned(flight, sm)

    def _has_returned(self, flight: Flight, sm: Sm) -> None:
        """Note that a work has no more TBs to bring back to an SM, so that fresh TBs may begin there."""
        self._returning.get(sm, set()).discard(flight)
        self._fill([sm])

    def _return_line(self, flight: Flight, tb: Tb) -> Line:
        costs = flight.costs.switches.get(tb.saved_as) or flight.costs.switches.get(WHOLE)
        if costs is None or costs.resume is None:
            raise CostError(f"it was not measured what a resume of kernel {flight.signal.work.name!r} costs")
        return costs.resume

    def brings_back(self, sm: Sm) -> bool:
        """Return whether TBs have still to return to an SM; no fresh TB begins there before that."""
        return bool(self._returning.get(sm))

    def freed(self, sm: Sm) -> None:
        """Wake the TBs that wait for room on an SM."""
        for room in self._wanting.pop(sm, []):
            if not room.triggered:
                room.succeed()

    # The end

    def _interrupt(self, flight: Flight) -> None:
        """Interrupt the command on a work that is under way."""
        if flight.process is not None and flight.process.is_alive:
            flight.process.interrupt()
        flight.process = None
        flight.commands += 1
        for sm in flight.sms:
            if flight in self._returning.get(sm, ()):
                self._returning[sm].discard(flight)
                self.freed(sm)

    def drop(self, flight: Flight) -> None:
        """Remove a work; its TBs leave at once."""
        flight.over = True
        self._interrupt(flight)
        for sm in flight.sms:
            for tb in [*flight.on(sm), *(tb for tb in sm.staying if tb.launch is flight)]:
                sm.leave(tb, self.now)
            self._plan(sm)
        flight.saved.clear()
