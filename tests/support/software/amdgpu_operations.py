"""Operations of single instructions of gfx906, for the model of a wave (`amdgpu_wave`).

They do not use the table of opcodes. They come from the manual. An instruction that is not in `VECTOR` or `SCALAR`
mixes all printed operands, which is as good where only the flow of data matters. Vectors are arrays of 64 words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["VECTOR", "SCALAR", "COMPARE", "mixed", "old_is_read"]

U32, U64 = np.uint32, np.uint64
_LOW = U64(0xFFFFFFFF)


def _signed(x):
    return np.asarray(x, U32).view(np.int32)


def _wide(x):
    return np.asarray(x, U64)


def _shift(x, n, width: int = 32):
    return np.asarray(n) & (width - 1)


def _bits(x):
    return sum(((np.asarray(x, U32) >> U32(k)) & U32(1) for k in range(32)), np.zeros_like(x, U32))


def _reversed(x):
    return sum((((np.asarray(x, U32) >> U32(k)) & U32(1)) << U32(31 - k) for k in range(32)), np.zeros_like(x, U32))


def _u24(x):
    return x & U32(0xFFFFFF)


def _i24(x):
    return (_signed(x << U32(8)) >> 8).view(U32)


def _i16(x):
    return (_signed(x << U32(16)) >> 16).view(U32)


def _bytes_apart(a, b, mask=0xFF, step=8):
    return sum((np.abs((a >> U32(k) & U32(mask)).astype(np.int64) - (b >> U32(k) & U32(mask)).astype(np.int64))
                for k in range(0, 32, step)), np.zeros_like(a, np.int64)).astype(U32)


def _align(a, b, n):
    return ((_wide(a) << U64(32) | _wide(b)) >> _wide(n & U32(31)) & _LOW).astype(U32)


VECTOR: dict[str, Callable] = {
    "v_mov_b32": lambda a: a, "v_not_b32": lambda a: ~a, "v_bfrev_b32": _reversed,
    "v_add_u32": lambda a, b: a + b, "v_sub_u32": lambda a, b: a - b, "v_subrev_u32": lambda a, b: b - a,
    "v_xor_b32": lambda a, b: a ^ b, "v_and_b32": lambda a, b: a & b, "v_or_b32": lambda a, b: a | b,
    "v_xnor_b32": lambda a, b: ~(a ^ b), "v_lshlrev_b32": lambda a, b: b << (a & U32(31)),
    "v_lshrrev_b32": lambda a, b: b >> (a & U32(31)),
    "v_ashrrev_i32": lambda a, b: (_signed(b) >> _signed(a & U32(31))).view(U32),
    "v_mul_lo_u32": lambda a, b: a * b, "v_mul_u32_u24": lambda a, b: _u24(a) * _u24(b),
    "v_mul_i32_i24": lambda a, b: _i24(a) * _i24(b),
    "v_mul_hi_u32": lambda a, b: (_wide(a) * _wide(b) >> U64(32)).astype(U32),
    "v_min_i32": lambda a, b: np.minimum(_signed(a), _signed(b)).view(U32),
    "v_max_i32": lambda a, b: np.maximum(_signed(a), _signed(b)).view(U32),
    "v_min_u32": np.minimum, "v_max_u32": np.maximum, "v_add3_u32": lambda a, b, c: a + b + c,
    "v_lshl_add_u32": lambda a, b, c: (a << (b & U32(31))) + c,
    "v_add_lshl_u32": lambda a, b, c: a + b << (c & U32(31)),
    "v_lshl_or_b32": lambda a, b, c: a << (b & U32(31)) | c, "v_and_or_b32": lambda a, b, c: a & b | c,
    "v_or3_b32": lambda a, b, c: a | b | c, "v_xad_u32": lambda a, b, c: (a ^ b) + c, "v_alignbit_b32": _align,
    "v_bcnt_u32_b32": lambda a, b: _bits(a) + b,
    "v_mbcnt_lo_u32_b32": lambda a, b: _bits(a & _below(0)) + b,
    "v_mbcnt_hi_u32_b32": lambda a, b: _bits(a & _below(32)) + b,
    "v_mad_u32_u24": lambda a, b, c: _u24(a) * _u24(b) + c, "v_mad_i32_i24": lambda a, b, c: _i24(a) * _i24(b) + c,
    "v_mad_u32_u16": lambda a, b, c: (a & U32(0xFFFF)) * (b & U32(0xFFFF)) + c,
    "v_mad_i32_i16": lambda a, b, c: _i16(a) * _i16(b) + c,
    "v_sad_u8": lambda a, b, c: _bytes_apart(a, b) + c,
    "v_sad_hi_u8": lambda a, b, c: (_bytes_apart(a, b) << U32(16)) + c,
    "v_sad_u16": lambda a, b, c: _bytes_apart(a, b, 0xFFFF, 16) + c,
    "v_sad_u32": lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c,
}
"""Operations of vector instructions with one result of a word that keep nothing."""

SCALAR: dict[str, Callable] = {
    "s_mov_b32": lambda a: (a, None), "s_movk_i32": lambda a: (a, None), "s_mov_b64": lambda a: (a, None),
    "s_add_u32": lambda a, b: (a + b, a + b >= 1 << 32), "s_sub_u32": lambda a, b: (a - b, a < b),
    "s_add_i32": lambda a, b: (a + b, _overflows(_int(a) + _int(b))),
    "s_sub_i32": lambda a, b: (a - b, _overflows(_int(a) - _int(b))),
    "s_and_b32": lambda a, b: (a & b, a & b != 0), "s_or_b32": lambda a, b: (a | b, a | b != 0),
    "s_xor_b32": lambda a, b: (a ^ b, a ^ b != 0), "s_and_b64": lambda a, b: (a & b, a & b != 0),
    "s_or_b64": lambda a, b: (a | b, a | b != 0), "s_xor_b64": lambda a, b: (a ^ b, a ^ b != 0),
    "s_andn2_b32": lambda a, b: (a & ~b, a & ~b != 0), "s_andn2_b64": lambda a, b: (a & ~b, a & ~b != 0),
    "s_orn2_b64": lambda a, b: (a | ~b & _ONES, True), "s_not_b32": lambda a: (~a, ~a & 0xFFFFFFFF != 0),
    "s_not_b64": lambda a: (~a, ~a & _ONES != 0), "s_lshl_b32": lambda a, b: _tested(a << (b & 31) & 0xFFFFFFFF),
    "s_lshr_b32": lambda a, b: _tested(a >> (b & 31)), "s_ashr_i32": lambda a, b: _tested(_int(a) >> (b & 31)),
    "s_lshl_b64": lambda a, b: _tested(a << (b & 63) & _ONES), "s_lshr_b64": lambda a, b: _tested(a >> (b & 63)),
    "s_mul_i32": lambda a, b: (a * b, None), "s_mul_hi_u32": lambda a, b: (a * b >> 32, None),
    "s_min_i32": lambda a, b: (a if _int(a) < _int(b) else b, _int(a) < _int(b)),
    "s_max_i32": lambda a, b: (a if _int(a) > _int(b) else b, _int(a) > _int(b)),
    "s_bitcmp0_b32": lambda a, b: (None, not a >> (b & 31) & 1),
    "s_bitcmp1_b32": lambda a, b: (None, a >> (b & 31) & 1),
    "s_bfe_u32": lambda a, b: _tested(a >> (b & 31) & (1 << (b >> 16 & 127)) - 1),
    "s_ff1_i32_b64": lambda a: ((a & -a).bit_length() - 1 if a else 0xFFFFFFFF, None),
    "s_ff1_i32_b32": lambda a: ((a & -a).bit_length() - 1 if a else 0xFFFFFFFF, None),
    "s_bcnt1_i32_b64": lambda a: _tested(a.bit_count()), "s_bcnt1_i32_b32": lambda a: _tested(a.bit_count()),
    "s_bitset0_b64": lambda a, b: (a & ~(1 << (b & 63)), None), "s_bitset1_b64": lambda a, b: (a | 1 << (b & 63), None),
    "s_brev_b32": lambda a: (int(f"{a:032b}"[::-1], 2), None),
    "s_cmp_eq_u32": lambda a, b: (None, a == b), "s_cmp_lg_u32": lambda a, b: (None, a != b),
    "s_cmp_eq_i32": lambda a, b: (None, a == b), "s_cmp_lg_i32": lambda a, b: (None, a != b),
    "s_cmp_eq_u64": lambda a, b: (None, a == b), "s_cmp_lg_u64": lambda a, b: (None, a != b),
    "s_cmp_lt_u32": lambda a, b: (None, a < b), "s_cmp_gt_u32": lambda a, b: (None, a > b),
    "s_cmp_le_u32": lambda a, b: (None, a <= b), "s_cmp_ge_u32": lambda a, b: (None, a >= b),
    "s_cmp_lt_i32": lambda a, b: (None, _int(a) < _int(b)), "s_cmp_gt_i32": lambda a, b: (None, _int(a) > _int(b)),
    "s_cmp_le_i32": lambda a, b: (None, _int(a) <= _int(b)), "s_cmp_ge_i32": lambda a, b: (None, _int(a) >= _int(b)),
}
"""Scalar instructions that read no condition code.

Each returns its result (or None) and its condition code (None if it stays).
"""

COMPARE: dict[str, Callable] = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
                                "eq": np.equal, "ne": np.not_equal}
_ONES = (1 << 64) - 1


def _int(x: int) -> int:
    return x - (1 << 32) if x >> 31 & 1 else x


def _overflows(x: int) -> bool:
    return not -(1 << 31) <= x < 1 << 31


def _tested(x: int) -> tuple[int, bool]:
    return x, x != 0


def _below(first: int):
    """Return for each lane a bit for each lane from `first` that is before it."""
    return np.array([(1 << max(0, min(32, lane - first))) - 1 for lane in range(64)], U64).astype(U32)


def mixed(name: str, values: list, word: int = 0):
    """Return a word that depends on a name and on each of the values."""
    seed = (sum(ord(letter) * 131 ** k for k, letter in enumerate(name)) + word) % (1 << 32)
    found = U32(seed)
    for value in values:
        found = (found ^ np.asarray(value, U32)) * U32(0x9E3779B1) + U32(0x7F4A7C15)
        found = found ^ found >> U32(15)
    return found


def old_is_read(name: str, text: str) -> bool:
    """Return whether an instruction computes from, or keeps part of, what its result held."""
    stem = name.removesuffix("_e32").removesuffix("_e64")
    return (any(part in stem for part in ("_fmac_", "_mac_", "writelane", "d16", "mixlo", "mixhi")) or
            stem in ("v_fma_f16", "v_mad_f16", "v_div_fixup_f16", "v_mad_u16", "v_mad_i16") or
            "UNUSED_PRESERVE" in text or name.endswith("_dpp") and "bound_ctrl" not in text)
