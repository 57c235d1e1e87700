"""Valid and dirty bits of the lines of shared memory, against two sets."""

import random

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.arch.geometry import preset
from caesura.hw.core.memory.line_state import LineState, look_up_bit
from support.hw.simulation import component
from support.hw.stream_bench import simulate


@pytest.mark.parametrize("lines", [1, 33])
def test_lines_are_marked_and_cleared_and_cleaned(lines):
    g, rng = preset("tiny").replace(shared_bytes=128 * lines), random.Random(lines)
    dut = component(LineState, g)

    async def bench(ctx):
        valid, dirty = set(), set()
        for _ in range(80):
            mark, line = rng.random() < 0.6, rng.randrange(lines)
            ctx.set(dut.mark, {"valid": mark, "line": line})
            for port, kinds in ((dut.clear, (valid, dirty)), (dut.clean, (dirty,))):
                goes, first = rng.random() < 0.15, rng.randrange(lines)
                count = rng.choice([0, 1, lines - first, rng.randint(0, lines - first)])
                ctx.set(port, {"valid": goes, "first": first, "count": count})
                if goes:
                    for kind in kinds:
                        kind -= set(range(first, first + count))
            await ctx.tick()
            if mark:
                valid.add(line)
                dirty.add(line)
            assert ctx.get(dut.valid) == sum(1 << k for k in valid)
            assert ctx.get(dut.dirty) == sum(1 << k for k in dirty)

    simulate(dut, bench)


@pytest.mark.parametrize("width", [5, 33])
def test_one_bit_of_many(width):
    m, vector, position, bit, tick = Module(), Signal(width), Signal(7), Signal(), Signal()
    look_up_bit(m, bit, vector, position)
    m.d.sync += tick.eq(~tick)
    number = random.Random(width).getrandbits(width)

    async def bench(ctx):
        ctx.set(vector, number)
        for k in range(width):
            ctx.set(position, k)
            assert ctx.get(bit) == number >> k & 1

    simulate(m, bench)
