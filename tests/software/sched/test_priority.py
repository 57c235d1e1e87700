"""Strict priority: the same scheduler on each machine, in each way."""

import itertools

import pytest

from caesura.sim.model.traffic import make_work
from caesura.software.sched import TECHNIQUES, Arrival, MachineError, PriorityScheduler
from support.selection import quick
from support.sim.sched import MACHINES, TINY, machine, wrong

LONG, SHORT = 20, 1
EVERY = 2_500


def play(made, way, arrivals=4, lead=300):
    """A long work, and an urgent one every so often; return latencies of the latter, and the requests."""
    batch, urgent = make_work("rankfilter", TINY, LONG)[0], make_work("vecadd", TINY, SHORT)[0]
    done = []
    scheduler = PriorityScheduler(made, TECHNIQUES[way], {0: 1, 1: 2}, lead, done.append)
    scheduler.run([Arrival(0, batch, 0), *(Arrival(1_000 + EVERY * k, urgent, 1) for k in range(arrivals))],
                  limit=500_000)
    return [request.latency for request in done if request.priority], done


@pytest.mark.parametrize("name, way", quick(
    itertools.product(MACHINES, TECHNIQUES),
    [("rtl", "live+cp"), *((name, way) for name in MACHINES if name != "rtl" for way in TECHNIQUES)]))
def test_everything_ends_and_is_right(name, way):
    made = machine(name)
    latencies, done = play(made, way)
    assert len(latencies) == 4 and len(done) == 5
    assert sum(wrong(made, request.signal) for request in done) == 0
    (batch,) = (request for request in done if not request.priority)
    counts = batch.signal.counts
    if way in ("none", "reset"):
        assert counts.preempts == 0 and batch.tries == (5 if way == "reset" else 1)
    elif way != "drain":
        assert counts.preempts == counts.resumes == 4 and batch.tries == 1
    assert counts.checkpoints == (4 if way == "checkpoint" else 0)
    made.close()


@pytest.mark.parametrize("name", quick(["rtl", "model"], ["model"]))
def test_who_is_urgent_waits_for_thread_blocks_unless_they_are_taken_off(name):
    found = {}
    for way in ("none", "drain", "live+cp", "flush", "reset"):
        made = machine(name)
        found[way] = max(play(made, way)[0])
        made.close()
    alone = 1_200 if name == "model" else 500
    for way in ("live+cp", "flush", "reset"):
        assert found[way] < alone < found["none"] and found[way] < found["drain"]


@pytest.mark.parametrize("way", [name for name, way in TECHNIQUES.items() if way.idempotent])
def test_a_work_that_would_run_twice_is_refused_where_it_may_have_to_leave(way):
    """By its image, before anything runs; where nothing is more urgent, and in ways that save, it is taken."""
    made = machine("golden")
    saxpy, vecadd = make_work("saxpy", TINY, 3)[0], make_work("vecadd", TINY, 3)[0]
    scheduler = PriorityScheduler(made, TECHNIQUES[way], {0: 1, 1: 1})
    with pytest.raises(MachineError, match=f"'saxpy' of priority 0 may have to leave, and '{way}' has its thread "
                                           "blocks begin anew: .*; choose a technique that saves them"):
        scheduler.submit(saxpy, 0)
    with pytest.raises(MachineError, match="'saxpy' of priority 0"):
        scheduler.run([Arrival(0, vecadd, 1), Arrival(10, saxpy, 0)])
    made.close()
    for how, priority in ((way, 1), ("live+cp", 0)):
        made, done = machine("golden"), []
        PriorityScheduler(made, TECHNIQUES[how], {0: 1, 1: 1}, finished=done.append).run(
            [Arrival(0, saxpy, priority), Arrival(300, vecadd, 1 - priority)])
        assert len(done) == 2 and sum(wrong(made, request.signal) for request in done) == 0
        made.close()


@pytest.mark.parametrize("name", ["golden", "model"])
def test_of_three_priorities_the_highest_goes_first_and_nothing_is_lost(name):
    made = machine(name)
    works = {priority: make_work("rankfilter", TINY, 3 + priority)[0] for priority in range(3)}
    done = []
    scheduler = PriorityScheduler(made, TECHNIQUES["live+cp"], {0: 2, 1: 1, 2: 1}, finished=done.append)
    scheduler.run([Arrival(200 * n, works[priority], priority) for n, priority in enumerate((0, 0, 1, 2, 1))])
    assert [request.priority for request in done] == [2, 1, 1, 0, 0]
    assert sum(wrong(made, request.signal) for request in done) == 0
    made.close()


def test_what_is_unknown_is_refused():
    made = machine("model")
    with pytest.raises(MachineError, match="kernel slots"):
        PriorityScheduler(made, TECHNIQUES["none"], {0: 3, 1: 3})
    made = machine("model")
    scheduler = PriorityScheduler(made, TECHNIQUES["none"], {0: 1})
    with pytest.raises(MachineError, match="there is no priority 1; this scheduler has \\[0\\]"):
        scheduler.submit(make_work("vecadd", TINY, 1)[0], 1)
    with pytest.raises(MachineError, match="there is no priority 2"):
        scheduler.run([Arrival(0, make_work("vecadd", TINY, 1)[0], 2)])
