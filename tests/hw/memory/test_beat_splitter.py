"""The beat splitter: lines of a wide bus in the parts that a cache takes, without ever holding the bus."""

import random

import pytest

from caesura.hw.memory.beat_splitter import CACHE_BEAT_BYTES, LINES_AHEAD, BeatSplitter, cache_geometry
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put, simulate, steady


@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_bus_that_a_cache_takes_is_not_split(width):
    assert cache_geometry(with_bus(width)) == with_bus(width)


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("stall", [0.0, 0.7])
def test_each_line_comes_in_parts_and_the_bus_never_waits(width, stall):
    g, rng = with_bus(width), random.Random(f"{width} {stall}")
    narrow, dut = cache_geometry(g), component(BeatSplitter, g)
    lines = [(128 * rng.getrandbits(24), rng.randbytes(128), rng.choice([None, None, rng.randrange(g.burst_beats)]))
             for _ in range(40)]
    under_way, done = [], []
    assert narrow.bus_bytes == CACHE_BEAT_BYTES

    async def requests(ctx):
        for number, (address, _, _) in enumerate(lines):
            while number - len(done) >= LINES_AHEAD:
                await ctx.tick()
            await put(ctx, dut.cache.request, {"address": address, "extra_beats": narrow.burst_beats - 1})

    async def memory(ctx):
        for address, data, bad in lines:
            burst = await get(ctx, dut.port.request, rng, stall)
            assert (burst.address, burst.extra_beats) == (address, g.burst_beats - 1)
            under_way.append((data, bad))

    async def beats(ctx):
        for _ in lines:
            while not under_way:
                await ctx.tick()
            data, bad = under_way.pop(0)
            for beat in range(g.burst_beats):
                while rng.random() < stall / 2:
                    await ctx.tick()
                ctx.set(dut.port.beat.payload, {
                    "data": int.from_bytes(data[beat * width:][:width], "little"), "last": beat == g.burst_beats - 1,
                    "error": beat == bad})
                ctx.set(dut.port.beat.valid, 1)
                assert ctx.get(dut.port.beat.ready), "the bus is held"
                await ctx.tick()
                ctx.set(dut.port.beat.valid, 0)

    async def parts(ctx):
        for _, data, bad in lines:
            for part in range(narrow.burst_beats):
                beat = await get(ctx, dut.cache.beat, rng, stall)
                at = part * CACHE_BEAT_BYTES
                assert beat.data.to_bytes(CACHE_BEAT_BYTES, "little") == data[at:at + CACHE_BEAT_BYTES]
                assert beat.last == (part == narrow.burst_beats - 1)
                assert beat.error == (bad is not None and at // width == bad)
            done.append(data)

    simulate(dut, requests, memory, beats, parts, watches=[steady(dut.cache.beat)])
    assert len(done) == len(lines)
