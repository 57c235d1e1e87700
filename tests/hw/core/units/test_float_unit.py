"""Floating-point unit: model, lanes and the host's arithmetic agree, bit for bit."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.core.units.floating import FloatUnit
from support.hw.simulation import Simulator
from support.reference.binary32 import OPERATIONS, Stream, tuples

pytestmark = pytest.mark.depends_on("hw", "sim")

OPS = list(OPERATIONS)
NAN = 0x7FFF_FFFF
FULL = 10_000_000


def words(*values):
    return np.array(values, np.float32).view(np.uint32)


@pytest.fixture(scope="module")
def stream():
    return Stream(preset("tiny"))


def test_every_floating_point_operation_has_a_judge():
    assert set(OPS) == {op for op in AluOp if op.is_float} and len(OPS) == 56


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_model_agrees_with_the_host(op):
    a, b, c, expected = tuples(op, 40_000, seed=int(op))
    value, test = FloatUnit.compute(op, a, b, c)
    got = test if op.name.startswith("FSETP") else value
    wrong = np.flatnonzero(got != expected)
    assert not len(wrong), [hex(int(x[wrong[0]])) for x in (a, b, c, expected, got)]
    assert not (value if op.name.startswith("FSETP") else test).any()


def wide(bits):
    with np.errstate(all="ignore"):
        return bits.view(np.float32).astype(np.float64)


def test_operands_reach_the_difficult_cases():
    """A generator that misses them would prove nothing."""
    a, b, _, expected = tuples(AluOp.FADD_RN, 200_000, seed=1)
    x, y, result = wide(a), wide(b), wide(expected)
    with np.errstate(all="ignore"):
        total = x + y
        exact = np.isfinite(total) & np.isfinite(result) & (total - x == y) & (total - y == x)
        unit = np.abs(np.spacing(expected.view(np.float32)).astype(np.float64))
        found = {
            "tie": exact & (np.abs(total - result) * 2 == unit), "cancelled": (result == 0) & (x != 0),
            "subnormal": (result != 0) & (np.abs(result) < 2.0**-126),
            "special": np.isinf(x) | np.isnan(x) | np.isinf(y) | np.isnan(y),
            "overflow": np.isinf(result) & np.isfinite(total),
        }
    assert {name: cases.sum() for name, cases in found.items() if cases.sum() < 100} == {}

    a, b, c, expected = tuples(AluOp.FFMA_RN, 200_000, seed=2)
    x, y, z = wide(a), wide(b), wide(c)
    with np.errstate(all="ignore"):
        total = x * y + z
        rounded_twice = (a.view(np.float32) * b.view(np.float32) + c.view(np.float32)).view(np.uint32)
        found = {"one rounding is not two": np.isfinite(total) & (rounded_twice != expected),
                 "only the rest is left": (np.abs(total) < np.abs(z) * 2.0**-23) & (total != 0),
                 "nearly nothing is left": (np.abs(total) < 2.0**-170) & (total != 0) & (z != 0)}
    assert {name: cases.sum() for name, cases in found.items() if cases.sum() < 400} == {}


def test_special_cases_of_the_instruction_table():
    cases = [
        (AluOp.FADD_RM, words(1), words(-1), 0x8000_0000), (AluOp.FADD_RP, words(1), words(-1), 0),
        (AluOp.FADD_RM, words(0.0), words(0.0), 0), (AluOp.FADD_RN, words(-0.0), words(-0.0), 0x8000_0000),
        (AluOp.FSUB_RN, words(np.inf), words(np.inf), NAN), (AluOp.FMUL_RN, words(0), words(-np.inf), NAN),
        (AluOp.FMIN, words(0.0), words(-0.0), 0x8000_0000), (AluOp.FMAX, words(-0.0), words(0.0), 0),
        (AluOp.FMIN, words(np.nan), words(3), words(3)[0]), (AluOp.FMAX, words(-3), [0xFFC0_0001], words(-3)[0]),
        (AluOp.FMIN, [0x7F80_0001], [0xFFC0_0000], NAN), (AluOp.FNEG, [0], [0x7F80_0001], 0xFF80_0001),
        (AluOp.FABS, [0], [0xFFC0_0001], 0x7FC0_0001), (AluOp.FSAT, [0], [0xFFC0_0001], 0),
        (AluOp.FSAT, [0], words(-0.0), 0), (AluOp.FSAT, [0], words(2), words(1)[0]),
        (AluOp.FFTZ, [0], [0x807F_FFFF], 0x8000_0000), (AluOp.FFTZ, [0], [1], 0), (AluOp.FFTZ, [0], [0x0080_0000],
         0x0080_0000), (AluOp.FFTZ, [0], words(-np.inf), 0xFF80_0000), (AluOp.FFTZ, [0], [0xFFC0_0001], NAN),
        (AluOp.F2I_S_RN, [0], words(np.nan), 0), (AluOp.F2I_S_RZ, [0], words(-np.inf), 0x8000_0000),
        (AluOp.F2I_U_RN, [0], words(1e20), 0xFFFF_FFFF), (AluOp.F2I_U_RM, [0], words(-0.5), 0),
        (AluOp.F2I_S_RN, [0], words(2.5), 2), (AluOp.F2I_S_RM, [0], words(-2.5), 0xFFFF_FFFD),
        (AluOp.I2F_U_RZ, [0], [0xFFFF_FFFF], 0x4F7F_FFFF), (AluOp.I2F_S_RN, [0], [0xFFFF_FFFF], words(-1)[0]),
        (AluOp.FRND_RP, [0], words(-0.5), 0x8000_0000), (AluOp.FRND_RN, [0], words(3.5), words(4)[0]),
        (AluOp.FMUL_RP, words(3e38), words(-3e38), 0xFF7F_FFFF), (AluOp.FMUL_RM, [1], [1], 0),
        (AluOp.FMUL_RP, [1], [1], 1),
    ]
    for op, a, b, expected in cases:
        assert FloatUnit.compute(op, a, b, 0)[0].tolist() == [expected], op.name


def test_operations_of_other_units_are_refused():
    with pytest.raises(ValueError, match="IADD"):
        FloatUnit.compute(AluOp.IADD, 0, 0, 0)


def test_hardware_matches_model_at_one_operation_a_cycle():
    g, rng = preset("tiny"), np.random.default_rng(1)
    dut = FloatUnit(g)
    program = [(op, *(x[k:k + g.lanes] for x in tuples(op, 4 * g.lanes, seed=3)))
               for op in OPS for k in range(0, 4 * g.lanes, g.lanes)]
    program = [program[k] for k in rng.permutation(len(program))]
    latency = FloatUnit.LATENCY

    async def bench(ctx):
        for cycle in range(len(program) + latency):
            ctx.set(dut.valid, cycle < len(program))
            if cycle < len(program):
                op, *operands, _ = program[cycle]
                ctx.set(dut.op, op)
                for port, values in zip((dut.a, dut.b, dut.c), operands, strict=True):
                    ctx.set(port, [int(x) for x in values])
            if cycle >= latency:
                op, a, b, c, expected = program[cycle - latency]
                test = op.name.startswith("FSETP")
                got = [ctx.get(dut.predicate) >> k & 1 if test else int(ctx.get(dut.result[k])) for k in range(g.lanes)]
                assert got == expected.tolist(), (op.name, a, b, c)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.full
def test_rtl_agrees_with_the_host_in_any_order_of_operations(stream):
    differences, first = stream.run(OPS, 2_000_000, seed=5, gap=5)
    assert not differences, f"{differences} differences; {first}"


@pytest.mark.full
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_rtl_agrees_with_the_host(stream, op):
    differences, first = stream.run([op], FULL, seed=int(op))
    assert not differences, f"{differences} differences; {first}"


@pytest.mark.full
def test_a_difference_is_found_and_described(stream, monkeypatch):
    """The judge is told that the unit should have subtracted."""
    monkeypatch.setitem(OPERATIONS, AluOp.FADD_RN, type(OPERATIONS[AluOp.FADD_RN])(
        AluOp.FADD_RN, OPERATIONS[AluOp.FSUB_RN].kind, 0, 0))
    differences, first = stream.run([AluOp.FADD_RN], 3200, seed=1)
    assert differences > 1000 and first is not None and str(first).startswith("FADD_RN of ")
    value, _ = FloatUnit.compute(AluOp.FADD_RN, first.a, first.b, first.c)
    assert int(value[0]) == first.got
