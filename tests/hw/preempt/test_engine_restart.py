"""A preempt after which the TBs begin anew: what is written of them, and how they come back."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.image.context import Mechanism, State
from support.hw.preempt.images import entry_of, filled, read_image
from support.hw.preempt.machine import GEOMETRIES
from support.selection import quick

ALL = [("tiny", 1, 0.0), ("tiny", 2, 0.5), ("bus4", 3, 0.2), ("bus16", 4, 0.3), ("wide", 5, 0.4), ("beats", 7, 0.1),
       ("bus128", 8, 0.2), ("without", 10, 0.2)]
CASES = quick([(*case, scramble, mechanism) for case in ALL for scramble in (False, True) for mechanism in Mechanism
               if case[0] != "without" or mechanism is not Mechanism.LIVE_TB],
              [("tiny", 1, 0.0, False, Mechanism.OCCUPIED), ("tiny", 2, 0.5, True, Mechanism.LIVE_TB),
               ("wide", 5, 0.4, True, Mechanism.OCCUPIED), ("bus128", 8, 0.2, False, Mechanism.LIVE_CP)])


@pytest.mark.parametrize("name, seed, stall, scramble, mechanism", CASES)
def test_tbs_come_back_as_they_were_launched(name, seed, stall, scramble, mechanism):
    machine, layout = filled(GEOMETRIES[name], seed, stall)
    kernel = machine.kernels[0]
    exited = machine.warps[machine.tbs[0].slots[0]]
    exited.live, exited.stack = 0, []
    before = {t: machine.snapshot(t) for t in machine.tbs}
    launched = {t: [machine.warps[slot].launched for slot in row.slots] for t, row in machine.tbs.items()}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble, restart=1)
        assert error == CommandError.NONE and not machine.tbs
        assert counters["save_registers"] == counters["save_lines"] == counters["save_data_bytes"] == 0
        assert counters["save_tbs"] == len(before) and counters["save_warps"] == len(before) * kernel.warps
        for t, old in before.items():
            entry, records, lines = read_image(machine, t)
            assert (entry["state"], entry["mechanism"]) == (State.COMPLETE, mechanism)
            assert (entry["launch_id"], *(entry[f"ctaid_{axis}"] for axis in "xyz")) == (
                old["launch_id"], *old["ctaid"])
            assert entry["live_warps"] == (1 << kernel.warps) - 1 and sorted(records) == [*range(kernel.warps)]
            assert not lines and not entry["data_bytes"]
            for n, record in records.items():
                lanes = launched[t][n]
                assert (record["launched_lanes"], record["live_lanes"], record["waiting"]) == (lanes, lanes, 0)
                assert record["stack"] == [(0, lanes, PC_NONE)] and not record["registers"]
                assert not record["predicate_values"] and not record["uniform_values"] and not record["repeats"]
        machine.wreck()
        places = iter(layout(reversed(range(len(before)))))
        machine.place = lambda kernel: next(places)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0, scramble=scramble)
        assert error == CommandError.NONE and len(machine.started) == len(before)
        for tb in machine.started:
            row, after = machine.tbs[tb], machine.snapshot(tb)
            (old,) = (t for t, each in before.items() if each["launch_id"] == row.launch_id)
            assert after["ctaid"] == before[old]["ctaid"] and not after["lines"]
            for n, warp in enumerate(after["warps"]):
                lanes = launched[old][n]
                assert (warp["launched"], warp["live"], warp["waiting"]) == (lanes, lanes, 0)
                assert warp["stack"] == [(0, lanes, PC_NONE)]
                assert not warp["predicates"] and not warp["uniforms"]
                assert scramble or not warp["registers"]

    machine.run(scenario)


def test_a_tb_that_ends_meanwhile_is_not_saved():
    """All its warps exit on their way to their next instruction."""
    machine, _ = filled(GEOMETRIES["tiny"], 12, 0.0)
    for slot in machine.tbs[1].slots:
        machine.warps[slot].stops, machine.warps[slot].exits = 10**6, 3

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, restart=1)
        assert error == CommandError.NONE and counters["save_tbs"] == 1 and not machine.tbs
        assert entry_of(machine, 0)["state"] == State.COMPLETE and entry_of(machine, 1)["state"] == State.FREE

    machine.run(scenario)


def test_warps_stop_at_once_whatever_the_mechanism():
    machine, _ = filled(GEOMETRIES["tiny"], 13, 0.0)
    for warp in machine.warps.values():
        warp.stops = 10**6

    async def scenario(ctx):
        error, counters, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, restart=1)
        assert error == CommandError.NONE and counters["save_tbs"] == 2 and took < 1000

    machine.run(scenario)
