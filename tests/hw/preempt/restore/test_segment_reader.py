# amaranth: UnusedElaboratable=no
"""The segment reader: jobs become bursts, as far ahead as there is room, and their words a stream without gaps."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.formats.unpacker import Unpacker
from caesura.hw.preempt.restore.segment_reader import SegmentReader
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady

TINY = preset("tiny")


@pytest.mark.parametrize("bus", [4, 8, 16, 128])
def test_segment_reader_streams_jobs_back_to_back(bus):
    g = with_bus(bus, memory_latency=17)
    rng = random.Random(bus)
    jobs = [(bus * rng.randint(0, 100), rng.randint(0, 70)) for _ in range(12)] + [(0, 400)]
    m = Module()
    m.submodules.reader = dut = SegmentReader(g, 4)
    m.submodules.unpacker = unpacker = Unpacker(g.bus_words)
    wiring.connect(m, dut.beat, unpacker.beat)
    got, arrivals = [], []
    expected = [address // 4 + k for address, words in jobs for k in range(words)]

    async def memory(ctx):
        queue, now = [], 0
        request, beat = dut.port.request, dut.port.beat
        ctx.set(request.ready, 1)
        while True:
            ready = bool(queue) and queue[0][0] <= now
            ctx.set(beat.valid, ready)
            if ready:
                at = queue[0][1]
                ctx.set(beat.payload, {"data": sum((at // 4 + k) << 32 * k for k in range(g.bus_words))})
                arrivals.append(now)
                assert ctx.get(beat.ready), "the bus is held"
                queue.pop(0)
            if ctx.get(request.valid):
                burst = ctx.get(request.payload)
                size = (burst.extra_beats + 1) * bus
                assert burst.address // 128 == (burst.address + size - 1) // 128
                free = max([now + g.memory_latency] + [when + 1 for when, _ in queue[-1:]])
                queue += [(free + k, burst.address + k * bus) for k in range(burst.extra_beats + 1)]
            await ctx.tick()
            now += 1
            if len(got) == len(expected):
                return

    async def sink(ctx):
        while len(got) < len(expected):
            level = ctx.get(unpacker.level)
            got.extend(ctx.get(unpacker.words[k]) for k in range(level))
            ctx.set(unpacker.take, level)
            await ctx.tick()

    simulate(m, put_all(dut.job, [{"address": address, "words": words, "checked": k % 2}
                              for k, (address, words) in enumerate(jobs)]), memory, sink)
    assert got == expected
    last = arrivals[-400 // g.bus_words:]
    assert last[-1] - last[0] == len(last) - 1, "gaps in a long job"


@pytest.mark.parametrize("bus", [4, 16, 128])
def test_no_more_is_requested_than_there_is_room_for(bus):
    g = with_bus(bus)
    dut, beats = component(SegmentReader, g, 2), []

    async def memory(ctx):
        """Answer at once; nobody takes a beat yet."""
        for _ in range(3 * dut.depth):
            while not ctx.get(dut.port.request.valid):
                await ctx.tick()
                if len(beats) >= dut.depth - g.burst_beats and not ctx.get(dut.port.request.valid):
                    return
            burst = await get(ctx, dut.port.request)
            for _ in range(burst.extra_beats + 1):
                ctx.set(dut.port.beat.payload, {"data": len(beats)})
                ctx.set(dut.port.beat.valid, 1)
                assert ctx.get(dut.port.beat.ready), "the bus is held"
                await ctx.tick()
                beats.append(burst.address)
                ctx.set(dut.port.beat.valid, 0)

    async def bench(ctx):
        await memory(ctx)
        assert dut.depth - g.burst_beats < len(beats) <= dut.depth
        for number in range(len(beats)):
            beat = await get(ctx, dut.beat)
            assert beat.words[0] == number and beat.count == g.bus_words

    jobs = [{"address": 0, "words": 0}, {"address": 1280, "words": 4 * dut.depth * g.bus_words}]
    simulate(dut, put_all(dut.job, jobs), bench, watches=[steady(dut.beat), steady(dut.port.request)])


def test_a_failed_beat_is_remembered_until_the_next_command():
    dut = component(SegmentReader, TINY, 4)

    async def bench(ctx):
        port = dut.port
        for error in (0, 1, 0):
            ctx.set(port.beat.payload, {"error": error})
            ctx.set(port.beat.valid, 1)
            assert not ctx.get(dut.error)
            await ctx.tick()
            ctx.set(port.beat.valid, 0)
            assert ctx.get(dut.error) == error
            if error:
                await ctx.tick().repeat(3)
                assert ctx.get(dut.error)
                ctx.set(dut.clear, 1)
                await ctx.tick()
                ctx.set(dut.clear, 0)
        ctx.set(port.beat.payload, {"error": 1})
        await ctx.tick()
        assert not ctx.get(dut.error), "no beat came"

    simulate(dut, bench)


def test_a_reader_of_no_jobs_is_refused():
    with pytest.raises(ValueError, match="not 0"):
        SegmentReader(TINY, 0)
