"""Trace comparison: interleaving does not matter, every real difference is found and named."""

import functools

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.sim.golden.semantics.atomic_order import OrderMismatch
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, TRACE, UNIFORM, WRITE
from caesura.sim.workloads.random_native import random_program
from support.sim.launch import Bench
from support.trace.trace_comparison import describe, first_difference, merge_writes

TINY = preset("tiny")
PROGRAM = random_program(TINY, 5, tbs=4)
RACING = random_program(TINY, 5, tbs=4, racing=True)


def trace_of(g, program=PROGRAM, follow=None):
    """Return the trace of a program on a golden model of geometry `g`, its atomics in the order of a trace."""
    transport = GoldenTransport(g, 1 << 17, trace=True)
    if follow is not None:
        transport.follow(follow)
    bench = Bench(transport)
    output = bench.allocate(program.output_bytes)
    bench.load(0, program.image, program.grid, program.block, (output, bench.store(program.inputs)))
    bench.start(0)
    bench.finish(0)
    return transport.take_trace()


@pytest.fixture(scope="module")
def trace():
    return trace_of(TINY)


@functools.cache
def one_tb_at_a_time(racing):
    return trace_of(TINY.replace(tb_slots=1), RACING if racing else PROGRAM)


@pytest.mark.parametrize("program", [PROGRAM, RACING], ids=["commuting", "racing"])
def test_another_interleaving_of_the_same_program_agrees(program):
    one_by_one = one_tb_at_a_time(program is RACING)
    other = trace_of(TINY, program, one_by_one)
    assert len(other) == len(one_by_one) and (other["launch"] != one_by_one["launch"]).any()
    assert first_difference(one_by_one, other) is None
    assert set(other["kind"].tolist()) == {RETIRE, WRITE, PREDICATE, UNIFORM, ATOMIC}


def test_atomics_in_another_order_do_not():
    one_by_one, free = one_tb_at_a_time(True), trace_of(TINY, RACING)
    assert first_difference(one_by_one, free) is not None
    assert first_difference(free, trace_of(TINY, RACING, free)) is None


def test_a_trace_whose_atomics_the_model_does_not_reach_is_refused(trace):
    atomics = np.flatnonzero(trace["kind"] == ATOMIC)
    wrong = trace.copy()
    wrong["pc"][atomics[3]] += 1
    with pytest.raises(OrderMismatch, match="atomic at pc"):
        trace_of(TINY, follow=wrong)
    unknown = trace.copy()
    unknown["warp"][atomics[3]] = 7
    with pytest.raises(OrderMismatch, match="does not get to.*warp 7"):
        trace_of(TINY, follow=unknown)


def test_a_missing_atomic_is_found(trace):
    row = int(np.flatnonzero(trace["kind"] == ATOMIC)[-1])
    short = np.delete(trace, row)
    difference = first_difference(trace_of(TINY, follow=short), short)
    assert difference is not None and difference.kind == ATOMIC and difference.got is None


def test_another_program_does_not(trace):
    assert first_difference(trace, trace_of(TINY, random_program(TINY, 6, tbs=4))) is not None


@pytest.mark.parametrize("kind, field", [(RETIRE, "pc"), (RETIRE, "mask"), (WRITE, "mask"), (WRITE, "data"),
                                         (PREDICATE, "mask"), (PREDICATE, "data"), (UNIFORM, "data"),
                                         (ATOMIC, "pc"), (ATOMIC, "mask"), (ATOMIC, "data")])
def test_one_flipped_bit_is_found(trace, kind, field):
    mask = trace["mask"]  # not 1 of an atomic: a flip would leave a record without lanes, which is not compared
    whole = (mask == 0xFF) | (kind == UNIFORM) | (kind == ATOMIC) & (mask > 1)
    rows = np.flatnonzero((trace["kind"] == kind) & whole)
    row = rows[len(rows) // 2]
    other = trace.copy()
    if field == "data":
        other["data"][row, 0] ^= 1
    else:
        other[field][row] ^= 1
    difference = first_difference(trace, other)
    assert difference is not None and difference.expected == trace[row] and difference.got == other[row]
    assert difference.pc == trace["pc"][row]
    text = describe(difference, PROGRAM.image.code)
    assert f"pc {difference.pc}" in text and f"warp {trace['warp'][row]}" in text and "expected" in text


def test_a_missing_record_and_one_too_many_are_found(trace):
    row = int(np.flatnonzero(trace["kind"] == RETIRE)[-1])
    short = np.delete(trace, row)
    assert first_difference(trace, short).got is None
    assert first_difference(short, trace).expected is None
    assert first_difference(trace, short, prefix=True) is None
    assert "nothing more" in describe(first_difference(trace, short))


def test_partial_load_writes_are_joined_before_comparison(trace):
    row = int(np.flatnonzero((trace["kind"] == WRITE) & (trace["mask"] == 0xFF))[3])
    parts = trace[[row, row, row]].copy()
    for part, mask, last in zip(parts, (0x0F, 0x30, 0xC0), (0, 0, 1), strict=True):
        part["mask"], part["last"] = mask, last
        part["data"][[lane for lane in range(8) if not mask >> lane & 1]] = 0
    split = np.concatenate([trace[:row], parts[:1], trace[row + 1:row + 1], parts[1:], trace[row + 1:]])
    assert len(merge_writes(split)) == len(trace)
    assert first_difference(trace, split) is None
    split["data"][row + 1, 5] ^= 1
    assert first_difference(trace, split) is not None


def test_silent_instructions_are_left_out_where_the_code_is_given(trace):
    code = {0: PROGRAM.image.code}
    assert first_difference(trace, trace, code) is None
    pp = next(pc for pc, word in enumerate(PROGRAM.image.code) if word >> 54 == 0x380)
    extra = np.zeros(1, TRACE)
    extra["pc"], extra["mask"] = pp, 0xFF
    recorded = np.concatenate([extra, trace])
    assert first_difference(trace, recorded) is not None
    assert first_difference(trace, recorded, code) is None
