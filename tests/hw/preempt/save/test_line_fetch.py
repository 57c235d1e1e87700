"""The line fetch: every row of every line once, from the lowest up, and never more than there is room for."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.interfaces.payloads import rows_per_line
from caesura.hw.preempt.save.line_fetch import GROUP, LINE_CREDITS, LineFetch
from support.hw.buses import with_bus
from support.hw.lockstep import lockstep, noise
from support.hw.simulation import component
from support.hw.stream_bench import get, memory_port, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"four rows a line": TINY, "one": with_bus(128)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("four rows a line", 0.5)])


def shared_row(g, row):
    """Words of a row, any bits."""
    rng = random.Random(row)
    return [rng.getrandbits(32) for _ in range(g.lanes)]


def items(g, rng, count):
    """Items of one line, of all of a bitmap word, of the last ones, of none; with and without those that are valid."""
    most = min(GROUP, g.shared_lines)
    masks = [1, (1 << most) - 1, 1 << most - 1, 0, 1 << 31, (1 << 32) - 1, 0x5555_5555, 0xAAAA_AAAA]
    for k in range(count):
        mask = masks[k] if k < len(masks) else rng.getrandbits(32) & rng.getrandbits(32)
        free = g.shared_lines - min(g.shared_lines, mask.bit_length())
        yield {"line": free if k == 2 else rng.randint(0, free), "mask": mask,
               "valid": rng.choice([0, mask, rng.getrandbits(GROUP)])}


def last_row(g):
    """Numbers of rows that a port can say: those beyond shared memory wrap."""
    return 1 << len(LineFetch(g).row.payload.row)


def expected_rows(g, item):
    for bit in range(GROUP):
        if item["mask"] >> bit & 1:
            for part in range(rows_per_line(g)):
                row = shared_row(g, ((item["line"] + bit) * rows_per_line(g) + part) % last_row(g))
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
    todo = list(items(g, rng, 14))
    rows = [row for item in todo for row in expected_rows(g, item)]

    async def sink(ctx):
        for number, row in enumerate(rows):
            assert len(asked) - number <= LINE_CREDITS, "more was read than can be held"
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


class Fetch:
    """Which items wait, and what is under way, cycle by cycle."""

    def __init__(self, g):
        self.g, self.queue, self.left, self.part, self.given = g, [], 0, 0, []
        self.credits, self.zero = LINE_CREDITS, 0

    @property
    def asks(self):
        """The row that is asked for, if one is."""
        if not self.left or not self.credits:
            return None
        lowest = (self.left & -self.left).bit_length() - 1
        return ((self.queue[0]["line"] + lowest) * rows_per_line(self.g) + self.part) % last_row(self.g)

    @property
    def takes(self):
        """Whether an item is taken: two wait besides the one in hand."""
        return len(self.queue) < 2 or bool(self.left) and len(self.queue) < 3

    def step(self, item, ready, answer, takes):
        """Go on by a cycle: an item offered, the port's readiness, a row that comes, and whether one is taken."""
        accepted = item if item is not None and self.takes else None
        go, held = self.asks is not None and ready, bool(self.left)
        lowest = (self.left & -self.left).bit_length() - 1
        rest = self.left & (self.left - 1) if self.left else 0
        last = self.part == rows_per_line(self.g) - 1
        given = bool(self.given) and takes
        if given:
            self.given.pop(0)
        if answer is not None:
            self.given.append([0] * self.g.lanes if self.zero else answer)
        pops = bool(self.queue) and (go and last and not rest if held else not self.queue[0]["mask"])
        if go:
            self.part = 0 if last else self.part + 1
            self.zero = not self.queue[0]["valid"] >> lowest & 1
            if last:
                self.left = rest
        if not held and self.queue:
            self.left = self.queue[0]["mask"]
        if pops:
            self.queue.pop(0)
        if accepted is not None:
            self.queue.append(accepted)
        self.credits += given - go
        return go


def fetched(dut, rng, cycles):
    """Yield items, readiness and answers at any pace, and what is asked for, given out and said."""
    g, model, answer = dut.geometry, Fetch(dut.geometry), None
    todo, offered = items(g, rng, cycles), None
    for cycle in range(cycles):
        eager = cycle // 50 % 3  # items come seldom, rows are taken seldom, or neither
        offered = offered or (next(todo) if eager != 1 or rng.random() < 0.1 else None)
        ready, takes = rng.random() < 0.8, rng.random() < (0.2 if eager == 2 else 0.9)
        inputs = {"item.valid": offered is not None, "row.ready": ready, "output.ready": takes,
                  "item.payload": offered or noise(rng, dut.item.payload.shape()),
                  "row_data": {"valid": answer is not None, "data": answer or [rng.getrandbits(32)] * g.lanes}}
        outputs = {"item.ready": model.takes, "row.valid": model.asks is not None,
                   "output.valid": bool(model.given),
                   "busy": bool(model.queue) or model.credits != LINE_CREDITS}
        asks = model.asks
        if asks is not None:
            outputs["row.payload.row"] = asks
        if model.given:
            outputs["output.payload"] = model.given[0]
        yield inputs, outputs
        taken = offered is not None and model.takes
        answer = shared_row(g, asks) if model.step(offered, ready, answer, takes) else None
        offered = None if taken else offered


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["four rows a line"]))
def test_in_every_cycle_it_does_what_a_model_does(name):
    dut = component(LineFetch, GEOMETRIES[name])
    lockstep(dut, fetched(dut, random.Random(name), 300))
