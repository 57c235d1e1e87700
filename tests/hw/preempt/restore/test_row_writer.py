"""The row writer: rows by four words or a bus beat, and the expander's rows between them, none changed or lost."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.restore.row_writer import RowWriter
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value

TINY = preset("tiny")
GEOMETRIES = {"8 lanes": TINY, "4 lanes": TINY.replace(lanes=4),
              "bus of 32": TINY.replace(bus_bytes=32, bytes_per_cycle=32.0),
              "32 lanes": TINY.replace(warp_size=32, lanes=32),
              "bus of 128": with_bus(128)}


def place_of(rng, g):
    return {"shared": rng.getrandbits(1), "warp": rng.randrange(g.warps), "base": rng.randrange(g.registers),
            "register": rng.randrange(64), "beat": rng.randrange(g.beats), "last": rng.getrandbits(1),
            "row": rng.randrange(g.shared_lines * 32 // g.lanes), "bank": rng.getrandbits(1)}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_rows_come_in_order_each_from_its_side(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, gathered, shared, extra, taken = component(RowWriter, g), [], [], [], []
    chunks = []
    for _ in range(60):
        place, words = place_of(rng, g), [rng.getrandbits(32) for _ in range(g.lanes)]
        chunks += [{"words": words[at:at + g.chunk_words], "place": place} for at in range(0, g.lanes, g.chunk_words)]
        if place["shared"]:
            shared.append((place["row"], words))
        else:
            gathered.append(({name: place[name] for name in ("warp", "base", "register", "beat", "last")}, words))
    for _ in range(60):
        place = {name: part for name, part in place_of(rng, g).items() if name in ("warp", "base", "register", "bank")}
        extra.append({"words": [rng.getrandbits(32) for _ in range(g.lanes)], "beat": rng.randrange(g.beats),
                      "last": rng.getrandbits(1), "dead": rng.random() < 0.2, "tag": {**place, "ends": 0}})

    async def writes(ctx):
        for _ in range(len(gathered) + len(extra)):
            taken.append(value(await get(ctx, dut.restore_write, rng, 0.2)))

    async def lines(ctx):
        for row, words in shared:
            access = value(await get(ctx, dut.row, rng, 0.2))
            assert (access["row"], access["data"], access["write"]) == (row, words, 1)

    simulate(dut, put_all(dut.chunk, chunks, rng, 0.2), put_all(dut.extra, extra, rng, 0.3), writes, lines,
             watches=[steady(dut.restore_write), steady(dut.row)])
    of_extra, noise = iter(extra), set()
    rows = iter(gathered)
    row, beat = next(rows), next(of_extra)
    for each in taken:
        where = {name: each[name] for name in ("warp", "base", "register", "beat", "last")}
        assert each["mask"] == (1 << g.lanes) - 1
        if row and (where, each["data"]) == row:
            row = next(rows, None)
            continue
        assert beat is not None
        assert where == {**{name: beat["tag"][name] for name in ("warp", "base", "register")}, "beat": beat["beat"],
                         "last": beat["last"]}
        if beat["dead"]:
            noise.add(tuple(each["data"]))
        else:
            assert each["data"] == beat["words"]
        beat = next(of_extra, None)
    assert row is None and beat is None and len(noise) == sum(each["dead"] for each in extra)


def test_a_row_of_eight_lanes_takes_two_cycles_and_waits_while_the_next_is_gathered():
    g, dut = TINY, component(RowWriter, TINY)

    async def bench(ctx):
        place = {"register": 3, "last": 1, "bank": 1}
        ctx.set(dut.chunk.valid, 1)
        ctx.set(dut.chunk.payload, {"words": [1, 2, 3, 4], "place": place})
        assert not ctx.get(dut.completes) and ctx.get(dut.chunk.ready)
        await ctx.tick()
        assert ctx.get(dut.completes) and not ctx.get(dut.pending)
        ctx.set(dut.chunk.payload, {"words": [5, 6, 7, 8], "place": place})
        await ctx.tick()
        assert not ctx.get(dut.completes) and ctx.get(dut.chunk.ready), "the next row cannot begin"
        for _ in range(3):
            await ctx.tick()
            assert ctx.get(dut.restore_write.valid) and ctx.get(dut.pending) == 2
            assert list(ctx.get(dut.restore_write.payload.data)) == list(range(1, g.lanes + 1))
            assert ctx.get(dut.completes) and not ctx.get(dut.chunk.ready)
        ctx.set(dut.restore_write.ready, 1)
        assert ctx.get(dut.chunk.ready)
        await ctx.tick()
        assert list(ctx.get(dut.restore_write.payload.data))[:4] == [5, 6, 7, 8], "the row gathered meanwhile"
        assert ctx.get(dut.pending) == 2 and not ctx.get(dut.completes)
        await ctx.tick()
        assert not ctx.get(dut.pending) and ctx.get(dut.completes), "the next row has begun"
        ctx.set(dut.clear, 1)
        ctx.set(dut.chunk.valid, 0)
        await ctx.tick()
        assert not ctx.get(dut.completes)

    simulate(dut, bench)
