"""Priorities of streams: what preempts what, with or without a free kernel slot."""

import numpy as np
import pytest

from caesura import open_device
from caesura.errors import InputError
from caesura.sim.memory import ErrorRange
from caesura.software.driver import (
    CommandRefused,
    DriverError,
    LaunchError,
    TaskState,
)
from support.programs.stream_work import Appending, StirTask

MEMORY = 1 << 22


def test_a_high_priority_preempts(device):
    """The device is its alone until it has ended; then what was preempted goes on, and ends as if nothing had
    happened."""
    low, high = device.stream(priority=1, name="low"), device.stream(priority=2, name="high")
    batch = [StirTask(device, low, 4, seed) for seed in range(2)]
    device.advance(700)
    urgent = StirTask(device, high, 1, 7)
    urgent.task.wait()
    assert urgent.task.over and not batch[0].task.over and batch[0].task.preempted
    device.synchronize()
    for task in (*batch, urgent):
        task.check()
    assert batch[0].task.launch.switches.resumed >= 1
    assert urgent.task.ended < batch[0].task.ended < batch[1].task.ended


@pytest.mark.parametrize("how", [{"mechanism": "occupied"}, {"mechanism": "live+cp", "patience": 100},
                                 {"mechanism": "live+tb"}, {"grace": 100}, {"grace": "unlimited"},
                                 {"in_place": True}, {"scramble": True}], ids=str)
def test_each_way_of_preempting(golden, how):
    golden.preempt_by(**{"mechanism": "live", **how})
    low, high = golden.stream(), golden.stream(priority=1)
    batch = StirTask(golden, low, 6, 1)
    for seed in range(2, 5):
        golden.advance(250)
        StirTask(golden, high, 1, seed).finish()
    batch.finish()
    golden.preempt_by()


def test_without_preemption_a_priority_says_what_begins_first(golden):
    golden.preempt_by(None)
    slots, order = golden.geometry.kernel_slots, []
    for seed in range(slots):
        StirTask(golden, golden.stream(), 3, seed)
    for priority in (1, 5, 3):
        stream = golden.stream(priority=priority)
        StirTask(golden, stream, 1, priority)
        stream.call(lambda priority=priority: order.append(priority))
    golden.synchronize()
    golden.preempt_by()
    assert order[0] == 5 and sorted(order) == [1, 3, 5]


def test_priorities_find_a_slot_though_all_are_in_use(device):
    slots = device.geometry.kernel_slots
    batch = [StirTask(device, device.stream(), 3, seed) for seed in range(slots)]
    device.advance(400)
    urgent = [StirTask(device, device.stream(priority=1), 1, 20 + n) for n in range(slots + 1)]
    for task in urgent:
        task.finish()
    assert not any(task.task.over for task in batch)
    for task in batch:
        task.finish()


def test_priorities_find_a_slot_though_all_stay_in_place(golden):
    """What has stayed on the SM goes to memory first."""
    golden.preempt_by("live", in_place=True)
    batch = [StirTask(golden, golden.stream(), 8, seed) for seed in range(golden.geometry.kernel_slots)]
    golden.advance(400)
    urgent = StirTask(golden, golden.stream(priority=1), 1, 20)
    urgent.finish()
    assert not any(task.task.over for task in batch)
    golden.synchronize()
    golden.preempt_by()
    for task in batch:
        task.check()


def test_who_waits_for_its_own_launches_or_memory_preempts_nobody():
    """They would wait for each other."""
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        few = device.tenant(1 << 18, launches=2)
        small = device.tenant(1 << 18, system_bytes=28 << 10)
        for owner in (few, small):
            batch = [StirTask(owner, owner.stream(), 4, seed) for seed in range(6)]
            assert 0 < sum(task.task.state is TaskState.RUNNING for task in batch) < device.geometry.kernel_slots
            device.advance(300)
            urgent = StirTask(owner, owner.stream(priority=1), 1, 20)
            assert urgent.task.state is TaskState.WAITING and not urgent.task.wants_slot
            owner.synchronize(3_000_000)
            for task in (*batch, urgent):
                task.check()


def test_a_kernel_preempted_by_hand_holds_nobody_up(device):
    high, low = device.stream(priority=1), device.stream()
    held = StirTask(device, high, 4, 1)
    device.advance(300)
    device.preempt(held.task.launch)
    StirTask(device, low, 1, 2).finish()
    assert not held.task.over
    device.resume(held.task.launch)
    held.finish()


def test_where_bounds_are_checked_priorities_wait_for_a_slot():
    with open_device("golden", "tiny", memory_bytes=MEMORY, check_bounds=True) as device:
        batch = [StirTask(device, device.stream(), 3, seed) for seed in range(device.geometry.kernel_slots)]
        device.advance(300)
        urgent = StirTask(device, device.stream(priority=1), 1, 20)
        device.synchronize()
        for task in (*batch, urgent):
            task.check()


def test_bad_arguments_are_told_at_the_call(golden):
    work, stream = Appending(golden), golden.stream()
    with pytest.raises(LaunchError, match="takes 4 arguments"):
        stream.launch(work.kernel, 1, 16, [])
    with pytest.raises(LaunchError, match="threads a TB"):
        stream.launch(work.kernel, 1, 4096, [work.log, work.cursor, 0, 0])
    with pytest.raises(InputError, match="does not fit a device array"):
        stream.copy_to(work.log, np.zeros(3, np.uint32))
    with pytest.raises(DriverError, match="priority must be a whole number"):
        golden.stream(priority=-1)
    with pytest.raises(DriverError, match="no option 'tbs'"):
        golden.preempt_by("live", tbs=[0])
    with pytest.raises(DriverError, match="no mechanism 'fast'"):
        golden.preempt_by("fast")
    with pytest.raises(DriverError, match="incremental does not go with in_place"):
        golden.preempt_by("live", incremental=True, in_place=True)
    with pytest.raises(DriverError, match="'occupied' does not go with trap"):
        golden.preempt_by("occupied", trap=True)
    with pytest.raises(DriverError, match="a stream calls functions, and None is none"):
        stream.call(None)
    Appending(golden).append(golden.stream(), 0).wait()
    stream.synchronize()
    with open_device("golden", "tiny", memory_bytes=MEMORY) as other:
        with pytest.raises(DriverError, match="of another device"):
            stream.wait_event(other.stream().record())
        with pytest.raises(DriverError, match="use one of its own"):
            stream.launch(Appending(other).kernel, 1, 1, [])


def test_priorities_preempt_a_kernel_without_what_it_has_not(golden):
    """It has no routines to trap into."""
    golden.preempt_by("live", trap=True)
    batch = StirTask(golden, golden.stream(), 8, 1)
    golden.advance(300)
    StirTask(golden, golden.stream(priority=1), 1, 2).finish()
    assert not batch.task.over and batch.task.preempted
    golden.preempt_by()
    batch.finish()


def test_memory_that_fails_when_a_kernel_is_brought_back():
    """A resume is tried again; when memory does not come back, the kernel's task fails, and the stream goes on."""
    with open_device("rtl", "tiny", memory_bytes=MEMORY) as device:
        low, high = device.stream(), device.stream(priority=1)
        batch = StirTask(device, low, 4, 1)
        device.advance(500)
        urgent = StirTask(device, high, 2, 2)
        device.advance(1000)
        assert batch.task.preempted
        launch = batch.task.launch
        device.transport.add_error_range(ErrorRange(launch.ccb_base, launch.ccb_base + 4096))
        urgent.finish()
        with pytest.raises(CommandRefused, match="resume of kernel 'stir', put into the stream at"):
            low.synchronize(200_000)
        device.transport.clear_error_ranges()
        StirTask(device, low, 1, 3).finish()
