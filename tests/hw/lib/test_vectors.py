"""Operations on per-warp vectors, the round-robin arbiter, and the bit-sliced counters."""

import random

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.lib.bits import encode, lowest, one_hot
from caesura.hw.lib.vectors import BitSlicedCounters, LeastRecent, RoundRobin
from support.hw.simulation import Simulator


def simulate(dut, testbench, clocked=True):
    simulator = Simulator(dut)
    if clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize("width", [1, 2, 7, 48, 64])
def test_one_hot_lowest_and_encode(width):
    m = Module()
    number = Signal(range(max(2, width)))
    vector = Signal(width)
    outputs = one, low, back = Signal(width), Signal(width), Signal(range(max(2, width)))
    m.d.comb += [outputs[0].eq(one_hot(number, width)), low.eq(lowest(vector)), back.eq(encode(low))]
    rng = random.Random(1)

    async def testbench(ctx):
        for value in range(1 << len(number)):
            ctx.set(number, value)
            assert ctx.get(one) == (1 << value if value < width else 0)
        for _ in range(50):
            value = rng.getrandbits(width) & rng.getrandbits(width)
            ctx.set(vector, value)
            assert ctx.get(low) == value & -value
            assert ctx.get(back) == (max((value & -value).bit_length() - 1, 0))

    simulate(m, testbench, clocked=False)


@pytest.mark.parametrize("width", [1, 5, 48])
def test_round_robin_grants_the_next_requester_after_the_last(width):
    dut = RoundRobin(width)
    rng = random.Random(width)

    async def testbench(ctx):
        last = width - 1
        for _ in range(300):
            requests = rng.getrandbits(width) & rng.choice((rng.getrandbits(width), (1 << width) - 1))
            ctx.set(dut.requests, requests)
            assert ctx.get(dut.valid) == bool(requests)
            if requests:
                expected = next(n % width for n in range(last + 1, last + 1 + width) if requests >> n % width & 1)
                assert (ctx.get(dut.index), ctx.get(dut.grant)) == (expected, 1 << expected)
                last = expected
            else:
                assert ctx.get(dut.grant) == 0
            await ctx.tick()

    simulate(dut, testbench)


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("width", [2, 3, 5, 16])
def test_least_recent_grants_the_one_that_was_granted_longest_ago(width, told):
    dut = LeastRecent(width, told)
    rng = random.Random(width)

    async def testbench(ctx):
        order = list(range(width))  # the next one first
        for _ in range(300):
            requests = rng.getrandbits(width) & rng.choice((rng.getrandbits(width), (1 << width) - 1))
            ctx.set(dut.requests, requests)
            chosen = next((n for n in order if requests >> n & 1), None)
            assert ctx.get(dut.grant) == (0 if chosen is None else 1 << chosen)
            counts = chosen is not None and not (told and rng.random() < 0.5)
            if told:
                ctx.set(dut.served, 1 << chosen if chosen is not None and counts else 0)
            await ctx.tick()
            if chosen is not None and counts:
                order.remove(chosen)
                order.append(chosen)

    simulate(dut, testbench)


def test_counters_count_and_say_when_they_are_full():
    width, bits = 9, 3
    dut = BitSlicedCounters(width, bits)
    rng = random.Random(7)

    async def testbench(ctx):
        counts = [0] * width
        for turn in range(400):
            more = 0.8 if turn // 100 % 2 == 0 else 0.2
            up = sum(1 << n for n in range(width) if rng.random() < more and counts[n] < 7)
            down = sum(1 << n for n in range(width) if rng.random() > more and counts[n] > 0)
            clear = rng.getrandbits(width) & rng.getrandbits(width) if rng.random() < 0.05 else 0
            ctx.set(dut.up, up)
            ctx.set(dut.down, down)
            ctx.set(dut.clear, clear)
            assert ctx.get(dut.any) == sum(1 << n for n in range(width) if counts[n])
            assert ctx.get(dut.full) == sum(1 << n for n in range(width) if counts[n] == 7)
            await ctx.tick()
            counts = [0 if clear >> n & 1 else count + (up >> n & 1) - (down >> n & 1)
                      for n, count in enumerate(counts)]

    simulate(dut, testbench)
