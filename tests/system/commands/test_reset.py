"""Work is taken off the device at any cycle, and launched again: nothing of it is left, nothing runs twice, every
result is right."""

import itertools
import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueState
from caesura.software.driver import CycleLimit, DriverError, KernelFault
from caesura.software.driver.launch.tickets import Flag, Ticket, Ticketed
from caesura.software.driver.reset.eviction import kill_bound
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


def length(chain, name):
    """Return the cycles of a launch of a kernel, from its start to its end."""
    k = chain.names.index(name)
    began = chain.device.cycle
    piece = chain.put(k)
    chain.device.wait(piece.launch, max_cycles=LIMIT)
    chain.pieces.clear()
    return chain.device.cycle - began


# The check at the entry


@pytest.mark.parametrize("name, backend", quick(itertools.product(("turn", "alone"), ("golden", "rtl")),
                                                [("turn", "golden")]))
def test_blocks_leave_or_run_whole_whenever_the_flag_is_set(backend, name):
    """Warps that have something to do with each other decide alike; else each decides for itself."""
    with open_device(backend, TINY, memory_bytes=1 << 20) as device:
        chain, seen = Chain(device, (name,)), set()
        whole = length(chain, name)
        step = 1 if backend == "golden" else 2
        for at in range(0, whole, step):
            chain.clear()
            flag = Flag(device)
            ticket = Ticket(flag)
            given = Ticketed([chain.arrays[1], chain.arrays[0], chain.rounds], ticket)
            launch = device.launch(chain.module[name], (BLOCKS, 1, 1), (THREADS, 1, 1), given)
            device.advance(at)
            flag.write(True)
            device.wait(launch, max_cycles=LIMIT)
            written = chain.blocks_written(0)
            assert {*written} <= ({0, THREADS} if name == "turn" else {0, TINY.warp_size, THREADS - TINY.warp_size,
                                                                      THREADS})
            assert ticket.left == (written != BLOCKS * [THREADS])
            seen.add(tuple(written))
        assert (0,) * BLOCKS in seen and (THREADS,) * BLOCKS in seen
        assert any(0 < sum(written) < BLOCKS * THREADS for written in seen), "some blocks ran, others left"


def test_a_kernel_with_the_check_that_nobody_evicts(device):
    chain = Chain(device)
    launch = chain.module["turn"](BLOCKS, THREADS, [chain.arrays[1], chain.arrays[0], chain.rounds])
    device.wait(launch, max_cycles=LIMIT)
    assert chain.right(0)


@pytest.mark.parametrize("at", quick([60, 120, 200], [120]))
@pytest.mark.parametrize("how", [
    {"mechanism": "live"}, {"mechanism": "occupied"}, {"restart": True}, {"scramble": True}])
def test_a_preempted_launch_is_reset(device, how, at):
    """The check, its barriers too, is code as any other; a launch that is saved can be killed."""
    chain = Chain(device, ("turn",))
    piece = chain.put(0)
    device.advance(at)
    if device.preempt(piece.launch, **how) is None:
        return
    device.resume(piece.launch)
    device.wait(piece.launch, max_cycles=LIMIT)
    assert chain.right(0) and piece.whole
    chain.clear()
    piece = chain.put(0)
    device.advance(at)
    if device.preempt(piece.launch, **how) is not None:
        report = chain.work.reset()
        assert report.killed == (piece,) and piece.launch.state is KernelState.IDLE
        assert chain.work.relaunch() == [piece]
        chain.work.wait(LIMIT)
        assert chain.right(0)


# Launches


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("every", quick([(40,), (7,), (1,)], [(40,)]))
def test_launches_are_reset_at_any_cycle(device, every):
    """Two at a time, in kernel slots; what has ended is not launched again."""
    chain = Chain(device, ("turn", "alone"))
    end = 2 * length(chain, "turn") + 100
    bound, outcomes = kill_bound(TINY, memory_cycles(TINY))[1], set()
    for at in range(0, end, every):
        chain.clear()
        chain.pieces.clear()  # each keeps the memory of its launch
        pieces = [chain.put(0), independent(chain)]
        device.advance(at)
        report = chain.work.reset()
        assert not chain.work.flag.is_set and {*report.killed, *report.whole, *report.left} == {*pieces}
        assert report.kill_cycles <= bound + 2 * 20, "some register accesses on the way"
        assert device.fields("status")["resident"] == 0
        before = device.transport.read_memory(device.heap.base, 1 << 15)
        device.advance(300)
        assert device.transport.read_memory(device.heap.base, 1 << 15) == before, "nothing runs"
        launches = [piece.launches for piece in pieces]
        again = chain.work.relaunch()
        assert again == [piece for piece in pieces if piece not in report.whole]
        chain.work.wait(LIMIT)
        assert [piece.launches for piece in pieces] == [n + (piece in again) for n, piece in
                                                        zip(launches, pieces, strict=True)]
        assert all(piece.whole for piece in pieces) and chain.right(0)
        assert not chain.work.relaunch()
        outcomes.add(len(again))
    assert {0, 2} <= outcomes


def independent(chain):
    """Launch the second kernel beside the first: it reads what the first one reads."""
    arguments = [chain.arrays[2], chain.arrays[0], 2]
    piece = chain.work.launch(chain.module["alone"], BLOCKS, THREADS, arguments)
    chain.pieces.append(piece)
    return piece


def memory_cycles(g):
    """Return the cycles in which the model of memory answers all that one SM can have asked."""
    outstanding = g.load_queue + g.atomic_queue + (g.unit_queue + 2) * g.warp_size
    return g.memory_latency + int(outstanding * 128 / g.bytes_per_cycle)


def test_a_reset_goes_on_where_memory_has_not_answered():
    """The flag stays set until nothing is left."""
    with open_device("rtl", TINY, memory_bytes=1 << 20) as device:
        chain = Chain(device, ("turn",))
        piece = chain.put(0)
        device.advance(40)
        with pytest.raises(CycleLimit, match=r"turn: not off the device \d+ cycles after a reset"):
            chain.work.reset(max_cycles=0)
        assert chain.work.flag.is_set
        for call in (chain.work.relaunch, lambda: chain.put(0)):
            with pytest.raises(DriverError, match="a reset of this work has not ended; call reset again"):
                call()
        report = chain.work.reset()
        assert report.killed == (piece,) and chain.work.relaunch() == [piece]
        chain.work.wait(LIMIT)
        assert chain.right(0)


def test_what_cannot_be_launched_again_is_no_work(device):
    """Atomics on global memory, and arrays that may overlap."""
    chain = Chain(device, ("alone",))
    counter = device.zeros(1, np.uint32)
    with pytest.raises(DriverError, match=r"'add' cannot be launched again .*: the atomic at \d+ changes"):
        chain.work.launch(chain.module["add"], 1, 8, [counter])
    with pytest.raises(DriverError, match=r"the store at \d+ may overwrite what the load at \d+ reads"):
        chain.work.launch(chain.module["alone"], BLOCKS, THREADS, [chain.arrays[0], chain.arrays[0], 1])
    assert not chain.work.pieces and counter.get()[0] == 0


def test_another_work_goes_on(device):
    """Each has a flag of its own."""
    one, other = Chain(device, ("turn",)), Chain(device, ("turn",))
    pieces = one.put(0), other.put(0)
    device.advance(30)
    report = one.work.reset()
    assert report.killed == (pieces[0],)
    other.work.wait(LIMIT)
    assert other.right(0) and pieces[1].whole and not other.work.relaunch()
    one.work.relaunch()
    one.work.wait(LIMIT)
    assert one.right(0)


def test_a_fault_is_told_and_not_run_again(device):
    chain = Chain(device, ("alone",))
    alone = chain.work.launch(chain.module["alone"], BLOCKS, THREADS, [chain.arrays[1], chain.arrays[0], 2])
    chain.work.wait(LIMIT)
    stray = chain.work.launch(chain.module["fill"], 1, 8, [0])
    with pytest.raises(KernelFault, match="fill"):
        chain.work.wait(LIMIT)
    assert alone.whole and stray.whole and not chain.work.reset().killed and not chain.work.relaunch()


def test_a_kernel_of_another_device_is_refused(device):
    with open_device("golden", TINY, memory_bytes=1 << 20) as other:
        chain = Chain(other)
        with pytest.raises(DriverError, match="'turn' is on another device"):
            device.work().launch(chain.module["turn"], 1, 8, [1, 2, 3])


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
