"""The row fetch: every row of every item once, from the lowest bit up, and never more than there is room for."""

import random

import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.interfaces.payloads import rows_per_line
from caesura.hw.preempt.save.row_fetch import ROW_CREDITS, RowFetch
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt")

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "32x8": TINY.replace(warp_size=32, shared_bytes=128 * 40)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("8x8", 0.0), *((name, 0.5) for name in GEOMETRIES)])


def register_row(g, warp, base, register, beat):
    return [warp << 28 | base << 16 | register << 8 | beat * g.lanes + lane for lane in range(g.lanes)]


def shared_row(g, row):
    return [1 << 31 | row << 8 | bank for bank in range(g.lanes)]


def items(g, rng, count):
    """Items with one bit, with all, with odd numbers of them; with and without those that are valid."""
    masks = [1, 1 << MAX_REGISTERS - 1, 5, (1 << g.regs_per_thread) - 1]
    for k in range(count):
        mask = masks[k] if k < len(masks) else rng.getrandbits(g.regs_per_thread) & rng.getrandbits(64) or 2
        shared = k >= len(masks) and rng.random() < 0.4
        if shared:
            mask &= (1 << min(32, g.shared_lines) - 1) - 1 or 1
        line = rng.randrange(g.shared_lines - mask.bit_length() + 1) if shared else 0
        yield {"shared": int(shared), "warp": rng.randrange(g.warps), "base": rng.randrange(g.registers), "line": line,
               "mask": mask or 1, "valid": rng.choice([0, mask, rng.getrandbits(64)]), "raw": rng.getrandbits(1),
               "scramble": rng.getrandbits(1), "counted": rng.getrandbits(g.warp_size),
               "of": {"record": rng.randrange(g.max_block_warps), "bank": rng.getrandbits(1)}}


def expected_rows(g, item):
    bits = [k for k in range(MAX_REGISTERS) if item["mask"] >> k & 1]
    for bit in bits:
        for part in range(rows_per_line(g) if item["shared"] else g.beats):
            row = (shared_row(g, (item["line"] + bit) * rows_per_line(g) + part) if item["shared"] else
                   register_row(g, item["warp"], item["base"], bit, part))
            row = row if item["valid"] >> bit & 1 else [0] * g.lanes
            if item["scramble"] and not item["shared"]:
                row = [word if item["counted"] >> part * g.lanes + lane & 1 else word ^ 0xFFFF_FFFF
                       for lane, word in enumerate(row)]
            yield item, bit, part, row, bit == bits[-1]


def answers(dut, g, rng, stall, asked):
    """Return the two memories: each answers a read one cycle after it takes it."""
    def memory(port, answer, read):
        async def watch(ctx):
            while True:
                ctx.set(port.ready, rng.random() >= stall)
                _, _, valid, ready, payload = await ctx.tick().sample(port.valid, port.ready, port.payload)
                ctx.set(answer.valid, valid and ready)
                ctx.set(answer.data, read(payload) if valid and ready else [rng.getrandbits(32)] * g.lanes)
                asked.extend([1] * (valid and ready))
        return watch

    def line(access):
        assert not access.write and not access.clean
        return shared_row(g, access.row)

    return [memory(dut.save_read, dut.save_data,
                   lambda read: register_row(g, read.warp, read.base, read.register, read.beat)),
            memory(dut.row, dut.row_data, line)]


@pytest.mark.parametrize("name, stall", CASES)
def test_rows_come_in_order_with_what_they_belong_to(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, asked = component(RowFetch, g), []
    todo = list(items(g, rng, 12))
    rows = [row for item in todo for row in expected_rows(g, item)]

    async def sink(ctx):
        for number, (item, bit, part, words, ends) in enumerate(rows):
            assert len(asked) - number <= ROW_CREDITS, "more was read than can be held"
            assert ctx.get(dut.busy) or number == 0
            out = value(await get(ctx, dut.output, rng, stall))
            tag = out["tag"]
            assert out["words"] == words and tag["shared"] == item["shared"]
            assert out["raw"] == (item["raw"] | item["shared"]), "shared memory is not compressed"
            if not item["shared"]:
                lanes = item["counted"] >> part * g.lanes & (1 << g.lanes) - 1
                assert (out["counted"], tag["register"], tag["ends"], tag["of"]) == (lanes, bit, ends, item["of"])
        for _ in range(3):
            await ctx.tick()
        assert not ctx.get(dut.busy) and not ctx.get(dut.output.valid) and len(asked) == len(rows)

    simulate(dut, put_all(dut.item, todo, rng, stall), sink,
             watches=[steady(dut.output), steady(dut.save_read), steady(dut.row), *answers(dut, g, rng, stall, asked)])


def test_a_row_a_cycle():
    g, rng = TINY, random.Random(1)
    dut, times = component(RowFetch, g), []

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for now in range(60):
            times.extend([now] * ctx.get(dut.output.valid))
            await ctx.tick()

    todo = [{"mask": (1 << 12) - 1, "valid": 1}, {"shared": 1, "mask": 0b11010, "valid": 2}]
    simulate(dut, put_all(dut.item, todo), sink, watches=answers(dut, g, rng, 0.0, []))
    assert len(times) == 12 + 3 * rows_per_line(g)
    registers, lines = times[:12], times[12:]
    assert registers[-1] - registers[0] == 11 and lines[-1] - lines[0] == 11, "a bubble within an item"
    assert lines[0] - registers[-1] <= 2, "more than one cycle between items"
