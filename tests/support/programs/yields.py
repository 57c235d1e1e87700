"""Kernels whose thread blocks wait for memory that others write, and yield meanwhile."""

from __future__ import annotations

import random

import numpy as np

from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx

__all__ = ["CHAIN", "CONSUMER", "GRAPH", "HEAD", "POLITE", "PRODUCER", "SOURCE", "expected", "images", "order"]

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.extern .func caesura_yield (.param .b64 address, .param .b32 expected);
"""

CONSUMER = """
.visible .entry consumer(.param .u64 flags, .param .u64 out, .param .u32 stride)
{   // each warp waits by itself until the flag of its thread block is set, and ends
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d0, [flags]; ld.param.u64 %d1, [out]; ld.param.u32 %r0, [stride];
    cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
    mul.lo.u32 %r4, %r1, %r0; cvt.u64.u32 %d2, %r4; add.s64 %d0, %d0, %d2;
WAIT:
    ld.volatile.global.u32 %r5, [%d0];
    setp.ne.u32 %p, %r5, 0;
    @%p bra DONE;
    {
    .param .b64 where; .param .b32 value;
    st.param.b64 [where], %d0; st.param.b32 [value], 0;
    call.uni caesura_yield, (where, value);
    }
    bra WAIT;
DONE:
    mad.lo.u32 %r6, %r1, %r3, %r2; mul.wide.u32 %d3, %r6, 4; add.s64 %d1, %d1, %d3;
    add.u32 %r7, %r5, %r2; st.global.u32 [%d1], %r7;
    ret;
}
"""

PRODUCER = """
.visible .entry producer(.param .u64 flags, .param .u32 stride, .param .u32 delay)
{   // after some work each thread block sets a flag to 1000 and its number
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [flags]; ld.param.u32 %r0, [stride]; ld.param.u32 %r1, [delay];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;
WORK:
    add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1;
    @%p bra WORK;
    mul.lo.u32 %r4, %r2, %r0; cvt.u64.u32 %d1, %r4; add.s64 %d0, %d0, %d1;
    add.u32 %r5, %r2, 1000; mov.u32 %r6, %tid.x; setp.eq.u32 %p, %r6, 0;
    @%p st.volatile.global.u32 [%d0], %r5;
    ret;
}
"""

CHAIN = """
.visible .entry chain(.param .u64 flags, .param .u64 out, .param .u32 last)
{   // each thread block waits for the next one, which is launched after it; the last one does not wait
    .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<9>;
    .shared .align 4 .u32 seen;
    ld.param.u64 %d0, [flags]; ld.param.u64 %d1, [out]; ld.param.u32 %r0, [last];
    cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
    mul.wide.u32 %d2, %r1, 4; add.s64 %d0, %d0, %d2;
    mov.u32 %r5, 0; mad.lo.u32 %r10, %r1, 17, %r2;
    setp.eq.u32 %p, %r1, %r0;
    @%p bra DONE;
WAIT:   // one thread looks, for all
    setp.ne.u32 %p, %r2, 0;
    @%p bra LOOKED;
    ld.volatile.global.u32 %r5, [%d0+4]; st.shared.u32 [seen], %r5;
LOOKED:
    bar.sync 0; ld.shared.u32 %r5, [seen]; bar.sync 0;
    setp.ne.u32 %p, %r5, 0;
    @%p bra DONE;
    {
    .param .b64 where; .param .b32 value;
    add.s64 %d4, %d0, 4;
    st.param.b64 [where], %d4; st.param.b32 [value], %r5;
    call.uni caesura_yield, (where, value);
    }
    bra WAIT;
DONE:
    add.u32 %r6, %r5, 1;
    mad.lo.u32 %r7, %r1, %r3, %r2; mul.wide.u32 %d3, %r7, 4; add.s64 %d1, %d1, %d3;
    add.u32 %r8, %r10, %r6; st.global.u32 [%d1], %r8;
    setp.eq.u32 %p, %r2, 0;
    bar.sync 0; membar.gl;
    @%p st.volatile.global.u32 [%d0], %r6;
    ret;
}
"""

GRAPH = """
.visible .entry graph(.param .u64 after, .param .u64 done, .param .u64 out, .param .u32 stride, .param .u32 work)
{   // each thread block waits for the one that `after` names, or for none (-1), and adds to what that has found
    .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<9>;
    ld.param.u64 %d0, [after]; ld.param.u64 %d1, [done]; ld.param.u64 %d2, [out]; ld.param.u32 %r0, [stride];
    cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r5, 1;
    mul.wide.u32 %d3, %r1, 4; add.s64 %d0, %d0, %d3; ld.global.u32 %r4, [%d0];
    setp.lt.s32 %p, %r4, 0;
    @%p bra DONE;
    mul.lo.u32 %r6, %r4, %r0; cvt.u64.u32 %d4, %r6; add.s64 %d4, %d1, %d4;
WAIT:
    ld.volatile.global.u32 %r5, [%d4];
    setp.ne.u32 %p, %r5, 0;
    bar.red.or.pred %p, 0, %p;
    @%p bra FOUND;
    {
    .param .b64 where; .param .b32 value;
    st.param.b64 [where], %d4; st.param.b32 [value], 0;
    call.uni caesura_yield, (where, value);
    }
    bra WAIT;
FOUND:
    ld.volatile.global.u32 %r5, [%d4];
DONE:
    ld.param.u32 %r7, [work]; mov.u32 %r8, 0;
WORK:
    add.u32 %r8, %r8, 1; setp.lt.u32 %p, %r8, %r7;
    @%p bra WORK;
    mad.lo.u32 %r6, %r1, %r3, %r2; mul.wide.u32 %d5, %r6, 4; add.s64 %d2, %d2, %d5;
    add.u32 %r9, %r5, %r2; st.global.u32 [%d2], %r9;
    mul.lo.u32 %r6, %r1, %r0; cvt.u64.u32 %d6, %r6; add.s64 %d6, %d1, %d6;
    mad.lo.u32 %r10, %r5, 3, %r1; or.b32 %r10, %r10, 1; setp.eq.u32 %p, %r2, 0;
    bar.sync 0; membar.gl;
    @%p atom.global.exch.b32 %r11, [%d6], %r10;
    ret;
}
"""

POLITE = """
.visible .entry polite(.param .u64 counter, .param .u64 where, .param .u32 rounds)
{   // gives its place away after each round: caesura_yield(0, 0), or of an address that is 0
    .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [counter]; ld.param.u64 %d1, [where]; ld.param.u32 %r0, [rounds];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r1, 0; mov.u32 %r2, %tid.x;
ROUND:
    setp.eq.u32 %q, %r2, 0;
    @%q red.global.add.u32 [%d0], 1;
    {
    .param .b64 address; .param .b32 value;
    st.param.b64 [address], 0; st.param.b32 [value], 7;
    call.uni caesura_yield, (address, value);
    }
    {
    .param .b64 address; .param .b32 value;
    st.param.b64 [address], %d1; st.param.b32 [value], %r1;
    call.uni caesura_yield, (address, value);
    }
    add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r0;
    @%p bra ROUND;
    ret;
}
"""

SOURCE = HEAD + CONSUMER + PRODUCER + CHAIN + GRAPH + POLITE


def images(options: CompileOptions | None = None) -> dict[str, KernelImage]:
    """Return all of these kernels, compiled."""
    return compile_ptx(SOURCE, "yields.ptx", options or CompileOptions(max_registers=16))


def order(rng: random.Random, first: int, second: int) -> list[int]:
    """Return what thread blocks of `GRAPH` wait for in two kernels of so many, -1 for nothing: those of the first
    kernel, which have the lower numbers, for any; those of the second, counted from 0, for their own. There is no
    circle."""
    ranks = list(range(first + second))
    rng.shuffle(ranks)
    before: list[int] = []
    found = [-1] * (first + second)
    for number in ranks:
        known = before if number < first else [other for other in before if other >= first]
        if known and rng.random() < 0.85:
            found[number] = rng.choice(known) - (0 if number < first else first)
        before.append(number)
    return found


def expected(after: list[int], first: int, threads: int) -> tuple[list[int], np.ndarray]:
    """Return the flags that the thread blocks of two kernels of `GRAPH` set, and what their threads write, a row each;
    `first` belong to the first kernel."""
    flags: dict[int, int] = {}
    seen: dict[int, int] = {}

    def flag(number: int) -> int:
        if number not in flags:
            own = number if number < first else number - first
            seen[number] = 1 if after[number] < 0 else flag(after[number] + number - own)
            flags[number] = (seen[number] * 3 + own | 1) & 0xFFFF_FFFF
        return flags[number]

    found = [flag(number) for number in range(len(after))]
    values = np.array([seen[number] for number in range(len(after))], np.uint32)
    return found, values[:, None] + np.arange(threads, dtype=np.uint32)
