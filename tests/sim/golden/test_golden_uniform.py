"""Uniform registers of the golden model: once a warp, as operands of lanes, under divergence."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import UNIFORMS
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import OPCODES, UNIFORM_SPECIALS, AluOp, Special, Unit
from support.programs.machine_code import field, start, word
from support.programs.plain_integers import VALUES, WORD, reference
from support.selection import quick


def run(*words, **options):
    """Run a one-warp kernel up to its exit and return the warp."""
    bench, (tb, *_) = start(*words, **options)
    bench.transport.advance(len(words))
    assert bench.fault() is None
    return tb.warps[0]


ARITHMETIC = [op for op in OPCODES if op.unit is Unit.UNIFORM and op.alu not in (None, AluOp.S2R)]


@pytest.mark.parametrize("op", quick(ARITHMETIC, ARITHMETIC[::3]), ids=lambda op: op.name)
def test_operation_matches_plain_integers(op):
    rng = random.Random(op.code)
    for _ in range(12):
        values = [rng.choice((rng.choice(VALUES), rng.getrandbits(32))) for _ in range(3)]
        numbers = {"ua": 1, "ub": 2, "uc": 30, "ud": 4}
        fields = {name[1]: number for name, number in numbers.items() if name in op.operands}
        fields |= {"pd": 2} if "pd" in op.operands else {}
        if op.format is Format.I:
            fields["imm"] = values[1]
        bench, (tb,) = start(word(op.name, **fields, guard=0))
        warp = tb.warps[0]
        warp.uniforms[[1, 2, 30]] = values
        warp.predicates[0], warp.predicates[2] = 0x3C, 0x55
        bench.transport.advance(1)
        d, pd = reference(op.alu, *values, False, False)
        assert warp.uniforms[4] == (d or 0)
        assert warp.uniforms_written == (1 << 4 if d is not None else 0)
        assert warp.predicates[2] == (0x55 if pd is None else 0x55 & ~0x3C | 0x3C * pd)


def test_no_lane_no_effect():
    warp = run(word("umov.i", d=1, imm=5, guard=0), word("usetp.eq.i", pd=1, a=0, imm=0, guard=0))
    assert warp.uniforms_written == 0 and not warp.uniforms.any() and warp.written == 0


def test_both_sides_of_a_branch_write_one_after_the_other():
    warp = run(word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3), word("umov.i", d=1, imm=1),
               word("bra", target=6, reconv=7, guard=0), word("uimul.lo.i", d=1, a=1, imm=10),
               word("bra", target=7, reconv=7), word("uiadd.i", d=1, a=1, imm=1))
    assert warp.uniforms[1] == 20  # lanes below 3 first: (1 + 1) * 10


def test_specials_and_parameters():
    names = sorted(UNIFORM_SPECIALS - {Special.CLOCK})
    code = [word("us2r", d=k, imm=s) for k, s in enumerate(names)] + [word("uldp", d=31, imm=8)]
    bench, tbs = start(*code, grid=(2, 3, 1), block=(4, 3, 1), params=(1, 2, 0xFFFF_FFFF))
    tb = tbs[-1]
    bench.transport.advance(len(code) * sum(len(other.warps) for other in tbs))
    expected = {Special.WARPID: 1, Special.NTID_X: 4, Special.NTID_Y: 3, Special.NTID_Z: 1, Special.CTAID_X: 1,
                Special.NCTAID_X: 2, Special.NCTAID_Y: 3, Special.NCTAID_Z: 1, Special.NSMID: 1}
    assert tb.ctaid == (1, 0, 0)
    assert tb.warps[1].uniforms.tolist() == [*(expected.get(s, 0) for s in names),
                                             *[0] * (UNIFORMS - 1 - len(names)), 0xFFFF_FFFF]


def test_parameter_beyond_the_space_faults():
    bench, _ = start(word("uldp", d=0, imm=8), params=(1, 2))
    bench.transport.advance(1)
    assert bench.fault().kind is Fault.PARAM_BOUND


CONSTANTS = bytes(range(256)) + b"\x11\x22\x33\x44"


@pytest.mark.parametrize("fields, offset", [({"no_base": 1, "imm": 256}, 256), ({"a": 1, "imm": 12}, 20),
                                            ({"a": 1, "imm": -8}, 0)])
def test_constant_load(fields, offset):
    warp = run(word("umov.i", d=1, imm=8), word("uld.const.b32", d=2, **fields), constants=CONSTANTS)
    assert warp.uniforms[2] == int.from_bytes(CONSTANTS[offset:offset + 4], "little")
    assert warp.uniforms_written == 0b110


@pytest.mark.parametrize("imm, kind", [(260, Fault.CONSTANT_BOUND), (-4, Fault.CONSTANT_BOUND), (6, Fault.MISALIGNED)])
def test_constant_load_that_faults(imm, kind):
    bench, _ = start(word("uld.const.b32", d=2, a=1, imm=imm), constants=CONSTANTS)
    bench.transport.advance(1)
    fault = bench.fault()
    assert (fault.kind, fault.address) == (kind, imm % WORD)


def test_operands_of_lanes():
    warp = run(word("umov.i", d=5, imm=100), word("s2r", d=1, imm=Special.LANEID),
               word("isub", d=2, a=1, b=5, b_uniform=1), word("setp.ne", pd=1, a=2, b=5, b_uniform=1),
               word("sel", d=3, a=1, b=5, b_uniform=1, pa=2), word("mov", d=4, b=5, b_uniform=1),
               word("imad.lo", d=6, a=1, b=5, b_uniform=1, c=1), word("i2d.s", d=0, b=5, b_uniform=1))
    assert warp.registers[2].tolist() == [(lane - 100) % WORD for lane in range(8)]
    assert warp.predicates[1] == 0xFF
    assert set(warp.registers[3].tolist()) == set(warp.registers[4].tolist()) == {100}
    assert warp.registers[6].tolist() == [101 * lane for lane in range(8)]
    assert set(warp.registers[1].tolist()) == {0x4059_0000}


def test_base_of_accesses():
    bench, (tb,) = start(word("umov.i", d=6, imm=0x4000), word("st.global.b32", a=6, base_uniform=1, imm=4, d=1),
                         word("ld.global.u8", a=6, base_uniform=1, imm=5, d=2),
                         word("atom.global.add.b32", a=6, base_uniform=1, imm=4, b=3, d=4))
    warp = tb.warps[0]
    warp.registers[1] = [0xAB00 + lane for lane in range(8)]
    warp.registers[3] = 1
    bench.transport.advance(4)
    assert bench.fault() is None
    assert warp.registers[2].tolist() == [0xAB] * 8
    assert warp.registers[4].tolist() == [0xAB07 + lane for lane in range(8)]


@pytest.mark.parametrize("bad", [
    word("uiadd", d=1, a=2, b=3) | field("d", Format.R, 32), word("uiadd", d=1, a=2, b=3) | field("a", Format.R, 32),
    word("uimad.lo", d=1, a=2, b=3, c=4) | field("c", Format.R, 32),
    word("umov", d=1, b=3) | field("b", Format.R, 32),
    word("iadd", d=1, a=2, b=3, b_uniform=1) | field("b", Format.R, 32),
    word("ld.global.b32", d=1, a=2, base_uniform=1) | field("a", Format.M, 32),
    word("uld.const.b32", d=1, a=2) | field("a", Format.M, 32),
    word("dadd.rn", d=2, a=4, b=6) | field("b_uniform", Format.R, 1),
    word("dadd.rn", d=2, a=4, b=6) | field("a", Format.R, 1),
    word("d2f.rn", d=2, b=4) | field("b", Format.R, 1), word("f2d", d=2, b=4) | field("d", Format.R, 1),
    word("atom.global.add.b64", a=2, b=4, d=6) | field("b", Format.A, 1),
])
def test_operands_that_do_not_exist_are_illegal(bad):
    bench, _ = start(bad)
    bench.transport.advance(1)
    assert bench.fault().kind is Fault.ILLEGAL_OPCODE


def test_uniform_registers_do_not_count_against_the_allocation():
    warp = run(word("umov.i", d=31, imm=1), word("iadd", d=1, a=1, b=31, b_uniform=1),
               word("uld.const.b32", d=30, a=29, imm=0), constants=CONSTANTS)
    assert set(warp.registers[1].tolist()) == {1} and warp.uniforms[30] == 0x03020100
