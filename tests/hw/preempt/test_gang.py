"""A gang resume: TBs start together when all are back that have room."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from support.hw.preempt.images import check_image, expect_restored, filled
from support.hw.preempt.machine import GEOMETRIES, SMALL
from support.selection import quick


async def put_away(machine, layout, ctx):
    """Preempt, wreck the SM, and make room in another order; returns what there was."""
    before = {t: machine.snapshot(t) for t in machine.tbs}
    error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
    assert error == CommandError.NONE and not machine.tbs
    for t in before:
        check_image(machine, t, 0, before[t], Mechanism.LIVE)
    machine.wreck()
    machine.log.clear()
    places = iter(layout(reversed(range(len(before)))))
    machine.place = lambda kernel: next(places)
    return before


def starts(machine):
    return [cycle for cycle, what, *_ in machine.log if what == "start"]


@pytest.mark.parametrize("name, gang", quick(
    [(name, gang) for name in ("tiny", "wide", "beats") for gang in (False, True)],
    [("tiny", True)]))
def test_tbs_of_a_gang_start_in_consecutive_cycles_after_the_last_acknowledgement(name, gang):
    machine, layout = filled(GEOMETRIES[name], 21, 0.2)
    assert len(machine.tbs) > 1

    async def scenario(ctx):
        before = await put_away(machine, layout, ctx)
        error, counters, _ = await machine.command(ctx, resume=1, kernel=0, gang=gang)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE, 0, machine.started)
        began, last_ack = starts(machine), max(cycle for cycle, what, *_ in machine.log if what == "ack")
        together = began == list(range(began[0], began[0] + len(before)))
        assert together == gang
        assert began[0] > last_ack or not gang

    machine.run(scenario)


@pytest.mark.full
def test_a_gang_that_finds_no_room_starts_what_is_back_and_the_rest_later():
    machine, layout = filled(SMALL, 22, 0.0)

    async def scenario(ctx):
        rows = dict(machine.tbs)
        before = await put_away(machine, layout, ctx)
        assert len(before) > 2
        late = max(rows.values(), key=lambda row: row.entry).launch_id  # the last one to be asked for
        until = machine.now + 1500
        machine.full_until[late] = until
        error, _, _ = await machine.command(ctx, resume=1, kernel=0, gang=1)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE, 0, machine.started)
        began = starts(machine)
        assert sum(cycle < until for cycle in began) == len(before) - 1 and max(began) > until

    machine.run(scenario)
