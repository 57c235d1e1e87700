"""Each row of the reversibility table: everything at 8 bits, by SMT at 32, and on the integer lane's model."""

import numpy as np
import pytest
import z3

from caesura.hw.arch.isa.opcodes import BY_NAME, AluOp
from caesura.hw.core.units.integer import model
from caesura.software.compiler.flashback.reversing import REVERSALS, ROTATIONS, reverting
from caesura.software.compiler.ir.kernel import Imm, Op, Pred, Reg

R = [Reg("R", k) for k in range(4)]
P = [Reg("P", k) for k in range(4)]
U = [Reg("U", k) for k in range(4)]
ROWS = [row for row in REVERSALS.values() if not row.opcode.startswith("u") and row.opcode != "pxor"]
NEVER = ["and", "or", "imin.s", "imax.u", "shr.u", "shr.s", "imul.hi.u", "imad.lo", "iabs", "sel", "iaddc", "isubc",
         "fadd.rn", "fsub.rn", "fmul.rn", "fneg", "fsat", "ffma.rn", "bfi", "prmt", "popc", "sext.8", "brev"]


def meaning(name, x, y=None, right=lambda x, y: x >> y):
    """What an instruction computes, for numbers of any width and for bit vectors; a shift to the right is logical."""
    return {"iadd": lambda: x + y, "isub": lambda: x - y, "irsub": lambda: y - x, "xor": lambda: x ^ y,
            "not": lambda: ~x, "imul.lo": lambda: x * y, "shl": lambda: x << y, "shr.u": lambda: right(x, y)}[name]()


def sources(row, x, y):
    """The recovered source and the other one in their places."""
    return (x, y) if row.recovered == 0 else (y, x)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.opcode} {row.recovered}")
def test_everything_at_eight_bits(row):
    x, y = np.meshgrid(np.arange(256), np.arange(256))
    other = y
    if row.constant == "odd":
        x, y = x[y % 2 == 1], y[y % 2 == 1]
        other = np.array([pow(int(v), -1, 256) for v in y])
    elif row.constant == "lossless":
        keep = (y < 8) & (x < 1 << np.maximum(8 - y, 0))
        x, y = x[keep], y[keep]
        other = y
    result = meaning(row.opcode, *sources(row, x, y)) & 255
    assert (meaning(row.inverse, result, other) & 255 == x).all()
    assert len(np.ravel(x)) > 256


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.opcode} {row.recovered}")
def test_a_proof_at_32_bits(row):
    """For all x and r; an odd factor is a constant of the code: for these, and that all others are invertible follows
    from what stands beside."""
    x, r = z3.BitVecs("x r", 32)
    solver = z3.Solver()
    if row.constant == "odd":
        for factor in (1, 3, 5, 7, 0x9E3779B1, 0xFFFFFFFF, 0x80000001, 0x7FFFFFFF, 1103515245, 69069):
            solver.add(x * factor * pow(factor, -1, 1 << 32) != x)
            assert solver.check() == z3.unsat
            solver.reset()
        return
    if row.constant == "lossless":
        solver.add(z3.ULE(r, 31), z3.LShR(z3.BitVecVal(0xFFFFFFFF, 32), r) & x == x)
    result = meaning(row.opcode, *sources(row, x, r))
    solver.add(meaning(row.inverse, result, r, z3.LShR) != x)
    assert solver.check() == z3.unsat


def test_an_odd_factor_inverts_at_8_bits_whatever_it_is():
    """By SMT with the factor free: two values with one product are one value."""
    x, y, r = z3.BitVecs("x y r", 8)
    solver = z3.Solver()
    solver.add(r & 1 == 1, x * r == y * r, x != y)
    assert solver.check() == z3.unsat
    solver.reset()
    solver.add(x * r == y * r, x != y)
    assert solver.check() == z3.sat, "an even factor does not"


def test_rotations_at_32_bits():
    x, c = z3.BitVecs("x c", 32)
    solver = z3.Solver()
    solver.add(z3.RotateRight(z3.RotateLeft(x, c), c) != x)
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.opcode} {row.recovered}")
def test_the_integer_lane_recovers_the_source(row):
    """Random numbers and corners, by the model of the lane that the hardware is compared with."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.integers(0, 1 << 32, 500, np.uint32), np.array([0, 1, 0x7FFFFFFF, 1 << 31], np.uint32)])
    constant = 0x9E3779B1 if row.constant == "odd" else 7 if row.constant else None
    if row.constant == "lossless":
        x = x >> np.uint32(7)
    uses = (R[0],) if row.opcode == "not" else sources(row, R[0], Imm(constant) if constant else R[1])
    inverse = reverting(Op(row.opcode, (R[0],), uses), leading_zeros=7)
    assert inverse is not None and inverse.name == row.inverse
    values = {R[0]: x, R[1]: rng.integers(0, 1 << 32, len(x), np.uint32)}
    for op in (Op(row.opcode, (R[0],), uses), inverse):
        values[R[0]] = lane(op, values)
    assert (values[R[0]] == x).all()


def lane(op, values):
    """Run an instruction on the lane's model."""
    row = BY_NAME[op.name]
    assert isinstance(row.alu, AluOp)
    places = {"a": 0, "b": 0, "c": 0}
    names = [name for name in row.operands if name in places]
    given = [np.full(504, use.value, np.uint32) if isinstance(use, Imm) else values[use] for use in op.uses]
    operands = {"a": given[0] * 0, "b": given[0] * 0, "c": given[0] * 0} | dict(zip(names, given, strict=True))
    none = np.zeros(504, bool)
    return model.compute(row.alu, operands["a"], operands["b"], operands["c"], none, none)[0]


@pytest.mark.parametrize("name", ROTATIONS)
def test_the_lane_rotates_back(name):
    op = Op(name, (R[0],), (R[0], R[0], R[1]))
    inverse = reverting(op)
    rng = np.random.default_rng(2)
    x = rng.integers(0, 1 << 32, 504, np.uint32)
    values = {R[0]: x, R[1]: rng.integers(0, 1 << 32, 504, np.uint32)}
    for each in (op, inverse):
        values[R[0]] = lane(each, values)
    assert (values[R[0]] == x).all()


@pytest.mark.parametrize(("negated", "other"), [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("place", [0, 1])
def test_an_exclusive_or_of_predicates(place, negated, other):
    mine, its = Pred(P[0], negated), Pred(P[1], other)
    inverse = reverting(Op("pxor", (P[0],), (mine, its) if place == 0 else (its, mine)))
    for x in (False, True):
        for y in (False, True):
            result = (x ^ negated) ^ (y ^ other)
            (a, b) = (use.negated ^ (result if use.reg == P[0] else y) for use in inverse.uses)
            assert a ^ b == x


def test_uniform_instructions_have_the_rows_of_vector_ones():
    assert {(f"u{row.opcode}", row.recovered) for row in ROWS} <= {*REVERSALS}
    assert reverting(Op("uiadd", (U[0],), (U[0], Imm(4)))).name == "uisub"


@pytest.mark.parametrize("op", [
    *(Op(name, (R[0],), (R[0], R[1])) for name in NEVER),
    Op("iadd", (R[0],), (R[0], R[0])), Op("xor", (R[0],), (R[0], R[0])),
    Op("iadd", (R[0],), (R[1], R[2])), Op("imul.lo", (R[0],), (R[0], Imm(6))), Op("imul.lo", (R[0],), (R[0], R[1])),
    Op("shl", (R[0],), (R[0], Imm(2))), Op("shf.l", (R[0],), (R[0], R[1], R[2])),
    Op("shf.l", (R[0],), (R[0], R[0], R[0])),
    Op("pxor", (P[0],), (Pred(P[0]), Pred(P[1])), Pred(P[0]))], ids=str)
def test_what_is_not_reversible(op):
    """Neither what loses bits, rounds or saturates, nor what overwrites the only other source, nor its own guard."""
    assert reverting(op) is None


def test_undoing_leaves_carries_alone():
    """No row's instruction nor its inverse writes or reads a predicate; carries are predicates here."""
    for row in REVERSALS.values():
        for name in (row.opcode, row.inverse):
            operands = BY_NAME[name].operands
            assert row.opcode == "pxor" or not {"pd", "pa", "pb"} & {*operands}
    assert all(not {"pd", "pa", "pb"} & {*BY_NAME[name].operands} for pair in ROTATIONS.items() for name in pair)


def test_the_guard_stays():
    guard = Pred(P[1], True)
    assert reverting(Op("iadd", (R[0],), (R[0], R[1]), guard)).guard == guard
