"""Each row of the table for gfx906: everything at 8 bits, by SMT at 32, and by the model of a wave."""

import numpy as np
import pytest
import z3

from caesura.software.compiler.amdgpu.accesses import access
from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.operands import name
from caesura.software.compiler.amdgpu.reversing import REVERSALS, recovered, steps
from caesura.software.compiler.amdgpu.text import Statement, statements
from caesura.software.compiler.flashback.blocks import Effect
from support.software.amdgpu_run import small
from support.software.amdgpu_wave import Wave

ROWS = list(REVERSALS.values())
OWN = [row for row in ROWS if row.inverse and not row.constant]
ODD = [row for row in ROWS if row.constant == "odd"]
ADDING = [row for row in ROWS if not row.inverse]
FACTORS = (1, 3, 5, 7, 63, 0x9E3779B1, 0xFFFFFFFF, 0x80000001, 0x7FFFFFFF, 69069)


def one(line):
    (statement,) = statements(line, "line")
    assert isinstance(statement, Statement)
    return access(statement, "line")


def ids(row):
    return f"{row.opcode} {row.recovered}"


def meaning(opcode, a, b=None):
    """What an instruction computes, for numbers of any width and for bit vectors."""
    return {"v_add_u32": lambda: a + b, "v_sub_u32": lambda: a - b, "v_subrev_u32": lambda: b - a,
            "v_xor_b32": lambda: a ^ b, "v_xnor_b32": lambda: ~(a ^ b), "v_not_b32": lambda: ~a}[opcode]()


def undone(row, x, y):
    """What is recovered of source x with the other source y."""
    result = meaning(row.opcode, *((x, y) if row.recovered == 0 else (y, x)))
    return meaning(row.inverse, *({"r": result, "x": y}[letter] for letter in row.order))


@pytest.mark.parametrize("row", [row for row in OWN if "rev_b32" not in row.opcode], ids=ids)
def test_a_row_with_an_inverse(row):
    x, y = np.meshgrid(np.arange(256), np.arange(256))
    assert (undone(row, x, y) & 255 == x).all()
    a, b = z3.BitVecs("a b", 32)
    solver = z3.Solver()
    solver.add(undone(row, a, b) != a)
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("row", ADDING, ids=ids)
def test_a_row_that_adds(row):
    """Complement, the same, complement; what is added does not depend on the recovered source (below)."""
    x, f = np.meshgrid(np.arange(256), np.arange(256))
    assert (~(~(x + f) + f) & 255 == x).all()
    a, b = z3.BitVecs("a b", 32)
    solver = z3.Solver()
    solver.add(~(~(a + b) + b) != a)
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("row", ADDING, ids=ids)
def test_what_is_added_does_not_depend_on_the_recovered_source(row):
    """By the model of the instruction: the result grows as the source does, whatever the others are."""
    count = 2 if row.opcode in ("v_bcnt_u32_b32", "v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32") else 3
    rng = np.random.default_rng(1)
    for _ in range(50):
        wave = Wave(rng)
        sources = [f"v{10 + place}" for place in range(count)]
        wave.execute(row.opcode, ("v0", *sources))
        before, step = wave.v[0].copy(), rng.integers(0, 1 << 32, 64, np.uint32)
        wave.v[10 + row.recovered] += step
        wave.execute(row.opcode, ("v0", *sources))
        assert (wave.v[0] - before == step).all()


@pytest.mark.parametrize("row", ODD, ids=ids)
@pytest.mark.parametrize("factor", FACTORS)
def test_odd_factors(row, factor):
    assert all(x * (factor & 255) * pow(factor & 255, -1, 256) & 255 == x for x in range(256))
    x = z3.BitVec("x", 32)
    solver = z3.Solver()
    solver.add(x * factor * pow(factor, -1, 1 << 32) != x)
    assert solver.check() == z3.unsat


def test_rotations_and_reversals_of_bits():
    x = z3.BitVec("x", 32)
    solver = z3.Solver()
    for count in range(32):
        solver.add(z3.RotateRight(z3.RotateRight(x, count), -count % 32) != x)
        assert solver.check() == z3.unsat
        solver.reset()
    backwards = z3.Concat(*(z3.Extract(k, k, x) for k in range(32)))
    solver.add(z3.Concat(*(z3.Extract(k, k, backwards) for k in range(32))) != x)
    assert solver.check() == z3.unsat


def line_of(row):
    """Return an instruction that a row reverts."""
    count = 1 if row.order == "r" else 2 if row.inverse and row.constant != "rotation" or row.opcode.startswith(
        ("v_bcnt", "v_mbcnt")) else 3
    letter = row.opcode[0]
    sources = [f"{letter}{5 + place}" for place in range(count)]
    sources[row.recovered] = f"{letter}0"
    if row.constant == "odd":
        sources[1 - row.recovered] = "0x9e3779b1"
    elif row.constant == "rotation":
        sources = ["v0", "v0", "7"]
    return f"{row.opcode} {letter}0, " + ", ".join(sources)


@pytest.mark.parametrize("row", ROWS, ids=ids)
@pytest.mark.parametrize("lanes", [(1 << 64) - 1, 0x123456789ABCDEF1])
def test_the_model_recovers_the_source_and_nothing_else_changes(row, lanes):
    """Under any mask: lanes that are off keep what they have, and no mask or condition code is written."""
    wave, undo = Wave(np.random.default_rng(3), lanes), one(line_of(row))
    before = wave.v.copy(), wave.s.copy()
    wave.execute(undo.statement.mnemonic, undo.statement.operands)
    assert not (np.array_equal(wave.v, before[0]) and np.array_equal(wave.s, before[1]))
    for opcode, operands in steps(undo):
        wave.execute(opcode, operands)
    assert np.array_equal(wave.v, before[0]) and np.array_equal(wave.s, before[1])


def test_undoing_leaves_carries_and_condition_codes_alone():
    """Neither what is undone nor what undoes it writes or reads ``vcc`` or ``scc``."""
    for row in ROWS:
        undo = one(line_of(row))
        parts = [undo, *(one(" ".join((opcode, ", ".join(operands)))) for opcode, operands in steps(undo))]
        for part in parts:
            assert [name(reg) for reg in part.defs] == [line_of(row).split()[1].rstrip(",")]
            assert not {"vcc_lo", "vcc_hi", "scc"} & {name(reg) for reg in part.uses}


@pytest.mark.parametrize("line", [
    "v_add_co_u32_e32 v0, vcc, v0, v1", "v_addc_co_u32_e32 v0, vcc, v0, v1, vcc", "s_add_u32 s0, s0, s1",
    "s_sub_i32 s0, s0, 4", "s_xor_b32 s0, s0, s1", "s_not_b32 s0, s0", "s_addk_i32 s0, 0x4",
    "v_add_u32_e64 v0, v0, v1 clamp",
    "v_add_u32_sdwa v0, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
    "v_add_u32_dpp v0, v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "v_lshlrev_b32_e32 v0, 2, v0",
    "v_mul_lo_u32 v0, v0, 6", "v_mul_lo_u32 v0, v0, v1", "v_add_u32_e32 v0, v0, v0", "v_add_u32_e32 v0, v1, v2",
    "v_add3_u32 v0, v0, v0, v1", "v_alignbit_b32 v0, v0, v1, 7", "v_alignbit_b32 v0, v0, v0, v1",
    "v_and_b32_e32 v0, v0, v1",
    "v_add_f32_e32 v0, v0, v1", "v_fmac_f32_e32 v0, v1, v2", "v_mul_f32_e32 v0, v0, v1", "v_max_u32_e32 v0, v0, v1",
    "v_lshl_add_u32 v0, v0, 2, v1", "v_xad_u32 v0, v0, v1, v2", "v_mov_b32_e32 v0, v0", "v_add_i32 v0, v0, v1"])
def test_what_is_not_reversible(line):
    assert recovered(one(line)) is None


def test_the_mask_and_the_other_source_are_operands_of_what_is_reverted():
    (code,) = analysed(small("v_cmp_eq_u32_e32 vcc, 0, v1", "s_and_saveexec_b64 s[0:1], vcc",
                             "v_add_u32_e32 v0, v0, v2", "s_or_b64 exec, exec, s[0:1]",
                             "global_store_dword v[8:9], v0, off", "s_endpgm")).code
    block = code.block
    assert block.instructions[2].recovers is not None and block.instructions[2].effect is Effect.COMPUTE
    others = {name(block.register_of[value]) for value in block.others[2]}
    assert others == {"v2", "exec_lo", "exec_hi"}
