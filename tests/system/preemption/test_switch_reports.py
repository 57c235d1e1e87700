"""What preempts and resumes report is of the launch that was asked about, or nothing."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.software.driver import DriverError
from support.programs.stream_work import Appending

LONG = 1 << 20


@pytest.fixture(params=["golden", pytest.param("rtl", marks=pytest.mark.full)])
def device(request):
    with open_device(request.param, "gtx480", memory_bytes=1 << 23) as device:
        yield device


def spin(device, tbs, warps=1):
    """Return a launch of some TBs that runs for long, and is on the SM as a whole."""
    work = Appending(device, LONG)
    launch = work.kernel(tbs, 32 * warps, [work.log, work.cursor, 0, LONG])
    while len(device.resident_tbs(launch)) < tbs:
        device.advance(20)
    return launch


def test_what_was_not_begun_has_no_end(device):
    first = spin(device, 2)
    assert device.preempt(first).tbs == 2
    device.kill(first)
    launch = spin(device, 1)
    assert launch.slot == first.slot
    with pytest.raises(DriverError, match="no preempt or checkpoint of kernel 'append' has been begun; begin one"):
        device.finish_preempt(launch)
    with pytest.raises(DriverError, match="no resume of kernel 'append' has been begun; begin one"):
        device.finish_resume(launch)
    device.preempt(launch)
    with pytest.raises(DriverError, match="no resume .* has been begun since its last preempt"):
        device.finish_resume(launch)
    device.resume(launch)
    with pytest.raises(DriverError, match="no preempt or checkpoint .* has been begun since its last resume"):
        device.finish_preempt(launch)
    assert launch.state is KernelState.RUNNING
    assert device.checkpoint(launch).tbs == device.finish_preempt(launch).tbs == 1  # asked twice
    device.begin_preempt(launch, grace="unlimited")
    device.kill(launch)
    with pytest.raises(DriverError, match="was killed while it was preempted"):
        device.finish_preempt(launch)


def test_two_preempts_and_resumes_at_the_same_time(device):
    """The counters are of the one that was carried out last."""
    first, second = spin(device, 2), spin(device, 1, 2)
    device.begin_preempt(first)
    device.begin_preempt(second)
    one, two = device.finish_preempt(first), device.finish_preempt(second)
    assert not one.counted and one.tbs is one.save_cycles is one.occupied_bytes is None
    assert two.counted and (two.tbs, two.warps) == (1, 2)
    assert (len(device.context(first)), len(device.context(second))) == (2, 1)
    device.begin_resume(first)
    device.begin_resume(second)
    one, two = device.finish_resume(first), device.finish_resume(second)
    assert not one.counted and not two.counted and one.restore_cycles is two.bytes is None
    assert device.preempt(first).tbs == 2 and device.resume(first).restore_cycles > 0
    device.kill(first)
    device.kill(second)


def test_the_report_of_a_launch_without_slot_is_not_anothers(device):
    first = spin(device, 2)
    device.preempt(first)
    device.release_slot(first)
    second = spin(device, 1)
    assert second.slot == first.slot and device.preempt(second, "occupied").tbs == 1
    report = device.finish_preempt(first)
    assert report.way.mechanism.label == "live" and not report.counted
    device.kill(first)
    device.kill(second)


def test_who_has_grace_comes_later():
    with open_device("golden", "gtx480", memory_bytes=1 << 23) as device:
        first, second = spin(device, 2), spin(device, 1)
        device.begin_preempt(first, grace="unlimited")
        assert not (report := device.preempt(second)).counted and report.grace_cycles == 0
        device.hasten(first)
        report = device.finish_preempt(first)
        assert report.counted and report.tbs == 2 and report.grace_cycles > 0
        device.kill(first)
        device.kill(second)
