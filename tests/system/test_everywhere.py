"""Preempt everywhere on the RTL: at every cycle of small runs, for both mechanisms, nothing may be lost.

`make test` takes a sample; `make test-full` every cycle. Chunks that have passed are remembered by a hash of the
RTL, the kernel and the job, so that an interrupted full campaign goes on where it stopped.
"""

import dataclasses
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.encoding import decode
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa import LIVE_BITS, Format
from caesura.sim.memory import MemoryTiming
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import library
from caesura.sim.scenario import Work
from caesura.sim.testing.everywhere import Campaign
from caesura.sim.testing.random_ptx import RandomKernel
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CycleLimit, KernelFault
from caesura.software.kernels import (
    collatz_job,
    histogram_job,
    hostile,
    hotspot_job,
    kernel,
    layerforward_job,
    matmul_job,
    nbody_job,
    rankfilter_job,
    reduction_job,
    warpscan_job,
)
from caesura.software.kernels.job import Job

SMALL = PRESETS["gtx480"].replace(warps=8, tb_slots=2)
FULL = PRESETS["gtx480"]
MOST_CYCLES = 2000
MOST_CYCLES_OF_ATOMICS = 6000
"""Same-address lanes come one after the other, sums of f64 in a loop."""
CHUNKS = 16
SAMPLE_STRIDE = 13
SAMPLES = 30
"""Of the kernels in `UNITS`, whose preemption points lie far apart: with `live` many requests come to nothing."""
DONE = Path(os.environ.get("CAESURA_CACHE", "build/cache")) / "everywhere"


def shipped(name, job):
    k = kernel(name)
    return Work(compile_ptx(k.ptx_path.read_text(), k.ptx_path.name)[name], job)


def random_work():
    k = RandomKernel(12, grid=(2,), block=(9,), statements=1, variables=2, wide=1, heavy=False)
    output = np.zeros(k.output_bytes, np.uint8)
    arguments = {"output": output, "input": np.frombuffer(k.inputs(), np.uint8), "n": k.n}
    return Work(compile_ptx(k.ptx, "random.ptx")[k.name],
                Job(k.grid, k.block, arguments, {"output": np.frombuffer(k.expected(), np.uint8)}))


WORKS = {
    "divergent": lambda: shipped("collatz", collatz_job(100, 5, seed=5, threads=56)),
    "barriers": lambda: shipped("reduction", reduction_job(2, 1, seed=6, threads=128)),
    "random": random_work,
    "matmul": lambda: shipped("matmul", matmul_job(16, 16, 16, seed=7)),
    "hotspot": lambda: shipped("hotspot", hotspot_job(12, 12, 2, seed=8)),
    "layerforward": lambda: shipped("layerforward", layerforward_job(1, seed=9)),
    "doubles": lambda: shipped("nbody", nbody_job(8, 1, seed=10, threads=8)),
    "atomics": lambda: shipped("histogram", histogram_job(1, 1, seed=11, threads=64)),
    "shuffles": lambda: shipped("warpscan", warpscan_job(75, 2, seed=12, threads=40)),
    "local": lambda: shipped("rankfilter", rankfilter_job(41, 3, seed=13, threads=41)),
}
FLOATS = "matmul", "hotspot", "layerforward"
"""Compressed contexts."""
UNITS = "doubles", "atomics", "shuffles", "local"
"""State beside registers, predicates and shared memory."""
NEAR = 50
"""Cycles of memory latency for `FLOATS` and `UNITS`: it keeps these runs within `MOST_CYCLES`."""
CASES = [(name, mechanism) for name in WORKS for mechanism in Mechanism
         if name not in FLOATS or mechanism is Mechanism.LIVE_CP]
_campaigns = {}


def campaign(name, geometry=SMALL, work=None):
    key = name, geometry.warps
    if key not in _campaigns:
        transport = RtlTransport(geometry, memory_bytes=4 << 20)
        if name in FLOATS + UNITS:
            transport.set_timing(MemoryTiming.of(geometry.replace(memory_latency=NEAR)))
        _campaigns[key] = Campaign(transport, work or WORKS[name](), Work(*hostile(geometry)))
    return _campaigns[key]


def mark(c, *facts):
    text = repr((library(c.transport.geometry).name, c.work.image.code, c.work.job.grid, c.work.job.block, facts))
    return DONE / hashlib.sha256(text.encode()).hexdigest()


def check(outcomes):
    wrong = {o.cycle: o.wrong_bytes for o in outcomes if o.wrong_bytes}
    assert not wrong, f"wrong bytes by cycle of the request: {wrong}"


@pytest.mark.parametrize("name, mechanism", CASES)
def test_sampled_cycles(name, mechanism):
    c = campaign(name)
    assert c.cycles <= (MOST_CYCLES_OF_ATOMICS if name == "atomics" else MOST_CYCLES)
    stride = c.cycles // SAMPLES if name in UNITS else SAMPLE_STRIDE
    outcomes = list(c.at_cycles(mechanism, range(7 * mechanism, c.cycles, stride)))
    check(outcomes)
    assert sum(o.saved for o in outcomes) > len(outcomes) // (6 if name in UNITS else 2)


@pytest.mark.parametrize("name", [name for name in WORKS if name not in FLOATS])
def test_campaign_notices_liveness_that_is_wrong(name):
    work = WORKS[name]()
    points = [k for k, word in enumerate(work.image.code) if decode(word).op.format is Format.L]
    code = tuple(word & ~((1 << LIVE_BITS) - 1) if k in points else word for k, word in enumerate(work.image.code))
    broken = Work(dataclasses.replace(work.image, code=code), work.job)
    c = Campaign(RtlTransport(SMALL, memory_bytes=1 << 20), broken, Work(*hostile(SMALL)))
    wrong = 0
    for cycle in range(c.cycles // 4, c.cycles, c.cycles // 8):
        try:
            wrong += sum(o.wrong_bytes for o in c.at_cycles(Mechanism.LIVE, [cycle]))
        except (CycleLimit, KernelFault):
            wrong += 1
    assert wrong > 0


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name, mechanism", CASES)
def test_every_cycle(name, mechanism, chunk):
    c = campaign(name)
    bounds = [c.cycles * k // CHUNKS for k in range(CHUNKS + 1)]
    done = mark(c, mechanism, bounds[chunk], bounds[chunk + 1])
    if done.exists():
        return
    check(c.at_cycles(mechanism, range(bounds[chunk], bounds[chunk + 1])))
    done.parent.mkdir(parents=True, exist_ok=True)
    done.touch()


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("name", ["bfs", "reduction", "pathfinder", "hotspot", "matmul", "layerforward", "nbody",
                                  "histogram", "warpscan", "rankfilter"])
def test_every_37th_cycle_of_the_whole_sm(name, mechanism):
    c = campaign(f"{name} on the whole SM", FULL, shipped(name, kernel(name).job("tiny")))
    check(c.at_cycles(mechanism, range(0, c.cycles, 37)))


@pytest.mark.parametrize("name, mechanism", CASES)
def test_periodic_preemption_terminates(name, mechanism):
    outcome = campaign(name).periodic(mechanism, 500)
    assert outcome.wrong_bytes == 0
    assert outcome.cycle >= 1
