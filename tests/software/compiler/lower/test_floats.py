"""Compiled f32 instructions compute what the PTX ISA says: on the golden model, against exact integer arithmetic."""

import itertools
import random
import struct

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.sim.workloads.random_ptx.floats import (
    BINARY_F32,
    FROM_INTEGER,
    TERNARY_F32,
    TESTS_F32,
    TO_INTEGER,
    UNARY_F32,
    compare_f32,
    multiply_add,
)
from caesura.software.compiler import compile_ptx
from support.software.ptx_bench import THREADS, check

SIGN = 0x8000_0000
POSITIVE = [0, 1, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x3380_0000, 0x3F00_0000, 0x3F7F_FFFF, 0x3F80_0000, 0x3F80_0001,
            0x3FC0_0000, 0x4020_0000, 0x42FF_0000, 0x437F_8000, 0x46FF_FF00, 0x4B00_0001, 0x4EFF_FFFF, 0x4F00_0000,
            0x4F7F_FFFF, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FFF_FFFF]
"""Zero, subnormals, near ties of rounding to integers, ends of the integer ranges, infinity, both kinds of NaN."""
SPECIAL = POSITIVE + [x | SIGN for x in POSITIVE]


def number(rng):
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(SPECIAL)
    if kind < 0.4:
        return rng.getrandbits(32)
    fraction = rng.choice((rng.getrandbits(23), rng.getrandbits(23), 0, 1, 0x7F_FFFF, 0x40_0000))
    return rng.getrandbits(1) << 31 | 127 + rng.randrange(-26, 33) << 23 | fraction


def operands(seed, threads=2 * THREADS):
    """Return three lists; the first two begin with pairs of special values."""
    rng = random.Random(seed)
    pairs = list(itertools.product(SPECIAL, SPECIAL))
    rng.shuffle(pairs)
    a, b, c = ([number(rng) for _ in range(threads)] for _ in range(3))
    for k, pair in enumerate(pairs[:threads // 2]):
        a[k], b[k] = pair
    near = rng.sample(range(threads // 2, threads), threads // 8)  # sums that cancel
    for k in near:
        c[k] = multiply_add(a[k], b[k], 0, "rn") ^ SIGN
    return a, b, c


def single(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def chunks(table, size=45):
    names = list(table)
    return [names[k:k + size] for k in range(0, len(names), size)]


@pytest.mark.parametrize("names", chunks(UNARY_F32) + chunks(FROM_INTEGER) + chunks(TO_INTEGER), ids=lambda n: n[0])
def test_one_operand(names):
    table = UNARY_F32 | FROM_INTEGER | TO_INTEGER
    a, b, c = operands(1)
    cases = [(f"{name} {'%r4' if k % 2 else '%f4'}, %r1;{'' if k % 2 else ' mov.b32 %r4, %f4;'}", 32,
              lambda x, y, z, f=table[name]: f(x)) for k, name in enumerate(names) if name not in TO_INTEGER]
    cases += [(f"{name} %r4, %f1;", 32, lambda x, y, z, f=table[name]: f(x)) for name in names if name in TO_INTEGER]
    check(cases, a, b, c)


@pytest.mark.parametrize("names", chunks(BINARY_F32), ids=lambda n: n[0])
def test_two_operands(names):
    a, b, c = operands(2)
    check([(f"{name} %r4, %f1, %r2;", 32, lambda x, y, z, f=BINARY_F32[name]: f(x, y)) for name in names], a, b, c)


def test_three_operands():
    a, b, c = operands(3)
    check([(f"{name} %r4, %f1, %f2, %f3;", 32, lambda x, y, z, f=f: f(x, y, z)) for name, f in TERNARY_F32.items()],
          a, b, c)


def test_a_product_and_a_sum_are_rounded_one_by_one():
    a, b, c = operands(4)
    mul, add, sub = (BINARY_F32[f"{name}.f32"] for name in ("mul", "add", "sub"))
    check([("mul.f32 %f4, %f1, %f2; add.f32 %r4, %f4, %f3;", 32, lambda x, y, z: add(mul(x, y), z)),
           ("mul.rn.f32 %f4, %f1, %f2; sub.rn.f32 %r4, %f3, %f4;", 32, lambda x, y, z: sub(z, mul(x, y)))], a, b, c)
    assert any(add(mul(*x[:2]), x[2]) != multiply_add(*x, "rn") for x in zip(a, b, c, strict=True))


@pytest.mark.full
def test_constants_in_every_place():
    a, b, c = operands(5)
    cases = []
    for value in (0, SIGN, 0x3F80_0000, 0xBFC0_0000, 0x7F80_0000, 1):
        literal = f"0f{value:08X}"
        for name in ("add.f32", "sub.rz.f32", "sub.f32", "mul.rp.f32", "mul.f32", "min.f32", "max.f32", "add.sat.f32",
                     "copysign.f32", "min.NaN.f32"):
            f = BINARY_F32[name]
            cases.append((f"{name} %r4, %f1, {literal};", 32, lambda x, y, z, f=f, v=value: f(x, v)))
            cases.append((f"{name} %r4, {literal}, %f1;", 32, lambda x, y, z, f=f, v=value: f(v, x)))
        for places in itertools.product((False, True), repeat=3):
            text = ", ".join(literal if fixed else f"%f{k + 1}" for k, fixed in enumerate(places))
            cases.append((f"fma.rm.f32 %r4, {text};", 32, lambda x, y, z, p=places, v=value: TERNARY_F32[
                "fma.rm.f32"](*(v if fixed else w for fixed, w in zip(p, (x, y, z), strict=True)))))
    for part in range(0, len(cases), 60):
        check(cases[part:part + 60], a, b, c)


def test_literals():
    """Decimal literals and 0d ones are f64 first, then rounded to nearest even."""
    texts = {"0f3FC00000": 0x3FC0_0000, "0F7f800001": 0x7F80_0001, "1.5": single(1.5), ".5": single(0.5),
             "5.": single(5), "-2.5e-3": single(-0.0025), "1e3": single(1000), "0d3FF8000000000000": single(1.5),
             "0.1": 0x3DCC_CCCD, "-0.0": SIGN, "1e40": 0x7F80_0000, "-1e40": 0xFF80_0000, "1e-46": 0,
             "16777217.0": single(16777216), "1e-45": 1}
    a, b, c = operands(6, THREADS)
    cases = [(f"mov.f32 %f4, {text}; mov.b32 %r4, %f4;", 32, lambda x, y, z, v=v: v) for text, v in texts.items()]
    cases += [("mov.b32 %r4, 0f40490FDB;", 32, lambda x, y, z: 0x4049_0FDB),
              ("selp.b32 %r4, 0f40490FDB, 0f00000000, %p9;", 32, lambda x, y, z: 0),
              ("mov.b64 %rd4, {%r1, 0f40490FDB}; cvt.u32.u64 %r5, %rd4; sub.s32 %r5, %r5, %r1; "
               "shr.u64 %rd4, %rd4, 32; cvt.u32.u64 %r4, %rd4; add.s32 %r4, %r4, %r5;", 32,
               lambda x, y, z: 0x4049_0FDB),
              ("cvt.rzi.s32.f32 %r4, -2.75;", 32, lambda x, y, z: -2),
              ("add.f32 %r4, 1.25, 2.5;", 32, lambda x, y, z: single(3.75)),
              ("neg.f32 %r4, 0f7FC00001;", 32, lambda x, y, z: 0xFFC0_0001)]
    check(cases, a, b, c)


def test_comparisons_and_selection():
    a, b, c = operands(7)
    b = [x if k % 7 == 0 else x ^ SIGN if k % 7 == 1 else y for k, (x, y) in enumerate(zip(a, b, strict=True))]
    cases = []
    for test in TESTS_F32:
        def holds(x, y, test=test):
            return compare_f32(test, x, y)
        cases += [
            (f"setp.{test}.f32 %p1, %f1, %f2; selp.f32 %r4, %f1, %f3, %p1;", 32,
             lambda x, y, z, f=holds: x if f(x, y) else z),
            (f"setp.{test}.f32 %p1|%p2, %f1, %f2; selp.f32 %f4, %f1, 1.0, %p2; mov.b32 %r4, %f4;", 32,
             lambda x, y, z, f=holds: single(1) if f(x, y) else x),
            (f"setp.{test}.f32 %p1, %f1, 0f3F800000; selp.b32 %r4, 7, 9, %p1;", 32,
             lambda x, y, z, f=holds: 7 if f(x, single(1)) else 9),
            (f"setp.{test}.f32 %p1, 0f3F800000, %f1; selp.b32 %r4, 7, 9, %p1;", 32,
             lambda x, y, z, f=holds: 7 if f(single(1), x) else 9),
            (f"set.{test}.u32.f32 %r4, %f1, %f2;", 32, lambda x, y, z, f=holds: -f(x, y)),
            (f"set.{test}.f32.f32 %f4, %f1, %f2; mov.b32 %r4, %f4;", 32,
             lambda x, y, z, f=holds: single(1) if f(x, y) else 0)]
    check(cases, a, b, c)


def test_combined_comparisons():
    a, b, c = operands(8)
    cases = []
    for name, f in (("and", lambda s, t: s & t), ("or", lambda s, t: s | t), ("xor", lambda s, t: s ^ t)):
        for test in ("lt", "geu", "nan"):
            def meaning(x, y, z, f=f, test=test):
                first, other = compare_f32(test, x, y), not z >> 31
                return f(first, other) | f(not first, other) << 1
            cases.append((f"setp.lt.s32 %p3, %r3, 0; setp.{test}.{name}.f32 %p1|%p2, %f1, %f2, !%p3; "
                          "selp.b32 %r4, 1, 0, %p1; selp.b32 %r5, 2, 0, %p2; or.b32 %r4, %r4, %r5;", 32, meaning))
            cases.append((f"setp.lt.s32 %p3, %r3, 0; set.{test}.{name}.s32.f32 %r4, %f1, %f2, %p3;", 32,
                          lambda x, y, z, f=f, test=test: -f(compare_f32(test, x, y), bool(z >> 31))))
    cases.append(("set.lt.f32.s32 %r4, %r1, %r2;", 32,
                  lambda x, y, z: single(1) if x - ((x & SIGN) << 1) < y - ((y & SIGN) << 1) else 0))
    check(cases, a, b, c)


def test_guarded_instructions_leave_other_threads_alone():
    a, b, c = operands(9)
    first = "setp.lt.s32 %p1, %r3, 0; mov.b32 %r4, %r2; "
    sat, clamp = BINARY_F32["add.sat.f32"], TO_INTEGER["cvt.rmi.s8.f32"]
    check([(first + "@%p1 add.sat.f32 %r4, %f1, %f3;", 32, lambda x, y, z: sat(x, z) if z >> 31 else y),
           (first + "@!%p1 max.NaN.f32 %r4, %f1, %r4;", 32,
            lambda x, y, z: y if z >> 31 else BINARY_F32["max.NaN.f32"](x, y)),
           (first + "@%p1 cvt.rmi.s8.f32 %r4, %f1;", 32, lambda x, y, z: clamp(x) if z >> 31 else y),
           (first + "@%p1 copysign.f32 %r4, %r4, %f1;", 32,
            lambda x, y, z: y & SIGN | x & ~SIGN if z >> 31 else y)], a, b, c)


def test_conversions_use_the_bits_of_their_types():
    """Sources wider than the type are cut, destinations wider are extended (PTX ISA 9.4.1)."""
    rng = random.Random(10)
    a = [rng.getrandbits(64) for _ in range(THREADS)]
    b = [number(rng) | rng.getrandbits(32) << 32 for _ in range(THREADS)]
    cases = []
    for kind in ("s8", "u8", "s16", "u16", "s32", "u32"):
        low = TO_INTEGER[f"cvt.rni.{kind}.f32"]
        cases.append((f"cvt.rz.f32.{kind} %f4, %rd1; mov.b32 %r4, %f4;", 32,
                      lambda x, y, z, kind=kind: FROM_INTEGER[f"cvt.rz.f32.{kind}"](x)))
        cases.append((f"cvt.rni.{kind}.f32 %rd4, %rd2;", 64, lambda x, y, z, low=low, kind=kind:
                      low(y & 0xFFFF_FFFF) - (1 << 32 if kind[0] == "s" and low(y & 0xFFFF_FFFF) & SIGN else 0)))
        if kind[1:] != "32":
            cases.append((f"cvt.rni.{kind}.f32 %rs4, %f2;", 16, lambda x, y, z, low=low: low(y & 0xFFFF_FFFF)))
            cases.append((f"cvt.rz.f32.{kind} %r4, %rs1;", 32,
                          lambda x, y, z, kind=kind: FROM_INTEGER[f"cvt.rz.f32.{kind}"](x)))
    cases.append(("cvt.rni.f32.f32 %rd4, %f2;", 64, lambda x, y, z: UNARY_F32["cvt.rni.f32.f32"](y & 0xFFFF_FFFF)))
    check(cases, a, b, [0] * THREADS)


def test_loads_and_stores():
    rng = random.Random(11)
    a, b = ([rng.getrandbits(64) for _ in range(THREADS)] for _ in range(2))
    n = [rng.getrandbits(32) for _ in range(THREADS)]
    space = f".shared .align 16 .f32 buffer[{4 * THREADS}];"
    home = "mul.lo.s32 %r60, %r90, 16; mov.u32 %r61, buffer; add.s32 %r60, %r60, %r61; "
    put = home + "st.shared.v4.f32 [%r60], {%f1, %f2, %f3, 0f3F800000}; "
    low = 0xFFFF_FFFF
    check([(put + "ld.shared.f32 %f4, [%r60+4]; mov.b32 %r4, %f4;", 32, lambda x, y, z: y),
           (put + "ld.shared.v4.f32 {%f10, %f11, %f12, %f13}, [%r60]; mov.b64 %rd4, {%f13, %f10};", 64,
            lambda x, y, z: (x & low) << 32 | single(1)),
           (put + "ld.volatile.shared.v2.f32 {%r10, %f11}, [%r60+8]; st.shared.f32 [%r60+4], %r10; "
            "ld.shared.u32 %r4, [%r60+4];", 32, lambda x, y, z: z),
           (put + "st.shared.f32 [%r60], -2.5; ld.shared.u64 %rd4, [%r60];", 64,
            lambda x, y, z: (y & low) << 32 | single(-2.5)),
           ("ld.global.nc.f32 %f4, [%rd92]; mov.b32 %r4, %f4;", 32, lambda x, y, z: z),
           ("ld.global.v2.f32 {%f10, %f4}, [%rd90]; mov.b32 %r4, %f4;", 32, lambda x, y, z: x >> 32),
           ("mov.b64 {%f10, %f11}, %rd1; st.global.v2.f32 [%rd90], {%f11, %f10}; ld.global.u64 %rd4, [%rd90];", 64,
            lambda x, y, z: x >> 32 | (x & low) << 32)], a, b, n, space)


def test_f32_parameters_and_shared_variables_have_four_bytes():
    text = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .f32 x, .param .f32 y)
{
    .reg .f32 %f<4>; .reg .b64 %rd<2>; .reg .b32 %r<2>;
    .shared .f32 first[3]; .shared .f32 second;
    ld.param.u64 %rd1, [out]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y];
    st.shared.f32 [second], %f2;
    ld.shared.f32 %f3, [second];
    mov.u32 %r1, second;
    st.global.v2.f32 [%rd1], {%f1, %f3};
    st.global.u32 [%rd1+8], %r1;
    ret;
}"""
    image = compile_ptx(text)["k"]
    assert [(p.type, p.offset, p.size) for p in image.parameters] == [("u64", 0, 8), ("f32", 8, 4), ("f32", 12, 4)]
    assert image.shared_bytes == 16
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros(3, np.uint32))
    device.wait(device.load([image])["k"](1, 1, [out, 1.5, np.float32(-0.1)]))
    assert out.get().tolist() == [single(1.5), single(-0.1), 12]
