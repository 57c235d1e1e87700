"""Images of what stays, or stayed, on the SM: who takes them over, and what is believed."""


import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism, State
from caesura.sim.golden.transport import GoldenTransport
from support.programs.guests import MEMORY, ROOMY, away, finishes, refuses, running, stays, write_entry_of
from support.sim.adoption import carry

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
        assert fresh.adopt(0) is CommandError.BAD_IMAGE


# What is believed

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
