"""What a resume reads: entries and those of bases, then the streams of the saved ones, those that are needed and not
many more."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import area_address, place_of
from caesura.hw.arch.image.encodings import MAX_ROW_WORDS
from caesura.hw.preempt.formats.packer import WORD_COUNT_BITS
from caesura.hw.preempt.sequence.read_ahead import ReadAhead
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"bus of 4": preset("tiny").replace(bus_bytes=4, bytes_per_cycle=4.0),
              "bus of 16": preset("tiny").replace(bus_bytes=16, warps=12, tb_slots=6, kernel_slots=3),
              "spare entries": preset("tiny").replace(entries=5),
              "bus of 128": preset("gtx480").replace(warps=8, bus_bytes=128, bytes_per_cycle=128.0),
              "no checkpoints": preset("tiny").replace(checkpoints=False, in_place=False)}
ENTRY_WORDS, LIMIT = 16, 400


class Bench:
    """A pass, and the same again: TBs get room one after the other, up to `room` of them; jobs are taken at `pace`."""

    def __init__(self, g, seed, again, room, pace=0.6):
        self.g, self.rng, self.again, self.room, self.pace = g, random.Random(seed), again, room, pace
        self.look = self.rng.getrandbits(g.context_entries) | 1
        self.sides, self.increments = (self.rng.getrandbits(g.context_entries) * g.checkpoints for _ in range(2))
        self.increments *= self.rng.random() < 0.7
        self.completed = self.rng.getrandbits(g.context_entries) * g.in_place * (self.rng.random() < 0.3)
        self.pairs = self.increments | self.completed
        self.row_words = self.rng.randint(1, MAX_ROW_WORDS)
        self.ccb_base, self.area_bytes = 128 * self.rng.randrange(1 << 24), 128 * self.rng.randrange(1 << 17)
        self.extents = [[{"words": self.rng.randint(self.row_words * g.max_block_warps + 1, self.rng.choice(
            (500, (1 << WORD_COUNT_BITS) - 1))),
                          "warps": self.rng.randint(1, g.max_block_warps)} for _ in ("own", "base's")]
                        for _ in range(g.context_entries)]
        self.wanted = [k for k in range(g.context_entries) if self.look >> k & 1]

    def place(self, number, of_base):
        """Which of the CCB's entries one is, or that of its base."""
        return place_of(self.g, number, self.sides >> number & 1 ^ of_base)

    def entries(self, of_base):
        return [{"address": self.ccb_base + 128 * self.place(k, of_base), "words": ENTRY_WORDS, "skip": 0, "checked": 0}
                for k in range(self.g.context_entries)]

    def streams_of(self, number):
        """The reads of an image: those of the base of an increment first."""
        own = self.stream_of(number, 0)
        return self.stream_of(number, 1) + own if self.pairs >> number & 1 else own

    def stream_of(self, number, of_base):
        extent, word = self.extents[number][of_base], self.g.bus_words
        area = area_address(self.g, self.ccb_base, self.area_bytes, self.place(number, of_base)) % (1 << 32)
        before = extent["words"] - self.row_words * extent["warps"]
        skip = before % word
        return [{"address": (area + 4 * (before - skip)) % (1 << 32), "words": extent["words"] - before + skip,
                 "skip": skip, "checked": 0},
                {"address": area, "words": before, "skip": 0, "checked": 1}]

    def run(self):
        """Return the entries whose streams were asked for the second time, and those whose TBs got room."""
        g, rng, dut = self.g, self.rng, component(ReadAhead, self.g)
        expected = self.entries(0) + (self.entries(1) if self.look & self.pairs else [])
        entries = len(expected)
        firsts, ends = [], []  # of each TB that is wanted, its first job and the one after its last
        for k in self.wanted:
            firsts.append(len(expected))
            expected += self.streams_of(k)
            ends.append(len(expected))
        asked, placed = [], []

        def begun():
            return sum(first < len(asked) for first in firsts)

        async def one_pass(ctx):
            asked.clear()
            placed.clear()
            for signal in (dut.tbs_placed, dut.admission_closed, dut.discard):
                ctx.set(signal, 0)
            ctx.set(dut.accepted, {"ccb_base": self.ccb_base, "area_bytes": self.area_bytes, "again": self.again,
                                   "row_words": self.row_words})
            ctx.set(dut.restore_pending, self.look)
            ctx.set(dut.sides, self.sides)
            ctx.set(dut.increments, self.increments)
            ctx.set(dut.completed, self.completed)
            for _ in range(3):
                assert ctx.get(dut.idle) and not ctx.get(dut.read_job.valid), "it was not begun"
                await ctx.tick()
            ctx.set(dut.begin, 1)
            await ctx.tick()
            ctx.set(dut.begin, 0)
            closed, since = False, 0
            for _ in range(LIMIT):
                entry = min(ctx.get(dut.entry_select), g.context_entries - 1)
                ctx.set(dut.extent, self.extents[entry][ctx.get(dut.entry_select_base)])
                ctx.set(dut.read_job.ready, rng.random() < self.pace)
                _, _, job, taken, requested = await ctx.tick().sample(
                    dut.read_job.payload, dut.read_job.valid & dut.read_job.ready, dut.entries_requested)
                assert requested == (len(asked) >= entries)
                if taken:
                    asked.append(value(job))
                assert not self.again or begun() <= len(placed) + 1, "more than one ahead"
                assert not taken or not closed or begun() <= max(len(placed), since), "not needed"
                if len(placed) < min(self.room, len(self.wanted)) and requested and rng.random() < 0.1:
                    placed.append(self.wanted[len(placed)])
                    ctx.set(dut.tbs_placed, sum(1 << k for k in placed))
                elif len(placed) == self.room and rng.random() < 0.1:
                    since = since if closed else begun() + 1  # the one begun ends
                    closed = True
                    ctx.set(dut.admission_closed, 1)
                assert not ctx.get(dut.idle)
            ctx.set(dut.discard, 1)
            for _ in range(4):
                await ctx.tick()
            assert ctx.get(dut.idle)

        async def bench(ctx):
            await one_pass(ctx)
            await one_pass(ctx)

        simulate(dut, bench, cycles=3 * LIMIT)
        assert asked == expected[:len(asked)]
        read = sum(end <= len(asked) for end in ends)
        assert read >= len(placed), "a TB that has room is not read"
        return self.wanted[:read], placed


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("seed", quick(range(6), range(1)))
def test_in_the_first_pass_all_saved_streams_are_read_behind_the_entries(name, seed):
    bench = Bench(GEOMETRIES[name], f"{name} {seed}", 0, 99)
    read, placed = bench.run()
    assert read == placed == bench.wanted


@pytest.mark.parametrize("room", [0, 1, 3])
@pytest.mark.parametrize("seed", quick(range(4), range(2)))
def test_in_a_later_pass_one_more_is_read_than_has_room(room, seed):
    bench = Bench(GEOMETRIES["bus of 16"], f"{room} {seed}", 1, room)
    read, placed = bench.run()
    assert len(placed) <= len(read) <= len(placed) + 1


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_asked_for_any_more_once_no_further_tb_gets_room_and_what_has_room_is(seed):
    bench = Bench(GEOMETRIES["bus of 16"], f"closed {seed}", 0, 2, pace=0.1)
    bench.look = (1 << bench.g.context_entries) - 1
    bench.wanted = list(range(bench.g.context_entries))
    read, placed = bench.run()
    assert read[:len(placed)] == placed and len(read) < len(bench.wanted)
