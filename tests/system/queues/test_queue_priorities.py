"""Hardware queues with priorities, on both machines: kernels are preempted for those of a higher one, lose their
kernel slots, and come back; nothing is lost, whatever happens in whatever cycle."""

import random

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.image.context import area_address, record_address
from caesura.hw.arch.packets import PacketType, QueueState
from caesura.sim.memory import ErrorRange
from caesura.software.driver import DriverError
from support.selection import quick
from support.sim.queue_stops import stopped_at
from support.sim.queues import HOW, LIMIT, Scene


@pytest.fixture(params=["golden", "rtl"])
def backend(request):
    return request.param


@pytest.mark.parametrize("slots", quick([1, 2], [1]))
@pytest.mark.parametrize("how", quick(HOW, [HOW[2], HOW[5]]), ids=str)
def test_a_higher_priority_preempts(backend, how, slots):
    """With one slot the kernel that is preempted loses it, after what has stayed in place has left; with two it keeps
    it."""
    with Scene(backend, slots, **how) as scene:
        low = scene.put(0, rounds=12)
        scene.device.advance(1500)
        assert scene.queues[0].state is QueueState.RUNNING
        high = scene.put(2, rounds=2)
        scene.until(lambda: scene.queues[0].state is QueueState.PREEMPTED)
        if slots == 1:
            scene.until(lambda: scene.away(0))
        scene.until(lambda: high.packet.done)
        assert not low.packet.done and (slots == 1 or not scene.away(0))
        scene.finish()
        assert low.packet.start_cycle < high.packet.start_cycle < high.packet.end_cycle < low.packet.end_cycle


def test_memory_that_fails_while_the_slot_is_wanted():
    """A kernel whose preempt has failed is preempted once more before it loses its slot: nothing of it is lost."""
    with Scene("rtl", 1) as scene:
        low = scene.put(0, rounds=8)
        scene.device.advance(1500)
        place = scene.queues[0]._contexts
        scene.device.transport.add_error_range(ErrorRange(place.address, place.address + place.size))
        high = scene.put(1)
        scene.device.advance(6000)
        assert not high.packet.done and not low.packet.done and not scene.away(0)
        scene.device.transport.clear_error_ranges()
        scene.finish()
        assert high.packet.end_cycle < low.packet.end_cycle


def test_records_that_cannot_be_written_while_the_slot_is_wanted():
    """All thread blocks are saved by then: what is tried once more is the record."""
    with Scene("rtl", 1) as scene:
        low = scene.put(0, rounds=8)
        scene.device.advance(1500)
        first, stride = (scene.device.read(f"queue[0].ccb_{name}") for name in ("base", "stride"))
        for sm in range(2):
            record = record_address(scene.device.geometry, first + sm * stride)
            scene.device.transport.add_error_range(ErrorRange(record, record + 64, reads=False))
        high = scene.put(1)
        scene.device.advance(6000)
        assert not scene.away(0) and not high.packet.done and not low.packet.done
        scene.device.transport.clear_error_ranges()
        scene.finish()
        assert high.packet.end_cycle < low.packet.end_cycle


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("slots", [1, 2])
def test_three_levels(backend, slots):
    """Each preempts the one below; they come back from the top down."""
    with Scene(backend, slots) as scene:
        works = []
        for priority in range(3):
            works.append(scene.put(priority, rounds=6))
            scene.device.advance(1500)
        assert [scene.queues[k].state for k in range(3)] == [QueueState.PREEMPTED] * 2 + [QueueState.RUNNING]
        scene.finish()
        ends = [work.packet.end_cycle for work in works]
        assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_equals_preempt_nothing_and_it_can_be_turned_off(backend):
    with Scene(backend, 2) as scene:
        scene.device.preempt_by(None)
        low, high = scene.put(0, rounds=8), scene.put(2, rounds=8)
        for _ in range(20):
            assert QueueState.PREEMPTED not in [queue.state for queue in scene.queues]
            scene.device.advance(200)
        scene.finish()
        assert abs(low.packet.end_cycle - high.packet.end_cycle) < low.packet.end_cycle / 2


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_a_kernel_that_the_host_has_preempted_is_the_hosts(backend):
    with Scene(backend, 2) as scene:
        low = scene.put(0, rounds=6)
        scene.device.advance(1500)
        slot = scene.slot(0)
        scene.device.write("command", op=2, kernel=slot, mechanism=1)
        scene.device.advance(3000)
        high = scene.put(2)
        scene.until(lambda: high.packet.done)
        scene.device.advance(2000)
        assert scene.queues[0].state is QueueState.PREEMPTED and not low.packet.done
        scene.device.write("command", op=3, kernel=slot)
        scene.finish()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_a_barrier_or_waits_for_one_of_its_signals(backend):
    with Scene(backend, 2) as scene:
        slow, fast = scene.put(0, rounds=20), scene.put(1, rounds=1)
        either = scene.queues[2].barrier([slow.packet, fast.packet], any_of=True)
        alone = scene.queues[2].barrier([], any_of=True)
        after = scene.put(2, rounds=1)
        scene.until(lambda: after.packet.done)
        assert either.done and alone.done and fast.packet.done and not slow.packet.done
        scene.finish()


def test_barriers_that_wait_keep_no_lower_priority_from_its_turn(backend):
    """However long it takes to look at their signals."""
    with Scene(backend, 2) as scene:
        scene.queues[0].stop()
        first = [scene.put(0, rounds=1) for _ in range(2)]
        barriers = [queue.barrier([first[-1].packet] * 5) for queue in scene.queues[1:] for _ in range(2)]
        scene.device.advance(1000)
        scene.queues[0].enable()
        scene.finish()
        assert all(barrier.done for barrier in barriers)


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_a_word_in_advance_makes_the_preempt_save_less(backend):
    """A checkpoint packet, and then the kernel: what was not written in between is not saved again."""
    saved = []
    for announced in (False, True):
        with Scene(backend, 2, mechanism="occupied", incremental=True) as scene:
            scene.put(0, rounds=12)
            scene.device.advance(1500)
            if announced:
                word = scene.queues[2].checkpoint_others()
                scene.until(lambda word=word: word.done)
                scene.until(lambda: scene.device.read("save_tbs") > 0)
                scene.device.advance(1000)
                assert scene.queues[0].state is QueueState.RUNNING
            scene.put(2)
            scene.until(lambda: scene.queues[0].state is QueueState.PREEMPTED)
            saved.append(scene.device.read("save_data_bytes") / scene.device.read("save_tbs"))
            scene.finish()
    assert 0 < saved[1] < saved[0]


def away(scene):
    """Bring a kernel to where it has no slot."""
    low = scene.put(0, rounds=6)
    scene.device.advance(1500)
    high = scene.put(2, rounds=8)
    scene.until(lambda: scene.away(0))
    return low, high


def saved(scene):
    """Bring a kernel to where it is preempted and has its slot."""
    low = scene.put(0, rounds=6)
    scene.device.advance(1500)
    high = scene.put(2, rounds=8)
    scene.until(lambda: scene.queues[0].state is QueueState.PREEMPTED)
    return low, high


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]), indirect=True)
def test_a_kernel_that_is_away_waits_while_its_queue_is_stopped(backend):
    with Scene(backend, 1) as scene:
        low, high = away(scene)
        assert scene.queues[0].stop() == 1  # it counts as started
        scene.until(lambda: high.packet.done)
        scene.device.advance(3000)
        assert scene.queues[0].state is QueueState.PREEMPTED and not low.packet.done
        with pytest.raises(DriverError, match="queue 0 is stopped and will not go on; enable it first"):
            scene.queues[0].wait()
        scene.queues[0].enable()
        scene.finish()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]), indirect=True)
def test_a_kernel_that_is_away_can_be_dropped(backend):
    with Scene(backend, 1) as scene:
        low, high = away(scene)
        scene.queues[0].end()
        assert scene.queues[0].state is QueueState.STOPPED and scene.queues[0].completed == 1
        assert low.packet.done, "as that of a kernel that is killed"
        scene.work.remove(low)
        assert scene.device.read("queue[2].read_index") == 0, "the other is not disturbed"
        scene.until(lambda: high.packet.done)


@pytest.mark.parametrize("what", quick(["packet", "object", "context"], ["packet"]))
def test_memory_that_fails_when_it_comes_back(what):
    """The queue says so, and the kernel comes back when it is enabled again."""
    with Scene("rtl", 1) as scene:
        low, high = away(scene)
        queue = scene.queues[0]
        place = {"packet": queue.ring.base, "object": queue._objects.of(scene.kernel).address,
                 "context": queue._contexts.address}[what]
        scene.device.transport.add_error_range(ErrorRange(place, place + 64))
        scene.until(lambda: high.packet.done)
        scene.until(lambda: queue.state is QueueState.FAILED)
        with pytest.raises(DriverError, match="cannot be read" if what == "context" else "memory answered with"):
            queue.wait()
        scene.put(1, rounds=1).packet.wait(max_cycles=LIMIT)  # others go on
        scene.device.transport.clear_error_ranges()
        queue.enable()
        scene.finish()


@pytest.mark.full
def test_arguments_that_memory_does_not_give_when_it_comes_back():
    """The SMs read them where the packet says: a fault of the kernel there. The packet completes, the queue goes on."""
    with Scene("rtl", 1) as scene:
        low, high = away(scene)
        queue, place = scene.queues[0], low.packet.held[1].address
        scene.device.transport.add_error_range(ErrorRange(place, place + 64))
        assert not scene.device.read("fault_count")
        scene.until(lambda: high.packet.done)
        scene.put(1, rounds=1).packet.wait(max_cycles=LIMIT)  # others go on
        queue.wait(max_cycles=LIMIT)
        assert low.packet.done and scene.device.read("fault_count")
        assert Fault(scene.device.fields("fault_kind")["kind"]) is Fault.BUS_ERROR
        assert place <= scene.device.read("fault_address") < place + 64
        with pytest.raises(AssertionError):
            low.check()
        scene.work.remove(low)
        scene.device.transport.clear_error_ranges()
        scene.put(0, rounds=1)
        scene.finish()


@pytest.mark.full
def test_a_context_that_was_written_over_meanwhile(backend):
    with Scene(backend, 1) as scene:
        low, high = away(scene)
        queue, memory = scene.queues[0], scene.device.transport
        kept = memory.read_memory(queue._contexts.address, queue._contexts.size)
        memory.write_memory(queue._contexts.address, bytes(queue._contexts.size))
        scene.until(lambda: high.packet.done)
        with pytest.raises(DriverError, match="what memory holds of it cannot be read"):
            queue.wait(max_cycles=LIMIT)
        assert not low.packet.done
        memory.write_memory(queue._contexts.address, kept)
        queue.enable()
        scene.finish()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]), indirect=True)
@pytest.mark.parametrize("slots", quick([1, 2], [1]))
def test_a_stream_of_which_a_bit_was_flipped_meanwhile(backend, slots):
    """The entries are right, so with one slot the kernel is adopted; then it cannot be resumed, which the queue says.

    It keeps nobody off meanwhile, and comes back once the bit is right and the queue goes on."""
    with Scene(backend, slots) as scene:
        low, high = away(scene) if slots == 1 else saved(scene)
        queue, g, memory = scene.queues[0], scene.device.geometry, scene.device.transport
        first, area = (scene.device.read(f"queue[0].{name}") for name in ("ccb_base", "area_bytes"))
        at = next(at for at in (area_address(g, first, area, k) + 8 for k in range(g.context_entries))
                  if any(memory.read_memory(at, 1)))
        right = memory.read_memory(at, 1)
        memory.write_memory(at, bytes([right[0] ^ 4]))
        scene.until(lambda: high.packet.done)
        with pytest.raises(DriverError, match="what memory holds of it cannot be read"):
            queue.wait(max_cycles=LIMIT)
        assert not low.packet.done and queue.state is QueueState.FAILED
        if slots == 2:
            scene.put(1, rounds=1).packet.wait(max_cycles=LIMIT)
        queue.enable()
        with pytest.raises(DriverError, match="what memory holds of it cannot be read"):
            queue.wait(max_cycles=LIMIT)
        memory.write_memory(at, right)
        queue.enable()
        scene.finish()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]), indirect=True)
def test_a_packet_that_is_spoiled_while_it_waits_for_a_slot_keeps_nobody_off(backend):
    with Scene(backend, 1) as scene:
        low = scene.put(0, rounds=12)
        scene.device.advance(1500)
        high = scene.put(2)
        queue, memory = scene.queues[2], scene.device.transport
        scene.until(lambda: scene.device.fields("kernel[3].state")["state"] == KernelState.PREEMPTING
                    or scene.queues[0].state is QueueState.PREEMPTED)
        kept = memory.read_memory(queue.ring.base, 64)
        memory.write_memory(queue.ring.base, (77).to_bytes(4, "little"))
        scene.until(lambda: low.packet.done)
        assert queue.state is QueueState.FAILED and not high.packet.done
        memory.write_memory(queue.ring.base, kept)
        queue.enable()
        scene.finish()


@pytest.mark.parametrize("slots", quick([1, 2], [1]))
def test_a_queue_that_is_stopped_holds_nobody_up(backend, slots):
    """Its kernel runs to its end, also if one of a higher priority waits for its slot."""
    with Scene(backend, slots) as scene:
        low = scene.put(0, rounds=4)
        scene.device.advance(1000)
        high = scene.put(2)
        scene.until(lambda: scene.queues[0].state is QueueState.PREEMPTED or high.packet.done)
        scene.queues[0].stop()
        scene.until(lambda: high.packet.done)
        scene.queues[0].enable()
        scene.finish()
        assert low.packet.done


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]), indirect=True)
def test_a_packet_that_was_written_over_meanwhile(backend):
    with Scene(backend, 1) as scene:
        low, high = away(scene)
        queue, memory = scene.queues[0], scene.device.transport
        kept = memory.read_memory(queue.ring.base, 64)
        memory.write_memory(queue.ring.base, int(PacketType.BARRIER_AND).to_bytes(4, "little"))
        scene.until(lambda: high.packet.done)
        with pytest.raises(DriverError, match="its packet is none that a queue takes"):
            queue.wait(max_cycles=LIMIT)
        memory.write_memory(queue.ring.base, kept)
        queue.enable()
        scene.finish()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("first", quick(range(0, 6000, 300), (2100,)))
def test_a_queue_stopped_in_any_cycle_while_it_is_preempted(backend, first):
    """Nothing is lost or runs twice: stopped while its kernel is saved, loses its slot, comes back, is resumed."""
    with Scene(backend, 1) as scene:
        low = scene.put(0, rounds=3)
        behind = scene.put(0, rounds=1)
        scene.device.advance(1200)
        scene.put(2, rounds=1)
        for unstarted in stopped_at(scene.device, scene.queues[0], range(first, first + 300, 60)):
            for _ in range(2000):
                scene.device.advance(50)
                if scene.queues[0].state is QueueState.STOPPED or scene.away(0):
                    break
            scene.device.advance(2500)
            still = scene.away(0)
            assert scene.queues[0].completed == unstarted - still
            assert [low.packet.done, behind.packet.done] == [unstarted > still, unstarted > 1]
            scene.queues[0].enable()
            scene.finish()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", quick(range(60), range(1)))
def test_random_queues(backend, seed):
    """Packets of every kind in queues of any priorities that are stopped and enabled: all results right."""
    rng = random.Random(seed)
    how = rng.choice(HOW)
    with Scene(backend, rng.choice((1, 2)), **how) as scene:
        for number in range(len(scene.queues)):
            scene.device.write(f"queue[{number}].control", enable=1, priority=rng.randrange(4))
        barriers = []
        for _ in range(14):
            number = rng.randrange(3)
            queue = scene.queues[number]
            match rng.randrange(8):
                case 0:
                    queue.stop()
                    scene.device.advance(rng.randrange(1000))
                    queue.enable()
                case 1:
                    done = [work.packet for work in rng.sample(scene.work, min(len(scene.work), 2))]
                    barriers.append(queue.barrier(done, any_of=rng.random() < 0.5))
                case 2:
                    queue.checkpoint_others()
                case 3:
                    slot = rng.choice((2, 3))
                    if scene.device.fields(f"kernel[{slot}].state")["state"] == KernelState.PREEMPTED:
                        scene.device.write("command", op=3, kernel=slot, scramble=int(how.get("scramble", False)))
                case _:
                    scene.put(number, rounds=rng.choice((1, 2, 4)))
            scene.device.advance(rng.choice((5, 200, 1500)))
        scene.finish()
        assert all(barrier.done for barrier in barriers)
