"""The unpacker: the wanted words of beats, in order."""

import random

import pytest

from caesura.hw.preempt.formats.unpacker import Unpacker
from support.hw.simulation import component
from support.hw.stream_bench import put_all, simulate


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_unpacker_gives_wanted_words_only(size, stall):
    rng = random.Random(size + 10)
    beats, words = [], []
    for _ in range(80):
        count = rng.randint(0, size)
        beat = [rng.getrandbits(32) for _ in range(size)]
        beats.append({"words": beat, "count": count})
        words += beat[:count]
    dut = component(Unpacker, size)
    got = []

    async def sink(ctx):
        while len(got) < len(words):
            level = ctx.get(dut.level)
            take = rng.randint(0, level)
            got.extend(ctx.get(dut.words[k]) for k in range(take))
            ctx.set(dut.take, take)
            await ctx.tick()
        ctx.set(dut.take, 0)

    simulate(dut, put_all(dut.beat, beats, rng, stall), sink)
    assert got == words


def test_four_words_are_shown_before_any_is_taken():
    dut = component(Unpacker, 1)

    async def bench(ctx):
        for shown in (1, 2, 3, 4):
            ctx.set(dut.beat.payload, {"words": [shown], "count": 1})
            ctx.set(dut.beat.valid, 1)
            assert ctx.get(dut.beat.ready)
            await ctx.tick()
            assert ctx.get(dut.level) == shown
        assert not ctx.get(dut.beat.ready)
        assert [ctx.get(dut.words[k]) for k in range(4)] == [1, 2, 3, 4]

    simulate(dut, bench)
