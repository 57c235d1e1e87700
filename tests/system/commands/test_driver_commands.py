"""Launches that are aborted, hastened and killed through the Python API, on both machines."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.software.driver import CommandRefused, CycleLimit, DriverError
from support.programs.stirring import BLOCKS, Stirring
from support.selection import quick

TINY = preset("tiny")
LONG = 1 << 20


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def test_a_killed_launch_has_ended_and_its_slot_and_memory_are_free(device):
    system, launches = device.system.free_bytes, []
    for state in ("running", "preempting", "preempted", "resuming"):
        work = Stirring(device, LONG)
        device.advance(300)
        if state == "preempting":
            device.begin_preempt(work.launch, "live", patience="unlimited")
        elif state != "running":
            device.preempt(work.launch, "live+cp")
        if state == "resuming":
            device.begin_resume(work.launch)
        assert not work.launch.ended
        device.kill(work.launch)
        assert work.launch.ended and not work.launch.finished and work.launch.state is KernelState.IDLE
        assert device.fields("status")["resident"] == 0 and "idle" in repr(work.launch)
        device.kill(work.launch)  # it stays as it is
        with pytest.raises(DriverError, match="was killed; launch it again"):
            device.wait(work.launch)
        launches.append((work.launch, work.launch.progress))
        again = Stirring(device, 2, seed=2)
        again.finishes()
        assert again.launch.progress == (BLOCKS, BLOCKS)
        assert again.launch.slot == work.launch.slot, "the slot is not free"
        device.kill(again.launch)  # has finished
        device.wait(again.launch)
    for launch, progress in launches:  # the slot has had other owners
        device.kill(launch)
        assert launch.state is KernelState.IDLE and launch.progress == launch.peek_progress() == progress
        assert progress[0] < progress[1]
    device.kill(again.launch)
    del work, again, launches, launch
    assert device.system.free_bytes > system - 8 * 1024


def test_a_preempt_that_is_aborted_leaves_the_launch_running(device):
    work = Stirring(device, 6)
    for _ in range(3):
        device.advance(250)
        device.begin_preempt(work.launch, "live", patience="unlimited")
        device.abort(work.launch)
        assert work.launch.state is KernelState.RUNNING
    with pytest.raises(CommandRefused, match="abort of kernel 'stir': .*; the kernel is running$") as refused:
        device.abort(work.launch)
    assert refused.value.error is CommandError.NOT_RUNNING and refused.value.state is KernelState.RUNNING
    with pytest.raises(CommandRefused, match="hasten"):
        device.hasten(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_a_resume_waits_for_room_is_aborted_or_gets_the_room_of_who_is_preempted(device):
    first = Stirring(device, 40)
    device.advance(400)
    assert device.preempt(first.launch, "live")
    second = Stirring(device, LONG, seed=2)
    device.advance(400)
    with pytest.raises(CycleLimit, match="resume of kernel 'stir' has not ended"):
        device.resume(first.launch, max_cycles=1000)
    assert first.launch.state is KernelState.RESUMING
    device.abort(first.launch)
    assert first.launch.state is KernelState.PREEMPTED and first.launch.outcome is CommandError.ABORTED
    device.begin_resume(first.launch)
    device.advance(500)
    assert device.preempt(second.launch, "occupied").tbs
    assert device.finish_resume(first.launch).restore_cycles > 500
    first.finishes()
    device.resume(second.launch)
    device.kill(second.launch)


def test_a_preempt_is_hastened(device):
    work = Stirring(device, 6)
    device.advance(300)
    device.begin_preempt(work.launch, "live", patience="unlimited")
    try:
        device.hasten(work.launch)
    except CommandRefused as refused:  # it was over by then
        assert refused.error is CommandError.NOT_RUNNING
    assert device.finish_preempt(work.launch).tbs
    device.resume(work.launch)
    work.finishes()
