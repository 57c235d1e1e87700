"""A launch preempted in part keeps its kernel slot, whether the rest still runs or has ended by itself. Neither the
driver nor a command written past it takes what memory does not hold."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.software.driver import CommandRefused, DriverError, NoSlot
from support.programs.stirring import BLOCKS, Stirring
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 21
GEOMETRIES = {"tiny": preset("tiny"), "two": DEVICE}
MACHINES = ["golden-tiny", "golden-two", "rtl-tiny", "rtl-two"]


@pytest.fixture(params=MACHINES)
def device(request):
    backend, geometry = request.param.split("-")
    with open_device(backend, GEOMETRIES[geometry], memory_bytes=MEMORY) as device:
        yield device


def in_part(device, ended):
    """A launch of which one thread block is saved; the others on the SMs run, or have ended since."""
    work = Stirring(device, 4)
    device.advance(300)
    resident = device.resident_tbs(work.launch)
    assert len(resident) > 1
    assert device.preempt(work.launch, "occupied", tbs=resident[:1]).tbs == 1
    if ended:
        device.advance(30_000)
    assert bool(device.resident_tbs(work.launch)) != ended
    assert work.launch.state is KernelState.PREEMPTED and work.launch.progress[0] < BLOCKS
    return work


def states_of(device, launch):
    """The state of a launch on each SM."""
    host, found = device.launcher.host, []
    for sm in range(device.geometry.sms):
        with host.of_sm(sm):
            found.append(KernelState(host.fields(f"kernel[{launch.slot}].state")["state"]))
    return found


def refusal(device, launch):
    """Write a release past the driver; return why the machine does not take it."""
    with pytest.raises(CommandRefused, match="memory does not hold all of the kernel") as refused:
        device.launcher.command(Command.RELEASE, launch)
    return refused.value.error


@pytest.mark.parametrize("device", quick(MACHINES, ["golden-two", "rtl-tiny"]), indirect=True)
@pytest.mark.parametrize("ended", quick([False, True], [False]), ids=["the rest runs", "the rest has ended"])
def test_its_slot_is_not_given_up(device, ended):
    work = in_part(device, ended)
    with pytest.raises(DriverError, match="memory does not hold all of it; preempt it once more, as a whole"):
        device.release_slot(work.launch)
    sms = device.geometry.sms
    with pytest.raises(DriverError, match="keeps its kernel slot"):
        device.move(work.launch, [*range(sms)][::-1])
    assert refusal(device, work.launch) is CommandError.NOT_IN_MEMORY
    others = [Stirring(device, 1, seed) for seed in range(2, 1 + device.geometry.kernel_slots)]
    with pytest.raises(NoSlot):
        Stirring(device, 1, 9)
    device.resume(work.launch)
    for each in (work, *others):
        each.finishes()


@pytest.mark.parametrize("device", quick(MACHINES, ["golden-tiny", "rtl-tiny"]), indirect=True)
@pytest.mark.parametrize("ended", quick([False, True], [True]), ids=["the rest runs", "the rest has ended"])
def test_preempted_once_more_as_a_whole_it_gives_its_slot_up(device, ended):
    work = in_part(device, ended)
    assert device.preempt(work.launch) is not None
    with pytest.raises(CommandRefused) as refused:
        device.preempt(work.launch)
    assert refused.value.error is CommandError.NOT_RUNNING
    device.move(work.launch, [*range(device.geometry.sms)][::-1])
    others = [Stirring(device, 1, seed) for seed in range(2, 2 + device.geometry.kernel_slots)]
    for each in others:
        each.finishes()
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(MACHINES, ["golden-two", "rtl-tiny"]), indirect=True)
def test_what_has_run_since_its_record_is_not_given_up(device):
    """Preempted as a whole, resumed, and preempted in part again: the record in memory is of before."""
    work = Stirring(device, 8)
    device.advance(300)
    assert device.preempt(work.launch)
    device.resume(work.launch)
    device.advance(100)
    assert device.preempt(work.launch, tbs=device.resident_tbs(work.launch)[:1])
    assert refusal(device, work.launch) is CommandError.NOT_IN_MEMORY
    device.resume(work.launch)
    work.finishes()


def test_a_resume_that_brought_nothing_back_leaves_the_record_valid():
    """It waits for room that another launch has, and is withdrawn: memory still holds all."""
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        work = Stirring(device, 4)
        device.advance(300)
        assert device.preempt(work.launch)
        other = Stirring(device, 1 << 30, 2)
        device.advance(300)
        device.begin_resume(work.launch)
        device.advance(100)
        assert work.launch.state is KernelState.RESUMING
        device.abort(work.launch)
        device.release_slot(work.launch)
        device.kill(other.launch)
        device.resume(work.launch)
        work.finishes()


@pytest.mark.parametrize("state", [KernelState.RUNNING, KernelState.FINISHED])
def test_what_is_not_preempted_is_not_released(state):
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        work = Stirring(device, 1)
        if state is KernelState.FINISHED:
            work.finishes()
        with pytest.raises(CommandRefused) as refused:
            device.launcher.command(Command.RELEASE, work.launch)
        assert refused.value.error is (CommandError.BUSY if state is KernelState.RUNNING else CommandError.NOT_RUNNING)
        work.finishes()


@pytest.mark.parametrize("device", ["rtl-two"], indirect=True)
def test_what_has_ended_on_an_sm_is_to_be_resumed(device):
    """An SM that has found the grid used up has ended when the launch is taken from memory, and memory has no record of
    it afterwards. A preempt once more would be refused, and is not advised."""
    work = Stirring(device, 30)
    while work.launch.progress[0] < BLOCKS - 1:
        device.advance(20)
    for _ in range(2):
        assert device.preempt(work.launch).tbs == 1
        device.release_slot(work.launch)
        device.resume(work.launch)
        device.advance(100)
    assert set(states_of(device, work.launch)) == {KernelState.RUNNING, KernelState.FINISHED}
    assert device.preempt(work.launch).tbs == 1
    with pytest.raises(DriverError, match="keeps its kernel slot: it has ended on SM [01], which memory does not say; "
                                          "resume it"):
        device.release_slot(work.launch)
    assert refusal(device, work.launch) is CommandError.NOT_IN_MEMORY
    device.resume(work.launch)
    work.finishes()
