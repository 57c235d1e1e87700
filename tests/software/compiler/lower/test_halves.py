"""f16 and bf16: conversions, arithmetic and comparisons on the golden model, against f64 and numpy."""

import numpy as np
import pytest

from caesura.software.compiler import CompileError, compile_ptx
from support.selection import quick
from support.software.half_reference import BF16, F16, NAN, add
from support.software.halves import ALL, FORMATS, FRAME, agree, run
from support.software.ptxas import assert_legal


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
