"""Which works begin next: of the highest priority first, of each queue as many as it has capacity for, in order."""

import pytest

from caesura.software.sched import QueueSpec, RunState, Submission
from caesura.software.sched.policies.rules import waiting_works
from support.sim.sched import work

SPECS = [QueueSpec(priority=1), QueueSpec(priority=7, capacity=2), QueueSpec(priority=7), QueueSpec(priority=3)]
WORK = work("vecadd", 1)


def signals(*states):
    """Signals of (queue, state)."""
    return [Submission(WORK, queue, 0, state=state) for queue, state in states]


def test_the_most_urgent_begin_first_and_of_equals_the_older_queue():
    waiting = signals(*((queue, RunState.WAITING) for queue in (0, 3, 2, 1, 1, 1, 0)))
    assert waiting_works(SPECS, waiting) == [waiting[3], waiting[4], waiting[2], waiting[1], waiting[0]]


@pytest.mark.parametrize("state, begins", [
    (RunState.RUNNING, 1), (RunState.PREEMPTED, 1), (RunState.RESUMING, 1), (RunState.FINISHED, 2)])
def test_what_is_in_flight_takes_capacity(state, begins):
    found = signals((1, state), (1, RunState.WAITING), (1, RunState.WAITING), (1, RunState.WAITING))
    assert waiting_works(SPECS, found) == found[1:1 + begins]
