"""The preemption engine when the bus fails or an image is not what it should be."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import WARP_HEADER, Mechanism, State, from_words, to_words
from caesura.hw.arch.image.encodings import Encoding, row_words
from support.hw.preempt.images import (
    at_home,
    bitmap_address,
    check_image,
    entry_of,
    expect_restored,
    filled,
    head_of,
    seal,
)
from support.hw.preempt.machine import SMALL, TINY
from support.hw.preempt.sm import CCB_BASE
from support.selection import quick


@pytest.mark.parametrize("seed", quick(range(4), range(2)))
def test_write_error_leaves_uncommitted_tbs_on_the_machine(seed):
    machine, _ = filled(SMALL, seed, 0.1, drain=10)
    kernel, rng = machine.kernels[0], machine.rng
    bad = rng.randrange(len(machine.tbs))
    area = context.area_address(SMALL, CCB_BASE, kernel.area_bytes, machine.entry[bad])
    where = CCB_BASE + 128 * machine.entry[bad] if seed == 0 else area + 128 * rng.randint(0, 3)
    machine.memory.bad_writes.add(where // 128)
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.BUS_ERROR and bad in machine.tbs
        released = {what[2] for what in machine.log if what[1] == "release"}
        assert released == set(before) - set(machine.tbs)
        complete = {t for t in before if entry_of(machine, t)["state"] == State.COMPLETE}
        assert complete >= released and counters["save_tbs"] == len(released)
        for t in released:
            check_image(machine, t, 0, before[t], Mechanism.OCCUPIED)
        machine.memory.bad_writes.clear()
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE and not machine.tbs
        for t in before:
            entry = check_image(machine, t, 0, before[t], Mechanism.OCCUPIED)
            assert entry["generation"] == (1 if t in released else 2)

    machine.run(scenario)


def saved_machine(g, seed, stall=0.0, mechanism=Mechanism.OCCUPIED, shared=True):
    """A machine, its snapshots and a scenario step that saves it."""
    machine, layout = filled(g, seed, stall, drain=0, shared=shared)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    taken = set()

    def place(kernel):
        tb = min(t for t in before if t not in machine.tbs)
        return next(p for p in layout_once if p[0] == tb)

    layout_once = layout(range(len(before)))
    machine.place = place

    async def save(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=mechanism)
        assert error == CommandError.NONE
        taken.update(before)
        del machine.log[:]

    return machine, before, save


@pytest.mark.full
def test_bad_entry_restores_nothing():
    machine, before, save = saved_machine(TINY, 21)
    changes = {"state": (0, [0xA5]), "version": (1, [9]), "reserved": (3, [1]), "stream": (8, [1]),
               "no increment": (15, [1]), "length": (18, [0xFF]), "shorter than the table": (16, [28, 0, 0, 0]),
               "no longer than the table": (16, [32, 0, 0, 0]), "more data": (23, [1]), "no warp": (36, [0]),
               "another warp": (37, [1]), "mechanism": (40, [9]), "increment": (41, [7]), "registers": (42, [77]),
               "warps": (43, [13]), "hash": (48, [0x55]), "generation": (52, [0]), "later": (54, [1])}

    head = CCB_BASE + 128 * machine.entry[1]

    async def refused(ctx, what):
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BAD_IMAGE, what
        assert not machine.tbs and not machine.warps and not machine.log, what

    async def scenario(ctx):
        await save(ctx)
        good = bytes(machine.memory.bytes)
        for what, (byte, values) in changes.items():
            assert good[head + byte:head + byte + len(values)] != bytes(values)
            machine.memory.bytes[head + byte:head + byte + len(values)] = bytes(values)
            if "length" not in what and "table" not in what:
                seal(machine, 1)
            else:
                words = [machine.memory.word(head + 4 * k) for k in range(16)]
                machine.memory.poke(head + 4, [context.entry_crc(words)])
            await refused(ctx, what)
            machine.memory.bytes[:] = good
        for bit in range(7 * machine.bits(1), 512, 7):  # the checksum as it was
            machine.memory.bytes[head + bit // 8] ^= 1 << bit % 8
            await refused(ctx, f"bit {bit}")
            machine.memory.bytes[:] = good
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.OCCUPIED, 0, machine.started)

    machine.run(scenario)


def test_entry_read_error_restores_nothing():
    machine, before, save = saved_machine(TINY, 22)

    async def scenario(ctx):
        await save(ctx)
        machine.memory.bad_reads.add((CCB_BASE + 128) // 128)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BUS_ERROR and not machine.tbs and not machine.log
        machine.memory.bad_reads.clear()
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.OCCUPIED, 0, machine.started)

    machine.run(scenario)


@pytest.mark.parametrize("how, bad, mechanism", [
    *((how, bad, Mechanism.LIVE_CP) for how, bad in (
        ("read error", 0), ("write error", 0), ("length", 1), ("bit", 2))),
    *(pytest.param(how, bad, Mechanism.LIVE_CP, marks=pytest.mark.full) for how, bad in (
        ("warp", 2), ("depth", 0), ("register", 0), ("encoding", 2), ("another encoding", 0), ("strange encoding", 1),
        ("line", 1), ("bit", 0), ("read error", 2), ("write error", 1))),
    *(pytest.param(how, bad, Mechanism.OCCUPIED, marks=pytest.mark.full) for how, bad in (
        ("read error", 0), ("write error", 1), ("length", 1), ("another encoding", 0)))])
def test_tb_that_cannot_be_restored_is_given_back_or_parked_and_can_be_resumed_later(how, bad, mechanism):
    machine, before, save = saved_machine(SMALL, 23 + bad, 0.1, mechanism, shared=how in ("line", "length"))
    memory = machine.memory

    async def scenario(ctx):
        await save(ctx)
        good = bytes(memory.bytes)
        entry, head = entry_of(machine, bad), head_of(machine, bad)
        at = entry["register_image"]
        if how == "read error":
            memory.bad_reads.add(at // 128 + 1)
        elif how == "write error":
            memory.bad_writes.add(head // 128)
        elif how == "length":
            memory.poke(head + 16, [entry["length"] - 36])
        elif how == "line":
            memory.poke(bitmap_address(machine, bad), [0xFFFF_FFFF])
        elif how == "bit":
            bit = machine.rng.randrange(8 * entry["length"])
            memory.bytes[at + bit // 8] ^= 1 << bit % 8
        elif how in ("warp", "depth"):
            head_word = from_words(WARP_HEADER, [memory.word(at)])
            memory.poke(at, to_words(WARP_HEADER, **head_word | {how: 31 if how == "warp" else 0}))
        else:
            row = row_words(entry["registers"])
            table = at + entry["length"] - 4 * row * bin(entry["live_warps"]).count("1")
            first, rest = memory.bytes[table] & 15, memory.bytes[table] & 0xF0
            place, value = {
                "register": (4 * row - 1, Encoding.RANDOM << 4),
                "encoding": (0, rest | (0 if first else Encoding.UNIFORM_8)),
                "another encoding": (0, rest | (Encoding.UNIFORM_8 if first == Encoding.RANDOM else Encoding.RANDOM)),
                "strange encoding": (0, rest | 12)}[how]
            memory.bytes[table + place] = value
        if "error" not in how and how != "bit":
            seal(machine, bad)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == (CommandError.BUS_ERROR if "error" in how else CommandError.BAD_IMAGE)
        running = {tb.launch_id for tb in machine.tbs.values() if tb.started}
        parked = {tb.launch_id for tb in machine.tbs.values() if not tb.started}
        assert before[bad]["launch_id"] not in running
        assert parked == ({before[bad]["launch_id"]} if how == "write error" else set())
        for t, old in before.items():
            if old["launch_id"] not in parked:
                state = entry_of(machine, t)["state"]
                assert state == (State.DEMOTED if old["launch_id"] in running else State.COMPLETE)
        assert not {s for s, w in machine.warps.items() if w.tb not in machine.tbs}
        memory.bad_reads.clear()
        memory.bad_writes.clear()
        heads = {t: memory.bytes[CCB_BASE + 128 * t] for t in before}
        memory.bytes[:] = good
        for t, state in heads.items():
            memory.bytes[CCB_BASE + 128 * t] = state
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, mechanism, 0, set(machine.started))

    machine.run(scenario)


@pytest.mark.parametrize("bad", (0, 2))
def test_a_preempt_saves_what_runs_beside_a_parked_tb_and_says_that_one_is_left(bad):
    machine, before, save = saved_machine(SMALL, 23 + bad, 0.1, Mechanism.LIVE_CP)
    memory = machine.memory

    async def scenario(ctx):
        await save(ctx)
        memory.bad_writes.add((CCB_BASE + 128 * machine.entry[bad]) // 128)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BUS_ERROR
        memory.bad_writes.clear()
        for again in range(2):
            for warp in machine.warps.values():
                warp.stops = 0
            error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE_CP)
            assert error == CommandError.BUS_ERROR, "the parked TB was forgotten"
            assert {tb.launch_id for tb in machine.tbs.values()} == {before[bad]["launch_id"]}, again
        machine.started.clear()
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE_CP, 0, set(machine.started))

    machine.run(scenario)


KINDS = {"reads": ("read",), "writes": ("write",), "both": ("read", "write")}
LENGTHS = (1, 60, 10**9)
LATENCIES = {"equal": (20, 20), "late answers to writes": (10, 70), "late answers to reads": (70, 10)}


OUTAGES = [(kind, latencies, step) for step in (41, 97, 293) for kind in KINDS for latencies in LATENCIES]
"""What fails, who is late, and the cycles from one moment at which an outage begins to the next."""
LAST = 97
"""Cycles at the end of a resume, in which entries are demoted."""


async def until_it_ends_well(machine, ctx, **command):
    """Repeat a command, the memory being whole again, until it ends without an error: at most twice."""
    machine.memory.fail()
    for _ in range(2):
        error, _, _ = await machine.command(ctx, kernel=0, **command)
        if error == CommandError.NONE:
            return
    pytest.fail(f"it ends with {error!r} again and again")


def nowhere_lost(machine, before):
    """What is not on the SM has a complete entry."""
    here = {tb.launch_id for tb in machine.tbs.values()}
    for first, old in before.items():
        assert old["launch_id"] in here or entry_of(machine, first)["state"] == State.COMPLETE, "a TB is lost"


@pytest.mark.parametrize("kind, latencies, step, gang", quick(
    [(*case, gang) for case in OUTAGES for gang in (0, 1)],
    []))
def test_no_tb_is_lost_or_doubled_whenever_memory_fails_during_a_resume(kind, latencies, step, gang):
    """Outages that begin at each n-th cycle of a resume, and oftener at its end, and last a cycle, a while or until the
    next command."""
    read_latency, write_latency = LATENCIES[latencies]
    machine, _ = filled(SMALL, kind, 0.0, drain=0, latency=read_latency, write_latency=write_latency)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    ends = {"good": 0, "bad": 0, "parked": 0}

    async def away(ctx):
        machine.memory.fail()
        for warp in machine.warps.values():
            warp.stops = 0
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.NONE and not machine.tbs
        machine.wreck()
        machine.started.clear()

    machine.place = at_home(machine)

    async def scenario(ctx):
        await away(ctx)
        error, _, whole = await machine.command(ctx, resume=1, kernel=0, gang=gang)
        assert error == CommandError.NONE
        for moment in (*range(0, whole, step), *range(max(0, whole - LAST), whole, max(16, step // 12))):
            for length in LENGTHS:
                await away(ctx)
                machine.memory.fail(KINDS[kind], machine.now + moment, length)
                error, _, _ = await machine.command(ctx, resume=1, kernel=0, gang=gang)
                assert error in (CommandError.NONE, CommandError.BUS_ERROR)
                nowhere_lost(machine, before)
                ends["bad" if error else "good"] += 1
                ends["parked"] += any(not tb.started for tb in machine.tbs.values())
                if error:
                    await until_it_ends_well(machine, ctx, resume=1, gang=gang)
                expect_restored(machine, before, Mechanism.LIVE, 0, set(machine.started))

    machine.run(scenario)
    assert ends["good"] and ends["bad"]
    assert kind == "reads" or ends["parked"]


@pytest.mark.parametrize("kind, latencies, step", quick(OUTAGES, []))
def test_no_tb_is_lost_or_doubled_whenever_memory_fails_during_a_preempt(kind, latencies, step):
    read_latency, write_latency = LATENCIES[latencies]
    machine, _ = filled(SMALL, f"{kind} {latencies}", 0.0, drain=0, latency=read_latency,
                             write_latency=write_latency)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    ends = {"good": 0, "bad": 0}

    machine.place = at_home(machine)

    async def scenario(ctx):
        moment, whole = 0, 1
        while moment < whole:
            for length in LENGTHS:
                for warp in machine.warps.values():
                    warp.stops = 0
                machine.memory.fail(KINDS[kind], machine.now + moment, length)
                error, _, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
                assert error in (CommandError.NONE, CommandError.BUS_ERROR)
                nowhere_lost(machine, before)
                ends["bad" if error else "good"] += 1
                machine.started.clear()
                machine.memory.fail()
                for warp in machine.warps.values():
                    warp.stops = 0
                if error and moment % 2:  # put the rest away too; otherwise bring back what is away
                    error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
                    assert error == CommandError.NONE and not machine.tbs
                whole = max(whole, took if not error else 0)
                stayed = set(machine.tbs)
                await until_it_ends_well(machine, ctx, resume=1)
                expect_restored(machine, before, Mechanism.LIVE, 0, stayed | set(machine.started))
            moment += step

    machine.run(scenario)
    assert ends["good"] and (kind == "reads" or ends["bad"])
