"""Evictions in the golden model: what stayed on the SM is written to memory when others need the room."""


import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.image.context import Capability, Mechanism, State
from caesura.hw.arch.image.encodings import Encoding
from support.programs.guests import (
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


def test_what_is_evicted_of_a_kernel_that_is_being_resumed_makes_its_record_too():
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
    assert evicted(bench)[0] == 1 and record_state(bench, guest) == State.COMPLETE
    finishes(bench, runs, guest, other)
