"""The driver on the golden model: launches, preemption, faults, limits and bad launches."""

import numpy as np
import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.scenario import Work, differences, run_preemption, start_job
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CycleLimit, KernelFault, LaunchError
from caesura.software.kernels import KERNELS, hostile, kernel

GEOMETRY = PRESETS["gtx480"]


def work(name, size="tiny"):
    k = kernel(name)
    return Work(compile_ptx(k.ptx_path.read_text(), k.ptx_path.name)[name], k.job(size))


@pytest.mark.parametrize("name", KERNELS)
def test_shipped_kernel_matches_its_reference(name):
    device = open_device("golden", GEOMETRY)
    w = work(name)
    launch, arrays = start_job(device, device.load([w.image])[name], w.job)
    device.wait(launch)
    assert not any(differences(w.job, arrays).values())


@pytest.mark.parametrize("geometry", PRESETS.values(), ids=lambda g: g.name)
def test_hostile_kernel_matches_its_reference(geometry):
    device = open_device("golden", geometry)
    image, job = hostile(geometry)
    launch, arrays = start_job(device, device.load([image])["hostile"], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


def test_kernel_without_preemption_points_drains():
    device = open_device("golden", GEOMETRY)
    result = run_preemption(device, work("vecadd"), Work(*hostile(GEOMETRY)), 100, Mechanism.LIVE, scramble=True)
    assert result.correct
    assert result.preempt is None, "its two TBs were resident, and end before they reach a preemption point"


@pytest.mark.parametrize(("name", "mechanism"), [
    (name, mechanism) for name in KERNELS for mechanism in Mechanism
    if (name, mechanism) != ("vecadd", Mechanism.LIVE)])
def test_preempted_kernel_ends_right(name, mechanism):
    device = open_device("golden", GEOMETRY)
    result = run_preemption(device, work(name), Work(*hostile(GEOMETRY)), 100, mechanism, scramble=True)
    assert result.preempt is not None
    assert result.correct, result.differences
    assert result.saved_tbs and all(tb.warps for tb in result.saved_tbs)


def test_launch_arguments_are_checked():
    device = open_device("golden", GEOMETRY)
    w = work("vecadd")
    entry = device.load([w.image])["vecadd"]
    array = device.array(np.zeros(4, np.int32))
    with pytest.raises(LaunchError, match="takes 4 arguments .* 3 given"):
        entry(1, 32, [array, array, array])
    with pytest.raises(LaunchError, match="4 bytes|value of 4"):
        entry(1, 32, [array, array, array, array])
    with pytest.raises(LaunchError, match="does not fit"):
        entry(1, 32, [array, array, array, 1 << 40])
    with pytest.raises(LaunchError, match="integer is wanted"):
        entry(1, 32, [array, array, array, 1.5])
    with pytest.raises(LaunchError, match="grid must be"):
        entry(0, 32, [array, array, array, 4])
    with pytest.raises(LaunchError, match="1025 threads a TB"):
        entry(1, 1025, [array, array, array, 4])
    with pytest.raises(LaunchError, match="shared memory"):
        entry(1, 32, [array, array, array, 4], shared_bytes=1 << 20)


def test_kernel_that_leaves_its_window_faults_with_its_place():
    device = open_device("golden", GEOMETRY)
    w = work("vecadd")
    entry = device.load([w.image])["vecadd"]
    launch = entry(1, 32, [0, 0, 0, 32])
    with pytest.raises(KernelFault) as caught:
        device.wait(launch)
    record = caught.value.record
    assert record.kind is Fault.GLOBAL_WINDOW
    assert record.line > 0 and "ld.global" in record.instruction
    again = entry(1, 32, [device.array(np.ones(32, np.int32)) for _ in range(3)] + [32])
    device.wait(again)  # the machine goes on


def test_cycle_limit_says_where_each_warp_stands():
    device = open_device("golden", GEOMETRY)
    w = work("pathfinder")
    launch, _ = start_job(device, device.load([w.image])["pathfinder"], w.job)
    with pytest.raises(CycleLimit, match="(?s)has not finished after 200 cycles.*TB 0 warp 0: .*PC"):
        device.wait(launch, 200)
