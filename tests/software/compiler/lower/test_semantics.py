"""Compiled PTX instructions compute what the PTX ISA says: on the golden model, against plain Python integers."""

import itertools
import random

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.sim.workloads.random_ptx.operations import BINARY, COMPARISONS, SHIFTS, TERNARY, UNARY, compare, signed
from caesura.software.compiler import compile_ptx
from support.software.ptx_bench import GEOMETRY, HEAD, PREFIX, THREADS, check

EDGES = {bits: [0, 1, 2, (1 << bits) - 1, (1 << bits) - 2, 1 << bits - 1, (1 << bits - 1) - 1, (1 << bits // 2) - 1,
                1 << bits // 2, (1 << bits) - (1 << bits // 2)] for bits in (16, 32, 64)}
AMOUNTS = [0, 1, 5, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 0x8000_0000, 0xFFFF_FFFF]


def values(bits, seed):
    rng = random.Random(seed)
    pairs = list(itertools.product(EDGES[bits], repeat=2))
    rng.shuffle(pairs)
    chosen = [rng.choice((rng.randrange(1 << bits), rng.choice(EDGES[bits]))) for _ in range(THREADS)]
    return [pairs[k % len(pairs)][seed % 2] if k < THREADS // 2 else chosen[k] for k in range(THREADS)]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_arithmetic_logic_and_shifts(bits):
    p = PREFIX[bits]
    a, b = values(bits, 1), values(bits, 2)
    n = [AMOUNTS[k % len(AMOUNTS)] for k in range(THREADS)]
    cases = [(f"{name} {p}4, {p}1;", bits, lambda x, y, z, f=f: f(x)) for name, f in UNARY[bits].items()]
    cases += [(f"{name} {p}4, {p}1, {p}2;", bits, lambda x, y, z, f=f: f(x, y)) for name, f in BINARY[bits].items()]
    cases += [(f"{name} {p}4, {p}1, %r3;", bits, lambda x, y, z, f=f: f(x, z)) for name, f in SHIFTS[bits].items()]
    check(cases, a, b, n)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_constant_operands(bits):
    p = PREFIX[bits]
    a, b = values(bits, 3), values(bits, 4)
    cases = []
    for c in (0, 1, 2, 7, (1 << bits - 1) - 1, -1, -4):
        c_bits = c & (1 << bits) - 1
        cases += [(f"{name} {p}4, {p}1, {c};", bits, lambda x, y, z, f=f, c=c_bits: f(x, c))
                  for name, f in BINARY[bits].items() if not name.startswith("mul24")]
    for c in (0, 1, bits // 2, bits - 1, bits, bits + 1, 63, 64):
        cases += [(f"{name} {p}4, {p}1, {c};", bits, lambda x, y, z, f=f, c=c: f(x, c))
                  for name, f in SHIFTS[bits].items()]
    check(cases, a, b, [0] * THREADS)


def test_three_operand_instructions():
    a, b = values(32, 5), values(32, 6)
    n = [AMOUNTS[k % len(AMOUNTS)] for k in range(THREADS)]
    cases = [(f"{name} %r4, %r1, %r2, %r3;", 32, lambda x, y, z, f=f: f(x, y, z)) for name, f in TERNARY.items()]
    cases += [("mad.wide.s32 %rd4, %r1, %r2, %rd1;", 64, lambda x, y, z: signed(x, 32) * signed(y, 32) + x),
              ("mad.wide.u32 %rd4, %r1, %r2, %rd1;", 64, lambda x, y, z: x * y + x),
              ("mad.lo.s64 %rd4, %rd1, %rd2, %rd1;", 64, lambda x, y, z: x * y + x),
              ("mad.hi.u64 %rd4, %rd1, %rd2, %rd2;", 64, lambda x, y, z: (x * y >> 64) + y),
              ("mad.lo.s16 %rs4, %rs1, %rs2, %rs1;", 16, lambda x, y, z: x * y + x),
              ("mul.wide.s32 %rd4, %r1, %r2;", 64, lambda x, y, z: signed(x, 32) * signed(y, 32)),
              ("mul.wide.u32 %rd4, %r1, %r2;", 64, lambda x, y, z: x * y),
              ("mul.wide.s16 %r4, %rs1, %rs2;", 32,
               lambda x, y, z: signed(x & 0xFFFF, 16) * signed(y & 0xFFFF, 16)),
              ("mul.wide.u16 %r4, %rs1, %rs2;", 32, lambda x, y, z: (x & 0xFFFF) * (y & 0xFFFF))]
    check(cases, a, b, n)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_comparisons_and_selection(bits):
    p = PREFIX[bits]
    a, b = values(bits, 7), values(bits, 8)
    b = [x if k % 5 == 0 else y for k, (x, y) in enumerate(zip(a, b, strict=True))]
    cases = []
    for test in COMPARISONS:
        for letter in "su":
            def meaning(x, y, z, test=test, letter=letter):
                return compare(test, signed(x, bits), signed(y, bits)) if letter == "s" else compare(test, x, y)
            name = f"setp.{test}.{letter}{bits}"
            cases.append((f"{name} %p1, {p}1, {p}2; selp.b32 %r4, 7, 9, %p1;", 32,
                          lambda x, y, z, f=meaning: 7 if f(x, y, z) else 9))
            cases.append((f"{name} %p1|%p2, {p}1, {p}2; selp.b{bits} {p}4, {p}2, {p}1, %p2;", bits,
                          lambda x, y, z, f=meaning: x if f(x, y, z) else y))
            cases.append((f"{name} %p1, {p}1, 5; selp.b32 %r4, %r1, %r2, %p1;", 32,
                          lambda x, y, z, f=meaning: x if f(x, 5, z) else y))
    check(cases, a, b, [0] * THREADS)


def test_predicate_combinations():
    a, b = values(32, 9), values(32, 10)
    n = [k % 3 for k in range(THREADS)]
    first = "setp.lt.s32 %p1, %r1, 0; setp.eq.s32 %p2, %r3, 1;"

    def p1(x, z):
        return x >> 31

    def p2(x, z):
        return int(z == 1)

    cases = [(f"{first} setp.lt.{op}.u32 %p3|%p4, %r2, %r1, %p1; selp.b32 %r4, 1, 0, %p3; selp.b32 %r5, 2, 0, %p4; "
              "or.b32 %r4, %r4, %r5;", 32,
              lambda x, y, z, f=f: f(int(y < x), p1(x, z)) | f(int(y >= x), p1(x, z)) << 1)
             for op, f in (("and", lambda s, t: s & t), ("or", lambda s, t: s | t), ("xor", lambda s, t: s ^ t))]
    cases += [(f"{first} {op}.pred %p3, %p1, %p2; not.pred %p4, %p3; selp.b32 %r4, 5, 6, %p4;", 32,
               lambda x, y, z, f=f: 6 if f(p1(x, z), p2(x, z)) else 5)
              for op, f in (("and", lambda s, t: s & t), ("or", lambda s, t: s | t), ("xor", lambda s, t: s ^ t))]
    cases += [(f"{first} mov.u32 %r4, %r2; @%p1 add.s32 %r4, %r4, %r1; @!%p2 mul.lo.s32 %r4, %r4, 3;", 32,
               lambda x, y, z: (y + x * p1(x, z)) * (1 if z == 1 else 3)),
              (f"{first} mov.u64 %rd4, %rd2; @%p1 mad.lo.s64 %rd4, %rd4, %rd2, %rd1; @!%p2 sub.s64 %rd4, %rd4, %rd1;",
               64, lambda x, y, z: (y * y + x if p1(x, z) else y) - (0 if z == 1 else x)),
              (f"{first} @%p1 setp.ne.s32 %p1|%p2, %r3, 0; selp.b32 %r4, 1, 0, %p1; @%p2 add.s32 %r4, %r4, 2;", 32,
               lambda x, y, z: int(z != 0) + 2 * int(z == 0) if p1(x, z) else 2 * p2(x, z)),
              ("set.lt.u32.s32 %r4, %r1, %r2;", 32, lambda x, y, z: -int(signed(x, 32) < signed(y, 32)))]
    check(cases, a, b, n)


def test_conversions():
    a, b = values(64, 11), values(64, 12)
    cases = []
    for source, to in itertools.product((8, 16, 32, 64), repeat=2):
        for s, t in itertools.product("su", repeat=2):
            register = PREFIX[max(source, 16)] + "1"

            def meaning(x, y, z, source=source, to=to, s=s, t=t):
                value = x & (1 << source) - 1
                value = signed(value, source) if s == "s" else value
                value &= (1 << to) - 1
                return signed(value, to) if t == "s" else value
            # Into a register of the type's width, and into one wider, which the destination type extends.
            width = max(to, 16)
            cases.append((f"cvt.{t}{to}.{s}{source} {PREFIX[width]}4, {register};", width, meaning))
            if to < 64:
                cases.append((f"cvt.{t}{to}.{s}{source} %rd4, {register};", 64, meaning))
    check(cases, a, b, [0] * THREADS)


def test_packing():
    a, b = values(64, 13), values(64, 14)
    check([("mov.b64 %rd4, {%r1, %r2};", 64, lambda x, y, z: x & 0xFFFF_FFFF | y << 32),
           ("mov.b64 {%r4, %r5}, %rd1; xor.b32 %r4, %r4, %r5;", 32, lambda x, y, z: x ^ x >> 32),
           ("mov.b64 {%r5, %r4}, %rd1;", 32, lambda x, y, z: x >> 32),
           ("mov.b64 {_, %r4}, %rd1;", 32, lambda x, y, z: x >> 32),
           ("mov.b32 %r4, {%rs1, %rs2};", 32, lambda x, y, z: x & 0xFFFF | (y & 0xFFFF) << 16),
           ("mov.b32 {%rs5, %rs4}, %r1;", 16, lambda x, y, z: x >> 16),
           ("mov.b32 %r6, %r1; mov.b32 {%rs4, %rs5}, %r6; add.s16 %rs4, %rs4, %rs5;", 16,
            lambda x, y, z: x + (x >> 16)),
           ("mov.b64 %rd5, %rd1; mov.b64 {%r4, %r5}, %rd5; mov.b64 %rd4, {%r5, %r4};", 64,
            lambda x, y, z: x >> 32 | x << 32)], a, b, [0] * THREADS)


def test_memory_widths_and_vectors():
    a, b = values(64, 15), values(64, 16)
    space = f".shared .align 16 .b8 buffer[{16 * THREADS}];"
    home = "mul.lo.s32 %r60, %r90, 16; mov.u32 %r61, buffer; add.s32 %r60, %r60, %r61; "
    put = home + "st.shared.v2.u64 [%r60], {%rd1, %rd2}; "
    cases = [(put + f"ld.shared.{t}{n} {PREFIX[max(n, 16)]}4, [%r60+{at}];", max(n, 16),
              lambda x, y, z, t=t, n=n, at=at: signed((x | y << 64) >> 8 * at & (1 << n) - 1, n) if t == "s"
              else (x | y << 64) >> 8 * at & (1 << n) - 1)
             for t in "sub" for n, at in ((8, 3), (16, 6), (32, 12), (64, 8))]
    cases += [(put + f"ld.shared.{t}{n} %rd4, [%r60+{at}];", 64,
               lambda x, y, z, t=t, n=n, at=at: signed((x | y << 64) >> 8 * at & (1 << n) - 1, n) if t == "s"
               else (x | y << 64) >> 8 * at & (1 << n) - 1) for t in "su" for n, at in ((8, 9), (16, 2), (32, 4))]
    cases += [(put + "ld.volatile.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r60]; "
               "st.shared.v4.u32 [%r60], {%r13, %r12, %r11, %r10}; ld.shared.v2.b32 {%r4, %r20}, [%r60+8]; "
               "xor.b32 %r4, %r4, %r20;", 32, lambda x, y, z: x ^ x >> 32),
              (put + "ld.shared.v4.u8 {%rs10, %rs11, %rs12, %rs13}, [%r60+4]; st.shared.v2.u8 [%r60], {%rs12, %rs10};"
               "ld.shared.u16 %rs4, [%r60];", 16, lambda x, y, z: x >> 48 & 0xFF | (x >> 32 & 0xFF) << 8),
              (put + "st.shared.u16 [%r60+2], %r2; st.shared.u8 [%r60+5], %rd2; ld.shared.u64 %rd4, [%r60];", 64,
               lambda x, y, z: x & ~(0xFFFF << 16) & ~(0xFF << 40) | (y & 0xFFFF) << 16 | (y & 0xFF) << 40),
              (put + "st.shared.u32 [%r60], 305419896; st.shared.u64 [%r60+8], -2; ld.shared.u32 %r10, [%r60]; "
               "ld.shared.u64 %rd10, [%r60+8]; cvt.u64.u32 %rd11, %r10; add.s64 %rd4, %rd10, %rd11;", 64,
               lambda x, y, z: 305419896 - 2),
              (put + "mov.u64 %rd10, buffer; cvt.u64.u32 %rd11, %r60; add.s64 %rd10, %rd10, %rd11; "
               "ld.shared.u32 %r4, [%rd10+4];", 32, lambda x, y, z: x >> 32)]
    check(cases, a, b, [0] * THREADS, space)


def test_more_predicates_than_registers():
    """Twelve predicates live at once: some are kept in vector registers."""
    a, b = values(32, 17), values(32, 18)
    text = "".join(f"and.b32 %r10, %r1, {1 << k}; setp.ne.s32 %p{k + 1}, %r10, 0; " for k in range(12))
    text += "".join(f"@!%p{k + 1} setp.eq.s32 %p{k + 1}, %r2, {k}; " for k in range(0, 12, 3))
    text += "mov.u32 %r4, 0; " + "".join(f"@%p{k + 1} add.s32 %r4, %r4, {3 ** k}; " for k in range(12))

    def meaning(x, y, z):
        return sum(3 ** k for k in range(12) if x >> k & 1 or (k % 3 == 0 and y == k))
    check([(text, 32, meaning)], a, [y if k % 2 else k % 12 for k, y in enumerate(b)], [0] * THREADS)


def test_special_registers_in_two_dimensions():
    text = HEAD + """
.visible .entry k(.param .u64 OUT)
{
    .reg .b32 %r<30>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [OUT]; cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;
    mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z;
    mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; mov.u32 %r12, %tid.z;
    mad.lo.s32 %r20, %r3, %r5, %r2; mad.lo.s32 %r20, %r20, %r4, %r1;
    mad.lo.s32 %r20, %r20, %r9, %r12; mad.lo.s32 %r20, %r20, %r8, %r11; mad.lo.s32 %r20, %r20, %r7, %r10;
    mul.wide.u32 %rd2, %r20, 4; add.s64 %rd1, %rd1, %rd2;
    mad.lo.s32 %r21, %r10, 1000, %r11; mad.lo.s32 %r21, %r12, 100000, %r21; mad.lo.s32 %r21, %r6, 1000000, %r21;
    st.global.u32 [%rd1], %r21;
    ret;
}"""
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 20)
    out = device.array(np.zeros((3, 1, 2, 2, 5, 7), np.uint32))
    launch = device.launch(device.load([compile_ptx(text)["k"]])["k"], (2, 1, 3), (7, 5, 2), [out])
    device.wait(launch)
    z, y, x = np.meshgrid(range(2), range(5), range(7), indexing="ij")
    assert (out.get() == (x * 1000 + y + z * 100000 + 3000000).astype(np.uint32)).all()
