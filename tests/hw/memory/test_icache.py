"""The instruction cache: right words, misses, hits under a miss, errors, invalidation."""

import random

import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.hw.memory.icache import InstructionCache


def word_at(address, version=0):
    """Memory contents: a 64-bit word for each address."""
    return (address * 0x9E37_79B9_7F4A_7C15 + version * 0x1234_5678_9ABC_DEF1) & (1 << 64) - 1


class Bench:
    """A cache with a memory of latency `latency`; `failing` lines answer with an error."""

    def __init__(self, g, latency=6, failing=()):
        self.g, self.latency, self.failing = g, latency, set(failing)
        self.dut = InstructionCache(g)
        self.version = 0
        self.fills = []

    async def memory(self, ctx):
        port, size = self.dut.port, self.g.bus_bytes
        while True:
            ctx.set(port.request.ready, 1)
            while not ctx.get(port.request.valid):
                await ctx.tick()
            request = ctx.get(port.request.payload)
            await ctx.tick()
            ctx.set(port.request.ready, 0)
            assert request.address % SEGMENT_BYTES == 0 and request.extra_beats == self.g.burst_beats - 1
            self.fills.append(request.address)
            for _ in range(self.latency):
                await ctx.tick()
            for beat in range(self.g.burst_beats):
                start = request.address + beat * size
                words = word_at(start & ~7, self.version) | word_at((start & ~7) + 8, self.version) << 64
                ctx.set(port.beat.payload, {"data": words >> 8 * (start & 7) & (1 << 8 * size) - 1,
                                            "last": beat == self.g.burst_beats - 1,
                                            "error": beat == 3 and request.address in self.failing})
                ctx.set(port.beat.valid, 1)
                assert ctx.get(port.beat.ready)
                await ctx.tick()
                ctx.set(port.beat.valid, 0)

    async def look_up(self, ctx, address):
        """One lookup; return (hit, error, word)."""
        ctx.set(self.dut.request, {"valid": 1, "address": address})
        await ctx.tick()
        ctx.set(self.dut.request.valid, 0)
        response = ctx.get(self.dut.response)
        assert response.next_valid == ((address + 8) % SEGMENT_BYTES != 0)
        if response.hit and response.next_valid:
            assert response.next_word == word_at(address + 8, self.version)
        return response.hit, response.error, response.word

    async def read(self, ctx, address):
        """Look up until there is an answer; return (error, word, lookups)."""
        for tries in range(1, 4):
            hit, error, word = await self.look_up(ctx, address)
            if hit or error:
                return error, word, tries
            for _ in range(100):
                filled = ctx.get(self.dut.filled)
                await ctx.tick()
                if filled:
                    break
            else:
                raise AssertionError("no fill")
        raise AssertionError("no answer")

    def run(self, testbench):
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self.memory, background=True)
        simulator.add_testbench(testbench)
        simulator.run()


@pytest.mark.parametrize(("name", "bus_bytes"), [("tiny", 8), ("gtx480", 16), ("tiny", 4)])
def test_random_reads_give_the_memory_contents(name, bus_bytes):
    g = preset(name).replace(bus_bytes=bus_bytes, bytes_per_cycle=bus_bytes, icache_lines=4)
    bench = Bench(g)
    rng = random.Random(4)

    async def testbench(ctx):
        hits = 0
        for _ in range(250):
            address = 0x4_0000 + rng.randrange(8) * SEGMENT_BYTES + rng.randrange(16) * 8
            error, word, tries = await bench.read(ctx, address)
            assert (error, word) == (0, word_at(address))
            hits += tries == 1
        assert 50 < hits < 250

    bench.run(testbench)
    assert len(bench.fills) > 20


def test_other_lines_hit_while_a_line_is_filled_and_back_to_back():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        for line in range(3):
            await bench.read(ctx, line * SEGMENT_BYTES)
        assert (await bench.look_up(ctx, 3 * SEGMENT_BYTES))[:2] == (0, 0)
        for k in range(16):
            hit, error, word = await bench.look_up(ctx, 8 * k + SEGMENT_BYTES)
            assert (hit, error, word) == (1, 0, word_at(8 * k + SEGMENT_BYTES))
        assert len(bench.fills) == 4

    bench.run(testbench)


def test_the_line_being_replaced_hits_until_its_first_beat():
    g = preset("tiny")
    bench = Bench(g, latency=20)

    async def testbench(ctx):
        await bench.read(ctx, 0)
        conflicting = g.icache_lines * SEGMENT_BYTES
        assert (await bench.look_up(ctx, conflicting))[0] == 0
        assert (await bench.look_up(ctx, 8))[:2] == (1, 0)
        await ctx.tick().until(bench.dut.port.beat.valid)
        assert (await bench.look_up(ctx, 8))[0] == 0
        assert (await bench.read(ctx, conflicting))[1] == word_at(conflicting)
        assert bench.fills == [0, conflicting]

    bench.run(testbench)


def test_invalidate_forgets_all_lines():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.read(ctx, 64)
        assert (await bench.read(ctx, 72))[1:] == (word_at(72), 1)
        bench.version = 1
        ctx.set(bench.dut.invalidate, 1)
        await ctx.tick()
        ctx.set(bench.dut.invalidate, 0)
        assert (await bench.read(ctx, 72))[1:] == (word_at(72, 1), 2)

    bench.run(testbench)


@pytest.mark.parametrize("delay", range(0, 34, 3))
def test_invalidate_during_a_fill_discards_the_line(delay):
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.look_up(ctx, 64)
        filled = 0
        for cycle in range(60):
            ctx.set(bench.dut.invalidate, cycle == delay)
            filled += ctx.get(bench.dut.filled)
            await ctx.tick()
            bench.version = int(cycle >= delay)
        ctx.set(bench.dut.invalidate, 0)
        assert filled == 1
        error, word, tries = await bench.read(ctx, 64)
        assert (error, word, tries) == (0, word_at(64, 1), 2)

    bench.run(testbench)


def test_a_bus_error_is_reported_and_not_kept():
    bench = Bench(preset("tiny"), failing=[128])

    async def testbench(ctx):
        assert (await bench.read(ctx, 136))[0] == 1
        assert (await bench.look_up(ctx, 128))[:2] == (0, 1)
        assert (await bench.read(ctx, 0))[:2] == (0, word_at(0))
        bench.failing.clear()
        assert (await bench.read(ctx, 136))[:2] == (0, word_at(136))

    bench.run(testbench)
