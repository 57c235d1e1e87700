"""The row writer: rows by four words or a bus beat, and the expander's rows between them, none changed or lost."""

import random

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.encodings import Encoding, decode, encoded_words, encodings_of
from caesura.hw.preempt.restore.row_writer import RowWriter
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value

TINY = preset("tiny")
GEOMETRIES = {"8 lanes": TINY, "4 lanes": TINY.replace(lanes=4),
              "bus of 32": TINY.replace(bus_bytes=32, bytes_per_cycle=32.0),
              "32 lanes": TINY.replace(warp_size=32, lanes=32),
              "bus of 128": with_bus(128)}


def chunks_of(g, rng, code, place, kept, shared, headed):
    """The chunks of what was kept of a row; `shared` comes with the first if it is `headed`."""
    most, parts = g.chunk_words, range(0, len(kept), g.chunk_words)
    return [{"words": (kept[at:at + most] + [rng.getrandbits(32)] * most)[:most], "part": part, "place": place,
             "completes": at == parts[-1], "code": code, "headed": headed and part == 0,
             "shared": shared if headed and part == 0 else rng.getrandbits(32)} for part, at in enumerate(parts)]


def register(g, rng, code, places):
    """The chunks of a register, and its rows."""
    words = [rng.getrandbits(32) for _ in range(encoded_words(code, g.warp_size))]
    whole = np.array([words + [0] * (g.warp_size - len(words))], np.uint32)
    lanes = decode(np.array([code]), whole, g.lanes)[0].tolist()
    headed, count, chunks = code < Encoding.RANDOM, code * g.lanes // 8, []
    for beat, place in enumerate(places):
        kept = words[headed + count * beat:headed + count * (beat + 1)]
        chunks += chunks_of(g, rng, code, place, kept, words[0], headed and beat == 0)
    return chunks, [lanes[beat * g.lanes:(beat + 1) * g.lanes] for beat in range(g.beats)]


def place_of(rng, g):
    return {"shared": rng.getrandbits(1), "warp": rng.randrange(g.warps), "base": rng.randrange(g.registers),
            "register": rng.randrange(64), "beat": rng.randrange(g.beats), "last": rng.getrandbits(1),
            "row": rng.randrange(g.shared_lines * 32 // g.lanes), "bank": rng.getrandbits(1)}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_rows_come_in_order_each_from_its_side(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, gathered, shared, extra, taken = component(RowWriter, g), [], [], [], []
    chunks, known = [], [each for each in encodings_of(g.warp_size, g.lanes) if each.by_lane]
    for _ in range(60):
        if rng.getrandbits(1):
            place, words = {**place_of(rng, g), "shared": 1}, [rng.getrandbits(32) for _ in range(g.lanes)]
            chunks += chunks_of(g, rng, Encoding.RANDOM, place, words, 0, False)
            shared.append((place["row"], words))
        else:
            places = [{**place_of(rng, g), "shared": 0} for _ in range(g.beats)]
            more, rows = register(g, rng, rng.choice(known), places)
            chunks += more
            gathered += [({name: place[name] for name in ("warp", "base", "register", "beat", "last")}, words)
                         for place, words in zip(places, rows, strict=True)]
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
        first, second = ({"words": words, "code": Encoding.RANDOM, "part": part, "completes": part, "place": place}
                         for part, words in enumerate(([1, 2, 3, 4], [5, 6, 7, 8])))
        ctx.set(dut.chunk.payload, first)
        assert ctx.get(dut.chunk.ready)
        await ctx.tick()
        assert not ctx.get(dut.pending)
        ctx.set(dut.chunk.payload, second)
        await ctx.tick()
        ctx.set(dut.chunk.payload, {**first, "words": [9, 10, 11, 12]})
        assert ctx.get(dut.chunk.ready), "the next row cannot begin"
        await ctx.tick()
        ctx.set(dut.chunk.payload, second)
        for _ in range(3):
            await ctx.tick()
            assert ctx.get(dut.restore_write.valid) and ctx.get(dut.pending) == 2
            assert list(ctx.get(dut.restore_write.payload.data)) == list(range(1, g.lanes + 1))
            assert not ctx.get(dut.chunk.ready)
        ctx.set(dut.restore_write.ready, 1)
        assert ctx.get(dut.chunk.ready)
        await ctx.tick()
        ctx.set(dut.chunk.valid, 0)
        assert list(ctx.get(dut.restore_write.payload.data)) == [9, 10, 11, 12, 5, 6, 7, 8], "gathered meanwhile"
        assert ctx.get(dut.pending) == 2
        await ctx.tick()
        assert not ctx.get(dut.pending)

    simulate(dut, bench)
