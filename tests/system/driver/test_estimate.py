"""Estimates of what is left of a launch, through the Python API, on both machines."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError, KernelFault
from support.programs.uneven import UNEVEN_BLOCKS, Uneven

TINY = preset("tiny")
EVEN_BLOCKS = 12
EVEN = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry even(.param .u64 output, .param .u32 bad)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [output];
    ld.param.u32 %r0, [bad];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a1, %r4, 4;
    add.u64 %a0, %a0, %a1;
    mov.u32 %r6, 0;
LOOP:
    mad.lo.u32 %r4, %r4, 1664525, 1013904223;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p0, %r6, 150;
    @%p0 bra LOOP;
    setp.eq.u32 %p1, %r1, %r0;
    @%p1 trap;
    st.global.u32 [%a0], %r4;
    ret;
}
"""


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def even(device, bad=EVEN_BLOCKS):
    threads = 2 * TINY.warp_size
    kernel = device.load(compile_ptx(EVEN).values())["even"]
    return lambda bad=bad: kernel(EVEN_BLOCKS, threads, [device.zeros(threads * EVEN_BLOCKS, np.uint32), bad])


def profile(device, launch):
    return [device.read(f"kernel[{launch.slot}].profile_{name}") for name in ("tbs", "cycles", "instructions")]


def test_all_is_counted_of_a_launch_that_runs_undisturbed(device):
    begin, retired = device.transport.cycle, device.read("retired")
    work = Uneven(device)
    work.finishes()
    tbs, cycles, instructions = profile(device, work.launch)
    assert tbs == UNEVEN_BLOCKS and instructions == device.read("retired") - retired
    assert 0 < cycles < (device.transport.cycle - begin) * TINY.tb_slots


def test_before_a_tb_has_ended_only_how_far_they_are(device):
    launch = even(device)()
    device.advance(150)
    first = device.estimate(launch)
    device.advance(150)
    second = device.estimate(launch)
    assert (first.tb_cycles, first.tb_instructions, first.drain_cycles, first.drain_cycles_by_pace) == (None,) * 4
    assert [tb.launch_id for tb in first.tbs] == [tb.launch_id for tb in second.tbs] == device.resident_tbs(launch)
    for before, after in zip(first.tbs, second.tbs, strict=True):
        assert before.whole and after.whole and before.cycles_left is None
        assert 150 <= after.cycles - before.cycles < 1500 and after.instructions > before.instructions > 0
    assert first.switch_cycles == int(len(first.tbs) * launch.occupied_tb_bytes / TINY.bytes_per_cycle
                                      ) + TINY.memory_latency
    device.wait(launch)
    ended = device.estimate(launch)
    assert ended.tbs == () and ended.drain_cycles == ended.switch_cycles == 0 and ended.tb_cycles is not None


def test_what_is_left_is_what_a_drain_takes(device):
    launch = even(device)()
    while launch.progress[0] < 4:
        device.advance(50)
    device.advance(200)
    estimate = device.estimate(launch)
    assert device.preempt(launch, grace="unlimited") is None or launch.finished or not device.resident_tbs(launch)
    took = device.read("grace_cycles")
    for drain in (estimate.drain_cycles, estimate.drain_cycles_by_pace):
        assert drain is not None and abs(drain - took) < 0.25 * took
    assert max(tb.cycles_left for tb in estimate.tbs) == estimate.drain_cycles
    assert estimate.tb_cycles is not None and abs(estimate.tbs[0].cycles + estimate.tbs[0].by_time
                                                  - estimate.tb_cycles) <= 1


def test_an_earlier_launch_says_how_many_instructions(device):
    launch = even(device)
    first = launch()
    device.wait(first)
    usual = device.estimate(first).tb_instructions
    second = launch()
    device.advance(150)
    estimate = device.estimate(second)
    assert estimate.tb_cycles is None and estimate.tb_instructions == usual
    for tb in estimate.tbs:
        assert tb.by_time is None and tb.cycles_left == tb.by_pace > 0
        left = (usual - tb.instructions) * tb.cycles / tb.instructions  # looking at the TBs has taken time
        assert 0.7 * left < tb.by_pace <= left + 1
    device.wait(second)


def test_a_tb_that_came_back_is_not_whole_and_not_counted(device):
    launch = even(device)()
    device.advance(300)
    assert device.preempt(launch, "live").tbs == 2
    device.resume(launch)
    device.advance(100)
    estimate = device.estimate(launch)
    assert [tb.whole for tb in estimate.tbs] == [False] * 2 and all(tb.cycles < 1000 for tb in estimate.tbs)
    device.wait(launch)
    assert profile(device, launch)[0] == EVEN_BLOCKS - 2


def test_an_aborted_preempt_leaves_what_was_not_saved_whole(device):
    launch = even(device)()
    device.advance(300)
    device.begin_preempt(launch, grace="unlimited")
    device.advance(20)
    device.abort(launch)
    assert all(tb.whole for tb in device.estimate(launch).tbs)
    device.wait(launch)
    assert profile(device, launch)[0] == EVEN_BLOCKS


def test_a_tb_that_faults_is_not_counted(device):
    launch = even(device, bad=3)()
    with pytest.raises(KernelFault):
        device.wait(launch)
    tbs, _, instructions = profile(device, launch)
    assert tbs == EVEN_BLOCKS - 1 and instructions < device.read("retired")


def test_a_new_launch_begins_anew_and_a_killed_one_counts_nothing(device):
    launch = even(device)
    device.wait(launch())
    second = launch()
    assert profile(device, second)[0] in (0, 1)
    device.advance(100)
    device.kill(second)
    assert profile(device, second)[0] == 0
    third = launch()
    device.wait(third)
    assert profile(device, third)[0] == EVEN_BLOCKS


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_a_machine_that_does_not_count_says_so(backend):
    with open_device(backend, TINY.replace(name="strict", profile=False), memory_bytes=1 << 20) as device:
        launch = even(device)()
        device.advance(200)
        with pytest.raises(DriverError, match="profile = false"):
            device.estimate(launch)
        device.write("inspect", warp=0, entry=0)
        assert device.read("inspect_tb_cycles") == device.read("inspect_tb_instructions") == 0
        assert not device.fields("inspect_state")["whole"]
        device.wait(launch)
        assert profile(device, launch) == [0, 0, 0]
