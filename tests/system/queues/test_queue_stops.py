"""A hardware queue that is stopped in any cycle says where it goes on."""

import pytest

from caesura.hw.arch.packets import QueueState
from support.selection import quick
from support.sim.queue_stops import stopped_at

STOPS = 1920
"""Cycles after which four packets have been begun, on the RTL: in each of them their queue is stopped."""


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
