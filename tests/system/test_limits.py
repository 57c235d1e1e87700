"""Save and restore time of every shipped kernel against the limit of the bus."""

import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.bench.limits import middle_preemption
from caesura.software.kernels import KERNELS


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("name", KERNELS)
def test_save_and_restore_keep_to_the_limit_of_the_bus(name, mechanism):
    result = middle_preemption(PRESETS["gtx480"], name, mechanism)
    assert result.correct, result.differences
    assert result.save_limit is not None and result.restore_limit is not None
    assert result.save_limit.met, result.save_limit
    assert result.restore_limit.met, result.restore_limit
