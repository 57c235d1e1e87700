"""Parameters lie in memory: as many bytes as CUDA takes, preempted, carried away, of tenants, in queues."""

import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.faults import Fault
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import CompileError, KernelImage, Parameter, compile_ptx
from caesura.software.driver import Device, DriverError, KernelFault
from caesura.software.driver.launch.descriptor_block import DescriptorBlock, parameter_offset
from support.attacks.hostile_tenant import REACH
from support.programs.machine_code import word
from support.programs.many_parameters import BLOCK, BLOCKS, SIZES, ManyParameters, reader
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 21
WAYS = ("occupied", "live", "live+cp", "live+tb")


@pytest.fixture(params=quick(["golden-one", "golden-two", "rtl-one", "rtl-two"], ["golden-two"]))
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, DEVICE if sms == "two" else "tiny", memory_bytes=MEMORY) as device:
        yield device


@pytest.mark.parametrize("size", SIZES)
def test_members_of_a_large_structure_by_value(device, size):
    work = ManyParameters(device, size).start()
    assert work.image.parameter_bytes == size
    device.wait(work.launch)
    work.check()


def test_all_that_ptx_allows_on_the_rtl():
    with open_device("rtl", "tiny", memory_bytes=MEMORY) as device:
        work = ManyParameters(device, SIZES[-1]).start()
        device.wait(work.launch)
        work.check()


@pytest.mark.parametrize("size", quick(SIZES[1:], SIZES[-1:]))
@pytest.mark.parametrize("seed", quick(range(30), [1]))
def test_preempted_at_random_and_without_a_slot(device, size, seed):
    """Each time with another mechanism, and half of the times brought back from memory."""
    rng = random.Random(seed)
    work, times = ManyParameters(device, size, 3, seed).start(), 0
    while not work.launch.finished:
        device.advance(rng.randrange(50, 900))
        if work.launch.finished or not device.preempt(work.launch, rng.choice(WAYS), scramble=rng.random() < 0.5):
            break
        times += 1
        if rng.random() < 0.5:
            device.release_slot(work.launch)
            other = ManyParameters(device, SIZES[0], 1, seed + 1).start()
            device.wait(other.launch)
            other.check()
        device.resume(work.launch)
    device.wait(work.launch)
    work.check()
    assert times


@pytest.mark.parametrize("size", quick(SIZES[1:], SIZES[-1:]))
def test_taken_over_by_another_machine_from_memory_alone(size):
    with open_device("golden", "tiny", memory_bytes=MEMORY) as first:
        work = ManyParameters(first, size, 3).start()
        first.advance(700)
        assert first.preempt(work.launch)
        memory, handle = first.transport.read_memory(0, MEMORY), work.launch.handle
    machine = GoldenTransport(first.geometry, MEMORY)
    machine.write_memory(0, memory)
    second = Device(machine)
    launch = second.adopt(handle, work.image)
    output = second.array_at(work.output.memory.address, BLOCKS * BLOCK, np.uint32)
    second.resume(launch)
    second.wait(launch)
    work.check(output)


def test_streams_and_queues_pass_them(device):
    streamed = [ManyParameters(device, size, 1, size) for size in SIZES]
    stream = device.stream()
    for work in streamed:
        stream.launch(work.kernel, BLOCKS, BLOCK, work.arguments)
    stream.synchronize()
    queued = [ManyParameters(device, size, 1, size + 1) for size in SIZES] if device.geometry.queues else []
    if queued:
        queue = device.queue([work.kernel for work in queued], BLOCK)
        for work in queued:
            queue.launch(work.kernel, BLOCKS, BLOCK, work.arguments)
        queue.wait()
    for work in streamed + queued:
        work.check()


def test_a_queue_preempts_a_kernel_with_many_for_another():
    with open_device("golden", DEVICE, memory_bytes=MEMORY) as device:
        low, high = (ManyParameters(device, SIZES[2], rounds, rounds) for rounds in (9, 1))
        device.preempt_by("live+cp")
        queues = [device.queue([work.kernel], BLOCK, priority=n) for n, work in enumerate((low, high))]
        for queue, work in zip(queues, (low, high), strict=True):
            queue.launch(work.kernel, BLOCKS, BLOCK, work.arguments)
            device.advance(400)
        for queue in queues:
            queue.wait()
        low.check()
        high.check()


def test_no_kernel_reaches_the_parameters_of_a_launch(device):
    """Neither of another tenant, nor of the same: they lie where no window is."""
    alice, bob = (device.tenant(1 << 18, name=name, system_bytes=1 << 18) for name in ("alice", "bob"))
    work = ManyParameters(alice, SIZES[1], 40).start()
    place = DescriptorBlock.read(device.transport, work.launch.handle).field("param_base")
    assert device.transport.read_memory(place + 8, len(work.table)) == work.table
    for owner in (alice, bob):
        kernel, output = owner.load(REACH)["reach"], owner.zeros(64, np.uint32)
        for kind in range(4):
            for at in (place, place + SIZES[1] - 4):
                with pytest.raises(KernelFault) as fault:
                    owner.wait(kernel(1, 1, [at, output, kind]))
                assert fault.value.record.kind is Fault.GLOBAL_WINDOW and fault.value.record.address == at
    alice.wait(work.launch)
    work.check()


@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
@pytest.mark.parametrize("name", ["ldp", "uldp"])
def test_a_read_beyond_them_faults_whatever_lies_there(back_end, name):
    """At the first word beyond, in the same line of memory and in others."""
    with Device(back_end(DEVICE.replace(sms=1, queues=0, watches=0, entries=0), MEMORY)) as device:
        for offset, kind in ((12, Fault.PARAM_BOUND), (128, Fault.PARAM_BOUND), (0x1_0000, Fault.PARAM_BOUND),
                             (0xFFFF_FFFC, Fault.PARAM_BOUND), (6, Fault.MISALIGNED)):
            image = KernelImage("spy", (word(name, d=1, imm=offset), word("exit")), 4,
                                parameters=(Parameter("a", "u64", 0, 8), Parameter("b", "u32", 8, 4)))
            with pytest.raises(KernelFault) as fault:
                device.wait(device.load([image], check=False)["spy"](1, 8, [1, 2]))
            assert (fault.value.record.kind, fault.value.record.address) == (kind, offset)


def test_a_block_that_names_the_parameters_of_another_is_refused():
    """Its checksum is right."""
    with open_device("golden", "tiny", memory_bytes=MEMORY) as first:
        works = [ManyParameters(first, SIZES[1], 3, seed).start() for seed in (1, 2)]
        first.advance(300)
        assert all([first.preempt(work.launch) for work in works])
        memory, g = bytearray(first.transport.read_memory(0, MEMORY)), first.geometry
        handle, other = (work.launch.handle for work in works)
        block = DescriptorBlock.read(first.transport, handle)
    for name, value in (("param_base", other + parameter_offset(g, len(block.ranges))), ("param_bytes", 8)):
        forged = DescriptorBlock({**block.registers, name: value}, block.ranges, block.parameters).pack(g)
        memory[handle:handle + len(forged)] = forged
        machine = GoldenTransport(g, MEMORY)
        machine.write_memory(0, bytes(memory))
        with pytest.raises(DriverError, match="does not name its own code, parameters and context"):
            Device(machine).adopt(handle, works[0].image)


def test_more_than_ptx_allows_is_refused_by_the_compiler():
    assert reader(SIZES[2]).parameter_bytes == SIZES[2]
    text = (".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a,\n"
            ".param .align 8 .b8 table[32757])\n{\n    ret;\n}\n")
    with pytest.raises(CompileError, match="a kernel has 32765 bytes of parameters"):
        compile_ptx(text)
