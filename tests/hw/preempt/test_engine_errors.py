"""The preemption engine when the bus fails or an image is not what it should be."""

import pytest
from preempt_machine import CCB_BASE, SMALL, TINY, check_image, expect_restored, filled

from caesura.hw.arch import context
from caesura.hw.arch.context import Mechanism, State
from caesura.hw.arch.faults import CommandError


@pytest.mark.parametrize("seed", range(4))
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
        complete = {t for t in before if machine.entry(t)["state"] == State.COMPLETE}
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


def saved_machine(g, seed, stall=0.0):
    """A machine, its snapshots and a scenario step that saves it."""
    machine, layout = filled(g, seed, stall, drain=0)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    taken = set()

    def place(kernel):
        tb = min(t for t in before if t not in machine.tbs)
        return next(p for p in layout_once if p[0] == tb)

    layout_once = layout(range(len(before)))
    machine.place = place

    async def save(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE
        taken.update(before)
        del machine.log[:]

    return machine, before, save


@pytest.mark.parametrize("byte, value", [(1, 9), (4, 0x55), (46, 77), (47, 13), (22, 0xFF)],
                         ids=["version", "hash", "registers", "warps", "length"])
def test_bad_entry_restores_nothing(byte, value):
    machine, before, save = saved_machine(TINY, 21)

    async def scenario(ctx):
        await save(ctx)
        machine.memory.bytes[CCB_BASE + 128 + byte] = value
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BAD_IMAGE and not machine.tbs and not machine.warps and not machine.log

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


@pytest.mark.parametrize("how, bad", [("read error", 0), ("read error", 2), ("write error", 0), ("write error", 1),
                                      ("warp", 2), ("depth", 0), ("length", 1), ("register", 0), ("line", 1)])
def test_tb_that_cannot_be_restored_is_given_back_and_can_be_resumed_later(how, bad):
    machine, before, save = saved_machine(SMALL, 23 + bad, 0.1)
    memory = machine.memory

    async def scenario(ctx):
        await save(ctx)
        good = bytes(memory.bytes)
        entry = machine.entry(bad)
        at = entry["register_image"]
        if how == "read error":
            memory.bad_reads.add(at // 128 + 1)
        elif how == "write error":
            memory.bad_writes.add((CCB_BASE + 128 * bad) // 128)
        elif how == "length":
            memory.poke(CCB_BASE + 128 * bad + 20, [entry["length"] - 36])
        elif how == "line":
            memory.poke(entry["shared_image"], [0xFFFF_FFFF])
        else:
            place, value = {"warp": (0, 77), "depth": (1, 0), "register": (31, 0x80)}[how]
            memory.bytes[at + place] = value
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == (CommandError.BUS_ERROR if "error" in how else CommandError.BAD_IMAGE)
        running = {tb.launch_id for t, tb in machine.tbs.items()}
        assert set(machine.started) == set(machine.tbs) and before[bad]["launch_id"] not in running
        for t, old in before.items():
            state = machine.entry(t)["state"]
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
        expect_restored(machine, before, Mechanism.OCCUPIED, 0, set(machine.started))

    machine.run(scenario)
