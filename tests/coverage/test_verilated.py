"""The simulator that stands in for Amaranth's says what Amaranth's says, and counts."""

import random

import pytest
from amaranth.hdl import Cat, Value

from caesura.hw.preempt.formats.packer import Packer
from support.coverage.verilated import COUNTED, InsideError, Simulator
from support.hw import simulation
from support.hw.stream_bench import get, put, value


def packed(simulator, dut) -> list:
    """Return what a packer gives out for random chunks, and in which cycle, in a simulator."""
    seen, cycle = [], [0]
    rng, other = random.Random(3), random.Random(4)

    async def chunks(ctx):
        for k in range(40):
            words = [rng.getrandbits(32) for _ in range(4)]
            await put(ctx, dut.chunk, {"words": words, "count": rng.randint(0, 4), "skip": rng.random() < 0.1,
                                       "flush": rng.random() < 0.3 or k == 39, "tag": k}, rng, 0.3)

    async def beats(ctx):
        while not seen or seen[-1][1]["tag"] != 39 or not seen[-1][1]["flush"]:
            beat = await get(ctx, dut.beat, other, 0.4)
            seen.append((cycle[0], value(beat), ctx.get(Cat(dut.beat.valid, dut.chunk.ready))))

    async def count(ctx):
        async for _ in ctx.tick():
            cycle[0] += 1

    run = simulator(dut)
    run.add_clock(1e-6)
    run.add_testbench(chunks)
    run.add_testbench(beats)
    run.add_testbench(count, background=True)
    run.run(limit=2000e-6)
    return seen


@pytest.mark.full
def test_both_simulators_say_the_same_in_the_same_cycles():
    dut = Packer(4, tag=8)
    first = packed(Simulator, dut)
    assert first == packed(simulation.Simulator, Packer(4, tag=8)) and len(first) > 20
    assert first == packed(Simulator, dut), "a run begins with initial values"
    assert any(COUNTED[id(dut)].counted.values())


def run(dut, testbench, limit: float = 100.0):
    simulator = Simulator(dut)
    simulator.add_clock(1.0)
    simulator.add_testbench(testbench)
    simulator.run(limit)


def test_what_is_no_port_is_refused():
    dut = Packer(4, tag=8)
    inside = Value.cast(dut.beat.payload) == 3

    async def look(ctx):
        ctx.get(inside)

    with pytest.raises(InsideError, match="is no port"):
        run(dut, look)


def test_a_run_that_does_not_end_is_ended():
    dut = Packer(4, tag=8)

    async def wait(ctx):
        await ctx.tick().until(dut.beat.valid)

    with pytest.raises(TimeoutError, match=r"not finished after 100\.0 s"):
        run(dut, wait)


def test_a_part_of_an_input_is_written_alone():
    dut = Packer(4, tag=8)

    async def write(ctx):
        ctx.set(dut.chunk.payload, {"words": [1, 2, 3, 4], "count": 4, "tag": 9})
        ctx.set(dut.chunk.payload.words[1], 7)
        ctx.set(dut.chunk.payload.flush, 1)
        ctx.set(dut.chunk.valid, 1)
        await ctx.tick()
        beat = ctx.get(dut.beat.payload)
        assert value(beat) == {"words": [1, 7, 3, 4], "strobe": 15, "flush": 1, "tag": 9}

    run(dut, write)
