"""Who makes a hardware queue and for what, and what is left when it has ended."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueState
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError, LaunchError, OutOfMemory
from support.sim.queues import ADD, DEVICE
from support.threads import together


def test_what_a_queue_is_not_made_for_is_refused(queues):
    work = queues()
    with pytest.raises(LaunchError, match="is larger than what the queue was made for"):
        work.queue.launch(work.kernel, 1, 32, [work.counters, 1])
    for options, why in (({"packets": 3}, "a power of two"), ({"priority": 16}, "0 to 15")):
        with pytest.raises(DriverError, match=why):
            work.device.queue([work.kernel], 16, **options)
    with open_device("golden", preset("tiny"), memory_bytes=1 << 20) as plain, pytest.raises(
            DriverError, match="has no hardware queues"):
        plain.queue([], 16)


@pytest.fixture
def golden():
    with open_device("golden", DEVICE, memory_bytes=1 << 22) as device:
        yield device


ADDED = {n: compile_ptx(ADD.replace("red.global.add.u32 [%a0], 1;", f"red.global.add.u32 [%a0], {n};")).values()
         for n in (1, 2)}


def test_a_kernel_that_was_unloaded_is_refused(golden):
    """Other code may lie where its own was."""
    spare = golden.reserve(64, golden.system)
    counter, module = golden.zeros(1, np.uint32), golden.load(ADDED[1])
    kernel = module["add"]
    queue = golden.queue([kernel], 16)
    queue.launch(kernel, 1, 16, [counter, 1]).wait()
    place = kernel.address
    module.unload()
    del spare  # the signal of the next packet takes its place
    queue.barrier([]).wait()  # nothing holds the code any more
    others = [golden.load(ADDED[2])["add"] for _ in range(20)]
    assert place in [other.address for other in others]
    with pytest.raises(LaunchError, match="kernel 'add': its module has been unloaded; load it again"):
        queue.launch(kernel, 1, 16, [counter, 1])
    with pytest.raises(LaunchError, match="its module has been unloaded"):
        golden.queue([kernel], 16)
    queue.wait()
    assert counter.get()[0] == 16


def test_kernels_and_packets_of_others_are_refused(golden):
    alice = golden.tenant(1 << 18, name="alice")
    kernel, own = golden.load(ADDED[1])["add"], alice.load(ADDED[1])["add"]
    queue, hers = golden.queue([kernel], 16), alice.queue([own], 16)
    with open_device("golden", DEVICE, memory_bytes=1 << 22) as other:
        stranger = other.load(ADDED[1])["add"]
        theirs = other.queue([stranger], 16)
        packet = theirs.launch(stranger, 1, 16, [other.zeros(1, np.uint32), 1])
        for act in (lambda: queue.launch(stranger, 1, 16, [golden.zeros(1, np.uint32), 1]),
                    lambda: golden.queue([stranger], 16)):
            with pytest.raises(DriverError, match="kernel 'add' is on another device than the queue"):
                act()
        with pytest.raises(DriverError, match=r"packet 0 \(add\) is of a queue of another device"):
            queue.barrier([packet])
    with pytest.raises(DriverError, match="kernel 'add' is of alice, the queue of the device; use one of its own"):
        queue.launch(own, 1, 16, [golden.zeros(1, np.uint32), 1])
    with pytest.raises(DriverError, match="kernel 'add' is of the device, the queue of alice"):
        hers.launch(kernel, 1, 16, [alice.zeros(1, np.uint32), 1])
    mine = queue.launch(kernel, 1, 16, [golden.zeros(1, np.uint32), 1])
    with pytest.raises(DriverError, match=r"packet \d+ \(add\) is of the device, the queue of alice; a queue reads"):
        hers.barrier([mine])
    golden.queue([kernel], 16).barrier([mine]).wait()  # of any queue of the same owner


@pytest.mark.parametrize(("kernels", "options", "why"), [
    ((), {}, "give one or more"), ((0,), {"packets": 16.0}, "packets must be a whole number"),
    ((0,), {"priority": "1"}, "priority must be a whole number"), ((0,), {"priority": 1.5}, "priority must be")])
def test_a_queue_is_made_of_kernels_and_whole_numbers(golden, kernels, options, why):
    loaded = [golden.load(ADDED[1])["add"] for _ in kernels]
    with pytest.raises(DriverError, match=why):
        golden.queue(loaded, 16, **options)


def test_threads_get_queues_of_their_own():
    for _ in range(6):
        with open_device("golden", DEVICE, memory_bytes=1 << 20) as device:
            kernel, made = device.load(ADDED[1])["add"], []
            together(*[lambda device=device, kernel=kernel, made=made: made.append(device.queue([kernel], 16))] * 3)
            assert sorted(queue.number for queue in made) == [0, 1, 2]


def test_a_queue_that_was_ended_is_given_back(golden):
    """What it had is free, and who still has it is told."""
    kernel, counters = golden.load(ADDED[1])["add"], golden.zeros(4, np.uint32)
    free = golden.system.free_bytes
    queues = [golden.queue([kernel], 16) for _ in range(3)]
    with pytest.raises(DriverError, match="all 3 hardware queues .* are in use; end one"):
        golden.queue([kernel], 16)
    old, done = queues[1], queues[1].launch(kernel, 1, 16, [counters, 1])
    done.wait()
    killed, never = (old.launch(kernel, 1, 16, [counters, rounds]) for rounds in (1 << 20, 1))
    golden.advance(100)
    old.end()
    old.end()  # nothing happens
    new = golden.queue([kernel], 16)
    assert new.number == 1
    packet = new.launch(kernel, 1, 16, [counters, 200])
    golden.advance(50)
    assert (done.done, killed.done, never.done) == (True, True, False)
    assert (old.state, old.completed, old.stop(), old.enabled, old.in_flight()) == (QueueState.STOPPED, 2, 2, False, [])
    for use in (lambda: old.launch(kernel, 1, 16, [counters, 1]), lambda: old.barrier([]), old.enable,
                lambda: old.void(never), old.checkpoint_others):
        with pytest.raises(DriverError, match="queue 1 has been ended; make another"):
            use()
    with pytest.raises(DriverError, match=r"queue 1 has been ended, and packet 2 \(add\) never completes"):
        never.wait()
    with pytest.raises(DriverError, match=r"packet 2 \(add\) never completes: its queue, 1, has been ended"):
        new.barrier([never])
    packet.wait()
    assert counters.get()[0] == 32
    used = free - golden.system.free_bytes
    for queue in (*queues, new):
        queue.end()
    assert free - golden.system.free_bytes < used / 4, "save areas and local memory are free"


@pytest.mark.parametrize("look", [1, 2])
def test_an_end_kills_nobody_elses_kernel(golden, monkeypatch, look):
    """Its kernel ends, and that of another queue gets the kernel slot, between a look at what is in flight and the
    kill."""
    kernel, counters = golden.load(ADDED[1])["add"], golden.zeros(4, np.uint32)
    queue, other = (golden.queue([kernel], 16) for _ in range(2))
    golden.write("queue_slots", 0b1000)
    place, in_flight, looks = counters.address, queue.in_flight, []
    queue.launch(kernel, 1, 16, [place, 600])
    golden.advance(100)
    packet = other.launch(kernel, 1, 16, [place + 4, 600])

    def slow():
        found = in_flight()
        looks.append(found)
        if len(looks) == look:
            while not other.in_flight():
                golden.advance(20)
        return found

    monkeypatch.setattr(queue, "in_flight", slow)
    queue.end()
    packet.wait()
    assert counters.get().tolist()[1] == 16


def test_what_has_completed_holds_no_memory(golden):
    kernel = golden.load(ADDED[1])["add"]
    queue = golden.queue([kernel], 16)
    size = golden.heap.free_bytes // 4 - 4096
    array = golden.zeros(size, np.uint32)
    queue.launch(kernel, 1, 16, [array, 1]).wait()
    del array
    array = golden.zeros(size, np.uint32)
    packet = queue.launch(kernel, 1, 16, [array, 1000])
    array.free()
    with pytest.raises(OutOfMemory):
        golden.zeros(size, np.uint32)
    packet.wait()
    golden.zeros(size, np.uint32)


def test_kernels_of_a_queue_reach_what_the_device_has_now(golden):
    """Tenants come and go while it is there: none that a packet which has not completed could reach."""
    top, tenant, kernel = golden.heap.end, golden.tenant(1 << 18), golden.load(ADDED[1])["add"]
    queue = golden.queue([kernel], 16)

    def reaches_the_end():
        last = golden.heap.end - 4
        before = int.from_bytes(golden.transport.read_memory(last, 4), "little")
        queue.launch(kernel, 1, 16, [last, 1]).wait()
        return int.from_bytes(golden.transport.read_memory(last, 4), "little") == before + 16

    assert reaches_the_end() and golden.heap.end < top
    tenant.close()
    assert golden.heap.end == top and reaches_the_end()
    busy = queue.launch(kernel, 1, 16, [top - 4, 1000])
    with pytest.raises(DriverError, match="a hardware queue of the device itself was given the memory"):
        golden.tenant(1 << 18)
    busy.wait()
    tenant = golden.tenant(1 << 18)
    assert reaches_the_end()
    mine = tenant.zeros(4, np.uint32)
    queue.launch(kernel, 1, 16, [mine.address, 1]).wait()  # a fault
    assert not mine.get().any()
