"""Vectors of uniform registers by pairs against lists of their bits."""

import random

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.lib.bits import popcount
from caesura.hw.preempt.formats.uniform_pairs import lowest_pair, uniform_pairs, without_lowest_pair
from support.hw.simulation import Simulator


@pytest.mark.parametrize("width", [2, 8, 32])
def test_the_lowest_pair_its_registers_and_the_rest(width):
    m, vector = Module(), Signal(width)
    pairs, pair, rest, count = Signal(width), Signal(width), Signal(width), Signal(width)
    m.d.comb += [pairs.eq(uniform_pairs(vector)), pair.eq(lowest_pair(vector)), rest.eq(without_lowest_pair(vector)),
                 count.eq(popcount([vector[k] & vector[k + 1] for k in range(0, width, 2)]))]
    rng = random.Random(width)

    async def bench(ctx):
        for _ in range(200):
            word = rng.getrandbits(width) & rng.getrandbits(width) & rng.choice([0, 3, -1])
            both = [word >> k & 3 for k in range(0, width, 2)]
            lowest = next((k for k, bits in enumerate(both) if bits), None)
            ctx.set(vector, word)
            assert ctx.get(pairs) == sum((bits != 0) << k for k, bits in enumerate(both))
            assert ctx.get(pair) == (0 if lowest is None else both[lowest])
            assert ctx.get(rest) == (0 if lowest is None else word & ~(3 << 2 * lowest))
            assert ctx.get(count) == both.count(3)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
