"""Bit fields, bit counts, permutations and carry chains compute what the PTX ISA says: on the golden model."""

import random

import pytest

from caesura.sim.workloads.random_ptx.bits import BIT_TERNARY, BIT_UNARY, extract, highest, insert, permute
from caesura.sim.workloads.random_ptx.operations import signed
from support.selection import quick
from support.software.ptx_bench import THREADS, check

PLACES = [0, 1, 7, 8, 15, 31, 32, 33, 40, 63, 64, 65, 127, 128, 200, 255, 256, 0xFFFF_FF00, 0x1_0008 & 0xFFFF_FFFF]


def operands(seed, bits=64):
    rng = random.Random(seed)
    edges = [0, 1, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1, (1 << 32) - 1, (1 << 64) - (1 << 32), 0x80, 1 << 40]
    return [rng.choice((rng.randrange(1 << bits), rng.randrange(1 << rng.randrange(1, bits + 1)), rng.choice(edges)))
            & (1 << bits) - 1 for _ in range(THREADS)]


@pytest.mark.parametrize("bits", [32, 64])
def test_counts_and_reversal(bits):
    p = {32: "%r1", 64: "%rd1"}[bits]
    mask = (1 << bits) - 1
    cases = [(f"{name} {'%r' if bits == 32 else '%rd'}4, {p};", bits, lambda x, y, z, f=f: f(x & mask))
             for name, f in BIT_UNARY[bits].items()]
    cases += [(f"clz.b{bits} %r4, {p};", 32, lambda x, y, z: bits - (x & mask).bit_length()),
              (f"popc.b{bits} %r4, {p};", 32, lambda x, y, z: (x & mask).bit_count())]
    cases += [(f"bfind{amount and '.shiftamt'}.{letter}{bits} %r4, {p};", 32,
               lambda x, y, z, s=letter == "s", amount=amount: highest(x & mask, bits, s, bool(amount)))
              for letter in "su" for amount in ("", "1")]
    check(cases, operands(bits), operands(1), [0] * THREADS)


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_fields(bits):
    """Positions and lengths in registers, as constants, and one of each."""
    p, mask, rng = {32: "%r", 64: "%rd"}[bits], (1 << bits) - 1, random.Random(9)
    n = [rng.choice(PLACES) for _ in range(THREADS)]
    b = [rng.choice(PLACES) | rng.getrandbits(32) << 32 for _ in range(THREADS)]
    cases = []
    for letter in "su":
        def bfe(x, position, length, s=letter == "s"):
            return extract(x & mask, position, length, bits, s)
        name = f"bfe.{letter}{bits}"
        cases += [(f"{name} {p}4, {p}1, %r3, %r2;", bits, lambda x, y, z, f=bfe: f(x, z, y)),
                  (f"{name} {p}4, {p}1, %r3, {bits // 2 + 1};", bits, lambda x, y, z, f=bfe: f(x, z, bits // 2 + 1)),
                  (f"{name} {p}4, {p}1, 5, %r3;", bits, lambda x, y, z, f=bfe: f(x, 5, z))]
        cases += [(f"{name} {p}4, {p}1, {at}, {length};", bits, lambda x, y, z, f=bfe, k=(at, length): f(x, *k))
                  for at, length in ((0, 8), (3, 0), (bits - 4, 9), (0, bits), (31, 2), (bits, 3), (255, 255))]
    other = f"xor.b{bits} {p}5, {p}1, -1; "
    cases += [(other + f"bfi.b{bits} {p}4, {p}1, {p}5, %r3, %r2;", bits,
               lambda x, y, z: insert(x & mask, ~x & mask, z, y, bits)),
              (other + f"bfi.b{bits} {p}4, {p}1, {p}5, %r3, 9;", bits,
               lambda x, y, z: insert(x & mask, ~x & mask, z, 9, bits)),
              (other + f"bfi.b{bits} {p}4, {p}1, {p}5, 8, %r3;", bits,
               lambda x, y, z: insert(x & mask, ~x & mask, 8, z, bits)),
              (other + f"bfi.b{bits} {p}5, {p}1, {p}5, 4, 8; mov.b{bits} {p}4, {p}5;", bits,
               lambda x, y, z: insert(x & mask, ~x & mask, 4, 8, bits))]
    check(cases, operands(2) + operands(3), b + rng.sample(b, THREADS), n + rng.sample(n, THREADS))


def test_permutations_and_absolute_differences():
    rng = random.Random(5)
    n = [rng.getrandbits(32) for _ in range(THREADS)]
    low = (1 << 32) - 1
    cases = [(f"{name} %r4, %r1, %r2, %r3;", 32, lambda x, y, z, f=f: f(x & low, y & low, z))
             for name, f in BIT_TERNARY.items()]
    cases += [(f"prmt.b32{mode and '.' + mode} %r4, %r1, %r2, {c};", 32,
               lambda x, y, z, c=c, mode=mode: permute(x & low, y & low, c, mode))
              for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16") for c in (0, 1, 2, 3, 0x9183, 0x7654)]
    cases += [("sad.s64 %rd4, %rd1, %rd2, %rd1;", 64, lambda x, y, z: x + abs(signed(x, 64) - signed(y, 64))),
              ("sad.u64 %rd4, %rd1, %rd2, %rd1;", 64, lambda x, y, z: x + abs(x - y)),
              ("sad.u16 %rs4, %rs1, %rs2, %rs1;", 16, lambda x, y, z: x + abs((x & 0xFFFF) - (y & 0xFFFF))),
              ("sad.s16 %rs4, %rs1, %rs2, %rs1;", 16,
               lambda x, y, z: x + abs(signed(x & 0xFFFF, 16) - signed(y & 0xFFFF, 16)))]
    check(cases, operands(6), operands(7), n)


@pytest.mark.parametrize("first", quick(range(4), range(2)))
def test_logic_of_three_operands(first):
    def meaning(table):
        def value(x, y, z):
            return sum((table >> ((x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1) & 1) << k for k in range(32))
        return value
    cases = [(f"lop3.b32 %r4, %r1, %r2, %r3, {table};", 32, meaning(table)) for table in range(first, 256, 4)]
    rng = random.Random(6)
    check(cases, operands(8), operands(9), [rng.getrandbits(32) for _ in range(THREADS)])


def test_carry_chains():
    """128-bit sums, differences and products, and chains under a guard."""
    add = "add.cc.u64 %rd10, %rd1, %rd2; addc.cc.u64 %rd4, %rd2, %rd1; addc.u64 %rd5, 0, 0; "
    narrow = ("add.cc.u32 %r10, %r1, %r2; addc.cc.u32 %r11, %r2, %r3; addc.cc.u32 %r12, %r1, %r3; addc.u32 %r13, 0, 0; "
              "add.u32 %r4, %r11, %r12; add.u32 %r4, %r4, %r13; ")
    subtract = ("sub.cc.u32 %r10, %r1, %r2; subc.cc.u32 %r11, %r2, %r3; subc.cc.u32 %r12, %r1, %r3; "
                "subc.u32 %r13, 0, 0; ")
    low = (1 << 32) - 1

    def wide_sum(x, y, z):
        return (x | y << 64) + (y | x << 64)

    def words(x, y, z):
        return (x & low) + ((y & low) << 32) + ((x & low) << 64), (y & low) + (z << 32) + (z << 64)

    def total(x, y, z):
        number = sum(words(x, y, z))
        return (number >> 32 & low) + (number >> 64 & low) + (number >> 96)

    def difference(x, y, z):
        a, b = words(x, y, z)
        return a - b & (1 << 128) - 1

    product = ("mul.lo.u64 %rd10, %rd1, %rd2; mad.lo.cc.u64 %rd11, %rd1, %rd2, %rd2; "
               "madc.hi.cc.u64 %rd4, %rd1, %rd2, %rd1; madc.hi.u64 %rd12, 0, 0, 0; ")

    def multiply(x, y, z):
        return x * y + y + (x << 64)

    small = ("mad.lo.cc.u32 %r10, %r1, %r2, %r3; madc.hi.u32 %r4, %r1, %r2, %r3; ")
    signed_half = ("mad.lo.cc.s32 %r10, %r1, %r2, %r3; madc.hi.s32 %r4, %r1, %r2, 7; ")
    guard = "setp.ne.u32 %p1, %r3, 0; mov.u32 %r4, 5; add.cc.u32 %r10, %r1, %r2; "
    cases = [
        (add, 64, lambda *v: wide_sum(*v) >> 64), (add + "mov.u64 %rd4, %rd5;", 64, lambda *v: wide_sum(*v) >> 128),
        (add + "mov.u64 %rd4, %rd10;", 64, lambda x, y, z: x + y), (narrow, 32, total),
        *((subtract + f"mov.u32 %r4, %r1{k};", 32, lambda *v, k=k: difference(*v) >> 32 * k) for k in range(4)),
        (product, 64, lambda *v: multiply(*v) >> 64),
        (product + "mov.u64 %rd4, %rd12;", 64, lambda *v: multiply(*v) >> 128),
        (small, 32, lambda x, y, z: (x & low) * (y & low) + z + (z << 32) >> 32),
        (signed_half, 32, lambda x, y, z: (signed(x & low, 32) * signed(y & low, 32) >> 32) + 7
         + (((x & low) * (y & low) & low) + z >> 32)),
        # the guarded addition changes the flag only where it executes
        (guard + "@%p1 add.cc.u32 %r11, %r1, %r3; addc.u32 %r4, 0, 0;", 32,
         lambda x, y, z: ((x & low) + (z or y & low)) >> 32),
        (guard + "@%p1 addc.u32 %r4, %r1, %r1;", 32,
         lambda x, y, z: 2 * x + ((x & low) + (y & low) >> 32) if z else 5),
        # in a loop the flag is handed from one iteration to the next
        ("mov.u32 %r20, 0; mov.u32 %r4, 0; add.cc.u32 %r10, %r1, %r2; LOOP: addc.cc.u32 %r4, %r4, %r1; "
         "add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, 3; @%p1 bra LOOP;", 32, None),
    ]
    rng = random.Random(11)
    n = [rng.choice((0, 1, low, 1 << 31, rng.getrandbits(32))) for _ in range(THREADS)]

    def chain(x, y, z):
        carry, value = (x & low) + (y & low) >> 32, 0
        for _ in range(3):
            value += (x & low) + carry
            value, carry = value & low, value >> 32
        return value
    cases[-1] = (*cases[-1][:2], chain)
    check(cases, operands(12), operands(13), n)
