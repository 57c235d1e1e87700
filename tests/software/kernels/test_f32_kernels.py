"""The f32 kernels: references that are exact, results equal to the bit on the golden model, preempted or not."""

import random

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.sim.workloads.random_ptx.floats import multiply_add
from caesura.software.driver import Device
from caesura.software.kernels import (
    hostile,
    hotspot_job,
    kernel,
    layerforward_job,
    matmul_job,
    saxpy_job,
)
from caesura.software.kernels.examples import f32 as jobs
from caesura.software.kernels.numerics import fma
from support.selection import quick

GTX480 = PRESETS["gtx480"]
SMALL = GTX480.replace(warps=8, tb_slots=2)
NAMES = ("saxpy", "matmul", "hotspot", "layerforward")
ONE_TB = {"matmul": lambda seed: matmul_job(16, 16, 16, seed), "hotspot": lambda seed: hotspot_job(12, 12, 2, seed),
          "layerforward": lambda seed: layerforward_job(1, seed), "saxpy": lambda seed: saxpy_job(2, 3, seed, 64)}
STEPS = {"saxpy": 35, "matmul": 167, "hotspot": 233, "layerforward": 157}
"""Cycles between preemptions; each mechanism begins at another one."""


def compiled(name):
    return kernel(name).image()


def wrong_elements(name, job, geometry=GTX480):
    device = open_device("golden", geometry)
    launch, arrays = start_job(device, device.load([compiled(name)])[name], job)
    device.wait(launch)
    return sum(differences(job, arrays).values())


def patterns(rng):
    """Return three finite f32 patterns whose product and addend are near each other, or that give a subnormal."""
    def one(low, high):
        fraction = rng.choice((rng.getrandbits(23), 0, 1, 0x7F_FFFF, 0x40_0000, 1 << rng.randrange(23)))
        return rng.getrandbits(1) << 31 | rng.randrange(low, high) << 23 | fraction

    if rng.random() < 0.3:
        return one(1, 70), one(1, 80), one(0, 4)
    a, b = one(90, 150), one(90, 150)
    c = multiply_add(a, b, 0, "rn") if rng.random() < 0.3 else one(60, 180)
    return a, b, c ^ rng.getrandbits(1) << 31


def test_fma_is_exact():
    rng = random.Random(1)
    a, b, c = (np.array(x, np.uint32) for x in zip(*(patterns(rng) for _ in range(8_000)), strict=True))
    got = fma(*(x.view(np.float32) for x in (a, b, c))).view(np.uint32)
    exact = [multiply_add(*x, "rn") for x in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    assert got.tolist() == exact
    once_in_f64 = (a.view(np.float32).astype(np.float64) * b.view(np.float32) + c.view(np.float32)).astype(np.float32)
    assert (once_in_f64.view(np.uint32) != got).any(), "the operands show no double rounding"


@pytest.mark.parametrize("shape", [(16, 16, 16), (1, 1, 1), (33, 17, 15), (5, 40, 31), (48, 16, 16)])
def test_matmul_shapes(shape):
    assert wrong_elements("matmul", matmul_job(*shape, seed=2)) == 0


@pytest.mark.parametrize("shape", [(12, 12, 2), (14, 14, 1), (1, 1, 1), (40, 7, 3), (3, 9, 7), (3, 31, 5)])
def test_hotspot_shapes(shape):
    assert wrong_elements("hotspot", hotspot_job(*shape, seed=3)) == 0


@pytest.mark.parametrize("shape", [(1, 16), (2, 16), (5, 19), (3, 40)])
def test_layerforward_shapes(shape):
    blocks, hidden = shape
    assert wrong_elements("layerforward", layerforward_job(blocks, 4, hidden)) == 0


@pytest.mark.parametrize("shape", [(1, 1, 32), (3, 2, 100), (2, 5, 256)])
def test_saxpy_shapes(shape):
    blocks, rounds, threads = shape
    assert wrong_elements("saxpy", saxpy_job(blocks, rounds, 5, threads)) == 0


@pytest.mark.parametrize("name, size, seed", quick(
    [(name, size, seed) for name in NAMES for size, seed in (("tiny", 7), ("small", 1), ("small", 2))],
    [(name, size, seed) for name in NAMES for size, seed in (("tiny", 7), ("small", 1))
     if (name, size) != ("matmul", "small")]))
def test_jobs_of_every_size(name, size, seed):
    assert wrong_elements(name, kernel(name).job(size, seed)) == 0


@pytest.mark.parametrize("name", ["saxpy", "matmul", "hotspot"])
def test_reference_depends_on_contraction(name, monkeypatch):
    """With a product and a sum rounded one by one the reference is another: the inputs tell the two apart."""
    monkeypatch.setattr(jobs, "fma", lambda a, b, c: np.float32(1) * a * b + c)
    assert wrong_elements(name, ONE_TB[name](6)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_a_number_that_was_computed(name):
    job = kernel(name).job("small")
    for array, expected in job.expected.items():
        assert expected.dtype == np.float32 and np.isfinite(expected).all()
        assert np.count_nonzero(expected != job.arguments[array]) > expected.size * 0.4


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("name", quick(NAMES, ["saxpy", "matmul"]))
def test_one_tb_survives_preemption_anywhere(name, mechanism):
    image, saved, at = compiled(name), 0, 1 + STEPS[name] // 3 * mechanism
    job = ONE_TB[name](8)
    while True:
        device = open_device("golden", SMALL, memory_bytes=1 << 20)
        result = run_preemption(device, CompiledJob(image, job), CompiledJob(*hostile(SMALL)), at,
                                Way(mechanism, scramble=True))
        assert result.correct, (at, result.differences)
        if result.preempt is None:
            break
        saved += 1
        at += STEPS[name]
    assert saved > 3


@pytest.mark.parametrize("name", NAMES)
def test_small_job_fills_the_sm(name):
    """After a while as many TBs are resident as warps and registers allow, and more wait."""
    job, image = kernel(name).job("small"), compiled(name)
    transport = GoldenTransport(GTX480)
    device = Device(transport)
    start_job(device, device.load([image])[name], job)
    device.advance(3000)
    resident = len(list(transport.machine.resident()))
    warps = -(-np.prod(job.block) // 32)
    most = min(GTX480.warps // warps, GTX480.registers // (warps * image.registers))
    assert warps == 8 and resident == most >= 5
    assert np.prod(job.grid) > most


@pytest.mark.parametrize("make, what", [(lambda: hotspot_job(9, 9, 0, 1), "steps must be 1 to 7, not 0"),
                                        (lambda: hotspot_job(9, 9, 8, 1), "steps must be 1 to 7, not 8"),
                                        (lambda: layerforward_job(1, 1, 15), "hidden must be at least 16, not 15")])
def test_jobs_that_cannot_be(make, what):
    with pytest.raises(ValueError, match=what):
        make()
