"""The segment writer: bursts that end at segments and at flushes, offered once all of their beats are there."""

import random

import pytest

from caesura.hw.preempt.save.segment_writer import SegmentWriter
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put, put_all, simulate, steady


@pytest.mark.parametrize("bus", [4, 8, 16, 128])
def test_segment_writer_cuts_at_segments_and_flushes(bus):
    g, rng = with_bus(bus), random.Random(bus)
    units = [(bus * rng.randint(0, 200), rng.randint(0, 30), rng.randint(0, 1)) for _ in range(25)]
    dut = component(SegmentWriter, g)
    expected = []
    for number, (address, beats, final) in enumerate(units):
        open_beats = 0
        for k in range(beats):
            open_beats += 1
            at = address + (k + 1) * bus
            if at % 128 == 0 or k == beats - 1:
                expected.append((at - open_beats * bus, open_beats, number % 2, number // 2 % 2,
                                 final if k == beats - 1 else 0))
                open_beats = 0
    bursts, data, crcs = [], [], []

    async def beats(ctx):
        for number, (_, count, final) in enumerate(units):
            ctx.set(dut.crc, 1000 + number)
            full = (1 << g.bus_words) - 1
            for k in range(count):
                await put(ctx, dut.beat, {"words": [number << 8 | k] * g.bus_words, "strobe": full,
                                          "flush": k == count - 1, "tag": final}, rng, 0.2)
            if not count:
                await put(ctx, dut.beat, {"words": [0] * g.bus_words, "strobe": 0, "flush": 1, "tag": final})

    async def sink(ctx):
        for _ in expected:
            burst = await get(ctx, dut.burst, rng, 0.3)
            bursts.append((burst.address, burst.extra_beats + 1, burst.entry, burst.side, burst.final))
            crcs.extend([burst.crc] * burst.final)
            for k in range(burst.extra_beats + 1):
                assert k == 0 or ctx.get(dut.data.valid), "a burst was offered before all of its beats were there"
                beat = await get(ctx, dut.data)
                assert beat.strobe == (1 << bus) - 1
                data.append(beat.data & 0xFFFF_FFFF)

    jobs = [{"address": address, "entry": number % 2, "side": number // 2 % 2}
            for number, (address, _, _) in enumerate(units)]
    simulate(dut, put_all(dut.job, jobs), beats, sink, watches=[steady(dut.burst), steady(dut.data)])
    assert bursts == expected
    assert crcs == [1000 + number for number, (_, count, final) in enumerate(units) if final and count]
    assert data == [number << 8 | k for number, (_, count, _) in enumerate(units) for k in range(count)]


@pytest.mark.parametrize("bus", [8, 16, 64])
def test_words_that_are_not_written_have_no_strobe(bus):
    g = with_bus(bus)
    dut, words = component(SegmentWriter, g), g.bus_words
    strobes = [1, (1 << words) - 1, 1 << words - 1]

    async def sink(ctx):
        burst = await get(ctx, dut.burst)
        assert (burst.address, burst.extra_beats, burst.entry, burst.final) == (128 - 2 * bus, 1, 1, 0)
        last = await get(ctx, dut.burst)
        assert (last.address, last.extra_beats, last.entry, last.final) == (128, 0, 1, 1)
        for strobe in strobes:
            beat = await get(ctx, dut.data)
            assert beat.strobe == sum(15 << 4 * k for k in range(words) if strobe >> k & 1)

    simulate(dut, put_all(dut.job, [{"address": 128 - 2 * bus, "entry": 1}]),
             put_all(dut.beat, [{"words": [5] * words, "strobe": strobe, "flush": k == 2, "tag": 1}
                                for k, strobe in enumerate(strobes)]), sink)
