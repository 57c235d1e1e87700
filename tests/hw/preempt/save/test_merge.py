"""The merge: pieces of metadata, each followed by what its tag says, as one stream."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.encodings import Encoding, encodings_of
from caesura.hw.preempt.save.merge import Merge
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "8x4": TINY.replace(lanes=4), "16x16": TINY.replace(warp_size=16, lanes=16),
              "bus of 32": TINY.replace(bus_bytes=32, bytes_per_cycle=32.0),
              "bus of 128": with_bus(128)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.6)]
STREAMS = ("pieces", "lines", "rows", "words", "items", "closing")
CASES = quick(EVERY, [("8x8", 0.0), *((name, 0.6) for name in GEOMETRIES)])


class Streams:
    """What comes in on each stream, and the chunks that have to come out: (words, flush, skip, final)."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.pieces, self.lines, self.rows, self.words, self.items, self.closing = [], [], [], [], [], []
        self.chunks = []

    def some(self, count):
        return [self.rng.getrandbits(32) for _ in range(count)]

    def groups(self, stream, count, **tag):
        """Words in groups, the last of which ends the piece, even if it has none."""
        words, most = self.some(count), self.g.chunk_words
        for at in range(0, max(1, count), most):
            group = words[at:at + most]
            last = at + most >= count
            stream.append({"words": group + [0] * (most - len(group)), "strobe": (1 << len(group)) - 1, "flush": last,
                           **({"tag": tag} if last and tag else {})})
            self.chunks.append((group, 0, 0, 0))

    def row(self, code, first):
        g, shared = self.g, self.some(1)
        row, most = self.some(code * g.lanes // 8), g.chunk_words
        self.rows.append({"words": row + [0] * (g.lanes - len(row)), "shared": shared[0], "code": code, "first": first})
        for at in range(0, len(row), most):
            headed = at == 0 and first and code < Encoding.RANDOM
            self.chunks.append((shared * headed + row[at:at + most], 0, 0, 0))

    def shared_rows(self, count):
        for _ in range(count):
            row, most = self.some(self.g.lanes), self.g.chunk_words
            self.lines.append(row)
            self.chunks += [(row[at:at + most], 0, 0, 0) for at in range(0, len(row), most)]

    def registers(self, count):
        """What is kept of so many rows, of registers in any encoding."""
        known = [each for each in encodings_of(self.g.warp_size, self.g.lanes) if each.by_lane]
        left = count
        while left:
            code = self.rng.choice(known)
            for beat in range(min(left, self.g.beats)):
                self.row(code, beat == 0)
            left -= min(left, self.g.beats)

    def item(self, rows, words):
        self.groups(self.pieces, self.rng.randint(5, 12), registers=1)
        self.registers(rows)
        self.items.append(rows)
        self.groups(self.words, words)

    def close(self, records, ended):
        """A table of `records`, which ends the stream, then an entry's body unless the TB has ended by itself."""
        self.groups(self.pieces, 0, closes=1)
        chunks = [(self.some(4), 0, 0, 0) for _ in range(records - 1)] + [(self.some(4), 1, 0, 0)]
        if not ended:
            chunks += [(self.some(2), 0, 1, 0), (self.some(4), 0, 0, 0), (self.some(2), 1, 0, 1)]
        for k, (words, flush, skip, final) in enumerate(chunks):
            tag = {"final": final, "closed": k == len(chunks) - 1}
            self.closing.append({"words": words + [0] * (4 - len(words)), "count": len(words), "flush": flush,
                                 "skip": skip, "tag": tag})
        self.chunks += chunks


def scenario(g, rng):
    streams = Streams(g, rng)
    for ended in (0, 1, 0):
        for rows, words in ((0, 0), (1, 0), (0, 1), (rng.randint(2, 9), rng.randint(2, 9)), (3, 4), (2, 8)):
            streams.item(rows, words)
        streams.groups(streams.pieces, 5)
        for rows in (0, 1, rng.randint(2, 9)):
            streams.groups(streams.pieces, 1, rows=rows)
            streams.shared_rows(rows)
        streams.close(rng.randint(1, 4), ended)
    return streams


@pytest.mark.parametrize("name, stall", CASES)
def test_everything_comes_in_its_place(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, streams = component(Merge, g), scenario(g, rng)

    async def sink(ctx):
        for words, flush, skip, final in streams.chunks:
            out = value(await get(ctx, dut.chunk, rng, stall))
            assert (out["words"][:out["count"]], out["flush"], out["skip"]) == (words, flush, skip)
            assert not flush or out["tag"]["final"] == final
        assert not ctx.get(dut.chunk.valid)

    # the rows of an item are never later than the first row of the next (`Collector.items`)
    sources = [put_all(getattr(dut, name), getattr(streams, name), rng, 0.0 if name == "items" else stall)
               for name in STREAMS]
    simulate(dut, *sources, sink, watches=[steady(dut.chunk)])


def test_a_chunk_a_cycle():
    g, rng = TINY, random.Random(5)
    dut, streams = component(Merge, g), Streams(g, rng)
    streams.item(6, 12)
    streams.groups(streams.pieces, 1, rows=5)
    streams.shared_rows(5)
    streams.close(3, 0)

    async def sink(ctx):
        await ctx.tick().until(dut.items.valid)
        ctx.set(dut.chunk.ready, 1)
        for number in range(len(streams.chunks)):
            assert ctx.get(dut.chunk.valid), f"a bubble before chunk {number}"
            await ctx.tick()

    simulate(dut, *(put_all(getattr(dut, name), getattr(streams, name)) for name in STREAMS), sink)
