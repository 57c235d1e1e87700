"""Hardware queues of a device, on both machines, through the Python API: packets in order, barriers, priorities, and
what happens to packets that are none, to memory that fails, and to a queue that is stopped in any cycle."""

from functools import partial

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.packets import PACKET_BYTES, PacketType, QueueState
from caesura.sim.memory import ErrorRange
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError, LaunchError, OutOfMemory
from support.programs.shared_counters import HEAD
from support.selection import quick
from support.sim.queue_stops import stopped_at
from support.sim.queues import ADD, DEVICE
from support.threads import together

LIMIT = 60_000
"""Cycles in which everything has completed."""
SHAPE = HEAD + """
.visible .entry shape(.param .u64 output)
{
    .reg .b32 %r<12>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, %ctaid.z;
    mov.u32 %r1, %nctaid.y;
    mov.u32 %r2, %ctaid.y;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.y;
    mov.u32 %r5, %tid.y;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    shl.b32 %r6, %r0, 8;
    add.u32 %r6, %r6, %r3;
    mul.wide.u32 %a1, %r0, 4;
    add.u64 %a1, %a0, %a1;
    red.global.add.u32 [%a1], %r6;
    ret;
}
"""


class Queues:
    """A device with kernels that count: `counter(k)` is what those of packet k have added to."""

    def __init__(self, backend, queues=1, packets=16, priorities=(0, 0, 0)):
        self.device = open_device(backend, DEVICE, memory_bytes=1 << 20)
        self.kernel = self.device.load(compile_ptx(ADD).values())["add"]
        self.counters = self.device.zeros(64, np.uint32)
        self.queues = [self.device.queue([self.kernel], 16, packets=packets, priority=priorities[k])
                       for k in range(queues)]
        for queue in self.queues:
            queue.wait = partial(queue.wait, max_cycles=LIMIT)
        self.queue, self.number = self.queues[0], 0

    def put(self, queue=None, blocks=3, rounds=3):
        """Put a kernel into a queue; each adds to a counter of its own, once a thread."""
        counter = self.device.array_at(self.counters.address, 64, np.uint32)
        address = counter.address + 4 * self.number
        self.number += 1
        return (queue or self.queue).launch(self.kernel, blocks, 16, [address, rounds])

    def counted(self):
        return self.counters.get()[:self.number].tolist()


STOPS = 1920
"""Cycles after which four packets have been begun, on the RTL: in each of them their queue is stopped."""


@pytest.fixture(params=["golden", "rtl"])
def queues(request):
    made = []

    def make(*arguments, **options):
        made.append(Queues(request.param, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.device.close()


def test_packets_are_carried_out_in_order_without_the_host(queues):
    work = queues()
    packets = [work.put(blocks=blocks) for blocks in (3, 1, 7)]
    assert [packet.done for packet in packets] == [False] * 3 and work.queue.state is QueueState.WAITING
    work.queue.wait()
    assert work.counted() == [48, 16, 112] and work.queue.completed == 3
    times = [time for packet in packets for time in (packet.start_cycle, packet.end_cycle)]
    assert times == sorted(times) and 0 < times[0] and times[-1] <= work.device.cycle


def test_a_ring_goes_round(queues):
    work = queues(packets=2)
    for _ in range(5):
        pair = [work.put(blocks=1), work.put(blocks=2)]
        with pytest.raises(LaunchError, match="all 2 packets of the queue are in use"):
            work.put()
        work.number -= 1
        work.queue.wait()
        assert all(packet.done for packet in pair)
    assert work.counted() == [16, 32] * 5


def test_more_queues_than_kernel_slots(queues):
    work = queues(3)
    packets = [work.put(queue, rounds=30) for _ in range(3) for queue in work.queues]
    for queue in work.queues:
        queue.wait()
    assert work.counted() == [48] * 9
    first = packets[:3]
    assert first[1].start_cycle < first[0].end_cycle, "two share the SMs"
    assert first[2].start_cycle >= min(first[0].end_cycle, first[1].end_cycle), "the third waits for a slot"
    assert max(each.start_cycle for each in first) < min(each.start_cycle for each in packets[3:]), "they take turns"


def test_the_highest_priority_goes_first(queues):
    work = queues(3, priorities=(0, 2, 9))
    work.device.write("queue_slots", 0b1000)
    packets = [work.put(queue, rounds=50) for queue in work.queues for _ in range(2)]
    work.device.advance(10)
    for queue in work.queues:
        queue.wait()
    order = sorted(range(6), key=lambda k: packets[k].start_cycle)
    assert order[0] in (0, 4) and order[1:][-3:] == [k for k in order if k < 4][-3:]
    assert [k for k in order if k >= 4] == [4, 5] and order.index(5) < order.index(2) < order.index(1)


def test_a_barrier_waits_for_packets_of_other_queues(queues):
    work = queues(3)
    first, second = work.put(work.queues[0], rounds=200), work.put(work.queues[1], rounds=100)
    barrier = work.queues[2].barrier([first, second])
    after = work.put(work.queues[2])
    nothing = work.queues[1].barrier([])
    for queue in work.queues:
        queue.wait()
    assert barrier.done and nothing.done and (barrier.start_cycle, barrier.end_cycle) == (0, 0)
    assert after.start_cycle >= max(first.end_cycle, second.end_cycle) and work.counted() == [48] * 3


def test_a_barrier_has_up_to_five_signals(queues):
    work = queues(2)
    packets = [work.put() for _ in range(6)]
    barrier = work.queues[1].barrier(packets[1:])
    work.queues[1].wait()
    assert barrier.done and all(packet.done for packet in packets)
    with pytest.raises(LaunchError, match="up to 5 packets, not 6"):
        work.queues[1].barrier(packets)


@pytest.mark.parametrize(("grid", "block"), [((2, 3, 2), (3, 2, 2)), ((5,), (1, 1, 7)), ((1, 1, 4), (2, 5))])
def test_grids_and_blocks_of_any_shape(queues, grid, block):
    work = queues()
    kernel = work.device.load(compile_ptx(SHAPE).values())["shape"]
    queue = work.device.queue([kernel], 16)
    blocks, threads = int(np.prod(grid)), int(np.prod(block))
    output = work.device.zeros(blocks, np.uint32)
    queue.launch(kernel, grid, block, [output]).wait()
    assert output.get().tolist() == [sum((b << 8) + t for t in range(threads)) for b in range(blocks)]


def test_a_grid_that_blocks_do_not_divide_is_rounded_up(queues):
    work = queues()
    packet = work.put(blocks=2)
    place = work.queue.ring.base
    work.device.transport.write_memory(place + 12, (33).to_bytes(4, "little"))  # threads of the grid
    packet.wait()
    assert work.counted() == [48]


def test_the_host_launches_beside_the_queues(queues):
    work = queues(2)
    packets = [work.put(queue, rounds=40) for queue in work.queues]
    own = work.device.zeros(1, np.uint32)
    launches = [work.device.launch(work.kernel, (5, 1, 1), (16, 1, 1), [own, 10]) for _ in range(2)]
    with pytest.raises(LaunchError, match="all 2 kernel slots are in use"):
        work.device.launch(work.kernel, (5, 1, 1), (16, 1, 1), [own, 10])
    for launch in launches:
        work.device.wait(launch)
    for packet in packets:
        packet.wait()
    assert own.get()[0] == 160 and work.counted() == [48, 48]


def test_a_kernel_of_a_queue_can_be_preempted(queues):
    work = queues()
    packet = work.put(blocks=9, rounds=100)
    work.device.advance(1000)
    slot = work.queue.in_flight()[0].slot
    for mechanism in Mechanism:
        work.device.write("command", op=Command.PREEMPT, kernel=slot, mechanism=mechanism)
        work.device.advance(1500)
        assert work.device.fields(f"kernel[{slot}].state") == {
            "state": KernelState.PREEMPTED, "error": 0, "recorded": 1}
        assert not packet.done and work.queue.state is QueueState.PREEMPTED
        work.device.write("command", op=Command.RESUME, kernel=slot)
        work.device.advance(700)
    packet.wait()
    assert work.counted() == [144]


def test_a_packet_is_no_launch(queues):
    """What takes launches says so."""
    work = queues()
    packet = work.put()
    for command in (work.device.preempt, work.device.resume, work.device.kill, work.device.release_slot):
        with pytest.raises(DriverError, match="launch must be a Launch, not Queued"):
            command(packet)
    packet.wait()


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


@pytest.mark.parametrize("queues", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("first", quick(range(0, STOPS, 20), (300,)))
def test_a_queue_stopped_in_any_cycle_says_where_it_goes_on(queues, first):
    """No packet is lost or runs twice: those before `unstarted` complete, the others have not begun."""
    work = queues()
    packets, expected = four_packets(work), [32, 16, 32]
    for unstarted in stopped_at(work.device, work.queue, range(first, first + 20)):
        for _ in range(100):
            work.device.advance(50)
            if work.queue.state is QueueState.STOPPED:
                break
        assert work.queue.state is QueueState.STOPPED and work.queue.completed == unstarted
        assert [packet.done for packet in packets] == [k < unstarted for k in range(4)]
        done = [k for k, index in enumerate((0, 1, 3)) if index < unstarted]
        assert work.counted() == [expected[k] if k in done else 0 for k in range(3)]
        work.device.advance(300)
        assert work.queue.completed == unstarted, "it stays so"
        work.queue.enable()
        work.queue.wait()
        assert work.counted() == expected and work.queue.completed == 4


def four_packets(work):
    return [work.put(blocks=2, rounds=1), work.put(blocks=1, rounds=1), work.queue.barrier([]), work.put(blocks=2)]


def test_it_was_stopped_before_the_first_packet_and_after_the_last(queues):
    work = queues()
    four_packets(work)
    assert [*stopped_at(work.device, work.queue, (0, STOPS - 1))] == [0, 4]


@pytest.mark.parametrize("first", quick(range(0, 1260, 60), (120,)))
def test_a_packet_is_replaced_while_its_queue_is_stopped_for_a_moment(queues, first):
    """What was fetched before does not run, however soon the queue goes on."""
    work = queues()
    packets, begun = [work.put(blocks=2, rounds=1), work.put(blocks=1, rounds=1)], set()
    for unstarted in stopped_at(work.device, work.queue, range(first, first + 60, 2)):
        if unstarted == 0:
            work.queue.void(packets[0])
        work.queue.enable()
        work.queue.wait()
        begun.add(unstarted)
        assert work.counted() == [32 * (unstarted > 0), 16] and all(packet.done for packet in packets)
    assert begun <= {0, 1, 2} and (first or 0 in begun)


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
