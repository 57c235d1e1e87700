"""Memories of a board under random bursts: contents, responses, rules of the bus; how fast they are."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from caesura.hw.board.block_memory import BlockMemory
from caesura.hw.board.litedram import LiteDramMemory
from caesura.hw.lib.resets import ResetInserter
from caesura.hw.memory.axi import INCREMENTING
from support.hw.buses import with_bus
from support.hw.memory_bench import Master, lite_dram
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

SIZE = 1 << 13
CASES = [(width, stall) for width in (4, 8, 16, 128) for stall in (0.0, 0.3, 0.7)]
CHOSEN = [(8, 0.0)]


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


class Reset(wiring.Component):
    """A memory behind LiteDRAM with a reset of its own, as on a board."""

    def __init__(self, g, size, id_bits):
        self.memory = LiteDramMemory(g, size, id_bits)
        super().__init__({**self.memory.signature.members, "reset": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = ResetInserter(self.reset)(self.memory)
        for name in ("axi", "port"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(self.memory, name))
        return m


class Cut(Exception):
    """The master is gone."""


class CutMaster(Master):
    """One that goes after so many cycles."""

    def __init__(self, *arguments, cycles):
        super().__init__(*arguments)
        self.cycles = cycles

    def offer(self, ctx):
        self.cycles -= 1
        if not self.cycles:
            raise Cut
        super().offer(ctx)


@pytest.mark.parametrize("width, stall", quick(CASES, CHOSEN))
def test_litedram_goes_on_while_the_rest_is_reset(width, stall):
    """What it owes then, and is owed, goes nowhere: contents stay as they are, later bursts are not shifted."""
    g, rng, words = with_bus(width), random.Random(f"{width} {stall}"), {}
    dut = component(Reset, g, SIZE, 4)

    async def bench(ctx):
        for turn in range(12):
            kept = b"".join(words.get(k, 0).to_bytes(width, "little") for k in range(SIZE // width))
            cut = CutMaster(g, dut.axi, SIZE, turn, 1 << 30, stall, cycles=rng.randrange(30, 130))
            cut.kept = bytearray(kept)
            with pytest.raises(Cut):
                await cut.run(ctx)
            for name in ("ar", "aw", "w"):
                ctx.set(getattr(dut.axi, f"{name}valid"), 0)
            ctx.set(dut.reset, 1)
            for _ in range(rng.randrange(1, 4)):
                await ctx.tick()
            ctx.set(dut.reset, 0)
            await ctx.tick()
            master = Master(g, dut.axi, SIZE, f"{width} {turn}", 20, stall)
            master.kept = bytearray(b"".join(words.get(k, 0).to_bytes(width, "little") for k in range(SIZE // width)))
            await master.run(ctx)
    simulate(dut, bench, watches=[lite_dram(dut.port, width, rng, stall, words)], cycles=60000)


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
