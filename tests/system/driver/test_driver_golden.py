"""The driver on the golden model: launches, preemption, faults, limits and bad launches."""

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.encodings import Encoding
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CycleLimit, KernelFault, LaunchError
from caesura.software.kernels import KERNELS, hostile, kernel
from support.selection import quick

GEOMETRY = PRESETS["gtx480"]
EXAMPLES = [name for name, k in KERNELS.items() if k.folder == "examples"]
NAMES = quick(KERNELS, EXAMPLES)


def work(name, size="tiny"):
    k = kernel(name)
    return CompiledJob(k.image(), k.job(size))


@pytest.mark.parametrize("geometry", PRESETS.values(), ids=lambda g: g.name)
def test_hostile_kernel_matches_its_reference(geometry):
    device = open_device("golden", geometry)
    image, job = hostile(geometry)
    launch, arrays = start_job(device, device.load([image])["hostile"], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


def test_kernel_without_preemption_points_drains_if_patience_is_unlimited():
    device = open_device("golden", GEOMETRY)
    result = run_preemption(device, work("vecadd"), CompiledJob(*hostile(GEOMETRY)), 100,
                            Way(patience=UNLIMITED, scramble=True))
    assert result.correct
    assert result.preempt is None, "its two TBs were resident, and end before they reach a preemption point"


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]))
@pytest.mark.parametrize("name", NAMES)
def test_preempted_kernel_ends_right(name, mechanism):
    device = open_device("golden", GEOMETRY)
    preempted = work(name)
    result = run_preemption(device, preempted, CompiledJob(*hostile(GEOMETRY)), 100, Way(mechanism, scramble=True))
    assert result.preempt is not None
    assert result.correct, result.differences
    assert all(tb.warps for tb in result.saved_tbs) and result.saved_tbs


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
    with pytest.raises(LaunchError, match=r"vecadd_param_3 \(u32\): -2147483649 does not fit; .* from -2147483648 to"):
        entry(1, 32, [array, array, array, -(1 << 31) - 1])
    assert entry.parameter_words([array, array, array, -5])[6] == (1 << 32) - 5, "nvcc writes an int as a .u32"
    with pytest.raises(LaunchError, match="integer is wanted"):
        entry(1, 32, [array, array, array, 1.5])
    with pytest.raises(LaunchError, match="grid must be"):
        entry(0, 32, [array, array, array, 4])
    with pytest.raises(LaunchError, match="1025 threads a TB"):
        entry(1, 1025, [array, array, array, 4])
    with pytest.raises(LaunchError, match="shared memory"):
        entry(1, 32, [array, array, array, 4], shared_bytes=1 << 20)


def test_the_address_of_an_array_is_no_double():
    device = open_device("golden", GEOMETRY)
    image = compile_ptx(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .f64 x) { ret; }")["k"]
    with pytest.raises(LaunchError, match=r"parameter x \(f64\): a number is wanted, not a device array"):
        device.load([image])["k"].parameter_words([device.array(np.zeros(4))])


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


@pytest.mark.parametrize("name", quick(KERNELS, EXAMPLES[::3]))
def test_compressed_context_reads_as_the_uncompressed_one(name):
    found = {}
    for mechanism in Mechanism:
        device = open_device("golden", GEOMETRY)
        w = work(name)
        launch, _ = start_job(device, device.load([w.image])[name], w.job)
        device.advance(150)
        if device.preempt(launch, mechanism, patience=None if mechanism is Mechanism.OCCUPIED else "unlimited"):
            found[mechanism] = device.context(launch)
    for tb, packed in (both for mechanism in (Mechanism.LIVE_CP, Mechanism.LIVE_TB) for both in zip(
            found.get(Mechanism.LIVE, []), found.get(mechanism, []), strict=True)):
        assert packed.shared_lines == tb.shared_lines and packed.data_bytes <= tb.data_bytes
        for warp, small in zip(tb.warps, packed.warps, strict=True):
            lanes = [k for k in range(GEOMETRY.warp_size) if warp.live_lanes >> k & 1]
            assert warp.registers.keys() == small.registers.keys()
            assert all((warp.registers[r][lanes] == small.registers[r][lanes]).all() for r in warp.registers)
            assert warp.encodings.keys() == small.encodings.keys() == set(range(tb.allocated_registers))
            assert [r for r, e in small.encodings.items() if e is not Encoding.DEAD] == list(warp.registers)
            assert {warp.encodings[r] for r in warp.registers} <= {Encoding.RANDOM}
            assert small.data_bytes <= warp.data_bytes == len(warp.registers) * GEOMETRY.vector_bytes
    for tbs in found.values():
        assert all(sum(w.data_bytes for w in tb.warps) + 128 * len(tb.shared_lines) == tb.data_bytes for tb in tbs)


def test_mechanisms_have_the_papers_names():
    assert [m.label for m in Mechanism] == ["occupied", "live", "live+cp", "live+tb"]
    assert all(Mechanism.of(m.label) is m for m in Mechanism)
    with pytest.raises(ValueError, match="'magic'; there are occupied, live, live\\+cp, live\\+tb"):
        Mechanism.of("magic")
