"""The exact f32 arithmetic of the random kernels' interpreter, against numpy and against cases worked out by hand."""

import random

import numpy as np
import pytest

from caesura.sim.workloads.random_ptx.floats import (
    BINARY_F32,
    FROM_INTEGER,
    NAN,
    TERNARY_F32,
    TESTS_F32,
    TO_INTEGER,
    UNARY_F32,
    compare_f32,
    rounded,
)

ONE, MINUS_ONE, SIGN, INFINITY, LARGEST = 0x3F80_0000, 0xBF80_0000, 0x8000_0000, 0x7F80_0000, 0x7F7F_FFFF
EDGES = [0, 1, 0x7F_FFFF, 0x80_0000, 0x3F00_0000, ONE, ONE + 1, ONE - 1, 0x4B00_0000, LARGEST, INFINITY, 0x7FC0_0001]


def numbers(seed, count=4000):
    rng = random.Random(seed)

    def one():
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(EDGES) | rng.getrandbits(1) << 31
        return rng.getrandbits(32) if kind < 0.6 else rng.getrandbits(32) & 0x81FF_FFFF | 0x3E00_0000
    return np.array([one() for _ in range(count)], np.uint32)


@pytest.mark.parametrize("name, operation", [("add.f32", np.add), ("sub.f32", np.subtract), ("mul.f32", np.multiply)])
def test_numpy_agrees_on_rounding_to_nearest(name, operation):
    a, b = numbers(1), numbers(2)
    with np.errstate(all="ignore"):
        result = operation(a.view(np.float32), b.view(np.float32))
    expected = np.where(np.isnan(result), np.uint32(NAN), result.view(np.uint32))
    assert [BINARY_F32[name](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)] == expected.tolist()


@pytest.mark.parametrize("mode, operation", [("rn", np.rint), ("rz", np.trunc), ("rm", np.floor), ("rp", np.ceil)])
def test_numpy_agrees_on_rounding_to_integers(mode, operation):
    a = numbers(3)
    with np.errstate(all="ignore"):
        whole = operation(a.view(np.float32))
        expected = np.where(np.isnan(whole), np.uint32(NAN), whole.view(np.uint32))
        assert [UNARY_F32[f"cvt.{mode}i.f32.f32"](x) for x in a.tolist()] == expected.tolist()
        for type in ("s8", "u8", "s16", "u16", "s32", "u32"):
            limits = np.iinfo(f"{'i' if type[0] == 's' else 'u'}{int(type[1:]) // 8}")
            clamped = np.clip(np.nan_to_num(whole.astype(np.float64), nan=0, posinf=1e99, neginf=-1e99),
                              limits.min, limits.max).astype(np.int64).astype(np.uint32)
            assert [TO_INTEGER[f"cvt.{mode}i.{type}.f32"](x) for x in a.tolist()] == clamped.tolist()


def test_numpy_agrees_on_integers_to_f32():
    a = numbers(4)
    for type in ("i1", "u1", "i2", "u2", "i4", "u4"):
        narrow = a.astype(type)
        name = f"cvt.rn.f32.{'s' if type[0] == 'i' else 'u'}{8 * int(type[1])}"
        expected = narrow.astype(np.float32).view(np.uint32)
        assert [FROM_INTEGER[name](x) for x in a.tolist()] == expected.tolist()


def test_numpy_agrees_on_comparisons():
    a, b = numbers(5), numbers(6)
    b[::5] = a[::5]
    x, y = a.view(np.float32), b.view(np.float32)
    unordered = np.isnan(x) | np.isnan(y)
    tests = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    for test in TESTS_F32:
        expected = {"num": ~unordered, "nan": unordered}.get(test)
        if expected is None:
            expected = np.where(unordered, len(test) == 3, tests[test[:2]])
        assert [compare_f32(test, p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)] == expected.tolist()


@pytest.mark.parametrize("n, expected", [  # numerators over 2**149, in the modes rn rz rm rp
    ((1 << 173) + (1 << 149), (0x4B80_0000, 0x4B80_0000, 0x4B80_0000, 0x4B80_0001)),  # 2**24 + 1, a tie
    ((1 << 173) + (3 << 149), (0x4B80_0002, 0x4B80_0001, 0x4B80_0001, 0x4B80_0002)),
    (-(1 << 173) - (1 << 149), (0xCB80_0000, 0xCB80_0000, 0xCB80_0001, 0xCB80_0000)),
    ((1 << 277) - 1, (INFINITY, LARGEST, LARGEST, INFINITY)),                         # just below 2**128
    (-(1 << 400), (0xFF80_0000, 0xFF7F_FFFF, 0xFF80_0000, 0xFF7F_FFFF)),
    ((1 << 24) - 1, (0x00FF_FFFF,) * 4), (1, (1,) * 4), (-(1 << 23), (0x8080_0000,) * 4),
])
def test_rounding_in_every_direction(n, expected):
    assert tuple(rounded(n, 149, mode) for mode in ("rn", "rz", "rm", "rp")) == expected


def test_values_below_the_smallest_are_rounded_as_others():
    half, above = (rounded(n, 298, "rn") for n in (1 << 148, (1 << 148) + 1))
    assert (half, above, rounded(3 << 148, 298, "rn")) == (0, 1, 2)
    assert [rounded(-1, 298, mode) for mode in ("rn", "rz", "rm", "rp")] == [SIGN, SIGN, SIGN | 1, SIGN]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_signs_of_zero(mode):
    add, fma = BINARY_F32[f"add.{mode}.f32"], TERNARY_F32[f"fma.{mode}.f32"]
    cancelled = SIGN if mode == "rm" else 0
    assert (add(0, 0), add(SIGN, SIGN), add(0, SIGN), add(ONE, MINUS_ONE)) == (0, SIGN, cancelled, cancelled)
    assert (fma(MINUS_ONE, 0, SIGN), fma(ONE, 0, SIGN), fma(ONE, ONE, MINUS_ONE)) == (SIGN, cancelled, cancelled)
    assert BINARY_F32[f"mul.{mode}.f32"](MINUS_ONE, 0) == SIGN


def test_what_is_not_a_number():
    fma, least = TERNARY_F32["fma.rn.f32"], BINARY_F32["min.f32"]
    assert fma(INFINITY, 0, ONE) == fma(INFINITY, ONE, SIGN | INFINITY) == fma(ONE, ONE, 0x7F80_0001) == NAN
    assert fma(INFINITY, MINUS_ONE, ONE) == SIGN | INFINITY
    assert (least(0x7FC0_0000, ONE), least(ONE, 0xFF80_0001), least(0x7F80_0001, 0x7FC0_0000)) == (ONE, ONE, NAN)
    assert BINARY_F32["min.NaN.f32"](ONE, 0x7FC0_0001) == NAN
    assert (least(0, SIGN), BINARY_F32["max.f32"](SIGN, 0)) == (SIGN, 0)
    saturated = UNARY_F32["cvt.sat.f32.f32"]
    assert [saturated(x) for x in (0x7FC0_0001, SIGN, MINUS_ONE, INFINITY, 0x3F00_0000)] == [0, 0, 0, ONE, 0x3F00_0000]
