"""Small programs as other compilers write them, each with its judge: on model and RTL, preempted at random moments."""

import random
import struct

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.software.compiler import compile_ptx
from support.selection import quick

G = preset("gtx480")
BLOCKS, BLOCK, MASK = 40, 64, 0xFFFF_FFFF
TABLE_BYTES = 272
"""A structure by value: with it the parameters have 288 bytes."""
FRAME = """.version 7.8
.target sm_75
.address_size 64
{before}
.visible .entry k(.param .u64 o, .param .u32 a, .param .u32 b, .param .align 8 .b8 q[{table}]) .reqntid {block}
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %d<8>;
    .shared .align 16 .b8 s[{shared}];
    ld.param.u64 %d1, [o];
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %ctaid.x;
    mad.lo.u32 %r4, %r4, {block}, %r3;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d1, %d1, %d2;
    add.u32 %r1, %r1, %r4;
    {body}
    st.global.u32 [%d1], %r9;
    ret;
}}
"""
ALIAS = """
.visible .func (.param .b32 r) f(.param .b32 a)
{
    .reg .b32 %x;
    ld.param.b32 %x, [a];
    add.u32 %x, %x, 1;
    st.param.b32 [r], %x;
    ret;
}
.visible .func (.param .b32 r) h(.param .b32 a);
.alias h, f;
"""
CALL = """{ .param .b32 p; .param .b32 r;
    st.param.b32 [p], %r1;
    call.uni (r), h, (p);
    ld.param.b32 %r9, [r]; }"""
MATRIX = """shl.b32 %r5, %r3, 2; mov.u32 %r6, s; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r1;
    bar.sync 0; and.b32 %r5, %r3, 7; shl.b32 %r5, %r5, 4; add.u32 %r5, %r5, %r6;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r5];"""
OFFSET = """
    ld.param.u64 %d1, [o]; sub.u32 %r6, %r1, 5;
    mul.wide.u32 %d3, %r6, 4; add.s64 %d1, %d1, %d3; red.global.add.u32 [%d1], %r1; ld.global.u32 %r9, [%d1];"""


def signed_bytes(word):
    return struct.unpack("4b", struct.pack("<I", word & MASK))


def dot(a, b):
    return sum(x * y for x, y in zip(signed_bytes(a), signed_bytes(b), strict=True)) + 7


def mask_of(a, b):
    return ((1 << min(b & MASK, 32)) - 1) << min(a & MASK, 64)


def ballot(number, holds):
    """Return the vote of the warp of thread `number` of the grid."""
    first = number // 32 * 32
    return sum(holds(k) << k - first for k in range(first, first + 32))


A, B = 5, 0x0102_FE03
PROGRAMS = {
    "alias": (ALIAS, CALL, lambda n, q: A + n + 1),
    "barrier of all threads": ("", f"bar.sync 1, {BLOCK}; mov.u32 %r9, %r1;", lambda n, q: A + n),
    "bmsk.clamp": ("", "and.b32 %r5, %r1, 63; and.b32 %r6, %r4, 31; bmsk.clamp.b32 %r9, %r5, %r6;",
                   lambda n, q: mask_of(A + n & 63, n & 31)),
    "borrow of sub.cc": ("", "sub.cc.u32 %r5, %r1, 1300; addc.u32 %r9, 0, 0;", lambda n, q: A + n >= 1300),
    "dp4a": ("", "mul.lo.u32 %r5, %r1, 0x9E3779B1; dp4a.s32.s32 %r9, %r5, %r2, 7;",
             lambda n, q: dot((A + n) * 0x9E37_79B1, B)),
    "ldmatrix": ("", MATRIX, lambda n, q: A + n // BLOCK * BLOCK + n % 32),
    "address of a parameter": (
        "", "and.b32 %r5, %r4, 63; mul.wide.u32 %d3, %r5, 4; mov.b64 %d4, q; add.s64 %d4, %d4, %d3; "
        "ld.param.u32 %r9, [%d4];", lambda n, q: q[n & 63]),
    "parameters of more than 256 bytes": (
        "", "ld.param.u32 %r9, [q+268]; add.u32 %r9, %r9, %r4;", lambda n, q: q[67] + n),
    "sync behind the mode": (
        "", "setp.lt.u32 %p1, %r4, 700; and.b32 %r5, %r4, 3; setp.ne.and.u32 %p2, %r5, 0, %p1; "
        "vote.ballot.sync.b32 %r9, %p2, 0xffffffff;", lambda n, q: ballot(n, lambda k: k < 700 and k % 4 != 0)),
    "negative offset of an atomic": ("", OFFSET, lambda n, q: A + n),
}
CASES = [(backend, name, seed) for backend in ("golden", "rtl") for name in PROGRAMS for seed in range(8)]


@pytest.mark.parametrize(("backend", "name", "seed"), quick(CASES, [
    *(("golden", name, 0) for name in [*PROGRAMS][::2])]))
def test_right_to_the_bit(backend, name, seed):
    before, body, judge = PROGRAMS[name]
    rng = random.Random(seed)
    table = np.random.default_rng(seed).integers(0, 1 << 32, TABLE_BYTES // 4, np.uint32)
    image = compile_ptx(FRAME.format(before=before, body=body, table=TABLE_BYTES, block=BLOCK, shared=4 * BLOCK))["k"]
    with open_device(backend, G, memory_bytes=1 << 22) as device:
        out = device.zeros(BLOCKS * BLOCK, np.uint32)
        launch = device.load([image])["k"](BLOCKS, BLOCK, [out, A, B, table.tobytes()])
        preempted = 0
        while not launch.finished:
            device.advance(rng.randrange(50, 900))
            if launch.finished or not device.preempt(launch, rng.choice(list(Mechanism))):
                break
            assert launch.state is KernelState.PREEMPTED
            preempted += 1
            device.resume(launch)
        device.wait(launch)
        assert preempted
        assert out.get().tolist() == [judge(n, table.tolist()) & MASK for n in range(BLOCKS * BLOCK)]
