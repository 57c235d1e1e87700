"""The register fetch: every row of every item once, in order, and never more than there is room for."""

import random

import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.preempt.save.register_fetch import ROW_CREDITS, RegisterFetch
from support.hw.lockstep import lockstep, noise
from support.hw.simulation import component
from support.hw.stream_bench import get, memory_port, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "32x8": TINY.replace(warp_size=32)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("8x8", 0.0), *((name, 0.5) for name in GEOMETRIES)])


def register_row(g, warp, base, register, beat):
    """Words of a beat, any bits."""
    rng = random.Random(f"{warp} {base} {register} {beat}")
    return [rng.getrandbits(32) for _ in range(g.lanes)]


def items(g, rng, count):
    """Items with one bit, with all, with odd numbers of them; with and without those that are valid."""
    masks = [1, 1 << MAX_REGISTERS - 1, 5, (1 << g.regs_per_thread) - 1, 0, (1 << MAX_REGISTERS) - 1]
    for k in range(count):
        some = rng.getrandbits(MAX_REGISTERS) & rng.getrandbits(MAX_REGISTERS)
        mask = masks[k] if k < len(masks) else some & rng.choice([(1 << g.regs_per_thread) - 1, some << 7 | 2])
        yield {"warp": rng.randrange(g.warps), "base": rng.randrange(g.registers),
               "mask": mask, "valid": rng.choice([0, mask, rng.getrandbits(64)]), "raw": rng.getrandbits(1),
               "scramble": rng.getrandbits(1), "counted": rng.getrandbits(g.warp_size), "opens": rng.getrandbits(1),
               "stays": rng.getrandbits(1),
               "of": {"record": rng.randrange(g.max_block_warps), "bank": rng.getrandbits(1)}}


def expected_rows(g, item):
    """The rows of an item; of these that are given out, words and what they belong to."""
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


class Fetch:
    """Which items wait, and what is under way, cycle by cycle."""

    def __init__(self, g):
        self.g, self.queue, self.given, self.expected = g, [], [], []
        self.rows, self.next = [], None  # of the item in hand those that are left; the row that was asked for
        self.credits = ROW_CREDITS

    @property
    def asks(self):
        """What is read, if something is."""
        if not self.rows or not self.credits:
            return None
        item, (register, beat, _) = self.queue[0], self.rows[0]
        return {"warp": item["warp"], "base": item["base"], "register": register, "beat": beat, "stays": item["stays"]}

    @property
    def takes(self):
        """Whether an item is taken: two wait besides the one in hand."""
        return len(self.queue) < 2 or bool(self.rows) and len(self.queue) < 3

    def step(self, item, ready, comes, takes):
        """Go on by a cycle: an item offered, the port's readiness, whether a row comes, and whether one is taken."""
        accepted = item if item is not None and self.takes else None
        go, held = self.asks is not None and ready, bool(self.rows)
        given = bool(self.given) and takes
        if given:
            self.given.pop(0)
        if comes:
            self.given.append(self.next)
        if go:
            self.next = self.rows.pop(0)[2]
        pops = bool(self.queue) and (go and not self.rows if held else not self.queue[0]["mask"])
        if not held and self.queue:
            item, bits = self.queue[0], [k for k in range(MAX_REGISTERS) if self.queue[0]["mask"] >> k & 1]
            places = [(register, beat) for register in bits for beat in range(self.g.beats)]
            self.rows = [(*place, row) for place, row in zip(places, expected_rows(self.g, item), strict=True)]
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
        inputs = {"item.valid": offered is not None, "save_read.ready": ready, "output.ready": takes,
                  "item.payload": offered or noise(rng, dut.item.payload.shape()),
                  "save_data": {"valid": answer is not None, "data": answer or [rng.getrandbits(32)] * g.lanes}}
        outputs = {"item.ready": model.takes, "save_read.valid": model.asks is not None,
                   "output.valid": bool(model.given),
                   "busy": bool(model.queue) or model.credits != ROW_CREDITS}
        asks = model.asks
        if asks is not None:
            outputs["save_read.payload"] = asks
        if model.given:
            outputs["output.payload"] = model.given[0]
        yield inputs, outputs
        taken = offered is not None and model.takes
        went = model.step(offered, ready, answer is not None, takes)
        answer = register_row(g, *(asks[name] for name in ("warp", "base", "register", "beat"))) if went else None
        offered = None if taken else offered


@pytest.mark.parametrize("name", GEOMETRIES)
def test_in_every_cycle_it_does_what_a_model_does(name):
    dut = component(RegisterFetch, GEOMETRIES[name])
    lockstep(dut, fetched(dut, random.Random(name), 300))
