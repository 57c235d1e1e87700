"""What a hardware queue does with packets and kernel objects that are none, and with memory that fails."""

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.packets import PACKET_BYTES, PacketType, QueueState
from caesura.sim.memory import ErrorRange
from caesura.software.driver import DriverError
from support.selection import quick


def header(kind):
    return int(kind | 3 << 16).to_bytes(4, "little")


def spoil(work, offset, value, size=4):
    """Write over the packet that comes next."""
    place = work.queue.ring.base + PACKET_BYTES * (work.number - 1)
    work.device.transport.write_memory(place + offset, int(value).to_bytes(size, "little"))


@pytest.mark.parametrize(("offset", "value"), quick(
    [(0, PacketType.VENDOR), (0, PacketType.AGENT), (0, PacketType.AGENT | 1 << 16), (0, 77), (4, 0), (4, 16),
     (4, 1025 | 1 << 16), (8, 0), (8, 70), (12, 0), (16, 0), (20, 0), (16, 0x1_0001), (20, 0x1_0000), (24, 4),
     (24, 1 << 16), (28, 1 << 20), (28, 6), (40, 2)],
    [(0, PacketType.VENDOR), (4, 16), (8, 70), (16, 0x1_0001), (24, 4)]))
def test_what_is_no_packet_stops_the_queue_and_no_other(queues, offset, value):
    work = queues(2)
    work.put()
    spoil(work, offset, value)
    after = work.put()
    why = r"queue 0 has stopped at packet 0 \(add\): its packet is none that a queue takes"
    with pytest.raises(DriverError, match=why):
        work.queue.wait()
    work.put(work.queues[1]).wait()
    assert work.queue.state is QueueState.FAILED and work.counted() == [0, 0, 48] and not after.done
    work.device.transport.write_memory(work.queue.ring.base, header(PacketType.BARRIER_AND) + bytes(44))
    work.queue.enable()
    work.queue.wait()
    assert work.counted() == [0, 48, 48] and after.done


@pytest.mark.parametrize("offset, value", [(0, 0), (4, 64), (8, 1 << 25), (12, 128), (20, 1 << 17)])
def test_a_kernel_object_that_is_none(queues, offset, value):
    """Another magic; code that is not aligned; more words, registers, constants than a kernel can have."""
    work = queues()
    work.put()
    place = work.queue._objects.of(work.kernel).address
    kept = work.device.transport.read_memory(place + offset, 4)
    work.device.transport.write_memory(place + offset, value.to_bytes(4, "little"))
    with pytest.raises(DriverError, match="its kernel object is none"):
        work.queue.wait()
    work.device.transport.write_memory(place + offset, kept)
    spoil(work, 32, place + 4)
    work.queue.enable()
    with pytest.raises(DriverError, match="its kernel object is none"):
        work.queue.wait()
    spoil(work, 32, place)
    work.queue.enable()
    work.queue.wait()
    assert work.counted() == [48]


def test_signals_that_are_not_aligned(queues):
    """Of a kernel, which would be written across a page, and of a barrier."""
    work = queues(2)
    packet = work.put()
    barrier = work.queues[1].barrier([packet])
    memory = work.device.transport
    for queue, offset, signal in ((work.queue, 56, packet.signal.address), (work.queues[1], 8, packet.signal.address)):
        memory.write_memory(queue.ring.base + offset, (signal + 8).to_bytes(4, "little"))
        with pytest.raises(DriverError, match="its packet is none that a queue takes"):
            queue.wait()
        memory.write_memory(queue.ring.base + offset, signal.to_bytes(4, "little"))
    assert work.counted() == [0] and not barrier.done
    for queue in work.queues:
        queue.enable()
        queue.wait()
    assert work.counted() == [48] and packet.done and barrier.done


def test_a_barrier_is_passed_while_others_begin_one_short_kernel_after_the_other(queues):
    """Handling their packets takes longer than the kernels: there is never nothing to do."""
    work = queues(3, packets=32, priorities=(0, 0, 5))
    first = work.put(work.queues[0], blocks=1, rounds=1)
    others = [work.put(queue, blocks=1, rounds=1) for _ in range(20) for queue in work.queues[:2]]
    barrier = work.queues[2].barrier([first])
    while not barrier.done:
        work.device.advance(20)
    assert sum(packet.done for packet in others) < 8
    for queue in work.queues:
        queue.wait()


def test_a_kernel_that_no_sm_takes(queues):
    work = queues()
    work.put()
    spoil(work, 28, 1 << 19)  # shared memory
    with pytest.raises(DriverError, match="no SM takes the kernel"):
        work.queue.wait()
    spoil(work, 28, 0)
    work.queue.enable()
    work.queue.wait()
    assert work.counted() == [48]


@pytest.mark.parametrize("what", ["packet", "object"])
def test_memory_that_fails(queues, what):
    work = queues()
    if work.device.transport.name == "golden":
        pytest.skip("the golden model's memory never fails")
    work.put()
    place = {"packet": work.queue.ring.base, "object": work.queue._objects.of(work.kernel).address}[what]
    work.device.transport.add_error_range(ErrorRange(place, place + 64))
    with pytest.raises(DriverError, match="the memory answered with an error"):
        work.queue.wait()
    work.device.transport.clear_error_ranges()
    work.queue.enable()
    work.queue.wait()
    assert work.counted() == [48]


def test_arguments_that_memory_does_not_give_are_a_fault_of_the_kernel(queues):
    """The SMs read them where the packet says; the packet completes, as of other faults."""
    work = queues()
    if work.device.transport.name == "golden":
        pytest.skip("the golden model's memory never fails")
    packet = work.put()
    place = packet.held[1].address
    work.device.transport.add_error_range(ErrorRange(place, place + 64))
    work.queue.wait()
    assert packet.done and work.counted() == [0]
    assert Fault(work.queue.host.fields("fault_kind")["kind"]) is Fault.BUS_ERROR
    assert place <= work.queue.host.read("fault_address") < place + 64
    work.device.transport.clear_error_ranges()
    work.put()
    work.queue.wait()
    assert work.counted() == [0, 48]


def test_a_packet_that_is_written_late(queues):
    work = queues(2)
    packet = work.put()
    spoil(work, 0, PacketType.INVALID)
    work.put(work.queues[1]).wait()
    work.device.advance(500)
    assert work.queue.state is QueueState.WAITING and not packet.done
    work.device.transport.write_memory(work.queue.ring.base, header(PacketType.DISPATCH))
    packet.wait()
    assert work.counted() == [48, 48]
