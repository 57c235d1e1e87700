"""Kernels whose thread blocks meet in memory, wherever they run."""

import numpy as np

from caesura.software.compiler import compile_ptx

__all__ = ["THREADS", "criticals", "spilled", "tickets"]

THREADS = 16
HEAD = """
.version 8.0
.target sm_70
.address_size 64
"""
TICKETS = HEAD + """
.visible .entry tickets(.param .u64 counter, .param .u64 owners, .param .u64 sum, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .f32 %f<2>;
    .reg .b64 %a<6>;
    ld.param.u64 %a0, [counter];
    ld.param.u64 %a1, [owners];
    ld.param.u64 %a2, [sum];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    add.u32 %r4, %r4, 1;
    mov.f32 %f0, 0f3F800000;
LOOP:
    atom.global.add.u32 %r5, [%a0], 1;
    mul.wide.u32 %a3, %r5, 4;
    add.u64 %a3, %a1, %a3;
    atom.global.add.u32 %r6, [%a3], %r4;
    red.global.add.f32 [%a2], %f0;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra LOOP;
    ret;
}
"""
CRITICAL = HEAD + """
.visible .entry critical(.param .u64 lock, .param .u64 total, .param .u32 rounds)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [lock];
    ld.param.u64 %a1, [total];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra DONE;
LOOP:
    atom.global.cas.b32 %r2, [%a0], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra LOOP;
    ld.volatile.global.u32 %r3, [%a1];
    add.u32 %r3, %r3, 1;
    st.volatile.global.u32 [%a1], %r3;
    membar.gl;
    st.volatile.global.u32 [%a0], 0;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p2, %r0, 0;
    @%p2 bra LOOP;
DONE:
    ret;
}
"""
SPILLED = HEAD + """
.visible .entry spilled(.param .u64 output, .param .u32 rounds)
{
    .local .align 4 .b8 own[32];
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %a<6>;
    ld.param.u64 %a0, [output];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mov.u64 %a1, own;
    mov.u32 %r5, 0;
    st.local.u32 [%a1+0], %r5;
    st.local.u32 [%a1+4], %r5;
    st.local.u32 [%a1+8], %r5;
    st.local.u32 [%a1+12], %r5;
    st.local.u32 [%a1+16], %r5;
    st.local.u32 [%a1+20], %r5;
    st.local.u32 [%a1+24], %r5;
    st.local.u32 [%a1+28], %r5;
LOOP:
    and.b32 %r6, %r5, 7;
    mul.wide.u32 %a2, %r6, 4;
    add.u64 %a2, %a1, %a2;
    ld.local.u32 %r7, [%a2];
    mad.lo.u32 %r7, %r7, 3, %r4;
    add.u32 %r7, %r7, 1;
    st.local.u32 [%a2], %r7;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p0, %r5, %r0;
    @%p0 bra LOOP;
    ld.local.u32 %r8, [%a1];
    ld.local.u32 %r9, [%a1+28];
    xor.b32 %r8, %r8, %r9;
    mul.wide.u32 %a3, %r4, 4;
    add.u64 %a3, %a0, %a3;
    st.global.u32 [%a3], %r8;
    ret;
}
"""


def tickets(device, blocks, rounds):
    """Each thread takes tickets, one after the other: return the launch, and a function that checks that every ticket
    was given once, to a thread that had so many."""
    threads = blocks * THREADS
    counter, total = device.zeros(1, np.uint32), device.zeros(1, np.float32)
    owners = device.zeros(threads * rounds, np.uint32)
    launch = device.load(compile_ptx(TICKETS).values())["tickets"](blocks, THREADS, [counter, owners, total, rounds])

    def check():
        assert counter.get()[0] == threads * rounds and total.get()[0] == threads * rounds
        assert np.array_equal(np.sort(owners.get()), np.repeat(np.arange(1, threads + 1), rounds))

    return launch, check


def criticals(device, blocks, rounds):
    """A thread of each thread block adds to a word that a lock guards: return the launch, and a function that checks
    that no addition was lost."""
    lock, total = device.zeros(1, np.uint32), device.zeros(1, np.uint32)
    launch = device.load(compile_ptx(CRITICAL).values())["critical"](blocks, THREADS, [lock, total, rounds])

    def check():
        assert (lock.get()[0], total.get()[0]) == (0, blocks * rounds)

    return launch, check


def spilled(device, blocks, rounds):
    """Threads compute in local memory: return the launch, and a function that checks what they have."""
    output = device.zeros(blocks * THREADS, np.uint32)
    launch = device.load(compile_ptx(SPILLED).values())["spilled"](blocks, THREADS, [output, rounds])

    def check():
        number = np.arange(blocks * THREADS, dtype=np.uint32)
        words = np.zeros((8, len(number)), np.uint32)
        for k in range(rounds):
            words[k % 8] = words[k % 8] * np.uint32(3) + number + np.uint32(1)
        assert np.array_equal(output.get(), words[0] ^ words[7])

    return launch, check
