"""The preemption engine when the bus fails or an image is not what it should be."""

import pytest

from caesura.hw.arch import context
from caesura.hw.arch.context import Mechanism, Pattern, State
from caesura.hw.arch.faults import CommandError
from support.hw.preempt_images import check_image, entry_of, expect_restored, filled
from support.hw.preempt_machine import CCB_BASE, SMALL, TINY
from support.selection import quick


@pytest.mark.parametrize("seed", quick(range(4), range(2)))
def test_write_error_leaves_uncommitted_tbs_on_the_machine(seed):
    machine, _ = filled(SMALL, seed, 0.1, drain=10)
    kernel, rng = machine.kernels[0], machine.rng
    bad = rng.randrange(len(machine.tbs))
    area = context.area_address(SMALL, CCB_BASE, kernel.area_bytes, bad)
    where = CCB_BASE + 128 * bad if seed == 0 else area + 128 * rng.randint(0, 3)
    machine.memory.bad_writes.add(where // 128)
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.BUS_ERROR and bad in machine.tbs
        released = {what[2] for what in machine.log if what[1] == "release"}
        assert released == set(before) - set(machine.tbs)
        complete = {t for t in before if entry_of(machine, t)["state"] == State.COMPLETE}
        assert complete == released and counters["save_tbs"] == len(released)
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


def test_bad_entry_restores_nothing():
    machine, before, save = saved_machine(TINY, 21)
    changes = {"version": (1, [9]), "hash": (4, [0x55]), "groups": (45, [7]), "registers": (46, [77]),
               "warps": (47, [13]), "length": (22, [0xFF]), "shorter than the table": (20, [28, 0, 0, 0])}

    async def scenario(ctx):
        await save(ctx)
        for what, (byte, values) in changes.items():
            at = CCB_BASE + 128 + byte
            good = machine.memory.bytes[at:at + len(values)]
            assert good != bytes(values)
            machine.memory.bytes[at:at + len(values)] = bytes(values)
            error, _, _ = await machine.command(ctx, resume=1, kernel=0)
            assert error == CommandError.BAD_IMAGE, what
            assert not machine.tbs and not machine.warps and not machine.log, what
            machine.memory.bytes[at:at + len(values)] = good
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
        ("read error", 0), ("write error", 0), ("warp", 2), ("depth", 0), ("length", 1), ("register", 0),
        ("pattern", 2), ("another pattern", 0), ("count", 1), ("line", 1))),
    *(pytest.param(how, bad, Mechanism.LIVE_CP, marks=pytest.mark.full) for how, bad in (
        ("read error", 2), ("write error", 1))),
    *(pytest.param(how, bad, Mechanism.OCCUPIED, marks=pytest.mark.full) for how, bad in (
        ("read error", 0), ("write error", 1), ("length", 1), ("another pattern", 0)))])
def test_tb_that_cannot_be_restored_is_given_back_and_can_be_resumed_later(how, bad, mechanism):
    machine, before, save = saved_machine(SMALL, 23 + bad, 0.1, mechanism, shared=how in ("line", "length"))
    memory = machine.memory

    async def scenario(ctx):
        await save(ctx)
        good = bytes(memory.bytes)
        entry = entry_of(machine, bad)
        at = entry["register_image"]
        if how == "read error":
            memory.bad_reads.add(at // 128 + 1)
        elif how == "write error":
            memory.bad_writes.add((CCB_BASE + 128 * bad) // 128)
        elif how == "length":
            memory.poke(CCB_BASE + 128 * bad + 20, [entry["length"] - 36])
        elif how == "line":
            memory.poke(entry["shared_image"], [0xFFFF_FFFF])
        elif how == "count":
            memory.bytes[at + 12] ^= 1
        elif how in ("warp", "depth"):
            memory.bytes[at + ("warp", "depth").index(how)] = 77 * (how == "warp")
        else:
            table = at + entry["length"] - 16 * bin(entry["live_warps"]).count("1")
            first = memory.bytes[table]
            place, value = {"register": (15, Pattern.RANDOM << 6), "pattern": (0, 0 if first & 3 else first | 1),
                            "another pattern": (0, first ^ 1 if first & 3 == Pattern.RANDOM else first | 3)}[how]
            memory.bytes[table + place] = value
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == (CommandError.BUS_ERROR if "error" in how else CommandError.BAD_IMAGE)
        running = {tb.launch_id for t, tb in machine.tbs.items()}
        assert set(machine.started) == set(machine.tbs) and before[bad]["launch_id"] not in running
        for t, old in before.items():
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
