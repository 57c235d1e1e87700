"""A preempted launch without a kernel slot: nothing of it is lost, and more launches are begun than there are slots."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, DriverError, LaunchError, NoSlot
from support.programs.shared_counters import spilled
from support.programs.stirring import BLOCKS, Stirring
from support.programs.uneven import Uneven
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 21
GEOMETRIES = {"tiny": preset("tiny"), "two": DEVICE}
WAYS = [{"mechanism": "occupied"}, {}, {"mechanism": "live+cp"}, {"mechanism": "live+tb"}, {"grace": 150},
        {"patience": "unlimited"}, {"scramble": True}]


@pytest.fixture(params=["golden-tiny", "golden-two", "rtl-tiny", pytest.param("rtl-two", marks=pytest.mark.full)])
def device(request):
    backend, geometry = request.param.split("-")
    with open_device(backend, GEOMETRIES[geometry], memory_bytes=MEMORY) as device:
        yield device


def away(device, rounds=4, cycles=500, **how):
    """A launch that was preempted and has no slot."""
    work = Stirring(device, rounds)
    device.advance(cycles)
    assert device.preempt(work.launch, **how)
    device.release_slot(work.launch)
    assert work.launch.away is not None and device.launches == {}
    return work


@pytest.mark.parametrize("how", quick(WAYS, WAYS[::3]), ids=str)
def test_it_comes_back_with_the_next_command(device, how):
    work = away(device, **how)
    progress = work.launch.progress
    assert work.launch.state is KernelState.PREEMPTED and 0 <= progress[0] < progress[1]
    assert f"{progress[0]:,} of {progress[1]:,} TBs" in repr(work.launch)
    neighbours = [Stirring(device, 1, seed) for seed in range(2, 6)]
    for other in neighbours:
        other.finishes()
    assert device.resume(work.launch).bytes
    work.finishes()


@pytest.mark.parametrize("moment", quick(range(0, 4000, 40), [0, 400, 1200, 2000]))
@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_at_any_moment_again_and_again(backend, moment):
    """Away and back three times, each time in another slot than before."""
    with open_device(backend, "tiny", memory_bytes=MEMORY) as device:
        work = Stirring(device, 4)
        device.advance(moment)
        for n in range(3):
            if device.preempt(work.launch, "live+cp") is None:
                break
            device.release_slot(work.launch)
            other = Stirring(device, 1, n + 2)
            device.resume(work.launch)
            other.finishes()
            device.advance(100)
        work.finishes()


def test_more_launches_than_slots(device):
    """Whoever finds all slots in use takes that of one which is preempted."""
    g, work = device.geometry, []
    for seed in range(2 * g.kernel_slots + 1):
        work.append(Stirring(device, 2, seed))
        device.advance(150)
        device.preempt(work[-1].launch)
    assert len([each for each in work if each.launch.away is not None]) == g.kernel_slots + 1
    for each in reversed(work):
        if each.launch.state is KernelState.PREEMPTED:
            device.resume(each.launch)
        each.finishes()


def test_what_runs_keeps_its_slot(device):
    slots = [Stirring(device, 1 << 30, seed) for seed in range(device.geometry.kernel_slots)]
    with pytest.raises(NoSlot, match="all 4 kernel slots are in use; wait for a launch to finish, preempt or kill one"):
        Stirring(device, 1)
    device.preempt(slots[2].launch)
    late = Stirring(device, 1)
    assert late.launch.slot == 2 and slots[2].launch.away is not None
    with pytest.raises(NoSlot):
        device.resume(slots[2].launch)
    assert slots[2].launch.away is not None and slots[2].launch.state is KernelState.PREEMPTED
    for n in (0, 1, 3):
        device.kill(slots[n].launch)
    late.finishes()
    device.resume(slots[2].launch)
    device.kill(slots[2].launch)


def test_counters_go_on(device):
    work = Stirring(device, 8)
    for n in range(3):
        device.advance(300)
        assert device.preempt(work.launch, "occupied")
        device.release_slot(work.launch)
        switches = work.launch.switches
        device.resume(work.launch)
        assert (switches.at_once, switches.resumed, work.launch.switches.resumed) == (n + 1, n, n + 1)
    work.finishes()


def test_an_increment_and_restarted_thread_blocks(device):
    """A base and its increment, and thread blocks of which nothing is saved."""
    work = Stirring(device, 4)
    device.advance(300)
    device.checkpoint(work.launch)
    device.advance(200)
    assert device.preempt(work.launch, incremental=True)
    device.release_slot(work.launch)
    device.resume(work.launch)
    work.finishes()
    again = Uneven(device)
    device.advance(400)
    assert device.preempt(again.launch, restart=True)
    device.release_slot(again.launch)
    Stirring(device, 1).finishes()
    device.resume(again.launch)
    again.finishes()


def test_it_can_be_looked_at_and_killed(device):
    work = Stirring(device, 4)
    device.advance(500)
    device.preempt(work.launch)
    saved = repr(device.context(work.launch))
    device.release_slot(work.launch)
    device.release_slot(work.launch)  # again: nothing to do
    assert repr(device.context(work.launch)) == saved and work.launch.away is not None
    with pytest.raises(CommandRefused) as refused:  # nothing is on the SM: it has come back for the question
        device.preempt(work.launch)
    assert refused.value.error is CommandError.NOT_RUNNING and work.launch.away is None
    device.release_slot(work.launch)
    free = device.system.free_bytes
    device.kill(work.launch)
    assert work.launch.ended and device.system.free_bytes > free and work.launch.progress[0] < BLOCKS
    with pytest.raises(DriverError):
        device.adopt(work.launch.handle, work.launch.kernel.image)
    with pytest.raises(DriverError, match="has finished, and its slot"):
        device.resume(work.launch)


def test_what_cannot_do_without_a_slot(device):
    work = Stirring(device, 4)
    with pytest.raises(DriverError, match=r"keeps its kernel slot: it is running; preempt it first"):
        device.release_slot(work.launch)
    device.advance(300)
    device.preempt(work.launch, in_place=True)
    with pytest.raises(DriverError, match=r"some of it is still on the SM; preempt it without in_place"):
        device.release_slot(work.launch)
    device.preempt(work.launch)
    device.release_slot(work.launch)
    device.resume(work.launch)
    work.finishes()
    with pytest.raises(DriverError, match="has ended"):
        device.release_slot(work.launch)
    with open_device("golden", "tiny", memory_bytes=MEMORY) as other:
        with pytest.raises(DriverError, match="another device"):
            other.release_slot(work.launch)
        with pytest.raises(LaunchError, match="was loaded on another device"):
            other.launch(work.launch.kernel, (1, 1, 1), (1, 1, 1), [0, 0, 0, 0, 0])


def test_where_bounds_are_checked_a_launch_keeps_its_slot():
    with open_device("golden", "tiny", memory_bytes=MEMORY, check_bounds=True) as device:
        work = Stirring(device, 4)
        device.advance(300)
        device.preempt(work.launch)
        with pytest.raises(DriverError, match="bounds are checked here"):
            device.release_slot(work.launch)
        device.resume(work.launch)
        work.finishes()


def test_on_one_sm_of_two_it_runs_on():
    """What is preempted on some SMs only is on the others still."""
    with open_device("golden", GEOMETRIES["two"], memory_bytes=MEMORY) as device:
        work = Stirring(device, 20)
        device.advance(300)
        with device.host.of_sm(0):
            device.preempt(work.launch)
        with pytest.raises(DriverError, match="on SM 1 it is running; preempt it there too"):
            device.release_slot(work.launch)
        device.kill(work.launch)


def test_memory_that_fails_while_it_comes_back():
    """It stays away, and comes back when memory answers."""
    with open_device("rtl", "tiny", memory_bytes=MEMORY) as device:
        work = away(device)
        device.transport.add_error_range(ErrorRange(work.launch.ccb_base, work.launch.ccb_base + 4096))
        with pytest.raises(CommandRefused, match="could not be brought back") as refused:
            device.resume(work.launch)
        assert refused.value.error is CommandError.BUS_ERROR
        assert work.launch.away is not None and work.launch.state is KernelState.PREEMPTED
        device.transport.clear_error_ranges()
        device.resume(work.launch)
        work.finishes()


def test_a_launch_whose_preempt_has_failed_keeps_its_slot():
    """Memory does not hold all of it: one SM has saved its part, the other has not."""
    with open_device("rtl", GEOMETRIES["two"], memory_bytes=MEMORY) as device:
        work = Stirring(device, 8)
        device.advance(500)
        place = work.launch.ccb_of(1)
        device.transport.add_error_range(ErrorRange(place, place + 4096))
        with pytest.raises(CommandRefused):
            device.preempt(work.launch)
        assert work.launch.state is KernelState.PREEMPTED
        with pytest.raises(DriverError, match="on SM 1 it is running; preempt it there too"):
            device.release_slot(work.launch)
        device.transport.clear_error_ranges()
        device.resume(work.launch)
        work.finishes()


def test_it_is_part_of_a_snapshot():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        work = away(device)
        kept, state = device.transport.snapshot(), device.host_state()
        for _ in range(2):
            device.transport.restore(kept)
            device.set_host_state(state)
            assert work.launch.away is not None and device.launches == {}
            device.resume(work.launch)
            work.finishes()


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
@pytest.mark.parametrize("make", [Stirring, spilled], ids=["everything", "local memory"])
def test_thread_blocks_come_back_on_another_sm(backend, make):
    """Each SM takes what the other has saved, with its local memory; and back again."""
    with open_device(backend, GEOMETRIES["two"], memory_bytes=MEMORY) as device:
        work = make(device, 8) if make is Stirring else make(device, 12, 400)
        launch = work.launch if make is Stirring else work[0]
        device.advance(600)
        for _ in range(2):
            before = {warp.launch_id: warp.sm for warp in device.warps()}
            assert device.preempt(launch, "live+cp")
            device.move(launch, [1, 0])
            assert launch.away is not None
            device.resume(launch)
            after = {warp.launch_id: warp.sm for warp in device.warps()}
            both = before.keys() & after.keys()
            assert {before[tb] for tb in both} == {0, 1} and all(before[tb] != after[tb] for tb in both)
            device.advance(200)
        if make is Stirring:
            work.finishes()
        else:
            device.wait(launch)
            work[1]()


def test_parts_are_checked():
    with open_device("golden", GEOMETRIES["two"], memory_bytes=MEMORY) as device:
        work = Stirring(device, 8)
        with pytest.raises(DriverError, match="it is running; preempt it first"):
            device.move(work.launch, [1, 0])
        device.advance(300)
        device.preempt(work.launch)
        for parts in ([0], [0, 0], [0, 2], [0, 1, 2]):
            with pytest.raises(DriverError, match=r"parts must name each of the 2 SMs once"):
                device.move(work.launch, parts)
        device.resume(work.launch)
        work.finishes()
