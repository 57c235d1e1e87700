"""The compiled engine and the numpy model agree on the kernels that ship, on PTX, and on the order of atomics."""

import random

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.semantics.atomic_order import OrderMismatch
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import differences, shipped_work, start_job
from caesura.sim.workloads.random_native import random_program
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx
from caesura.software.driver import Device
from caesura.software.kernels import KERNELS
from support.programs.machine_code import word
from support.selection import quick
from support.sim.engines import EnginePair
from support.sim.launch import Bench, argument_words

GTX480, TINY = preset("gtx480"), preset("tiny")
SOME = "pathfinder", "nbody", "histogram", "warpscan"


@pytest.mark.parametrize("name", quick(KERNELS, SOME))
def test_shipped_kernels_are_equal_at_many_stops_and_preempted(name):
    rng = random.Random(name)
    work = shipped_work(name, GTX480, "tiny")
    pair = EnginePair(GTX480, 4 << 20)
    devices = [Device(transport) for transport in pair.transports]
    kernels = [device.load([work.image])[work.image.name] for device in devices]
    jobs = [start_job(device, kernel, work.job) for device, kernel in zip(devices, kernels, strict=True)]
    mechanisms, stops = list(Mechanism), 0
    state = pair.transports[0].machine.kernels[0]
    while state.state is KernelState.RUNNING:
        cycles = rng.choice((1, 37, 500, 3000))
        for device in devices:
            device.advance(cycles)
        pair.check()
        stops += 1
        if stops % 8 == 1 and state.state is KernelState.RUNNING:
            for device, (launch, _) in zip(devices, jobs, strict=True):
                device.preempt(launch, mechanisms[stops // 8 % len(mechanisms)])
                if launch.state is KernelState.PREEMPTED:
                    device.resume(launch)
            pair.check()
    for device, (launch, arrays) in zip(devices, jobs, strict=True):
        device.wait(launch)
        assert not any(differences(work.job, arrays).values())


@pytest.mark.parametrize("seed", quick(range(40), range(2)))
@pytest.mark.parametrize("g, options", [
    (TINY, {"block": (20,), "variables": 2, "wide": 1, "heavy": False}),
    (GTX480.replace(warps=8, tb_slots=2, registers=512), {"block": (9, 5), "grid": (2, 2)})], ids=["tiny", "gtx480"])
def test_random_ptx_is_equal_at_many_stops(g, options, seed):
    rng = random.Random(seed)
    kernel = RandomKernel(seed, **options)
    compiled = compile_ptx(kernel.ptx, options=CompileOptions(max_registers=g.regs_per_thread))[kernel.name]
    pair = EnginePair(g, trace=True)
    for transport in pair.transports:
        bench = Bench(transport)
        words = argument_words(compiled, bench.allocate(kernel.output_bytes), bench.store(kernel.inputs()), kernel.n)
        bench.load(0, compiled, kernel.grid, kernel.block, words)
        bench.start(0)
    while pair.transports[0].machine.kernels[0].state is KernelState.RUNNING:
        cycles = rng.choice((3, 100, 2000))
        pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
        pair.check()


def racing(transport, seed):
    """Start a program whose result depends on the order of its atomics."""
    bench = Bench(transport)
    program = random_program(transport.geometry, seed, registers=16, statements=20, racing=True)
    output = bench.store(bytes(program.output_bytes))
    bench.load(0, program.image, program.grid, program.block,
               argument_words(program.image, output, bench.store(program.inputs)))
    bench.start(0)
    return bench, lambda: transport.read_memory(output, program.output_bytes)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 40))
def test_atomics_follow_the_order_of_another_machine(seed):
    """The order is that of a machine with room for one TB, so that the others wait at their atomics."""
    leader = GoldenTransport(TINY.replace(tb_slots=1), 1 << 18, trace=True, engine="numpy")
    bench, expected = racing(leader, seed)
    bench.finish(0)
    assert follow(leader.take_trace(), lambda transport: racing(transport, seed), seed) == expected()


def follow(order, start, seed):
    """Run on both engines in the order of a trace; return the output."""
    pair, rng = EnginePair(TINY, 1 << 18, trace=True), random.Random(seed)
    for transport in pair.transports:
        transport.follow(order)
        _, got = start(transport)
    state = pair.transports[0].machine.kernels[0]
    while state.state is KernelState.RUNNING:
        cycles = rng.choice((1, 20, 300))
        pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
        pair.check()
    return got()


def exchanging(transport):
    """Start TBs that leave their number in one word in turn, and keep what they found there."""
    code = [word("s2r", d=0, imm=Special.CTAID_X), word("shl.i", d=1, a=0, imm=5), word("iadd.i", d=0, a=0, imm=1)]
    for turn in range(8):
        code += [word("atom.global.exch.b32", d=2, no_base=1, imm=0x8000, b=0, c=0),
                 word("st.global.b32", a=1, imm=0x8100 + 4 * turn, d=2)]
    bench = Bench(transport)
    bench.load(0, KernelImage("exchanging", (*code, word("exit")), 4), (4,), (1,), area_bytes=128)
    bench.start(0)
    return bench, lambda: transport.read_memory(0x8000, 0x200)


def test_what_depends_on_the_order_is_another_machines_when_its_order_is_followed():
    leader = GoldenTransport(TINY.replace(tb_slots=1), 1 << 18, trace=True, engine="numpy")
    free = GoldenTransport(TINY, 1 << 18, engine="compiled")
    outputs = []
    for transport in (leader, free):
        bench, output = exchanging(transport)
        bench.finish(0)
        outputs.append(output())
    assert follow(leader.take_trace(), exchanging, 0) == outputs[0] != outputs[1]


def test_an_order_that_cannot_be_followed_is_reported_at_the_same_cycle():
    leader = GoldenTransport(TINY.replace(tb_slots=1), 1 << 18, trace=True)
    racing(leader, 3)[0].finish(0)
    order = leader.take_trace()
    atomics = order[order["kind"] == 4]
    atomics["pc"][len(atomics) // 2] += 1
    pair = EnginePair(TINY, 1 << 18)

    def message(transport):
        transport.follow(atomics)
        racing(transport, 3)
        with pytest.raises(OrderMismatch) as error:
            transport.advance(100_000)
        return str(error.value), transport.machine.cycle, transport.machine.retired
    pair.each(message)
    pair.check()
