"""The entry buffer: which entries can be resumed, what makes one bad, and each of them read back."""

import random

import pytest

from caesura.hw.arch.context import CCB_ENTRY, PATTERN_WORDS, VERSION, State, to_words
from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.restore.entry_buffer import ENTRY_ROWS, ENTRY_WORDS, EntryBuffer
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

G = preset("tiny").replace(warps=6, tb_slots=5)
ACCEPTED = {"registers": 13, "warps": 5, "pag": 8, "area_bytes": 0x1000}
WRONG = {
    "version": lambda entry: {"version": VERSION + 1},
    "geometry": lambda entry: {"geometry_hash": G.hash ^ 1 << 31},
    "registers": lambda entry: {"registers": 12},
    "more registers": lambda entry: {"registers": 13 | 128},
    "warps": lambda entry: {"warps": 4},
    "pattern group": lambda entry: {"pag": 16},
    "a warp that is not": lambda entry: {"live_warps": 1 << 5},
    "the last warp that is not": lambda entry: {"live_warps": 1 << 31},
    "longer than its area": lambda entry: {"length": 0x1004},
    "much longer than its area": lambda entry: {"length": 1 << 31},
    "half a word": lambda entry: {"length": entry["length"] + 2},
    "too short for its table": lambda entry: {"live_warps": 0b11111, "length": 4 * (5 * PATTERN_WORDS - 1)},
    "not at a segment": lambda entry: {"register_image": entry["register_image"] + 64},
}
LIMITS = {
    "a whole area": {"length": 0x1000}, "a table and nothing else": {"live_warps": 0b11111, "length": 80},
    "no warp": {"live_warps": 0, "length": 0}, "all warps": {"live_warps": 0b11111, "length": 500},
}


def entry_of(rng, state, **changes):
    entry = {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}, "state": state, "version": VERSION,
             "geometry_hash": G.hash, "register_image": 128 * rng.getrandbits(25), "live_warps": rng.getrandbits(5),
             "length": 4 * rng.randint(5 * PATTERN_WORDS, 0x400), "registers": 13, "warps": 5, "pag": 8}
    return {**entry, **changes}


def entries_of(rng, complete):
    """Entries of which those in `complete` are good; of the others nothing but the state need make sense."""
    states = (State.FREE, State.SAVING, State.DEMOTED, State.BASE, 0x82)
    return [entry_of(rng, State.COMPLETE) if number in complete else
            {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}, "state": rng.choice(states)}
            for number in range(G.tb_slots)]


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
    for _ in range(2):
        assert ctx.get(dut.full) and ctx.get(dut.take) == 0, "more was taken than the entries"
        await ctx.tick()


def run(*scenarios):
    """Check each list of entries: (entries, complete ones, whether one is bad)."""
    dut, rng = component(EntryBuffer, G), random.Random(len(scenarios))

    async def bench(ctx):
        ctx.set(dut.accepted, ACCEPTED)
        for entries, complete, bad in scenarios:
            await fill(ctx, dut, rng, entries)
            assert ctx.get(dut.complete) == sum(1 << k for k in complete)
            assert ctx.get(dut.bad) == bad
            for number in rng.sample(range(G.tb_slots), 2):
                ctx.set(dut.select, number)
                ctx.set(dut.load, 1)
                await ctx.tick()
                ctx.set(dut.load, 0)
                for _ in range(ENTRY_ROWS):
                    assert not ctx.get(dut.loaded)
                    await ctx.tick()
                assert ctx.get(dut.loaded) and value(ctx.get(dut.entry)) == entries[number]

    simulate(dut, bench)


def test_only_complete_entries_count():
    rng = random.Random(1)
    sets = [set(), {0}, {4}, {1, 3}, set(range(5)), {0, 1, 2}]
    run(*((entries_of(rng, complete), complete, 0) for complete in sets))


@pytest.mark.parametrize("place", [0, 2, 4])
def test_one_wrong_field_makes_a_complete_entry_bad(place):
    rng, scenarios = random.Random(place), []
    for change in WRONG.values():
        entries = entries_of(rng, {0, 2, 4})
        entries[place].update(change(entries[place]))
        scenarios.append((entries, {0, 2, 4}, 1))
        demoted = [dict(entry) for entry in entries]
        demoted[place]["state"] = State.DEMOTED
        scenarios.append((demoted, {0, 2, 4} - {place}, 0))
    run(*scenarios)


def test_what_is_just_allowed():
    rng = random.Random(7)
    run(*(([*entries_of(rng, {0, 1})[:4], entry_of(rng, State.COMPLETE, **changes)], {0, 1, 4}, 0)
          for changes in LIMITS.values()))
