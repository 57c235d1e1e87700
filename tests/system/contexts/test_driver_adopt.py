"""A launch that another device has preempted, taken over from memory alone through the Python API."""

import gc
import zlib

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.driver import CommandRefused, CycleLimit, Device, DriverError, LaunchError
from support.programs.stir import CONSTANTS, WORDS, image, stirred
from support.sim.adoption import steps

TINY = preset("tiny")
MEMORY = 1 << 18
BLOCK, BLOCKS, ROUNDS = 16, 5, 4
STIR, STEPS = image(16), steps()


def transport(memory=MEMORY):
    return GoldenTransport(TINY, memory)


class Stirring:
    """A launch with constants, local, shared and global memory, preempted after some cycles."""

    def __init__(self, device=None, cycles=900):
        self.device = Device(transport()) if device is None else device
        self.words = np.random.default_rng(3).integers(0, 1 << 32, WORDS, np.uint32)
        zeros = [self.device.zeros(BLOCK * BLOCKS, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], self.device.array(self.words), zeros[1], self.device.zeros(1, np.uint32)
        self.launch = self.device.load([STIR])["stir"](BLOCKS, BLOCK, [*self.arrays, ROUNDS])
        self.device.advance(cycles)
        self.handle = self.launch.handle

    def preempted(self):
        assert self.device.preempt(self.launch, "live+cp")
        return self

    def elsewhere(self):
        """Return another device with the same memory, and nothing else."""
        return Device(carried(self.device))

    def finishes(self, device, launch):
        """Wait for the launch on another device: it has done what it was to do."""
        results = self.results(device)
        device.wait(launch)
        self.check(results)

    def results(self, device):
        """Return its arrays on a device that has adopted it."""
        return [device.array_at(self.arrays[k].memory.address, BLOCK * BLOCKS, np.uint32) for k in (0, 2)]

    def check(self, results):
        for array, expected in zip(results, stirred(self.words, BLOCK * BLOCKS, ROUNDS), strict=True):
            assert np.array_equal(array, expected)


def carried(device):
    """Return another machine with the memory of a device."""
    other = transport(device.transport.memory_bytes)
    other.write_memory(0, device.transport.read_memory(0, device.transport.memory_bytes))
    return other


def test_taken_over_it_ends_as_if_nothing_had_happened():
    work = Stirring().preempted()
    progress = work.launch.progress
    contexts = work.device.context(work.launch)
    device = work.elsewhere()
    work.device.close()
    launch = device.adopt(work.handle, STIR)
    assert launch.state is KernelState.PREEMPTED and launch.outcome is CommandError.NONE
    assert launch.progress == progress and 0 < progress[0] < progress[1]
    assert (launch.handle, launch.slot, launch.grid, launch.block) == (work.handle, 0, (BLOCKS, 1, 1), (BLOCK, 1, 1))
    assert repr(device.context(launch)) == repr(contexts) and len(contexts) == 2
    with pytest.raises(DriverError, match="is preempted and will not go on; resume it first"):
        device.wait(launch)
    assert device.resume(launch).bytes > 0
    work.finishes(device, launch)


def test_from_device_to_device_with_each_preempt():
    """Taken over, it can be preempted, and taken over again: the handle stays."""
    work = Stirring(cycles=300).preempted()
    device, launch = work.device, work.launch
    preempts = 0
    while True:
        device = Device(carried(device))
        launch = device.adopt(work.handle, STIR)
        results = work.results(device)
        device.resume(launch)
        device.advance(200)
        if not device.preempt(launch, "occupied"):
            break
        preempts += 1
    assert preempts > 3 and launch.finished
    work.check(results)


def test_two_launches_of_one_module_and_new_ones_beside_them():
    """They share code and an array; what is loaded afterwards lies elsewhere."""
    first = Device(transport())
    module, counters = first.load([STEPS]), first.zeros((2, 64), np.uint32)
    outputs = [first.zeros(64, np.uint32) for _ in range(2)]
    launches = [module["steps"](4, 16, [output, counters.memory.address + 256 * k, 3 + k])
                for k, output in enumerate(outputs)]
    first.advance(200)
    for launch in launches:
        assert first.preempt(launch)
    device = Device(carried(first))
    taken = [device.adopt(launch.handle, STEPS) for launch in launches]
    assert [launch.slot for launch in taken] == [0, 1]
    results = [device.array_at(output.memory.address, 64, np.uint32) for output in outputs]
    again = device.zeros(64, np.uint32), device.zeros(64, np.uint32)
    fresh = device.load([STEPS])["steps"](4, 16, [*again, 3])
    device.wait(fresh)
    for launch in taken:
        device.resume(launch)
        device.wait(launch)
    assert np.array_equal(results[0], again[0]) and not np.array_equal(results[1], again[0])


def test_what_it_holds_is_free_when_it_has_ended():
    work = Stirring().preempted()
    device = work.elsewhere()
    free = device.system.free_bytes, device.heap.free_bytes
    launch = device.adopt(work.handle, STIR)
    taken = device.system.free_bytes, device.heap.free_bytes
    before = work.device.system.free_bytes, work.device.heap.free_bytes
    assert taken == before and all(held < all_ for held, all_ in zip(taken, free, strict=True))
    with pytest.raises(LaunchError, match="was adopted with a launch; load it to launch it again"):
        device.launch(launch.kernel, 1, 1, [])
    device.kill(launch)
    assert launch.state is KernelState.IDLE
    del launch
    other = Stirring(device)  # takes its slot
    device.wait(other.launch)
    del other
    gc.collect()
    assert device.heap.free_bytes == free[1]


# What is refused

def test_a_launch_that_runs_or_has_run_on_is_refused():
    work = Stirring()
    refused(work, work.handle)
    device = work.device
    work.preempted()
    device.resume(work.launch)
    refused(work, work.handle)
    device.wait(work.launch)
    refused(work, work.handle)


def refused(work, handle):
    """The machine refuses, and nothing has changed, neither in memory nor in what is free."""
    device = work.elsewhere()
    before = device.transport.read_memory(0, MEMORY)
    free = device.system.free_bytes, device.heap.free_bytes
    with pytest.raises(CommandRefused, match=f"adopt of kernel 'stir' at {handle:#x}: memory does not hold it as a "
                                             "preempt has left it") as refusal:
        device.adopt(handle, STIR)
    assert refusal.value.error is CommandError.BAD_IMAGE
    del refusal
    gc.collect()
    assert not device.launches and (device.system.free_bytes, device.heap.free_bytes) == free
    assert device.transport.read_memory(0, MEMORY) == before


def test_a_killed_launch_and_one_whose_slot_has_another_owner_leave_nothing():
    work = Stirring().preempted()
    work.device.kill(work.launch)
    with pytest.raises(DriverError, match=f"from {work.handle:#x}: there is no descriptor block"):
        work.elsewhere().adopt(work.handle, STIR)
    record = context.record_address(TINY, work.launch.ccb_base)
    assert work.device.transport.read_memory(record, context.ENTRY_BYTES) == bytes(context.ENTRY_BYTES)


def test_a_launch_clears_the_record_of_a_former_owner():
    """The memory of a context is given to another launch, which has not been preempted."""
    work = Stirring().preempted()
    lines = work.device.transport.read_memory(0, MEMORY)
    work.device.resume(work.launch)
    work.device.wait(work.launch)
    work.device.transport.write_memory(work.handle, lines[work.handle:work.launch.ccb_base + 1024])
    again = Stirring(work.device)
    assert again.handle == work.handle
    refused(again, again.handle)


def test_no_address_of_a_launch():
    work = Stirring().preempted()
    for handle, what in ((work.handle + 4, "no address of a descriptor block"), (MEMORY, "no address"),
                         (0x1000, "there is no descriptor block"), (work.handle + 128, "there is no"),
                         (-128, "handle must be an address from 0 to 0xffffffff, not -128")):
        with pytest.raises(DriverError, match=what):
            work.elsewhere().adopt(handle, STIR)


def test_each_bit_of_the_block_counts():
    work = Stirring().preempted()
    machine = carried(work.device)
    size = work.launch.ccb_base - work.handle
    good = machine.read_memory(work.handle, size)
    for bit in range(0, 8 * size, 5):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        machine.write_memory(work.handle, bytes(bad))
        with pytest.raises(DriverError, match=f"no launch can be adopted from {work.handle:#x}: "):
            Device(machine).adopt(work.handle, STIR)
    machine.write_memory(work.handle, good)
    Device(machine).adopt(work.handle, STIR)


def test_another_kernel_or_changed_code():
    work = Stirring().preempted()
    what = "is not of kernel '{}', or something has written over its code; give the image that was launched"
    with pytest.raises(DriverError, match=what.format("steps")):
        work.elsewhere().adopt(work.handle, STEPS)
    machine = carried(work.device)
    code = work.launch.kernel.address
    machine.write_memory(code + 40, bytes([machine.read_memory(code + 40, 1)[0] ^ 1]))
    with pytest.raises(DriverError, match=what.format("stir")):
        Device(machine).adopt(work.handle, STIR)


def test_another_memory_or_geometry():
    work = Stirring().preempted()
    with pytest.raises(DriverError, match="open it with the memory_bytes and system_fraction of the other"):
        Device(carried(work.device), 0.75).adopt(work.handle, STIR)
    larger = transport(2 * MEMORY)
    larger.write_memory(0, work.device.transport.read_memory(0, MEMORY))
    with pytest.raises(DriverError, match="open it with the memory_bytes"):
        Device(larger).adopt(work.handle, STIR)
    for changed in ({"stack_depth": 16}, {"tb_slots": 4}):
        other = GoldenTransport(TINY.replace(**changed), MEMORY)
        other.write_memory(0, work.device.transport.read_memory(0, MEMORY))
        with pytest.raises(DriverError, match="it was launched on another geometry than 'tiny"):
            Device(other).adopt(work.handle, STIR)


def test_memory_that_this_device_may_have_written():
    work = Stirring().preempted()
    device = work.elsewhere()
    array = device.zeros(1)
    array.free()
    with pytest.raises(DriverError, match="adopt before anything is loaded or allocated"):
        device.adopt(work.handle, STIR)
    device = work.elsewhere()
    device.load([STEPS])
    with pytest.raises(DriverError, match="something has written over its code"):
        device.adopt(work.handle, STIR)
    device = work.elsewhere()
    device.adopt(work.handle, STIR)
    with pytest.raises(DriverError, match="and everything once"):
        device.adopt(work.handle, STIR)
    assert len(device.launches) == 1


def test_a_machine_that_checks_bounds():
    machine = GoldenTransport(TINY, MEMORY, check_bounds=True)
    with pytest.raises(DriverError, match="cannot be adopted where bounds are checked"):
        Device(machine).adopt(0x1000, STIR)


def test_a_block_that_was_made_up():
    """Its checksum is right: what it names is still not taken from anybody, and the machine judges the rest."""
    work = Stirring().preempted()
    machine = carried(work.device)
    size = work.launch.ccb_base - work.handle
    good = np.frombuffer(machine.read_memory(work.handle, size), "<u4")
    names = 9 + list(range(16)).index(10)  # ccb_base, the eleventh register
    assert good[names] == work.launch.ccb_base
    lies = ((names, 0, "does not name its own code, parameters and context"), (9 + good[5], 0, "do not lie in its"),
            (9 + good[5] + 1, 1 << 30, "do not lie in its"))
    for place, value, what in lies:
        words = good.copy()
        words[place], words[2] = value, 0
        words[2] = zlib.crc32(words.tobytes())
        machine.write_memory(work.handle, words.tobytes())
        with pytest.raises(DriverError, match=what):
            Device(machine).adopt(work.handle, STIR)


def test_an_adoption_that_takes_too_long_is_undone():
    work = Stirring().preempted()
    device = work.elsewhere()
    with pytest.raises(CycleLimit, match="adopt of kernel 'stir' has not ended after 0 cycles"):
        device.adopt(work.handle, STIR, 0)
    assert device.launches == {}
    launch = device.adopt(work.handle, STIR)
    device.resume(launch)
    work.finishes(device, launch)


def test_no_array_there():
    work = Stirring().preempted()
    device = work.elsewhere()
    device.adopt(work.handle, STIR)
    address = work.arrays[1].memory.address
    with pytest.raises(DriverError, match="no array begins at"):
        device.array_at(address + 4, 1, np.uint32)
    with pytest.raises(DriverError, match=f"has {4 * WORDS} bytes, {4 * WORDS + 4} are wanted"):
        device.array_at(address, WORDS + 1, np.uint32)
    assert len(CONSTANTS) == 16 and np.array_equal(device.array_at(address, WORDS, np.uint32), work.words)
