"""In-place context switching in the golden model (Lin et al. III-A): what stays, who makes room, commands."""


import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Capability, Mechanism, State
from caesura.hw.arch.isa.liveness import ALL_LIVE
from support.programs.guests import (
    MEMORY,
    ROOMY,
    Guest,
    bench_of,
    evicted,
    finishes,
    image,
    machine,
    record_state,
    running,
    stays,
)

EACH = pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)


# What stays

@EACH
def test_everything_stays_where_it_is(mechanism):
    bench, guest = running(blocks=3, warps=2)
    before = [(tb.entry, tb.base, tb.first_line) for tb in machine(bench).resident()]
    assert len(before) == 3
    bench.preempt(0, mechanism, in_place=True)
    assert stays(bench) == ([0, 1, 2], [0, 1, 2]) and bench.fields("status")["resident"] == 0
    assert all(bench.get(f"save_{name}") == 0 for name in ("data_bytes", "registers", "lines"))
    assert bench.get("save_tbs") == 3 and bench.get("save_metadata_bytes")
    for index in range(3):
        found = guest.entry(index)
        assert (found["state"], found["registers_stay"], found["lines_stay"]) == (State.COMPLETE, 1, 1)
        assert not (found["incremental"] or found["base_crc"] or found["data_bytes"] or found["none"])
        records, lines, codes = image(bench, guest, found)
        assert records and not lines and not np.any(codes) and not any(registers for _, registers in records)
    assert [(row.tb.entry, row.tb.base, row.tb.first_line) for row in machine(bench).stays()] == before
    assert record_state(bench, guest) == State.FREE, "nobody can take it over"
    bench.resume(0)
    assert [(tb.entry, tb.base, tb.first_line) for tb in machine(bench).resident()] == before
    assert stays(bench) == ([], []) and evicted(bench) == (0, 0)
    assert guest.entry()["state"] == State.DEMOTED and not machine(bench).kernels[0].bases
    finishes(bench, guest)


def test_it_comes_back_to_its_place_though_a_lower_one_is_free():
    bench = bench_of()
    short, guest = Guest(bench, 1, rounds=1), Guest(bench, 0, rounds=30)
    for slot in (1, 0):
        bench.start(slot)
        bench.transport.advance(5)
    bench.finish(1)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.resume(0)
    (tb,) = machine(bench).resident()
    assert (tb.base, tb.first_line) == (8, 2)
    finishes(bench, guest)
    short.check()


@EACH
def test_registers_that_the_mechanism_would_not_save_read_zero(mechanism):
    bench, guest = running(registers=12)
    bench.preempt(0, mechanism, in_place=True)
    (row,) = machine(bench).stays()
    kept, before = row.masks[0], row.tb.warps[0]
    assert kept and not kept & ~before.valid
    assert (kept == before.valid) == (not mechanism.has(Capability.SAVES_LIVE_ONLY))
    bench.command(Command.RESUME, 0)
    machine(bench).manage()
    warp = machine(bench).resident()[0].warps[0]
    assert warp.valid == kept and warp.live_vector == ALL_LIVE
    for r in range(12):
        assert np.array_equal(warp.registers[r], before.registers[r] if kept >> r & 1 else np.zeros(8))
    finishes(bench, guest)


@pytest.mark.parametrize("side", [0, 1])
def test_the_image_stands_where_the_base_does_not(side):
    bench, guest = running()
    for _ in range(1 + side):
        bench.checkpoint(0, Mechanism.LIVE)
    bases = machine(bench).kernels[0].bases
    assert bases[0].side == side and guest.entry(side=side)["state"] == State.BASE
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    assert guest.entry(side=side ^ 1)["registers_stay"] and not bases
    bench.resume(0)
    assert not bases, "what has come back so has no base"
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    assert not guest.entry()["incremental"] and bench.get("save_registers")
    bench.resume(0)
    finishes(bench, guest)


def test_one_of_which_nothing_can_stay_keeps_its_base():
    bench, guest = running()
    Guest(bench, 1, registers=16, warps=4, lines=8)
    bench.checkpoint(0, Mechanism.LIVE)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=(1, 1))
    assert stays(bench) == ([], []) and 0 in machine(bench).kernels[0].bases
    found = guest.entry(side=1)
    assert not found["registers_stay"] and found["data_bytes"]
    assert record_state(bench, guest) == State.COMPLETE
    bench.resume(0)
    assert machine(bench).kernels[0].bases[0].side == 1, "an image that is whole is a base"
    finishes(bench, guest)


def test_rows_are_as_many_as_tb_slots():
    bench = bench_of(ROOMY.replace(shared_bytes=4096))
    guests = [Guest(bench, slot, blocks=3, registers=6) for slot in range(2)]
    for slot in range(2):
        bench.start(slot)
        bench.transport.advance(30)
        bench.preempt(slot, Mechanism.LIVE, in_place=True)
    assert (stays(bench), stays(bench, 1)) == (([0, 1, 2], [0, 1, 2]), ([0], [0]))
    assert [guests[1].entry(k)["registers_stay"] for k in range(3)] == [1, 0, 0]
    assert machine(bench).kernels[1].saved.keys() == {0, 1, 2}
    bench.resume(1)
    assert machine(bench).kernels[1].bases.keys() == {1, 2}
    bench.command(Command.RESUME, 0)
    finishes(bench, *guests)


def test_without_shared_memory_there_are_no_lines_to_stay():
    bench = bench_of()
    guest = Guest(bench, 0)
    bench.set("kernel[0].shared_bytes", 0)
    bench.start(0)
    bench.transport.advance(2)
    bench.preempt(0, Mechanism.OCCUPIED, in_place=True)
    assert stays(bench) == ([0], []) and not guest.entry()["lines_stay"]


# For whom they make room

def shares(bench, newcomer, blocks=4, **shape):
    """Preempt a guest whose four TBs fill half of the SM for a newcomer in slot 1; return what stays of it."""
    guest = Guest(bench, 0, blocks=blocks, registers=8, lines=1 + 1)
    Guest(bench, 1, **shape)
    bench.start(0)
    bench.transport.advance(60)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=newcomer)
    return guest


@pytest.mark.parametrize("newcomer, shape, registers, lines", [
    ((1, 1), {"registers": 8, "lines": 2}, [0, 1, 2, 3], [1, 2, 3]),
    ((1, 2), {"registers": 8, "lines": 2}, [0, 1, 2, 3], [2, 3]),
    ((1, 1), {"registers": 16, "warps": 3, "lines": 2}, [0, 1], [1, 2, 3]),
    ((1, 1), {"registers": 16, "warps": 2, "lines": 5}, [0, 1, 2, 3], [3]),
    ((1, 2), {"registers": 16, "warps": 3, "lines": 5}, [0, 1], [3]),  # one finds room in each
    ((1, 9), {"registers": 12, "warps": 2, "lines": 2}, [3], [2, 3]),  # two in registers, so two in lines
    ((1, 9), {"registers": 16, "warps": 1, "lines": 5}, [0, 1, 2, 3], [3]),  # and the other way round
    ((1, 0), {"registers": 16, "warps": 4, "lines": 8}, [0, 1, 2, 3], [0, 1, 2, 3]),
    ((9, 3), {}, [0, 1, 2, 3], [0, 1, 2, 3]),
    ((3, 3), {}, [0, 1, 2, 3], [0, 1, 2, 3]),  # nothing is written there
    ((1, 1), {"registers": 16, "warps": 2, "lines": 9}, [0, 1, 2, 3], [0, 1, 2, 3]),  # never fits
], ids=str)
def test_what_the_newcomer_needs_leaves(newcomer, shape, registers, lines):
    bench = bench_of()
    guest = shares(bench, newcomer, **shape)
    assert stays(bench) == (registers, lines)
    for index in range(4):
        found = guest.entry(index)
        assert (found["registers_stay"], found["lines_stay"]) == (index in registers, index in lines)
        _, saved, codes = image(bench, guest, found)
        assert np.any(codes) == (index not in registers) and bool(saved) == (index not in lines)
    bench.resume(0)
    bench.finish(0)
    guest.check()


def test_others_on_the_sm_are_not_moved_and_what_stays_already_may_be():
    """One of another kernel runs, one of a third stays; the newcomer would need the whole SM but for the first."""
    bench = bench_of()
    third, resident, first = Guest(bench, 2), Guest(bench, 3, rounds=60), Guest(bench, 0, blocks=2)
    Guest(bench, 1, registers=16, warps=3, lines=2)
    for slot in (2, 3, 0):
        bench.start(slot)
        bench.transport.advance(10)
    bench.preempt(2, Mechanism.LIVE, in_place=True)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=(1, 1))
    assert stays(bench) == ([], [0, 1]), "12 rows: those of the two, and what is free behind"
    assert stays(bench, 2) == ([0], [0])
    bench.resume(0)
    bench.resume(2)
    finishes(bench, third, resident, first)


def test_spared_tbs_do_not_move():
    bench = bench_of()
    guest = Guest(bench, 0, blocks=4, rounds=6)
    Guest(bench, 1, registers=16, warps=2, lines=2)
    bench.start(0)
    bench.transport.advance(60)
    bench.set("spared", 0b0010)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=(1, 1))
    bench.set("spared", 0)
    assert stays(bench) == ([0, 2, 3], [2, 3]), "lines 0 and 1; rows 8 to 15 are free"
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    assert stays(bench) == ([0, 1, 2, 3], [1, 2, 3]) and evicted(bench) == (0, 0)
    bench.resume(0)
    finishes(bench, guest)


# Other commands

@pytest.mark.parametrize("resident", [False, True])
def test_a_preempt_without_in_place_brings_everything_to_memory(resident):
    bench, guest = running(blocks=4, rounds=30)
    if resident:
        bench.set("spared", 0b0100)
    bench.preempt(0, Mechanism.LIVE_CP, in_place=True)
    bench.set("spared", 0)
    assert stays(bench)[0] == ([0, 1, 3] if resident else [0, 1, 2, 3])
    bench.preempt(0, Mechanism.LIVE_TB)
    assert stays(bench) == ([], []) and bench.get("save_tbs") == resident and evicted(bench)[0] == 4 - resident
    first, second = guest.entry(), guest.entry(side=1)
    assert second["generation"] == first["generation"] + 1 and second["mechanism"] == Mechanism.LIVE_CP
    assert record_state(bench, guest) == State.COMPLETE
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
    assert bench.refusal() is CommandError.NOT_RUNNING, "nothing is on the SM any more"
    bench.set("event", refused=1)
    bench.resume(0)
    finishes(bench, guest)


@pytest.mark.parametrize("how", ["in_place", "checkpoint"])
def test_an_in_place_preempt_and_a_checkpoint_need_somebody_on_the_sm(how):
    bench, guest = running()
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE, **{how: True})
    assert bench.refusal() is CommandError.NOT_RUNNING
    bench.set("event", refused=1)
    assert stays(bench) == ([0], [0]) and bench.state(0) is KernelState.PREEMPTED
    bench.resume(0)
    finishes(bench, guest)


def test_a_kill_drops_what_stays():
    bench, guest = running(blocks=2)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    before = bench.transport.read_memory(0, MEMORY)
    bench.command(Command.KILL, 0)
    bench.transport.advance(5)
    assert stays(bench) == ([], []) and not machine(bench).stays() and evicted(bench) == (0, 0)
    assert bench.transport.read_memory(0, MEMORY) == before
    bench.set("event", killed=1)
    whole = Guest(bench, 1, warps=4, registers=16, lines=8)
    bench.start(1)
    bench.finish(1)
    whole.check()


@pytest.mark.parametrize("withdrawn", ["preempt", "resume"])
def test_withdrawn(withdrawn):
    """What an aborted preempt has left on the SM comes back; what an aborted resume has not brought back stays."""
    bench, guest = running(g=ROOMY.replace(shared_bytes=4096), blocks=2, rounds=30)
    other = Guest(bench, 1, blocks=3, rounds=40)
    if withdrawn == "preempt":
        bench.command(Command.PREEMPT, 0, Mechanism.LIVE, in_place=True)
        while len(machine(bench).stays()) != 1:
            bench.transport.advance(1)
        bench.command(Command.ABORT, 0)
        bench.set("event", preempted=1)
    else:
        bench.preempt(0, Mechanism.LIVE, in_place=True)
        bench.start(1)
        bench.transport.advance(5)
        bench.command(Command.RESUME, 0)
        bench.transport.advance(5)
        assert stays(bench) == ([1], [1]) and bench.state(0) is KernelState.RESUMING
        bench.command(Command.ABORT, 0)
        bench.set("event", resumed=1)
        bench.transport.advance(20)
        assert bench.state(0) is KernelState.PREEMPTED and stays(bench) == ([1], [1])
        bench.command(Command.RESUME, 0)
        bench.finish(1)
        other.check()
    finishes(bench, guest)


def test_an_aborted_eviction_resumes_the_kernel():
    """It was preempted before, and is not any more."""
    bench, guest = running(g=ROOMY.replace(shared_bytes=4096), blocks=2, rounds=30)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    assert bench.state(0) is KernelState.PREEMPTED and machine(bench).stays()
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
    assert bench.state(0) is KernelState.PREEMPTING
    bench.command(Command.ABORT, 0)
    bench.set("event", preempted=1)
    assert bench.error(0) is CommandError.ABORTED and bench.state(0) is KernelState.RESUMING
    finishes(bench, guest)


@pytest.mark.parametrize("both", [{}, {"restart": True}, {"checkpoint": True}, {"incremental": True}], ids=str)
def test_refused(both):
    """Where the geometry has it, together with what it does not go with; where it has it not, always."""
    bench, guest = running(g=ROOMY if both else ROOMY.replace(name="strict", in_place=False))
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE, in_place=True, **both)
    assert bench.refusal() is CommandError.UNKNOWN
    bench.set("event", refused=1)
    finishes(bench, guest)
