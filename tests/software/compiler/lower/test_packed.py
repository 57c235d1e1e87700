"""Integer instructions on masks and on parts of words, and the video instructions: on the golden model, against the
pseudo-code of the PTX ISA."""

import random

import pytest

from caesura.sim.workloads.random_ptx import packed, video
from caesura.sim.workloads.random_ptx.exact import F32, extreme, is_nan
from caesura.software.compiler import CompileError, compile_ptx
from support.selection import quick
from support.software.operand_patterns import patterns
from support.software.ptx_bench import THREADS, check, kernel_text

LOW = 0xFFFF_FFFF
SMALL = (0, 1, 2, 5, 15, 16, 17, 30, 31, 32, 33, 63, 64, 255, 0x7FFF_FFFF, 0x8000_0000, LOW, LOW - 1, LOW - 30)


def words(seed):
    """Numbers near the bounds of bytes, half-words and words, positions, and others."""
    rng = random.Random(seed)

    def one():
        kind = rng.random()
        if kind < 0.4:
            return rng.choice(SMALL)
        if kind < 0.6:
            return rng.randrange(-300, 300) & LOW
        return int.from_bytes(bytes(rng.choice((0, 1, 127, 128, 255, rng.randrange(256))) for _ in range(4)), "little")
    return [one() for _ in range(THREADS)]


def operands(seed, as_c=None):
    """Return a, b and n; a has in its upper half what `%r5` gets."""
    a, b, n = words(seed), words(seed + 1), words(seed + 2)
    return a, b, as_c or n


def case(text, meaning, k):
    """One instruction with its operands in registers, or some as constants, or its destination among its sources."""
    rng = random.Random(k)
    for letter, register in zip("DABC", ("%r4", "%r1", "%r2", "%r3"), strict=True):
        text = text.replace(f" {letter}", f" {register}").replace(f"-{letter}", f"-{register}")
    where = rng.randrange(3)
    if where == 1:
        text = f"mov.u32 %r4, %r1; {text.replace('%r1', '%r4')}"
    elif where == 2:
        text = f"mov.u32 %r4, %r2; {text.replace('%r2', '%r4')}"
    return text + ";", 32, lambda a, b, n: meaning(a & LOW, b & LOW, n)


def test_every_form():
    forms = packed.FORMS.items()
    cases = [case(text, meaning, k) for k, (text, meaning) in enumerate(forms)]
    a, b, n = operands(1)
    check(cases, a, b, n)


@pytest.mark.parametrize("opcode", ["bmsk.clamp.b32", "bmsk.wrap.b32", "szext.clamp.s32", "szext.wrap.u32"])
def test_every_place_and_width(opcode):
    meaning = packed.FORMS[f"{opcode} D, A, B"]
    cases = [(f"{opcode} %r4, %r1, {width};", 32, lambda a, b, n, w=width: meaning(a & LOW, w, n))
             for width in (0, 1, 7, 30, 31, 32, 33, 64, LOW)]
    check(cases, [*range(34), 63, 64, LOW, 1 << 31, *words(1)[:THREADS - 38]], words(2), words(3))


def test_the_nth_bit_from_every_base():
    rng = random.Random(4)
    n = [rng.randrange(-35, 36) & LOW for _ in range(THREADS)]
    cases = [(f"fns.b32 %r4, %r1, {base}, %r3;", 32, lambda a, b, n, base=base: packed.nth_set(a & LOW, base, n))
             for base in (0, 7, 16, 31, 32)]
    cases += [(f"fns.b32 %r4, %r1, %r2, {k};", 32, lambda a, b, n, k=k: packed.nth_set(a & LOW, b & LOW, k & LOW))
              for k in (0, 1, -1, 5, -(1 << 31))]
    check(cases, patterns(5, THREADS), [rng.randrange(32) for _ in range(THREADS)], n)


@pytest.mark.parametrize("seed", quick(range(100), (0, 1)))
def test_random_video_instructions(seed):
    rng = random.Random(seed)
    cases = [case(*rng.choice((video.scalar, video.multiply_add, video.vector))(rng), k) for k in range(40)]
    guarded = [(f"mov.u32 %r4, 7; @%p1 {text}", bits, lambda a, b, n, f=f: f(a, b, n) if n & 1 else 7)
               for text, bits, f in cases[:10] if ";" == text[-1] and text.count(";") == 1]
    guarded[0] = ("and.b32 %r20, %r3, 1; setp.ne.u32 %p1, %r20, 0; " + guarded[0][0], *guarded[0][1:])
    check(guarded + cases, *operands(3 * seed))


def signed_extreme(low, quiet, flush):
    """Return the meaning of ``min`` or ``max`` with ``.xorsign.abs``."""
    sign = 1 << 31

    def meaning(a, b, n):
        x, y = ((v & sign if v & ~sign < 0x80_0000 and flush else v) for v in (a & LOW, b & LOW))
        result = extreme(x & ~sign, y & ~sign, low, F32)
        if is_nan(result, F32) or quiet and (is_nan(x, F32) or is_nan(y, F32)):
            return 0x7FFF_FFFF
        return result | (x ^ y) & sign
    return meaning


def test_extremes_of_magnitudes_and_of_three():
    cases = [(f"{name}{ftz}{nan}.xorsign.abs.f32 %f4, %f1, %f2; mov.b32 %r4, %f4;", 32,
              signed_extreme(name == "min", bool(nan), bool(ftz)))
             for name in ("min", "max") for nan in ("", ".NaN") for ftz in ("", ".ftz")]

    def three(low, magnitude):
        mask = LOW >> magnitude
        return lambda a, b, n: extreme(extreme(a & mask, b & mask, low, F32), n & mask, low, F32)
    cases += [(f"{name}{'.abs' * magnitude}.f32 %f4, %f1, %f2, %f3; mov.b32 %r4, %f4;", 32,
               three(name == "min", magnitude)) for name in ("min", "max") for magnitude in (0, 1)]
    rng = random.Random(8)
    third = [rng.choice((x & LOW, x >> 32)) for x in patterns(9, THREADS)]
    check(cases, patterns(6, THREADS), patterns(7, THREADS), third)


@pytest.mark.parametrize("text, message", [
    ("bmsk.b32 %r4, %r1, %r2;", "bmsk.clamp.b32"), ("szext.clamp.u64 %r4, %r1, %r2;", "szext.clamp"),
    ("fns.u32 %r4, %r1, %r2, %r3;", "fns.b32"), ("dp4a.s32 %r4, %r1, %r2, %r3;", "dp4a"),
    ("dp2a.s32.s32 %r4, %r1, %r2, %r3;", "dp2a.lo"), ("cvt.pack.sat.u8.s32 %r4, %r1, %r2;", ".u8"),
    ("vadd.u32.u32 %r4, %r1, %r2;", "three types"), ("vadd.u32.u32.u32.sat.sat %r4, %r1, %r2;", "three types"),
    ("vadd.u32.u32.u32 %r4.b4, %r1, %r2, %r3;", "no part of a register"),
    ("vadd.u32.u32.u32 %r4, %r1.b7, %r2;", "no part of a register"),
    ("vadd.u32.u32.u32 %r4.b0, %r1, %r2;", "3 operands where 4 belong"),
    ("vadd.u32.u32.u32.add %r4.b0, %r1, %r2, %r3;", "not a known video"),
    ("vadd.u32.u32.u32 %r4, -%r1, %r2;", "only vmad takes a negated register"),
    ("vmad.s32.s32.s32 %r4, -%r1, %r2, -%r3;", "a negative of the product or of c"),
    ("vmad.s32.s32.s32.po %r4, %r1, %r2, -%r3;", "a negative of the product or of c"),
    ("vadd2.u32.u32.u32 %r4.h01, %r1, %r2, %r3;", "not a known video"),
    ("vadd2.u32.u32.u32 %r4, %r1.b0, %r2, %r3;", "not a known video"),
    ("vadd4.u32.u32.u32 %r4, %r1.b8765, %r2, %r3;", "%r1.b8765"),
    ("vset4.u32.u32 %r4, %r1, %r2, %r3;", "a comparison"), ("add.u32 %r4, %r1.b0, %r2;", "must be a register"),
    ("add.u32 %r4, -%r1, %r2;", "must be a register"), ("add.relu.s16x2 %r4, %r1, %r2;", "add.s16x2"),
    ("max.xorsign.f32 %f4, %f1, %f2;", ".xorsign.abs"), ("min.abs.f32 %f4, %f1, %f2;", ".abs with three"),
])
def test_what_is_refused(text, message):
    with pytest.raises(CompileError, match=message.replace(".", r"\.").replace("%", "%")) as caught:
        compile_ptx(kernel_text(text))
    assert caught.value.line
