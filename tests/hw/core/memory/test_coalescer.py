"""The coalescer: the segments of each instruction by the rule of compute capability 1.2, one a cycle."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size
from caesura.hw.core.memory.coalescer import Coalescer
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, steady, value

GEOMETRIES = {"8": preset("tiny"), "16": preset("tiny").replace(warp_size=16)}
SLOTS = 4
KEPT = "warp", "kernel", "base", "pc", "d", "size", "store", "atomic", "function", "writes_d", "local", "slot", "kind"


def some_operation(g, rng):
    """An instruction at the head of the queue, with lanes in one segment, in as many as there are, or anywhere."""
    fault = rng.random() < 0.15
    op = {"warp": rng.randrange(g.warps), "kernel": rng.randrange(g.kernel_slots), "base": rng.randrange(g.registers),
          "pc": rng.getrandbits(25), "d": rng.getrandbits(6), "size": rng.choice(list(Size)),
          "store": rng.getrandbits(1), "atomic": rng.getrandbits(1), "function": rng.getrandbits(4),
          "writes_d": rng.getrandbits(1), "local": rng.getrandbits(1), "slot": rng.randrange(SLOTS),
          "kind": rng.choice(list(Fault)[1:]) if fault else Fault.NONE, "fault_address": rng.getrandbits(32)}
    base, kind = 128 * rng.getrandbits(25), rng.randrange(4)
    address = [{0: base + rng.randrange(128), 1: (base + 128 * lane) & 0xFFFF_FFFF,
                2: (base & ~0x3FF) + rng.randrange(512), 3: rng.getrandbits(32)}[kind] for lane in range(g.warp_size)]
    full = (1 << g.warp_size) - 1
    return op, rng.choice([full, 1 << rng.randrange(g.warp_size), rng.randint(1, full)]), address


def segments_of(op, mask, address):
    """(mask, address) of each segment: that of the lowest lane left, and all that are left in the same one."""
    if op["kind"] != Fault.NONE:
        return [(0, op["fault_address"])]
    left, segments = [lane for lane in range(len(address)) if mask >> lane & 1], []
    while left:
        leader = address[left[0]]
        found = [lane for lane in left if address[lane] // 128 == leader // 128]
        segments.append((sum(1 << lane for lane in found), leader))
        left = [lane for lane in left if lane not in found]
    return segments


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_every_lane_is_in_the_segment_of_the_lowest_lane_left(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(Coalescer, g, SLOTS)
    operations = [some_operation(g, rng) for _ in range(20)]
    expected = [(op, address, *segment, k == len(parts) - 1) for op, mask, address in operations
                for parts in [segments_of(op, mask, address)] for k, segment in enumerate(parts)]

    async def queue(ctx):
        for op, mask, address in operations:
            while rng.random() < stall / 2:
                ctx.set(dut.head.valid, 0)
                await ctx.tick()
            ctx.set(dut.head.valid, 1)
            ctx.set(dut.head.op, op)
            ctx.set(dut.mask, mask)
            ctx.set(dut.address, address)
            starts, advanced = 0, False
            while not advanced:
                _, _, start, advanced = await ctx.tick().sample(dut.start, dut.advance)
                starts += start
            assert starts == 1
        ctx.set(dut.head.valid, 0)

    async def sink(ctx):
        for op, address, mask, leader, last in expected:
            segment = value(await get(ctx, dut.segment, rng, stall))
            assert (segment["mask"], segment["address"], segment["last"]) == (mask, leader, last)
            assert {name: segment[name] for name in KEPT} == {name: op[name] for name in KEPT}
            for lane in range(g.warp_size):
                assert not mask >> lane & 1 or segment["offset"][lane] == address[lane] % 128

    simulate(dut, queue, sink, watches=[steady(dut.segment)])


def test_a_segment_a_cycle():
    g = GEOMETRIES["8"]
    dut = component(Coalescer, g, SLOTS)

    async def bench(ctx):
        ctx.set(dut.segment.ready, 1)
        ctx.set(dut.address, [128 * lane for lane in range(g.warp_size)])
        ctx.set(dut.mask, (1 << g.warp_size) - 1)
        ctx.set(dut.head.valid, 1)
        for number in range(3 * g.warp_size):
            assert ctx.get(dut.start) == (number % g.warp_size == 0)
            assert ctx.get(dut.advance) == (number % g.warp_size == g.warp_size - 1)
            await ctx.tick()
            assert ctx.get(dut.segment.valid)
            assert ctx.get(dut.segment.payload.mask) == 1 << number % g.warp_size

    simulate(dut, bench)
