"""Arithmetic, comparisons and functions of f16 and bf16 against numpy and exact numbers."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import compile_ptx
from support.selection import quick
from support.software.half_reference import F16, NAN, add, fma, mul, sub
from support.software.halves import ALL, FORMATS, LOW, agree, halves, pairs, run
from support.software.ptxas import assert_legal

ARITHMETIC = {"add": (add, 2), "sub": (sub, 2), "mul": (mul, 2), "fma.rn": (fma, 3)}


def arithmetic(type, bits, option):
    """Return opcodes of a type and what they compute of the bits of operands."""
    format = FORMATS[type]
    flush = format.flush if "ftz" in option else np.asarray
    values = [format.value(flush(x)) for x in bits]
    found = {}
    for name, (function, count) in ARITHMETIC.items():
        if "relu" in option and name != "fma.rn":
            continue
        result = function(*values[:count])
        if "sat" in option:
            result = np.where(np.isnan(result) | (result <= 0), 0.0, np.minimum(result, 1))
        if "relu" in option:
            result = np.where(np.isnan(result) | (result > 0), result, 0.0)
        found[f"{name}{option}.{type}"] = flush(format.bits(result)), count
    return found


HARD = [0x4200, 0x4200, 0x7BFF], [0x6556, 0x6556, 0x3C00], [0x0001, 0x8001, 0x4C00]
"""3 * 1366 and the least number, added and subtracted: next to a midpoint; the greatest number and what adds to it."""
OPTIONS = [("f16", ""), ("f16", ".ftz"), ("f16", ".sat"), ("f16", ".relu"), ("bf16", ""), ("bf16", ".relu")]


@pytest.mark.parametrize("seed", quick(range(40), [1]))
@pytest.mark.parametrize("type, option", quick(OPTIONS, [("f16", ""), ("bf16", ".relu")]))
def test_arithmetic(type, option, seed):
    operands, low, high = pairs(seed, 1 << 11)
    if type == "f16" and not option:  # cases that two roundings get wrong
        for bits in (low, high):
            for numbers, hard in zip(bits, HARD, strict=True):
                numbers[:3] = hard
        operands = [x | y << 16 for x, y in zip(low, high, strict=True)]
    parts = [arithmetic(type, bits, option) for bits in (low, high)]
    texts, cases, expected = [], [], []
    for (name, (first, count)), (second, _) in zip(parts[0].items(), parts[1].values(), strict=True):
        for suffix, r, bits, wanted in (("", "%rs", 16, first), ("x2", "%r", 32, first | second << 16)):
            texts.append(f"{name}{suffix} {r}9, " + ", ".join(f"{r}{k}" for k in range(1, count + 1)) + ";")
            cases.append((texts[-1], f"{r}9", bits))
            expected.append(wanted)
    agree(texts, run(cases, *operands), expected, *operands)


def test_two_roundings_of_a_product_and_a_sum_would_be_wrong():
    a, b, c = (F16.value(np.array([x])) for x in (0x4200, 0x6556, 0x0001))
    twice = F16.bits(np.float32(a * b + c).astype(np.float64))
    assert twice[0] != F16.bits(fma(a, b, c))[0] and F16.bits(fma(a, b, c))[0] == 0x6C01


@pytest.mark.parametrize("type", quick(FORMATS, ["bf16"]))
def test_extremes_and_signs(type):
    format = FORMATS[type]
    operands, low, high = pairs(11, 1 << 11)
    texts, cases, expected = [], [], []
    for name, larger in (("min", False), ("max", True)):
        for option in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs", *((".ftz",) if type == "f16" else ())):
            wanted = [extreme(format, bits, larger, option) for bits in (low, high)]
            for suffix, r, bits, result in (("", "%rs", 16, wanted[0]), ("x2", "%r", 32, wanted[0] | wanted[1] << 16)):
                texts.append(f"{name}{option}.{type}{suffix} {r}9, {r}1, {r}2;")
                cases.append((texts[-1], f"{r}9", bits))
                expected.append(result)
    for name, result in (("neg", operands[0] ^ 0x8000_8000), ("abs", operands[0] & 0x7FFF_7FFF)):
        texts += [f"{name}.{type} %rs9, %rs1;", f"{name}.{type}x2 %r9, %r1;"]
        cases += [(texts[-2], "%rs9", 16), (texts[-1], "%r9", 32)]
        expected += [result & LOW, result]
    agree(texts, run(cases, *operands), expected, *operands)


def extreme(format, bits, larger, option):
    a, b = ((format.flush(x) if "ftz" in option else x) for x in bits[:2])
    sign = (a ^ b) & 0x8000
    if "abs" in option:
        a, b = a & 0x7FFF, b & 0x7FFF
    def key(x):
        return np.where(x & 0x8000, -(x & 0x7FFF) - 1, x & 0x7FFF)
    bad = [np.isnan(format.value(x)) for x in (a, b)]
    chosen = np.where((key(a) > key(b)) == larger, a, b)
    chosen = np.where(bad[0], b, np.where(bad[1], a, chosen))
    unknown = bad[0] | bad[1] if "NaN" in option else bad[0] & bad[1]
    return np.where(unknown, NAN, chosen | sign if "abs" in option else chosen)


TESTS = {"eq": (np.equal, False), "ne": (np.not_equal, False), "lt": (np.less, False), "le": (np.less_equal, False),
         "gt": (np.greater, False), "ge": (np.greater_equal, False), "equ": (np.equal, True),
         "neu": (np.not_equal, True), "ltu": (np.less, True), "leu": (np.less_equal, True), "gtu": (np.greater, True),
         "geu": (np.greater_equal, True), "num": (lambda a, b: a == a, False), "nan": (lambda a, b: a != a, True)}


def holds(name, a, b):
    function, unordered = TESTS[name]
    return np.where(np.isnan(a) | np.isnan(b), unordered, function(a, b)).astype(np.int64)


@pytest.mark.parametrize("type", quick(FORMATS, ["bf16"]))
def test_comparisons(type):
    format = FORMATS[type]
    operands, low, high = pairs(12, 1 << 11)
    other = (low[2] != 0).astype(np.int64)
    one = format.bits(np.array([1.0]))[0]
    texts, cases, expected = [], [], []

    def case(text, register, bits, wanted):
        texts.append(text)
        cases.append((text, register, bits))
        expected.append(wanted)
    for name in TESTS:
        first, second = (holds(name, *(format.value(x) for x in bits[:2])) for bits in (low, high))
        case(f"setp.{name}.{type} %p1, %rs1, %rs2; selp.b16 %rs9, 1, 0, %p1;", "%rs9", 16, first)
        case(f"setp.{name}.xor.{type}x2 %p1|%p2, %r1, %r2, !%p9; selp.b32 %r9, 1, 0, %p1; selp.b32 %r8, 2, 0, %p2;"
             "or.b32 %r9, %r9, %r8;", "%r9", 32, first ^ 1 - other | (second ^ 1 - other) << 1)
        case(f"set.{name}.{type}.{type} %rs9, %rs1, %rs2;", "%rs9", 16, first * one)
        case(f"set.{name}.{type}x2.{type}x2 %r9, %r1, %r2;", "%r9", 32, first * one | second * one << 16)
        case(f"set.{name}.u32.{type}x2 %r9, %r1, %r2;", "%r9", 32, first * LOW | second * LOW << 16)
    case(f"set.lt.and.s32.{type} %r9, %rs1, %rs2, %p9;", "%r9", 32,
         (holds("lt", *(format.value(x) for x in low[:2])) & other) * 0xFFFF_FFFF)
    case(f"set.lt.u16.{type} %rs9, %rs1, %rs2;", "%rs9", 16, holds("lt", *(format.value(x) for x in low[:2])) * LOW)
    case(f"set.lt.{type}.u32 %rs9, %r1, %r2;", "%rs9", 16, (operands[0] < operands[1]) * one)
    agree(texts, run(cases, *operands), expected, *operands)


@pytest.mark.parametrize("type, steps", quick([("f16", 2), ("bf16", 1)], [("f16", 2)]))
def test_functions_of_every_number(type, steps):
    """ex2 within two units in the last place, tanh within 2^-10.9 and 2^-8 of the exact ones, as the PTX ISA says."""
    format, r = FORMATS[type], "%rs"
    flush = ".ftz" if type == "bf16" else ""
    texts = [f"ex2.approx{flush}.{type} {r}9, {r}1;", f"tanh.approx.{type} {r}9, {r}1;"]
    power, tangent = run([(t, f"{r}9", 16) for t in texts], ALL)
    values = format.value(ALL)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exact = format.bits(np.exp2(np.clip(values, -1000, 1000)))
        if flush:
            exact = format.flush(exact)
        hyperbolic = np.tanh(values)
    numbers = ~np.isnan(values)
    assert (np.abs(power - exact)[numbers] <= steps).all() and (power[~numbers] == NAN).all()
    error = np.abs(format.value(tangent) - hyperbolic)[numbers]
    assert error.max() < (2**-10.9 if type == "f16" else 2.0**-8) and (tangent[~numbers] == NAN).all()
    assert (tangent[numbers] >> 15 == ALL[numbers] >> 15).all()


def test_tangent_of_f32():
    rng = np.random.default_rng(14)
    values = (rng.choice(np.array([-1, 1]), 1 << 12) * 2.0 ** rng.uniform(-30, 6, 1 << 12)).astype(np.float32)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan]
    found, = run([("tanh.approx.f32 %f9, %f1; mov.b32 %r9, %f9;", "%r9", 32)], values.view(np.uint32))
    got = found.astype(np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = np.tanh(values.astype(np.float64))
        assert (np.abs(got - exact)[2:4] == 0).all() and (np.abs(got / exact - 1)[6:] < 2.0**-11).all()
    assert found[:2].tolist() == [0, 0x8000_0000] and found[4:6].tolist() == [0x7FFF_FFFF] * 2


@pytest.mark.parametrize("type", FORMATS)
def test_mixed_precision(type, tmp_path):
    """Sources of 16 bits are exact as f32; sums of f64 that are rounded to odd are the judge."""
    rng = np.random.default_rng(16)
    low = halves(17, 1 << 10)
    single = rng.choice(np.array([1, -1]), 1 << 10) * 2.0 ** rng.uniform(-30, 20, 1 << 10)
    bits = single.astype(np.float32).view(np.uint32).astype(np.int64)
    a, b, c = *(FORMATS[type].value(x) for x in low[:2]), single.astype(np.float32).astype(np.float64)
    texts = [f"add.f32.{type} %f9, %rs1, %f4;", f"sub.rn.f32.{type} %f9, %rs1, %f4;",
             f"fma.rn.f32.{type} %f9, %rs1, %rs2, %f4;"]
    setup = "mov.b32 %f4, %r3;"
    found = run([(f"{setup} {t} mov.b32 %r9, %f9;", "%r9", 32) for t in texts], *low[:2], bits)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = [x.astype(np.float32) for x in (add(a, c), sub(a, c), fma(a, b, c))]
    expected = [np.where(np.isnan(x), 0x7FFF_FFFF, x.view(np.uint32).astype(np.int64)) for x in exact]
    agree(texts, found, expected, *low[:2], bits)
    assert_legal(" ".join(texts).replace("%f9", "%f8"), tmp_path, version="8.8", target="sm_100")


def test_registers_of_halves_go_through_everything():
    """Moves, packing, selection, parameters of functions, loads and stores, guards."""
    texts = [("mov.b32 {%h8, %h9}, %hh1; mov.b32 %hh3, {%h9, %h8}; mov.b32 %r9, %hh3;", "%r9", 32),
             ("mov.b16 %h9, %h1; @%p9 add.f16 %h9, %h1, %h2; mov.b16 %rs9, %h9;", "%rs9", 16),
             ("selp.b16 %h9, %h1, %h2, %p9; st.global.b16 [%rd91], %h9; ld.global.b16 %h8, [%rd91]; mov.b16 %rs9, %h8;",
              "%rs9", 16),
             ("shfl.sync.idx.b32 %hh3, %hh1, 0, 31, -1; mov.b32 %r9, %hh3;", "%r9", 32)]
    operands, low, _ = pairs(15, 256)
    a, b, c = operands
    found = run(texts, a, b, c)
    total = arithmetic("f16", low, "")["add.f16"][0]
    agree([t for t, _, _ in texts], found, [(a >> 16 | a << 16) & 0xFFFF_FFFF, np.where(low[2] != 0, total, low[0]),
                                            np.where(low[2] != 0, low[0], low[1]), np.repeat(a[::32], 32)], a, b, c)


def test_functions_with_halves_in_registers():
    module = """.version 8.5
.target sm_90
.address_size 64
.func (.reg .f16 q) twice(.reg .f16 a) { add.f16 q, a, a; ret; }
.visible .entry k(.param .u64 o)
{ .reg .f16 %h<3>; .reg .b64 %d; ld.param.u64 %d, [o]; mov.b16 %h1, 0x3C00; call (%h2), twice, (%h1);
st.global.b16 [%d], %h2; ret; }"""
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros(1, np.float16))
    device.wait(device.load([compile_ptx(module)["k"]])["k"](1, 1, [out]))
    assert out.get()[0] == 2
