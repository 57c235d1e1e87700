# amaranth: UnusedElaboratable=no
"""The divider against Python's."""

import random

import pytest

from caesura.hw.lib.divider import Divider
from support.hw.simulation import Simulator


@pytest.mark.parametrize(("width", "by"), [(33, 17), (8, 8), (5, 9)])
def test_quotients_and_remainders(width, by):
    dut, rng = Divider(width, by), random.Random(width)

    async def process(ctx):
        edges = [(0, 1), ((1 << width) - 1, 1), ((1 << width) - 1, (1 << by) - 1), (7, 0)]
        for dividend, divisor in edges + [(rng.getrandbits(width), rng.getrandbits(rng.randint(1, by)) or 1)
                                          for _ in range(100)]:
            ctx.set(dut.dividend, dividend)
            ctx.set(dut.divisor, divisor)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles = 0
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
            assert cycles == width
            if divisor:
                assert (ctx.get(dut.quotient), ctx.get(dut.remainder)) == divmod(dividend, divisor)
            else:
                assert ctx.get(dut.quotient) == (1 << width) - 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
