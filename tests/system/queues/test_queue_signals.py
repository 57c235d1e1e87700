"""Completion signals that memory refuses, for a moment or for good: no completion is lost, and the queue says so."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.packets import QueueError, QueueState
from caesura.sim.memory import ErrorRange
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CycleLimit, DriverError
from support.selection import quick
from support.sim.queues import ADD, DEVICE

MEMORY = 1 << 20
LIMIT = 60_000
BEYOND = MEMORY + 4096
"""An address where there is no memory."""


class Signals:
    """Two queues of a device, and kernels that count."""

    def __init__(self, backend, capacity=1):
        self.device = open_device(backend, DEVICE, memory_bytes=MEMORY)
        self.kernel = self.device.load(compile_ptx(ADD).values())["add"]
        self.counters = self.device.zeros(8, np.uint32)
        self.queues = [self.device.queue([self.kernel], 16, capacity=capacity) for _ in range(2)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def put(self, queue, number):
        return self.queues[queue].launch(self.kernel, 3, 16, [self.counters.address + 4 * number, 3])

    def status(self, queue):
        return self.device.fields(f"queue[{self.queues[queue].number}].status")

    def until(self, done):
        for _ in range(LIMIT // 20):
            if done():
                return
            self.device.advance(20)
        raise CycleLimit("it did not come to that")

    def refused(self, queue):
        return self.status(queue)["error"] == QueueError.BAD_SIGNAL

    def spoil(self, queue, packet, address, offset=56):
        """Have the packet at an index complete at another address, or name it elsewhere."""
        place = self.queues[queue].ring.place(packet.index) + offset
        self.device.transport.write_memory(place, address.to_bytes(4, "little"))

    def value(self, packet):
        return int.from_bytes(self.device.transport.read_memory(packet.signal.address + 8, 8), "little")

    def set_value(self, packet, value):
        self.device.transport.write_memory(packet.signal.address + 8, value.to_bytes(8, "little"))

    def make_uncertain(self, packet):
        """Have memory fail for the value of a signal between its read and its write, and long after that."""
        machine, value = self.device.transport, packet.signal.address + 8
        start, steps = machine.snapshot(), 0
        while self.value(packet):
            machine.advance(4)
            steps += 1
            assert 4 * steps < LIMIT
        for step in range(steps, max(0, steps - 30), -1):
            machine.restore(start)
            machine.advance(4 * step)
            machine.add_error_range(ErrorRange(value, value + 8))
            machine.advance(1000)
            if self.status(0)["uncertain"]:
                return
            machine.clear_error_ranges()
        raise AssertionError("no completion has become uncertain")


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize(("reads", "writes"), [(True, True), (True, False), (False, True)])
def test_a_signal_that_memory_refuses_for_a_while_completes_once(reads, writes, barrier):
    """A barrier that waits for it waits that long; nothing behind it in its queue begins, the other queue goes on."""
    with Signals("rtl") as work:
        packet = work.queues[0].barrier([]) if barrier else work.put(0, 0)
        behind = work.put(0, 1)
        waits = work.queues[1].barrier([behind])
        place = packet.signal.address
        work.device.transport.write_memory(place + 8, (5).to_bytes(8, "little"))
        work.device.transport.add_error_range(ErrorRange(place, place + 64, reads=reads, writes=writes))
        work.until(lambda: work.refused(0))
        assert work.status(0) == {"state": QueueState.RUNNING, "error": QueueError.BAD_SIGNAL, "of": not barrier,
                                  "uncertain": 0}
        for _ in range(40):
            work.device.advance(50)
            assert work.refused(0) and work.counters.get()[1] == 0
        with pytest.raises(CycleLimit, match=r"memory answers with an error at the completion signal of packet 0"):
            work.queues[0].wait(max_cycles=100)
        work.device.transport.clear_error_ranges()
        work.queues[0].wait(behind, max_cycles=LIMIT)
        work.queues[1].wait(max_cycles=LIMIT)
        work.device.advance(1000)
        value = int.from_bytes(work.device.transport.read_memory(place + 8, 8), "little")
        assert value == 4 and waits.done and (barrier or 0 < packet.start_cycle < packet.end_cycle)
        assert work.counters.get()[:2].tolist() == [0 if barrier else 48, 48]
        assert not work.status(0)["error"]


@pytest.mark.parametrize("offset", [16, 32])
def test_errors_that_come_and_go_in_any_cycle_of_a_completion(offset):
    """Whatever they hit, the value is counted down once."""
    with Signals("rtl") as work:
        packets = []
        for number in range(6):
            packet = work.put(0, number)
            packets.append(packet)
            place = packet.signal.address
            work.device.transport.write_memory(place + 8, (3).to_bytes(8, "little"))
            work.until(lambda: work.status(0)["state"] == QueueState.RUNNING)
            for step in range(120):
                if work.queues[0].completed > number:
                    break
                work.device.advance(offset + 3 * number + step % 5)
                work.device.transport.add_error_range(ErrorRange(place, place + 64, reads=step % 3 != 1,
                                                                 writes=step % 3 != 2))
                work.device.advance(offset + 7 * number)
                work.device.transport.clear_error_ranges()
            work.until(lambda: not work.queues[0].in_flight())  # noqa: B023
            assert int.from_bytes(work.device.transport.read_memory(place + 8, 8), "little") == 2
            work.device.transport.write_memory(place + 8, bytes(8))
        work.queues[0].wait(max_cycles=LIMIT)
        assert work.counters.get()[:6].tolist() == [48] * 6


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_signal_where_there_is_no_memory_holds_up_its_queue_alone(backend, barrier):
    """It is named, takes no kernel slot, and goes when its queue is ended; the next queue in its place is as new."""
    with Signals(backend, capacity=2) as work:
        before = work.put(0, 0)
        packet = work.queues[0].barrier([]) if barrier else work.put(0, 1)
        work.device.write(f"queue[{work.queues[0].number}].system_end", 2 * MEMORY)
        work.spoil(0, packet, BEYOND)
        behind = work.put(0, 2)
        others = [work.put(1, 3 + k) for k in range(4)]
        for other in others:
            other.wait(max_cycles=LIMIT)
        before.wait(max_cycles=LIMIT)
        work.until(lambda: work.refused(0))
        assert work.counters.get()[2:7].tolist() == [0, 48, 48, 48, 48] and not behind.done
        with pytest.raises(CycleLimit, match=r"error at the completion signal of packet 1"):
            work.queues[0].wait(behind, max_cycles=2000)
        queue = work.queues[0]
        queue.end(max_cycles=LIMIT)
        work.queues[0] = work.device.queue([work.kernel], 16)
        assert work.queues[0].number == queue.number and not work.status(0)["error"]
        work.put(0, 7).wait(max_cycles=LIMIT)
        assert work.counters.get().tolist() == [48, 0 if barrier else 48, 0, 48, 48, 48, 48, 48]


@pytest.mark.parametrize("barrier", quick([False, True], [True]))
@pytest.mark.parametrize("how", ["counted", "not counted", "ended"])
def test_a_completion_of_which_memory_does_not_say_whether_it_was_counted_stops_its_queue(how, barrier):
    """The queue processor is free again, and names the packet. What the signal says when the queue goes on counts."""
    with Signals("rtl") as work:
        packet = work.queues[0].barrier([]) if barrier else work.put(0, 0)
        behind = work.put(0, 1)
        work.make_uncertain(packet)
        assert work.status(0) == {"state": QueueState.FAILED, "error": QueueError.UNCERTAIN, "of": not barrier,
                                  "uncertain": 16 if barrier else 1}
        work.put(1, 2).wait(max_cycles=LIMIT)
        work.device.transport.clear_error_ranges()
        work.device.advance(2000)
        assert work.status(0)["uncertain"] and work.value(packet) in (0, 1) and not work.counters.get()[1]
        work.set_value(packet, 1)
        with pytest.raises(DriverError, match=r"stopped at packet 0 \((add|barrier)\): .* does not say whether"):
            work.queues[0].wait(max_cycles=LIMIT)
        work.queues[0].stop()
        work.device.advance(2000)
        assert work.status(0)["uncertain"] and work.value(packet) == 1
        if how == "ended":
            work.queues[0].end(max_cycles=LIMIT)
            assert work.value(packet) == 1
            work.queues[0] = work.device.queue([work.kernel], 16)
            assert not work.status(0)["error"]
            work.put(0, 3).wait(max_cycles=LIMIT)
            return
        work.set_value(packet, how == "not counted")
        work.queues[0].enable()
        work.queues[0].wait(max_cycles=LIMIT)
        assert behind.done and work.value(packet) == 0 and not work.status(0)["error"]
        assert work.counters.get()[:3].tolist() == [0 if barrier else 48, 48, 48]


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_barrier_leaves_the_times_of_a_kernel_that_shares_its_signal(backend):
    with Signals(backend) as work:
        packet = work.put(0, 0)
        work.set_value(packet, 2)
        work.queues[0].stop()
        barrier = work.queues[0].barrier([])
        work.spoil(0, barrier, packet.signal.address)
        work.queues[0].enable()
        work.queues[0].wait(packet, max_cycles=LIMIT)
        work.until(lambda: work.device.read(f"queue[{work.queues[0].number}].read_index") == 2)
        assert 0 < packet.start_cycle < packet.end_cycle and work.value(packet) == 0


@pytest.mark.parametrize("lasts", [False, True])
def test_a_signal_that_a_barrier_waits_for_is_read_again_when_memory_refuses_it(lasts):
    with Signals("rtl") as work:
        work.queues[0].stop()
        first = work.put(0, 0)
        place = first.signal.address
        work.device.transport.add_error_range(ErrorRange(place, place + 64, writes=False))
        barrier = work.queues[1].barrier([first])
        work.device.advance(300)
        assert not work.status(1)["error"] and not barrier.done
        if lasts:
            work.until(lambda: work.status(1)["error"])
            assert work.status(1)["error"] == QueueError.BUS_ERROR and work.status(1)["state"] == QueueState.FAILED
        work.device.transport.clear_error_ranges()
        work.queues[0].enable()
        if lasts:
            with pytest.raises(DriverError, match=r"packet 0 \(barrier\): the memory answered with an error"):
                work.queues[1].wait(max_cycles=LIMIT)
            work.queues[1].enable()
        work.queues[1].wait(max_cycles=LIMIT)
        assert first.done and barrier.done


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_barrier_that_waits_where_there_is_no_memory_stops_its_queue_alone(backend):
    with Signals(backend) as work:
        work.device.write(f"queue[{work.queues[1].number}].system_end", 2 * MEMORY)
        work.queues[1].stop()
        barrier = work.queues[1].barrier([work.put(0, 0)])
        work.spoil(1, barrier, BEYOND, offset=8)
        work.queues[1].enable()
        with pytest.raises(DriverError, match=r"packet 0 \(barrier\): the memory answered with an error"):
            work.queues[1].wait(max_cycles=LIMIT)
        work.put(0, 1).wait(max_cycles=LIMIT)
        assert work.counters.get()[:2].tolist() == [48, 48] and not barrier.done
