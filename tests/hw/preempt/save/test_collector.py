"""The collector: rows and compressed words of each item apart, and what is noted of the TB."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.encodings import CODE_BITS, Encoding, encoded_words, encodings_of
from caesura.hw.preempt.save.collector import Collector, rows_ahead
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "32x8": TINY.replace(warp_size=32, regs_per_thread=18),
              "bus of 128": with_bus(128)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.5)]
CASES = quick(EVERY, [("8x8", 0.0), *((name, 0.5) for name in GEOMETRIES)])


class Item:
    """Registers of a warp, and what becomes of them."""

    def __init__(self, g, rng, record, bank, codes):
        self.record, self.bank = record, bank
        of, width = {"record": record, "bank": bank}, max(g.lanes, 2 * g.warp_size // 8)
        self.beats, self.rows, self.words, self.vector, self.count = [], [], [], 0, 0

        def beat(words, code, first, last, tag):
            shared = rng.getrandbits(32)
            self.beats.append({"words": words + [0] * (width - len(words)), "count": len(words), "code": code,
                               "shared": shared, "first": first, "last": last, "tag": tag})
            if code <= Encoding.RANDOM:
                self.rows.append({"words": words, "shared": shared, "code": code, "first": int(first)})

        def some(count):
            return [rng.getrandbits(32) for _ in range(count)]

        for number, (register, code) in enumerate(codes.items()):
            tag = {"register": register, "ends": number == len(codes) - 1, "of": of}
            self.vector |= code << CODE_BITS * register
            self.count += encoded_words(code, g.warp_size)
            if code.by_lane:
                for k in range(g.beats):
                    beat(some(code * g.lanes // 8), code, k == 0, k == g.beats - 1, tag)
            else:
                words = some(encoded_words(code, g.warp_size))
                self.words += words
                beat(words, code, 1, 1, tag)


def kept(row):
    """What counts of a row that is given out."""
    fields = value(row)
    return {**fields, "words": fields["words"][:fields["code"] * len(fields["words"]) // 8]}


def tb(g, rng, bank, records):
    """The items of a TB: all of a kind, one register, as many as there are."""
    known = encodings_of(g.warp_size, g.lanes)
    kinds = [[Encoding.RANDOM], [each for each in known if Encoding.DEAD < each < Encoding.RANDOM],
             [each for each in known if each.group], known]
    items = []
    for record in range(records):
        some = rng.choice([1, rng.randint(1, g.regs_per_thread), g.regs_per_thread])
        registers = sorted(rng.sample(range(g.regs_per_thread), some))
        kind = kinds[(record + bank) % 4]
        items.append(Item(g, rng, record, bank, {r: rng.choice(kind) for r in registers}))
    return items


@pytest.mark.parametrize("name, stall", CASES)
def test_rows_words_and_notes_of_two_tbs(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(Collector, g)
    tbs = [tb(g, rng, bank, g.max_block_warps) for bank in (0, 1)]
    items = [item for each in tbs for item in each]

    async def rows(ctx):
        for item in items:
            for row in item.rows:
                assert kept(await get(ctx, dut.rows, rng, stall)) == row

    async def words(ctx):
        for item in items:
            got, flush = [], 0
            while not flush:
                group = value(await get(ctx, dut.words, rng, stall))
                taken = bin(group["strobe"]).count("1")
                assert group["strobe"] == (1 << taken) - 1 and (taken == g.chunk_words or group["flush"])
                got, flush = got + group["words"][:taken], group["flush"]
            assert got == item.words

    async def counts(ctx):
        await ctx.tick().repeat(700 if stall else 1)  # until no item can be held any more
        for item in items:
            assert await get(ctx, dut.items, rng, stall) == len(item.rows)

    async def notes(ctx):
        """Both TBs are judged when all of their items are in; the first one's place is cleared before the other's."""
        for bank, items in enumerate(tbs):
            await ctx.tick().until(dut.collected[bank].items == len(items))
            assert ctx.get(dut.collected[bank].words) == sum(item.count for item in items)
            for item in items:
                ctx.set(dut.select, {"record": item.record, "bank": bank})
                assert ctx.get(dut.vector) == item.vector
        for bank in (0, 1):
            other = value(ctx.get(dut.collected[1 - bank]))
            ctx.set(dut.clear, 1 << bank)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            assert value(ctx.get(dut.collected[bank])) == {"items": 0, "words": 0}
            assert value(ctx.get(dut.collected[1 - bank])) == other

    simulate(dut, put_all(dut.input, [beat for item in items for beat in item.beats], rng, stall / 2),
             rows, words, counts, notes, watches=[steady(dut.rows), steady(dut.words), steady(dut.items)])


@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_words_of_an_item_are_held_while_its_rows_go(name):
    """The longest words and half as many registers of rows, of which nothing is taken: the item is counted."""
    g, rng = GEOMETRIES[name], random.Random(3)
    dut = component(Collector, g)
    random_registers = min(rows_ahead(g) // g.beats, g.regs_per_thread // 2)
    codes = {r: Encoding.RANDOM if r < random_registers else Encoding.STRIDED_8 for r in range(g.regs_per_thread)}
    item = Item(g, rng, 0, 0, codes)

    async def bench(ctx):
        assert not ctx.get(dut.busy)
        await put_all(dut.input, item.beats)(ctx)
        assert ctx.get(dut.collected[0].items) == 1 and ctx.get(dut.busy)
        assert ctx.get(dut.items.valid) and ctx.get(dut.items.payload) == len(item.rows)
        for row in item.rows:
            assert kept(await get(ctx, dut.rows)) == row
        assert not ctx.get(dut.rows.valid)

    simulate(dut, bench)
