"""The register fetch: every row of every item once, in order, and never more than there is room for."""

import random

import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.preempt.save.register_fetch import ROW_CREDITS, RegisterFetch
from support.hw.simulation import component
from support.hw.stream_bench import get, memory_port, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "32x8": TINY.replace(warp_size=32)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("8x8", 0.0), *((name, 0.5) for name in GEOMETRIES)])


def register_row(g, warp, base, register, beat):
    return [warp << 28 | base << 16 | register << 8 | beat * g.lanes + lane for lane in range(g.lanes)]


def items(g, rng, count):
    """Items with one bit, with all, with odd numbers of them; with and without those that are valid."""
    masks = [1, 1 << MAX_REGISTERS - 1, 5, (1 << g.regs_per_thread) - 1]
    for k in range(count):
        mask = masks[k] if k < len(masks) else rng.getrandbits(g.regs_per_thread) & rng.getrandbits(64) or 2
        yield {"warp": rng.randrange(g.warps), "base": rng.randrange(g.registers),
               "mask": mask, "valid": rng.choice([0, mask, rng.getrandbits(64)]), "raw": rng.getrandbits(1),
               "scramble": rng.getrandbits(1), "counted": rng.getrandbits(g.warp_size), "opens": rng.getrandbits(1),
               "of": {"record": rng.randrange(g.max_block_warps), "bank": rng.getrandbits(1)}}


def expected_rows(g, item):
    bits = [k for k in range(MAX_REGISTERS) if item["mask"] >> k & 1]
    for bit in bits:
        for beat in range(g.beats):
            row = register_row(g, item["warp"], item["base"], bit, beat) if item["valid"] >> bit & 1 else [0] * g.lanes
            lanes = item["counted"] >> beat * g.lanes & (1 << g.lanes) - 1
            if item["scramble"]:
                row = [word if lanes >> lane & 1 else word ^ 0xFFFF_FFFF for lane, word in enumerate(row)]
            tag = {"register": bit, "ends": bit == bits[-1], "opens": item["opens"] & (bit == bits[0]),
                   "of": item["of"]}
            yield {"words": row, "counted": lanes, "raw": item["raw"], "tag": tag}


def register_file(dut, g, rng, stall, asked):
    return memory_port(dut.save_read, dut.save_data, g.lanes, rng, stall, asked, lambda read: register_row(
        g, read.warp, read.base, read.register, read.beat))


@pytest.mark.parametrize("name, stall", CASES)
def test_rows_come_in_order_with_what_they_belong_to(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, asked = component(RegisterFetch, g), []
    todo = list(items(g, rng, 12))
    rows = [row for item in todo for row in expected_rows(g, item)]

    async def sink(ctx):
        for number, row in enumerate(rows):
            assert len(asked) - number <= ROW_CREDITS, "more was read than can be held"
            assert ctx.get(dut.busy) or number == 0
            assert value(await get(ctx, dut.output, rng, stall)) == row
        for _ in range(3):
            await ctx.tick()
        assert not ctx.get(dut.busy) and not ctx.get(dut.output.valid) and len(asked) == len(rows)

    simulate(dut, put_all(dut.item, todo, rng, stall), sink,
             watches=[steady(dut.output), steady(dut.save_read), register_file(dut, g, rng, stall, asked)])


def test_a_row_a_cycle():
    g, rng = TINY, random.Random(1)
    dut, times = component(RegisterFetch, g), []

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for now in range(60):
            times.extend([now] * ctx.get(dut.output.valid))
            await ctx.tick()

    todo = [{"mask": (1 << 12) - 1, "valid": 1}, {"mask": 0b11010, "valid": 2}]
    simulate(dut, put_all(dut.item, todo), sink, watches=[register_file(dut, g, rng, 0.0, [])])
    assert len(times) == (12 + 3) * g.beats
    first, second = times[:12 * g.beats], times[12 * g.beats:]
    assert first[-1] - first[0] == len(first) - 1 and second[-1] - second[0] == len(second) - 1, (
        "a bubble within an item")
    assert second[0] - first[-1] <= 2, "more than one cycle between items"
