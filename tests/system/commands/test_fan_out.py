"""Commands that go to several SMs, each of which carries out its part or fails: after every pair of outcomes no slot is
lost and nothing of the launch; it goes on with the next command, and ends with the right memory."""

import itertools

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused
from support.attacks.fan_out import FanOutCampaign
from support.programs.stir import image, stirred
from support.programs.stirring import BLOCK, BLOCKS, Stirring
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 21
PAIRS = [*itertools.product((False, True), repeat=DEVICE.sms)]
SOME_PAIRS = [pytest.param(pair, marks=() if pair == (True, False) else pytest.mark.full) for pair in PAIRS]
"""On which SMs memory refuses what the command reads and writes of contexts."""


@pytest.fixture(scope="module")
def device():
    with open_device("rtl", DEVICE, memory_bytes=MEMORY) as device:
        yield device


def refuse(device, launch, failing):
    """Have memory refuse the contexts of a launch on some SMs from now on."""
    for sm in (sm for sm, fails in enumerate(failing) if fails):
        start = launch.ccb_of(sm)
        device.transport.add_error_range(ErrorRange(start, start + launch.ccb_bytes))


def states(device, launch):
    """The states of a launch by SM."""
    found = []
    for sm in range(device.geometry.sms):
        with device.host.of_sm(sm):
            found.append(KernelState(device.fields(f"kernel[{launch.slot}].state")["state"]))
    return found


def run(device, launch, failing, command, *arguments, **options):
    """Give a command while memory fails on some SMs; it ends with the error if it does on any, and says so by SM.
    Memory works afterwards."""
    refuse(device, launch, failing)
    try:
        if not any(failing):
            return command(launch, *arguments, **options)
        with pytest.raises(CommandRefused) as refused:
            command(launch, *arguments, **options)
        assert refused.value.error is CommandError.BUS_ERROR
        return str(refused.value)
    finally:
        device.transport.clear_error_ranges()


def all_slots_are_usable(device):
    others = [Stirring(device, 1, seed) for seed in range(2, 2 + device.geometry.kernel_slots)]
    for each in others:
        each.finishes()


def preempted(device):
    """A launch with thread blocks in memory on each SM."""
    work = Stirring(device, 8)
    device.advance(600)
    assert device.preempt(work.launch, "occupied").tbs > 1
    return work


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
def test_preempt(device, failing):
    """What is saved stays saved, the rest runs on; another preempt is of the rest alone, and then memory has all."""
    work = Stirring(device, 8)
    device.advance(600)
    said = run(device, work.launch, failing, device.preempt, "occupied")
    for sm, fails in enumerate(failing):
        assert not any(failing) or f"{'running' if fails else 'preempted'} on SM {sm}" in str(said)
    if any(failing):
        assert device.preempt(work.launch, "occupied") is not None
    device.release_slot(work.launch)
    all_slots_are_usable(device)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
def test_checkpoint(device, failing):
    """It runs on everywhere; an increment is one where there is a base, and whole where there is none."""
    work = Stirring(device, 8)
    device.advance(600)
    run(device, work.launch, failing, device.checkpoint, "occupied")
    assert set(states(device, work.launch)) == {KernelState.RUNNING}
    assert device.preempt(work.launch, "occupied", incremental=True) is not None
    device.release_slot(work.launch)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
@pytest.mark.parametrize("then", ["resume", "preempt", "kill"])
def test_resume(device, failing, then):
    """Some SMs run, others have theirs saved: a resume brings the rest back, a preempt saves what has come back."""
    work = preempted(device)
    run(device, work.launch, failing, device.resume)
    found = states(device, work.launch)
    assert found == [KernelState.PREEMPTED if fails else KernelState.RUNNING for fails in failing]
    if then == "kill":
        device.kill(work.launch)
        return all_slots_are_usable(device)
    if then == "preempt" and not all(failing):
        assert device.preempt(work.launch, "occupied") is not None
        device.release_slot(work.launch)
        device.resume(work.launch)
    elif any(failing):
        device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
@pytest.mark.parametrize("then", ["resume", "kill"])
def test_a_slot_that_is_given_back(device, failing, then):
    """An adoption by some SMs alone is undone: the launch is away as before, and its slot is anybody's."""
    work = preempted(device)
    device.release_slot(work.launch)
    run(device, work.launch, failing, device.resume)
    if any(failing):
        assert work.launch.away is not None and work.launch.state is KernelState.PREEMPTED
        assert work.launch not in device.launches.values()
        all_slots_are_usable(device)
    if then == "kill":
        device.kill(work.launch)
        return
    if any(failing):
        device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
def test_adopt(device, failing):
    """A handle whose adoption has failed on some SMs alone is adopted later, by all."""
    work = preempted(device)
    launch = work.launch
    with open_device("rtl", DEVICE, memory_bytes=MEMORY) as other:
        other.transport.write_memory(0, device.transport.read_memory(0, MEMORY))
        device.kill(launch)
        if any(failing):
            refuse(other, launch, failing)
            with pytest.raises(CommandRefused) as refused:
                other.adopt(launch.handle, image(16))
            assert refused.value.error is CommandError.BUS_ERROR
            other.transport.clear_error_ranges()
            assert other.launches == {}
        adopted = other.adopt(launch.handle, image(16))
        outputs = [other.array_at(work.arrays[k].address, BLOCK * BLOCKS, np.uint32) for k in (0, 2)]
        other.resume(adopted)
        other.wait(adopted)
        for output, right in zip(outputs, stirred(work.words, BLOCK * BLOCKS, work.rounds), strict=True):
            assert np.array_equal(output, right)


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
def test_abort_of_a_preempt(device, failing):
    """SMs that have saved nothing run on, what is saved comes back; where memory refuses that it stays saved, and a
    resume brings it back."""
    work = Stirring(device, 40)
    device.advance(600)
    for cycles in (20, 150, 400):
        device.begin_preempt(work.launch, "occupied")
        device.advance(cycles)
        refuse(device, work.launch, failing)
        try:
            device.abort(work.launch)
        except CommandRefused as refused:
            assert any(failing) and refused.error in (CommandError.BUS_ERROR, CommandError.NOT_RUNNING)
        device.transport.clear_error_ranges()
        if work.launch.state is KernelState.PREEMPTED:
            device.resume(work.launch)
        assert set(states(device, work.launch)) == {KernelState.RUNNING}
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
def test_abort_of_a_resume_that_waits_for_room(device, failing):
    work = preempted(device)
    other = Stirring(device, 1 << 30, 2)
    device.advance(600)
    device.begin_resume(work.launch)
    device.advance(200)
    refuse(device, work.launch, failing)
    try:
        device.abort(work.launch)
    except CommandRefused as refused:
        assert any(failing) and refused.error is CommandError.BUS_ERROR
    device.transport.clear_error_ranges()
    device.kill(other.launch)
    if work.launch.state is KernelState.PREEMPTED:
        device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("failing", SOME_PAIRS, ids=str)
@pytest.mark.parametrize("moment", quick([0, 200], [200]))
def test_kill(device, failing, moment):
    """Memory may refuse what it likes: each SM drops its part, and the slot is free."""
    work = Stirring(device, 8)
    device.advance(600)
    device.begin_preempt(work.launch, "occupied")
    device.advance(moment)
    refuse(device, work.launch, failing)
    device.kill(work.launch)
    device.transport.clear_error_ranges()
    assert set(states(device, work.launch)) == {KernelState.IDLE}
    all_slots_are_usable(device)


@pytest.mark.full
@pytest.mark.parametrize("sms, seed", [(2, 0), *((sms, seed) for sms in (2, 4) for seed in range(1, 200))])
def test_random_commands_while_memory_fails_on_some_sms(sms, seed):
    """Three launches, four kernel slots: none is lost, whatever some SMs carry out and others do not."""
    with open_device("rtl", DEVICE.replace(sms=sms), memory_bytes=MEMORY) as device:
        campaign = FanOutCampaign(device, seed)
        campaign.run()
