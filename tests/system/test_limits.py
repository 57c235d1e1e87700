"""Save and restore time of every shipped kernel against the limit of the bus."""

import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.scenario import Work, run_preemption, start_job
from caesura.software.compiler import compile_ptx
from caesura.software.kernels import KERNELS, hostile, kernel


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("name", KERNELS)
def test_save_and_restore_keep_to_the_limit_of_the_bus(name, mechanism):
    g = PRESETS["gtx480"]
    k = kernel(name)
    work = Work(compile_ptx(k.ptx_path.read_text(), k.ptx_path.name)[name], k.job("small"))
    device = open_device("rtl", g)
    launch, _ = start_job(device, device.load([work.image])[name], work.job)
    middle = device.wait(launch) // 2
    result = run_preemption(open_device("rtl", g), work, Work(*hostile(g)), middle, mechanism)
    assert result.correct, result.differences
    assert result.save_limit is not None and result.restore_limit is not None
    assert result.save_limit.met, result.save_limit
    assert result.restore_limit.met, result.restore_limit
