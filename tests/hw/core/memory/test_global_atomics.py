"""Atomics on global memory among other accesses: one order, faults, rates, and what is written."""

import random

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import AtomicOp, Space
from support.core.load_store_bench import (
    GEOMETRIES,
    LOCAL_BYTES,
    REGION,
    TINY,
    Bench,
    accesses,
    consecutive,
)
from support.core.memory_ops import random_access, random_atomic
from support.hw.simulation import Simulator
from support.selection import quick


def mixed(rng, g, count, odd=0.0, outside=0.0):
    """Loads, stores, local accesses, and atomics on few common segments and on each warp's own."""
    for access in accesses(rng, g, count, odd, outside):
        kind, own = rng.random(), (REGION * (access.warp + 1), REGION * (access.warp + 2))
        if kind < 0.5:
            first, end = rng.choice([(REGION * (g.warps + 1), REGION * (g.warps + 1) + 5 * 128), own])
            end += rng.random() < outside and 3 * REGION
            yield random_atomic(rng, g, access.warp, access.d, access.pc, first, min(end, REGION * (g.warps + 3)), odd)
        elif kind < 0.75:
            yield local(rng, g, access.warp, access.pc, rng.choice([odd, 0.0]), outside)
        else:
            yield access


def local(rng, g, warp, pc, odd=0.0, beyond=0.0):
    """A local access of 8 to 32 bits; with these probabilities some offsets are misaligned or beyond the end."""
    end = LOCAL_BYTES + (8 if rng.random() < beyond else 0)
    access = random_access(rng, g, warp, pc % 16 * 4, pc, 0, end, odd)
    while access.size.bytes > 4:
        access = random_access(rng, g, warp, pc % 16 * 4, pc, 0, end, odd)
    access.space, access.block_warp = Space.LOCAL, warp
    return access


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8 of 32 lanes"]))
def test_atomics_are_performed_once_in_one_order(name):
    """Among loads, stores and local accesses of all warps; every value is that of a replay in the order traced."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(11)
    bench = Bench(g, latency=7, busy=lambda: slow.random() < 0.3 and bench.cycle < 1500)
    bench.run(list(mixed(rng, g, 320 // g.warp_size)), gap=lambda: slow.choice([0, 0, 3]))
    assert not bench.faults and len(bench.performed) > 60
    assert len(set(bench.performed)) == len(bench.performed)


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8 of 32 lanes"]))
def test_faults_of_atomics_and_local_accesses(name):
    """Segments that cannot be read, or only not written, windows, alignment and the bound of local memory."""
    g, rng, slow = GEOMETRIES[name], random.Random(f"{name}, again"), random.Random(5)
    bench = Bench(g, latency=3, busy=lambda: slow.random() < 0.2,
                  fails=lambda address: address // 128 % 7 == 3, refuses=lambda address: address // 128 % 7 == 5)
    bench.run(list(mixed(rng, g, 560 // g.warp_size, odd=0.25, outside=0.5)))
    assert {kind for kind, *_ in bench.faults} == {
        Fault.MISALIGNED, Fault.GLOBAL_WINDOW, Fault.BUS_ERROR, Fault.LOCAL_BOUND}
    assert len(bench.performed) > 20


def counter(g, number, function=AtomicOp.ADD, stride=0):
    """An atomic of all lanes of one of the warps, `stride` bytes apart."""
    access = consecutive(g, number)
    access.function = function
    access.address = [REGION + stride * lane for lane in range(g.warp_size)]
    access.data = np.full((4, g.warp_size), 0x3F80_0000 if function is AtomicOp.FADD else 1, np.uint32)
    return access


@pytest.mark.parametrize("function", [AtomicOp.INC, AtomicOp.ADD])
def test_counters_hand_out_every_ticket_once(function):
    """Atomics of all warps on one word: each value is found by exactly one lane."""
    g, found = TINY, []
    bench = Bench(g)
    bench.memory.bytes[:] = bench.model[:] = 0
    perform_ = bench.trace

    def note(trace):
        found.append(trace.old)
        perform_(trace)
    bench.trace = note
    batch = [counter(g, number, function) for number in range(8)]
    for access in batch:
        access.data[0][:] = 500 if function is AtomicOp.INC else 1
    bench.run(batch)
    assert sorted(found) == list(range(8 * g.warp_size))


def test_segments_of_different_addresses_are_in_flight_together_and_equal_ones_not():
    spans = []
    for g, stride, count in (TINY, 0, 3), (GEOMETRIES["8 of 32 lanes"], 32, 1):
        bench = Bench(g, latency=60)
        bench.run([counter(g, number, stride=stride) for number in range(count)])
        spans.append((bench.trace_cycles[-1] - bench.trace_cycles[0], len(bench.memory.read_bursts)))
    (one, bursts_of_one), (many, bursts_of_many) = spans
    assert bursts_of_one == 3 and one > 2 * 120
    assert bursts_of_many == 8 and many < 2 * 120 + 60


@pytest.mark.parametrize(("function", "stride", "cycles"), [
    (AtomicOp.ADD, 0, 3), (AtomicOp.FADD, 0, 7), (AtomicOp.ADD, 4, 1), (AtomicOp.FADD, 4, 1)])
def test_rate_of_the_lanes_of_a_segment(function, stride, cycles):
    bench = Bench(TINY)
    bench.memory.bytes[:] = bench.model[:] = 0
    bench.run([counter(TINY, 0, function, stride)])
    assert np.diff(bench.trace_cycles).tolist() == [cycles] * (TINY.warp_size - 1)


def test_only_what_changes_is_written():
    """A compare-and-swap that fails, or a maximum that is not exceeded, cannot overwrite anybody's store."""
    access = counter(TINY, 0, AtomicOp.CAS, stride=4)
    access.data[0][:] = 5
    bench = Bench(TINY)
    bench.memory.bytes[:] = bench.model[:] = 0
    bench.memory.bytes[REGION + 8] = bench.model[REGION + 8] = 5
    strobes = []
    writer = bench.memory.writer(bench.unit.atomic_write_port)

    async def watch(ctx):
        port = bench.unit.atomic_write_port
        async for *_, valid, ready, strobe in ctx.tick().sample(port.beat.valid, port.beat.ready,
                                                                port.beat.payload.strobe):
            if valid and ready:
                strobes.append(strobe)
    simulator_run = Simulator.run

    def run(simulator):
        simulator.add_testbench(watch, background=True)
        simulator_run(simulator)
    assert writer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulator, "run", run)
        bench.run([access])
    assert strobes == [0x0F]
    assert bench.memory.bytes[REGION + 8] == 1


@pytest.mark.parametrize("name", ["tiny", "8 of 32 lanes"])
def test_latency_of_a_single_atomic(name):
    """4 cycles from the last bus beat to the first lane, and 3 from the last lane's to the first register write."""
    g = GEOMETRIES[name]
    bench = Bench(g, latency=0)
    bench.run([counter(g, 0, stride=0)])
    assert bench.trace_cycles[0] - bench.memory.read_cycles[-1] == 4
    assert bench.write_cycles[0] - bench.trace_cycles[-1] == 3


def test_an_error_of_any_beat_of_a_segment_counts():
    """Only the first of the beats that are read answers with an error."""
    bench = Bench(TINY, fails=lambda address: address == REGION)
    bench.run([counter(TINY, 0, stride=4), counter(TINY, 1)])
    assert len(bench.memory.read_cycles) == TINY.warp_size * 4 // TINY.bus_bytes + 1 and not bench.performed
    assert list(bench.faults.values()) == [1, 1]


@pytest.mark.full
def test_faults_of_atomics_wait_for_those_of_loads():
    """Atomics that cannot be read, or not be written, and a failing load some cycles behind each."""
    count, width = 56, 28
    bench = Bench(TINY, latency=3, fails=lambda address: address // 128 * 128 in (REGION, 2 * REGION),
                  refuses=lambda address: address // 128 * 128 == REGION + 128)
    batch, gaps = [], []
    for number in range(count):
        atomic, load = counter(TINY, 0), consecutive(TINY, 1)
        atomic.mask, load.mask = 1, 1
        atomic.pc, load.pc = 2 * number + 1, 2 * number + 2
        atomic.address[0] += number // width * 128
        batch += [atomic, load]
        gaps += [0, number % width]
    gap = iter(gaps)
    bench.run(batch, gap=lambda: next(gap))
    assert bench.faults.total() == 2 * count and len(bench.performed) == count - width


def test_an_atomic_is_complete_when_its_write_is_acknowledged():
    bench = Bench(TINY, latency=50)
    bench.run([counter(TINY, 0), counter(TINY, 0, AtomicOp.FADD)])
    written, complete = bench.memory.write_cycles, bench.done_cycles
    assert len(written) == len(complete) == 2
    assert all(done - write > bench.memory.latency for write, done in zip(written, complete, strict=True))


def test_beats_wait_while_a_refused_atomic_is_passed_over():
    """It stands between two segments that are read; the beats of the second are there when those of the first end."""
    g = GEOMETRIES["8 of 32 lanes"]
    assert g.atomic_queue == 4
    bench = Bench(g, latency=10)
    first, refused, second = (counter(g, number, stride=4) for number in range(3))
    refused.address[0] += 1
    second.address = [address + 128 for address in second.address]
    bench.run([first, refused, second])
    gaps = np.diff(bench.memory.read_cycles).tolist()
    assert sorted(gaps) == [1] * (len(gaps) - 1) + [2], "the second segment did not wait"
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED} and len(bench.performed) == 2 * g.warp_size
