"""The entry buffer: what makes a saved entry bad, or the base of one, and each of them read back."""

import copy
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import (
    CCB_ENTRY,
    ENTRY_WORDS,
    VERSION,
    Mechanism,
    State,
    entry_crc,
    from_words,
    places,
    to_words,
)
from caesura.hw.arch.image.encodings import row_words
from caesura.hw.preempt.restore.entry_buffer import EntryBuffer
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

G = preset("tiny").replace(warps=6, tb_slots=5)
ROW_WORDS = row_words(13)
CCB, AREA = 0x8000, 0x1000
AREAS = CCB + 128 * (places(G) + 1)
ACCEPTED = {"registers": 13, "row_words": ROW_WORDS, "warps": 5, "area_bytes": AREA, "ccb_base": CCB, "lines": 3}
GENERATION = 0x7654_0000
WRONG = {
    "a reserved bit": lambda entry: {"zero": 1 << 15},
    "mechanism": lambda entry: {"mechanism": max(Mechanism) + 1},
    "more data than there is": lambda entry: {"data_bytes": entry["length"] + 1},
    "checksum": lambda entry: {"crc": entry["crc"] ^ 1 << 9},
    "version": lambda entry: {"version": VERSION + 1},
    "geometry": lambda entry: {"geometry_hash": entry["geometry_hash"] ^ 1 << 31},
    "registers": lambda entry: {"registers": 12},
    "more registers": lambda entry: {"registers": 13 | 128},
    "warps": lambda entry: {"warps": 4},
    "a bit that means nothing": lambda entry: {"none": 16},
    "a warp that is not": lambda entry: {"live_warps": 1 << 5},
    "the last warp that is not": lambda entry: {"live_warps": 1 << 31},
    "longer than its area": lambda entry: {"length": AREA + 4},
    "much longer than its area": lambda entry: {"length": 1 << 31},
    "half a word": lambda entry: {"length": entry["length"] + 2},
    "no longer than its table": lambda entry: {"live_warps": 0b11111, "length": 4 * 5 * ROW_WORDS, "data_bytes": 0},
    "no warp": lambda entry: {"live_warps": 0},
    "not at its area": lambda entry: {"register_image": entry["register_image"] + 64},
    "another area": lambda entry: {"register_image": entry["register_image"] + AREA},
    "the area on the other side": lambda entry: {
        "register_image": (entry["register_image"] - AREAS + AREA * G.tb_slots) % (AREA * places(G)) + AREAS},
}
NOT_COMPLETE = {
    "demoted": lambda entry: {"state": State.DEMOTED},
    "a base": lambda entry: {"state": State.BASE},
}
NOT_EXPECTED = {
    "generation": lambda entry: {"generation": entry["generation"] ^ 1 << 16},
    "incremental": lambda entry: {"incremental": entry["incremental"] ^ 1},
    "registers": lambda entry: {"registers_stay": entry["registers_stay"] ^ 1},
    "lines": lambda entry: {"lines_stay": entry["lines_stay"] ^ 1},
    "another base": lambda entry: {"base_crc": entry["base_crc"] ^ 1 << 31},
}
NO_INCREMENT = {"a base that it is no increment of": lambda entry: {"base_crc": 1 << 31}}
NO_BASE = {
    "complete": lambda base: {"state": State.COMPLETE},
    "free": lambda base: {"state": State.FREE},
    "nothing there": lambda base: dict.fromkeys(base, 0),
    "an increment itself": lambda base: {"incremental": 1, "base_crc": 1 << 9},
    "an increment of a base with checksum 0": lambda base: {"incremental": 1},
    "it names a base": lambda base: {"base_crc": 1 << 9},
    "without registers": lambda base: {"registers_stay": 1},
    "without lines": lambda base: {"lines_stay": 1},
}
NO_SECOND = {
    "demoted": lambda second: {"state": State.DEMOTED},
    "complete": lambda second: {"state": State.COMPLETE},
    "an increment": lambda second: {"incremental": 1},
    "of another": lambda second: {"base_crc": second["base_crc"] ^ 1 << 7},
    "of none": lambda second: {"base_crc": 0},
    "with other registers": lambda second: {"registers_stay": second["registers_stay"] ^ 1},
    "with other lines": lambda second: {"lines_stay": second["lines_stay"] ^ 1},
}
KINDS = {
    "whole": (0, 0, 0, WRONG | NOT_COMPLETE | NOT_EXPECTED), "increment": (0, 1, 0, NOT_EXPECTED),
    "base": (1, 1, 0, WRONG | NO_BASE), "adopted": (0, 0, 1, WRONG | NOT_COMPLETE | NO_INCREMENT),
    "adopted increment": (0, 1, 1, {"no increment": NOT_EXPECTED["incremental"]}), "adopted base": (1, 1, 1, NO_BASE),
}
"""Whether a base is wrong, whether there is one, whether entries are adopted, and what is wrong."""
LIMITS = {
    "a whole area": {"length": AREA, "data_bytes": AREA},
    "a table and a word": {"live_warps": 0b11111, "length": 44, "data_bytes": 44},
    "all warps": {"live_warps": 0b11111, "length": 500, "data_bytes": 0},
}


def entry_of(rng, g, number, **changes):
    """A good entry, the `number`-th of its CCB, but for changes and its checksum."""
    warps, registers, area = (ACCEPTED[name] for name in ("warps", "registers", "area_bytes"))
    length = 4 * rng.randint(warps * ACCEPTED["row_words"] + 1, 0x400)
    return {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}, "state": State.COMPLETE,
            "version": VERSION, "zero": 0, "geometry_hash": g.hash, "generation": GENERATION + number % g.tb_slots,
            "register_image": ACCEPTED["ccb_base"] + 128 * (places(g) + 1) + area * number, "base_crc": 0,
            "incremental": 0, "registers_stay": 0, "lines_stay": 0, "none": 0,
            "live_warps": rng.randint(1, (1 << warps) - 1), "length": length, "data_bytes": rng.randint(0, length),
            "registers": registers, "warps": warps, "mechanism": rng.choice(list(Mechanism)), **changes}


def sealed(entry, of_base):
    """The entry with the checksum that it was written with; a base that is demoted was complete."""
    was = {"state": State.COMPLETE} if of_base and entry["state"] == State.DEMOTED else {}
    return {**entry, "crc": entry_crc(to_words(CCB_ENTRY, **entry | was))}


class Ccb:
    """What a CCB holds: the entries in `saved` are good, as are the bases, on the other sides, of those in
    `increments`, and the second images of those in `completed`, which says of each whether it is without registers,
    without lines; of the others nothing need make sense. And what the machine remembers: the checksums of bases and of
    what is completed, and how much longer than they are streams should be."""

    def __init__(self, rng, saved, increments=(), g=G, completed=None):
        self.g, self.saved, self.increments, self.longer = g, set(saved), set(increments), {}
        self.completed = completed or {}
        self.sides = rng.getrandbits(g.tb_slots) if g.checkpoints else 0
        self.entries, self.bases = ([
            {**{name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}, "state": rng.choice([*State, 2])}
            for _ in range(g.tb_slots)] for _ in range(2))
        self.crcs = [rng.getrandbits(32) for _ in range(g.tb_slots)]
        for k in saved:
            side = self.sides >> k & 1
            registers, lines = self.completed.get(k, (0, 0))
            flags = {"registers_stay": registers, "lines_stay": lines}
            self.entries[k] = sealed(entry_of(rng, g, k + side * g.tb_slots, incremental=int(k in increments),
                                              **flags), 0)
            if k in self.completed:
                self.crcs[k] = self.entries[k]["crc"]
                second = entry_of(rng, g, k + (1 - side) * g.tb_slots, state=State.BASE, base_crc=self.crcs[k],
                                  generation=rng.getrandbits(32), **flags)
                self.bases[k] = sealed(second, 0)
            if k in increments:
                state, generation = rng.choice([State.BASE, State.DEMOTED]), rng.getrandbits(32)
                base = entry_of(rng, g, k + (1 - side) * g.tb_slots, state=state, generation=generation)
                self.put_base(k, sealed(base, 1))

    def put_base(self, place, base):
        """Have the base that an increment is of."""
        self.bases[place], self.crcs[place] = base, base["crc"]
        self.entries[place] = sealed({**self.entries[place], "base_crc": base["crc"]}, 0)

    def spoiled(self, place, of_base, changes):
        """This CCB with an entry that is changed, or the base of one; all others fit it."""
        other = copy.deepcopy(self)
        entry = {**(self.bases if of_base else self.entries)[place], **changes}
        entry = entry if "crc" in changes else sealed(entry, of_base)
        if of_base and place in self.completed:
            other.bases[place] = entry
        elif of_base:
            other.put_base(place, entry)
        else:
            other.entries[place] = entry
        return other

    def without(self, place):
        """This CCB with one entry less that is saved."""
        other = copy.copy(self)
        other.saved = self.saved - {place}
        return other

    def extent(self, place, of_base):
        """The length of a stream, as the machine remembers it."""
        entry, longer = (self.bases if of_base else self.entries)[place], self.longer.get((place, of_base), {})
        extent = {"words": entry["length"] // 4, "warps": entry["live_warps"].bit_count() & 7}
        return {name: amount + longer.get(name, 0) for name, amount in extent.items()}

    def looked_at(self, adopt):
        """The entries whose bases are read: those that the machine knows to be increments, or that say so."""
        says = {k for k, entry in enumerate(self.entries) if entry["incremental"] & self.g.checkpoints
                or (entry["registers_stay"] | entry["lines_stay"]) & self.g.in_place}
        return self.saved & (says if adopt else {*self.increments, *self.completed})

    def told(self):
        """What is said of each entry and base that counts."""
        of = [(self.entries, k, 0) for k in sorted(self.saved)]
        of += [(self.bases, k, 1) for k in sorted(self.saved & {*self.increments, *self.completed})]
        return [(k, of_base, {
            "generation": entries[k]["generation"], "crc": entries[k]["crc"], "increment": entries[k]["incremental"],
            "base_crc": entries[k]["base_crc"], "extent": self.extent(k, of_base),
            **{name: entries[k][name] for name in ("registers_stay", "lines_stay")}}) for entries, k, of_base in of]


async def fill(ctx, dut, rng, ccb, bases):
    """Clear the buffer, and give it the entries, then those of `bases`, through what an unpacker shows."""
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)
    entries = ccb.entries + ccb.bases * bases
    words = [word for entry in entries for word in to_words(CCB_ENTRY, **entry)] + [0x55] * 8
    at, first = 0, ENTRY_WORDS * len(ccb.entries)
    while at < ENTRY_WORDS * len(entries):
        assert not ctx.get(dut.full)
        assert at >= first or not ctx.get(dut.images_full) | ctx.get(dut.of_base)
        level = rng.choice([0, 1, 3, 4, 4, 4])
        ctx.set(dut.words, words[at:at + level] + [rng.getrandbits(32)] * (4 - level))
        ctx.set(dut.level, level)
        _, _, taken = await ctx.tick().sample(dut.take)
        assert taken in (0, 4) and taken <= level
        at += taken
    ctx.set(dut.level, 4)
    for late in (0, 1, 2):
        assert (ctx.get(dut.full) or not late) and ctx.get(dut.take) == 0, "more was taken than the entries"
        assert ctx.get(dut.images_full) or not ctx.get(dut.full)
        await ctx.tick()


def run(*scenarios, adopt=0, g=G):
    """Check CCBs, each with whether something of it that counts is bad."""
    dut, rng = component(EntryBuffer, g), random.Random(len(scenarios))
    ccb, told = None, []

    async def machine(ctx):
        """What the machine remembers of the entry that arrives, or of its base; with `adopt` only what has arrived."""
        before = None
        while True:
            number, of_base = min(ctx.get(dut.number), g.tb_slots - 1), ctx.get(dut.of_base)
            if ccb and before != (ccb, number, of_base):
                before = ccb, number, of_base
                names, nothing = ccb.entries[number]["base_crc"], rng.getrandbits(32)
                ctx.set(dut.generation, nothing if adopt or of_base else GENERATION + number)
                known = ccb.entries[number]["crc"] if number in ccb.completed else names
                ctx.set(dut.crc, (known if of_base else nothing) if adopt else ccb.crcs[number])
                ctx.set(dut.extent, {} if adopt else ccb.extent(number, of_base))
            _, _, arrived, base, number, found = await ctx.tick().sample(
                dut.image_arrived, dut.base_arrived, dut.number, dut.found)
            if arrived or base:
                told.append((number, base, value(found)))
            if arrived and adopt:
                stays = found.registers_stay | found.lines_stay
                for vector, bit in ((dut.increments, found.increment), (dut.completed, stays),
                                    (dut.without_registers, found.registers_stay),
                                    (dut.without_lines, found.lines_stay)):
                    ctx.set(vector, ctx.get(vector) & ~(1 << number) | bit << number)

    async def bench(ctx):
        nonlocal ccb
        ctx.set(dut.accepted, {**ACCEPTED, "adopt": adopt})
        for ccb, bad in scenarios:
            told.clear()
            ctx.set(dut.saved, sum(1 << k for k in ccb.saved))
            ctx.set(dut.sides, ccb.sides)
            known = sum(1 << k for k in ccb.increments & ccb.saved)
            ctx.set(dut.increments, rng.getrandbits(g.tb_slots) if adopt else
                    known | rng.getrandbits(g.tb_slots) & ~ctx.get(dut.saved))
            for vector, of in ((dut.completed, ccb.completed),
                               (dut.without_registers, {k for k, (stays, _) in ccb.completed.items() if stays}),
                               (dut.without_lines, {k for k, (_, stays) in ccb.completed.items() if stays})):
                known = sum(1 << k for k in ccb.saved & set(of))
                ctx.set(vector, rng.getrandbits(g.tb_slots) if adopt else
                        known | rng.getrandbits(g.tb_slots) & ~ctx.get(dut.saved))
            bases = ccb.looked_at(adopt)
            await fill(ctx, dut, rng, ccb, bool(bases))
            assert ctx.get(dut.bad) == bad
            assert bad or told == ccb.told()
            shown = [(number, 0) for number in rng.sample(range(g.tb_slots), 2)]
            shown += [(number, 1) for number in rng.sample(range(g.tb_slots), 2) if bases]
            for number, of_base in rng.sample(shown, len(shown)):
                ctx.set(dut.select, number)
                ctx.set(dut.select_base, of_base)
                ctx.set(dut.load, 1)
                await ctx.tick()
                ctx.set(dut.load, 0)
                ctx.set(dut.select, rng.randrange(g.tb_slots))
                ctx.set(dut.select_base, rng.getrandbits(1))
                for _ in range(2):
                    assert value(ctx.get(dut.entry)) == (ccb.bases if of_base else ccb.entries)[number]
                    await ctx.tick()

    simulate(dut, bench, watches=[machine])


@pytest.mark.parametrize("adopt", [0, 1])
def test_only_saved_entries_count(adopt):
    """And only the bases of those of them that are increments."""
    rng = random.Random(1)
    sets = [(set(), ()), ({0}, ()), ({4}, {4}), ({1, 3}, ()), ({1, 3}, {3}), (set(range(5)), ()),
            (set(range(5)), set(range(5))), ({0, 1, 2}, {0, 1}), ({0}, {0}), ({2}, ())]
    run(*((Ccb(rng, saved, increments), 0) for saved, increments in sets), adopt=adopt)


@pytest.mark.parametrize("kind, place", quick(
    [*(("whole", place) for place in (0, 2, 4)), ("base", 0), ("base", 4), ("adopted", 2), ("adopted base", 4),
     ("increment", 0), ("adopted increment", 2)],
    [("whole", 4), ("base", 0), ("adopted", 2), ("adopted base", 4), ("increment", 0), ("adopted increment", 2)]))
def test_one_wrong_field_makes_a_saved_entry_bad(kind, place):
    """Or one of its base."""
    of_base, incremental, adopt, wrong = KINDS[kind]
    rng, scenarios = random.Random(place), []
    for change in wrong.values():
        ccb = Ccb(rng, {0, 2, 4}, {place, (place + 2) % 6} if incremental else ())
        ccb = ccb.spoiled(place, of_base, change((ccb.bases if of_base else ccb.entries)[place]))
        scenarios += [(ccb, 1), (ccb.without(place), 0)]
    run(*scenarios, adopt=adopt)


@pytest.mark.parametrize("adopt", [0, 1])
@pytest.mark.parametrize("place", quick([0, 4], [4]))
def test_a_second_image_is_the_one_that_completes_the_first(place, adopt):
    """One wrong field in it, or another good one."""
    rng, scenarios = random.Random(place), []
    wrong = NO_SECOND | {name: WRONG[name] for name in ("checksum", "warps", "another area", "no warp")}
    for change in wrong.values():
        ccb = Ccb(rng, {0, 2, 4}, {2}, completed={place: rng.choice(((1, 1), (1, 0), (0, 1)))})
        spoiled = ccb.spoiled(place, 1, change(ccb.bases[place]))
        scenarios += [(ccb, 0), (spoiled, 1), (spoiled.without(place), 0)]
    run(*scenarios, adopt=adopt)


@pytest.mark.parametrize("adopt", [0, 1])
def test_a_base_is_the_one_that_its_increment_is_of(adopt):
    """Not another good one."""
    rng, scenarios = random.Random(2), []
    for place in (0, 2, 4):
        ccb = Ccb(rng, {0, 2, 4}, {0, 2})
        other = copy.deepcopy(ccb)
        if place in other.increments:
            other.bases[place] = sealed({**other.bases[place], "generation": rng.getrandbits(32)}, 1)
        scenarios += [(ccb, 0), (other, place in other.increments), (other.without(place), 0)]
    run(*scenarios, adopt=adopt)


@pytest.mark.parametrize("of_base", [0, 1])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_stream_of_another_length_than_was_saved_is_bad(place, of_base):
    rng, scenarios = random.Random(place), []
    for longer in ({"words": 1}, {"words": 1 << 9}, {"words": -1}, {"warps": 1}, {"warps": -1}):
        ccb = Ccb(rng, set(range(G.tb_slots)), {0, 2, 4})
        ccb.longer[place, of_base] = longer
        scenarios += [(ccb, 1), (ccb.without(place), 0)]
    run(*scenarios)


@pytest.mark.parametrize("of_base", [0, 1])
def test_every_flipped_bit_makes_an_entry_bad(of_base):
    rng, scenarios = random.Random(5), []
    for bit in rng.sample(range(CCB_ENTRY.size), 64 >> of_base):
        ccb = Ccb(rng, {1}, {1} if of_base else ())
        entries = ccb.bases if of_base else ccb.entries
        words = to_words(CCB_ENTRY, **entries[1])
        words[bit // 32] ^= 1 << bit % 32
        entries[1] = from_words(CCB_ENTRY, words)
        scenarios.append((ccb, 1))
    run(*scenarios)


@pytest.mark.parametrize("increments, of_base", [((), 0), ({4}, 0), ({4}, 1)])
def test_what_is_just_allowed(increments, of_base):
    rng = random.Random(7)
    run(*((Ccb(rng, {0, 1, 4}, increments).spoiled(4, of_base, changes), 0) for changes in LIMITS.values()))


@pytest.mark.parametrize("adopt", [0, 1])
def test_a_machine_without_checkpoints_takes_no_increment(adopt):
    g, rng = G.replace(checkpoints=False, in_place=False), random.Random(8)
    ccb = Ccb(rng, {0, 2, 4}, g=g)
    run((ccb, 0), (ccb.spoiled(2, 0, {"incremental": 1}), 1), (ccb.spoiled(2, 0, {"base_crc": 1}), 1), adopt=adopt, g=g)


STRICT = ("version", "zero", "geometry_hash", "register_image", "none", "registers", "warps", "base_crc")
"""Fields that have one right value."""


@pytest.mark.parametrize("seed", quick(range(3), [0]))
def test_a_kernel_of_any_size_has_entries_of_its_own_alone(seed, monkeypatch):
    """Any bit of what is expected is inverted, in an entry or a base, or the table is as long as the stream, or not."""
    rng, scenarios = random.Random(f"any size {seed}"), []
    warps, registers = rng.randint(1, 6), rng.randint(1, 64)
    for name, size in (("warps", warps), ("registers", registers), ("row_words", row_words(registers)),
                       ("area_bytes", 128 * rng.randint(32, 1 << 13)), ("ccb_base", 128 * rng.getrandbits(20))):
        monkeypatch.setitem(ACCEPTED, name, size)
    for _ in range(12):
        saved = {k for k in range(G.tb_slots) if rng.random() < 0.8} | {rng.randrange(G.tb_slots)}
        ccb, place = Ccb(rng, saved, {k for k in saved if rng.random() < 0.5}), rng.choice(sorted(saved))
        of_base = place in ccb.increments and rng.getrandbits(1)
        name = rng.choice((*STRICT, *(("generation",) if not of_base else ())))
        entry = (ccb.bases if of_base else ccb.entries)[place]
        flipped = entry[name] ^ 1 << rng.randrange(CCB_ENTRY[name].width)
        live = rng.randint(1, (1 << warps) - 1)
        table = 4 * live.bit_count() * row_words(registers)
        scenarios += [(ccb, 0), (ccb.spoiled(place, of_base, {name: flipped}), 1)]
        scenarios += [(ccb.spoiled(place, of_base, {"live_warps": live, "length": length, "data_bytes": 0}), bad)
                      for length, bad in ((table, 1), (table + 4, 0))]
    run(*scenarios)
