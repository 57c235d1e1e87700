"""Every ALU operation of the golden model against plain Python integers or the host's floating point, lane by lane."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import OPCODES, PT, AluOp, Special, Unit
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_float import IMMEDIATES as FLOATS
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.programs.plain_integers import VALUES, WORD, reference
from support.reference.binary32 import results
from support.selection import quick
from support.sim.launch import Bench


def single_warp(words, registers=16, size="gtx480"):
    """Start a one-warp kernel on the golden model; return the transport and its warp."""
    transport = GoldenTransport(preset(size), 1 << 16)
    bench = Bench(transport)
    image = KernelImage("k", tuple(words), registers)
    bench.load(0, image, (1,), (preset(size).warp_size,), params=range(100, 164))
    bench.start(0)
    transport.machine.manage()
    (tb,) = transport.machine.resident()
    return bench, tb.warps[0]


def float_reference(op, a, b, c, pa, pb):
    """Return (d, pd) of a floating-point operation by the host's arithmetic."""
    value = int(results(op, [a], [b], [c])[0])
    return (None, bool(value)) if op.name.startswith("FSETP") else (value, None)


ALU = [op for op in OPCODES if op.unit is Unit.ALU and op.alu not in (AluOp.S2R, AluOp.BALLOT)]


@pytest.mark.parametrize("op", quick(ALU, ALU[::3]), ids=lambda op: op.name)
def test_operation_matches_plain_arithmetic(op):
    rng = random.Random(op.code)
    values = FLOATS if op.alu.is_float else VALUES
    for _ in range(8):
        operands = {"d": 4, "a": 1, "b": 2, "c": 3, "pa": 0, "pb": 1, "pd": 2}
        fields = {name: number for name, number in operands.items() if name in op.operands}
        negated = {f"{p}_not": rng.randrange(2) for p in ("pa", "pb") if p in op.operands}
        imm = rng.choice((rng.choice(values), rng.getrandbits(32)))
        if op.format is Format.I:
            fields["imm"] = imm
        bench, warp = single_warp([word(op.name, **fields, **negated, guard=3), word("exit")])
        for register in (1, 2, 3, 4):
            warp.registers[register] = [rng.choice((rng.choice(values), rng.getrandbits(32))) for _ in range(32)]
        warp.predicates = [rng.getrandbits(32) for _ in range(7)]
        before, predicates = warp.registers.tolist(), list(warp.predicates)
        bench.transport.advance(1)
        for lane in range(32):
            a, b, c = (before[r][lane] for r in (1, 2, 3))
            pa = bool(predicates[0] >> lane & 1) != bool(negated.get("pa_not", 0))
            pb = bool(predicates[1] >> lane & 1) != bool(negated.get("pb_not", 0))
            d, pd = (float_reference if op.alu.is_float else reference)(
                op.alu, a, imm if op.format is Format.I else b, c, pa, pb)
            if not predicates[3] >> lane & 1:
                d = pd = None
            assert int(warp.registers[4][lane]) == (before[4][lane] if d is None else d)
            assert bool(warp.predicates[2] >> lane & 1) == (bool(predicates[2] >> lane & 1) if pd is None else pd)


def test_ballot_has_a_bit_of_each_executing_lane_whose_predicate_holds():
    bench, warp = single_warp([word("ballot", d=4, pa=2, pa_not=1, guard=3), word("ballot", d=5, pa=PT), word("exit")])
    warp.predicates[2], warp.predicates[3] = 0x0F0F_00FF, 0xFFFF_0F0F
    bench.transport.advance(2)
    assert warp.registers[4].tolist() == [0xF0F0_0F00 if 0xFFFF_0F0F >> lane & 1 else 0 for lane in range(32)]
    assert set(warp.registers[5].tolist()) == {WORD - 1}


def test_predicate_seven_reads_true_and_ignores_writes():
    bench, warp = single_warp([word("setp.ne.i", pd=PT, a=0, imm=0), word("pxor", pd=0, pa=PT, pb=PT, pb_not=1),
                               word("mov.i", d=1, imm=5, guard=PT, guard_not=1), word("exit")])
    bench.transport.advance(3)
    assert warp.predicates[0] == 0xFFFF_FFFF
    assert warp.written == 1
    assert not warp.registers.any() and warp.valid == 0


def test_special_registers_of_a_three_dimensional_block():
    g = preset("tiny").replace(warps=8)
    names = [s for s in Special if s is not Special.CLOCK]
    transport = GoldenTransport(g, 1 << 16)
    bench = Bench(transport)
    code = [word("s2r", d=0, imm=s) for s in names] + [word("exit")]
    bench.load(0, KernelImage("k", tuple(code), 4), (2, 1, 3), (3, 2, 3))
    bench.start(0)
    transport.machine.manage()
    tb = transport.machine.resident()[1]
    assert tb.launch_id == 1 and tb.ctaid == (1, 0, 0)
    for special in names:
        for warp in tb.warps:
            transport.machine._execute(warp, warp.stack[-1].pc)
            for lane in range(g.warp_size):
                linear = warp.index * 8 + lane
                if linear >= 18:
                    continue
                expected = {
                    Special.LANEID: lane, Special.WARPID: warp.index, Special.SMID: 0, Special.NSMID: 1,
                    Special.TID_X: linear % 3, Special.TID_Y: linear // 3 % 2, Special.TID_Z: linear // 6,
                    Special.NTID_X: 3, Special.NTID_Y: 2, Special.NTID_Z: 3, Special.CTAID_X: 1,
                    Special.CTAID_Y: 0, Special.CTAID_Z: 0, Special.NCTAID_X: 2, Special.NCTAID_Y: 1,
                    Special.NCTAID_Z: 3, Special.CLOCK_HIGH: 0}[special]
                assert int(warp.registers[0][lane]) == expected, (special, linear)


@pytest.mark.parametrize("name", ["s2r", "us2r"])
def test_both_words_of_the_clock(name):
    code = [word(name, d=0, imm=Special.CLOCK), word(name, d=1, imm=Special.CLOCK_HIGH), word("exit")]
    bench, warp = single_warp(code)
    bench.transport.machine.cycle = (5 << 32) - 1
    bench.transport.advance(2)
    words = warp.uniforms[:2] if name[0] == "u" else warp.registers[:2, 0]
    assert words.tolist() == [0, 5]


def test_parameters_are_words_of_the_parameter_space():
    bench, warp = single_warp([word("ldp", d=2, imm=4 * 7), word("exit")])
    bench.transport.advance(1)
    assert set(warp.registers[2].tolist()) == {107}
