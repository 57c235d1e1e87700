"""The kernels after PEP Table I are right on the golden model."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.scenario import differences, start_job
from caesura.software.kernels import pep


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("shipped", pep.KERNELS, ids=lambda shipped: shipped.name)
def test_results(shipped, size):
    job = shipped.job(size)
    device = open_device("golden", PRESETS["gtx980"])
    launch, arrays = start_job(device, device.load([shipped.image()])[shipped.name], job)
    device.wait(launch)
    assert sum(differences(job, arrays).values()) == 0
