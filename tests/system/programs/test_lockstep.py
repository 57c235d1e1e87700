"""Lockstep: the RTL and the golden model retire the same instructions and write the same registers.

The model does atomics in the order in which the RTL did them.
"""

import itertools

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import differences, shipped_work, start_job
from caesura.sim.workloads.random_native import random_program
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import Device
from caesura.software.kernels import KERNELS
from support.programs.small_runs import TINY_RUNS
from support.selection import quick
from support.sim.launch import Bench, argument_words
from support.trace.trace_comparison import describe, first_difference

GEOMETRIES = {
    "tiny": PRESETS["tiny"],
    "tiny with 4 lanes": PRESETS["tiny"].replace(lanes=4),  # two beats an instruction
    "gtx480": PRESETS["gtx480"],
    "gtx480 with 8 lanes": PRESETS["gtx480"].replace(lanes=8),
    "gtx480 with 16 lanes": PRESETS["gtx480"].replace(lanes=16),
}
SAMPLED = quick([(name, seed) for name in ("tiny", "gtx480") for seed in range(8)],
                [("tiny", seed) for seed in range(4)])
"""Random kernels, of which `make test` takes few; every geometry has its own in `test_many_random_kernels`."""
FULL = 60
CYCLES = 3_000_000


def transports(g, traces):
    """Yield the RTL, and when `traces` has its trace the model that follows it."""
    yield RtlTransport(g, memory_bytes=4 << 20, trace=True)
    model = GoldenTransport(g, memory_bytes=4 << 20, trace=True)
    model.follow(traces[0])
    yield model


def agree(traces, code):
    got, expected = traces
    assert len(expected) > 0
    found = first_difference(expected, got, {0: code})
    assert found is None, describe(found, code)


def run_native(g, seed):
    program = random_program(g, seed, registers=min(16, g.regs_per_thread), warps=2 if g.warps < 8 else 3,
                             racing=seed % 2 == 1)
    traces, outputs = [], []
    for transport in transports(g, traces):
        bench = Bench(transport)
        output = bench.store(bytes(program.output_bytes))
        inputs = bench.store(program.inputs)
        bench.load(0, program.image, program.grid, program.block, argument_words(program.image, output, inputs))
        bench.start(0)
        bench.finish(0, CYCLES)
        traces.append(transport.take_trace())
        outputs.append(transport.read_memory(output, program.output_bytes))
    agree(traces, program.image.code)
    assert outputs[0] == outputs[1]


def run_ptx(g, seed):
    small = g.regs_per_thread < 32
    shape = {"variables": 2, "wide": 1, "heavy": False} if small else {}
    k = RandomKernel(seed, grid=(3,), block=(2 * g.warp_size - 3 if small else 77,), **shape)
    image = compile_ptx(k.ptx, f"random_{seed}.ptx", CompileOptions(max_registers=g.regs_per_thread))[k.name]
    traces = []
    for transport in transports(g, traces):
        device = Device(transport)
        output = device.array(np.zeros(k.output_bytes, np.uint8))
        inputs = device.array(np.frombuffer(k.inputs(), np.uint8))
        launch = device.load([image])[k.name](k.grid, k.block, [output, inputs, k.n])
        device.wait(launch, CYCLES)
        assert output.get().tobytes() == k.expected()
        traces.append(transport.take_trace())
    agree(traces, image.code)


@pytest.mark.parametrize(("name", "seed"), SAMPLED)
def test_random_native_programs(name, seed):
    run_native(GEOMETRIES[name], seed)


@pytest.mark.parametrize(("name", "seed"), SAMPLED)
def test_random_ptx_kernels(name, seed):
    run_ptx(GEOMETRIES[name], seed)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("run", [run_native, run_ptx])
def test_many_random_kernels(name, run):
    for seed in range(1000, 1000 + FULL):
        run(GEOMETRIES[name], seed)


@pytest.mark.parametrize("geometry, name", quick(
    [*itertools.product(("gtx480", "gtx480 with 8 lanes", "gtx480 with 16 lanes"), KERNELS),
     *(("tiny", name) for name in TINY_RUNS)],
    [("tiny", name) for name in TINY_RUNS]))
def test_shipped_kernels(name, geometry):
    """With their smallest job; on `tiny` those that fit, with smaller ones."""
    g = GEOMETRIES[geometry]
    work = TINY_RUNS[name]() if geometry == "tiny" else shipped_work(name, g, "tiny")
    name, image, job = work.image.name, work.image, work.job
    traces = []
    for transport in transports(g, traces):
        device = Device(transport)
        launch, arrays = start_job(device, device.load([image])[name], job)
        device.wait(launch, CYCLES)
        assert not any(differences(job, arrays).values())
        traces.append(transport.take_trace())
    agree(traces, image.code)
