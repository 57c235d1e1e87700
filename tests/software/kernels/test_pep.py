"""The kernels after PEP Table I are right on the golden model, preempted or not."""

import random

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.kernels import hostile, pep


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("shipped", pep.KERNELS, ids=lambda shipped: shipped.name)
def test_results(shipped, size):
    job = shipped.job(size)
    device = open_device("golden", PRESETS["gtx980"])
    launch, arrays = start_job(device, device.load([shipped.image()])[shipped.name], job)
    device.wait(launch)
    assert sum(differences(job, arrays).values()) == 0


@pytest.mark.parametrize("shipped", pep.KERNELS, ids=lambda shipped: shipped.name)
def test_results_after_preemption(shipped):
    g, rng, saved = PRESETS["gtx980"], random.Random(5), 0
    for mechanism in Mechanism:
        device = open_device("golden", g)
        result = run_preemption(device, CompiledJob(shipped.image(), shipped.job("tiny")), CompiledJob(*hostile(g)),
                                rng.randrange(1, 200), Way(mechanism, scramble=True))
        assert result.correct, (mechanism, result.differences)
        saved += result.preempt is not None
    assert saved
