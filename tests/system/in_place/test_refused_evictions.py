"""Memory refuses to take what has stayed on the SM of a thread block: nobody waits for that without an end."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, TRIES
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, CycleLimit
from support.programs.stirring import Stirring

TINY = preset("tiny")
PREEMPTED, RESUMING, RUNNING = KernelState.PREEMPTED, KernelState.RESUMING, KernelState.RUNNING
GIVEN_UP = 2 * TRIES * AGAIN_CYCLES
"""Cycles in which an eviction is given up."""


@pytest.fixture
def device():
    with open_device("rtl", TINY, memory_bytes=1 << 20) as device:
        yield device


def stays(device):
    """Return a launch that is preempted, with all of its thread blocks on the SM; memory refuses its save areas."""
    work = Stirring(device, 12)
    device.advance(900)
    assert device.preempt(work.launch, in_place=True).tbs == TINY.tb_slots
    start = work.launch.ccb_of(0)
    device.transport.add_error_range(ErrorRange(start, start + work.launch.ccb_bytes))
    return work


def test_a_launch_that_gets_no_room_ends_in_an_error_and_goes_on_when_memory_does(device):
    work = stays(device)
    other = Stirring(device, 2, seed=2)
    device.advance(GIVEN_UP // 4)
    assert other.launch.state is RUNNING and other.launch.progress[0] == 0, "it waits while the eviction is tried again"
    device.advance(GIVEN_UP)
    assert (other.launch.state, other.launch.outcome) == (PREEMPTED, CommandError.BUS_ERROR)
    assert work.launch.state is PREEMPTED and work.launch.outcome is CommandError.NONE
    device.transport.clear_error_ranges()
    device.resume(other.launch)
    other.finishes()
    device.resume(work.launch)
    work.finishes()


def test_a_launch_goes_on_when_memory_refuses_for_a_while(device):
    work = stays(device)
    other = Stirring(device, 2, seed=2)
    device.advance(GIVEN_UP // 4)
    device.transport.clear_error_ranges()
    other.finishes()
    device.resume(work.launch)
    work.finishes()


def test_a_resume_that_gets_no_room_ends_in_an_error(device):
    other = Stirring(device, 3, seed=2)
    device.advance(900)
    device.preempt(other.launch)
    work = stays(device)
    with pytest.raises(CommandRefused, match="memory answered with an error"):
        device.resume(other.launch)
    assert (other.launch.state, other.launch.outcome) == (PREEMPTED, CommandError.BUS_ERROR)
    device.transport.clear_error_ranges()
    device.resume(other.launch)
    other.finishes()
    device.resume(work.launch)
    work.finishes()


def test_a_resume_waits_for_thread_blocks_that_run(device):
    """One that runs on the SM may make room yet, so the refused eviction of another ends nothing."""
    other = Stirring(device, 3, seed=2)
    device.advance(900)
    device.preempt(other.launch)
    work = Stirring(device, 40)
    device.advance(900)
    spared, leaving = device.resident_tbs(work.launch)
    device.preempt(work.launch, in_place=True, tbs=[leaving])
    start = work.launch.ccb_of(0)
    device.transport.add_error_range(ErrorRange(start, start + work.launch.ccb_bytes))
    with pytest.raises(CycleLimit):
        device.resume(other.launch, max_cycles=GIVEN_UP)
    assert device.resident_tbs(work.launch) and other.launch.state is RESUMING
    device.transport.clear_error_ranges()
    device.wait(other.launch)
    other.finishes()
    device.resume(work.launch)
    work.finishes()
