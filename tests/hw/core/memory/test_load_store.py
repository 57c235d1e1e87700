"""Global loads and stores against a byte-array model, with back-pressure, faults and bus errors."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import Size
from support.core.load_store_bench import (
    CHECKED,
    GEOMETRIES,
    RATED,
    RATES,
    REGION,
    TINY,
    WHOLE,
    Bench,
    accesses,
    consecutive,
)


@pytest.mark.parametrize("name", CHECKED)
def test_random_accesses_match_the_model(name):
    """The first cycles with back-pressure everywhere, then none."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(7)
    bench = Bench(g, latency=7, busy=lambda: slow.random() < 0.3 and bench.cycle < 300)
    bench.run(list(accesses(rng, g, 320 // g.warp_size)), gap=lambda: slow.choice([0, 0, 3]))
    assert not bench.faults


@pytest.mark.parametrize("name", CHECKED)
def test_faults_and_bus_errors_release_everything_and_are_reported(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    slow = random.Random(5)
    bench = Bench(g, latency=3, busy=lambda: slow.random() < 0.2,
                  fails=lambda address: address // 128 % 7 == 3)
    bench.run(list(accesses(rng, g, max(15, 320 // g.warp_size), odd=0.3, outside=0.7)))
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.GLOBAL_WINDOW, Fault.BUS_ERROR}


@pytest.mark.parametrize("name", RATES)
def test_loads_of_different_warps_overlap_at_the_rate_of_the_bus(name):
    g = GEOMETRIES[name]
    bench = Bench(g, latency=40)
    bench.run([consecutive(g, number, size=WHOLE[g.warp_size]) for number in range(12)])
    cycles = bench.memory.read_cycles
    assert bench.memory.most_outstanding >= 40 // g.burst_beats
    assert len(cycles) >= 0.98 * (cycles[-1] - cycles[0] + 1)


@pytest.mark.parametrize("name", RATES)
def test_stores_send_a_beat_a_cycle(name):
    g = GEOMETRIES[name]
    bench = Bench(g, latency=20)
    bench.run([consecutive(g, number, store=True, size=WHOLE[g.warp_size]) for number in range(12)])
    cycles = bench.memory.write_cycles
    assert len(cycles) == 12 * 128 // g.bus_bytes
    assert len(cycles) >= 0.98 * (cycles[-1] - cycles[0] + 1)


def test_a_coalesced_access_is_one_burst_of_its_segment():
    bench = Bench(TINY)
    bench.run([consecutive(TINY, 0)])
    assert bench.memory.read_bursts == [REGION]


@pytest.mark.parametrize("name", RATED)
def test_latency_of_a_single_load(name):
    """2 cycles to the request, and 2 from the last bus beat to the first register write."""
    g = GEOMETRIES[name]
    bench = Bench(g, latency=0)
    bench.run([consecutive(g, 0)])
    assert bench.write_cycles[0] - bench.memory.read_cycles[-1] == 2
    assert bench.done_cycles[0] - bench.write_cycles[-1] == 1


def test_of_lanes_that_store_to_one_byte_the_highest_wins():
    g = TINY
    access = consecutive(g, 0, store=True, size=Size.U8)
    access.address = [REGION + 5] * g.warp_size
    access.mask = 0b0110_1101
    bench = Bench(g)
    bench.run([access])
    assert bench.memory.bytes[REGION + 5] == access.data[0][6]


def test_windows_are_those_of_the_kernel():
    """An access allowed by another kernel's window is refused."""
    bench = Bench(TINY)
    bench.windows = [(REGION, REGION + 128), (2 * REGION, 2 * REGION + 128)]
    inside, outside = consecutive(TINY, 0), consecutive(TINY, 4)
    bench.run([inside, outside])
    assert list(bench.faults) == [(Fault.GLOBAL_WINDOW, 0, outside.pc, REGION + 128)]
