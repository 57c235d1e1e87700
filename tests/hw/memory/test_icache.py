"""The instruction cache: right words, misses, hits under a miss, errors, invalidation."""

import random
from collections import deque

import pytest

from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.hw.memory.icache import InstructionCache
from support.hw.simulation import Simulator, component
from support.selection import quick

READS = 100


def word_at(address, version=0):
    """Memory contents: a 64-bit word for each address."""
    return (address * 0x9E37_79B9_7F4A_7C15 + version * 0x1234_5678_9ABC_DEF1) & (1 << 64) - 1


class Bench:
    """A cache with a memory that queues requests and has a latency; `failing` lines answer with an error.

    With `busy` the memory does not take a request in every cycle; if it is `single`, none before it has answered the
    last.
    """

    def __init__(self, g, latency=6, failing=(), busy=False, single=False):
        self.g, self.latency, self.failing, self.single = g, latency, set(failing), single
        self.random = random.Random(7) if busy else None
        self.dut = component(InstructionCache, g)
        self.version = 0
        self.fills = []
        self.now = 0

    async def memory(self, ctx):
        port, last = self.dut.port, self.g.burst_beats - 1
        waiting, beat, held = deque(), 0, None
        while True:
            ready = (self.random is None or self.random.random() < 0.2) and not (self.single and waiting)
            ctx.set(port.request.ready, ready)
            offered = bool(waiting) and waiting[0][0] <= self.now
            ctx.set(port.beat.valid, offered)
            if offered:
                ctx.set(port.beat.payload, self.beat(waiting[0][1], beat))
                if ctx.get(port.beat.ready):
                    beat = (beat + 1) % (last + 1)
                    if not beat:
                        waiting.popleft()
            address = ctx.get(port.request.payload.address) if ctx.get(port.request.valid) else None
            assert held in (None, address), "a request was changed before it was taken"
            held = None if ready else address
            if ready and address is not None:
                assert address % SEGMENT_BYTES == 0 and ctx.get(port.request.payload.extra_beats) == last
                self.fills.append(address)
                waiting.append((self.now + 1 + self.latency, address))
            await ctx.tick()
            self.now += 1

    def beat(self, address, number):
        """A beat of a line, as the memory is now."""
        size = self.g.bus_bytes
        start = address + number * size
        words = word_at(start & ~7, self.version) | word_at((start & ~7) + 8, self.version) << 64
        return {"data": words >> 8 * (start & 7) & (1 << 8 * size) - 1, "last": number == self.g.burst_beats - 1,
                "error": number == 3 and address in self.failing}

    async def settle(self, ctx):
        """Let all that is being filled arrive."""
        await ctx.tick().repeat(2 * (self.latency + self.g.burst_beats))

    async def look_up(self, ctx, address):
        """One lookup; return (hit, error, word)."""
        ctx.set(self.dut.request, {"valid": 1, "address": address})
        await ctx.tick()
        ctx.set(self.dut.request.valid, 0)
        response = ctx.get(self.dut.response)
        assert response.more == min(2, (-address % SEGMENT_BYTES or SEGMENT_BYTES) // 8 - 1)
        if response.hit:
            for k in range(1, response.more + 1):
                assert response.words[k] == word_at(address + 8 * k, self.version)
        return response.hit, response.error, response.words[0]

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


@pytest.mark.parametrize(("name", "bus_bytes", "lines", "busy"), [
    ("tiny", 8, 4, True), ("gtx480", 16, 4, True),
    *(pytest.param(*g, marks=pytest.mark.full) for g in (
        ("tiny", 8, 4, False), ("tiny", 4, 4, True), ("tiny", 8, 2, True),
        ("gtx480", 16, 4, False), ("tiny", 4, 4, False),
        ("tiny", 8, 2, False)))])
def test_random_reads_give_the_memory_contents(name, bus_bytes, lines, busy):
    g = preset(name).replace(bus_bytes=bus_bytes, bytes_per_cycle=bus_bytes, icache_lines=lines)
    bench = Bench(g, busy=busy)
    rng = random.Random(4)

    async def testbench(ctx):
        hits = 0
        for _ in range(READS):
            address = 0x4_0000 + rng.randrange(8) * SEGMENT_BYTES + rng.randrange(16) * 8
            error, word, tries = await bench.read(ctx, address)
            assert (error, word) == (0, word_at(address))
            hits += tries == 1
        assert READS / 10 < hits < READS

    bench.run(testbench)
    assert len(bench.fills) > 20


@pytest.mark.parametrize("bus_bytes, lines", quick(
    [(bus_bytes, lines) for bus_bytes in (4, 16) for lines in (2, 4)], [(16, 2)]))
def test_memory_that_answers_one_request_before_it_takes_the_next(bus_bytes, lines):
    """The line that was missed comes while the next one is asked for."""
    bench = Bench(preset("tiny").replace(bus_bytes=bus_bytes, bytes_per_cycle=bus_bytes, icache_lines=lines),
                  failing=[0x4_0000], single=True)
    rng = random.Random(4)

    async def testbench(ctx):
        for _ in range(READS):
            line = rng.randrange(8)
            address = 0x4_0000 + line * SEGMENT_BYTES + rng.randrange(16) * 8
            error, word, _ = await bench.read(ctx, address)
            assert error == (line == 0) and (error or word == word_at(address))

    bench.run(testbench)
    assert len(bench.fills) > 20


def test_other_lines_hit_while_a_line_is_filled_and_back_to_back():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.read(ctx, 0)
        await bench.settle(ctx)
        assert (await bench.look_up(ctx, 2 * SEGMENT_BYTES))[:2] == (0, 0)
        for k in range(16):
            hit, error, word = await bench.look_up(ctx, 8 * k + SEGMENT_BYTES)
            assert (hit, error, word) == (1, 0, word_at(8 * k + SEGMENT_BYTES))
        assert bench.fills == [line * SEGMENT_BYTES for line in range(4)]

    bench.run(testbench)


def test_the_line_being_replaced_hits_until_its_first_beat():
    g = preset("tiny")
    bench = Bench(g, latency=20)

    async def testbench(ctx):
        await bench.read(ctx, 0)
        await bench.settle(ctx)
        conflicting = g.icache_lines * SEGMENT_BYTES
        assert (await bench.look_up(ctx, conflicting))[0] == 0
        assert (await bench.look_up(ctx, 8))[:2] == (1, 0)
        await ctx.tick().until(bench.dut.port.beat.valid)
        assert (await bench.look_up(ctx, 8))[0] == 0
        assert (await bench.read(ctx, conflicting))[1] == word_at(conflicting)
        assert bench.fills == [0, SEGMENT_BYTES, conflicting, conflicting + SEGMENT_BYTES]

    bench.run(testbench)


def test_invalidate_forgets_all_lines():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.read(ctx, 64)
        assert (await bench.read(ctx, 72))[1:] == (word_at(72), 1)
        await bench.settle(ctx)
        bench.version = 1
        ctx.set(bench.dut.invalidate, 1)
        await ctx.tick()
        ctx.set(bench.dut.invalidate, 0)
        assert (await bench.read(ctx, 72))[1:] == (word_at(72, 1), 2)

    bench.run(testbench)


@pytest.mark.parametrize("line", [0, SEGMENT_BYTES])
@pytest.mark.parametrize("delay", quick(range(46), range(1, 46, 4)))
def test_invalidate_during_a_fill_discards_both_lines(delay, line):
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.look_up(ctx, 64)
        for cycle in range(60):
            ctx.set(bench.dut.invalidate, cycle == delay)
            await ctx.tick()
            bench.version = int(cycle >= delay)
        ctx.set(bench.dut.invalidate, 0)
        assert bench.fills == [0, SEGMENT_BYTES]
        assert (await bench.read(ctx, line))[1:] == (word_at(line, 1), 2)
        for address in range(line, line + SEGMENT_BYTES, 8):
            assert (await bench.read(ctx, address))[1:] == (word_at(address, 1), 1)

    bench.run(testbench)


def test_sequential_code_waits_for_the_memory_once_in_two_lines():
    bench = Bench(preset("tiny"), latency=50)

    async def testbench(ctx):
        waits = []
        for address in range(0, 4 * SEGMENT_BYTES, 8):
            start = bench.now
            error, word, _ = await bench.read(ctx, address)
            assert (error, word) == (0, word_at(address))
            if bench.now - start > bench.latency:
                waits.append(address // SEGMENT_BYTES)
        assert waits == [0, 2]
        assert bench.fills == [line * SEGMENT_BYTES for line in range(4)]

    bench.run(testbench)


@pytest.mark.parametrize(("before", "ahead"), [(1, []), (5, [SEGMENT_BYTES])])
def test_the_next_line_is_not_fetched_if_it_is_there(before, ahead):
    """Line 5 has the slot of line 1, but is another."""
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.read(ctx, before * SEGMENT_BYTES)
        await bench.settle(ctx)
        bench.fills.clear()
        assert (await bench.read(ctx, 0))[1:] == (word_at(0), 2)
        await bench.settle(ctx)
        assert bench.fills == [0, *ahead]
        assert (await bench.read(ctx, SEGMENT_BYTES))[1:] == (word_at(SEGMENT_BYTES), 1)

    bench.run(testbench)


@pytest.mark.parametrize("line", quick([0, 1], [1]))
def test_a_line_asked_for_at_any_time_while_it_comes_is_fetched_once(line):
    """Also in the cycle of its last beat: too early for a hit, and the answer finds no fill under way."""
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        for delay in range(1, 51):
            pair = 2 * delay * SEGMENT_BYTES
            address = pair + line * SEGMENT_BYTES + 120
            bench.fills.clear()
            await bench.look_up(ctx, pair)
            await ctx.tick().repeat(delay)
            assert (await bench.read(ctx, address))[:2] == (0, word_at(address))
            await bench.settle(ctx)
            assert bench.fills == [pair, pair + SEGMENT_BYTES]
            assert await bench.look_up(ctx, address) == (1, 0, word_at(address))

    bench.run(testbench)


@pytest.mark.parametrize("lasting", [False, True])
def test_an_error_of_the_line_fetched_along_is_not_reported(lasting):
    bench = Bench(preset("tiny"), failing=[SEGMENT_BYTES])

    async def testbench(ctx):
        assert (await bench.read(ctx, 0))[:2] == (0, word_at(0))
        await bench.settle(ctx)
        if not lasting:
            bench.failing.clear()
        assert (await bench.look_up(ctx, SEGMENT_BYTES))[:2] == (0, 0)
        await bench.settle(ctx)
        assert bench.fills == [0, SEGMENT_BYTES, SEGMENT_BYTES, 2 * SEGMENT_BYTES]
        hit, error, word = await bench.look_up(ctx, SEGMENT_BYTES)
        assert (hit, error) == (not lasting, lasting)
        assert lasting or word == word_at(SEGMENT_BYTES)
        for address in (0, 2 * SEGMENT_BYTES):
            assert (await bench.look_up(ctx, address)) == (1, 0, word_at(address))

    bench.run(testbench)


def test_a_bus_error_is_reported_and_not_kept():
    bench = Bench(preset("tiny"), failing=[128])

    async def testbench(ctx):
        assert (await bench.read(ctx, 136))[0] == 1
        assert (await bench.look_up(ctx, 128))[:2] == (0, 1)
        assert (await bench.read(ctx, 0))[:2] == (0, word_at(0))
        await bench.settle(ctx)
        bench.failing.clear()
        assert (await bench.read(ctx, 136))[:2] == (0, word_at(136))

    bench.run(testbench)


def test_an_error_of_an_invalidated_fill_is_not_kept():
    bench = Bench(preset("tiny"), failing=[0])

    async def testbench(ctx):
        await bench.look_up(ctx, 0)
        ctx.set(bench.dut.invalidate, 1)
        await ctx.tick()
        ctx.set(bench.dut.invalidate, 0)
        await bench.settle(ctx)
        bench.failing.clear()
        assert (await bench.read(ctx, 0)) == (0, word_at(0), 2)

    bench.run(testbench)
