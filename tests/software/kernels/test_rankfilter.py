"""The kernel with local memory and constants: its reference, and its results on the golden model, preempted or not."""

import re

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.kernels import hostile, kernel, rankfilter_job
from support.selection import quick

SMALL = PRESETS["gtx480"].replace(warps=8, tb_slots=2)
SHIPPED = kernel("rankfilter")


@pytest.fixture(scope="module")
def image():
    return SHIPPED.image()


@pytest.mark.parametrize("length", [1, 7, 16])
def test_the_reference_is_what_the_source_says(length):
    source = SHIPPED.cuda_path.read_text()
    curve, weights = (list(map(int, re.search(rf"{name}\[\w+\] = {{([^}}]*)}}", source)[1].split(",")))
                      for name in ("curve", "weights"))
    job = rankfilter_job(50, length, seed=length)
    samples = [int(x) for x in job.arguments["samples"]]
    for i, expected in enumerate(job.expected["out"]):
        window = sorted(curve[s & 63] + (s >> 6) for s in samples[i:i + length])
        assert sum(w * x for w, x in zip(weights, window, strict=False)) == expected


def test_it_uses_local_memory_and_constants_and_can_be_preempted_in_every_loop(image):
    names = [decode(word).op.name for word in image.code]
    assert image.local_bytes == 64 and len(image.constants) == 192
    assert {"ld.local.b32", "st.local.b32", "ld.const.s16", "uld.const.b32"} <= set(names)
    assert names.count("pp") >= 3 and [s.name for s in image.symbols] == ["curve", "weights"]


@pytest.mark.parametrize("size", quick(("tiny", "small"), ["tiny"]))
def test_results_are_right(image, size):
    job = SHIPPED.job(size, seed=3)
    device = open_device("golden", "gtx480", memory_bytes=1 << 22)
    launch, arrays = start_job(device, device.load([image])["rankfilter"], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_TB]))
@pytest.mark.parametrize("guest", ["rankfilter", "hostile"])
def test_results_are_right_after_a_preemption_for_a_kernel_that_also_has_local_memory(image, mechanism, guest):
    job = rankfilter_job(3 * 64 - 5, 9, 5, threads=64)
    other = CompiledJob(image, rankfilter_job(90, 16, 6,
                                              threads=64)) if guest == "rankfilter" else CompiledJob(*hostile(SMALL))
    saved = 0
    for at in range(40 + 180 * mechanism, 2200, 540):
        device = open_device("golden", SMALL, memory_bytes=1 << 20)
        result = run_preemption(device, CompiledJob(image, job), other, at, Way(mechanism, scramble=True))
        assert result.correct, (at, result.differences)
        saved += result.preempt is not None
    assert saved > 2


def test_every_tb_of_a_grid_larger_than_the_sm_has_local_memory_of_its_own(image):
    job = rankfilter_job(23 * 32, 12, 7, threads=32)
    device = open_device("golden", SMALL, memory_bytes=1 << 20)
    launch, arrays = start_job(device, device.load([image])["rankfilter"], job)
    for _ in range(12):
        device.advance(150)
        if device.preempt(launch, Mechanism.LIVE_CP, scramble=True) is None:
            break
        bases = [tb.local_base for tb in device.context(launch)]
        assert len(set(bases)) == len(bases) and all(base % 128 == 0 for base in bases)
        device.resume(launch)
    device.wait(launch)
    assert not any(differences(job, arrays).values())
