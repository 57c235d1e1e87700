"""Bases and increments of the preemption engine (PEP III-C): what is saved and written when, and what comes back."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism, State
from support.hw.preempt.images import check_image, entry_of, expect_restored, filled, head_of, seal
from support.hw.preempt.machine import GEOMETRIES, SMALL, TINY
from support.selection import quick


def write_on(machine, before, share=0.4):
    """Let each TB write some registers and lines; what was not live in the snapshots `before` is only live if it has
    been written since."""
    live = {old["entry"]: [warp and warp["live_vector"] for warp in old["warps"]] for old in before.values()}
    for warp in machine.warps.values():
        warp.live_vector = live[machine.tbs[warp.tb].entry][warp.block_warp] or 0
        written = machine.bits(6) & machine.bits(6) if machine.rng.random() < share else 0
        for r in range(machine.kernels[0].registers):
            if written >> r & 1:
                machine.write(warp, r)
        warp.live_vector &= machine.bits(54) | (1 << 54) - (1 << 14)
        warp.live_vector |= written
        warp.stops = 0
    for tb in machine.tbs.values():
        for line in range(tb.first_line, tb.first_line + tb.lines):
            if machine.rng.random() < share / 2:
                machine.write_line(line)


def snapshots(machine, first):
    """Return snapshots by the slot in which each TB, known by its entry, was first."""
    return {first[tb.entry]: machine.snapshot(t) for t, tb in machine.tbs.items()}


CASES = [("tiny", 0.0, 0), ("tiny", 0.4, 1), ("bus4", 0.2, 0), ("bus16", 0.2, 1), ("wide", 0.3, 0), ("beats", 0.1, 1),
         ("bus128", 0.0, 1), ("bus128", 0.3, 0), ("spare", 0.2, 1)]
RUNS = quick([(*case, mechanism) for case in CASES for mechanism in Mechanism],
             [("tiny", 0.4, 1, Mechanism.LIVE_TB), ("bus128", 0.3, 0, Mechanism.LIVE_CP)])


@pytest.mark.parametrize("name, stall, scramble, mechanism", RUNS)
def test_a_base_its_increment_and_what_comes_back(name, stall, scramble, mechanism):
    """A base while the TBs run on, an increment, the restore of both, and an increment to the same base again."""
    machine, layout = filled(GEOMETRIES[name], f"{name} {mechanism}", stall, drain=20)
    first = {tb.entry: t for t, tb in machine.tbs.items()}
    based = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble, checkpoint=1)
        assert error == CommandError.NONE and len(machine.tbs) == len(based) == counters["save_tbs"]
        assert not any(what[1] in ("release", "start") for what in machine.log)
        bases = {t: check_image(machine, t, 0, based[t], mechanism, scramble, state=State.BASE) for t in based}
        assert not machine.lines_dirty and not any(warp.dirty for warp in machine.warps.values())
        record = machine.memory.word(context.record_address(machine.g, 0x4000))
        assert not record, "the kernel runs: it has no record"
        before = based
        for _ in range(2):
            write_on(machine, before)
            before = snapshots(machine, first)
            error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble,
                                                       incremental=1)
            assert error == CommandError.NONE and not machine.tbs
            entries = [check_image(machine, t, 0, before[t], mechanism, scramble, side=1, base=bases[t])
                       for t in before]
            assert counters["save_data_bytes"] == sum(entry["data_bytes"] for entry in entries)
            assert [entry_of(machine, t, side=0) for t in before] == [bases[t] for t in before]
            machine.wreck()
            places = iter(layout(reversed(range(len(before)))))
            machine.place = lambda kernel, places=places: next(places)
            machine.started.clear()
            error, counters, _ = await machine.command(ctx, resume=1, kernel=0, scramble=scramble)
            assert error == CommandError.NONE
            expect_restored(machine, before, mechanism, scramble, machine.started, based)
            assert all(entry_of(machine, t, side=1)["state"] == State.DEMOTED for t in before)
            read = sum(entry["length"] for entry in (*entries, *bases.values()))
            assert counters["restore_bytes"] == read + 64 * 2 * machine.g.context_entries, "the entries of both sides"

    machine.run(scenario)


@pytest.mark.full
def test_a_resumed_image_is_the_base_of_the_next_and_a_whole_one_takes_the_other_side():
    machine, layout = filled(SMALL, 3, 0.1, drain=0)
    first = {tb.entry: t for t, tb in machine.tbs.items()}

    async def scenario(ctx):
        base, side = {}, 0
        for incremental in (0, 1, 0, 1, 1):
            before = snapshots(machine, first)
            error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED, incremental=incremental)
            assert error == CommandError.NONE
            entries = {t: check_image(machine, t, 0, before[t], Mechanism.OCCUPIED, side=side,
                                      base=base.get(t) if incremental else None) for t in before}
            places = iter(layout(range(len(before))))
            machine.place = lambda kernel, places=places: next(places)
            error, _, _ = await machine.command(ctx, resume=1, kernel=0)
            assert error == CommandError.NONE
            if not incremental:
                base, side = entries, side ^ 1
            write_on(machine, before)

    machine.run(scenario)


def test_after_a_write_error_everything_counts_as_dirty():
    """A base is one when it has been acknowledged: TBs whose was not are saved whole by the next increment."""
    machine, _ = filled(SMALL, 5, 0.1, drain=0)
    bad = 1
    before = {t: machine.snapshot(t) for t in machine.tbs}
    machine.memory.bad_writes.add(head_of(machine, bad, 0) // 128)

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED, checkpoint=1)
        assert error == CommandError.BUS_ERROR and len(machine.tbs) == len(before)
        machine.memory.bad_writes.clear()
        clean = {machine.tbs[t].entry for t in before
                 if not any(machine.warps[slot].dirty for slot in machine.tbs[t].slots)}
        assert machine.tbs[bad].entry not in clean
        dirty = {t: machine.snapshot(t) for t in machine.tbs}
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED, incremental=1)
        assert error == CommandError.NONE and not machine.tbs
        check_image(machine, bad, 0, dirty[bad], Mechanism.OCCUPIED, side=0)
        for t in before:
            if dirty[t]["entry"] in clean:
                check_image(machine, t, 0, dirty[t], Mechanism.OCCUPIED, side=1, base=entry_of(machine, t, side=0))

    machine.run(scenario)


HARMED = ("a bit of the base's entry", "a bit of its stream", "another base", "no base", "an increment as base",
          "read error of the entry", "read error of the stream")


@pytest.mark.parametrize("how", quick(HARMED, HARMED[1:4]))
def test_without_its_base_an_increment_is_not_resumed_and_later_it_is(how):
    machine, layout = filled(TINY, 7, 0.1, drain=0)
    memory, first = machine.memory, {tb.entry: t for t, tb in machine.tbs.items()}

    async def scenario(ctx):
        await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, checkpoint=1)
        based = snapshots(machine, first)
        write_on(machine, based)
        before = snapshots(machine, first)
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, incremental=1)
        assert error == CommandError.NONE
        good, head, base = bytes(memory.bytes), head_of(machine, 0, 0), entry_of(machine, 0, side=0)
        if how == "a bit of the base's entry":
            memory.bytes[head + 24] ^= 4
        elif how == "a bit of its stream":
            memory.bytes[base["register_image"] + machine.rng.randrange(base["length"])] ^= 16
        elif how == "another base":
            memory.bytes[head + 52] ^= 7
            seal(machine, 0, side=0)
        elif how == "no base":
            memory.bytes[head] = State.FREE
        elif how == "an increment as base":
            memory.bytes[head + 41] = 1
            seal(machine, 0, side=0)
        else:
            memory.bad_reads.add((head if "entry" in how else base["register_image"]) // 128)
        places = {t: place for t, place in zip(before, layout(range(len(before))), strict=True)}
        machine.place = lambda kernel: next(places[t] for t in places if t not in machine.tbs)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == (CommandError.BUS_ERROR if "error" in how else CommandError.BAD_IMAGE)
        running = {tb.launch_id for tb in machine.tbs.values() if tb.started}
        assert before[0]["launch_id"] not in running and entry_of(machine, 0, side=1)["state"] == State.COMPLETE
        if "stream" not in how:
            assert not machine.tbs
        states = {t: memory.bytes[head_of(machine, t, 1)] for t in before}
        memory.bytes[:] = good
        memory.bad_reads.clear()
        for t, state in states.items():
            memory.bytes[head_of(machine, t, 1)] = state
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE, 0, set(machine.started), based)

    machine.run(scenario)
