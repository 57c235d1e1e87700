"""Special registers that say when and as what a kernel runs: clock, time, grid, shared memory; on model and RTL."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import assemble, compile_ptx, disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from support.selection import quick
from support.sim.queues import DEVICE

BACKENDS = ["golden", "rtl"]
ROUNDS, THREADS, BLOCKS = 40, 32, 6
PTX = f""".version 8.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry facts(.param .u64 OUT)
{{
    .reg .b32 %r<12>; .reg .b64 %rd<12>; .shared .align 4 .b8 own[200];
    ld.param.u64 %rd1, [OUT]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3; mul.wide.u32 %rd2, %r1, 64; add.s64 %rd1, %rd1, %rd2;
    st.shared.u32 [own], %r1; st.shared.u32 [dynamic], %r1;
    mov.u32 %r4, %dynamic_smem_size; mov.u32 %r5, %total_smem_size; mov.u32 %r6, %aggr_smem_size;
    mov.u32 %r7, %nwarpid; mov.u64 %rd3, %gridid; mov.u32 %r8, %gridid; mov.u32 %r9, %warpid;
    cvt.u64.u32 %rd4, %r4; st.global.u64 [%rd1], %rd4; cvt.u64.u32 %rd4, %r5; st.global.u64 [%rd1+8], %rd4;
    cvt.u64.u32 %rd4, %r6; st.global.u64 [%rd1+16], %rd4; cvt.u64.u32 %rd4, %r7; st.global.u64 [%rd1+24], %rd4;
    st.global.u64 [%rd1+32], %rd3; cvt.u64.u32 %rd4, %r8; st.global.u64 [%rd1+40], %rd4;
    cvt.u64.u32 %rd4, %r9; st.global.u64 [%rd1+48], %rd4; ret;
}}
.visible .entry times(.param .u64 OUT)
{{
    .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [OUT]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3; mul.wide.u32 %rd2, %r1, {24 * ROUNDS}; add.s64 %rd1, %rd1, %rd2; mov.u32 %r4, 0;
LOOP:
    mov.u64 %rd3, %clock64; mov.u64 %rd4, %globaltimer;
    mov.u32 %r5, %globaltimer_lo; mov.u32 %r6, %globaltimer_hi; mov.b64 %rd5, {{%r5, %r6}};
    st.global.u64 [%rd1], %rd3; st.global.u64 [%rd1+8], %rd4; st.global.u64 [%rd1+16], %rd5;
    add.s64 %rd1, %rd1, 24; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, {ROUNDS}; @%p1 bra LOOP;
    ret;
}}
"""
FACTS = ("dynamic", "total", "aggregate", "warps", "grid", "grid", "warp")


def facts(out):
    rows = out.get().reshape(-1, 8)
    assert (rows[:, :6] == rows[0, :6]).all() and rows[0, 4] == rows[0, 5]
    return dict(zip(FACTS, (int(x) for x in rows[0]), strict=False)), rows


@pytest.mark.parametrize("backend", quick(BACKENDS, ["golden"]))
def test_what_a_launch_is(backend):
    with open_device(backend, DEVICE, memory_bytes=1 << 22) as device:
        kernel = device.load(compile_ptx(PTX).values())["facts"]
        grids = set()
        for dynamic in (16, 200):
            out = device.zeros(BLOCKS * THREADS * 8, np.uint64)
            device.wait(kernel(BLOCKS, THREADS, [out], dynamic))
            found, rows = facts(out)
            total = -(-(kernel.image.shared_bytes + dynamic) // 128) * 128
            assert (found["dynamic"], found["total"], found["aggregate"]) == (dynamic, total, total)
            assert found["warps"] > rows[:, 6].max()
            grids.add(found["grid"])
        queue = device.queue([kernel], THREADS, shared_bytes=kernel.image.shared_bytes + 64)
        for dynamic in (32, 64):
            out = device.zeros(BLOCKS * THREADS * 8, np.uint64)
            queue.wait(queue.launch(kernel, BLOCKS, THREADS, [out], dynamic))
            found, _ = facts(out)
            assert found["dynamic"] == dynamic
            grids.add(found["grid"])
        assert len(grids) == 4


def check_times(out, first, last, nanoseconds=1.0):
    """Every thread's times rise, and are between those of the machine before the launch and after it."""
    rows = out.get().reshape(-1, ROUNDS, 3)
    cycles, whole, halves = (rows[:, :, k].astype(object) for k in range(3))
    assert (np.diff(cycles, axis=1) > 0).all() and (np.diff(whole, axis=1) > 0).all()
    assert first <= cycles.min() and cycles.max() <= last
    for time in (whole, halves):
        assert first * nanoseconds - 1 <= time.min() and time.max() <= last * nanoseconds + 1
    assert (whole[:, :-1] <= halves[:, 1:]).all() and (whole - cycles * nanoseconds >= -1).all()


@pytest.mark.parametrize("backend", quick(BACKENDS, ["golden"]))
def test_time_passes_while_a_kernel_is_away(backend):
    """Preempted twice, its thread blocks brought back on whichever SM."""
    with open_device(backend, DEVICE, memory_bytes=1 << 22) as device:
        kernel = device.load(compile_ptx(PTX).values())["times"]
        out = device.zeros(BLOCKS * THREADS * ROUNDS * 3, np.uint64)
        first = device.transport.cycle
        launch = kernel(BLOCKS, THREADS, [out])
        for away in (700, 3000):
            device.advance(900)
            device.preempt(launch, Mechanism.LIVE)
            before = device.transport.cycle
            device.advance(away)
            assert device.transport.cycle >= before + away
            device.resume(launch)
        device.wait(launch)
        check_times(out, first, device.transport.cycle)


@pytest.mark.parametrize("start", [(1 << 32) - 3000, (7 << 32) - 1000, (1 << 63) - 2000])
def test_the_upper_word_of_the_clock_changes_as_a_kernel_runs(start):
    with open_device("golden", "gtx480", memory_bytes=1 << 22) as device:
        module = device.load(compile_ptx(PTX).values())
        assert isinstance(device.transport, GoldenTransport)
        device.transport.machine.cycle = start
        out = device.zeros(BLOCKS * THREADS * ROUNDS * 3, np.uint64)
        nanoseconds = 1000 / 700
        device.wait(module["times"](BLOCKS, THREADS, [out]))
        rows = out.get().reshape(-1, ROUNDS, 3)
        assert (np.diff(rows[:, :, 0].astype(object), axis=1) > 0).all()
        assert rows[:, :, 0].min() >= start and rows[:, :, 0].max() > (start | 0xFFFF_FFFF)
        if start < 1 << 60:
            factor = round((1000 / device.geometry.clock_mhz if device.geometry.clock_mhz else 1) * 2**32)
            assert (np.diff(rows[:, :, 1].astype(object), axis=1) > 0).all() and nanoseconds > 1
            assert rows[:, :, 1].min() >= start * factor >> 32


def test_nanoseconds_of_a_machine_with_a_clock():
    g = preset("tiny").replace(clock_mhz=400.0)
    with open_device("golden", g, memory_bytes=1 << 22) as device:
        kernel = device.load(compile_ptx(PTX).values())["times"]
        out = device.zeros(THREADS * ROUNDS * 3, np.uint64)
        first = device.transport.cycle
        device.wait(kernel(1, THREADS, [out]))
        check_times(out, first, device.transport.cycle, 2.5)


def test_images_and_assembly_keep_the_binding():
    images = compile_ptx(PTX)
    binding, = images["facts"].bindings
    assert (binding.kind, binding.words) == ("launch", 7)
    assert list(read_elf(write_elf(images)).values()) == list(images.values())
    assert assemble("".join(map(disassemble, images.values()))) == list(images.values())
