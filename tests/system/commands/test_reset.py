"""Work is taken off the device at any cycle, and launched again: nothing of it is left, nothing runs twice, every
result is right."""

import itertools

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.software.driver import CycleLimit, DriverError, KernelFault
from caesura.software.driver.launch.tickets import Flag, Ticket, Ticketed
from caesura.software.driver.reset.eviction import kill_bound
from support.programs.chain import BLOCKS, THREADS, Chain
from support.selection import quick

TINY = preset("tiny")
LIMIT = 60_000


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
