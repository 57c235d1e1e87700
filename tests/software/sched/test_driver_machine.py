"""What only a device can do as a machine for schedulers: faults, memory that fails, some SMs of several."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim.memory import ErrorRange
from caesura.software.compiler import compile_ptx
from caesura.software.driver import Closed, DriverError
from caesura.software.sched import DriverMachine, EventKind, KernelRun, MachineError, QueueSpec, RunState
from support.selection import quick
from support.sim.queues import DEVICE
from support.sim.sched import LIMIT, MEMORY, TINY, events, kinds, machine, work, wrong

E = EventKind
TWO = DEVICE
FAULTY = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry faulty(.param .u64 values)
{
    .reg .b32 %r<2>;
    .reg .b64 %a<2>;
    mov.u32 %r0, 1;
    mov.u64 %a0, 16;
    st.global.u32 [%a0], %r0;
    ret;
}
"""


@pytest.mark.parametrize("name", ["golden", "rtl"])
def test_a_fault_is_an_event_and_the_next_work_runs(name):
    made = machine(name)
    queue = made.queue(QueueSpec())
    (image,) = compile_ptx(FAULTY).values()
    signal = made.submit(queue, KernelRun(image, (3, 1, 1), (8, 1, 1), lambda: {"values": np.zeros(4, np.int32)}))
    after = made.submit(queue, work("vecadd", 3))
    found = events(made)
    assert kinds(found, signal) == [E.STARTED, E.FAULTED] and signal.state is RunState.FAULTED
    text = next(event.text for event in found if event.kind is E.FAULTED)
    assert "3 TBs have faulted, the first:" in text and "faulty" in text
    assert kinds(found, after) == [E.STARTED, E.FINISHED] and wrong(made, after) == 0
    made.close()


def test_a_preempt_for_which_memory_fails_is_refused_and_the_work_runs_on():
    made = machine("rtl")
    signal = made.submit(made.queue(QueueSpec()), work("rankfilter", 4))
    made.run_until(LIMIT)
    made.run_until(made.cycle + 500)
    launch = made.device.launches[0]
    made.device.transport.add_error_range(ErrorRange(launch.ccb_base, launch.ccb_base + 4096))
    made.preempt(signal, Way(Mechanism.LIVE_CP))
    event = made.run_until(LIMIT)
    assert event.kind is E.REFUSED and "memory" in event.text and signal.counts.preempts == 0
    assert signal.state is RunState.RUNNING
    made.device.transport.clear_error_ranges()
    assert kinds(events(made), signal) == [E.FINISHED] and wrong(made, signal) == 0
    made.close()


def test_what_cannot_begin_anew_is_not_flushed():
    made = machine("golden")
    signal = made.submit(made.queue(QueueSpec()), work("saxpy", 4))
    made.run_until(LIMIT)
    with pytest.raises(DriverError, match="cannot begin anew"):
        made.preempt(signal, Way(restart=True))
    assert kinds(events(made), signal) == [E.FINISHED] and wrong(made, signal) == 0
    made.close()


def test_of_two_that_are_switched_at_once_it_is_not_told_what_each_took():
    made = machine("rtl")
    queue = made.queue(QueueSpec(capacity=2))
    signals = [made.submit(queue, work("rankfilter", 4)) for _ in range(2)]
    made.run_until(made.cycle + 400)
    while made.run_until(made.cycle):
        pass
    for signal in signals:
        made.preempt(signal, Way(Mechanism.LIVE_CP))
    found = [made.run_until(LIMIT) for _ in range(2)]
    assert [event.kind for event in found] == [E.PREEMPTED] * 2
    assert found[0].cost is None and found[1].cost is not None
    assert sum(signal.counts.preempts for signal in signals) == 2
    for signal in signals:
        made.resume(signal)
    ended = [event for event in events(made) if event.kind is E.FINISHED]
    assert len(ended) == 2 and not any(wrong(made, signal) for signal in signals)
    made.close()


@pytest.mark.parametrize("name", quick(["golden", "rtl"], ["golden"]))
def test_a_work_is_taken_off_one_sm_of_two(name):
    made = DriverMachine(open_device(name, TWO, MEMORY))
    assert made.sms == 2
    signal = made.submit(made.queue(QueueSpec()), work("rankfilter", 14))
    made.run_until(LIMIT)
    made.run_until(made.cycle + 300)
    with pytest.raises(MachineError, match="of SMs \\[2\\], this machine has 2, numbered from 0"):
        made.preempt(signal, Way(Mechanism.LIVE_CP), sms=frozenset({2}))
    with pytest.raises(MachineError, match="in place is of all SMs"):
        made.preempt(signal, Way(Mechanism.LIVE_CP, in_place=True), sms=frozenset({1}))
    made.preempt(signal, Way(Mechanism.LIVE_CP), sms=frozenset({1}))
    event = made.run_until(LIMIT)
    assert event.kind is E.PREEMPTED and signal.state is RunState.PREEMPTED
    assert event.cost.tbs == TINY.tb_slots, "those of one SM"
    before = made.progress(signal)[0]
    made.run_until(made.cycle + 40_000)
    assert made.progress(signal)[0] == 12 > before, "the other SM has run all but those that are saved"
    made.resume(signal)
    assert kinds(events(made), signal) == [E.RESUMED, E.FINISHED] and wrong(made, signal) == 0
    made.close()


@pytest.mark.parametrize("name", quick(["golden", "rtl"], ["golden"]))
def test_after_that_commands_go_to_all_sms_again(name):
    made = DriverMachine(open_device(name, TWO, MEMORY))
    signal = made.submit(made.queue(QueueSpec()), work("rankfilter", 14))
    made.run_until(LIMIT)
    made.run_until(made.cycle + 300)
    for sms, tbs in ((frozenset({0}), 2), (None, 4)):
        made.preempt(signal, Way(Mechanism.LIVE_CP), sms=sms)
        event = made.run_until(LIMIT)
        assert event.kind is E.PREEMPTED and event.cost.tbs == tbs
        made.resume(signal)
        assert made.run_until(LIMIT).kind is E.RESUMED
    assert kinds(events(made, silence=80_000), signal) == [E.FINISHED] and wrong(made, signal) == 0
    made.close()


def test_a_queue_cannot_be_kept_to_some_sms():
    made = DriverMachine(open_device("golden", TWO, MEMORY))
    made.queue(QueueSpec(sms=frozenset({0, 1})))
    with pytest.raises(MachineError, match="cannot keep a queue to SMs \\[1\\]: the driver starts kernels on all 2"):
        made.queue(QueueSpec(sms=frozenset({1})))
    made.close()


def test_memory_can_be_had_of_the_same_work_that_has_ended_only():
    made = machine("golden")
    queue, wanted = made.queue(QueueSpec()), work("vecadd", 2)
    signal = made.submit(queue, wanted)
    for other in (wanted, work("vecadd", 2)):
        with pytest.raises(MachineError, match="of the same work that has ended"):
            made.submit(queue, other, memory_of=signal)
        events(made)
    made.close()


def test_what_has_not_begun_has_no_memory():
    made = machine("golden")
    queue, wanted = made.queue(QueueSpec()), work("vecadd", 20)
    first, waiting = made.submit(queue, wanted), made.submit(queue, wanted)
    with pytest.raises(MachineError, match="'vecadd' is waiting and has not begun"):
        made.results(waiting)
    made.kill(waiting)
    with pytest.raises(MachineError, match="'vecadd' is killed and has not begun"):
        made.results(waiting)
    with pytest.raises(MachineError, match="has left no memory"):
        made.submit(queue, wanted, memory_of=waiting)
    assert kinds(events(made), first) == [E.STARTED, E.FINISHED] and wrong(made, first) == 0
    made.close()


def test_a_work_that_cannot_be_started_leaves_its_queue():
    """It is told to who submits it, or, when its turn comes later, by an event."""
    made = machine("golden")
    queue, good = made.queue(QueueSpec()), work("vecadd", 3)
    bad = KernelRun(good.image, good.grid, good.block, lambda: {"a": np.zeros(4, np.int32)})
    with pytest.raises(DriverError, match="takes 4 arguments"):
        made.submit(queue, bad)
    assert made.run_until(made.cycle + 10) is None
    first, late, last = made.submit(queue, good), made.submit(queue, bad), made.submit(queue, good)
    found = events(made)
    assert kinds(found, late) == [E.FAULTED] and late.state is RunState.FAULTED
    assert "could not be started: kernel 'vecadd' takes 4" in next(e.text for e in found if e.signal is late)
    for signal in (first, last):
        assert kinds(found, signal) == [E.STARTED, E.FINISHED] and wrong(made, signal) == 0
    made.close()


def test_a_work_goes_on_in_the_memory_of_another_submission():
    """saxpy adds to what is there: twice is another result than once."""
    made = machine("golden")
    queue, wanted = made.queue(QueueSpec()), work("saxpy", 3)
    first = made.submit(queue, wanted)
    events(made)
    once = made.results(first)["y"]
    again, fresh = made.submit(queue, wanted, memory_of=first), made.submit(queue, wanted)
    events(made)
    assert (made.results(fresh)["y"] == once).all() and (made.results(again)["y"] != once).any()
    a, x = wanted.arguments()["a"], wanted.arguments()["x"]
    assert np.allclose(made.results(again)["y"], np.float32(a) * x + once, rtol=1e-4, atol=1e-5)
    made.close()


def test_a_closed_machine_says_so():
    made = machine("golden")
    queue = made.queue(QueueSpec())
    made.close()
    made.close()
    with pytest.raises(Closed):
        made.submit(queue, work("vecadd", 1))


@pytest.mark.full
def test_memory_of_works_is_given_back():
    """More than there is at once."""
    made = machine("golden")
    queue, free = made.queue(QueueSpec()), made.device.heap.free_bytes
    for seed in range(30):
        signal = made.submit(queue, work("vecadd", 500, seed))
        events(made, silence=30_000)
        assert wrong(made, signal, seed) == 0
    assert free - made.device.heap.free_bytes < 200_000 and 30 * 90_000 > free
    made.close()
