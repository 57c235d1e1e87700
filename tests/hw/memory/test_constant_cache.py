"""The constant cache: rows of lookups that hit, lines that fail, and what an invalidation forgets."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.memory.constant_cache import ROW_BYTES, ConstantCache
from support.hw.simulation import component
from support.hw.stream_bench import simulate

GEOMETRIES = {"bus of 4": preset("tiny").replace(bus_bytes=4, bytes_per_cycle=4), "bus of 8": preset("tiny"),
              "bus of 16": preset("tiny").replace(bus_bytes=16, constant_lines=4)}


class Memory:
    """Bytes that change with every `version`; the answer to a request is what they were when it was taken."""

    def __init__(self, dut, g, rng):
        self.dut, self.g, self.rng, self.version, self.fails = dut, g, rng, 0, set()
        self.requests = []

    def bytes(self, address, count):
        return bytes((address + k) * 7 + (address + k >> 8) + self.version & 255 for k in range(count))

    async def watch(self, ctx):
        g, port = self.g, self.dut.port
        while True:
            ctx.set(port.request.ready, 1)
            burst, = await ctx.tick().sample(port.request.payload).until(port.request.valid)
            ctx.set(port.request.ready, 0)
            assert burst.address % 128 == 0 and burst.extra_beats == g.burst_beats - 1
            self.requests.append(burst.address)
            line, bad = self.bytes(burst.address, 128), self.rng.randrange(g.burst_beats)
            failing = burst.address in self.fails
            for beat in range(g.burst_beats):
                while self.rng.random() < 0.3:
                    await ctx.tick()
                ctx.set(port.beat.payload, {
                    "data": int.from_bytes(line[beat * g.bus_bytes:][:g.bus_bytes], "little"),
                    "last": beat == g.burst_beats - 1, "error": failing and beat == bad})
                ctx.set(port.beat.valid, 1)
                await ctx.tick().until(port.beat.ready)
                ctx.set(port.beat.valid, 0)


async def look_up(ctx, dut, address):
    """Ask until there is an answer; return the row, or None for an error, and whether it was there at once."""
    ctx.set(dut.request, {"valid": 1, "address": address})
    for cycle in range(200):
        hit, error = ctx.get(dut.hit), ctx.get(dut.error)
        assert not (hit and error)
        await ctx.tick()
        if hit or error:
            ctx.set(dut.request.valid, 0)
            return (ctx.get(dut.row).to_bytes(ROW_BYTES, "little") if hit else None), cycle == 0
    raise TimeoutError("no answer")


@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_lookup_gives_its_row_of_the_line_in_memory(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(ConstantCache, g)
    memory = Memory(dut, g, rng)

    async def bench(ctx):
        held = {}  # by place in the cache
        for number in range(50):
            line = 128 * rng.choice([*range(6), (1 << 25) - 1])
            address, place = line + rng.randrange(128), line // 128 % g.constant_lines
            memory.fails = {line} if held.get(place) != line and rng.random() < 0.2 else set()
            before = len(memory.requests)
            row, at_once = await look_up(ctx, dut, address)
            assert at_once == (held.get(place) == line)
            assert memory.requests[before:] == ([] if at_once else [line])
            held[place] = line
            if memory.fails:
                assert row is None
                held.pop(place)
            else:
                assert row == memory.bytes(address // ROW_BYTES * ROW_BYTES, ROW_BYTES)
                await ctx.tick()
                assert ctx.get(dut.row).to_bytes(ROW_BYTES, "little") == row, "it stays until the next hit"
            if number % 10 == 9:
                memory.version += 1
                ctx.set(dut.invalidate, 1)
                await ctx.tick()
                ctx.set(dut.invalidate, 0)
                held = {}

    simulate(dut, bench, watches=[memory.watch])


def test_a_line_that_is_invalidated_while_it_comes_is_fetched_again():
    g = GEOMETRIES["bus of 8"]
    dut = component(ConstantCache, g)
    memory = Memory(dut, g, random.Random(1))

    async def bench(ctx):
        for wait in (1, 3, 10, 20):
            ctx.set(dut.request, {"valid": 1, "address": 128 * wait})
            before = len(memory.requests)
            await ctx.tick().repeat(wait)
            memory.version += 1
            ctx.set(dut.invalidate, 1)
            assert not ctx.get(dut.hit)
            await ctx.tick()
            ctx.set(dut.invalidate, 0)
            row, _ = await look_up(ctx, dut, 128 * wait)
            assert row == memory.bytes(128 * wait, ROW_BYTES) and 1 <= len(memory.requests) - before <= 2

    simulate(dut, bench, watches=[memory.watch])
