"""The line fetch: every row of every line once, from the lowest up, and never more than there is room for."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.interfaces.payloads import rows_per_line
from caesura.hw.preempt.save.line_fetch import GROUP, LINE_CREDITS, LineFetch
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, memory_port, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"four rows a line": TINY, "one": with_bus(128)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("four rows a line", 0.0), *((name, 0.5) for name in GEOMETRIES)])


def shared_row(g, row):
    return [1 << 31 | row << 8 | bank for bank in range(g.lanes)]


def items(g, rng, count):
    """Items of one line, of all of a bitmap word, of the last ones; with and without those that are valid."""
    most = min(GROUP, g.shared_lines)
    masks = [1, (1 << most) - 1, 1 << most - 1]
    for k in range(count):
        mask = masks[k] if k < len(masks) else rng.getrandbits(most) or 1
        free = g.shared_lines - mask.bit_length()
        yield {"line": free if k == 2 else rng.randint(0, free), "mask": mask,
               "valid": rng.choice([0, mask, rng.getrandbits(GROUP)])}


def expected_rows(g, item):
    for bit in range(GROUP):
        if item["mask"] >> bit & 1:
            for part in range(rows_per_line(g)):
                row = shared_row(g, (item["line"] + bit) * rows_per_line(g) + part)
                yield row if item["valid"] >> bit & 1 else [0] * g.lanes


def shared_memory(dut, g, rng, stall, asked):
    def read(access):
        assert not access.write
        return shared_row(g, access.row)
    return memory_port(dut.row, dut.row_data, g.lanes, rng, stall, asked, read)


@pytest.mark.parametrize("name, stall", CASES)
def test_rows_come_in_order(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, asked = component(LineFetch, g), []
    todo = list(items(g, rng, 10))
    rows = [row for item in todo for row in expected_rows(g, item)]

    async def sink(ctx):
        for number, row in enumerate(rows):
            assert len(asked) - number <= LINE_CREDITS, "more was read than can be held"
            assert ctx.get(dut.busy) or number == 0
            assert value(await get(ctx, dut.output, rng, stall)) == row
        for _ in range(3):
            await ctx.tick()
        assert not ctx.get(dut.busy) and not ctx.get(dut.output.valid) and len(asked) == len(rows)

    simulate(dut, put_all(dut.item, todo, rng, stall), sink,
             watches=[steady(dut.output), steady(dut.row), shared_memory(dut, g, rng, stall, asked)])


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_row_a_cycle(name):
    g, rng = GEOMETRIES[name], random.Random(1)
    dut, times = component(LineFetch, g), []

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for now in range(60):
            times.extend([now] * ctx.get(dut.output.valid))
            await ctx.tick()

    todo = [{"mask": 0b111, "valid": 1}, {"line": 3, "mask": 0b11010, "valid": 2}]
    simulate(dut, put_all(dut.item, todo), sink, watches=[shared_memory(dut, g, rng, 0.0, [])])
    assert len(times) == 6 * rows_per_line(g)
    first, second = times[:len(times) // 2], times[len(times) // 2:]
    for each in (first, second):
        assert each[-1] - each[0] == len(each) - 1, "a bubble within an item"
    assert second[0] - first[-1] <= 2, "more than one cycle between items"
