"""Instructions that other compilers write, in kernels that are preempted at random: on model and RTL."""

import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.workloads.random_ptx import packed, video
from caesura.software.compiler import compile_ptx
from support.selection import quick
from support.sim.queues import DEVICE

THREADS, BLOCKS, ROUNDS, LOW = 32, 3, 6, 0xFFFF_FFFF
FRAME = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 A, .param .u64 OUT)
{{
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<9>; .shared .align 4 .b8 s[{shared}];
    ld.param.u64 %d1, [A]; ld.param.u64 %d2, [OUT]; mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x;
    mad.lo.u32 %r12, %r11, {threads}, %r10; mul.wide.u32 %d3, %r12, 12; add.u64 %d1, %d1, %d3;
    mul.wide.u32 %d3, %r12, 4; add.u64 %d2, %d2, %d3;
    ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+4]; ld.global.u32 %r3, [%d1+8];
    mov.u32 %r14, s; mad.lo.u32 %r15, %r10, 4, %r14; xor.b32 %r16, %r10, 1; mad.lo.u32 %r16, %r16, 4, %r14;
    mov.u32 %r13, 0;
LOOP:
    {body}
    add.cc.u32 %r20, %r1, %r2; subc.cc.u32 %r21, %r2, %r3; addc.u32 %r22, %r21, %r20; xor.b32 %r3, %r3, %r22;
    st.shared.u32 [%r15], %r3; bar.sync 1, {threads}; ld.shared.u32 %r23, [%r16];
    setp.lt.u32 %p1, %r3, %r1; bar.red.popc.u32 %r24, 2, {threads}, %p1; barrier.sync 3, {threads};
    add.u32 %r1, %r1, %r23; add.u32 %r2, %r2, %r24;
    add.u32 %r13, %r13, 1; setp.lt.u32 %p2, %r13, {rounds}; @%p2 bra LOOP;
    xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; st.global.u32 [%d2], %r1; ret;
}}
"""


def program(seed):
    """Return a kernel, and what it makes of the operands of a thread block."""
    rng = random.Random(seed)
    steps = [rng.choice((rng.choice([*packed.FORMS.items()]), video.scalar(rng), video.vector(rng),
                         video.multiply_add(rng))) for _ in range(5)]
    body = []
    for text, _ in steps:
        for letter, register in zip("DABC", ("%r4", "%r1", "%r2", "%r3"), strict=True):
            text = text.replace(f" {letter}", f" {register}").replace(f"-{letter}", f"-{register}")
        body.append(f"mov.u32 %r4, %r3; {text}; xor.b32 %r3, %r4, %r1; add.u32 %r1, %r1, %r4;")

    def meaning(rows):
        rows = [list(row) for row in rows]
        for _ in range(ROUNDS):
            for row in rows:
                for _, f in steps:
                    a, b, c = row
                    d = f(a, b, c) & LOW
                    row[:] = [a + d & LOW, b, d ^ a]
                a, b, c = row
                low = a + b
                middle = b + (~c & LOW) + (low >> 32)
                row[2] = c ^ ((middle & LOW) + (low & LOW) + (middle >> 32) & LOW)
            count = sum(row[2] < row[0] for row in rows)
            others = [rows[k ^ 1][2] for k in range(len(rows))]
            for row, other in zip(rows, others, strict=True):
                row[0], row[1] = row[0] + other & LOW, row[1] + count & LOW
        return [a ^ b ^ c for a, b, c in rows]
    text = FRAME.format(body="\n    ".join(body), threads=THREADS, shared=4 * THREADS, rounds=ROUNDS)
    return text, meaning


CASES = [(backend, seed) for backend in ("golden", "rtl") for seed in range(12)]


@pytest.mark.parametrize(("backend", "seed"), quick(CASES, [("golden", 0), ("golden", 1), ("rtl", 0)]))
def test_preempted_at_random(backend, seed):
    text, meaning = program(seed)
    rng = random.Random(100 + seed)
    operands = np.random.default_rng(seed).integers(0, 1 << 32, (BLOCKS, THREADS, 3), np.uint32)
    operands[:, ::3] >>= 24
    with open_device(backend, DEVICE, memory_bytes=1 << 22) as device:
        out = device.zeros(BLOCKS * THREADS, np.uint32)
        launch = device.load(compile_ptx(text).values())["k"](BLOCKS, THREADS, [device.array(operands), out])
        preempted = 0
        for _ in range(4):
            device.advance(rng.randrange(50, 1500))
            if launch.state is not KernelState.RUNNING:
                break
            device.preempt(launch, rng.choice((Mechanism.LIVE, Mechanism.OCCUPIED)))
            preempted += launch.state is KernelState.PREEMPTED
            device.resume(launch)
        device.wait(launch)
        assert preempted
        got = out.get().reshape(BLOCKS, THREADS)
    for block in range(BLOCKS):
        assert got[block].tolist() == meaning(operands[block].tolist())
