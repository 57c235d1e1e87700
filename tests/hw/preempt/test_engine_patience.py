"""The patience of a preempt, between a stand-in SM and a stand-in memory: when warps are stopped, and what is saved."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from support.hw.preempt.images import check_image, expect_restored, filled, read_image
from support.hw.preempt.machine import GEOMETRIES, SMALL, TINY
from support.hw.preempt.sm import SETTLING
from support.selection import quick

NEVER = 10**6
WAITING = [m for m in Mechanism if m is not Mechanism.OCCUPIED]


def slow(machine, share=2):
    """Let every `share`-th warp that is not at a barrier get to no preemption point; return which: (TB, its warp)."""
    found = []
    for t, tb in machine.tbs.items():
        for n, slot in enumerate(tb.slots):
            machine.warps[slot].stops = 0
            if (t + n) % share == 0:
                machine.warps[slot].stops, machine.warps[slot].waiting = NEVER, 0
                found.append((t, n))
    return found


def watch(machine, ctx, into):
    """A `during` that notes of each cycle whether it is one of draining, and whether warps are to stop at once."""
    return lambda cycle: into.append((ctx.get(machine.dut.activity.draining), bool(machine.stop_now)))


def drained(cycles):
    """Cycles of draining before warps were stopped at once."""
    return sum(draining for draining, stopped in cycles if not stopped)


@pytest.mark.parametrize("name, scramble, mechanism", quick(
    [("tiny", 0, Mechanism.LIVE), ("tiny", 1, Mechanism.LIVE_CP), ("bus16", 0, Mechanism.LIVE_CP),
     ("beats", 1, Mechanism.LIVE)], [("tiny", 0, Mechanism.LIVE), ("tiny", 1, Mechanism.LIVE_CP)]))
def test_an_image_holds_warps_at_points_and_warps_stopped_between_them(name, scramble, mechanism):
    machine, layout = filled(GEOMETRIES[name], 21, 0.2)
    between = slow(machine)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    for t, n in between:
        before[t]["warps"][n]["between"] = True
    assert 0 < len(between) < len(machine.warps)
    stopped = [before[t]["warps"][n] for t, n in between]
    assert any(warp["valid"] & ~warp["live_vector"] for warp in stopped), "all that is valid is live: nothing is seen"

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble, patience=40)
        assert error == CommandError.NONE and not machine.tbs and counters["drain_cycles"] >= 40
        for t in before:
            check_image(machine, t, 0, before[t], mechanism, scramble)
        machine.wreck()
        places = iter(layout(range(len(before))))
        machine.place = lambda kernel: next(places)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0, scramble=scramble)
        assert error == CommandError.NONE
        expect_restored(machine, before, mechanism, scramble, machine.started)

    machine.run(scenario)


@pytest.mark.parametrize("mechanism", WAITING, ids=lambda m: m.name)
@pytest.mark.parametrize("patience", quick([0, 1, 2, 17, 100], [0, 17]))
def test_warps_are_stopped_after_exactly_that_much_drain(patience, mechanism):
    machine, _ = filled(TINY, 22, 0.0)
    slow(machine, 1)
    cycles = []

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, patience=patience,
                                                   during=watch(machine, ctx, cycles))
        assert error == CommandError.NONE and not machine.tbs
        assert drained(cycles) == patience
        assert patience <= counters["drain_cycles"] <= patience + SETTLING + 2

    machine.run(scenario)


def test_drain_while_something_is_saved_costs_no_patience():
    """One TB stops at once and is being saved; the patience begins when the memory has it."""
    machine, _ = filled(SMALL, 23, 0.0)
    for slot, warp in machine.warps.items():
        warp.stops = 0 if slot in machine.tbs[1].slots else NEVER
        warp.waiting = warp.waiting if slot in machine.tbs[1].slots else 0
    cycles = []

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, patience=9,
                                            during=watch(machine, ctx, cycles))
        assert error == CommandError.NONE
        assert drained(cycles) == 9 and [stopped for _, stopped in cycles].index(True) > 40

    machine.run(scenario)


def test_without_a_bound_warps_run_on_to_their_points():
    machine, _ = filled(TINY, 24, 0.0)
    for warp in machine.warps.values():
        warp.stops = 700
    before = {t: machine.snapshot(t) for t in machine.tbs}
    cycles = []

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE,
                                                   patience=UNLIMITED_PATIENCE, during=watch(machine, ctx, cycles))
        assert error == CommandError.NONE and not any(stopped for _, stopped in cycles)
        assert 650 < counters["drain_cycles"] < 750
        for t in before:
            check_image(machine, t, 0, before[t], Mechanism.LIVE)

    machine.run(scenario)


@pytest.mark.parametrize("mechanism", WAITING, ids=lambda m: m.name)
def test_an_upgrade_stops_the_warps_of_the_preempt_under_way(mechanism):
    machine, _ = filled(TINY, 25, 0.0)
    slow(machine, 1)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    for snapshot in before.values():
        for warp in snapshot["warps"]:
            warp["between"] = True

    async def scenario(ctx):
        dut, cycles = machine.dut, []
        note = watch(machine, ctx, cycles)

        def during(cycle):
            note(cycle)
            ctx.set(dut.hasten, cycle == 200)

        error, counters, took = await machine.command(ctx, kernel=0, mechanism=mechanism, during=during)
        assert error == CommandError.NONE and took > 200
        assert [stopped for _, stopped in cycles].index(True) in (200, 201)
        assert counters["drain_cycles"] < 210
        for t in before:
            check_image(machine, t, 0, before[t], mechanism)

    machine.run(scenario)


def test_warps_that_do_not_stop_hold_no_preempt_up_when_memory_has_failed():
    """After a write error the preempt ends when the TB in hand is done with: its patience ends the wait for that."""
    machine, _ = filled(SMALL, 26, 0.0)
    slow(machine)
    first = min(machine.tbs)
    machine.warps[machine.tbs[first].slots[1]].waiting = 0
    machine.memory.fail(("write",), 0, 10**6)

    async def scenario(ctx):
        error, _, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, patience=150)
        assert error == CommandError.BUS_ERROR and took < 2000

    machine.run(scenario)


def test_registers_of_a_warp_between_points_are_counted_as_saved():
    machine, _ = filled(TINY, 27, 0.0)
    slow(machine, 1)
    valid = sum(warp.valid.bit_count() for warp in machine.warps.values() if warp.live)
    tbs = list(machine.tbs)

    async def scenario(ctx):
        _, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, patience=3)
        saved = [r for t in tbs for record in read_image(machine, t)[1].values() for r in record["registers"]]
        assert counters["save_registers"] == len(saved) == valid

    machine.run(scenario)
