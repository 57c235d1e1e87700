"""Queues with several kernels in flight, on both machines: how many, in which order, where each is saved, and what is
left of them when the queue is stopped, ended or reset."""

import random
from functools import partial

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.packets import PacketType, QueueState
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError
from support.programs.chain import THREADS, Chain
from support.selection import quick
from support.sim.queue_stops import stopped_at
from support.sim.queues import ADD, DEVICE, HOW, LIMIT, Scene

FIVE = (30, False), (2, False), (2, False), (8, True), (1, False)
"""Packets of which two are in flight: rounds, and whether the barrier bit is set."""
STOPS = 2760
"""Cycles after which all of them have been begun, on the RTL: in each of them their queue is stopped."""


@pytest.fixture(params=["golden", "rtl"])
def backend(request):
    return request.param


class Line:
    """A queue of kernels that count, each in a word of its own, and may use `slots` kernel slots."""

    def __init__(self, backend, capacity, slots=4, sms=2):
        self.device = open_device(backend, DEVICE.replace(sms=sms), memory_bytes=1 << 20)
        self.kernel = self.device.load(compile_ptx(ADD).values())["add"]
        self.counters = self.device.zeros(64, np.uint32)
        self.queue = self.device.queue([self.kernel], 16, capacity=capacity)
        self.queue.wait = partial(self.queue.wait, max_cycles=LIMIT)
        self.device.write("queue_slots", (1 << slots) - 1)
        self.packets = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def put(self, rounds=20, barrier=False):
        address = self.counters.address + 4 * len(self.packets)
        self.packets.append(self.queue.launch(self.kernel, 2, 16, [address, rounds], barrier=barrier))
        return self.packets[-1]

    def counted(self):
        return self.counters.get()[:len(self.packets)].tolist()

    def most_at_once(self):
        """Return how many kernels were in flight at the same time, as their signals say."""
        times = [(packet.start_cycle, packet.end_cycle) for packet in self.packets]
        return max(sum(start <= at < end for start, end in times) for at, _ in times)


@pytest.mark.parametrize(("capacity", "slots"), quick([(1, 4), (2, 4), (3, 4), (4, 4), (4, 2)], [(4, 2)]))
def test_as_many_are_in_flight_as_may_be(backend, capacity, slots):
    """And they are begun in order."""
    with Line(backend, capacity, slots) as line:
        for _ in range(6):
            line.put(rounds=200)
        seen = set()
        while not all(packet.done for packet in line.packets):
            flights = line.queue.in_flight()
            seen.add(len(flights))
            assert len({flight.slot for flight in flights}) == len({flight.place for flight in flights}) == len(flights)
            assert all(flight.place < capacity for flight in flights)
            line.device.advance(50)
        assert max(seen) == line.most_at_once() == min(capacity, slots)
        starts = [packet.start_cycle for packet in line.packets]
        assert starts == sorted(starts) and line.counted() == [32] * 6 and line.queue.completed == 6


def test_they_complete_in_any_order(backend):
    """The ring is written again only behind the oldest."""
    with Line(backend, 2) as line:
        slow, fast, last = line.put(rounds=600), line.put(rounds=5), line.put(rounds=5)
        while not last.done:
            assert line.queue.completed == 0
            line.device.advance(20)
        assert fast.done and not slow.done and line.device.read("queue[0].unstarted") == 3
        line.queue.wait()
        assert line.queue.completed == 3 and line.counted() == [32] * 3


def test_the_barrier_bit_waits_for_all_before(backend):
    with Line(backend, 4) as line:
        before = [line.put(rounds=rounds) for rounds in (100, 300, 10)]
        bound, after = line.put(barrier=True), line.put()
        line.queue.wait()
        assert bound.start_cycle >= max(packet.end_cycle for packet in before)
        assert before[0].end_cycle > before[2].start_cycle and after.start_cycle < bound.end_cycle
        assert line.counted() == [32] * 5


@pytest.mark.parametrize("bit", [False, True])
def test_a_barrier_waits_for_what_is_before_it_if_it_says_so(backend, bit):
    with Line(backend, 4) as line:
        slow = line.put(rounds=500)
        barrier = line.queue.barrier([], barrier=bit)
        while not barrier.done:
            line.device.advance(20)
        assert slow.done == bit
        line.queue.wait()


def test_a_packet_that_is_none_leaves_the_others_in_flight(backend):
    with Line(backend, 3) as line:
        first = line.put(rounds=400)
        line.put()
        place = line.queue.ring.base + 64
        line.device.transport.write_memory(place, int(PacketType.AGENT).to_bytes(4, "little"))
        with pytest.raises(DriverError, match=r"queue 0 has stopped at packet 1 \(add\): its packet is none"):
            line.queue.wait()
        while not first.done:
            line.device.advance(50)
        assert line.queue.state is QueueState.FAILED and line.counted() == [32, 0]
        line.device.transport.write_memory(place, int(PacketType.DISPATCH | 3 << 16).to_bytes(4, "little"))
        line.queue.enable()
        line.queue.wait()
        assert line.counted() == [32, 32]


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("first", quick(range(0, STOPS, 20), (240,)))
def test_stopped_in_any_cycle_it_says_where_it_goes_on(backend, first):
    """Those before `unstarted` complete, in whatever order, the others have not begun."""
    with Line(backend, 2) as line:
        for rounds, bound in FIVE:
            line.put(rounds, bound)
        for unstarted in stopped_at(line.device, line.queue, range(first, first + 20)):
            for _ in range(200):
                line.device.advance(50)
                if line.queue.state is QueueState.STOPPED:
                    break
            assert line.queue.state is QueueState.STOPPED and line.queue.completed == unstarted
            assert [packet.done for packet in line.packets] == [k < unstarted for k in range(5)]
            assert line.counted() == [32 * (k < unstarted) for k in range(5)]
            line.queue.enable()
            line.queue.wait()
            assert line.counted() == [32] * 5


def test_it_was_stopped_before_the_first_packet_and_after_the_last(backend):
    with Line(backend, 2) as line:
        for rounds, bound in FIVE:
            line.put(rounds, bound)
        assert [*stopped_at(line.device, line.queue, (0, STOPS - 1))] == [0, 5]


def test_ended_with_all_in_flight(backend):
    with Line(backend, 4, 3) as line:
        for _ in range(5):
            line.put(rounds=5000)
        while len(line.queue.in_flight()) < 3:
            line.device.advance(20)
        line.queue.end()
        assert line.queue.state is QueueState.STOPPED and not line.queue.in_flight()
        assert [packet.done for packet in line.packets] == [True] * 3 + [False] * 2 and line.counted() == [0] * 5


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("slots", quick([1, 2, 3], [1]))
@pytest.mark.parametrize("how", quick(HOW, [HOW[2]]), ids=str)
def test_each_is_saved_where_no_other_is(backend, how, slots):
    """Kernels of one queue are preempted together, lose their slots, and come back."""
    with Scene(backend, slots, capacity=3, **how) as scene:
        low = [scene.put(0, rounds=6) for _ in range(4)]
        scene.until(lambda: len(scene.queues[0].in_flight()) == min(slots, 3))
        scene.device.advance(800)
        high = [scene.put(2, rounds=2) for _ in range(2)]
        scene.until(lambda: all(work.packet.done for work in high))
        assert not any(work.packet.done for work in low)
        scene.finish()


def test_of_two_that_are_away_one_is_dropped(backend):
    """The other comes back, though their queue is one."""
    with Scene(backend, 2, capacity=2) as scene:
        low = [scene.put(0, rounds=6) for _ in range(2)]
        scene.until(lambda: len(scene.queues[0].in_flight()) == 2)
        scene.device.advance(1000)
        high = [scene.put(2, rounds=8) for _ in range(2)]
        scene.until(lambda: [flight.away for flight in scene.queues[0].in_flight()] == [True, True])
        assert scene.queues[0].drop(scene.queues[0].find(1))
        assert low[1].packet.done and not low[0].packet.done and not any(work.packet.done for work in high)
        scene.work.remove(low[1])
        scene.finish()


def test_the_capacity_is_changed_meanwhile(backend):
    """By the driver, or whoever writes the register: what is in flight stays, and one that is being begun is begun;
    then more are begun only when there is room."""
    with Line(backend, 4) as line:
        for _ in range(9):
            line.put(rounds=100)
        for capacity in (4, 1, 7, 0, 2):
            if 1 <= capacity <= 4:
                line.queue.capacity = capacity
                assert line.queue.capacity == capacity
            else:
                line.device.write("queue[0].capacity", capacity)
            before = line.queue.in_flight()
            line.device.advance(900 if backend == "rtl" else 3000)
            most = max(1, min(capacity, 4))
            assert len(line.queue.in_flight()) <= max(most, len(before) + 1)
        line.queue.capacity = 4
        line.queue.wait()
        assert line.counted() == [32] * 9


def test_a_queue_has_room_for_as_many_as_it_was_made_for():
    with Line("golden", 2) as line:
        for capacity in (0, 3, 1.5, "2"):
            with pytest.raises(DriverError, match="capacity must be"):
                line.queue.capacity = capacity
        assert line.queue.capacity == 2
        line.queue.end()
        with pytest.raises(DriverError, match="has been ended"):
            line.queue.capacity = 1


@pytest.mark.parametrize("withdraw", quick([False, True], [True]))
@pytest.mark.parametrize("capacity", quick([2, 4], [4]))
@pytest.mark.parametrize("part", quick([(k,) for k in range(6)], [(2,)]))
def test_a_reset_takes_off_all_that_is_in_flight(part, capacity, withdraw):
    """At any cycle; what was not whole runs once more, and strangers among the packets run once."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        chain = Chain(device, ("turn", "alone", "turn"), 3)
        add, counters = chain.module["add"], device.zeros(4, np.uint32)
        queue = device.queue([*chain.module.values()], THREADS, packets=16, capacity=capacity)
        device.write("queue_slots", 0b1111)
        device.launcher.slots.queue_slots = frozenset(range(4))
        killed = set()
        for at in range(100 * part, 3600, 600):
            chain.clear()
            counters.set(np.zeros(4, np.uint32))
            chain.pieces.clear()
            for k in range(3):
                queue.launch(add, 1, 8, [counters.address + 4 * k])
                chain.put(k, queue, barrier=True)
            queue.launch(add, 1, 8, [counters.address + 12])
            device.advance(at)
            report = chain.work.reset(withdraw=withdraw, max_cycles=LIMIT)
            assert len(report.killed) <= capacity
            killed.add(len(report.killed))
            queue.wait(max_cycles=LIMIT)
            assert counters.get().tolist() == [8] * 4, "strangers run once"
            chain.work.relaunch()
            queue.wait(max_cycles=LIMIT)
            assert all(chain.right(k) for k in range(3))
        assert 0 in killed and max(killed) >= 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("backend", "sms", "seed"), quick(
    [(backend, sms, seed) for backend in ("golden", "rtl") for sms in (1, 2) for seed in range(40)],
    [("golden", 2, 0), ("rtl", 2, 0)]))
def test_random_queues_of_any_capacity(backend, sms, seed):
    """Packets of every kind, barrier bits, stops, priorities, other capacities: all results right."""
    rng = random.Random(1000 + seed)
    how = rng.choice(HOW)
    with Scene(backend, rng.choice((1, 2, 3, 4)), capacity=4, sms=sms, **how) as scene:
        for number in range(len(scene.queues)):
            scene.device.write(f"queue[{number}].control", enable=1, priority=rng.randrange(3))
        barriers = []
        for _ in range(16):
            number = rng.randrange(3)
            queue = scene.queues[number]
            match rng.randrange(9):
                case 0:
                    queue.stop()
                    scene.device.advance(rng.randrange(1000))
                    queue.enable()
                case 1:
                    done = [work.packet for work in rng.sample(scene.work, min(len(scene.work), 2))]
                    barriers.append(queue.barrier(done, any_of=rng.random() < 0.5, barrier=rng.random() < 0.5))
                case 2:
                    queue.checkpoint_others()
                case 3:
                    scene.device.write(f"queue[{number}].capacity", rng.randrange(5))
                case _:
                    scene.put(number, rounds=rng.choice((1, 2, 4)), barrier=rng.random() < 0.2)
            scene.device.advance(rng.choice((5, 200, 1500)))
        scene.finish()
        assert all(barrier.done for barrier in barriers)


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_one_sm_has_queues_too(backend):
    """And launches beside them."""
    with Line(backend, 2, 2, sms=1) as line:
        for _ in range(4):
            line.put(rounds=100)
        own = line.device.zeros(1, np.uint32)
        line.device.write("queue_slots", 0b1100)
        line.device.wait(line.device.launch(line.kernel, (5, 1, 1), (16, 1, 1), [own, 10]), LIMIT)
        line.queue.wait()
        assert line.counted() == [32] * 4 and own.get()[0] == 80 and line.most_at_once() == 2


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_capacity_that_the_machine_has_not(most):
    with open_device("golden", DEVICE.replace(queue_capacity=most), memory_bytes=1 << 20) as device:
        kernel = device.load(compile_ptx(ADD).values())["add"]
        for capacity in (0, most + 1):
            with pytest.raises(DriverError, match=f"capacity must be 1 to {most}, .* not {capacity}"):
                device.queue([kernel], 16, capacity=capacity)
