"""Streams: order, events, errors where they belong, priorities that preempt, more launches than there are slots."""

import random
from pathlib import Path

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.software.compiler import compile_ptx
from caesura.software.driver import (
    CycleLimit,
    DriverError,
    KernelFault,
    TaskState,
)
from support.programs.shared_counters import HEAD
from support.programs.stream_work import Appending, StirTask
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 22
TWO = DEVICE
HERE = Path(__file__).name


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
