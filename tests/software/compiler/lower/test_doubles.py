"""Compiled f64 instructions and conversions compute what the PTX ISA says: on the golden model, against fractions."""

import itertools
import random
from fractions import Fraction

import pytest

from caesura.sim.workloads.random_ptx.exact import (
    F32,
    F64,
    MODES,
    ONE,
    SIGN,
    add,
    as_integer,
    clamped,
    compare,
    extreme,
    flush,
    fma,
    infinity,
    integral,
    mul,
    narrow,
    rounded,
    sub,
    to_integer,
    wide,
)
from support.software.ptx_bench import PREFIX, THREADS, check

TESTS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
INTEGERS = [f"{letter}{bits}" for bits in (8, 16, 32, 64) for letter in "su"]


EDGES = [0, 1, (1 << 52) - 1, 1 << 52, ONE - 1, ONE, ONE + 1, 1022 << 52, 0x3FF8 << 48, 0x4004 << 48, 0x40EF_FFF0 << 32,
         0x41DF_FFFF_FFC0_0000, 0x41E0 << 48, 0x41EF_FFFF_FFE0_0000, 0x41EF_FFFF_FFF0_0000, 0x43E0 << 48, 0x43F0 << 48,
         0x43EF_FFFF_FFFF_FFFF, 0x36A0 << 48, 0x3690 << 48, 0x3690_0000_0000_0001, 0x380F_FFFF_E000_0000,
         0x47EF_FFFF_E000_0000, 0x47EF_FFFF_F000_0000, 0x7FEF << 48 | (1 << 48) - 1, 0x7FF0 << 48, 0x7FF0 << 48 | 1,
         0x7FF8 << 48]
EDGES += [x | SIGN for x in EDGES]


def double(rng):
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(EDGES)
    if kind < 0.4:
        return rng.getrandbits(64)
    fraction = rng.choice((rng.getrandbits(52), rng.getrandbits(23) << 29, rng.getrandbits(8) << 44, 0, (1 << 52) - 1))
    return rng.getrandbits(1) << 63 | 1023 + rng.randrange(-70, 70) << 52 | fraction


def single(rng):
    if rng.random() < 0.5:
        return rng.choice((0, 1, 0x7F_FFFF, 0x80_0000, 0x7F80_0000, 0x7F80_0001, 0x7F7F_FFFF, 0x4F00_0000, 0x5F00_0000,
                           0x5F80_0000, 0x3F00_0000, 0x3FC0_0000, 0x80_0001)) | rng.getrandbits(1) << 31
    return rng.getrandbits(1) << 31 | rng.randrange(90, 200) << 23 | rng.getrandbits(23)


def operands(seed):
    rng = random.Random(seed)
    a, b, n = ([make(rng) for _ in range(2 * THREADS)] for make in (double, double, single))
    for k in range(0, 2 * THREADS, 3):  # close to each other
        b[k] = a[k] ^ rng.choice((0, 1, SIGN, SIGN | 1))
    return a, b, n


def test_arithmetic():
    a, b, n = operands(1)
    third = "cvt.f64.f32 %fd3, %f3; "
    end = " mov.b64 %rd4, %fd4;"
    cases = []
    for mode in MODES:
        for name, f in (("add", add), ("sub", sub), ("mul", mul)):
            cases.append((f"{name}.{mode}.f64 %fd4, %fd1, %fd2;{end}", 64, lambda x, y, z, f=f, m=mode: f(x, y, m)))
        for name in ("fma", "mad"):
            cases.append((f"{third}{name}.{mode}.f64 %fd4, %fd1, %fd2, %fd3;{end}", 64,
                          lambda x, y, z, m=mode: fma(x, y, wide(z), m)))
    half = 1022 << 52
    cases += [
        (f"add.f64 %fd4, %fd1, %fd1;{end}", 64, lambda x, y, z: add(x, x, "rn")),
        (f"fma.rn.f64 %fd4, %fd1, %fd1, %fd1;{end}", 64, lambda x, y, z: fma(x, x, x, "rn")),
        (f"mul.f64 %fd4, 0d3FE0000000000000, %fd2; sub.f64 %fd4, %fd4, 1.0;{end}", 64,
         lambda x, y, z: sub(mul(half, y, "rn"), ONE, "rn")),
        (f"fma.rz.f64 %fd4, %fd1, 0.5, 0f3F800000;{end}", 64, lambda x, y, z: fma(x, half, ONE, "rz")),
        ("mul.f64 %rd4, %rd1, %fd2;", 64, lambda x, y, z: mul(x, y, "rn")),
        (f"neg.f64 %fd4, %fd1;{end}", 64, lambda x, y, z: x ^ SIGN),
        (f"abs.f64 %fd4, %fd1;{end}", 64, lambda x, y, z: x & ~SIGN),
        (f"copysign.f64 %fd4, %fd1, %fd2;{end}", 64, lambda x, y, z: x & SIGN | y & ~SIGN),
        (f"min.f64 %fd4, %fd1, %fd2;{end}", 64, lambda x, y, z: extreme(x, y, True)),
        (f"max.f64 %fd4, %fd1, %fd2;{end}", 64, lambda x, y, z: extreme(x, y, False)),
        (f"setp.lt.s32 %p1, %r3, 0; mov.f64 %fd4, %fd2; @%p1 add.f64 %fd4, %fd1, %fd4;{end}", 64,
         lambda x, y, z: add(x, y, "rn") if z >> 31 else y)]
    check(cases, a, b, n)


def test_comparisons_and_selection():
    a, b, n = operands(2)
    cases = []
    for test in TESTS:
        def holds(x, y, test=test):
            return compare(test, x, y)
        cases += [(f"setp.{test}.f64 %p1|%p2, %fd1, %fd2; selp.f64 %fd4, %fd1, 0d3FF0000000000000, %p1; "
                   "@%p2 mov.f64 %fd4, %fd2; mov.b64 %rd4, %fd4;", 64, lambda x, y, z, f=holds: x if f(x, y) else y),
                  (f"set.{test}.u32.f64 %r4, %fd1, %fd2;", 32, lambda x, y, z, f=holds: -f(x, y)),
                  (f"set.{test}.f32.f64 %r4, %fd1, 1.0;", 32, lambda x, y, z, f=holds: 0x3F80_0000 * f(x, ONE)),
                  (f"setp.lt.s32 %p1, %r3, 0; setp.{test}.xor.f64 %p2, %fd1, %fd2, %p1; selp.b32 %r4, 1, 0, %p2;", 32,
                   lambda x, y, z, f=holds: f(x, y) ^ z >> 31)]
    for kind, low, high in (("finite", 0, infinity(F64)), ("infinite", infinity(F64), infinity(F64) + 1),
                            ("number", 0, infinity(F64) + 1), ("notanumber", infinity(F64) + 1, SIGN),
                            ("normal", 1 << 52, infinity(F64)), ("subnormal", 1, 1 << 52)):
        cases.append((f"testp.{kind}.f64 %p1, %fd1; selp.u32 %r4, 1, 0, %p1;", 32,
                      lambda x, y, z, low=low, high=high: low <= x & ~SIGN < high))
    for kind, low, high in (("finite", 0, infinity(F32)), ("notanumber", infinity(F32) + 1, 1 << 31),
                            ("normal", 1 << 23, infinity(F32)), ("subnormal", 1, 1 << 23)):
        cases.append((f"testp.{kind}.f32 %p1, %f3; selp.u32 %r4, 1, 0, %p1;", 32,
                      lambda x, y, z, low=low, high=high: low <= z & 0x7FFF_FFFF < high))
    cases += [("slct.f64.f32 %fd4, %fd1, %fd2, %f3; mov.b64 %rd4, %fd4;", 64,
               lambda x, y, z: x if compare("ge", z, 0, F32) else y),
              ("slct.b32.s32 %r4, %r1, 7, %r3;", 32, lambda x, y, z: 7 if z >> 31 else x),
              ("slct.u16.s32 %rs4, %rs1, 7, %r3;", 16, lambda x, y, z: 7 if z >> 31 else x),
              ("slct.b16.f32 %rs4, %rs1, %rs2, %f3;", 16, lambda x, y, z: x if compare("ge", z, 0, F32) else y)]
    check(cases, a, b, n)


@pytest.mark.parametrize("form, source", [(F64, "f64"), (F32, "f32")])
def test_conversions_to_integers(form, source):
    a, b, n = operands(3)
    register, cases = {"f64": "%fd1", "f32": "%f3"}[source], []
    for type, mode in itertools.product(INTEGERS, MODES):
        if source == "f32" and type[1:] != "64":
            continue  # test_floats
        bits = max(int(type[1:]), 16)
        cases.append((f"cvt.{mode}i.{type}.{source} {PREFIX[bits]}4, {register};", bits, lambda x, y, z, t=type, m=mode:
                      to_integer(x if form is F64 else z, form, t, m)))
    check(cases, a, b, n)


def test_conversions_from_integers():
    rng = random.Random(4)
    a, b = ([rng.getrandbits(64) >> rng.randrange(64) for _ in range(2 * THREADS)] for _ in range(2))
    a[:6] = [(1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 53) + 1, (1 << 24) + 1, 0]
    cases = []
    for type, mode, (to, form, bits) in itertools.product(INTEGERS, MODES, (("f64", F64, 64), ("f32", F32, 32))):
        register = f"{PREFIX[max(int(type[1:]), 16)]}1"
        cases.append((f"cvt.{mode}.{to}.{type} {PREFIX[bits]}4, {register};", bits,
                      lambda x, y, z, t=type, m=mode, f=form: rounded(Fraction(as_integer(x, t)), m, f)))
    check(cases, a, b, [0] * 2 * THREADS)


def test_conversions_between_forms():
    a, b, n = operands(5)
    cases = [("cvt.f64.f32 %rd4, %f3;", 64, lambda x, y, z: wide(z)),
             ("cvt.ftz.f64.f32 %rd4, %f3;", 64, lambda x, y, z: wide(flush(z))),
             ("cvt.sat.f64.f64 %rd4, %fd1;", 64, lambda x, y, z: 0 if compare("leu", x, 0) else min(x, ONE)),
             ("cvt.rn.sat.f32.f64 %r4, %fd1;", 32, lambda x, y, z: 0 if compare("leu", x, 0) else
              min(narrow(x, "rn"), 0x3F80_0000)),
             ("cvt.rpi.ftz.s32.f32 %r4, %f3;", 32, lambda x, y, z: to_integer(flush(z), F32, "s32", "rp"))]
    for mode in MODES:
        cases += [(f"cvt.{mode}.f32.f64 %r4, %fd1;", 32, lambda x, y, z, m=mode: narrow(x, m)),
                  (f"cvt.{mode}.ftz.f32.f64 %r4, %fd1;", 32, lambda x, y, z, m=mode: flush(narrow(x, m))),
                  (f"cvt.{mode}i.f64.f64 %rd4, %fd1;", 64, lambda x, y, z, m=mode: integral(x, F64, m)),
                  (f"cvt.{mode}i.ftz.f32.f32 %r4, %f3;", 32, lambda x, y, z, m=mode: integral(flush(z), F32, m))]
    check(cases, a, b, n)


def test_saturating_conversions_between_integers():
    rng = random.Random(6)
    a = [rng.getrandbits(64) >> rng.randrange(64) ^ -rng.getrandbits(1) & (1 << 64) - 1 for _ in range(THREADS)]
    cases = []
    for to, source in itertools.product(INTEGERS, INTEGERS):
        bits = max(int(to[1:]), 16)
        cases.append((f"cvt.sat.{to}.{source} {PREFIX[bits]}4, {PREFIX[max(int(source[1:]), 16)]}1;", bits,
                      lambda x, y, z, t=to, s=source: clamped(as_integer(x, s), t)))
    check(cases, a, a, [0] * THREADS)


def test_flush_to_zero():
    """Subnormal sources and results become zeros of their sign."""
    rng = random.Random(7)
    values = [[rng.choice((1, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0xFF_FFFF, 0x3F00_0000, 0x3F80_0000, 0, 0x0100_0001))
               | rng.getrandbits(1) << 31 for _ in range(THREADS)] for _ in range(3)]

    def sum_of(x, y):
        return fma(x, 0x3F80_0000, y, "rn", F32)

    def product(x, y):
        return fma(x, y, (x ^ y) & 1 << 31, "rn", F32)
    cases = [("add.ftz.f32 %r4, %f1, %f2;", 32, lambda x, y, z: flush(sum_of(flush(x), flush(y)))),
             ("sub.ftz.f32 %r4, %f1, %f2;", 32, lambda x, y, z: flush(sum_of(flush(x), flush(y) ^ 1 << 31))),
             ("mul.ftz.f32 %r4, %f1, %f2;", 32, lambda x, y, z: flush(product(flush(x), flush(y)))),
             ("fma.rn.ftz.f32 %r4, %f1, %f2, %f3;", 32,
              lambda x, y, z: flush(fma(flush(x), flush(y), flush(z), "rn", F32))),
             ("add.ftz.f32 %f4, %f1, %f2; mul.ftz.f32 %r4, %f4, %f3;", 32, lambda x, y, z: flush(product(
                 flush(sum_of(flush(x), flush(y))), flush(z)))),
             ("add.ftz.f32 %f4, %f1, 0f00000001; mov.b32 %r4, %f4;", 32, lambda x, y, z: flush(sum_of(flush(x), 0))),
             ("neg.ftz.f32 %r4, %f1;", 32, lambda x, y, z: flush(x) ^ 1 << 31),
             ("abs.ftz.f32 %r4, %f1;", 32, lambda x, y, z: flush(x) & 0x7FFF_FFFF),
             ("setp.gt.ftz.f32 %p1, %f1, %f2; selp.b32 %r4, 1, 0, %p1;", 32,
              lambda x, y, z: compare("gt", flush(x), flush(y), F32)),
             ("min.ftz.f32 %r4, %f1, 0f3F800000;", 32,
              lambda x, y, z: flush(x) if compare("lt", flush(x), 0x3F80_0000, F32) else 0x3F80_0000)]
    check(cases, values[0], values[1], values[2])


def test_doubles_in_memory():
    rng = random.Random(8)
    a, b = ([double(rng) for _ in range(THREADS)] for _ in range(2))
    space = f".shared .align 16 .f64 buffer[{2 * THREADS}];"
    home = "mul.lo.s32 %r60, %r90, 16; mov.u32 %r61, buffer; add.s32 %r60, %r60, %r61; "
    check([(home + "st.shared.v2.f64 [%r60], {%fd1, %fd2}; ld.shared.v2.f64 {%fd5, %fd6}, [%r60]; "
            "mul.f64 %fd4, %fd6, %fd5; mov.b64 %rd4, %fd4;", 64, lambda x, y, z: mul(x, y, "rn")),
           (home + "st.shared.f64 [%r60], 2.5; ld.volatile.shared.f64 %fd4, [%r60]; add.f64 %fd4, %fd4, %fd1; "
            "mov.b64 %rd4, %fd4;", 64, lambda x, y, z: add(0x4004 << 48, x, "rn")),
           ("ld.global.nc.f64 %fd4, [%rd91]; mov.b64 {%r5, %r4}, %fd4;", 32, lambda x, y, z: y >> 32),
           ("mov.b64 %fd4, {%r2, %r1}; abs.f64 %rd4, %fd4;", 64, lambda x, y, z: (y | x << 32) & (1 << 32) - 1
            | (x << 32) & ~SIGN & (1 << 64) - 1)], a, b, [0] * THREADS, space)
