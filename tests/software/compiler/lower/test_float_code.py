"""f32 code as nvcc makes it of CUDA, on the golden model, against numpy."""

from pathlib import Path

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.sim.workloads.random_ptx.floats import BINARY_F32, FROM_INTEGER, TERNARY_F32
from caesura.software.compiler import compile_ptx

DATA = Path(__file__).parents[1] / "data"
N = 128
F32, U32 = np.float32, np.uint32
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@pytest.fixture(scope="module")
def images():
    return compile_ptx((DATA / "floats.ptx").read_text(), "floats.ptx")


def values(seed):
    """Return finite numbers: halves, near integers, near the ends of the integer types, tiny, huge."""
    rng = np.random.default_rng(seed)
    edges = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.5, 127.5, -129, 65535.5, 65536, 2147483647,
             -2147483648, 2147483904, 4294967295, 1e-45, -1e-45, 3e38]
    middle = rng.normal(0, 300, 60)
    halves = rng.integers(-50, 50, 24) / 2
    return np.concatenate([edges, middle, halves, rng.normal(0, 1e9, 24)]).astype(F32)


def run(image, arguments, threads=N):
    """Return the second array after a launch."""
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    arrays = [device.array(x) if isinstance(x, np.ndarray) else x for x in arguments]
    device.wait(device.load([image])[image.name](threads // 64, 64, arrays))
    return [array.get() for array, given in zip(arrays, arguments, strict=True) if isinstance(given, np.ndarray)][-1]


def same(got, expected):
    assert got.dtype == expected.dtype
    view = f"u{got.dtype.itemsize}"
    assert np.flatnonzero(got.view(view) != expected.view(view)).tolist() == []


def each(function, *operands):
    """Apply a function of f32 patterns to arrays."""
    patterns = (np.ascontiguousarray(np.broadcast_to(x, operands[0].shape)).view(U32).tolist() for x in operands)
    return np.array([function(*x) for x in zip(*patterns, strict=True)], U32).view(F32)


def integers(x, kind):
    limits = np.iinfo(kind)
    return np.clip(x.astype(np.float64), limits.min, limits.max).astype(np.int64).astype(kind)


def test_rounding(images):
    x = values(1)
    away = np.trunc(each(BINARY_F32["add.rz.f32"], x, np.copysign(F32(0.5), x)))
    away = np.where(np.abs(x) > 8388608, x, np.where(np.abs(x) < 0.5, np.copysign(F32(0), x), away))
    rows = [np.rint(x), np.floor(x), np.ceil(x), np.trunc(x), away, -np.abs(x), np.clip(x, F32(0), F32(1)) + F32(0),
            np.abs(x) - F32(1)]
    got = run(images["rounding"], [x, np.zeros((8, N), F32), N])
    for row, expected in zip(got, rows, strict=True):
        same(row, expected)


def test_conversions(images):
    x = values(2)
    whole = [np.trunc(x), np.rint(x), np.floor(x), np.ceil(x)]
    rows = [*(integers(w, np.int32) for w in whole), integers(np.trunc(x), np.uint32).view(np.int32),
            integers(np.trunc(x), np.int32).astype(np.int8).astype(np.int32),
            integers(np.rint(np.abs(x)), np.uint32).astype(np.uint16).astype(np.int32), x.view(np.int32) ^ 1]
    got = run(images["conversions"], [x, np.zeros((8, N), np.int32), N])
    for row, expected in zip(got, rows, strict=True):
        same(row, expected)


def test_integers(images):
    rng = np.random.default_rng(3)
    x = rng.integers(-2**31, 2**31, N).astype(np.int32)
    x[:8] = [0, 1, -1, 2**24 + 1, -2**24 - 1, 2**31 - 1, -2**31, 2**25 + 3]
    rows = [x.astype(F32), x.view(U32).astype(F32), x.astype(np.int16).astype(F32),
            (x >> 4).astype(np.uint8).astype(F32), each(FROM_INTEGER["cvt.rz.f32.s32"], x),
            each(FROM_INTEGER["cvt.rp.f32.u32"], x), (x.view(U32) & U32(0x807F_FFFF) | U32(0x3F80_0000)).view(F32),
            np.where(x > 0, F32(0.5), F32(-1.25))]
    got = run(images["integers"], [x, np.zeros((8, N), F32), N])
    for row, expected in zip(got, rows, strict=True):
        same(row, expected)


def test_arithmetic(images):
    rng = np.random.default_rng(4)
    v = rng.normal(0, 10, (N, 4)).astype(F32)
    s = F32(0.1)
    x, y, z, w = v.T
    rows = [each(BINARY_F32["add.rz.f32"], x, y) - each(BINARY_F32["mul.rp.f32"], z, s),
            each(TERNARY_F32["fma.rm.f32"], x, y, z) + (w - x), np.maximum(np.minimum(x, y), z) * s,
            each(TERNARY_F32["fma.rn.f32"], x, y, z * w)]
    got = run(images["arithmetic"], [v, np.zeros((N, 4), F32), float(s)])
    for column, expected in zip(got.T, rows, strict=True):
        same(np.ascontiguousarray(column), expected)


def test_branches(images):
    rng = np.random.default_rng(5)
    x, y = (rng.normal(0, 60, N).astype(F32) for _ in range(2))
    x[:6] = [np.nan, np.inf, -np.inf, 2, 1e8, -1e9]
    y[2:9] = [np.nan, 2, np.inf, -np.inf, -1e30, 2, 0]
    expected = []
    for a, b in zip(x, y, strict=True):
        r = 0
        while a < 100 and r < 40:
            if not a > b:
                a = TERNARY_F32["fma.rn.f32"](int(a.view(U32)), 0x3FC0_0000, 0x3F80_0000)
                a = np.array(a, U32).view(F32)[()]
            elif a != a + F32(1):
                a = a + F32(3)
            else:
                break
            r += 1
        if a >= b and b != 2:
            r |= 256
        if not a <= b or np.isnan(b):
            r |= 512
        expected.append(r)
    got = run(images["branches"], [x, y, np.zeros(N, np.int32), N])
    assert got.tolist() == expected
    assert len(set(expected)) > 8
