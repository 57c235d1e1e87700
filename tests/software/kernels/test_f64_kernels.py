"""The f64 kernel: a reference that is exact, results equal to the bit on the golden model, preempted or not."""

import random
from fractions import Fraction

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.kernels import hostile, kernel, nbody_job
from caesura.software.kernels.examples import f64 as jobs
from caesura.software.kernels.numerics import fma_f64
from support.selection import quick

SMALL = PRESETS["gtx480"].replace(warps=8, tb_slots=2)


@pytest.fixture(scope="module")
def image():
    return kernel("nbody").image()


def wrong_elements(image, job):
    device = open_device("golden", "gtx480")
    launch, arrays = start_job(device, device.load([image])["nbody"], job)
    device.wait(launch)
    return sum(differences(job, arrays).values())


def test_fma_is_exact():
    rng = random.Random(1)

    def one(low, high):
        fraction = rng.choice((rng.getrandbits(52), 0, 1, (1 << 52) - 1, 1 << rng.randrange(52)))
        return rng.choice((-1, 1)) * (1 + fraction / 2 ** 52) * 2.0 ** rng.randrange(low, high)
    a, b, c = (np.array([one(low, high) for _ in range(6_000)]) for low, high in ((-30, 30), (-30, 30), (-120, 120)))
    c[::3] = -(a * b)[::3] * (1 + np.array([rng.randrange(-3, 4) for _ in c[::3]]) / 2 ** 52)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert fma_f64(a, b, c).tolist() == exact
    assert (a * b + c != np.array(exact)).any(), "the operands show no double rounding"


@pytest.mark.parametrize("shape", [(1, 1, 32), (100, 3, 64), (40, 11, 33), (65, 7, 128), (10, 0, 32)])
def test_shapes(image, shape):
    bodies, sources, threads = shape
    assert wrong_elements(image, nbody_job(bodies, sources, 2, threads)) == 0


@pytest.mark.parametrize("size, seed", quick([("tiny", 7), ("small", 1)], [("tiny", 7)]))
def test_jobs_of_every_size(image, size, seed):
    assert wrong_elements(image, kernel("nbody").job(size, seed)) == 0


def test_reference_depends_on_contraction(image, monkeypatch):
    """With a product and a sum rounded one by one the reference is another: the inputs tell the two apart."""
    monkeypatch.setattr(jobs, "fma_f64", lambda a, b, c: a * b + c)
    assert wrong_elements(image, nbody_job(64, 5, 6)) > 0


def test_every_result_is_a_number_that_was_computed():
    job = kernel("nbody").job("small")
    for array, expected in job.expected.items():
        assert np.isfinite(expected).all() and (expected != job.arguments[array]).all()


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_TB]), ids=lambda m: m.name)
def test_one_tb_survives_preemption_anywhere(image, mechanism):
    job, saved, at = nbody_job(60, 2, 8), 0, 1 + 17 * mechanism
    while True:
        device = open_device("golden", SMALL, memory_bytes=1 << 20)
        result = run_preemption(device, CompiledJob(image, job), CompiledJob(*hostile(SMALL)), at,
                                Way(mechanism, scramble=True))
        assert result.correct, (at, result.differences)
        if result.preempt is None:
            break
        saved += 1
        at += 53
    assert saved > 3
