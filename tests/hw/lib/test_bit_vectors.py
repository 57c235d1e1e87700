"""Functions of bit vectors and the delay line, for every vector of a few widths and some of many bits."""

import random

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.lib.bits import (
    chosen,
    look_up,
    lowest,
    lowest_number,
    pick,
    popcount,
    select,
    spread,
    spread_each,
    window,
    without_lowest,
)
from caesura.hw.lib.delay import delayed
from support.hw.simulation import Simulator
from support.hw.stream_bench import simulate


@pytest.mark.parametrize("width", [1, 2, 3, 5, 32, 64])
def test_lowest_bit_and_number_of_bits(width):
    m, vector, rng = Module(), Signal(width), random.Random(width)
    names = "number", "rest", "count", "single", "chosen", "spread", "each"
    number, rest, count, single, chosen, copies, each = (Signal(2 * width + 7, name=name) for name in names)
    m.d.comb += [number.eq(lowest_number(vector)), rest.eq(without_lowest(vector)), count.eq(popcount(vector)),
                 single.eq(lowest(vector)), chosen.eq(select(lowest(vector), [k + 1 for k in range(width)])),
                 copies.eq(spread(vector[0], 3)), each.eq(spread_each(vector, 2))]
    vectors = range(1 << width) if width < 6 else [0, (1 << width) - 1, 1 << width - 1,
                                                   *(rng.getrandbits(width) for _ in range(30))]

    async def bench(ctx):
        for bits in vectors:
            ctx.set(vector, bits)
            first = next((k for k in range(width) if bits >> k & 1), None)
            assert ctx.get(number) == (first or 0)
            assert ctx.get(rest) == (bits if first is None else bits & ~(1 << first))
            assert ctx.get(single) == (0 if first is None else 1 << first)
            assert ctx.get(chosen) == (0 if first is None else first + 1)
            assert ctx.get(count) == bin(bits).count("1")
            assert ctx.get(copies) == 7 * (bits & 1)
            assert ctx.get(each) == sum(3 << 2 * k for k in range(width) if bits >> k & 1)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("count", [1, 3, 8])
def test_one_of_many_values(count):
    m, onehot, number = Module(), Signal(count), Signal(4)
    values = [Signal(8, name=f"value_{k}") for k in range(count)]
    chosen, picked, looked = Signal(8), Signal(8), Signal(8)
    m.d.comb += [chosen.eq(select(onehot, values)), picked.eq(pick(values, number))]
    look_up(m, looked, values, number)

    async def bench(ctx):
        for k, signal in enumerate(values):
            ctx.set(signal, 17 * k + 5)
        assert ctx.get(chosen) == 0
        for k in range(count):
            ctx.set(onehot, 1 << k)
            ctx.set(number, k)
            assert ctx.get(chosen) == ctx.get(picked) == ctx.get(looked) == 17 * k + 5
        ctx.set(number, count)
        assert ctx.get(looked) == 0

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("places", [(0,), (3,), (0, 1, 2), (1, 2, 3), (0, 2, 3, 4, 7), tuple(range(8)), (1, 4)])
def test_one_of_the_values_that_a_number_can_choose(places):
    m, number, found, shared = Module(), Signal(3), Signal(8), Signal(8)
    values = {place: Signal(8, init=11 * place + 1, name=f"value_{place}") for place in places}
    both = {place: values[places[0]] if place < 3 else values[place] for place in places}  # one of them several times
    m.d.comb += [found.eq(chosen(values, number)), shared.eq(chosen(both, number))]

    async def bench(ctx):
        for place in places:
            ctx.set(number, place)
            assert ctx.get(found) == 11 * place + 1
            assert ctx.get(shared) == 11 * (places[0] if place < 3 else place) + 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("length, bits, width", [(8, 4, 4), (32, 6, 32), (128, 8, 32), (5, 3, 8), (7, 0, 3)])
def test_bits_of_a_vector_from_any_place_on(length, bits, width):
    m, vector, first, found = Module(), Signal(length), Signal(bits), Signal(width + 1)
    rng = random.Random(length)
    m.d.comb += found.eq(window(m, vector, first, width))

    async def bench(ctx):
        for place in range(1 << bits):
            word = rng.getrandbits(length)
            ctx.set(vector, word)
            if bits:
                ctx.set(first, place)
            assert ctx.get(found) == word >> place & (1 << width) - 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("cycles", [0, 1, 3])
def test_a_value_comes_so_many_cycles_later(cycles):
    m, value, tick = Module(), Signal(8), Signal()
    late = delayed(m, "value", value, cycles)
    m.d.sync += tick.eq(~tick)

    async def bench(ctx):
        sent = []
        for number in range(5, 15):
            ctx.set(value, number)
            sent.append(number)
            if len(sent) > cycles:
                assert ctx.get(late) == sent[-1 - cycles]
            await ctx.tick()

    simulate(m, bench)
