"""Preempts that give thread blocks time to run to their end, through the Python API, on both machines."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.software.driver import CycleLimit, DriverError
from support.programs.stirring import BLOCKS, Stirring
from support.programs.uneven import UNEVEN_BLOCKS, Uneven
from support.selection import quick

TINY = preset("tiny")
LONG = 1 << 20


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def test_thread_blocks_run_to_their_end_and_no_fresh_ones_begin(device):
    work = Stirring(device, 3)
    device.advance(300)
    report = device.preempt(work.launch, "live+cp", grace="unlimited")
    assert report is not None and report.tbs == report.data_bytes == 0 and report.way.grace == "unlimited"
    assert report.grace_cycles > 0 == report.drain_cycles
    done, of_all = work.launch.progress
    assert 0 < done < of_all == BLOCKS and work.launch.state is KernelState.PREEMPTED
    assert device.fields("status")["resident"] == 0 and not device.context(work.launch)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_what_has_not_ended_by_then_is_saved(device):
    """TBs end one after the other: the longer the grace, the more of them, and none is lost."""
    found = set()
    for grace in (0, 1, 40, 100, 160, 250, 400, 600, 800, 4000):
        work = Uneven(device)
        device.advance(120)
        report = device.preempt(work.launch, "live", grace=grace, scramble=True)
        assert report is not None and report.way.grace == grace
        assert report.grace_cycles == grace if report.tbs else report.grace_cycles <= grace
        done, _ = work.launch.progress
        assert done + report.tbs == min(UNEVEN_BLOCKS, TINY.tb_slots), "all that had begun, and no other"
        assert len(device.context(work.launch)) == report.tbs
        found.add(report.tbs)
        device.resume(work.launch)
        work.finishes()
    assert found >= {0, min(UNEVEN_BLOCKS, TINY.tb_slots)} and len(found) > 2, found


def test_it_may_finish_in_its_grace(device):
    work = Uneven(device)
    for _ in range(UNEVEN_BLOCKS):
        device.advance(200)
        report = device.preempt(work.launch, grace="unlimited")
        if report is None:
            break
        device.resume(work.launch)
    else:
        pytest.fail("it has not finished")
    assert work.launch.finished
    work.finishes()


def test_another_has_the_room_that_becomes_free_and_may_be_preempted_and_resumed(device):
    first = Uneven(device, 200)
    device.advance(120)
    device.begin_preempt(first.launch, "live", grace="unlimited")
    second = Stirring(device, 4)
    device.advance(400)
    assert first.launch.state is KernelState.PREEMPTING
    assert device.preempt(second.launch, "live+cp").way.grace == 0
    device.resume(second.launch)
    assert first.launch.state is KernelState.PREEMPTING, "the engine waited for it"
    second.finishes()
    report = device.finish_preempt(first.launch)
    assert report is not None and report.tbs == 0
    device.resume(first.launch)
    first.finishes()


def test_a_kernel_that_never_ends_is_hastened(device):
    work = Stirring(device, LONG)
    device.advance(300)
    with pytest.raises(CycleLimit, match="preempt of kernel 'stir' has not ended"):
        device.preempt(work.launch, "live+cp", grace="unlimited", max_cycles=2000)
    assert work.launch.state is KernelState.PREEMPTING
    device.hasten(work.launch)
    report = device.finish_preempt(work.launch)
    assert report is not None and report.tbs == TINY.tb_slots and report.grace_cycles >= 2000 > report.save_cycles
    device.resume(work.launch)
    device.kill(work.launch)


def test_it_is_aborted_and_has_no_grace_the_next_time(device):
    work = Stirring(device, 6)
    device.advance(300)
    device.begin_preempt(work.launch, grace="unlimited")
    device.advance(50)
    device.abort(work.launch)
    assert work.launch.state is KernelState.RUNNING and work.launch.outcome is CommandError.ABORTED
    report = device.preempt(work.launch)
    assert report is not None and report.tbs and report.way.grace == report.grace_cycles == 0
    device.resume(work.launch)
    work.finishes()


def test_it_is_killed(device):
    work = Stirring(device, LONG)
    device.advance(300)
    device.begin_preempt(work.launch, grace="unlimited")
    device.advance(50)
    device.kill(work.launch)
    assert work.launch.ended and device.fields("status")["resident"] == 0
    device.advance(50)
    Stirring(device, 2).finishes()


def test_tbs_that_a_withdrawn_resume_brought_back_have_grace(device):
    work = Stirring(device, 3)
    device.advance(300)
    device.preempt(work.launch, "live")
    device.begin_resume(work.launch)
    device.advance(40)
    report = device.preempt(work.launch, "live", grace="unlimited")
    assert report is not None and report.tbs == 0 and device.fields("status")["resident"] == 0
    done, _ = work.launch.progress
    assert done + len(device.context(work.launch)) == TINY.tb_slots
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("grace", [-1, 1 << 32, 1.5, "long", True, None])
def test_what_is_no_grace_is_refused_and_nothing_happens(grace):
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        work = Stirring(device, 2)
        with pytest.raises(DriverError, match="grace .*'unlimited', is wanted"):
            device.preempt(work.launch, grace=grace)
        assert work.launch.state is KernelState.RUNNING
        work.finishes()


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_a_machine_without_grace_gives_none(backend):
    with open_device(backend, TINY.replace(name="strict", grace=False), memory_bytes=1 << 20) as device:
        work = Stirring(device, 3)
        device.advance(100)
        with pytest.raises(DriverError, match=r"gives no grace: its geometry says grace = false"):
            device.preempt(work.launch, grace=5)
        device.write("grace", 5)
        device.write("command", op=Command.PREEMPT, kernel=work.launch.slot, mechanism=0)
        assert device.fields("status")["error"] == CommandError.UNKNOWN
        report = device.preempt(work.launch)
        assert report is not None and report.tbs
        device.resume(work.launch)
        work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_what_a_preempt_is_given_is_written_when_it_changes_and_after_others_have(device):
    """Writing takes a cycle of the kernel that is to be preempted."""
    written = []
    plain = device.transport.write_register
    device.transport.write_register = lambda address, value: written.append(address) or plain(address, value)
    work, grace = Uneven(device, 200), device.host._registers["grace"].address
    for given, times in ((0, 0), (7, 1), (7, 0), (0, 1), (0, 0)):
        device.advance(50)
        written.clear()
        report = device.preempt(work.launch, grace=given)
        assert report is not None and written.count(grace) == times
        device.resume(work.launch)
    device.write("grace", 9)
    before = device.transport.snapshot(), device.host_state()
    assert device.preempt(work.launch, grace=0).grace_cycles == 0 and device.read("grace") == 0
    device.transport.restore(before[0])
    device.set_host_state(before[1])
    report = device.preempt(work.launch, grace=9)
    assert report is not None and report.grace_cycles == 9
    device.resume(work.launch)
    work.finishes()
