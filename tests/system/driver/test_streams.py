"""Streams: order, events, errors where they belong, priorities that preempt, more launches than there are slots."""

import gc
import os
import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from caesura import open_device
from caesura.errors import InputError
from caesura.hw.arch.geometry import preset
from caesura.sim.memory import ErrorRange
from caesura.software.compiler import compile_ptx
from caesura.software.driver import (
    CommandRefused,
    CycleLimit,
    DriverError,
    KernelFault,
    LaunchError,
    TaskState,
)
from support.programs.shared_counters import HEAD
from support.programs.stream_work import Appending, StirTask
from support.selection import quick
from support.sim.queues import ADD, DEVICE

MEMORY = 1 << 22
TWO = DEVICE
HERE = Path(__file__).name


@pytest.fixture(params=["golden-one", "golden-two", "rtl-one", pytest.param("rtl-two", marks=pytest.mark.full)])
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, TWO if sms == "two" else "tiny", memory_bytes=MEMORY) as device:
        yield device


@pytest.fixture(scope="module")
def golden():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        yield device


def test_a_stream_keeps_the_order(device):
    """Each kernel appends its number: copies and calls see just what was put in before them."""
    work, stream, seen = Appending(device), device.stream(), []
    for n in range(6):
        work.append(stream, n)
        seen.append(stream.copy_from(work.log))
        stream.call(lambda n=n: seen.append(n))
    assert stream.tasks[0].state is TaskState.RUNNING and not stream.idle
    stream.synchronize()
    assert [list(copy.wait()[:n + 1]) for n, copy in enumerate(seen[:6])] == [list(range(n + 1)) for n in range(6)]
    assert seen[6:] == [*range(6)]


def test_a_call_may_put_more_into_streams(golden):
    stream, other, seen = golden.stream(), golden.stream(), []

    def again(n):
        seen.append(n)
        if n:
            (other if n % 2 else stream).call(lambda: again(n - 1))

    stream.call(lambda: again(5))
    golden.synchronize()
    assert seen == [5, 4, 3, 2, 1, 0]


def test_copies_are_of_the_moment_they_were_put_in(golden):
    stream, array, values = golden.stream(), golden.zeros(4, np.int32), np.arange(4, dtype=np.int32)
    spin = Appending(golden)
    spin.append(stream, 0)
    copied = stream.copy_to(array, values)
    values[:] = 9
    assert not copied.over and not array.get().any()
    assert copied.wait() is None and list(array.get()) == [0, 1, 2, 3]


def test_events_order_streams_and_tell_the_time(device):
    """Of two streams each waits for the other, in turn: the log is in one order."""
    work, one, two = Appending(device), device.stream(), device.stream()
    events = [one.record()]
    for n in range(6):
        stream = (one, two)[n % 2]
        stream.wait_event(events[-1])
        work.append(stream, n)
        events.append(stream.record())
    device.synchronize()
    assert list(work.log.get()[:6]) == [*range(6)]
    cycles = [event.cycle for event in events]
    assert cycles == sorted(cycles) and events[-1].since(events[0]) == cycles[-1] - cycles[0] > 100


@pytest.mark.parametrize("device", quick(
    ["golden-one", "golden-two", "rtl-one", "rtl-two"], ["golden-two"]), indirect=True)
def test_streams_run_side_by_side(device):
    """More kernels than there are slots, each from a stream of its own; a kernel in one does not wait for others."""
    slots = device.geometry.kernel_slots
    tasks = [StirTask(device, device.stream(), 2, seed) for seed in range(3 * slots)]
    assert sum(task.task.state is TaskState.RUNNING for task in tasks) == slots
    first = device.wait_any([task.task for task in tasks])
    assert first.over and not all(task.task.over for task in tasks)
    device.synchronize()
    for task in tasks:
        task.check()


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


COUNT = compile_ptx(ADD).values()
SAMPLE = compile_ptx(HEAD + """
.global .texref texels;
.visible .entry sample(.param .u64 output)
{
    .reg .b32 %r<2>;
    .reg .f32 %f<5>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, 0;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [texels, {%r0}];
    st.global.f32 [%a0], %f0;
    ret;
}
""").values()


def busy_stream(device, busy):
    """A stream in which what is put in waits, or begins at once."""
    stream = device.stream()
    if busy:
        stream.launch(device.load(COUNT)["add"], 4, 16, [device.zeros(1, np.uint32), 1000])
    return stream


@pytest.mark.parametrize("options", [{}, {"check_bounds": True}], ids=["", "bounds"])
@pytest.mark.parametrize("busy", [False, True])
def test_what_a_kernel_was_given_stays_until_its_task_has_ended(busy, options):
    """Array and module: given back before the kernel has begun."""
    with open_device("golden", "tiny", memory_bytes=MEMORY, **options) as device:
        stream, module = busy_stream(device, busy), device.load(COUNT)
        counter, seen = device.zeros(1, np.uint32), []
        place = counter.address
        task = stream.launch(module["add"], 1, 16, [counter, 1])
        assert (task.launch is None) == busy
        stream.call(lambda: seen.append(device.transport.read_memory(place, 4)))
        counter.free()
        module.unload()
        others = [device.zeros(1, np.uint32) for _ in range(8)]
        assert place not in [other.address for other in others]
        task.wait()
        stream.synchronize()
        assert seen == [bytes([16, 0, 0, 0])] and not any(other.get()[0] for other in others)
        assert device.heap.holder(place) is None
        with pytest.raises(LaunchError, match="its module has been unloaded"):
            stream.launch(module["add"], 1, 16, [others[0], 1])
        with pytest.raises(LaunchError, match="the device array has been freed"):
            stream.launch(device.load(COUNT)["add"], 1, 16, [counter, 1])
        stream.synchronize()


@pytest.mark.parametrize("busy", [False, True])
def test_a_kernel_reads_the_textures_of_the_call(busy):
    with open_device("golden", "gtx480", memory_bytes=MEMORY) as device:
        module, output = device.load(SAMPLE), device.zeros(1, np.float32)
        one, two = (device.array(np.full(4, k, np.float32)) for k in (1, 2))
        stream = busy_stream(device, busy)
        module.bind_texture("texels", one)
        task = stream.launch(module["sample"], 1, 1, [output])
        module.bind_texture("texels", two)
        one.free()
        task.wait()
        assert output.get()[0] == 1


@pytest.mark.parametrize("busy", [False, True])
def test_copies_hold_the_memory_of_their_array(golden, busy):
    stream, array = busy_stream(golden, busy), golden.array(np.arange(4, dtype=np.int32))
    copied = stream.copy_from(array)
    stream.copy_to(array, np.arange(4, 8, dtype=np.int32))
    again = stream.copy_from(array)
    array.free()
    others = [golden.zeros(4, np.int32) for _ in range(8)]
    assert list(copied.wait()) == [0, 1, 2, 3] and list(again.wait()) == [4, 5, 6, 7]
    assert not any(other.get().any() for other in others)
    for copy in (lambda: stream.copy_from(array), lambda: stream.copy_to(array, np.zeros(4, np.int32))):
        with pytest.raises(DriverError, match="has been freed"):
            copy()


def test_events_of_two_devices_have_no_time_between_them(golden):
    with open_device("golden", "tiny", memory_bytes=MEMORY) as other:
        here, there = golden.stream().record(), other.stream().record()
        with pytest.raises(DriverError, match="the events are of two devices"):
            here.since(there)
        assert there.since(there) == 0


def test_streams_that_nobody_holds_are_gone():
    """When what is in them is over, and its failure told."""
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        streams, seen = device._core.streams, []
        for _ in range(50):
            device.stream().record()
        device.stream().call(lambda: seen.append(1))
        mine = device.stream()
        mine.record()
        assert streams.of(device) == [mine] and seen == [1]
        task = StirTask(device, device.stream(), 1, 1)
        device.stream().call(lambda: 1 // 0)
        gc.collect()
        assert len(streams.of(device)) == 3
        with pytest.raises(ZeroDivisionError):
            device.synchronize()
        task.check()
        del task
        mine.record()
        gc.collect()
        assert streams.of(device) == [mine]


STRAY = compile_ptx(HEAD + """
.visible .entry stray(.param .u64 output)
{
    .reg .b64 %a<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, 1;
    st.global.u32 [%a0+1], %r0;
    ret;
}
""", "stray.ptx").values()


def test_a_fault_is_told_once_where_the_kernel_was_launched(device):
    """What was put in behind it is not carried out, nor what waits for that in other streams; others go on."""
    output = device.zeros(4, np.uint32)
    stray = device.load(STRAY)["stray"]
    stream, other, third = (device.stream(name=name) for name in ("one", "two", "three"))
    bad = stream.launch(stray, 1, 1, [output])
    behind = stream.copy_to(output, np.arange(4, dtype=np.uint32))
    mark = stream.record()
    other.wait_event(mark)
    late = other.copy_to(output, np.arange(4, dtype=np.uint32))
    good = StirTask(device, third, 1, 1)
    with pytest.raises(KernelFault, match=rf"(?s)kernel 'stray'.*stray\.ptx:12.*launched at .*{HERE}:\d+") as fault:
        stream.synchronize()
    assert fault.value.record.kernel == "stray"
    with pytest.raises(DriverError, match="what it waits for has failed"):
        other.synchronize()
    good.finish()
    assert not output.get().any()
    assert (bad.state, behind.state, late.state) == (TaskState.FAILED, *[TaskState.CANCELLED] * 2)
    assert mark.cycle is None
    with pytest.raises(DriverError, match="has not come yet"):
        mark.since(mark)
    with pytest.raises(DriverError, match=rf"copy to the device, put into the stream at .*{HERE}:\d+, was not"):
        behind.wait()
    stream.synchronize()  # it has been told
    stream.copy_to(output, np.arange(4, dtype=np.uint32))
    stream.synchronize()
    assert list(output.get()) == [0, 1, 2, 3]


def test_an_error_of_a_call_is_the_programs_own(golden):
    stream = golden.stream()
    stream.call(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    assert stream.call(lambda: 7).wait() == 7
    with pytest.raises(ZeroDivisionError):
        stream.call(lambda: 1 // 0).wait()
    stream.synchronize()  # told already


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit()], ids=repr)
def test_whatever_a_call_raises_ends_its_task(golden, error):
    def fails():
        raise error

    stream, behind = golden.stream(), []
    Appending(golden).append(stream, 0)
    task = stream.call(fails)
    stream.call(lambda: behind.append(1))
    for _ in range(2):
        with pytest.raises(type(error)):
            task.wait()
    assert task.state is TaskState.FAILED and not behind
    Appending(golden).append(stream, 0).wait()


@pytest.mark.usefixtures("interruptible")
def test_a_call_is_interrupted(golden):
    """The interrupt is raised where the call was carried out; the task says what has become of it."""
    stream = golden.stream()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stream.call(lambda: time.sleep(20), "nap")
    assert time.monotonic() - begin < 10
    with pytest.raises(DriverError, match=rf"nap, put into the stream at .*{HERE}:\d+, was interrupted"):
        stream.synchronize()
    Appending(golden).append(stream, 0).wait()


def test_a_call_may_wait_for_a_thread_that_uses_the_device(golden):
    found = threading.Event()
    thread = threading.Thread(target=lambda: golden.zeros(4, np.uint32).get() is not None and found.set(), daemon=True)

    def waits():
        thread.start()
        return found.wait(20)

    assert golden.stream().call(waits).wait()


def test_a_call_may_wait_for_other_streams(golden):
    stream, other, work = golden.stream(), golden.stream(), Appending(golden)
    work.append(stream, 1)

    def waits():
        work.append(other, 2).wait()
        return other.call(lambda: list(work.log.get()[:2])).wait()

    assert stream.call(waits).wait() == [1, 2]

    def waits_for_itself():
        stream.synchronize()

    with pytest.raises(CycleLimit, match="waits_for_itself, put in at .* is running"):
        stream.call(waits_for_itself).wait()


def test_others_wait_for_a_call_that_a_thread_carries_out(golden):
    """No time passes for what waits for it, and what does not goes on."""
    stream, begun, leave, work = golden.stream(), threading.Event(), threading.Event(), Appending(golden)

    def waits():
        begun.set()
        return leave.wait(20)

    thread = threading.Thread(target=lambda: stream.call(waits), daemon=True)
    thread.start()
    assert begun.wait(20)
    work.append(golden.stream(), 1).wait()
    assert not stream.idle
    before = golden.cycle
    threading.Timer(0.3, leave.set).start()
    stream.record().wait()
    assert stream.idle and golden.cycle - before < 1000
    thread.join(20)


def test_closing_a_stream_whose_call_is_carried_out(golden):
    stream, begun, leave = golden.stream(), threading.Event(), threading.Event()

    def waits():
        begun.set()
        leave.wait(20)

    thread = threading.Thread(target=lambda: stream.call(waits), daemon=True)
    thread.start()
    assert begun.wait(20)
    task = stream.tasks[0]
    stream.close()
    leave.set()
    thread.join(20)
    with pytest.raises(DriverError, match="its stream was closed"):
        task.wait()
    golden.stream().call(lambda: None).wait()


def test_priorities_preempt_a_kernel_without_what_it_has_not(golden):
    """It has no routines to trap into."""
    golden.preempt_by("live", trap=True)
    batch = StirTask(golden, golden.stream(), 8, 1)
    golden.advance(300)
    StirTask(golden, golden.stream(priority=1), 1, 2).finish()
    assert not batch.task.over and batch.task.preempted
    golden.preempt_by()
    batch.finish()


def test_a_launch_that_is_killed_fails(device):
    stream = device.stream()
    work = StirTask(device, stream, 1000, 1)
    device.advance(300)
    device.kill(work.task.launch)
    with pytest.raises(DriverError, match="kernel 'stir', put into the stream at .*, was killed"):
        stream.synchronize()


def test_waiting_ends(golden):
    """After so many cycles, and at once if nothing can come any more."""
    stream, other = golden.stream(name="endless"), golden.stream(name="stuck")
    work = StirTask(golden, stream, 100_000, 1)
    with pytest.raises(CycleLimit, match=r"stream endless has not ended after \d+ cycles: kernel 'stir', put in at"):
        stream.synchronize(1000)
    with pytest.raises(CycleLimit, match="is running after"):
        work.task.wait(1000)
    with pytest.raises(CycleLimit, match="none of 1 tasks is over"):
        golden.wait_any([work.task], 1000)
    golden.wait_any([other.record()])
    stream.close()
    assert work.task.state is TaskState.RUNNING or work.task.over
    with pytest.raises(DriverError, match="stream endless has been closed"):
        stream.record()
    stream.close()
    golden.synchronize()


def test_a_stream_that_closes_drops_what_waits(device):
    with pytest.raises(RuntimeError), device.stream() as stream:
        work = StirTask(device, stream, 100_000, 1)
        waiting = stream.record()
        raise RuntimeError
    assert work.task.launch.ended and waiting.state is TaskState.CANCELLED
    with device.stream() as stream:
        work = StirTask(device, stream, 1, 1)
    work.check()


def test_advance_lets_streams_go_on(device):
    tasks, stream = [], device.stream()
    for seed in range(3):
        tasks.append(StirTask(device, stream, 1, seed))
    before = device.cycle
    # a kernel that begins takes the register accesses of its launch
    assert 50_000 <= device.advance(50_000) == device.cycle - before < 50_600
    assert stream.idle
    for task in tasks:
        task.check()


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


@pytest.mark.parametrize("seed", quick(range(200), range(2)))
def test_random_streams(seed):
    """Kernels, copies, events and hand-made preempts in several streams: each result is right, everything ends."""
    rng = random.Random(seed)
    with open_device("golden", rng.choice([preset("tiny"), TWO]), memory_bytes=MEMORY) as device:
        mechanism = rng.choice([None, "occupied", "live", "live+cp", "live+tb"])
        device.preempt_by(mechanism, **({"scramble": True} if mechanism else {}))
        streams = [device.stream(priority=rng.randrange(3)) for _ in range(rng.randint(2, 6))]
        tasks, events = [], []
        for n in range(25):
            stream = rng.choice(streams)
            match rng.randrange(5):
                case 0 if events:
                    stream.wait_event(rng.choice(events))
                case 1:
                    events.append(stream.record())
                case 2:
                    device.advance(rng.randrange(800))
                case _:
                    tasks.append(StirTask(device, stream, rng.choice((1, 2, 4)), n))
        device.synchronize(3_000_000)
        for task in tasks:
            task.check()


def test_an_end_that_is_seen_while_others_are_looked_at_is_not_missed(golden, monkeypatch):
    """Its event is taken on the way: no time passes before the stream has gone on."""
    stream, work = golden.stream(), Appending(golden)
    priorities, events = golden._core.streams.priorities, golden.launcher.slots.events
    keep, seen = priorities.keep, []

    def late(running, waiting):
        keep(running, waiting)
        if running and not seen:
            while not running[0].launch.finished:
                golden.transport.advance(64)
            events.take()
            seen.append(golden.cycle)

    first, second = work.append(stream, 1), work.append(stream, 2)
    monkeypatch.setattr(priorities, "keep", late)
    stream.synchronize(max_cycles=20_000)
    assert seen and first.over and second.over and golden.cycle - seen[0] < 10_000


def test_an_end_that_another_thread_has_seen_is_looked_at_before_time_passes(golden, monkeypatch):
    """Between its look at the event and what it was to begin then, this thread waits already."""
    stream, work = golden.stream(), Appending(golden)
    task, time_of, events, seen = work.append(stream, 1), golden._core.time, golden.launcher.slots.events, []
    pump = time_of.pump

    def before():
        pump()
        if task.launch is not None and not seen:
            while not task.launch.finished:
                golden.transport.advance(64)
            events.take()
            seen.append(golden.cycle)

    monkeypatch.setattr(time_of, "pump", before)
    monkeypatch.setattr(golden._core.streams, "pump", before)
    task.wait(max_cycles=20_000)
    assert seen and golden.cycle - seen[0] < 10_000


@pytest.mark.parametrize(("threads", "rounds"), quick([(16, 25)] * 4 + [(8, 8)], [(8, 8)]))
@pytest.mark.parametrize("calls", [False, True])
def test_threads_with_streams_take_no_more_time_than_their_kernels(threads, rounds, calls):
    """Streams have several priorities, and functions of the host or none. No time passes in which nothing runs."""
    errors = []
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        add = device.load([compile_ptx(ADD)["add"]])["add"]

        def use(number):
            try:
                stream = device.stream(priority=number % 3)
                for k in range(rounds):
                    counter = device.zeros(1, np.uint32)
                    stream.launch(add, 1, 16, [counter, 20 + k % 3])
                    copy = stream.copy_from(counter)
                    if calls:
                        stream.call(lambda: device.zeros(4, np.uint32))
                    if k % 5 == 0:
                        assert copy.wait(max_cycles=1_000_000)[0] == 16
                stream.synchronize(max_cycles=1_000_000)
            except BaseException as error:  # noqa: BLE001 - told below
                errors.append(error)

        working = [threading.Thread(target=use, args=(number,)) for number in range(threads)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join(120)
        assert not errors and not any(thread.is_alive() for thread in working)
        assert device.cycle < 1000 * threads * rounds
