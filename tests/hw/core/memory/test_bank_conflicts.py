"""Bank conflicts: which lanes are served in a pass, and in how many passes all are."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.core.memory.bank_conflicts import BankConflicts
from support.hw.simulation import Simulator, component
from support.hw.stream_bench import value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/core", "hw/interfaces", "hw/lib", "hw/memory", "sim/events")

ROWS = 16


def served_by(left, share, banks, rows):
    """The lanes of a pass: the lowest of each bank, with `share` all that want the same word."""
    winners = {}
    for lane in left:
        winners.setdefault(banks[lane], lane)
    if not share:
        return set(winners.values())
    return {lane for lane in left if rows[lane] == rows[winners[banks[lane]]]}


@pytest.mark.parametrize("lanes", quick([4, 8, 32], [4, 8]))
def test_the_lowest_lane_of_each_bank_wins(lanes):
    g, rng = preset("gtx480").replace(lanes=lanes), random.Random(lanes)
    dut = component(BankConflicts, g, ROWS)

    async def bench(ctx):
        for number in range(30):
            share = rng.getrandbits(1)
            spread = rng.choice([1, 2, lanes])
            banks = [lane if number % 8 == 0 else rng.randrange(spread) for lane in range(lanes)]
            rows = [rng.randrange(rng.choice([1, 2, ROWS])) for _ in range(lanes)]
            access = [{"row": row, "data": rng.getrandbits(32), "strobe": rng.getrandbits(4)} for row in rows]
            left = {lane for lane in range(lanes) if rng.random() < rng.choice([0.2, 1.0])}
            ctx.set(dut.share, share)
            for lane in range(lanes):
                ctx.set(dut.bank[lane], banks[lane])
                ctx.set(dut.access[lane], access[lane])
            passes = 0
            while left:
                ctx.set(dut.lanes_pending, sum(1 << lane for lane in left))
                served = served_by(sorted(left), share, banks, rows)
                assert ctx.get(dut.served) == sum(1 << lane for lane in served)
                assert ctx.get(dut.active) == sum({1 << banks[lane] for lane in left})
                for bank in {banks[lane] for lane in left}:
                    winner = min(lane for lane in left if banks[lane] == bank)
                    assert value(ctx.get(dut.banks[bank])) == access[winner]
                left -= served
                passes += 1
            ctx.set(dut.lanes_pending, 0)
            assert ctx.get(dut.served) == ctx.get(dut.active) == 0 and passes <= lanes

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
