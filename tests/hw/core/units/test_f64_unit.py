"""The f64 unit: model, pipeline and the host's arithmetic agree, bit for bit."""

import time

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import BY_CODE, F64Op
from caesura.hw.core.units.f64 import F64Unit
from caesura.hw.core.units.f64.lane import F64Lane
from support.core.kept_benches import SideBench
from support.core.side_units import Operation
from support.hw.simulation import component
from support.reference.binary64 import OPERATIONS, Stream, results, tuples

pytestmark = pytest.mark.depends_on("hw", "sim")

OPS = list(F64Op)
NAN = 0x7FFF_FFFF_FFFF_FFFF
FULL = 5_000_000
WORD_OPS = [op for op in OPS if op.name.startswith(("F2D", "I2D", "F2L"))]
"""One operand of 32 bits."""
TINY = preset("tiny")
GEOMETRIES = {"tiny": TINY, "tiny, two threads a cycle": TINY.replace(f64_lanes=2),
              "8 of 32 lanes": preset("ecp5"), "32 lanes, four threads a cycle": preset("gtx480").replace(f64_lanes=4)}
LOW = np.uint64(0xFFFF_FFFF)


def is_test(op):
    return op.name.startswith("DSETP")


def bits(*values):
    return np.array(values, np.float64).view(np.uint64)


def model(op, a, b, c):
    value, test = F64Unit.compute(op, a, b, c)
    assert not (value if is_test(op) else test).any()
    return test.astype(np.uint64) if is_test(op) else value


def assert_equal(op, operands, got, expected):
    wrong = np.flatnonzero(got != expected)
    assert not len(wrong), (op.name, len(wrong), [hex(int(x[wrong[0]])) for x in (*operands, expected, got)])


@pytest.fixture(scope="module")
def stream():
    return Stream()


def test_every_operation_has_a_judge():
    assert set(OPERATIONS) == set(F64Op) and len(OPS) == 83


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_model_agrees_with_the_host(op):
    *operands, expected = tuples(op, 12_000, seed=int(op))
    assert_equal(op, operands, model(op, *operands), expected)


@pytest.mark.full
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_model_agrees_with_the_host_on_many(op):
    for seed in range(8):
        *operands, expected = tuples(op, 250_000, seed=1000 + 100 * int(op) + seed)
        assert_equal(op, operands, model(op, *operands), expected)


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("op", WORD_OPS, ids=lambda op: op.name)
def test_model_agrees_with_the_host_on_every_word(op):
    size = 1 << 14  # arrays that stay in the processor's cache
    for first in range(0, 1 << 32, size):
        b = np.arange(first, first + size, dtype=np.uint64)
        expected = results(op, b, b, b)
        assert_equal(op, (b, b, b), model(op, b, b, b), expected)


def test_operands_reach_the_difficult_cases():
    """A generator that misses them would prove nothing."""
    a, b, _, expected = tuples(F64Op.DADD_RN, 100_000, seed=1)
    x, y, result = (v.view(np.float64) for v in (a, b, expected))
    to_zero = results(F64Op.DADD_RZ, a, b, b)
    inexact = (expected != to_zero) | (results(F64Op.DADD_RP, a, b, b) != results(F64Op.DADD_RM, a, b, b))
    with np.errstate(all="ignore"):
        found = {
            "cancelled": (result == 0) & (x != 0), "subnormal": (result != 0) & (np.abs(result) < 2.0**-1022),
            "special": ~np.isfinite(x) | ~np.isfinite(y), "inexact": inexact,
            "overflow": np.isinf(result) & np.isfinite(x) & np.isfinite(y),
            "half a unit": (np.abs(y) * 2 == np.spacing(np.abs(x))) & (y != 0),
        }
    assert {name: int(cases.sum()) for name, cases in found.items() if cases.sum() < 100} == {}

    a, b, c, expected = tuples(F64Op.DFMA_RN, 100_000, seed=2)
    x, y, z, total = (v.view(np.float64) for v in (a, b, c, expected))
    with np.errstate(all="ignore"):
        rounded_twice = (x * y + z).view(np.uint64)
        number = np.isfinite(total) & (total != 0)
        found = {"one rounding is not two": np.isfinite(total) & (rounded_twice != expected),
                 "only the rest is left": number & (np.abs(total) < np.abs(z) * 2.0**-52),
                 "subnormal": number & (np.abs(total) < 2.0**-1022),
                 "subnormal factor": number & (np.abs(total) > 2.0**-1022)
                 & (np.minimum(np.abs(x), np.abs(y)) < 2.0**-1022) & (x * y != 0)}
    assert {name: int(cases.sum()) for name, cases in found.items() if cases.sum() < 100} == {}

    _, b, _, expected = tuples(F64Op.D2F_RN, 100_000, seed=3)
    size = expected & np.uint64(0x7FFF_FFFF)
    assert ((size > 0) & (size < 0x80_0000)).sum() > 1000 and (b & np.uint64((1 << 29) - 1) == 1 << 28).sum() > 1000
    _, b, _, expected = tuples(F64Op.D2L_S_RN, 100_000, seed=4)
    x = b.view(np.float64)
    with np.errstate(all="ignore"):
        assert (np.abs(x - np.trunc(x)) == 0.5).sum() > 1000 and (expected == 1 << 63).sum() > 1000


def test_special_cases_of_the_instruction_table():
    one, zero, infinity = bits(1.0), bits(0.0), bits(np.inf)
    cases = [
        (F64Op.DADD_RM, one, bits(-1.0), 1 << 63), (F64Op.DADD_RP, one, bits(-1.0), 0),
        (F64Op.DADD_RM, zero, zero, 0), (F64Op.DADD_RN, bits(-0.0), bits(-0.0), 1 << 63),
        (F64Op.DSUB_RN, infinity, infinity, NAN), (F64Op.DMUL_RN, zero, bits(-np.inf), NAN),
        (F64Op.DMIN, zero, bits(-0.0), 1 << 63), (F64Op.DMAX, bits(-0.0), zero, 0),
        (F64Op.DMIN, bits(np.nan), one, one[0]), (F64Op.DMAX, one, [0xFFF8_0000_0000_0001], one[0]),
        (F64Op.DMAX, [0x7FF0_0000_0000_0001], bits(np.nan), NAN),
        (F64Op.D2F_RN, zero, bits(np.nan), 0x7FFF_FFFF), (F64Op.D2F_RZ, zero, bits(-1e300), 0xFF7F_FFFF),
        (F64Op.D2F_RP, zero, bits(1e-300), 1), (F64Op.F2D, zero, [0x7F80_0001], NAN),
        (F64Op.F2D, zero, [1], bits(2.0**-149)[0]), (F64Op.D2I_S_RN, zero, bits(np.nan), 0),
        (F64Op.D2I_S_RZ, zero, bits(-1e10), 0x8000_0000), (F64Op.D2I_S_RN, zero, bits(-1.5), 0xFFFF_FFFE),
        (F64Op.D2I_U_RM, zero, bits(-0.5), 0), (F64Op.D2I_U_RN, zero, bits(4294967295.5), 0xFFFF_FFFF),
        (F64Op.D2L_U_RN, zero, bits(2.0**64), (1 << 64) - 1), (F64Op.D2L_S_RN, zero, bits(-np.inf), 1 << 63),
        (F64Op.F2L_S_RZ, zero, [0xFFFF_FFFF_BFC0_0000], (1 << 64) - 1),
        (F64Op.L2D_U_RZ, zero, [(1 << 64) - 1], bits(float((1 << 64) - (1 << 11)))[0]),
        (F64Op.L2F_S_RN, zero, [(1 << 64) - 1], 0xBF80_0000), (F64Op.I2D_S, zero, [0xFFFF_FFFF], bits(-1.0)[0]),
        (F64Op.I2D_U, zero, [0xFFFF_FFFF], bits(4294967295.0)[0]), (F64Op.DRND_RP, zero, bits(-0.5), 1 << 63),
        (F64Op.DRND_RN, zero, bits(2.5), bits(2.0)[0]),
        (F64Op.DMUL_RP, bits(1e300), bits(-1e300), 0xFFEF_FFFF_FFFF_FFFF),
        (F64Op.DMUL_RM, [1], [1], 0), (F64Op.DMUL_RP, [1], [1], 1),
    ]
    for op, a, b, expected in cases:
        assert model(op, a, b, 0).tolist() == [expected], op.name


def test_model_is_fast_enough_for_lockstep():
    """A warp instruction with ordinary operands in (much) less than a millisecond."""
    rng = np.random.default_rng(1)
    a, b, c = (rng.normal(size=32).view(np.uint64) for _ in range(3))
    for op in (F64Op.DFMA_RN, F64Op.DFMA_RM, F64Op.DMUL_RZ, F64Op.DADD_RN):
        seconds = []
        for _ in range(50):
            start = time.perf_counter()
            F64Unit.compute(op, a, b, c)
            seconds.append(time.perf_counter() - start)
        assert min(seconds) < 500e-6, op.name


def random_operations(g, rng, ops):
    """Warp instructions with stratified operands; each has its expected results with it."""
    for op in ops:
        a, b, c, expected = tuples(op, g.warp_size, seed=int(rng.integers(1 << 60)))
        opcode = BY_CODE[0x200 | op]
        mask = int(rng.integers(1, 1 << g.warp_size)) if rng.random() < 0.7 else (1 << g.warp_size) - 1
        words = {}
        for name, value in zip("abc", (a, b, c), strict=True):
            words[name] = (value & LOW).astype(np.uint32)
            if name in opcode.pairs:
                words[f"high_{name}"] = (value >> np.uint64(32)).astype(np.uint32)
        yield Operation(int(op), mask, words, warp=int(rng.integers(g.warps)), base=int(rng.integers(g.registers)),
                        d=2 * int(rng.integers(32)), pd=int(rng.integers(7)), registers=opcode.data_registers,
                        writes_pd="pd" in opcode.operands), expected


def run_and_check(g, operations, busy=lambda: False):
    bench = SideBench(g, component(F64Unit, g), [operation for operation, _ in operations], busy)
    bench.run()
    for operation, expected in operations:
        lanes = [lane for lane in range(g.warp_size) if operation.mask >> lane & 1]
        if operation.writes_pd:
            assert operation.tested == {lane: int(expected[lane]) for lane in lanes} and not operation.written
        else:
            values = [expected & LOW, expected >> np.uint64(32)][:operation.registers]
            assert operation.written == [{lane: int(row[lane]) for lane in lanes} for row in values], (
                F64Op(operation.function).name)


@pytest.mark.parametrize("case, stalls", [
    pytest.param("tiny", 0.4, marks=pytest.mark.full),
    pytest.param("tiny, two threads a cycle", 0, marks=pytest.mark.full), ("8 of 32 lanes", 0.4),
    pytest.param("32 lanes, four threads a cycle", 0, marks=pytest.mark.full)])
def test_unit_on_every_operation(case, stalls):
    """Masks, operations in random order (all of them in the first case), held back or not; the rest is noise."""
    g, rng = GEOMETRIES[case], np.random.default_rng(len(case))
    ops = [OPS[k] for k in rng.permutation(len(OPS))][:None if case == "tiny" else 30 if g.warp_size == 8 else 10]
    run_and_check(g, list(random_operations(g, rng, ops)), busy=lambda: rng.random() < stalls)


@pytest.mark.parametrize("case", ["tiny", "tiny, two threads a cycle", "8 of 32 lanes"])
def test_latency(case):
    """As documented: a group a cycle, then the pipeline."""
    g, rng = GEOMETRIES[case], np.random.default_rng(1)
    for op in (F64Op.DFMA_RN, F64Op.DSETP_LT):
        operations = list(random_operations(g, rng, [op]))
        operation = operations[0][0]
        operation.mask = (1 << g.warp_size) - 1
        run_and_check(g, operations)
        assert F64Unit.LATENCY == F64Lane.LATENCY + 5 == 14
        assert operation.offered - operation.accepted == g.warp_size // g.f64_lanes + F64Unit.LATENCY


def test_throughput():
    """A warp of 32 threads every 32 cycles."""
    g, rng = preset("ecp5"), np.random.default_rng(1)
    operations = list(random_operations(g, rng, [F64Op.DFMA_RN, F64Op.DSETP_LT, F64Op.D2F_RN, F64Op.DADD_RZ]))
    for operation, _ in operations:
        operation.mask = (1 << g.warp_size) - 1
    run_and_check(g, operations)
    assert np.diff([operation.offered for operation, _ in operations]).tolist() == [32] * (len(operations) - 1)


@pytest.mark.full
def test_pipeline_agrees_with_the_host_in_any_order_of_operations(stream):
    differences, first = stream.run(OPS, 1_000_000, seed=5, gap=5)
    assert not differences, f"{differences} differences; {first}"


@pytest.mark.full
@pytest.mark.parametrize("op", WORD_OPS, ids=lambda op: op.name)
def test_pipeline_agrees_with_the_host_on_consecutive_words(stream, op):
    for first in (0, 0x3F80_0000, 0x7F7F_F000, 0x8000_0000 - 20_000, (1 << 32) - 20_000):
        differences, found = stream.run([op], 40_000, seed=first, stride=1)
        assert not differences, f"{differences} differences; {found}"


@pytest.mark.full
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_pipeline_agrees_with_the_host(stream, op):
    differences, first = stream.run([op], FULL, seed=int(op))
    assert not differences, f"{differences} differences; {first}"


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("op", WORD_OPS, ids=lambda op: op.name)
def test_pipeline_agrees_with_the_host_on_words_everywhere(stream, op):
    """Every 101st word, of a phase that differs among the operations."""
    differences, first = stream.run([op], (1 << 32) // 101, seed=int(op), stride=101)
    assert not differences, f"{differences} differences; {first}"


@pytest.mark.full
def test_a_difference_is_found_and_described(stream, monkeypatch):
    """The judge is told that the pipeline should have subtracted."""
    about = OPERATIONS[F64Op.DSUB_RN]
    monkeypatch.setitem(OPERATIONS, F64Op.DADD_RN, type(about)(F64Op.DADD_RN, about.kind, 0, 0))
    differences, first = stream.run([F64Op.DADD_RN], 3200, seed=1)
    assert differences > 1000 and first is not None and str(first).startswith("DADD_RN of ")
    assert model(F64Op.DADD_RN, first.a, first.b, first.c).tolist() == [first.got]
