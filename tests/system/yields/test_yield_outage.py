"""Memory fails for a moment, or for good, while a thread block leaves by itself, or is brought back."""

import functools

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, TRIES
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, CycleLimit
from support.programs.stirring import Stirring
from support.programs.yields import images
from support.sim.queues import DEVICE

TINY = preset("tiny").replace(watches=3, entries=6)
MEMORY = 1 << 22
kernels = functools.cache(images)


class Consumers:
    """Three thread blocks for each SM, of which two have room; each waits for a flag of its own."""

    def __init__(self, device):
        self.device, self.count, loaded = device, 3 * device.geometry.sms, device.load(kernels().values())
        self.flags = device.zeros(32 * self.count, np.uint32)
        self.out = device.zeros((self.count, 16), np.uint32)
        self.launch = loaded["consumer"](self.count, 16, [self.flags, self.out, 128])

    def write(self, tb):
        """Set the flag of one, and no other's."""
        self.device.write_memory(self.flags.address + 128 * tb, (1000 + tb).to_bytes(4, "little"))

    def fails(self):
        for sm in range(self.device.geometry.sms):
            start = self.launch.ccb_of(sm)
            self.device.transport.add_error_range(ErrorRange(start, start + self.launch.ccb_bytes))

    def check(self):
        self.device.wait(self.launch, 20_000)
        assert (self.out.get() == 1000 + np.arange(self.count)[:, None] + np.arange(16)).all()


class Alone(Consumers):
    """Consumers of which all but those that are away have ended: their SM is empty, or has one that waits."""

    def __init__(self, device):
        super().__init__(device)
        device.advance(3000)
        for tb in (resident := device.resident_tbs(self.launch)):
            self.write(tb)
        device.advance(3000)
        self.left = [tb for tb in range(self.count) if tb not in resident]
        assert self.left and not device.resident_tbs(self.launch) and device.read("kernel[0].away") != 0


@pytest.fixture(params=[pytest.param(TINY, marks=pytest.mark.full), DEVICE], ids=["one SM", "two SMs"])
def device(request):
    with open_device("rtl", request.param, memory_bytes=MEMORY) as device:
        yield device


def test_a_thread_block_comes_back_after_an_outage_to_an_empty_sm(device):
    """No thread block leaves the SM after the refusal, so it must be tried again without that."""
    work = Alone(device)
    work.fails()
    for tb in work.left:
        work.write(tb)
    device.advance(3 * AGAIN_CYCLES // 2)
    device.transport.clear_error_ranges()
    assert work.launch.state is KernelState.RUNNING
    work.check()


def test_memory_that_never_answers_well_ends_it_and_holds_up_nobody(device):
    """A neighbour is launched meanwhile; the kernel is preempted, with the error, and comes back when memory works."""
    work = Alone(device)
    work.fails()
    for tb in work.left:
        work.write(tb)
    device.advance(AGAIN_CYCLES // 2)
    Stirring(device, 1).finishes()
    device.advance(2 * TRIES * AGAIN_CYCLES)
    assert work.launch.state is KernelState.PREEMPTED and work.launch.outcome is CommandError.BUS_ERROR
    with pytest.raises(CommandRefused):
        device.resume(work.launch)
    device.transport.clear_error_ranges()
    device.resume(work.launch)
    work.check()


def test_a_thread_block_leaves_after_an_outage(device):
    """Those that wait on the SM have to leave for those that are called."""
    work = Consumers(device)
    work.fails()
    device.advance(3 * AGAIN_CYCLES)
    assert not device.read("kernel[0].yields") and work.launch.state is KernelState.RUNNING
    resident = device.resident_tbs(work.launch)
    for tb in range(work.count):
        if tb not in resident:
            work.write(tb)
    device.transport.clear_error_ranges()
    device.advance(5000)
    assert work.launch.progress[0] == work.count - len(resident)
    for tb in resident:
        work.write(tb)
    work.check()


def test_saves_that_memory_never_takes_end_in_an_error_and_hold_up_nobody(device):
    """Another launch is taken from memory meanwhile; its resume gets the room of thread blocks that end."""
    other = Stirring(device, 1)
    device.advance(300)
    device.preempt(other.launch)
    device.release_slot(other.launch)
    work = Consumers(device)
    work.fails()
    device.advance(2 * AGAIN_CYCLES)
    assert work.launch.state is KernelState.RUNNING and other.launch.away is not None
    with pytest.raises(CycleLimit):
        device.resume(other.launch, max_cycles=2 * AGAIN_CYCLES)
    assert other.launch.away is None and other.launch.state is KernelState.RESUMING
    device.advance(2 * TRIES * AGAIN_CYCLES)
    assert work.launch.state is KernelState.PREEMPTED and work.launch.outcome is CommandError.BUS_ERROR
    for tb in (resident := device.resident_tbs(work.launch)):
        work.write(tb)
    assert len(resident) == 2 * device.geometry.sms, "they run on where they are"
    other.finishes()
    device.transport.clear_error_ranges()
    device.resume(work.launch)
    for tb in range(work.count):
        work.write(tb)
    work.check()
