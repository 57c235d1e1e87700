"""What schedulers rely on holds on each machine: the RTL, the golden model, and the model with costs."""

import pytest

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.software.driver import LaunchError
from caesura.software.sched import EventKind, MachineError, QueueSpec, RunState
from support.selection import quick
from support.sim.sched import LIMIT, MACHINES, TINY, events, kinds, machine, work, wrong

E = EventKind
RTL_AND_MODEL = ["rtl", "model"]


@pytest.fixture(params=MACHINES)
def made(request):
    found = machine(request.param)
    yield found
    found.close()


def running(made, signal, cycles=300):
    """Let a work start, and run for a while."""
    event = made.run_until(LIMIT)
    assert (event.kind, event.signal) == (E.STARTED, signal)
    assert made.run_until(made.cycle + cycles) is None and signal.state is RunState.RUNNING


def test_a_work_starts_ends_and_signals(made):
    queue = made.queue(QueueSpec())
    signal = made.submit(queue, work("rankfilter", 5))
    found = events(made)
    assert [event.kind for event in found] == [E.STARTED, E.FINISHED] and signal.state is RunState.FINISHED
    assert signal.submitted <= signal.started < signal.ended == found[-1].cycle <= made.cycle
    assert signal.latency == signal.ended - signal.submitted
    assert made.progress(signal) == (5, 5) and wrong(made, signal) == 0


def test_time_passes_to_the_cycle_that_is_asked_for(made):
    start = made.cycle
    assert made.run_until(start + 1234) is None and made.cycle == start + 1234
    assert made.run_until(start) is None and made.cycle == start + 1234


def test_a_queue_has_so_many_works_in_flight_and_the_more_urgent_begins_first(made):
    low, high = made.queue(QueueSpec(priority=0)), made.queue(QueueSpec(priority=5))
    first, second = made.submit(low, work("vecadd", 2)), made.submit(low, work("vecadd", 2))
    urgent = [made.submit(high, work("vecadd", 2)) for _ in range(2)]
    assert second.state is urgent[1].state is RunState.WAITING
    found = events(made)
    started = [event.signal for event in found if event.kind is E.STARTED]
    assert started[:2] == [first, urgent[0]] and {*started[2:]} == {second, urgent[1]}
    assert second.started >= first.ended and urgent[1].started >= urgent[0].ended
    assert all(wrong(made, signal) == 0 for signal in (first, second, *urgent))


@pytest.mark.parametrize("way", quick([
    Way(Mechanism.LIVE), Way(Mechanism.LIVE_CP), Way(Mechanism.LIVE_CP, in_place=True),
    Way(restart=True), Way(grace="unlimited")],
    [Way(Mechanism.LIVE_CP), Way(restart=True)]), ids=["live", "live+cp", "in-place", "restart", "drain"])
def test_a_work_is_taken_off_and_brought_back(made, way):
    queue = made.queue(QueueSpec())
    signal = made.submit(queue, work("rankfilter", 6))
    running(made, signal)
    made.preempt(signal, way)
    assert signal.state is RunState.PREEMPTING
    event = made.run_until(LIMIT)
    assert (event.kind, signal.state) == (E.PREEMPTED, RunState.PREEMPTED)
    assert event.cost.tbs == (0 if way.grace else 2)
    at = made.progress(signal)
    assert at[0] == (2 if way.grace else 0)
    assert made.run_until(made.cycle + 20_000) is None and made.progress(signal) == at, "it runs while it is away"
    made.resume(signal)
    assert kinds(events(made), signal) == [E.RESUMED, E.FINISHED]
    assert (signal.counts.preempts, signal.counts.resumes) == (1, 1) and wrong(made, signal) == 0


def test_a_base_is_saved_and_an_increment(made):
    queue = made.queue(QueueSpec())
    signal = made.submit(queue, work("rankfilter", 4))
    running(made, signal)
    made.checkpoint(signal, Mechanism.LIVE)
    event = made.run_until(LIMIT)
    assert event.kind is E.CHECKPOINTED and event.cost.tbs == 2 and signal.state is RunState.RUNNING
    made.preempt(signal, Way(Mechanism.LIVE, incremental=True))
    assert made.run_until(LIMIT).kind is E.PREEMPTED
    made.resume(signal)
    assert kinds(events(made), signal) == [E.RESUMED, E.FINISHED]
    assert (signal.counts.checkpoints, signal.counts.preempts) == (1, 1) and wrong(made, signal) == 0


def test_a_resume_is_withdrawn_by_a_preempt(made):
    queue = made.queue(QueueSpec())
    signal = made.submit(queue, work("rankfilter", 4))
    running(made, signal)
    for _ in range(2):
        made.preempt(signal, Way(Mechanism.LIVE_CP))
        assert made.run_until(LIMIT).kind is E.PREEMPTED
        made.resume(signal)
    found = events(made)
    assert kinds(found, signal) == [E.RESUMED, E.FINISHED] and wrong(made, signal) == 0


@pytest.mark.parametrize("state", ["running", "preempting", "preempted", "resuming"])
def test_a_work_is_killed_in_any_state_and_another_has_its_room(made, state):
    queue = made.queue(QueueSpec())
    signal, following = made.submit(queue, work("rankfilter", 4)), made.submit(queue, work("vecadd", 3))
    running(made, signal)
    if state != "running":
        made.preempt(signal, Way(Mechanism.LIVE_CP))
    if state in ("preempted", "resuming"):
        assert made.run_until(LIMIT).kind is E.PREEMPTED
    if state == "resuming":
        made.resume(signal)
    made.kill(signal)
    assert signal.state is RunState.KILLED
    found = events(made)
    assert kinds(found, signal) == [E.KILLED] and kinds(found, following) == [E.STARTED, E.FINISHED]
    assert made.progress(signal) == (0, 4) and wrong(made, following) == 0


def test_a_work_that_was_killed_runs_again_in_its_memory(made):
    queue, wanted = made.queue(QueueSpec()), work("rankfilter", 4)
    signal = made.submit(queue, wanted)
    running(made, signal, 1500)
    made.kill(signal)
    again = made.submit(queue, wanted, memory_of=signal)
    assert kinds(events(made), again) == [E.STARTED, E.FINISHED] and wrong(made, again) == 0


def test_a_queue_is_reset(made):
    queue, other = made.queue(QueueSpec(capacity=2)), made.queue(QueueSpec())
    mine = [made.submit(queue, work("rankfilter", 3)) for _ in range(4)]
    spared = made.submit(other, work("vecadd", 3))
    made.run_until(made.cycle + 500)
    assert made.reset(queue) == mine
    assert {signal.state for signal in mine} == {RunState.KILLED}
    found = events(made)
    assert [kinds(found, signal)[-1] for signal in mine] == [E.KILLED] * 4 and made.reset(queue) == []
    assert kinds(found, spared)[-1] is E.FINISHED and wrong(made, spared) == 0
    after = made.submit(queue, work("vecadd", 3))
    assert kinds(events(made), after) == [E.STARTED, E.FINISHED] and wrong(made, after) == 0


def test_commands_that_do_not_go_with_the_state_are_refused(made):
    queue = made.queue(QueueSpec())
    signal, waiting = made.submit(queue, work("vecadd", 2)), made.submit(queue, work("vecadd", 2))
    way = Way(Mechanism.LIVE)
    for call in (lambda: made.preempt(waiting, way), lambda: made.checkpoint(waiting, Mechanism.LIVE),
                 lambda: made.resume(signal), lambda: made.estimate(waiting)):
        with pytest.raises(MachineError, match="is (waiting|running)"):
            call()
    events(made)
    with pytest.raises(MachineError, match="is finished: only one that runs, or is being resumed, can be preempted"):
        made.preempt(signal, way)
    made.kill(signal)
    assert signal.state is RunState.FINISHED and made.run_until(made.cycle) is None


def test_queues_have_no_more_capacity_than_there_are_kernel_slots(made):
    made.queue(QueueSpec(capacity=TINY.kernel_slots - 1))
    with pytest.raises(MachineError, match="would have 5 works in flight, this machine has 4 kernel slots"):
        made.queue(QueueSpec(capacity=2))
    for spec in (QueueSpec(capacity=0), QueueSpec(sms=frozenset()), QueueSpec(sms=frozenset({1}))):
        with pytest.raises(MachineError, match="capacity of 1|of no SM|of SMs"):
            made.queue(spec)
    with pytest.raises(MachineError, match="there is no queue 7"):
        made.submit(7, work("vecadd", 1))


@pytest.mark.parametrize("name", RTL_AND_MODEL)
def test_estimates(name):
    made = machine(name)
    queue = made.queue(QueueSpec())
    signal = made.submit(queue, work("rankfilter", 12))
    made.run_until(LIMIT)
    assert made.run_until(made.cycle + 7000) is None and made.progress(signal)[0] >= 2
    left = made.estimate(signal)
    assert 0 < left.drain_cycles < 7000 and left.switch_cycles > 0
    made.close()


def test_a_tb_that_does_not_fit_is_refused():
    made = machine("golden")
    wanted = work("vecadd", 1)
    large = type(wanted)(wanted.image, wanted.grid, (64, 1, 1), wanted.arguments)
    with pytest.raises(LaunchError, match="64 threads a TB"):
        made.submit(made.queue(QueueSpec()), large)
