"""The integer lane: hardware and model agree, and the model agrees with arithmetic done in Python integers."""

from itertools import accumulate

import numpy as np
import pytest
from amaranth.hdl import Cat, Value

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.core.units.integer import IntegerLane, IntegerUnit
from support.hw.simulation import Simulator, component

pytestmark = pytest.mark.depends_on("hw/arch", "hw/lib/bits.py", "hw/core/units/integer", "sim/events")

OPS = [op for op in AluOp if op not in (AluOp.S2R, AluOp.BALLOT) and not op.is_float]
FIELDS = (AluOp.BFE_U, AluOp.BFE_S, AluOp.BFI)
CORNERS = [0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFFFF, 0x8000, 0x1_0000, 0x7FFF_FFFF, 1 << 31, 0x8000_0001, 0xFFFF_FFFF]
WORD = 0xFFFF_FFFF
NEAR = (*range(35), 63, 64, 127, 128, 224, 254, 255)
"""Positions and lengths of bit fields around which the rules change."""
SOME_NEAR = (0, 1, 2, 3, 7, 8, 15, 16, 17, 24, 30, 31, 32, 33, 34, 63, 64, 128, 224, 255)


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def bits_of(x):
    return [x >> k & 1 for k in range(32)]


def number(bits):
    return sum(bit << k for k, bit in enumerate(bits))


def bfe(a, position, length, is_signed):
    """PTX ISA 9.7.1, ``bfe``, msb = 31."""
    source, msb = bits_of(a), 31
    sbit = source[min(position + length - 1, msb)] if is_signed and length else 0
    return number(source[position + i] if i < length and position + i <= msb else sbit for i in range(msb + 1))


def bfi(a, b, position, length):
    """PTX ISA 9.7.1, ``bfi``: a goes into b."""
    source, result, msb = bits_of(a), bits_of(b), 31
    for i in range(length):
        if position + i <= msb:
            result[position + i] = source[i]
    return number(result)


def prmt(a, b, selector):
    """PTX ISA 9.7.9, ``prmt`` in default mode."""
    source = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    result = []
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = source[nibble & 7]
        result.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def reference(op, a, b, c, pa, pb):
    """The table of the instruction set in plain integers: (d, pd), None where the operation has none."""
    def shift(x, n):
        return x << n if n >= 0 else x >> -n
    pair = b << 32 | a
    position, length = b & 255, b >> 8 & 255
    values = {
        "MOV": lambda: b, "IADD": lambda: a + b, "ISUB": lambda: a - b, "IRSUB": lambda: b - a,
        "IADDC": lambda: a + b + pa, "ISUBC": lambda: a + (b ^ WORD) + pa,
        "IMUL_LO": lambda: a * b, "IMUL_HI_S": lambda: signed(a) * signed(b) >> 32,
        "IMUL_HI_U": lambda: a * b >> 32, "IMAD_LO": lambda: a * b + c,
        "AND": lambda: a & b, "OR": lambda: a | b, "XOR": lambda: a ^ b, "NOT": lambda: ~b,
        "SHL": lambda: 0 if b > 31 else shift(a, b), "SHR_U": lambda: 0 if b > 31 else shift(a, -b),
        "SHR_S": lambda: signed(a) >> min(b, 31),
        "SHF_L": lambda: pair << c % 32 >> 32, "SHF_R": lambda: pair >> c % 32,
        "IMIN_S": lambda: min(a, b, key=signed), "IMIN_U": lambda: min(a, b),
        "IMAX_S": lambda: max(a, b, key=signed), "IMAX_U": lambda: max(a, b),
        "IABS": lambda: abs(signed(b)), "SEXT_8": lambda: (b & 0xFF) - (b & 0x80) * 2,
        "SEXT_16": lambda: (b & 0xFFFF) - (b & 0x8000) * 2, "SEL": lambda: a if pa else b,
        "BREV": lambda: int(f"{b:032b}"[::-1], 2), "CLZ": lambda: 32 - b.bit_length(),
        "POPC": lambda: f"{b:b}".count("1"),
        "BFE_U": lambda: bfe(a, position, length, False), "BFE_S": lambda: bfe(a, position, length, True),
        "BFI": lambda: bfi(a, c, position, length), "PRMT": lambda: prmt(a, b, c),
    }
    order = {"EQ": a == b, "NE": a != b, "LT_U": a < b, "LE_U": a <= b, "GT_U": a > b, "GE_U": a >= b,
             "LT_S": signed(a) < signed(b), "LE_S": signed(a) <= signed(b), "GT_S": signed(a) > signed(b),
             "GE_S": signed(a) >= signed(b)}
    tests = {f"SETP_{name}": value for name, value in order.items()}
    tests |= {"PAND": pa & pb, "POR": pa | pb, "PXOR": pa ^ pb, "IADDC": a + b + pa > WORD,
              "ISUBC": a + (b ^ WORD) + pa > WORD}
    value, test = values.get(op.name), tests.get(op.name)
    return None if value is None else value() & WORD, None if test is None else bool(test)


def cases(rng, count):
    """Operands with corners mixed in, shift counts often small, bit fields often within a word."""
    words = rng.integers(0, 1 << 32, (3, count), dtype=np.uint32)
    for row in words:
        chosen = rng.random(count) < 0.5
        row[chosen] = rng.choice(np.array(CORNERS, np.uint32), chosen.sum())
    equal = rng.random(count) < 0.1
    words[1][equal] = words[0][equal]
    small = rng.random(count) < 0.3
    words[1][small] %= 40
    field = rng.random(count) < 0.3
    words[1][field] = words[1][field] % 40 | rng.integers(0, 36, field.sum(), dtype=np.uint32) << np.uint32(8)
    return (*words, *(rng.integers(0, 2, (2, count)).astype(bool)))


def field_cases(rng, places):
    """A bit field at every pair of `places` for position and length, of random and corner words."""
    position, length = (x.ravel().astype(np.uint32) for x in np.meshgrid(places, places))
    a, b, c, pa, pb = cases(rng, len(position))
    return a, b & np.uint32(0xFFFF_0000) | length << np.uint32(8) | position, c, pa, pb


def check_model(op, operands):
    value, test = IntegerLane.compute(op, *operands)
    for lane in range(len(value)):
        d, pd = reference(op, *(int(x[lane]) for x in operands))
        assert int(value[lane]) == (d or 0) and bool(test[lane]) == bool(pd), [hex(int(x[lane])) for x in operands]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_model_matches_plain_integers(op):
    check_model(op, cases(np.random.default_rng(int(op)), 400))


@pytest.mark.parametrize("op", FIELDS, ids=lambda op: op.name)
def test_model_of_every_bit_field_near_a_bound(op):
    check_model(op, field_cases(np.random.default_rng(int(op)), NEAR))


@pytest.mark.full
@pytest.mark.parametrize("op", FIELDS, ids=lambda op: op.name)
def test_model_of_every_bit_field(op):
    check_model(op, field_cases(np.random.default_rng(int(op)), range(256)))


def test_model_of_every_selector_of_bytes():
    """The bytes are distinct and some are negative."""
    selectors = np.arange(1 << 16, dtype=np.uint32)
    value, _ = IntegerLane.compute(AluOp.PRMT, np.full(1 << 16, 0x0382_0180, np.uint32),
                                   np.full(1 << 16, 0x8706_8504, np.uint32), selectors, selectors > 0, selectors > 0)
    assert value.tolist() == [prmt(0x0382_0180, 0x8706_8504, int(c)) for c in selectors]


@pytest.mark.parametrize("op", [AluOp.CLZ, AluOp.POPC, AluOp.BREV], ids=lambda op: op.name)
def test_model_of_every_single_bit_and_run_of_bits(op):
    b = np.array([((1 << high) - 1) >> low << low for high in range(33) for low in range(high + 1)], np.uint32)
    zero = np.zeros_like(b)
    check_model(op, (zero, b, zero, zero > 0, zero > 0))


def test_every_operation_writes_a_register_or_a_predicate():
    for op in OPS:
        assert any(x is not None for x in reference(op, 1, 2, 3, 1, 0)), op


def test_operations_of_other_units_are_refused():
    for op in (AluOp.S2R, AluOp.BALLOT, AluOp.FADD_RN):
        with pytest.raises(ValueError, match=op.name):
            IntegerLane.compute(op, 0, 0, 0, 0, 0)


def run_hardware(program, inputs, lanes=None):
    """Feed `program` an operation a cycle; compare each result, `IntegerLane.LATENCY` cycles later."""
    dut = component(IntegerUnit, preset("tiny"), lanes)
    latency = IntegerLane.LATENCY
    assert latency == 3
    signals = [Value.cast(x) for x in (dut.op, dut.valid, dut.pa, dut.pb, dut.a, dut.b, dut.c)]
    port, places = Cat(signals), [0, *accumulate(len(x) for x in signals[:-1])]

    async def bench(ctx):
        for cycle in range(len(program) + latency):
            if cycle < len(program):
                a, b, c, pa, pb = inputs[cycle]
                bits = [int(sum(int(x) << k for k, x in enumerate(p))) for p in (pa, pb)]
                words = [int.from_bytes(x.astype("<u4").tobytes(), "little") for x in (a, b, c)]
                ctx.set(port, sum(x << at for x, at in zip((program[cycle], 1, *bits, *words), places, strict=True)))
            if cycle >= latency:
                check(cycle - latency, ctx.get(dut.result), ctx.get(dut.predicate))
            await ctx.tick()

    def check(k, result, predicate):
        op = program[k]
        for lane in range(dut.lanes):
            d, pd = reference(op, *(int(x[lane]) for x in inputs[k]))
            assert d is None or int(result[lane]) == d, (op, lane, [hex(int(x[lane])) for x in inputs[k]])
            assert pd is None or bool(predicate >> lane & 1) == pd, (op, lane)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("lanes", [8, 1])
def test_hardware_matches_model_at_one_operation_a_cycle(lanes):
    rng = np.random.default_rng(1)
    program = [op for op in OPS for _ in range(8)]
    rng.shuffle(program)
    program = [AluOp(op) for op in program]
    run_hardware(program, [cases(rng, lanes) for _ in program], lanes)


def test_hardware_of_bit_fields_near_a_bound():
    """Other operations stand between those of bit fields, so that what one leaves behind would show."""
    rng = np.random.default_rng(2)
    program, inputs = [], []
    for op in FIELDS:
        operands = field_cases(rng, SOME_NEAR)
        for k in range(0, len(operands[0]) - 7, 8):
            program += [op] if rng.random() < 0.7 else [op, AluOp(rng.choice(OPS))]
            inputs += [tuple(x[k:k + 8] for x in operands)] * (len(program) - len(inputs))
    run_hardware(program, inputs)


@pytest.mark.full
@pytest.mark.parametrize("op", FIELDS, ids=lambda op: op.name)
def test_hardware_of_every_bit_field(op):
    operands = field_cases(np.random.default_rng(3), range(256))
    program = [op] * (len(operands[0]) // 8)
    run_hardware(program, [tuple(x[8 * k:8 * k + 8] for x in operands) for k in range(len(program))])


def test_hardware_counts_every_run_of_bits_and_permutes_every_byte():
    rng = np.random.default_rng(4)
    runs = np.array([((1 << high) - 1) >> low << low for high in range(33) for low in range(high + 1)], np.uint32)
    runs = np.concatenate([runs, rng.integers(0, 1 << 32, -len(runs) % 8, dtype=np.uint32)])
    program, inputs = [], []
    for k in range(0, len(runs), 8):
        for op in (AluOp.CLZ, AluOp.POPC, AluOp.BREV):
            a, _, c, pa, pb = cases(rng, 8)
            program.append(op)
            inputs.append((a, runs[k:k + 8], c, pa, pb))
    for nibble in range(16):
        for place in range(4):
            a, b, c, pa, pb = (np.roll(x, place) for x in cases(rng, 8))
            program.append(AluOp.PRMT)
            inputs.append((a, b, c & np.uint32(WORD ^ 15 << 4 * place) | np.uint32(nibble << 4 * place), pa, pb))
    run_hardware(program, inputs)
