"""The checksum of the generations of saved entries, for any number of entries."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import generations_crc
from caesura.hw.preempt.sequence.generations_checksum import GenerationsChecksum
from support.hw.simulation import component
from support.hw.stream_bench import simulate


@pytest.mark.parametrize("slots", [1, 2, 5, 8, 32])
def test_it_is_that_of_the_format_one_entry_a_cycle(slots):
    dut, rng = component(GenerationsChecksum, preset("tiny").replace(tb_slots=slots, warps=32)), random.Random(slots)

    async def bench(ctx):
        assert ctx.get(dut.done)
        for _ in range(20):
            saved, of = rng.getrandbits(slots), [rng.getrandbits(32) for _ in range(slots)]
            ctx.set(dut.saved, saved)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            for number in range(slots):
                assert not ctx.get(dut.done) and ctx.get(dut.number) == number
                ctx.set(dut.generation, of[number])
                await ctx.tick()
            assert ctx.get(dut.done)
            expected = generations_crc([each * (saved >> k & 1) for k, each in enumerate(of)])
            await ctx.tick().repeat(rng.randint(1, 3))
            assert ctx.get(dut.crc) == expected

    simulate(dut, bench)
