"""In-place context switching in the golden model (Lin et al. III-A): what stays, who makes room, what is evicted, and
that nothing is lost."""

import random

import numpy as np
import pytest

from caesura.hw.arch import context
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.context import CCB_RECORD, Capability, Mechanism, State
from caesura.hw.arch.encodings import Encoding
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.image_reader import ImageReader
from caesura.hw.arch.isa import ALL_LIVE
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.testing.launch import Bench
from caesura.sim.workloads.random_native import random_program
from support.sim.adoption import carry
from support.sim.guests import Guest, write_entry_of

ROOMY = preset("tiny").replace(name="roomy", in_place=True, warps=16, tb_slots=4)
"""16 rows of registers, 8 lines: a warp of a `Guest` with 8 registers takes two rows."""
SMALL = preset("tiny").replace(name="small", in_place=True)
MEMORY = 1 << 17
EACH = pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)


def bench_of(g=ROOMY):
    return Bench(GoldenTransport(g, MEMORY))


def running(cycles=120, g=ROOMY, **shape):
    """A machine with a guest in slot 0 that runs."""
    bench = bench_of(g)
    guest = Guest(bench, 0, **shape)
    bench.start(0)
    bench.transport.advance(cycles)
    return bench, guest


def machine(bench):
    return bench.transport.machine


def stays(bench, slot=0):
    """The entries of a kernel whose registers, and whose lines stay."""
    return tuple([k for k in range(32) if bench.get(f"kernel[{slot}].{name}_stay") >> k & 1]
                 for name in ("registers", "lines"))


def evicted(bench):
    return bench.get("evicted_tbs"), bench.get("evicted_bytes")


def record_state(bench, guest):
    address = context.record_address(bench.geometry, guest.loaded.ccb_base)
    return context.from_words(CCB_RECORD, np.frombuffer(bench.transport.read_memory(address, 64), "<u4"))["state"]


def image(bench, guest, entry):
    """Records with their registers, shared lines and the encoding table of an image in memory."""
    stream = np.frombuffer(bench.transport.read_memory(entry["register_image"], entry["length"]), "<u4")
    reader = ImageReader(stream, bench.geometry, entry["live_warps"].bit_count(), entry["registers"])
    records = []
    for codes in reader.codes:
        record = reader.record()
        records.append((record, reader.registers(record, codes)))
    lines = reader.shared_lines(guest.shape[3])
    reader.finish()
    return records, lines, reader.codes


def finishes(bench, *guests):
    for guest in guests:
        bench.finish(guest.slot)
        guest.check()
    assert bench.fault() is None and not machine(bench).stays() and not bench.fields("status")["resident"]


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


# Eviction

@EACH
@pytest.mark.parametrize("scramble", [False, True])
def test_the_second_image_has_what_stayed(mechanism, scramble):
    """A fresh TB needs all lines: what stays leaves, registers too, and the first image is not touched."""
    bench, guest = running(warps=2, registers=9)
    other = Guest(bench, 1, lines=7)
    bench.preempt(0, mechanism, scramble, in_place=True)
    (row,) = machine(bench).stays()
    first, saved = guest.entry(), bench.get("save_metadata_bytes")
    bench.start(1)
    bench.transport.advance(1)
    assert stays(bench) == ([], []) and bench.fields("status")["resident"] == 1
    second = guest.entry(side=1)
    assert guest.entry() == first and evicted(bench) == (1, second["length"] + 64)
    assert bench.get("save_metadata_bytes") == saved
    alike = "version", "geometry_hash", "live_warps", "mechanism", "registers", "warps", "registers_stay", "lines_stay"
    assert all(second[name] == first[name] for name in alike) and second["generation"] == first["generation"]
    assert (second["state"], second["base_crc"], second["incremental"]) == (State.BASE, first["crc"], 0)
    assert not any(second[name] for name in ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z", "local_base"))
    records, lines, codes = image(bench, guest, second)
    live_only = mechanism.has(Capability.SAVES_LIVE_ONLY)
    assert [record.header["warp"] for record, _ in records] == [0, 1]
    for (record, registers), row_codes in zip(records, codes, strict=True):
        warp = record.header["warp"]
        assert record.header == {"warp": warp, "waiting": 0, "barrier": 0, "launched_lanes": 255, "live_lanes": 255,
                                 "uniforms": 0, "predicates": 0}
        assert record.stack == [(0, 255, PC_NONE)]
        whole = not live_only or scramble
        assert list(registers) == [r for r in range(9) if whole or row.masks[warp] >> r & 1]
        for r, values in registers.items():
            kept = row.masks[warp] >> r & 1
            assert np.array_equal(values, row.tb.warps[warp].registers[r] if kept else np.zeros(8))
        if not mechanism.has(Capability.COMPRESSES):
            assert {*row_codes} <= {Encoding.DEAD, Encoding.RANDOM}
    assert [*lines] == [k for k in range(2) if not live_only or row.tb.lines_valid >> k & 1]
    assert second["data_bytes"] == second["length"] - sum(
        4 * (2 + -(-9 // 8)) for _ in records) - 4 or mechanism.has(Capability.COMPRESSES)
    assert record_state(bench, guest) == State.COMPLETE
    bench.finish(1)
    other.check()
    bench.resume(0, scramble)
    assert not machine(bench).kernels[0].bases
    finishes(bench, guest)


@pytest.mark.parametrize("part", ["registers", "lines"])
def test_one_resource_stays_and_is_evicted(part):
    bench = bench_of()
    shape = {"registers": 16, "warps": 4} if part == "lines" else {"lines": 8}
    guest, other = Guest(bench, 0, warps=2, rounds=5), Guest(bench, 1, rounds=1, **shape)
    Guest(bench, 2, rounds=1, registers=16, warps=4, lines=8)
    bench.start(0)
    bench.transport.advance(80)
    bench.preempt(0, Mechanism.LIVE_TB, True, in_place=True, newcomer=(1, 1))
    assert stays(bench) == (([0], []) if part == "registers" else ([], [0]))
    bench.start(1)
    bench.finish(1)
    other.check()
    assert evicted(bench)[0] == 0
    bench.resume(0, True)
    bench.transport.advance(11)
    bench.preempt(0, Mechanism.LIVE_TB, True, in_place=True, newcomer=(1, 1))
    bench.start(2)
    bench.finish(2)
    assert evicted(bench)[0] == 1
    records, lines, _ = image(bench, guest, guest.entry(side=1))
    assert any(registers for _, registers in records) == (part == "registers") and bool(lines) == (part == "lines")
    bench.resume(0, True)
    finishes(bench, guest)


def test_the_fewest_leave_the_lowest_of_several():
    """Eight rows and three lines each; one that leaves makes room for a TB of two lines."""
    bench = bench_of(ROOMY.replace(registers=128))
    guest, other = Guest(bench, 0, blocks=4), Guest(bench, 1)
    bench.start(0)
    bench.transport.advance(60)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.start(1)
    bench.transport.advance(1)
    assert stays(bench) == ([1, 2, 3], [1, 2, 3]) and evicted(bench)[0] == 1
    assert record_state(bench, guest) == State.FREE
    bench.finish(1)
    other.check()
    bench.resume(0)
    finishes(bench, guest)


def test_a_fresh_tb_for_which_it_would_be_no_use_evicts_nobody():
    """Its slots are there, but a TB that runs is in its way."""
    bench = bench_of()
    guest, runs, waits = Guest(bench, 0), Guest(bench, 1, lines=4, rounds=20), Guest(bench, 2, lines=7)
    for slot in range(2):
        bench.start(slot)
    bench.transport.advance(20)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.start(2)
    bench.transport.advance(50)
    assert stays(bench) == ([0], [0]) and bench.get("kernel[2].launched") == 0
    bench.finish(1)
    bench.transport.advance(2)
    assert evicted(bench)[0] == 1
    bench.finish(2)
    bench.resume(0)
    finishes(bench, guest, runs, waits)


@pytest.mark.parametrize("what", ["TB", "warp"])
def test_a_fresh_tb_without_a_slot_evicts_nobody(what):
    """It has no lines either, and for those one that stays would leave."""
    bench = bench_of(ROOMY.replace(tb_slots=2) if what == "TB" else ROOMY.replace(warps=3))
    guest, runs, many = Guest(bench, 0), Guest(bench, 1, rounds=40), Guest(bench, 2, blocks=2, warps=2, lines=4)
    for slot in (0, 1):
        bench.start(slot)
        bench.transport.advance(10)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.start(2)
    bench.transport.advance(50)
    assert bench.get("kernel[2].launched") == 1 and bench.fields("status")["resident"] == 2
    assert stays(bench) == ([0], [0])
    bench.finish(2)
    bench.finish(1)
    bench.resume(0)
    finishes(bench, guest)
    runs.check()
    many.check()


def test_evictions_wait_for_the_preempt_in_hand():
    bench = bench_of()
    guest, slow, waits = Guest(bench, 0), Guest(bench, 1, rounds=30), Guest(bench, 2, lines=5)
    for slot in (1, 0):
        bench.start(slot)
        bench.transport.advance(10)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.command(Command.PREEMPT, 1, Mechanism.LIVE)
    bench.start(2)
    bench.transport.advance(1)
    assert not machine(bench).attention and bench.state(1) is KernelState.PREEMPTING and stays(bench) == ([0], [0])
    bench.command(Command.ABORT, 1)
    bench.transport.advance(1)
    assert stays(bench) == ([], []) and bench.get("kernel[2].launched") == 1
    bench.set("event", preempted=1)
    bench.resume(0)
    finishes(bench, slow, waits, guest)


@pytest.mark.parametrize("runs", [False, True])
def test_a_resumed_tb_evicts_others_or_the_next_of_its_own_kernel(runs):
    """A TB of which registers stay looks for three lines: where another's stay or, if that one runs, where those of
    the second TB do."""
    bench = bench_of()
    guest, other = Guest(bench, 0, blocks=2, lines=3, rounds=40), Guest(bench, 1, lines=3, rounds=60)
    bench.start(0)
    bench.transport.advance(40)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=(1, 1))
    assert stays(bench) == ([0, 1], [1])
    bases = [row.tb.base for row in machine(bench).stays()]
    bench.start(1)
    bench.transport.advance(20)
    if not runs:
        bench.preempt(1, Mechanism.LIVE, in_place=True)
    bench.command(Command.RESUME, 0)
    machine(bench).manage()
    assert evicted(bench)[0] == 1
    on = machine(bench).resident(machine(bench).kernels[0])
    if runs:
        assert [tb.entry for tb in on] == [0] and stays(bench) == ([], []) and guest.entry(1, side=1)["base_crc"]
        assert bench.state(0) is KernelState.RESUMING
    else:
        assert stays(bench, 1) == ([], []) and [tb.base for tb in on] == bases
        assert record_state(bench, other) == State.COMPLETE
        bench.command(Command.RESUME, 1)
    finishes(bench, *((other, guest) if runs else (guest, other)))


def test_a_resumed_tb_looks_only_for_what_does_not_stay_of_it():
    """Its registers stay, and all others are taken; one leaves for its lines."""
    bench = bench_of()
    guest, filler = Guest(bench, 0, registers=16, warps=2, lines=4), Guest(bench, 2, registers=16, warps=2, lines=6)
    Guest(bench, 1, lines=8)
    bench.start(0)
    bench.transport.advance(20)
    bench.preempt(0, Mechanism.LIVE, in_place=True, newcomer=(1, 1))
    assert stays(bench) == ([0], [])
    bench.start(2)
    bench.transport.advance(20)
    bench.preempt(2, Mechanism.LIVE, in_place=True)
    bench.command(Command.RESUME, 0)
    machine(bench).manage()
    assert evicted(bench)[0] == 1 and stays(bench, 2) == ([], []) and bench.fields("status")["resident"] == 1
    bench.command(Command.RESUME, 2)
    finishes(bench, guest, filler)


def test_what_is_evicted_of_a_kernel_that_is_being_resumed_makes_no_record():
    """It waits for warp slots, and another, which needs fewer, takes its room."""
    bench = bench_of(ROOMY.replace(warps=6))
    guest, other, runs = Guest(bench, 0, warps=4), Guest(bench, 1, lines=5, rounds=30), Guest(bench, 2, warps=3)
    bench.start(2)
    bench.transport.advance(20)
    bench.preempt(2, Mechanism.LIVE)
    for slot in (1, 0):
        bench.start(slot)
        bench.transport.advance(10)
    bench.preempt(1, Mechanism.LIVE)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.resume(2)
    bench.command(Command.RESUME, 0)
    bench.command(Command.RESUME, 1)
    bench.transport.advance(2)
    assert [bench.state(slot) for slot in range(2)] == [KernelState.RESUMING, KernelState.RUNNING]
    assert evicted(bench)[0] == 1 and record_state(bench, guest) == State.FREE
    finishes(bench, runs, guest, other)


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


def test_an_in_place_preempt_needs_somebody_on_the_sm_and_a_checkpoint_evicts_nobody():
    bench, guest = running()
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE, in_place=True)
    assert bench.refusal() is CommandError.NOT_RUNNING
    bench.set("event", refused=1)
    bench.checkpoint(0, Mechanism.LIVE)
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


@pytest.mark.parametrize("both", [{}, {"restart": True}, {"checkpoint": True}, {"incremental": True}], ids=str)
def test_refused(both):
    """Where the geometry has it, together with what it does not go with; where it has it not, always."""
    bench, guest = running(g=ROOMY if both else ROOMY.replace(name="strict", in_place=False))
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE, in_place=True, **both)
    assert bench.refusal() is CommandError.UNKNOWN
    bench.set("event", refused=1)
    finishes(bench, guest)


# Taken over from memory

def test_another_machine_takes_over_what_was_evicted_and_not_before():
    bench, guest = running(rounds=30)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    fresh = carry(bench, GoldenTransport(ROOMY, MEMORY))
    assert fresh.adopt(0) is CommandError.BAD_IMAGE
    bench.preempt(0, Mechanism.LIVE)
    fresh = carry(bench, GoldenTransport(ROOMY, MEMORY))
    assert fresh.adopt(0) is CommandError.NONE
    fresh.resume(0)
    fresh.transport.advance(10)
    fresh.preempt(0, Mechanism.LIVE, in_place=True)
    assert stays(fresh) == ([0], [0])
    fresh.resume(0)
    guest.bench = fresh
    finishes(fresh, guest)


def test_it_is_not_taken_over_where_nothing_can_stay():
    bench, _ = running(rounds=30)
    bench.preempt(0, Mechanism.LIVE, in_place=True)
    bench.preempt(0, Mechanism.LIVE)
    strict = carry(bench, GoldenTransport(ROOMY.replace(name="strict", in_place=False), MEMORY))
    assert strict.adopt(0) is CommandError.BAD_IMAGE


@pytest.mark.parametrize("name", ["registers_stay", "lines_stay", "incremental"])
def test_an_image_is_one_of_increment_base_and_what_something_stayed_of(name):
    """Said by an increment, by its base, or by what stayed, all checksums right."""
    bench, guest = running(rounds=30)
    bench.checkpoint(0, Mechanism.LIVE)
    bench.transport.advance(20)
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    if name == "incremental":
        bench, guest = away(True)
        write_entry_of(bench, guest.loaded, 0, 0, incremental=1)
    else:
        write_entry_of(bench, guest.loaded, 0, 1, **{name: 1})
    fresh = carry(bench, GoldenTransport(ROOMY, MEMORY))
    assert fresh.adopt(0) is CommandError.BAD_IMAGE
    if name != "incremental":
        write_entry_of(bench, guest.loaded, 0, 1, **{name: 0})
        write_entry_of(bench, guest.loaded, 0, 0, **{name: 1})
        write_entry_of(bench, guest.loaded, 0, 1, base_crc=guest.entry()["crc"])
        fresh = carry(bench, GoldenTransport(ROOMY, MEMORY))
        assert fresh.adopt(0) is CommandError.NONE
        refuses(fresh)


# What is believed

def away(evict):
    bench, guest = running(rounds=30)
    bench.preempt(0, Mechanism.LIVE_CP, in_place=True)
    if evict:
        bench.preempt(0, Mechanism.LIVE_CP)
    return bench, guest


def refuses(bench):
    bench.command(Command.RESUME, 0)
    bench.transport.advance(3)
    assert bench.error(0) is CommandError.BAD_IMAGE and bench.state(0) is KernelState.PREEMPTED
    assert bench.fields("status")["resident"] == 0
    bench.set("event", resumed=1)


@pytest.mark.parametrize("evict", [False, True])
@pytest.mark.parametrize("name, lies", [
    ("registers_stay", (0,)), ("lines_stay", (0,)), ("none", (1, 2, 4, 8, 16)), ("incremental", (1,)),
    ("base_crc", (1, 1 << 31)), ("state", (State.BASE, State.DEMOTED, State.FREE))])
def test_a_lie_in_the_first_image_is_refused(evict, name, lies):
    bench, guest = away(evict)
    good, kept = guest.entry(), stays(bench)
    for lie in lies:
        write_entry_of(bench, guest.loaded, 0, 0, **{name: lie})
        refuses(bench)
        write_entry_of(bench, guest.loaded, 0, 0, **good)
    assert stays(bench) == kept
    bench.resume(0)
    finishes(bench, guest)


@pytest.mark.parametrize("name, lies", [
    ("registers_stay", (0,)), ("lines_stay", (0,)), ("none", (1, 2, 4, 8, 16)), ("incremental", (1,)),
    ("base_crc", (0, 1)), ("state", (State.COMPLETE, State.DEMOTED, State.FREE)), ("version", (0,)), ("zero", (1,)),
    ("geometry_hash", (0,)), ("register_image", (0,)), ("length", (4,)), ("data_bytes", (1 << 31,)),
    ("live_warps", (0, 2)), ("mechanism", (9,)), ("registers", (1,)), ("warps", (2,)), ("stream_crc", (0,)),
    ("table_crc", (0,))])
def test_a_lie_in_the_second_image_is_refused(name, lies):
    bench, guest = away(True)
    good = guest.entry(side=1)
    for lie in lies:
        write_entry_of(bench, guest.loaded, 0, 1, **{name: lie})
        refuses(bench)
        write_entry_of(bench, guest.loaded, 0, 1, **good)
    bench.resume(0)
    finishes(bench, guest)


def test_each_bit_of_both_entries_counts():
    bench, guest = away(True)
    for side in range(2):
        at = context.entry_address(guest.loaded.ccb_base, side * ROOMY.tb_slots)
        good = bench.transport.read_memory(at, 64)
        for bit in range(8 * 64):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            bench.transport.write_memory(at, bytes(bad))
            refuses(bench)
        bench.transport.write_memory(at, good)
    stream = guest.entry(side=1)
    for at in range(stream["register_image"], stream["register_image"] + stream["length"], 4):
        good = bench.transport.read_memory(at, 4)
        bench.transport.write_memory(at, bytes([good[0] ^ 1, *good[1:]]))
        refuses(bench)
        bench.transport.write_memory(at, good)
    bench.resume(0)
    finishes(bench, guest)


def test_the_second_image_of_an_earlier_preempt_completes_no_other():
    bench, guest = away(True)
    old = guest.entry(side=1)
    bench.resume(0)
    bench.preempt(0, Mechanism.LIVE_CP, in_place=True)
    bench.preempt(0, Mechanism.LIVE_CP)
    new = guest.entry(side=1)
    write_entry_of(bench, guest.loaded, 0, 1, **old)
    refuses(bench)
    write_entry_of(bench, guest.loaded, 0, 1, **new)
    bench.resume(0)
    finishes(bench, guest)


# Anything at any time

class Prepared:
    """A random program on a fresh golden model, and a kernel that takes the place of what stays."""

    def __init__(self, seed):
        self.program = random_program(SMALL, seed, statements=8)
        self.transport = GoldenTransport(SMALL, 1 << 20, seed=seed)
        self.bench = Bench(self.transport)
        self.output = self.bench.allocate(self.program.output_bytes)
        self.loaded = self.bench.load(0, self.program.image, self.program.grid, self.program.block,
                                      (self.output, self.bench.store(self.program.inputs)))
        self.bench.start(0)

    def result(self):
        return self.transport.read_memory(self.output, self.program.output_bytes)


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("seed", (0, *range(4, 12)))
def test_random_programs_with_random_preempts_in_place(seed, scramble):
    """Any of in-place preempt, with and without a newcomer, which then comes or not, evictions, checkpoints, whole and
    incremental preempts, with any mechanism, again and again: the result is the same."""
    whole = Prepared(seed)
    whole.bench.finish(0)
    run, rng, kept = Prepared(seed), random.Random(seed), 0
    bench, others = run.bench, []
    for _ in range(30):
        run.transport.advance(rng.randint(1, 14))
        if bench.state(0) is not KernelState.RUNNING:
            break
        mechanism, number = rng.choice(list(Mechanism)), rng.randrange(6)
        if number == 0:
            bench.checkpoint(0, mechanism, scramble)
            continue
        if number == 1:
            bench.preempt(0, mechanism, scramble, incremental=rng.random() < 0.5)
        else:
            other = Guest(bench, 1, rng.randint(1, 3), rng.randint(1, 2), rng.randint(6, 16), rng.randint(2, 4), 1)
            bench.preempt(0, mechanism, scramble, in_place=True, newcomer=(1, rng.randint(0, 2)))
            kept += len(machine(bench).stays())
            if rng.random() < 0.7:
                bench.start(1)
                others.append(other)
                if rng.random() < 0.7:
                    bench.finish(1)
        if bench.state(0) is KernelState.PREEMPTED:
            if machine(bench).stays() and rng.random() < 0.3:
                bench.preempt(0, rng.choice(list(Mechanism)), scramble)
            bench.command(Command.RESUME, 0, scramble=scramble)
        if others:
            bench.finish(1)
            others.pop().check()
        if bench.state(0) is KernelState.RESUMING:
            bench.transport.advance(1)
        bench.set("event", resumed=1)
    bench.finish(0)
    assert bench.fault() is None and run.result() == whole.result()
    assert kept and evicted(bench)[0], (kept, evicted(bench))


@pytest.mark.parametrize("seed", range(6))
def test_three_kernels_that_fight_for_room_all_end(seed):
    """They are preempted in place and not, for one another, and resumed at random; then each is resumed once."""
    rng, bench = random.Random(seed), bench_of()
    guests = [Guest(bench, slot, rng.randint(3, 5), rng.randint(1, 3), rng.randint(6, 16), rng.randint(2, 6), 9)
              for slot in range(3)]
    scramble = bool(seed & 1)
    for guest in guests:
        bench.start(guest.slot)
    for _ in range(80):
        bench.transport.advance(rng.choice((1, 3, 10, 40)))
        slot = rng.randrange(3)
        in_place = rng.random() < 0.7
        bench.set("newcomer", kernel=rng.randrange(3), tbs=rng.randint(0, 4))
        bench.set("spared", rng.choice((0, 0, rng.getrandbits(4))))
        state = bench.state(slot)
        if state is KernelState.PREEMPTED:
            bench.command(rng.choice((Command.RESUME, Command.RESUME, Command.PREEMPT)), slot,
                          rng.choice(list(Mechanism)), scramble)
        elif state in (KernelState.RUNNING, KernelState.RESUMING):
            bench.command(Command.PREEMPT, slot, rng.choice(list(Mechanism)), scramble, in_place=in_place)
        elif state is KernelState.PREEMPTING and rng.random() < 0.1:
            bench.command(Command.ABORT, slot)
    for _ in range(400):
        states = [bench.state(slot) for slot in range(3)]
        for slot in range(3):
            if states[slot] is KernelState.PREEMPTED:
                bench.command(Command.RESUME, slot, scramble=scramble)
        bench.transport.advance(100)
    assert [bench.state(slot) for slot in range(3)] == [KernelState.FINISHED] * 3
    for guest in guests:
        guest.check()
    assert evicted(bench)[0] and not machine(bench).stays() and not bench.fields("status")["resident"]
