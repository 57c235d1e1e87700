"""The entry buffer: what makes a saved entry bad, and each of them read back."""

import random

import pytest

from caesura.hw.arch.context import (
    CCB_ENTRY,
    ENTRY_WORDS,
    VERSION,
    Mechanism,
    State,
    entry_crc,
    from_words,
    to_words,
)
from caesura.hw.arch.encodings import row_words
from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.restore.entry_buffer import EntryBuffer
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

G = preset("tiny").replace(warps=6, tb_slots=5)
ROW_WORDS = row_words(13)
ACCEPTED = {"registers": 13, "row_words": ROW_WORDS, "warps": 5, "area_bytes": 0x1000, "ccb_base": 0x8000, "lines": 3}
GENERATION = 0x7654_0000
WRONG = {
    "state": lambda entry: {"state": State.DEMOTED},
    "a reserved bit": lambda entry: {"zero": 1 << 15},
    "generation": lambda entry: {"generation": entry["generation"] ^ 1 << 16},
    "mechanism": lambda entry: {"mechanism": max(Mechanism) + 1},
    "more data than there is": lambda entry: {"data_bytes": entry["length"] + 1},
    "checksum": lambda entry: {"crc": entry["crc"] ^ 1 << 9},
    "shared memory before its area": lambda entry: {"shared_image": entry["register_image"] - 4},
    "shared memory behind its area": lambda entry: {"shared_image": entry["register_image"] + 0x1000},
    "no shared memory": lambda entry: {"shared_image": 0},
    "version": lambda entry: {"version": VERSION + 1},
    "geometry": lambda entry: {"geometry_hash": G.hash ^ 1 << 31},
    "registers": lambda entry: {"registers": 12},
    "more registers": lambda entry: {"registers": 13 | 128},
    "warps": lambda entry: {"warps": 4},
    "none": lambda entry: {"none": 16},
    "a warp that is not": lambda entry: {"live_warps": 1 << 5},
    "the last warp that is not": lambda entry: {"live_warps": 1 << 31},
    "longer than its area": lambda entry: {"length": 0x1004},
    "much longer than its area": lambda entry: {"length": 1 << 31},
    "half a word": lambda entry: {"length": entry["length"] + 2},
    "no longer than its table": lambda entry: {"live_warps": 0b11111, "length": 4 * 5 * ROW_WORDS},
    "no warp": lambda entry: {"live_warps": 0},
    "not at its area": lambda entry: {"register_image": entry["register_image"] + 64},
    "another area": lambda entry: {"register_image": entry["register_image"] + 0x1000},
}
LIMITS = {
    "a whole area": {"length": 0x1000, "data_bytes": 0x1000},
    "a table and a word": {"live_warps": 0b11111, "length": 44, "data_bytes": 44},
    "all warps": {"live_warps": 0b11111, "length": 500, "data_bytes": 0},
}


def entry_of(rng, number, **changes):
    """A good entry but for changes; its checksum is right unless that is changed."""
    area, length = 0x8000 + 128 * (G.tb_slots + 1) + 0x1000 * number, 4 * rng.randint(5 * ROW_WORDS + 1, 0x400)
    entry = {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}, "state": State.COMPLETE,
             "version": VERSION, "zero": 0, "geometry_hash": G.hash, "generation": GENERATION + number,
             "register_image": area, "shared_image": area + 4 * rng.randrange(0x400), "live_warps": rng.randint(1, 31),
             "length": length, "data_bytes": rng.randint(0, length), "registers": 13, "warps": 5, "none": 0,
             "mechanism": rng.choice(list(Mechanism)), **changes}
    return entry if "crc" in changes else {**entry, "crc": entry_crc(to_words(CCB_ENTRY, **entry))}


def entries_of(rng, saved):
    """Entries of which those in `saved` are good; of the others nothing need make sense."""
    return [entry_of(rng, number) if number in saved else
            {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY},
             "state": rng.choice([*State, 2])} for number in range(G.tb_slots)]


async def fill(ctx, dut, rng, entries):
    """Clear the buffer, and give it the entries through what an unpacker shows."""
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)
    words = [word for entry in entries for word in to_words(CCB_ENTRY, **entry)] + [0x55] * 8
    at = 0
    while at < ENTRY_WORDS * len(entries):
        assert not ctx.get(dut.full)
        level = rng.choice([0, 1, 3, 4, 4, 4])
        ctx.set(dut.words, words[at:at + level] + [rng.getrandbits(32)] * (4 - level))
        ctx.set(dut.level, level)
        _, _, taken = await ctx.tick().sample(dut.take)
        assert taken in (0, 4) and taken <= level
        at += taken
    ctx.set(dut.level, 4)
    for late in (0, 1, 2):
        assert (ctx.get(dut.full) or not late) and ctx.get(dut.take) == 0, "more was taken than the entries"
        await ctx.tick()


def extents_of(entries):
    """The lengths of their streams, as the machine remembers them."""
    return [{"words": entry["length"] // 4, "warps": entry["live_warps"].bit_count() & 7} for entry in entries]


def run(*scenarios, extents=None):
    """Check each list of entries: (entries, those saved, whether one of these is bad); lengths as theirs but for
    `extents`."""
    dut, rng = component(EntryBuffer, G), random.Random(len(scenarios))
    listed = []

    async def generations(ctx):
        while True:
            ctx.set(dut.generation, GENERATION + ctx.get(dut.number))
            ctx.set(dut.extent, listed[min(ctx.get(dut.number), len(listed) - 1)] if listed else {})
            await ctx.tick()

    async def bench(ctx):
        ctx.set(dut.accepted, ACCEPTED)
        for entries, saved, bad in scenarios:
            listed[:] = extents or extents_of(entries)
            ctx.set(dut.saved, sum(1 << k for k in saved))
            await fill(ctx, dut, rng, entries)
            assert ctx.get(dut.bad) == bad
            for number in rng.sample(range(G.tb_slots), 2):
                ctx.set(dut.select, number)
                ctx.set(dut.load, 1)
                await ctx.tick()
                ctx.set(dut.load, 0)
                ctx.set(dut.select, rng.randrange(G.tb_slots))
                for _ in range(2):
                    assert value(ctx.get(dut.entry)) == entries[number]
                    await ctx.tick()

    simulate(dut, bench, watches=[generations])


def test_only_saved_entries_count():
    rng = random.Random(1)
    sets = [set(), {0}, {4}, {1, 3}, set(range(5)), {0, 1, 2}]
    run(*((entries_of(rng, saved), saved, 0) for saved in sets))


@pytest.mark.parametrize("place", [0, 2, 4])
def test_one_wrong_field_makes_a_saved_entry_bad(place):
    rng, scenarios = random.Random(place), []
    for change in WRONG.values():
        entries = entries_of(rng, {0, 2, 4})
        good = {name: value for name, value in entries[place].items() if name != "crc"}
        entries[place] = entry_of(rng, place, **good | change(entries[place]))
        scenarios += [(entries, {0, 2, 4}, 1), (entries, {0, 2, 4} - {place}, 0)]
    run(*scenarios)


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_stream_of_another_length_than_was_saved_is_bad(place):
    rng = random.Random(place)
    entries = [entry_of(rng, number) for number in range(G.tb_slots)]
    for changes in ({"words": 1}, {"words": 1 << 9}, {"words": -1}, {"warps": 1}, {"warps": -1}):
        extents = extents_of(entries)
        extents[place] = {name: amount + changes.get(name, 0) for name, amount in extents[place].items()}
        run((entries, {0, 2, 4}, 1), (entries, {0, 2, 4} - {place}, 0), extents=extents)


def test_what_arrives_is_told_with_its_generation_and_length():
    rng, dut, told = random.Random(3), component(EntryBuffer, G), []
    entries = [entry_of(rng, number) for number in range(G.tb_slots)]

    async def listen(ctx):
        while True:
            _, _, arrived, number, found, extent = await ctx.tick().sample(
                dut.arrived, dut.number, dut.found, dut.found_extent)
            if arrived:
                told.append((number, found, value(extent)))

    async def bench(ctx):
        ctx.set(dut.accepted, {**ACCEPTED, "adopt": 1})
        ctx.set(dut.saved, 0b10110)
        await fill(ctx, dut, rng, entries)
        assert ctx.get(dut.bad) == 0

    simulate(dut, bench, watches=[listen])
    assert told == [(k, entries[k]["generation"], extents_of(entries)[k]) for k in (1, 2, 4)]


def test_every_flipped_bit_makes_an_entry_bad():
    rng, scenarios = random.Random(5), []
    for bit in rng.sample(range(CCB_ENTRY.size), 64):
        entries = entries_of(rng, {1})
        words = to_words(CCB_ENTRY, **entries[1])
        words[bit // 32] ^= 1 << bit % 32
        entries[1] = from_words(CCB_ENTRY, words)
        scenarios.append((entries, {1}, 1))
    run(*scenarios)


def test_what_is_just_allowed():
    rng = random.Random(7)
    run(*(([*entries_of(rng, {0, 1})[:4], entry_of(rng, 4, **changes)], {0, 1, 4}, 0) for changes in LIMITS.values()))
