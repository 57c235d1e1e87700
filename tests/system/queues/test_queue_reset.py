"""Work in hardware queues is taken off the device at any cycle, and put in again."""

import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueState
from caesura.software.driver import CycleLimit, DriverError
from support.programs.chain import BLOCKS, THREADS, Chain, chain_images
from support.selection import quick
from support.sim.queues import DEVICE

TINY = preset("tiny")
LIMIT = 60_000
CHECKED = 400
"""Cycles from the start of a packet's kernel until its thread blocks have found the flag clear: they read their
parameters from memory first."""

@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


# Queues


class Line:
    """A queue with kernels of a work, between them some that count and belong to nobody."""

    def __init__(self, device, names=("turn", "alone", "turn"), rounds=3):
        self.device, self.chain = device, Chain(device, names, rounds)
        self.add = self.chain.module["add"]
        self.queue = device.queue([*self.chain.module.values()], THREADS, packets=16)
        self.other = device.queue([*self.chain.module.values()], THREADS, packets=16)
        self.counters = device.zeros(8, np.uint32)

    def fill(self):
        """Put a kernel that counts before, between and behind those of the work; another queue counts, too."""
        self.chain.clear()
        self.counters.set(np.zeros(8, np.uint32))
        self.chain.pieces.clear()
        for k in range(len(self.chain.names)):
            self.count(k)
            self.chain.put(k, self.queue)
        self.count(len(self.chain.names))
        for k in range(4, 8):
            self.count(k, self.other)

    def count(self, k, queue=None):
        (queue or self.queue).launch(self.add, 1, 8, [self.counters.address + 4 * k])

    def length(self):
        """Return the cycles of all packets."""
        began = self.device.cycle
        self.fill()
        self.wait()
        return self.device.cycle - began

    def wait(self):
        for queue in (self.queue, self.other):
            queue.wait(max_cycles=LIMIT)

    def check_others(self):
        """What does not belong to the work has run once."""
        assert self.counters.get().tolist() == 8 * [8]


@pytest.mark.parametrize("part, moments, withdraw", quick(
    [*((part, 20, withdraw) for part in range(8) for withdraw in (False, True)), (1, 7, False)], [(1, 7, False)]))
def test_packets_are_reset_at_any_cycle(part, moments, withdraw):
    """Those behind the one that runs leave as soon as they begin, or are taken out; strangers among them run once."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line, outcomes = Line(device), set()
        end = line.length()
        for at in range(part * end // (8 * moments), end + end // 10, end // moments):
            line.fill()
            device.advance(at)
            pieces = [*line.chain.pieces]
            report = line.chain.work.reset(withdraw=withdraw, max_cycles=LIMIT)
            assert len(report.killed) <= 1 and bool(report.withdrawn) <= withdraw
            assert not {*report.killed} & {*report.withdrawn}
            rest = [piece for piece in pieces if piece not in report.whole]
            assert pieces[len(report.whole):] == rest, "the first ones are whole"
            for k, piece in enumerate(pieces):
                assert piece.ended and (line.chain.right(k) or piece in rest)
            line.wait()
            line.check_others()
            before = device.transport.read_memory(device.heap.base, 1 << 15)
            device.advance(400)
            assert device.transport.read_memory(device.heap.base, 1 << 15) == before, "nothing runs"
            for k in range(len(report.whole) + 1, len(pieces)):
                assert not line.chain.arrays[k + 1].get().any(), "nothing behind the first one has had an effect"
            assert line.chain.work.relaunch() == rest
            line.wait()
            assert all(line.chain.right(k) for k in range(len(pieces))) and all(piece.whole for piece in pieces)
            assert [piece.launches for piece in pieces] == [1 + (piece in rest) for piece in pieces]
            line.check_others()
            outcomes.add((len(report.whole), bool(report.killed)))
        assert {whole for whole, _ in outcomes} == {0, 1, 2, 3} and any(killed for _, killed in outcomes)


def test_a_barrier_between_queues_comes_again():
    """A kernel in another queue that waited for one that was killed waits for it again."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line = Line(device, ("turn", "alone"))
        chain, orders = line.chain, set()
        for at in range(0, 2400, 300):
            chain.clear()
            first = chain.put(0, line.queue)
            barrier = chain.work.barrier(line.other, [first])
            second = chain.put(1, line.other)
            device.advance(at)
            report = chain.work.reset(max_cycles=LIMIT)
            launches = barrier.launches
            again = chain.work.relaunch()
            assert again == [piece for piece in (first, second) if piece not in report.whole]
            assert barrier.launches == launches + (second in again)
            line.wait()
            assert chain.right(0) and chain.right(1)
            orders.add(len(again))
        assert orders == {0, 1, 2}


def test_a_queue_takes_kernels_with_the_check_only():
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        kernel = device.load(chain_images(check=False).values())["alone"]
        queue, work = device.queue([kernel], THREADS), device.work()
        arrays = [device.zeros(64, np.uint32) for _ in range(2)]
        with pytest.raises(DriverError, match="'alone' in a queue would not leave: .* compile it with eviction_check"):
            work.launch(kernel, BLOCKS, THREADS, [*arrays, 1], queue=queue)
        piece = work.launch(kernel, BLOCKS, THREADS, [*arrays, 1])
        with pytest.raises(DriverError, match="a barrier waits for packets of queues"):
            work.barrier(queue, [piece])
        assert work.reset().killed == (piece,), "a kernel slot needs none"


@pytest.mark.parametrize("withdraw", quick([False, True], [True]))
def test_a_queue_that_is_stopped_is_left_alone(withdraw):
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line = Line(device)
        line.fill()
        line.queue.stop()
        with pytest.raises(DriverError, match="queue 0 is stopped, and what is left in it would stay; enable it first"):
            line.chain.work.reset(withdraw=withdraw)
        assert not line.chain.work.flag.is_set
        line.queue.enable()
        line.wait()
        assert all(line.chain.right(k) for k in range(3))


@pytest.mark.parametrize("withdraw", quick([False, True], [True]))
def test_a_reset_of_packets_that_was_cut_short_goes_on(withdraw):
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line = Line(device, rounds=40)
        line.fill()
        while line.queue.find(1) is None:
            device.advance(10)
        device.advance(100)
        with pytest.raises(CycleLimit, match="not off the device"):
            line.chain.work.reset(withdraw=withdraw, max_cycles=10)
        device.advance(300)
        report = line.chain.work.reset(withdraw=withdraw)
        assert report.killed == (line.chain.pieces[0],) and not report.whole
        assert (report.withdrawn or report.left) == tuple(line.chain.pieces[1:])
        line.wait()
        line.check_others()
        assert line.chain.work.relaunch() == line.chain.pieces
        line.wait()
        assert all(line.chain.right(k) for k in range(3))


@pytest.mark.parametrize("seed, withdraw, rounds", quick(
    [*((seed, withdraw, 8) for seed in range(12) for withdraw in (False, True)), (1, True, 2)], [(1, True, 2)]))
def test_a_host_may_be_slow_between_any_two_steps(seed, withdraw, rounds, monkeypatch):
    """Kernels end and begin between whatever it reads and writes: none survives, no stranger is killed."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line, rng, killed = Line(device, rounds=100), random.Random(seed), 0
        end = line.length()
        host, write, read = device.host, device.host.write, device.host.read

        def dawdle():
            device.transport.advance(rng.choice((0, 0, 3, 60, 400, 900)))

        for _ in range(rounds):
            line.fill()
            device.advance(rng.randrange(end))
            pieces = [*line.chain.pieces]
            with monkeypatch.context() as patch:
                patch.setattr(host, "write", lambda *a, **k: (dawdle(), write(*a, **k))[1])
                patch.setattr(host, "read", lambda *a, **k: (dawdle(), read(*a, **k))[1])
                report = line.chain.work.reset(withdraw=withdraw, max_cycles=LIMIT)
            rest = [piece for piece in pieces if piece not in report.whole]
            for k in range(len(report.whole) + 1, len(pieces)):
                assert not line.chain.arrays[k + 1].get().any(), "it has survived"
            line.wait()
            line.check_others()
            assert line.chain.work.relaunch() == rest
            line.wait()
            assert all(line.chain.right(k) for k in range(len(pieces)))
            killed += len(report.killed)
        assert killed


@pytest.mark.parametrize("late", quick(
    ["queue_slots", "in_flight", "packet[0]", "command"], ["in_flight"]))
def test_the_kernel_ends_just_before_it_is_killed(late, monkeypatch):
    """Somebody else's begins meanwhile, where it may: it is not killed in the other's place."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line = Line(device, rounds=20)
        device.write("queue_slots", 0b1000)
        device.launcher.slots.queue_slots = frozenset({3})
        host, write, read, waited = device.host, device.host.write, device.host.read, []
        line.fill()
        path = f"queue[{line.queue.number}]"
        while line.queue.find(1) is None:
            device.advance(10)
        device.advance(CHECKED)

        def wait(name):
            """Let the next packet of any queue begin in the slot, if it can."""
            if name.endswith(late) and not waited and device.peek(f"{path}.read_index") == 1:
                waited.append(name)
                for _ in range(400):
                    device.transport.advance(10)
                    states = device.host.peek_fields("kernel[3].state")["state"]
                    if device.peek(f"{path}.read_index") > 1 and states == KernelState.RUNNING:
                        return

        with monkeypatch.context() as patch:
            patch.setattr(host, "write", lambda name, *a, **k: (wait(name), write(name, *a, **k))[1])
            patch.setattr(host, "read", lambda name, *a, **k: (wait(name), read(name, *a, **k))[1])
            report = line.chain.work.reset(max_cycles=LIMIT)
        assert waited and report.whole == (line.chain.pieces[0],) and not report.killed
        line.wait()
        line.check_others()
        assert line.chain.work.relaunch() == line.chain.pieces[1:]
        line.wait()
        assert all(line.chain.right(k) for k in range(3))


@pytest.mark.full
def test_another_queue_takes_the_slot_before_anybody_looks(monkeypatch):
    """The work's packet is next in its queue, and waits for the slot in which the other queue's kernel now is."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        line = Line(device, rounds=20)
        device.write("queue_slots", 0b1000)
        device.launcher.slots.queue_slots = frozenset({3})
        line.fill()
        peek, read, waited = device.host.peek_fields, device.host.read, []
        ours, theirs = (f"queue[{queue.number}]" for queue in (line.queue, line.other))
        while peek(f"{ours}.status")["state"] != QueueState.RUNNING:
            device.transport.advance(1)

        def wait(name):
            if name == f"{ours}.in_flight" and not waited:
                while peek(f"{theirs}.status")["state"] != QueueState.RUNNING:
                    device.transport.advance(1)
                waited.append(device.peek(f"{ours}.read_index"))

        with monkeypatch.context() as patch:
            patch.setattr(device.host, "read", lambda name, *a, **k: (wait(name), read(name, *a, **k))[1])
            report = line.chain.work.reset(max_cycles=LIMIT)
        assert waited == [1] and not report.whole
        line.wait()
        line.check_others()
        assert line.chain.work.relaunch() == line.chain.pieces
        line.wait()
        assert all(line.chain.right(k) for k in range(3))


def test_a_kernel_survives_where_the_flag_comes_behind_the_kill():
    """The race, on the machine: the next packet begins before the flag is set, and runs to its end."""
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        chain = Chain(device, rounds=40)
        queue = device.queue([*chain.module.values()], THREADS)
        pieces = [chain.put(k, queue) for k in range(3)]
        while queue.state is not QueueState.RUNNING:
            device.advance(10)
        device.advance(200)
        device.write("command", op=Command.KILL, kernel=queue.in_flight()[0].slot)
        while queue.find(1) is None:
            device.advance(10)
        device.advance(CHECKED)
        chain.work.flag.write(True)
        queue.wait(max_cycles=LIMIT)
        assert not chain.arrays[1].get().any(), "the first was killed"
        assert chain.arrays[2].get().any() and not pieces[1].ticket.left, "the second has run, on nothing"
        assert pieces[2].ticket.left and not chain.arrays[3].get().any(), "the third has left"
