"""Model of the integer lane, on numpy vectors of lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ....arch.isa.opcodes import AluOp

__all__ = ["compute"]


def _signed(x: np.ndarray) -> np.ndarray:
    return x.view(np.int32)


def _low(x: np.ndarray) -> np.ndarray:
    return (x & np.uint64(0xFFFF_FFFF)).astype(np.uint32)


def _high(x: np.ndarray) -> np.ndarray:
    return (x >> np.uint64(32)).astype(np.uint32)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.uint64)


def _funnel(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return _wide(high) << np.uint64(32) | low


def _shift_count(c: np.ndarray) -> np.ndarray:
    return _wide(c & np.uint32(31))


def _saturated(count: np.ndarray) -> np.ndarray:
    """Return `count`, at most 32."""
    return np.minimum(_wide(count), np.uint64(32))


def _field(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return first bit and length of the bit field that b names, each at most 32."""
    return _saturated(b & np.uint32(255)), _saturated(b >> np.uint32(8) & np.uint32(255))


def _ones(count: np.ndarray) -> np.ndarray:
    return (np.uint64(1) << count) - np.uint64(1)


def _extract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, length = _field(b)
    return _low(_wide(a) >> first & _ones(length))


def _extract_signed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, length = (x.astype(np.int64) for x in _field(b))
    moved = _signed(a).astype(np.int64) >> first
    unused = 64 - np.maximum(length, 1)
    return np.where(length == 0, np.uint32(0), _low((moved << unused >> unused).view(np.uint64)))


def _insert(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    first, length = _field(b)
    mask = _low(_ones(length) << first)
    return _low(_wide(a) << first) & mask | c & ~mask


def _reverse(b: np.ndarray) -> np.ndarray:
    for count, mask in ((1, 0x5555_5555), (2, 0x3333_3333),
                        (4, 0x0F0F_0F0F), (8, 0x00FF_00FF), (16, 0xFFFF)):
        b = b >> np.uint32(count) & np.uint32(mask) | (b & np.uint32(mask)) << np.uint32(count)
    return b


def _permute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    pair, result = _funnel(b, a), np.zeros_like(_wide(a))
    for k in range(4):
        selector = _wide(c >> np.uint32(4 * k))
        byte = pair >> (selector & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = (byte >> np.uint64(7)) * np.uint64(255)
        result |= np.where(selector & np.uint64(8), sign, byte) << np.uint64(8 * k)
    return result.astype(np.uint32)


def _leading_zeros(b: np.ndarray) -> np.ndarray:
    _, bits = np.frexp(b.astype(np.float64))
    return (32 - bits).astype(np.uint32)


_VALUES: dict[AluOp, Callable[..., np.ndarray]] = {
    AluOp.MOV: lambda a, b, c, p: b,
    AluOp.IADD: lambda a, b, c, p: a + b,
    AluOp.ISUB: lambda a, b, c, p: a - b,
    AluOp.IRSUB: lambda a, b, c, p: b - a,
    AluOp.IADDC: lambda a, b, c, p: a + b + p,
    AluOp.ISUBC: lambda a, b, c, p: a + ~b + p,
    AluOp.IMUL_LO: lambda a, b, c, p: a * b,
    AluOp.IMUL_HI_S: lambda a, b, c, p: _high((_signed(a).astype(np.int64)
                                               * _signed(b)).view(np.uint64)),
    AluOp.IMUL_HI_U: lambda a, b, c, p: _high(_wide(a) * b),
    AluOp.IMAD_LO: lambda a, b, c, p: a * b + c,
    AluOp.AND: lambda a, b, c, p: a & b,
    AluOp.OR: lambda a, b, c, p: a | b,
    AluOp.XOR: lambda a, b, c, p: a ^ b,
    AluOp.NOT: lambda a, b, c, p: ~b,
    AluOp.SHL: lambda a, b, c, p: _low(_wide(a) << _wide(np.minimum(b, 32))),
    AluOp.SHR_U: lambda a, b, c, p: _low(_wide(a) >> _wide(np.minimum(b, 32))),
    AluOp.SHR_S: lambda a, b, c, p: (_signed(a)
                                     >> np.minimum(b, 31).astype(np.int32)).view(np.uint32),
    AluOp.SHF_L: lambda a, b, c, p: _high(_funnel(b, a) << _shift_count(c)),
    AluOp.SHF_R: lambda a, b, c, p: _low(_funnel(b, a) >> _shift_count(c)),
    AluOp.IMIN_S: lambda a, b, c, p: np.minimum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMIN_U: lambda a, b, c, p: np.minimum(a, b),
    AluOp.IMAX_S: lambda a, b, c, p: np.maximum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMAX_U: lambda a, b, c, p: np.maximum(a, b),
    AluOp.IABS: lambda a, b, c, p: np.where(_signed(b) < 0, ~b + np.uint32(1), b),
    AluOp.SEXT_8: lambda a, b, c, p: b.astype(np.int8).astype(np.int32).view(np.uint32),
    AluOp.SEXT_16: lambda a, b, c, p: b.astype(np.int16).astype(np.int32).view(np.uint32),
    AluOp.BREV: lambda a, b, c, p: _reverse(b),
    AluOp.SEL: lambda a, b, c, p: np.where(p, a, b),
    AluOp.BFE_U: lambda a, b, c, p: _extract(a, b),
    AluOp.BFE_S: lambda a, b, c, p: _extract_signed(a, b),
    AluOp.BFI: lambda a, b, c, p: _insert(a, b, c),
    AluOp.PRMT: lambda a, b, c, p: _permute(a, b, c),
    AluOp.CLZ: lambda a, b, c, p: _leading_zeros(b),
    AluOp.POPC: lambda a, b, c, p: np.bitwise_count(b).astype(np.uint32),
}
_TESTS: dict[AluOp, Callable[..., np.ndarray]] = {
    AluOp.IADDC: lambda a, b, p, q: _wide(a) + b + p > 0xFFFF_FFFF,
    AluOp.ISUBC: lambda a, b, p, q: _wide(a) + ~b + p > 0xFFFF_FFFF,
    AluOp.SETP_EQ: lambda a, b, p, q: a == b,
    AluOp.SETP_NE: lambda a, b, p, q: a != b,
    AluOp.SETP_LT_S: lambda a, b, p, q: _signed(a) < _signed(b),
    AluOp.SETP_LE_S: lambda a, b, p, q: _signed(a) <= _signed(b),
    AluOp.SETP_GT_S: lambda a, b, p, q: _signed(a) > _signed(b),
    AluOp.SETP_GE_S: lambda a, b, p, q: _signed(a) >= _signed(b),
    AluOp.SETP_LT_U: lambda a, b, p, q: a < b,
    AluOp.SETP_LE_U: lambda a, b, p, q: a <= b,
    AluOp.SETP_GT_U: lambda a, b, p, q: a > b,
    AluOp.SETP_GE_U: lambda a, b, p, q: a >= b,
    AluOp.PAND: lambda a, b, p, q: p & q,
    AluOp.POR: lambda a, b, p, q: p | q,
    AluOp.PXOR: lambda a, b, p, q: p ^ q,
}


def compute(op: AluOp, a: ArrayLike, b: ArrayLike, c: ArrayLike, pa: ArrayLike,
            pb: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return what the hardware computes, for arrays of lanes; see `IntegerLane.compute`."""
    a, b, c = (np.atleast_1d(np.asarray(x, np.uint32)) for x in (a, b, c))
    pa, pb = (np.atleast_1d(np.asarray(x, bool)) for x in (pa, pb))
    if op not in _VALUES and op not in _TESTS:
        raise ValueError(f"{op!r} is not an operation of the integer lane")
    value = _VALUES[op](a, b, c, pa) if op in _VALUES else np.zeros_like(a)
    test = _TESTS[op](a, b, pa, pb) if op in _TESTS else np.zeros(a.shape, bool)
    return value, test
