"""No thread block (TB) waits for ever for room that others hold in place, whatever three kernels do: every state is
looked at.

The rules are those of docs/preemption.md, In place, and where a range fits is what `hw.arch.room` says, as in hardware
and golden model; that the search of the hardware finds room if none has to stay is proved (docs/formal.md, `room`). Any
command may come at any time: starts, preempts in place for any of the kernels, or whole, resumes. From each state that
can be reached so the machine is then left alone. Each of its steps, in whatever order, brings the end nearer, and
where there is no further one nobody waits. TBs that run are taken to end.
"""

from typing import NamedTuple

import pytest

from caesura.hw.arch.room import Range, cheapest_fit, first_fit, make_room
from support.selection import quick

FRESH, RUNS, AWAY, DONE = "fresh", "runs", "away", "done"
IDLE, RUNNING, PREEMPTED, RESUMING = "idle", "running", "preempted", "resuming"
RESOURCES = 0, 1
"""Registers, lines of shared memory."""


class Tb(NamedTuple):
    """A TB of a kernel; what it has of each resource begins at `start`, none where that is None."""

    kernel: int
    is_: str
    start: tuple[int | None, int | None] = (None, None)

    @property
    def stays(self):
        """Something of it is on the SM while it is not."""
        return self.is_ == AWAY and self.start != (None, None)


class State(NamedTuple):
    """States of the kernels, and all their TBs."""

    kernels: tuple[str, ...]
    tbs: tuple[Tb, ...]


class Machine:
    """An SM of some capacities with `slots` TB slots, and kernels by what a TB of each takes and how many there are."""

    def __init__(self, capacities, slots, kernels):
        self.capacities, self.slots = capacities, slots
        self.sizes = [sizes for sizes, _ in kernels]
        self.first = State((IDLE,) * len(kernels),
                           tuple(Tb(k, FRESH) for k, (_, count) in enumerate(kernels) for _ in range(count)))

    def _ranges(self, state, resource, movable):
        return [Range(tb.start[resource], self.sizes[tb.kernel][resource], number if movable(tb) else None)
                for number, tb in enumerate(state.tbs) if tb.start[resource] is not None]

    @staticmethod
    def _with(state, tbs, kernel=None, is_=None):
        changed = tuple(tbs.get(number, tb) for number, tb in enumerate(state.tbs))
        kernels = tuple(is_ if k == kernel else old for k, old in enumerate(state.kernels))
        return State(kernels, changed)

    # What the host does

    def commands(self, state):
        """Yield the states after each command that is taken."""
        for k, is_ in enumerate(state.kernels):
            mine = [tb for tb in state.tbs if tb.kernel == k]
            if is_ == IDLE:
                yield self._with(state, {}, k, RUNNING)
            if is_ == PREEMPTED:
                yield self._with(state, {}, k, RESUMING)
            if is_ in (RUNNING, RESUMING) and any(tb.is_ == RUNS for tb in mine):
                for newcomer in (None, *(j for j in range(len(self.sizes)) if j != k)):
                    yield self._preempt(state, k, newcomer)
                yield self._whole(state, k)
            elif is_ == PREEMPTED and any(tb.stays for tb in mine):
                yield self._whole(state, k)

    def _whole(self, state, kernel):
        return self._with(state, {number: Tb(kernel, AWAY) for number, tb in enumerate(state.tbs)
                                  if tb.kernel == kernel and (tb.is_ == RUNS or tb.stays)}, kernel, PREEMPTED)

    def _preempt(self, state, kernel, newcomer):
        def chosen(tb):
            return tb.kernel == kernel and tb.is_ == RUNS

        leave = [frozenset(), frozenset()]
        if newcomer is not None:
            def room(resource, count):
                ranges = self._ranges(state, resource, lambda tb: chosen(tb) or tb.stays)
                return make_room(self.capacities[resource], ranges, self.sizes[newcomer][resource], count)

            count = min(room(resource, self.slots)[0] for resource in RESOURCES)
            leave = [room(resource, count)[1] for resource in RESOURCES]
        left = self.slots - sum(tb.stays for tb in state.tbs)
        saved = {}
        for number, tb in enumerate(state.tbs):
            if chosen(tb):
                saved[number] = Tb(kernel, AWAY, tuple(
                    None if number in gone or not left else at for gone, at in zip(leave, tb.start, strict=True)))
                left -= saved[number].stays
        return self._with(state, saved, kernel, PREEMPTED)

    # What the machine does by itself

    def waits(self, state):
        """Return the numbers of the TBs that are to get room now: those of resumes, if there are none fresh ones."""
        back = [number for number, tb in enumerate(state.tbs)
                if tb.is_ == AWAY and state.kernels[tb.kernel] == RESUMING]
        return back or [number for number, tb in enumerate(state.tbs)
                        if tb.is_ == FRESH and state.kernels[tb.kernel] == RUNNING]

    def steps(self, state):
        """Yield the states after each step: a TB ends, starts, or has evicted what is in its way."""
        for number, tb in enumerate(state.tbs):
            if tb.is_ == RUNS:
                yield self._with(state, {number: Tb(tb.kernel, DONE)})
        if sum(tb.is_ == RUNS for tb in state.tbs) < self.slots:
            for number in self.waits(state):
                after = self._admit(state, number)
                if after is not None:
                    yield after

    def _admit(self, state, number):
        tb, sizes = state.tbs[number], self.sizes[state.tbs[number].kernel]
        lacking = [resource for resource in RESOURCES if tb.start[resource] is None]
        start = list(tb.start)
        for resource in lacking:
            taken = [(each.start, each.size) for each in self._ranges(state, resource, lambda tb: False)]
            start[resource] = first_fit(self.capacities[resource], taken, sizes[resource])
        if None not in start:
            rest = [other for k, other in enumerate(state.tbs)
                    if k != number and other.kernel == tb.kernel and other.is_ == AWAY]
            is_ = state.kernels[tb.kernel] if rest or tb.is_ == FRESH else RUNNING
            return self._with(state, {number: Tb(tb.kernel, RUNS, tuple(start))}, tb.kernel, is_)
        gone = set()
        for resource in lacking:
            fit = cheapest_fit(self.capacities[resource], self._ranges(
                state, resource, lambda other: other.stays and other != tb), sizes[resource])
            if fit is None:
                return None
            gone |= fit.owners
        return self.evict(state, number, gone)

    def evict(self, state, number, gone):
        """Return the state after all that stays of some TBs has been written to memory for another, `number`."""
        return self._with(state, {k: Tb(state.tbs[k].kernel, AWAY) for k in gone})


def rank(state):
    """How much is left to be done without a command."""
    return sum({FRESH: 2, RUNS: 1, AWAY: 2, DONE: 0}[tb.is_] + tb.stays for tb in state.tbs)


def reachable(machine, most=1_000_000):
    """All states that commands and steps lead to."""
    found, pending = {machine.first}, [machine.first]
    while pending:
        state = pending.pop()
        for after in (*machine.commands(state), *machine.steps(state)):
            if after not in found:
                found.add(after)
                pending.append(after)
        assert len(found) < most
    return found


def stuck(machine, states):
    """States in which TBs wait and the machine does nothing."""
    return [state for state in states if machine.waits(state) and not any(machine.steps(state))]


MACHINES = {
    "one-needs-all": Machine((4, 3), 2, [((2, 1), 2), ((3, 2), 1), ((4, 3), 1)]),
    "crosswise": Machine((3, 3), 3, [((3, 1), 1), ((1, 3), 1), ((2, 2), 2)]),
    "all-may-stay": Machine((3, 4), 3, [((1, 2), 1), ((1, 1), 1), ((1, 1), 1)]),
    "and-one-more": Machine((4, 4), 3, [((2, 1), 1), ((1, 2), 1), ((1, 1), 2)]),
    "no-lines": Machine((4, 2), 2, [((1, 1), 2), ((2, 2), 1), ((3, 0), 1)]),
}


QUICK = "one-needs-all", "crosswise"


@pytest.mark.parametrize("name", quick(MACHINES, QUICK))
def test_nobody_waits_for_ever(name):
    machine = MACHINES[name]
    states = reachable(machine)
    assert any(machine.waits(state) and sum(tb.stays for tb in state.tbs) > 1 for state in states)
    assert name not in ("all-may-stay", "and-one-more") or any(
        len({tb.kernel for tb in state.tbs if tb.stays}) == 3 for state in states)
    for state in states:
        assert all(rank(after) < rank(state) for after in machine.steps(state))
    assert stuck(machine, states) == []


RULES = {
    "nobody is evicted": lambda tb, gone: False,
    "only of its own kernel": lambda tb, gone: all(other.kernel == tb.kernel for other in gone),
    "only for fresh ones": lambda tb, gone: tb.is_ == FRESH,
    "only for who has nothing yet": lambda tb, gone: not tb.stays,
}


@pytest.mark.parametrize("rule", RULES)
def test_with_other_rules_some_do(rule, monkeypatch):
    plain = Machine.evict

    def evict(self, state, number, gone):
        allowed = RULES[rule](state.tbs[number], [state.tbs[k] for k in gone])
        return plain(self, state, number, gone) if allowed else None

    monkeypatch.setattr(Machine, "evict", evict)
    assert stuck(MACHINES["crosswise"], reachable(MACHINES["crosswise"]))
