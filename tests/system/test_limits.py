"""Save and restore time of every shipped kernel against the limit of the bus."""

import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.bench.limits import MOMENTS, preemptions
from caesura.software.kernels import KERNELS


@pytest.mark.parametrize(("mechanism", "moments"), [
    (Mechanism.LIVE_CP, MOMENTS[1:2]),
    *(pytest.param(mechanism, MOMENTS, marks=pytest.mark.full) for mechanism in Mechanism)])
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KERNELS)
def test_save_and_restore_keep_to_the_limit_of_the_bus(name, mechanism, moments):
    saved = 0
    for early, gang in preemptions(PRESETS["gtx480"], name, mechanism, moments=moments):
        for result in (early, gang):
            assert result.correct, result.differences
            if result.preempt is None:
                continue
            saved += result.preempt.tbs
            assert result.save_limit is not None and result.restore_limit is not None
            assert result.save_limit.met, result.save_limit
            assert result.restore_limit.met, result.restore_limit
        if early.resume and gang.resume and gang.preempt and gang.preempt.tbs > 1:
            assert gang.restore_limit and gang.restore_limit.regular_cycles == 0
            assert gang.resume.resume_cycles >= gang.resume.restore_cycles > early.resume.resume_cycles
    short = name == "vecadd" and mechanism is not Mechanism.OCCUPIED  # ends before its only preemption points come
    assert saved or short, "nothing was ever saved"
