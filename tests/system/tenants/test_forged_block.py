"""Descriptor blocks that lie under a right checksum. A launch without a slot does not come back by what they say. A
takeover is refused unless all that they say is what the launch would have."""

from dataclasses import replace

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.driver import Device, DriverError
from caesura.software.driver.launch.descriptor_block import DescriptorBlock
from support.programs.stir import image as stir_image
from support.programs.stir import stirred
from support.programs.stirring import BLOCK, BLOCKS, Stirring

TINY = preset("tiny")
STIR = stir_image(16)
MEMORY = 1 << 20


def forge(machine, handle, **changes):
    """Have the block at a handle say other words of some registers; its checksum is right."""
    block = DescriptorBlock.read(machine, handle)
    forged = replace(block, registers={**block.registers, **{name: word(block.registers.get(name, 0))
                                                              for name, word in changes.items()}})
    machine.write_memory(handle, forged.pack(machine.geometry))
    return block


def lies(block, other):
    """Return registers and what is said of each: another's memory, all of it, a little more or less."""
    words = (lambda word: other, lambda word: word + 128, lambda word: word ^ 1, lambda word: 0xFFFF_FF80)
    return [(name, word) for name, now in block.registers.items() for word in words if word(now) & 0xFFFF_FFFF != now]


@pytest.mark.parametrize("what", ["window", "all", "nothing"])
def test_a_launch_without_a_slot_comes_back_by_the_drivers_own_record(what):
    """Its block gives it the other tenant's memory, says anything, or is gone: it ends as if nothing had happened."""
    with open_device("golden", TINY, memory_bytes=1 << 22) as device:
        alice, bob = device.tenant(1 << 17, name="alice"), device.tenant(1 << 17, name="bob")
        secret = alice.array(np.full(160, 0x5EC2E7, np.uint32))
        work = Stirring(bob, 4)
        device.advance(900)
        device.preempt(work.launch)
        device.release_slot(work.launch)
        machine, handle = device.transport, work.launch.handle
        if what == "window":
            forge(machine, handle, **{"window_base[1]": lambda _: alice.heap.base,
                                      "window_end[1]": lambda _: alice.heap.end})
        elif what == "all":
            names = DescriptorBlock.read(machine, handle).registers
            forge(machine, handle, **{name: lambda word: word ^ 0x80 for name in names})
        else:
            machine.write_memory(handle, bytes(work.launch.registers["param_base"] - handle))
        device.resume(work.launch)
        work.finishes()
        assert (secret.get() == 0x5EC2E7).all() and not device.read("fault_count")


def test_a_block_that_says_anything_else_than_its_launch_is_not_taken_over():
    """Each register but the arguments, with several words each: it is refused, and nothing is held or changed. Other
    local memory, also free memory of the owner, is refused by the machine, when it is to bring the launch back."""
    work = Stirring(open_device("golden", TINY, memory_bytes=MEMORY), 4)
    work.device.advance(900)
    work.device.preempt(work.launch)
    machine = GoldenTransport(TINY, MEMORY)
    machine.write_memory(0, work.device.transport.read_memory(0, MEMORY))
    handle, good = work.launch.handle, machine.read_memory(0, MEMORY)
    block = DescriptorBlock.read(machine, handle)
    device = Device(machine)
    tried = lies(block, work.arrays[0].memory.address)
    assert len(tried) > 60
    for name, word in tried:
        forge(machine, handle, **{name: lambda now, word=word: word(now) & 0xFFFF_FFFF})
        changed = machine.read_memory(0, MEMORY)
        with pytest.raises(DriverError):
            launch = device.adopt(handle, STIR)
            assert name == "local_base", f"{name} was believed"
            device.resume(launch)
        assert machine.read_memory(0, MEMORY) == changed
        for launch in [*device.launches.values()]:
            device.kill(launch)
        device = Device(machine)
        machine.write_memory(0, good)
    launch = device.adopt(handle, STIR)
    device.resume(launch)
    output = device.array_at(work.arrays[0].memory.address, BLOCK * BLOCKS, np.uint32)
    device.wait(launch)
    assert np.array_equal(output, stirred(work.words, BLOCK * BLOCKS, work.rounds)[0])
    assert launch.grid == (BLOCKS, 1, 1) and launch.block == (BLOCK, 1, 1)
