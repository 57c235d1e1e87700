"""Preempts of some thread blocks of a launch, each in a way of its own, through the Python API, on both machines."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import CommandRefused, DriverError
from support.programs.stirring import Stirring
from support.programs.uneven import Uneven
from support.selection import quick

G = preset("tiny").replace(name="four", warps=8, tb_slots=4, registers=256)
LONG = 1 << 20


@pytest.fixture(params=["golden", pytest.param("rtl", marks=pytest.mark.full)])
def device(request):
    with open_device(request.param, G, memory_bytes=1 << 20) as device:
        yield device


def resident(device):
    return device.fields("status")["resident"]


def taken_over(work):
    """Another machine with the same memory adopts the kernel and runs it to its end."""
    with open_device("golden", G, memory_bytes=1 << 20) as fresh:
        fresh.transport.write_memory(0, work.launch.device.transport.read_memory(0, 1 << 20))
        launch = fresh.adopt(work.launch.handle, work.launch.kernel.image)
        fresh.resume(launch)
        fresh.wait(launch)


def test_one_after_the_other_leaves_and_all_come_back(device):
    work = Uneven(device, 200)
    device.advance(100)
    for left in (3, 2, 1, 0):
        first, *others = device.resident_tbs(work.launch)
        report = device.preempt(work.launch, "live+cp", tbs=[first], scramble=True)
        assert report is not None and report.tbs == 1 and len(others) == left
        assert device.resident_tbs(work.launch) == others and resident(device) == left
        assert work.launch.state is KernelState.PREEMPTED
        device.advance(30)
    assert sorted(tb.launch_id for tb in device.context(work.launch)) == [0, 1, 2, 3]
    with pytest.raises(CommandRefused):
        device.preempt(work.launch, scramble=True)
    device.resume(work.launch)
    work.finishes()


def test_the_others_run_on_and_no_fresh_ones_begin(device):
    work = Uneven(device)
    device.advance(60)
    *_, last = device.resident_tbs(work.launch)
    report = device.preempt(work.launch, "live", tbs=[last])
    assert report is not None and report.tbs == 1
    device.advance(20_000)
    assert resident(device) == 0 and work.launch.progress[0] == 3 and work.launch.state is KernelState.PREEMPTED
    report = device.preempt(work.launch)  # all that were left have ended: the record alone is written
    assert report is not None and report.tbs == 0 and work.launch.state is KernelState.PREEMPTED
    with pytest.raises(CommandRefused):
        device.preempt(work.launch)
    assert work.launch.progress[0] == 3
    device.resume(work.launch)
    work.finishes()


def test_switch_flush_and_drain_in_one_kernel(device):
    """As Chimera has it: each thread block in the way that suits it."""
    work = Uneven(device, 100)
    device.advance(200)
    a, b, *rest = device.resident_tbs(work.launch)
    dropped = device.preempt(work.launch, tbs=[b], restart=True)
    switched = device.preempt(work.launch, "live+tb", tbs=[a])
    assert dropped is not None and switched is not None
    assert (dropped.tbs, dropped.registers, switched.tbs) == (1, 0, 1) and switched.registers
    device.begin_preempt(work.launch, grace="unlimited")
    other = Stirring(device, 2)  # has the room meanwhile
    other.finishes()
    drained = device.finish_preempt(work.launch)
    assert drained is not None and drained.tbs == 0 and work.launch.progress[0] == len(rest) == 2
    pcs = {tb.launch_id: {warp.pc for warp in tb.warps} for tb in device.context(work.launch)}
    assert pcs[b] == {0} and 0 not in pcs[a]
    device.resume(work.launch, gang=True)
    work.finishes()


@pytest.mark.parametrize("mechanism", ["occupied", "live", "live+cp", "live+tb"])
def test_barriers_and_shared_memory_of_those_that_run_on(device, mechanism):
    """The kernel that uses everything: its other TBs cross barriers while some are saved, again and again."""
    work = Stirring(device, 6)
    for turn in range(6):
        device.advance(150)
        here = device.resident_tbs(work.launch)
        if work.launch.finished:
            break
        report = device.preempt(work.launch, mechanism, tbs=here[turn % 2::2], scramble=True)
        if report is None:
            break
        device.advance(100)
        device.resume(work.launch)
    work.finishes()


BARRIERS = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry barriers(.param .u64 output)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [output];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a1, %r4, 4;
    add.u64 %a0, %a0, %a1;
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra LONG;
SHORT
    bra DONE;
LONG:
STRETCH
DONE:
    st.global.u32 [%a0], %r4;
    ret;
}
""".replace("SHORT", 12 * "    bar.sync 0;\n").replace("STRETCH", 150 * "    mad.lo.u32 %r4, %r4, 3, %r3;\n")


def test_barriers_are_crossed_while_another_has_far_to_go(device):
    output = device.zeros(2 * 16, np.uint32)
    kernel = device.load(compile_ptx(BARRIERS, options=CompileOptions(interval=1000)).values())["barriers"]
    launch = kernel(2, 16, [output])
    device.advance(30)
    device.begin_preempt(launch, "live", patience="unlimited", tbs=[0])
    device.advance(60)
    device.finish_preempt(launch)
    device.advance(1000)
    assert resident(device) == 0, "it waits at a barrier"
    assert launch.finished, "nothing of it is saved, and all have ended"
    expected = np.arange(32, dtype=np.uint32)
    for _ in range(150):
        expected[:16] = expected[:16] * 3 + np.arange(16)
    assert np.array_equal(output, expected)


def test_an_abort_leaves_those_that_were_spared_alone(device):
    work = Stirring(device, 8)
    device.advance(300)
    device.begin_preempt(work.launch, "live", patience="unlimited", tbs=device.resident_tbs(work.launch)[:2])
    device.abort(work.launch)
    assert work.launch.state in (KernelState.RUNNING, KernelState.RESUMING)
    work.finishes()


def test_kill_takes_both_what_is_saved_and_what_runs(device):
    work = Stirring(device, LONG)
    device.advance(300)
    here = device.resident_tbs(work.launch)
    device.preempt(work.launch, "live", tbs=here[1:3])
    assert resident(device) == len(here[:1] + here[3:]) < len(here)
    device.kill(work.launch)
    assert resident(device) == 0 and work.launch.ended
    Stirring(device, 2).finishes()


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["golden"]))
def test_one_of_two_is_saved_while_the_other_ends(backend):
    with open_device(backend, preset("tiny"), memory_bytes=1 << 20) as device:
        for chosen in (0, 1):
            work = Uneven(device, 60)
            device.advance(150)
            here = device.resident_tbs(work.launch)
            report = device.preempt(work.launch, "live+cp", tbs=[here[chosen]], scramble=True)
            assert report is not None and report.tbs == 1 and resident(device) == 1
            assert device.resident_tbs(work.launch) == [here[1 - chosen]]
            report = device.preempt(work.launch, grace="unlimited", scramble=True)
            assert report is not None and report.tbs == 0 and report.grace_cycles and work.launch.progress[0] == 1
            device.resume(work.launch)
            work.finishes()


def test_none_and_unknown_ones(device):
    """What is not on the SM is not there to be preempted; that is no error, since it may have ended meanwhile."""
    work = Uneven(device, 100)
    device.advance(100)
    for tbs in ([], [77], range(40, 44)):
        report = device.preempt(work.launch, tbs=tbs)
        assert report is not None and report.tbs == 0 and resident(device) == 4
    assert work.launch.state is KernelState.PREEMPTED and work.launch.outcome is CommandError.NONE
    device.resume(work.launch)
    with pytest.raises(DriverError, match="tbs"):
        device.preempt(work.launch, tbs=["first"])
    work.finishes()


def test_grace_does_not_wait_for_those_that_are_spared(device):
    work = Uneven(device, 200)
    device.advance(100)
    first, *_ = device.resident_tbs(work.launch)  # the shortest
    report = device.preempt(work.launch, tbs=[first], grace="unlimited")
    assert report is not None and report.tbs == 0 and resident(device) == 3
    device.resume(work.launch)
    work.finishes()


def test_one_scramble_a_launch(device):
    work = Uneven(device, 200)
    device.advance(100)
    device.preempt(work.launch, tbs=[0], scramble=True)
    with pytest.raises(DriverError, match="another `scramble`"):
        device.preempt(work.launch)
    device.preempt(work.launch, scramble=True)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("ways", [[None], [[0, 1, 2, 3]], [[0, 1], [2, 3]], [[3], [1, 2], None]])
def test_what_takes_the_last_ones_leaves_a_record(ways):
    """Whoever is named: another machine can take the kernel over when nothing of it is left on the SM."""
    with open_device("golden", G, memory_bytes=1 << 20) as device:
        work = Uneven(device, 200)
        device.advance(100)
        for tbs in ways:
            device.preempt(work.launch, "live", tbs=tbs)
        assert resident(device) == 0
        taken_over(work)


def test_a_kernel_of_which_some_run_cannot_be_taken_over():
    with open_device("golden", G, memory_bytes=1 << 20) as device:
        work = Uneven(device, 100)
        device.advance(100)
        device.preempt(work.launch, "live", tbs=device.resident_tbs(work.launch)[:2])
        with pytest.raises(CommandRefused, match="memory does not hold it"):
            taken_over(work)
        assert device.preempt(work.launch, "live")
        taken_over(work)


@pytest.mark.parametrize("ended", (False, True))
def test_a_resume_that_is_aborted_before_its_turn_leaves_the_others_to_their_end(device, ended):
    """Nothing is saved, and the last thread block ends before or after the abort."""
    kernel = device.load(compile_ptx(BARRIERS, options=CompileOptions(interval=1000)).values())["barriers"]
    output, second = (device.zeros(2 * 16, np.uint32) for _ in range(2))
    launch = kernel(2, 16, [output])
    device.advance(30)
    device.begin_preempt(launch, grace="unlimited", tbs=[1])
    report = device.finish_preempt(launch)
    assert report is not None and report.tbs == 0 and device.resident_tbs(launch) == [0]
    other = kernel(1, 16, [second])
    device.advance(30)
    device.begin_preempt(other, "live", patience="unlimited")  # until its only thread block has ended
    device.begin_resume(launch)
    while ended and device.resident_tbs(launch):
        device.advance(10)
    device.abort(launch)
    device.advance(2)
    assert launch.finished == ended and not other.finished
    device.advance(2000)
    assert launch.finished and other.finished
