"""The stream checker: the checksum of each checked job, whatever passes between and how slowly they are asked for."""

import random
import zlib

import pytest

from caesura.hw.preempt.restore.stream_checker import StreamChecker, streams_ahead
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, steady


@pytest.mark.parametrize("bus", [4, 8, 16, 128])
def test_each_checked_stream_has_its_checksum(bus):
    g, rng = with_bus(bus), random.Random(bus)
    dut, n = component(StreamChecker, g), bus // 4
    jobs = [([rng.getrandbits(32) for _ in range(rng.choice([1, n, 5, 40]))], k % 2) for k in range(12)]
    taken = []

    def expected(words):
        raw = b"".join(word.to_bytes(4, "little") for word in words)
        return zlib.crc32(raw + bytes(-len(raw) % bus))

    async def source(ctx):
        done = 0
        for words, checked in jobs:
            while checked and done - len(taken) >= streams_ahead(g):
                await ctx.tick()
            for k in range(0, len(words), n):
                count = min(n, len(words) - k)
                ctx.set(dut.beat, {"words": words[k:k + count] + [rng.getrandbits(32)] * (n - count), "count": count,
                                   "last": k + n >= len(words), "checked": checked})
                while rng.random() < 0.3:
                    await ctx.tick()
                ctx.set(dut.beat_taken, 1)
                await ctx.tick()
                ctx.set(dut.beat_taken, 0)
            done += checked

    async def sink(ctx):
        for words, checked in jobs:
            if checked:
                taken.append(await get(ctx, dut.crc, rng, 0.8))
                assert taken[-1] == expected(words)

    simulate(dut, source, sink, watches=[steady(dut.crc)])
