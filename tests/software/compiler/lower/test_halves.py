"""f16 and bf16: conversions, arithmetic and comparisons on the golden model, against f64 and numpy."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.selection import quick
from support.software.half_reference import BF16, F16, NAN, add, fma, mul, sub
from support.software.ptxas import assert_legal

FRAME = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 OUT, .param .u64 A, .param .u64 B, .param .u64 C)
{{
.reg .pred %p<20>; .reg .b16 %rs<40>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .f32 %f<40>; .reg .f64 %fd<40>;
.reg .f16 %h<20>; .reg .f16x2 %hh<9>;
mov.u32 %r90, %tid.x; mov.u32 %r91, %ctaid.x; mad.lo.s32 %r90, %r91, 256, %r90;
ld.param.u64 %rd93, [OUT]; ld.param.u64 %rd90, [A]; ld.param.u64 %rd91, [B]; ld.param.u64 %rd92, [C];
mul.wide.u32 %rd94, %r90, 8;
add.s64 %rd90, %rd90, %rd94; add.s64 %rd91, %rd91, %rd94; add.s64 %rd92, %rd92, %rd94; add.s64 %rd93, %rd93, %rd94;
ld.global.u64 %rd1, [%rd90]; ld.global.u64 %rd2, [%rd91]; ld.global.u64 %rd3, [%rd92];
cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
cvt.u16.u32 %rs1, %r1; cvt.u16.u32 %rs2, %r2; cvt.u16.u32 %rs3, %r3;
mov.b16 %h1, %rs1; mov.b16 %h2, %rs2; mov.b16 %h3, %rs3; mov.b32 %hh1, %r1; mov.b32 %hh2, %r2;
mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b64 %fd1, %rd1; setp.ne.u16 %p9, %rs3, 0;
{body}
ret;
}}
"""
LOW = 0xFFFF
REGISTERS = {"f16": "%rs", "bf16": "%rs", "f16x2": "%r", "bf16x2": "%r"}
FORMATS = {"f16": F16, "bf16": BF16}
SPECIAL = [0, 1, 2, 0x3FF, 0x400, 0x401, 0x3C00, 0x3C01, 0x3BFF, 0x7BFF, 0x7C00, 0x7C01, 0x7FFF, 0x7F, 0x80, 0x81,
           0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7F81, 0x4D55, 0x42FF, 0x6400, 0x0F80]
SPECIAL = np.array(SPECIAL + [x | 0x8000 for x in SPECIAL], np.int64)


def run(cases, a, b=None, c=None):
    """Return what the statements of each case leave in its register, given arrays of 64-bit operands."""
    a = np.asarray(a).astype(np.uint64)
    arrays = [a, *(np.zeros_like(a) if x is None else np.asarray(x).astype(np.uint64) for x in (b, c))]
    count = len(a)
    assert count % 256 == 0
    stores = {16: "cvt.u64.u16 %rd80, {r};", 32: "cvt.u64.u32 %rd80, {r};", 64: "mov.b64 %rd80, {r};"}
    body = "\n".join(f"{text} {stores[bits].format(r=register)} st.global.u64 [%rd93+{8 * count * k}], %rd80;"
                     for k, (text, register, bits) in enumerate(cases))
    image = compile_ptx(FRAME.format(body=body))["k"]
    device = open_device("golden", "gtx480", memory_bytes=64 << 20)
    out = device.array(np.zeros(count * len(cases), np.uint64))
    device.wait(device.load([image])["k"](count // 256, 256, [out, *map(device.array, arrays)]))
    return out.get().reshape(len(cases), count).astype(np.int64)


def agree(texts, found, expected, *operands):
    for text, got, wanted in zip(texts, found, expected, strict=True):
        wrong = np.flatnonzero(got != wanted)
        assert not wrong.size, (text, len(wrong), [(*(hex(int(x[k])) for x in operands), hex(int(got[k])),
                                                    hex(int(wanted[k]))) for k in wrong[:4]])


def halves(seed, count):
    """Return bits of numbers of 16 bits: special ones in all pairs, random ones, and ones near each other."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 1 << 16, (3, count))
    pairs = rng.permutation(np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).T)[:count // 4]
    a[:len(pairs)], b[:len(pairs)] = pairs.T
    near = slice(count // 2, count)
    b[near] = (a[near] ^ rng.integers(0, 1 << 3, count - count // 2) ^ rng.integers(0, 2, count - count // 2) << 15)
    c[::3] = rng.choice(SPECIAL, len(c[::3]))
    return a, b, c


def pairs(seed, count):
    """Return packed operands, and the bits of both numbers of each."""
    low, high = halves(seed, count), halves(seed + 1000, count)
    return [x | y << 16 for x, y in zip(low, high, strict=True)], low, high


ALL = np.arange(1 << 16)


@pytest.mark.parametrize("type", quick(FORMATS, ["bf16"]))
def test_every_number_as_f32_and_back(type):
    format, r = FORMATS[type], "%rs"
    modes = ("rn", "rz", "rm", "rp")
    texts = [f"cvt.f32.{type} %f9, %rs1; mov.b32 %r9, %f9;", f"cvt.f64.{type} %fd9, %rs1;",
             *(f"cvt.f32.{type} %f9, %rs1; cvt.{mode}.{type}.f32 %rs9, %f9;" for mode in modes)]
    found = run([*zip(texts, ("%r9", "%fd9", *(f"{r}9",) * 4), (32, 64, *(16,) * 4), strict=True)], ALL)
    values = format.value(ALL)
    single = values.astype(np.float32).view(np.uint32).astype(np.int64)
    single = np.where(np.isnan(values), 0x7FFF_FFFF if type == "f16" else ALL << 16, single)
    double = np.where(np.isnan(values), 0x7FFF_FFFF_FFFF_FFFF, values.view(np.int64))
    agree(texts, found, [single, double, *[np.where(np.isnan(values), NAN, ALL)] * 4], ALL)
    if type == "f16":
        with np.errstate(invalid="ignore"):
            assert np.array_equal(ALL.astype(np.uint16).view(np.float16).astype(np.float64), values, equal_nan=True)


def wide_values(seed, count, format):
    """Return f64 values around the numbers of a format and their midpoints, and any others."""
    rng = np.random.default_rng(seed)
    base = format.value(rng.integers(0, 1 << 16, count))
    others = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, format.most])
    base = np.where(np.isfinite(base), base, rng.choice(others, count))
    with np.errstate(invalid="ignore", over="ignore"):
        following = format.value(np.minimum(format.bits(np.abs(base)) + 1, 0x7F80))
        beyond = format.most * (1 + 2.0**-format.precision)
        middle = np.copysign(np.where(np.isfinite(following), (np.abs(base) + following) / 2, beyond), base)
        tiny = rng.choice(np.array([0, 0, 1, -1]), count) * 2.0 ** rng.integers(-52, -12, count)
        values = np.where(rng.random(count) < 0.7, middle, base) * (1 + tiny)
    return values


@pytest.mark.parametrize("type", FORMATS)
def test_rounding_of_f32_and_f64(type):
    format, count = FORMATS[type], 1 << 12
    values = wide_values(5, count, format)
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
    modes = ("rn", "rz", "rm", "rp")
    texts = [f"cvt.{mode}.{type}.f32 %rs9, %f1;" for mode in modes]
    agree(texts, run([(t, "%rs9", 16) for t in texts], single.view(np.uint32)),
          [format.bits(single.astype(np.float64), mode) for mode in modes], single.view(np.uint32))
    texts = [f"cvt.{mode}.{type}.f64 %rs9, %fd1;" for mode in modes]
    agree(texts, run([(t, "%rs9", 16) for t in texts], values.view(np.uint64)),
          [format.bits(values, mode) for mode in modes], values.view(np.uint64))
    if type == "f16":
        with np.errstate(over="ignore", invalid="ignore"):
            known = values.astype(np.float16)
        numbers = ~np.isnan(values)
        assert (known.view(np.uint16)[numbers] == format.bits(values)[numbers]).all()


@pytest.mark.parametrize("type", FORMATS)
def test_options_of_conversions(type):
    format, count = FORMATS[type], 1 << 11
    values = wide_values(6, count, format).astype(np.float32)
    wide = values.astype(np.float64)
    bits = values.view(np.uint32)
    clean = np.where(np.isnan(wide), np.nan, wide)
    positive = np.where(np.isnan(clean) | (clean > 0), clean, 0.0)
    finite = np.where(np.isnan(clean), clean, np.clip(clean, -format.most, format.most))
    both = np.where(np.isnan(finite), finite, np.maximum(finite, 0))
    expected = {f"cvt.rn.relu.{type}.f32": format.bits(positive),
                f"cvt.rz.relu.{type}.f32": format.bits(positive, "rz"),
                f"cvt.rn.satfinite.{type}.f32": format.bits(finite),
                f"cvt.rn.relu.satfinite.{type}.f32": format.bits(both)}
    if type == "f16":
        unit = np.where(np.isnan(wide), 0.0, np.clip(wide, 0, 1))
        expected["cvt.rn.sat.f16.f32"] = format.bits(np.where(unit == 0, 0.0, unit))
    texts = [f"{name} %rs9, %f1;" for name in expected]
    agree(texts, run([(t, "%rs9", 16) for t in texts], bits), list(expected.values()), bits)
    texts = [f"cvt.{o}.{type}x2.f32 %r9, %f1, %f2;" for o in ("rn", "rz", "rn.relu", "rn.satfinite")]
    other = np.roll(bits, 7)
    scalar = [format.bits(wide), format.bits(wide, "rz"), format.bits(positive), format.bits(finite)]
    expected = [x << 16 | np.roll(x, 7) for x in scalar]
    agree(texts, run([(t, "%r9", 32) for t in texts], bits, other), expected, bits, other)


@pytest.mark.parametrize("type", FORMATS)
def test_integers(type):
    format, count = FORMATS[type], 1 << 11
    rng = np.random.default_rng(7)
    whole = rng.integers(-1 << 63, 1 << 63, count) >> rng.integers(0, 64, count)
    near = format.value(rng.integers(0, 1 << 16, count))
    with np.errstate(invalid="ignore"):
        near = np.clip(np.nan_to_num(near), -2.0**62, 2.0**62).astype(np.int64)
    whole = np.where(rng.random(count) < 0.6, near + rng.integers(-2, 3, count), whole)
    texts, expected = [], []
    for kind in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
        size = int(kind[1:])
        for mode in ("rn", "rz", "rm", "rp"):
            texts.append(f"cvt.{mode}.{type}.{kind} %rs9, {'%rd1' if size == 64 else '%r1' if size != 16 else '%rs1'};")
            values = whole & (1 << size) - 1 if size < 64 else whole
            if kind[0] == "s":
                values = values - ((values >> size - 1 & 1) << size) if size < 64 else values
            exact = [int(x) & (1 << 64) - 1 if kind == "u64" else int(x) for x in values]
            expected.append(format.bits(odd_integers(exact), mode))
    agree(texts, run([(t, "%rs9", 16) for t in texts], whole.view(np.uint64)), expected, whole.view(np.uint64))


def odd_integers(values):
    """Return integers as f64, rounded to odd."""
    found = []
    for value in values:
        size = abs(value)
        lost = max(size.bit_length() - 53, 0)
        size = size >> lost << lost | (bool(size & (1 << lost) - 1) << lost)
        found.append(float(-size if value < 0 else size))
    return np.array(found)


@pytest.mark.parametrize("step", quick([1, 32], [32]))
@pytest.mark.parametrize("type", FORMATS)
def test_every_number_as_integers(type, step):
    format, numbers = FORMATS[type], ALL[::step]
    values = format.value(numbers)
    texts, expected, cases = [], [], []
    functions = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    for mode, kind in (("rni", "s32"), ("rzi", "u16"), ("rmi", "s8"), ("rpi", "u32"), ("rzi", "s64")):
        bits = int(kind[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
        exact = np.array([0 if np.isnan(x) else min(max(int(np.clip(x, -2.0**70, 2.0**70)), low), high)
                          for x in functions[mode](values)], object)
        if bits == 64:
            exact[np.isnan(values)] = low
        register = {64: "%rd9", 16: "%rs9"}.get(bits, "%r9")
        texts.append(f"cvt.{mode}.{kind}.{type} {register}, %rs1;")
        size = max(bits, 32) if bits != 16 else 16
        cases.append((texts[-1], register, size))
        expected.append((exact & (1 << size) - 1).astype(np.uint64).view(np.int64))
    for mode, function in functions.items():
        texts.append(f"cvt.{mode}.{type}.{type} %rs9, %rs1;")
        cases.append((texts[-1], "%rs9", 16))
        expected.append(format.bits(np.where(np.isnan(values), np.nan, np.copysign(function(values), values))))
    agree(texts, run(cases, numbers), expected, numbers)


def test_each_as_the_other():
    texts = [f"cvt.{mode}.bf16.f16 %rs9, %rs1;" for mode in ("rn", "rm")]
    texts += [f"cvt.{mode}.f16.bf16 %rs9, %rs1;" for mode in ("rn", "rp")]
    f16, bf16 = F16.value(ALL), BF16.value(ALL)
    agree(texts, run([(t, "%rs9", 16) for t in texts], ALL),
          [BF16.bits(f16), BF16.bits(f16, "rm"), F16.bits(bf16), F16.bits(bf16, "rp")], ALL)


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


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", [np.add, np.multiply])
@pytest.mark.parametrize("type", FORMATS)
def test_two_roundings_of_sums_and_products_are_one(type, operation):
    """All pairs of numbers, without the model: f32 in between, against f64, where they are exact or rounded to odd."""
    format = FORMATS[type]
    values = format.value(ALL)
    values = values[np.isfinite(values)]
    single = values.astype(np.float32)
    with np.errstate(all="ignore"):
        for value in values[values >= 0]:
            twice = operation(np.float32(value), single).astype(np.float64)
            once = add(value, values) if operation is np.add else value * values
            assert (format.bits(twice) == format.bits(once)).all(), value


LEGAL = """add.f16 %h1, %h2, %h3; add.rn.ftz.sat.f16x2 %r1, %r2, %r3; sub.bf16 %rs1, %rs2, %rs3;
mul.rn.bf16x2 %r1, %r2, %r3;
fma.rn.ftz.relu.f16x2 %r1, %r2, %r3, %r4; fma.rn.relu.bf16 %rs1, %rs2, %rs3, %rs4;
fma.rn.sat.f16 %h1, %h2, %h3, %h4;
neg.ftz.f16x2 %r1, %r2; abs.bf16x2 %r1, %r2; min.ftz.NaN.f16 %h1, %h2, %h3; max.NaN.xorsign.abs.bf16x2 %r1, %r2, %r3;
setp.lt.ftz.f16 %p1, %h2, %h3; setp.neu.and.f16x2 %p1|%p2, %r2, %r3, %p3;
setp.ge.bf16 %p1, %rs2, %rs3;
set.lt.f16.f16 %h1, %h2, %h3; set.lt.u32.bf16x2 %r1, %r2, %r3; set.lt.bf16.f32 %rs1, %f2, %f3;
set.gt.s16.f16 %rs1, %h2, %h3;
ex2.approx.f16x2 %r1, %r2; ex2.approx.ftz.bf16 %rs1, %rs2; tanh.approx.f32 %f1, %f2; tanh.approx.bf16x2 %r1, %r2;
cvt.rn.relu.satfinite.bf16x2.f32 %r1, %f1, %f2; cvt.rz.f16x2.f32 %r1, %f1, %f2; cvt.rp.f16.f64 %h1, %fd1;
cvt.rm.bf16.s64 %rs1, %rd1; cvt.rzi.u16.bf16 %rs1, %rs2; cvt.rni.sat.f16.f16 %h1, %h2; cvt.sat.f32.f16 %f1, %h1;
cvt.rn.ftz.f16.f32 %h1, %f1; cvt.f64.bf16 %fd1, %rs1; cvt.rn.sat.f16.s32 %h1, %r1; cvt.rn.bf16.f16 %rs1, %h1;"""


def test_forms_are_legal_and_compile(tmp_path):
    assert compile_ptx(FRAME.format(body=LEGAL))["k"].code
    assert_legal(LEGAL, tmp_path, version="8.6")


@pytest.mark.parametrize("statement, what", [
    ("add.rz.f16 %h1, %h2, %h3;", "modifier .rz"), ("add.ftz.bf16 %rs1, %rs2, %rs3;", "modifier .ftz"),
    ("fma.f16 %h1, %h2, %h3, %h4;", "fma is not supported in this form"),
    ("fma.rn.sat.relu.f16 %h1, %h2, %h3, %h4;", "fma is not supported in this form"),
    ("min.abs.f16 %h1, %h2, %h3;", "min is not supported in this form"), ("div.f16 %h1, %h2, %h3;", "type .f16"),
    ("ex2.approx.bf16 %rs1, %rs2;", "ex2 is not supported"), ("setp.hi.f16 %p1, %h1, %h2;", "not a comparison of .f16"),
    ("set.lt.f32.f16 %f1, %h1, %h2;", "result type .f32"), ("setp.lt.f16 %p1|%p2, %h1, %h2;", "one predicate"),
    ("cvt.f16.f32 %h1, %f1;", "conversion is not supported"), ("cvt.rm.f16x2.f32 %r1, %f1, %f2;", "conversion is not"),
    ("cvt.rn.sat.bf16.f32 %rs1, %f1;", "conversion is not supported"), ("cvt.f16 %h1, %f1;", "conversion is not"),
    ("cvt.rn.f32.f16 %f1, %h1;", "conversion is not supported"), ("add.f16 %r1, %h1, %h2;", "needs 16 bits"),
    ("add.f16x2 %hh1, %hh1, %h2;", "needs 32 bits"), ("tanh.f32 %f1, %f2;", "tanh is not supported in this form"),
])
def test_what_is_refused(statement, what):
    with pytest.raises(CompileError, match=what):
        compile_ptx(FRAME.format(body=statement))
