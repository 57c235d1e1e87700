"""The integer lane: hardware and model agree, and the model agrees with arithmetic done in Python integers."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import AluOp
from caesura.hw.core.alu import IntegerLane, IntegerUnit

OPS = [op for op in AluOp if op not in (AluOp.S2R, AluOp.LDP) and not op.is_float]
CORNERS = [0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFFFF, 0x8000, 0x1_0000, 0x7FFF_FFFF, 1 << 31, 0x8000_0001, 0xFFFF_FFFF]
WORD = 0xFFFF_FFFF


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def reference(op, a, b, c, pa, pb):
    """The table of the instruction set in plain integers: (d, pd), None where the operation has none."""
    def shift(x, n):
        return x << n if n >= 0 else x >> -n
    pair = b << 32 | a
    values = {
        "MOV": b, "IADD": a + b, "ISUB": a - b, "IRSUB": b - a, "IADDC": a + b + pa, "ISUBC": a + (b ^ WORD) + pa,
        "IMUL_LO": a * b, "IMUL_HI_S": signed(a) * signed(b) >> 32, "IMUL_HI_U": a * b >> 32,
        "IMAD_LO": a * b + c, "AND": a & b, "OR": a | b, "XOR": a ^ b, "NOT": ~b,
        "SHL": 0 if b > 31 else shift(a, b), "SHR_U": 0 if b > 31 else shift(a, -b),
        "SHR_S": signed(a) >> min(b, 31), "SHF_L": pair << c % 32 >> 32, "SHF_R": pair >> c % 32,
        "IMIN_S": min(a, b, key=signed), "IMIN_U": min(a, b), "IMAX_S": max(a, b, key=signed), "IMAX_U": max(a, b),
        "IABS": abs(signed(b)), "SEXT_8": (b & 0xFF) - (b & 0x80) * 2, "SEXT_16": (b & 0xFFFF) - (b & 0x8000) * 2,
        "SEL": a if pa else b,
    }
    order = {"EQ": a == b, "NE": a != b, "LT_U": a < b, "LE_U": a <= b, "GT_U": a > b, "GE_U": a >= b,
             "LT_S": signed(a) < signed(b), "LE_S": signed(a) <= signed(b), "GT_S": signed(a) > signed(b),
             "GE_S": signed(a) >= signed(b)}
    tests = {f"SETP_{name}": value for name, value in order.items()}
    tests |= {"PAND": pa & pb, "POR": pa | pb, "PXOR": pa ^ pb, "IADDC": a + b + pa > WORD,
              "ISUBC": a + (b ^ WORD) + pa > WORD}
    value, test = values.get(op.name), tests.get(op.name)
    return None if value is None else value & WORD, None if test is None else bool(test)


def cases(rng, count):
    """Operands with corners mixed in, and shift counts often small."""
    words = rng.integers(0, 1 << 32, (3, count), dtype=np.uint32)
    for row in words:
        chosen = rng.random(count) < 0.5
        row[chosen] = rng.choice(np.array(CORNERS, np.uint32), chosen.sum())
    equal = rng.random(count) < 0.1
    words[1][equal] = words[0][equal]
    small = rng.random(count) < 0.3
    words[1][small] %= 40
    return (*words, *(rng.integers(0, 2, (2, count)).astype(bool)))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_model_matches_plain_integers(op):
    a, b, c, pa, pb = cases(np.random.default_rng(int(op)), 400)
    value, test = IntegerLane.compute(op, a, b, c, pa, pb)
    for lane in range(len(a)):
        d, pd = reference(op, *(int(x[lane]) for x in (a, b, c, pa, pb)))
        assert int(value[lane]) == (d or 0) and bool(test[lane]) == bool(pd)


def test_every_operation_writes_a_register_or_a_predicate():
    for op in OPS:
        assert any(x is not None for x in reference(op, 1, 2, 3, 1, 0)), op


def test_operations_of_other_units_are_refused():
    for op in (AluOp.S2R, AluOp.FADD_RN):
        with pytest.raises(ValueError, match=op.name):
            IntegerLane.compute(op, 0, 0, 0, 0, 0)


def test_hardware_matches_model_at_one_operation_a_cycle():
    g = preset("tiny")
    dut, rng = IntegerUnit(g), np.random.default_rng(1)
    program = [op for op in OPS for _ in range(12)]
    rng.shuffle(program)
    program = [AluOp(op) for op in program]
    inputs = [cases(rng, g.lanes) for _ in program]

    async def bench(ctx):
        for cycle in range(len(program) + IntegerLane.LATENCY):
            if cycle < len(program):
                a, b, c, pa, pb = inputs[cycle]
                ctx.set(dut.op, program[cycle])
                for port, words in ((dut.a, a), (dut.b, b), (dut.c, c)):
                    ctx.set(port, [int(x) for x in words])
                for port, bits in ((dut.pa, pa), (dut.pb, pb)):
                    ctx.set(port, int(sum(int(x) << k for k, x in enumerate(bits))))
            if cycle >= IntegerLane.LATENCY:
                check(cycle - IntegerLane.LATENCY, ctx.get(dut.result), ctx.get(dut.predicate))
            await ctx.tick()

    def check(k, result, predicate):
        op = program[k]
        for lane in range(g.lanes):
            d, pd = reference(op, *(int(x[lane]) for x in inputs[k]))
            assert d is None or int(result[lane]) == d, (op, lane, [hex(int(x[lane])) for x in inputs[k]])
            assert pd is None or bool(predicate >> lane & 1) == pd, (op, lane)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
