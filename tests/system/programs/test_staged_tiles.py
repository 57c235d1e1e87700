"""Tiles copied by cp.async behind an mbarrier, read by ldmatrix, summed in f16 and bf16: interrupted all over, on the
golden model and the RTL, by every mechanism."""

import functools

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, totals
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import Device
from caesura.software.kernels import hostile
from caesura.software.kernels.job import Job
from support.selection import quick
from support.software.half_reference import BF16, F16, add, fma

FULL = PRESETS["gtx480"]
MEMORY = 4 << 20
TILES, THREADS = 3, 64
KERNEL = """.version 8.5
.target sm_90
.address_size 64
.visible .entry tiles(.param .u64 out, .param .u64 in)
{
.shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
.reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<4>; .reg .pred %p<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [full], 64; @%p1 mbarrier.init.shared.b64 [empty], 64;
mul.wide.u32 %rd3, %r1, 16; add.s64 %rd2, %rd2, %rd3; add.s64 %rd1, %rd1, %rd3;
mov.u32 %r2, tile; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; and.b32 %r5, %r1, 31; shl.b32 %r5, %r5, 4;
add.u32 %r5, %r2, %r5; mov.u32 %r6, 0; mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
bar.sync 0;
TURN:
setp.eq.u32 %p2, %r6, 2; selp.b32 %r7, 8, 16, %p2;
cp.async.cg.shared.global [%r4], [%rd2], 16, %r7; cp.async.commit_group; cp.async.wait_group 0;
mbarrier.arrive.shared.b64 %rd4, [full];
FULL:
mbarrier.try_wait.shared.b64 %p3, [full], %rd4; @!%p3 bra FULL;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r5];
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r24, %r25}, [%r5+512];
fma.rn.f16x2 %r10, %r20, %r24, %r10; add.f16x2 %r11, %r11, %r21;
fma.rn.bf16x2 %r12, %r22, %r25, %r12;
mov.b32 {%h1, %h2}, %r23; cvt.f32.f16 %f1, %h1; cvt.f32.f16 %f2, %h2; add.f32 %f1, %f1, %f2;
cvt.rn.bf16x2.f32 %r26, %f1, %f2; max.NaN.bf16x2 %r13, %r13, %r26;
mbarrier.arrive.shared.b64 %rd5, [empty];
EMPTY:
mbarrier.test_wait.shared.b64 %p4, [empty], %rd5; @!%p4 bra EMPTY;
add.s64 %rd2, %rd2, 1024; add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, 3; @%p5 bra TURN;
st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
ret;
}
"""


def expected(rows):
    """Return what the kernel stores, for numbers of shape (tile, row, column) as bits."""
    lanes = np.arange(32)
    total = [np.zeros((32, 2), np.int64) for _ in range(4)]
    for turn, tile in enumerate(rows.astype(np.int64)):
        tile = tile.copy()
        if turn == 2:
            tile[:, 4:] = 0
        matrices = tile.reshape(8, 8, 8)
        plain = matrices[:4, lanes // 4].reshape(4, 32, 4, 2)[:, lanes, lanes % 4]
        trans = matrices[4:6].transpose(0, 2, 1)[:, lanes // 4].reshape(2, 32, 4, 2)[:, lanes, lanes % 4]
        value, brain = F16.value, BF16.value
        total[0] = F16.bits(fma(value(plain[0]), value(trans[0]), value(total[0])))
        total[1] = F16.bits(add(value(total[1]), value(plain[1])))
        total[2] = BF16.bits(fma(brain(plain[2]), brain(trans[1]), brain(total[2])))
        low, high = value(plain[3][:, 0]), value(plain[3][:, 1])
        found = BF16.bits(np.stack((high, (low.astype(np.float32) + high.astype(np.float32)).astype(np.float64)), 1))
        total[3] = BF16.bits(np.maximum(brain(total[3]), brain(found)))
    words = np.stack([x[:, 0] | x[:, 1] << 16 for x in total], 1).astype(np.uint32)
    return np.concatenate((words, words))


@functools.cache
def work():
    """One thread block of two warps, points close to each other."""
    rng = np.random.default_rng(5)
    rows = (rng.choice(np.array([0, 0x8000]), (TILES, THREADS, 8)) | rng.integers(0x3A00, 0x4200, (TILES, THREADS, 8)))
    image = compile_ptx(KERNEL, "tiles.ptx", CompileOptions(interval=60))["tiles"]
    arguments = {"out": np.zeros((THREADS, 4), np.uint32), "in": rows.astype(np.uint16)}
    return CompiledJob(image, Job((1, 1, 1), (THREADS, 1, 1), arguments, {"out": expected(rows)}))


@functools.cache
def golden():
    return Campaign(GoldenTransport(SMALL_SM, MEMORY), work(), CompiledJob(*hostile(SMALL_SM)), fill=True)


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.OCCUPIED, Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_sampled_instructions_of_the_golden_model(mechanism):
    c = golden()
    requests, saved = totals(c.at_cycles(mechanism, range(5 + int(mechanism), c.cycles, c.cycles // 6)))
    assert requests >= 6 and saved > 0


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_every_instruction_of_the_golden_model(mechanism):
    totals(golden().at_cycles(mechanism, range(1, golden().cycles)))


@pytest.mark.parametrize("back_end", quick([GoldenTransport, RtlTransport], [GoldenTransport]))
def test_both_machines_compute_it(back_end):
    """How often a warp looks at a barrier depends on time; what it computes does not."""
    device = Device(back_end(FULL, memory_bytes=MEMORY))
    launch, arrays = start_job(device, device.load([work().image])["tiles"], work().job)
    device.wait(launch, 400_000)
    assert not any(differences(work().job, arrays).values())


@pytest.mark.full
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_sampled_cycles_of_the_rtl(mechanism):
    c = Campaign(RtlTransport(FULL, memory_bytes=MEMORY), work(), CompiledJob(*hostile(FULL)), fill=True)
    requests, saved = totals(c.at_cycles(mechanism, range(50 + int(mechanism), c.cycles, c.cycles // 5)))
    assert requests >= 5 and saved > 0
