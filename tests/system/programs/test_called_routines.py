"""Compiled kernels that call routines, interrupted all over, on the golden model and the RTL, by every mechanism.

`test_calls` does the same with code written by hand; here arguments, results and what lives across calls are where the
compiler has put them.
"""

import dataclasses
import functools

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, totals
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.compiler.image.lift import lift
from caesura.software.driver import CycleLimit, Device, KernelFault
from caesura.software.kernels import hostile
from caesura.software.kernels.job import Job
from support.selection import quick
from support.trace.trace_comparison import describe, first_difference

FULL = PRESETS["gtx480"]
MEMORY = 4 << 20
SEEDS = 27, 24
SAMPLES = 3
"""Cycles that `make test` interrupts, of each kernel by each mechanism."""


@functools.cache
def work(seed):
    """A random kernel of two warps whose divisions and roots are all called; preemption points are close."""
    k = RandomKernel(seed, grid=(1,), block=(40,), statements=3, variables=3, wide=2, heavy=False, divisions=True,
                     unstructured=seed % 2 == 1)
    image = compile_ptx(k.ptx, "random.ptx", CompileOptions(calls="always", interval=300))[k.name]
    arguments = {"output": np.zeros(k.output_bytes, np.uint8), "input": np.frombuffer(k.inputs(), np.uint8), "n": k.n}
    return CompiledJob(image, Job(k.grid, k.block, arguments, {"output": np.frombuffer(k.expected(), np.uint8)}))


def calls_executed(image, job):
    """Return the calls that a run executes, and the routines they are of."""
    transport = GoldenTransport(FULL, MEMORY, trace=True)
    device = Device(transport)
    launch, arrays = start_job(device, device.load([image])[image.name], job)
    device.wait(launch, 200_000)
    assert not any(differences(job, arrays).values())
    lifted = lift(image)
    starts = [lifted.start[routine.body.blocks[0].label] for routine in lifted.kernel.routines]
    pcs = transport.take_trace()["pc"]
    return [int(np.count_nonzero(pcs == start)) for start in starts]


@functools.cache
def golden(seed):
    return Campaign(GoldenTransport(SMALL_SM, MEMORY), work(seed), CompiledJob(*hostile(SMALL_SM)), fill=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kernels_call_several_routines(seed):
    executed = calls_executed(work(seed).image, work(seed).job)
    assert sum(executed) > 8 and sum(count > 0 for count in executed) > 2


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
@pytest.mark.parametrize("seed", quick(SEEDS, SEEDS[:1]))
def test_sampled_instructions_of_the_golden_model(seed, mechanism):
    c = golden(seed)
    cycles = range(5 + int(mechanism), c.cycles, c.cycles // SAMPLES)
    requests, saved = totals(c.at_cycles(mechanism, cycles))
    assert requests >= SAMPLES and saved > requests // 4


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_instruction_of_the_golden_model(seed, mechanism):
    c = golden(seed)
    totals(c.at_cycles(mechanism, range(c.cycles)))


def test_liveness_that_forgets_what_lives_across_calls_is_noticed():
    """The campaign finds it if the points save nothing."""
    original = work(SEEDS[0])
    lifted = lift(original.image)
    points = {lifted.start[block.label] + k for block in lifted.kernel.blocks for k, op in enumerate(block.ops)
              if op.name in ("pp", "pp.div") or op.name.startswith("bar.")}
    code = tuple(word >> 54 << 54 if pc in points else word for pc, word in enumerate(original.image.code))
    broken = CompiledJob(dataclasses.replace(original.image, code=code), original.job)
    c = Campaign(GoldenTransport(SMALL_SM, MEMORY), broken, CompiledJob(*hostile(SMALL_SM)), max_cycles=20_000,
                 fill=True)
    for cycle in range(c.cycles // 6, c.cycles, c.cycles // 6):
        try:
            if sum(o.wrong_bytes for o in c.at_cycles(Mechanism.LIVE, [cycle])):
                return
        except (CycleLimit, KernelFault):
            return
    raise AssertionError("nothing was wrong")


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_rtl_and_golden_model_agree(seed):
    w, traces = work(seed), []
    for back_end in (RtlTransport, GoldenTransport):
        transport = back_end(FULL, memory_bytes=MEMORY, trace=True)
        device = Device(transport)
        launch, arrays = start_job(device, device.load([w.image])[w.image.name], w.job)
        device.wait(launch, 400_000)
        assert not any(differences(w.job, arrays).values())
        traces.append(transport.take_trace())
    found = first_difference(traces[1], traces[0], {0: w.image.code})
    assert found is None, describe(found, w.image.code)


@pytest.mark.full
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_sampled_cycles_of_the_rtl(mechanism):
    c = Campaign(RtlTransport(FULL, memory_bytes=MEMORY), work(SEEDS[0]), CompiledJob(*hostile(FULL)), fill=True)
    cycles = range(50 + int(mechanism), c.cycles, c.cycles // 4)
    requests, saved = totals(c.at_cycles(mechanism, cycles))
    assert requests >= 4 and saved > 0


@pytest.mark.full
@pytest.mark.parametrize("giver, taker", [(RtlTransport, GoldenTransport), (GoldenTransport, RtlTransport)],
                         ids=["rtl to golden", "golden to rtl"])
def test_a_context_saved_by_one_machine_is_resumed_by_the_other(giver, taker):
    """Stopped inside of a routine, with all that lives across its call."""
    w = work(SEEDS[0])
    source = Device(giver(FULL, memory_bytes=MEMORY))
    launch, arrays = start_job(source, source.load([w.image])[w.image.name], w.job)
    lifted = lift(w.image)
    first = min(lifted.start[routine.body.blocks[0].label] for routine in lifted.kernel.routines)
    origin = source.transport.snapshot(), source.host_state()
    for cycle in range(97, 20_000, 97):
        source.transport.restore(origin[0])
        source.set_host_state(origin[1])
        source.advance(cycle)
        assert source.preempt(launch, Mechanism.OCCUPIED, scramble=True), "never inside of a routine"
        if any(warp.pc >= first for tb in source.context(launch) for warp in tb.warps if warp.stack):
            break
    target = Device(taker(FULL, memory_bytes=MEMORY))
    target.transport.write_memory(0, source.transport.read_memory(0, MEMORY))
    adopted = target.adopt(launch.handle, w.image)
    found = {name: target.array_at(array.memory.address, array.size, array.dtype) for name, array in arrays.items()}
    target.resume(adopted)
    target.wait(adopted, 400_000)
    assert not any(differences(w.job, found).values())
