"""Memories of a board under random bursts: contents, responses, rules of the bus; how fast they are."""

import random

import pytest

from caesura.hw.board.block_memory import BlockMemory
from caesura.hw.board.litedram import LiteDramMemory
from caesura.hw.memory.axi import INCREMENTING
from support.hw.buses import with_bus
from support.hw.memory_bench import Master, lite_dram
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

SIZE = 1 << 13
CASES = [(width, stall) for width in (4, 8, 16, 128) for stall in (0.0, 0.3, 0.7)]
CHOSEN = [(4, 0.3), (8, 0.0), (16, 0.7), (128, 0.3)]


@pytest.mark.parametrize("width, stall", quick(CASES, CHOSEN))
def test_on_the_chip(width, stall):
    g = with_bus(width)
    dut = component(BlockMemory, g, SIZE, 4)
    master = Master(g, dut.axi, SIZE, f"{width} {stall}", 150, stall)
    simulate(dut, master.run)


@pytest.mark.parametrize("width, stall", quick(CASES, CHOSEN))
def test_behind_litedram(width, stall):
    g = with_bus(width)
    dut = component(LiteDramMemory, g, SIZE, 4)
    master = Master(g, dut.axi, SIZE, f"{width} {stall}", 150, stall)
    simulate(dut, master.run, watches=[lite_dram(dut.port, width, random.Random(width), stall)], cycles=60000)


@pytest.mark.parametrize("size", [0, -8, 12])
def test_a_size_that_is_none(size):
    with pytest.raises(ValueError, match="size must be a positive multiple"):
        BlockMemory(with_bus(8), size, 3)
    with pytest.raises(ValueError, match="size must be a positive multiple"):
        LiteDramMemory(with_bus(8), size, 3)


def test_a_size_that_is_no_power_of_two():
    g = with_bus(8)
    dut = component(BlockMemory, g, 3 << 12, 4)
    simulate(dut, Master(g, dut.axi, 3 << 12, 5, 150, 0.2).run)


async def _read(ctx, axi, beats, bursts):
    """Read bursts one after the other; return the cycles from the first address that is taken to the first beat, and
    those from there to the last one."""
    for name, value in (("len", beats - 1), ("size", 3), ("burst", INCREMENTING), ("valid", 1)):
        ctx.set(getattr(axi, f"ar{name}"), value)
    ctx.set(axi.rready, 1)
    taken, came, asked = [], [], 0
    for cycle in range(1000):
        _, _, ready, valid = await ctx.tick().sample(axi.arready, axi.rvalid)
        if ready and asked < bursts:
            taken.append(cycle)
            asked += 1
            ctx.set(axi.arvalid, asked < bursts)
        came += [cycle] * valid
        if len(came) == beats * bursts:
            return came[0] - taken[0], came[-1] - came[0]
    raise AssertionError("not all was read")


def test_reads_are_as_fast_as_they_are_said_to_be():
    dut = component(BlockMemory, with_bus(8), SIZE, 4)

    async def bench(ctx):
        assert await _read(ctx, dut.axi, 16, 4) == (2, 4 * 16 - 1)
    simulate(dut, bench)


def test_writes_are_as_fast_as_they_are_said_to_be():
    dut = component(BlockMemory, with_bus(8), SIZE, 4)
    axi = dut.axi

    async def bench(ctx):
        for name, value in (("awlen", 3), ("awsize", 3), ("awburst", INCREMENTING), ("awvalid", 1), ("wvalid", 1)):
            ctx.set(getattr(axi, name), value)
        beats, events = 0, {}
        for cycle in range(20):
            ctx.set(axi.wlast, beats == 3)
            _, _, address, beat, ack = await ctx.tick().sample(axi.awready, axi.wready, axi.bvalid)
            if address and "address" not in events:
                events["address"] = cycle
                ctx.set(axi.awvalid, 0)
            beats += beat
            if beats == 4 and "beat" not in events:
                events["beat"] = cycle
                ctx.set(axi.wvalid, 0)
            if ack:
                assert cycle == events["beat"] + 1 == events["address"] + 5
                return
        raise AssertionError("not acknowledged")
    simulate(dut, bench)
