"""Kernels of f16 and bf16 on the golden model, and numbers that are hard for them."""

import numpy as np

from caesura.sim import open_device
from caesura.software.compiler import compile_ptx
from support.software.half_reference import BF16, F16

FRAME = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 OUT, .param .u64 A, .param .u64 B, .param .u64 C)
{{
.reg .pred %p<20>; .reg .b16 %rs<40>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .f32 %f<40>; .reg .f64 %fd<40>;
.reg .f16 %h<20>; .reg .f16x2 %hh<9>;
mov.u32 %r90, %tid.x; mov.u32 %r91, %ctaid.x; mad.lo.s32 %r90, %r91, 256, %r90;
ld.param.u64 %rd93, [OUT]; ld.param.u64 %rd90, [A]; ld.param.u64 %rd91, [B]; ld.param.u64 %rd92, [C];
mul.wide.u32 %rd94, %r90, 8;
add.s64 %rd90, %rd90, %rd94; add.s64 %rd91, %rd91, %rd94; add.s64 %rd92, %rd92, %rd94; add.s64 %rd93, %rd93, %rd94;
ld.global.u64 %rd1, [%rd90]; ld.global.u64 %rd2, [%rd91]; ld.global.u64 %rd3, [%rd92];
cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
cvt.u16.u32 %rs1, %r1; cvt.u16.u32 %rs2, %r2; cvt.u16.u32 %rs3, %r3;
mov.b16 %h1, %rs1; mov.b16 %h2, %rs2; mov.b16 %h3, %rs3; mov.b32 %hh1, %r1; mov.b32 %hh2, %r2;
mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b64 %fd1, %rd1; setp.ne.u16 %p9, %rs3, 0;
{body}
ret;
}}
"""
LOW = 0xFFFF
REGISTERS = {"f16": "%rs", "bf16": "%rs", "f16x2": "%r", "bf16x2": "%r"}
FORMATS = {"f16": F16, "bf16": BF16}
SPECIAL = [0, 1, 2, 0x3FF, 0x400, 0x401, 0x3C00, 0x3C01, 0x3BFF, 0x7BFF, 0x7C00, 0x7C01, 0x7FFF, 0x7F, 0x80, 0x81,
           0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7F81, 0x4D55, 0x42FF, 0x6400, 0x0F80]
SPECIAL = np.array(SPECIAL + [x | 0x8000 for x in SPECIAL], np.int64)


def run(cases, a, b=None, c=None):
    """Return what the statements of each case leave in its register, given arrays of 64-bit operands."""
    a = np.asarray(a).astype(np.uint64)
    arrays = [a, *(np.zeros_like(a) if x is None else np.asarray(x).astype(np.uint64) for x in (b, c))]
    count = len(a)
    assert count % 256 == 0
    stores = {16: "cvt.u64.u16 %rd80, {r};", 32: "cvt.u64.u32 %rd80, {r};", 64: "mov.b64 %rd80, {r};"}
    body = "\n".join(f"{text} {stores[bits].format(r=register)} st.global.u64 [%rd93+{8 * count * k}], %rd80;"
                     for k, (text, register, bits) in enumerate(cases))
    image = compile_ptx(FRAME.format(body=body))["k"]
    device = open_device("golden", "gtx480", memory_bytes=64 << 20)
    out = device.array(np.zeros(count * len(cases), np.uint64))
    device.wait(device.load([image])["k"](count // 256, 256, [out, *map(device.array, arrays)]))
    return out.get().reshape(len(cases), count).astype(np.int64)


def agree(texts, found, expected, *operands):
    for text, got, wanted in zip(texts, found, expected, strict=True):
        wrong = np.flatnonzero(got != wanted)
        assert not wrong.size, (text, len(wrong), [(*(hex(int(x[k])) for x in operands), hex(int(got[k])),
                                                    hex(int(wanted[k]))) for k in wrong[:4]])


def halves(seed, count):
    """Return bits of numbers of 16 bits: special ones in all pairs, random ones, and ones near each other."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 1 << 16, (3, count))
    pairs = rng.permutation(np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).T)[:count // 4]
    a[:len(pairs)], b[:len(pairs)] = pairs.T
    near = slice(count // 2, count)
    b[near] = (a[near] ^ rng.integers(0, 1 << 3, count - count // 2) ^ rng.integers(0, 2, count - count // 2) << 15)
    c[::3] = rng.choice(SPECIAL, len(c[::3]))
    return a, b, c


def pairs(seed, count):
    """Return packed operands, and the bits of both numbers of each."""
    low, high = halves(seed, count), halves(seed + 1000, count)
    return [x | y << 16 for x, y in zip(low, high, strict=True)], low, high


ALL = np.arange(1 << 16)
