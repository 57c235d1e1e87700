# amaranth: UnusedElaboratable=no
"""Packer, unpacker, segment writer and segment reader: no word lost, none invented, no bubble."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.lib.stream_queue import StreamQueue
from caesura.hw.preempt.formats.packer import Packer
from caesura.hw.preempt.formats.unpacker import Unpacker
from caesura.hw.preempt.restore.segment_reader import SegmentReader
from caesura.hw.preempt.save.segment_writer import SegmentWriter
from support.hw.simulation import Simulator

TINY = preset("tiny")


def simulate(dut, *benches):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run(limit=20000e-6)


async def put(ctx, port, payload, rng=None, stall=0.0):
    """Transfer one payload into an input stream, perhaps after a pause."""
    while rng and rng.random() < stall:
        await ctx.tick()
    ctx.set(port.payload, payload)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


async def get(ctx, port, rng=None, stall=0.0):
    """Take one payload from an output stream, perhaps after a pause."""
    while rng and rng.random() < stall:
        await ctx.tick()
    ctx.set(port.ready, 1)
    payload, = await ctx.tick().sample(port.payload).until(port.valid)
    ctx.set(port.ready, 0)
    return payload


def groups_of(chunks, size):
    """What a packer has to give for `chunks` of (words, skip, flush): (words or None, flush)."""
    groups, open_words = [], []
    for words, skip, flush in chunks:
        open_words += [None if skip else word for word in words]
        while len(open_words) >= size and not (flush and len(open_words) == size):
            groups.append((open_words[:size], False))
            del open_words[:size]
        if flush:
            groups.append((open_words, True))
            open_words = []
    return groups


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_packer_keeps_every_word_in_order(size, stall):
    rng = random.Random(size)
    chunks = [([rng.getrandbits(32) for _ in range(rng.randint(0, 4))], rng.random() < 0.1, rng.random() < 0.2)
              for _ in range(150)] + [([], False, True)]
    expected, seen = groups_of(chunks, size), []
    dut = Packer(size, tag=8)

    async def source(ctx):
        for number, (words, skip, flush) in enumerate(chunks):
            await put(ctx, dut.chunk, {"words": words + [0] * (4 - len(words)), "count": len(words), "skip": skip,
                                       "flush": flush, "tag": number & 255}, rng, stall)

    async def sink(ctx):
        tags = iter(number & 255 for number, (_, _, flush) in enumerate(chunks) if flush)
        for words, flush in expected:
            group = await get(ctx, dut.beat, rng, stall)
            assert group.flush == flush and (not flush or group.tag == next(tags))
            assert [group.words[k] if group.strobe >> k & 1 else None for k in range(size)] == (
                words + [None] * (size - len(words)))
            seen.append(words)

    simulate(dut, source, sink)
    assert len(seen) == len(expected)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_packer_and_unpacker_pass_a_group_a_cycle(size):
    m = Module()
    m.submodules.packer = packer = Packer(size)
    m.submodules.unpacker = unpacker = Unpacker(size)
    m.d.comb += [unpacker.beat.valid.eq(packer.beat.valid), packer.beat.ready.eq(unpacker.beat.ready),
                 unpacker.beat.payload.words.eq(packer.beat.payload.words), unpacker.beat.payload.count.eq(size),
                 unpacker.take.eq(unpacker.level)]
    taken = []

    async def bench(ctx):
        ctx.set(packer.chunk.payload, {"count": 3})
        ctx.set(packer.chunk.valid, 1)
        for cycle in range(80):
            await ctx.tick()
            taken.append((cycle, ctx.get(unpacker.level)))

    simulate(m, bench)
    rate = sum(level for cycle, level in taken if cycle >= 20) / 60
    assert rate == pytest.approx(min(size, 3), abs=0.1)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_unpacker_gives_wanted_words_only(size):
    rng = random.Random(size + 10)
    beats, words = [], []
    for _ in range(200):
        count = rng.randint(1, size)
        beat = [rng.getrandbits(32) for _ in range(size)]
        beats.append({"words": beat, "count": count})
        words += beat[:count]
    dut = Unpacker(size)
    got = []

    async def source(ctx):
        for beat in beats:
            await put(ctx, dut.beat, beat, rng, 0.2)

    async def sink(ctx):
        while len(got) < len(words):
            level = ctx.get(dut.level)
            take = rng.randint(0, level)
            got.extend(ctx.get(dut.words[k]) for k in range(take))
            ctx.set(dut.take, take)
            await ctx.tick()
        ctx.set(dut.take, 0)

    simulate(dut, source, sink)
    assert got == words


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("block", [Packer, Unpacker])
def test_odd_sizes_are_refused(block, size):
    with pytest.raises(ValueError, match=str(size)):
        block(size)
    with pytest.raises(ValueError, match="depth"):
        StreamQueue(8, 0)


@pytest.mark.parametrize("bus", [4, 8, 16])
def test_segment_writer_cuts_at_segments_and_flushes(bus):
    g, rng = TINY.replace(bus_bytes=bus, bytes_per_cycle=bus), random.Random(bus)
    units = [(bus * rng.randint(0, 200), rng.randint(0, 30), rng.randint(0, 1)) for _ in range(25)]
    dut = SegmentWriter(g)
    expected = []
    for number, (address, beats, final) in enumerate(units):
        open_beats = 0
        for k in range(beats):
            open_beats += 1
            at = address + (k + 1) * bus
            if at % 128 == 0 or k == beats - 1:
                expected.append((at - open_beats * bus, open_beats, number % 2, final if k == beats - 1 else 0))
                open_beats = 0
    bursts, data = [], []

    async def jobs(ctx):
        for number, (address, _, _) in enumerate(units):
            await put(ctx, dut.job, {"address": address, "entry": number % 2})

    async def beats(ctx):
        for number, (_, count, final) in enumerate(units):
            full = (1 << g.bus_words) - 1
            for k in range(count):
                await put(ctx, dut.beat, {"words": [number << 8 | k] * g.bus_words, "strobe": full,
                                          "flush": k == count - 1, "tag": final}, rng, 0.2)
            if not count:
                await put(ctx, dut.beat, {"words": [0] * g.bus_words, "strobe": 0, "flush": 1, "tag": final})

    async def sink(ctx):
        for _ in expected:
            burst = await get(ctx, dut.burst, rng, 0.3)
            bursts.append((burst.address, burst.extra_beats + 1, burst.entry, burst.final))
            for _ in range(burst.extra_beats + 1):
                beat = await get(ctx, dut.data)
                assert beat.strobe == (1 << bus) - 1
                data.append(beat.data & 0xFFFF_FFFF)

    simulate(dut, jobs, beats, sink)
    assert bursts == expected
    assert data == [number << 8 | k for number, (_, count, _) in enumerate(units) for k in range(count)]


@pytest.mark.parametrize("bus", [4, 8, 16])
def test_segment_reader_streams_jobs_back_to_back(bus):
    g, rng = TINY.replace(bus_bytes=bus, bytes_per_cycle=bus, memory_latency=17), random.Random(bus)
    jobs = [(bus * rng.randint(0, 100), rng.randint(0, 70)) for _ in range(12)] + [(0, 400)]
    m = Module()
    m.submodules.reader = dut = SegmentReader(g, 4)
    m.submodules.unpacker = unpacker = Unpacker(g.bus_words)
    wiring.connect(m, dut.beat, unpacker.beat)
    got, arrivals = [], []
    expected = [address // 4 + k for address, words in jobs for k in range(words)]

    async def source(ctx):
        for address, words in jobs:
            await put(ctx, dut.job, {"address": address, "words": words})

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

    simulate(m, source, memory, sink)
    assert got == expected
    last = arrivals[-400 // g.bus_words:]
    assert last[-1] - last[0] == len(last) - 1, "gaps in a long job"
