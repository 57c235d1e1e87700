"""Hardware queues of a device, on both machines, through the Python API: packets in order, barriers, priorities, and
what happens to packets that are none, to memory that fails, and to a queue that is stopped in any cycle."""

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.packets import QueueState
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError, LaunchError
from support.programs.shared_counters import HEAD

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
