"""Special-function unit: RTL and model agree bit for bit, and keep to the errors that are promised."""

import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import SfuOp
from caesura.hw.core.units.sfu import ERRORS, SpecialFunctionUnit, functions, tables
from caesura.hw.core.units.sfu.lane import SpecialFunctionLane
from caesura.hw.core.units.sfu.model import interpolate
from support.core.kept_benches import SideBench
from support.core.side_units import Operation
from support.hw.simulation import Simulator, component
from support.reference.special_functions import Errors, broken_promises, judge, operands, results_of_lane
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw", "sim")

DOCUMENT = Path(__file__).parents[4] / "docs" / "sm.md"
OPS = list(SfuOp)
NARROW = [op for op in OPS if not op.name.endswith("64H")]
SLICE = 1 << 12
NAN = 0x7FFF_FFFF
INFINITY, MINUS = 0x7F80_0000, 0x8000_0000
WIDE_INFINITY = 0x7FF0_0000
GEOMETRIES = {
    "tiny": preset("tiny"), "ecp5": preset("ecp5"), "ecp5, four": preset("ecp5").replace(sfu_lanes=4),
    "tiny, all": preset("tiny").replace(sfu_lanes=8),
}
QUICK = (0, "tiny"), (0.4, "ecp5")


def words(*values):
    return np.array(values, np.float32).view(np.uint32)


def by_name(op):
    return op.name


def compute(op, b):
    """In slices that stay in the processor's cache."""
    return np.concatenate([SpecialFunctionUnit.compute(op, b[k:k + SLICE]) for k in range(0, len(b), SLICE)])


def digits(value: int) -> Decimal:
    return Decimal(value) / functions.ONE


def test_every_operation_has_an_error():
    assert set(ERRORS) == set(SfuOp) and all(any(error) for error in ERRORS.values())


def test_the_errors_in_the_documentation_are_these():
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `mufu.")]
    for op, error in ERRORS.items():
        (row,) = [line for line in rows if f"`mufu.{op.name.lower()}`" in line]
        for figure in (error.absolute, error.relative):
            assert figure is None or f"2^{math.log2(figure):g}" in row
        assert error.ulps is None or f"{error.ulps:.2f}" in row


def test_functions_on_integers():
    """Judged by Python's decimal arithmetic; the sine by its square and that of the complement."""
    with localcontext() as context:
        context.prec = 40
        ln2, close = Decimal(2).ln(), Decimal(2) ** -78
        for k in range(0, 257, 8):
            x = functions.ONE + (functions.ONE >> 8) * k + 12345
            fraction = x - functions.ONE if k < 256 else functions.ONE
            assert abs(digits(functions.reciprocal(x)) - 1 / digits(x)) < close
            assert abs(digits(functions.square_root(x)) - digits(x).sqrt()) < close
            assert abs(digits(functions.logarithm(x)) - digits(x).ln() / ln2) < close
            assert abs(digits(functions.power_of_two(fraction)) - (digits(fraction) * ln2).exp()) < close
            sine, cosine = digits(functions.sine(fraction)), digits(functions.sine(functions.ONE - fraction))
            assert abs(sine * sine + cosine * cosine - 1) < close
            doubled = functions.sine(2 * min(fraction, functions.ONE - fraction))
            assert abs(2 * sine * cosine - digits(doubled)) < close
        assert str(digits(functions.pi())).startswith("3.14159265358979323846264")
        assert abs(digits(functions.sine(functions.ONE // 3)) - Decimal("0.5")) < close


def test_tables_fit_their_memory_and_their_functions():
    assert len(tables.rows()) == len(tables.FUNCTIONS) << tables.INDEX_BITS
    for name, (function, argument, exact) in tables.FUNCTIONS.items():
        c0, c1, c2 = tables.coefficients(name)
        assert (0 <= c0).all() and (c0 < 1 << 31).all() and (abs(c1) < 1 << 17).all() and (abs(c2) < 1 << 12).all()
        for k in range(1 << tables.INDEX_BITS):
            for t in range(0, 65537, 8192):
                value = c0[k] / 2**30 + c1[k] / 2**24 * (t / 65536) + c2[k] / 2**27 * (t / 65536) ** 2
                assert abs(value - function(argument(k, t)) / functions.ONE) < 2**-25.8, (name, k, t)
        assert not exact or int(c0[0]) << functions.PRECISION - 30 == function(argument(0, 0))


@pytest.mark.full
@pytest.mark.parametrize("op", [SfuOp.SIN, SfuOp.EX2], ids=by_name)
def test_interpolation_at_every_place(op):
    """With what is cut off below a place and rounding, this bounds the error for every operand."""
    unit = tables.INDEX_BITS + tables.T_BITS
    for first in range(0, 1 << unit, SLICE):
        place = np.arange(first, first + SLICE, dtype=np.int64)
        exact = np.sin((place + 0.5) / 2**unit * (np.pi / 2)) if op is SfuOp.SIN else np.exp2(place / 2**unit)
        assert (abs(interpolate(op, place) / 2**tables.VALUE_BITS - exact) < 2**-26.9).all()


def test_windows_are_two_over_pi():
    """Of each exponent; by the digits of pi that everybody knows."""
    with localcontext() as context:
        context.prec = 120
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534")
        for e, window in enumerate(tables.windows().tolist()):
            turns = 2 / pi * Decimal(2) ** (e - 150) - Decimal(window) / 2**tables.FRACTION_BITS
            away = turns - 4 * (turns / 4).to_integral_value()
            assert abs(away) <= Decimal("0.5000001") / 2**tables.FRACTION_BITS, e


SPECIAL_CASES = [
    (SfuOp.RCP, [(0, INFINITY), (MINUS, INFINITY | MINUS), (INFINITY, 0), (INFINITY | MINUS, MINUS), (1, INFINITY),
                 (0x0020_0000, INFINITY), (0x0020_0001, 0x7F7F_FFF8), (0x7F00_0000, 0x0040_0000)]),
    (SfuOp.RSQ, [(0, INFINITY), (MINUS, INFINITY | MINUS), (INFINITY, 0), (INFINITY | MINUS, NAN),
                 (MINUS | 1, NAN), (0xBF80_0000, NAN)]),
    (SfuOp.SQRT, [(0, 0), (MINUS, MINUS), (INFINITY, INFINITY), (INFINITY | MINUS, NAN), (MINUS | 1, NAN)]),
    (SfuOp.EX2, [(0, 0x3F80_0000), (MINUS, 0x3F80_0000), (1, 0x3F80_0000), (INFINITY, INFINITY), (INFINITY | MINUS, 0),
                 (words(128)[0], INFINITY), (words(-149)[0], 1), (words(-151)[0], 0), (words(-126)[0], 0x0080_0000)]),
    (SfuOp.LG2, [(0, INFINITY | MINUS), (MINUS, INFINITY | MINUS), (INFINITY, INFINITY), (INFINITY | MINUS, NAN),
                 (MINUS | 1, NAN), (0x3F80_0000, 0), (1, words(-149)[0])]),
    (SfuOp.SIN, [(0, 0), (MINUS, MINUS), (INFINITY, NAN), (INFINITY | MINUS, NAN), (1, 1), (MINUS | 1, MINUS | 1)]),
    (SfuOp.COS, [(0, 0x3F80_0000), (MINUS, 0x3F80_0000), (1, 0x3F80_0000), (INFINITY, NAN), (INFINITY | MINUS, NAN)]),
    (SfuOp.RCP64H, [(0, WIDE_INFINITY), (MINUS | 0xF_FFFF, WIDE_INFINITY | MINUS), (WIDE_INFINITY, 0),
                    (WIDE_INFINITY | MINUS, MINUS), (WIDE_INFINITY + 1, NAN), (0x0010_0000, 0x7FD0_0000),
                    (0x7FD0_0000, 0x0010_0000), (0x7FD0_0001, 0), (0xFFE0_0000, MINUS)]),
    (SfuOp.RSQ64H, [(0, WIDE_INFINITY), (MINUS | 1, WIDE_INFINITY | MINUS), (WIDE_INFINITY, 0), (0xBFF0_0000, NAN),
                    (WIDE_INFINITY | MINUS, NAN), (0x4010_0000, 0x3FE0_0000), (0x0010_0000, 0x5FE0_0000)]),
]


@pytest.mark.parametrize("op, cases", SPECIAL_CASES, ids=[op.name for op, _ in SPECIAL_CASES])
def test_special_operands(op, cases):
    b, expected = np.array([*cases, (0xFFFF_FFFF, NAN), (0x7FF8_0000, NAN)], np.uint32).T
    assert [hex(x) for x in compute(op, b)] == [hex(x) for x in expected]


def test_exact_results():
    """Where the exact result is a power of two, or a whole number, it is the result."""
    power = np.arange(-149, 128, dtype=np.float64)
    number = np.exp2(power).astype(np.float32)
    assert (compute(SfuOp.LG2, number.view(np.uint32)).view(np.float32) == power).all()
    assert (compute(SfuOp.EX2, power.astype(np.float32).view(np.uint32)).view(np.float32) == number).all()
    inner = number[abs(power) <= 126]
    assert (compute(SfuOp.RCP, inner.view(np.uint32)).view(np.float32) == 1 / inner).all()
    even = number[power % 2 == 0]
    assert (compute(SfuOp.SQRT, even.view(np.uint32)).view(np.float32) == np.sqrt(even)).all()
    assert (compute(SfuOp.RSQ, even.view(np.uint32)).view(np.float32) == 1 / np.sqrt(even)).all()
    whole = np.arange(1, 4096, dtype=np.float32)
    assert (compute(SfuOp.SQRT, (whole * whole).view(np.uint32)).view(np.float32) == whole).all()


@pytest.mark.parametrize("op", OPS, ids=by_name)
def test_lane_and_model_agree(op):
    """Special operands, the ends of every table interval at every exponent, random operands."""
    b = operands(op, 200_000, seed=int(op))
    got, expected = results_of_lane(op, b), compute(op, b)
    wrong = np.flatnonzero(got != expected)
    assert not len(wrong), [hex(int(x[wrong[0]])) for x in (b, got, expected)]


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("op", OPS, ids=by_name)
def test_lane_and_model_agree_on_all_significands(op):
    """At exponents that stand for all ways through the lane: subnormal, smallest, odd, even, greatest, and others."""
    for exponent in (0, 1, 112, 118, 119, 126, 127, 133, 134, 150, 200, 253, 254):
        for sign in (0, 1):
            first = (sign << 8 | exponent) << 23
            b = np.arange(first, first + (1 << 23), dtype=np.uint32)
            assert (results_of_lane(op, b) == compute(op, b)).all(), (exponent, sign)


@pytest.mark.parametrize("op", OPS, ids=by_name)
def test_errors_of_a_sample(op):
    b = operands(op, 400_000, seed=100 + op)
    assert broken_promises(op, judge(op, b, compute(op, b))) == []


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("op", OPS, ids=by_name)
def test_errors_of_all_operands(op):
    found = Errors()
    for first in range(0, 1 << 32, SLICE):
        b = np.arange(first, first + SLICE, dtype=np.uint32)
        judge(op, b, SpecialFunctionUnit.compute(op, b), found)
    assert broken_promises(op, found) == []


@pytest.mark.parametrize("op", NARROW, ids=by_name)
def test_a_broken_promise_is_found(op, monkeypatch):
    """Results one or two units away, of another sign, or not a number."""
    b = words(*np.linspace(1.25, 1.75, 1000))
    good = compute(op, b)
    assert broken_promises(op, judge(op, b, good)) == []
    for changed, text in ((good + np.uint32(2), "error"), (good ^ np.uint32(MINUS), "1000 wrong results"),
                          (good * 0 + np.uint32(NAN), "1000 wrong results")):
        assert any(text in line for line in broken_promises(op, judge(op, b, changed)))


def test_the_judge_is_judged():
    """The host's functions, by decimal arithmetic."""
    with localcontext() as context:
        context.prec = 40
        ln2 = Decimal(2).ln()
        for x in (0.3, 1.1, 2.7182818, 77.25, 1e-5, 1.9999):
            x = float(np.float32(x))
            assert math.isclose(math.log2(x), float(Decimal(x).ln() / ln2), rel_tol=1e-15)
            assert math.isclose(2.0**x, float((Decimal(x) * ln2).exp()), rel_tol=1e-15)
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534")
        context.prec = 90
        for x in (0.5, 22.0, 1e5, float(np.float32(3e22))):
            turned = Decimal(x) % (2 * pi)
            term, total, k = turned, Decimal(0), 1
            while abs(term) > Decimal(10) ** -30:
                total, term, k = total + term, -term * turned * turned / ((k + 1) * (k + 2)), k + 2
            assert math.isclose(math.sin(x), float(total), rel_tol=1e-14)


def test_lane_in_any_order_of_operations_and_at_rest():
    """Gaps between operands change nothing; the result stands still in them."""
    rng = np.random.default_rng(5)
    count = 900
    ops = [SfuOp(int(k)) for k in rng.integers(len(OPS), size=count)]
    pools = {op: operands(op, 1000, seed=7) for op in OPS}
    stream = [(op, int(rng.choice(pools[op]))) if rng.random() < 0.7 else None for op in ops]
    dut, latency = SpecialFunctionLane(), SpecialFunctionLane.LATENCY

    async def bench(ctx):
        last = None
        for cycle in range(count + latency):
            sent = stream[cycle] if cycle < count else None
            ctx.set(dut.enable, sent is not None)
            op, b = sent or (SfuOp(int(rng.integers(len(OPS)))), int(rng.integers(1 << 32)))
            ctx.set(dut.op, op)
            ctx.set(dut.b, b)
            if cycle >= latency:
                got, due = ctx.get(dut.result), stream[cycle - latency]
                if due is not None:
                    last = int(SpecialFunctionUnit.compute(due[0], due[1])[0])
                assert last is None or got == last, (due, hex(got))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("stalls, size", quick(
    [(stalls, size) for stalls in (0, 0.4) for size in GEOMETRIES], QUICK))
def test_unit_executes_warp_instructions(size, stalls):
    g, rng = GEOMETRIES[size], np.random.default_rng(3)
    everything = (1 << g.warp_size) - 1
    operations = []
    for number in range(20):
        op = SfuOp(int(rng.integers(len(OPS))))
        mask = everything if number % 3 == 0 else int(rng.integers(1, everything))
        operations.append(Operation(int(op), mask, {"b": rng.choice(operands(op, 100, number), g.warp_size)},
                                    warp=int(rng.integers(g.warps)), base=int(rng.integers(g.registers)),
                                    d=int(rng.integers(64))))
    SideBench(g, component(SpecialFunctionUnit, g), operations, lambda: rng.random() < stalls).run()
    for operation in operations:
        value = SpecialFunctionUnit.compute(SfuOp(operation.function), operation.words["b"])
        assert operation.written == [{lane: int(value[lane]) for lane in range(g.warp_size)
                                      if operation.mask >> lane & 1}]
        if not stalls and operation is operations[0]:
            groups = g.warp_size // g.sfu_lanes
            assert operation.offered - operation.accepted == SpecialFunctionLane.LATENCY + groups + 5
