"""The kernel of atomics: exact on the golden model in any geometry, and its checker sees what is lost or repeated."""

import functools
from collections import Counter

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.kernels import hostile, kernel
from caesura.software.kernels.examples.counts import histogram_job
from support.selection import quick

GTX480 = PRESETS["gtx480"]
SMALL = GTX480.replace(warps=8, tb_slots=2)
WIDTHS = {"32 lanes": SMALL, "16 lanes": SMALL.replace(warp_size=16, lanes=16),
          "8 lanes": SMALL.replace(warp_size=8, lanes=8)}


@functools.cache
def checked():
    """Return a job and the arrays that the kernel leaves of it."""
    job = histogram_job(2, 2, 5, 64)
    return job, results(job, SMALL)[1]


def compiled():
    return kernel("histogram").image()


def results(job, geometry):
    """Return the job's wrong elements, and the arrays that the kernel leaves."""
    device = open_device("golden", geometry)
    launch, arrays = start_job(device, device.load([compiled()])["histogram"], job)
    device.wait(launch)
    return differences(job, arrays), {name: array.get() for name, array in arrays.items()}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [(1, 1, 64), (3, 2, 64)])
def test_shapes(width, shape):
    blocks, rounds, threads = shape
    wrong, _ = results(histogram_job(blocks, rounds, 3, threads), WIDTHS[width])
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("size", quick(("tiny", "small"), ["tiny"]))
def test_jobs(size):
    wrong, _ = results(kernel("histogram").job(size, 2), GTX480)
    assert not any(wrong.values()), wrong


def test_the_code_has_atomics_of_every_kind():
    names = Counter(decode(word).op.name for word in compiled().code)
    assert {name for name in names if name.startswith(("atom", "red"))} == {
        "atom.shared.add.b32", "atom.shared.or.b64", "atom.shared.cas.b64", "atom.global.add.b32", "atom.global.or.b64",
        "atom.global.cas.b64",
        "red.global.add.b32", "red.global.fadd.b32", "red.global.max.u.b64"}


@pytest.mark.parametrize("array, change", [
    ("bins", lambda x: x + 1), ("ranks", lambda x: x - 1), ("weights", lambda x: x + 1), ("counter", lambda x: x + 1),
    ("largest", lambda x: x ^ 1), ("total", lambda x: x + 1)])
def test_the_checker_sees_a_lost_or_repeated_operation(array, change):
    job, arrays = checked()
    one = arrays[array].copy()
    one[:1] = change(one[:1])
    assert (one != job.expected[array]).sum() == 1


@pytest.mark.parametrize("place, value", [(0, -1), (0, None), (-1, 3)])
def test_the_checker_sees_a_ticket_lost_or_given_twice(place, value):
    job, arrays = checked()
    assert job.judge is not None and job.judge(arrays) == {"order": 0}
    order = arrays["order"].copy()
    order[place] = order[1] if value is None else value
    assert job.judge(arrays | {"order": order})["order"] > 0


def test_reference_is_what_the_source_says():
    """Samples one by one, in plain Python, block after block."""
    job = histogram_job(2, 3, 7, 64)
    samples = [int(x) for x in np.asarray(job.arguments["samples"])]
    bins, ranks, weights, total = [0] * 64, [0] * 64, [0] * 64, 0
    for block in range(2):
        local = [0] * 64
        for i, sample in enumerate(samples):
            if i // 64 % 2 == block:
                ranks[sample % 64] += local[sample % 64]
                local[sample % 64] += 1
                weights[sample % 64] += sample >> 24
                total += (sample >> 8) * (sample % 16 == 3)
        bins = [a + b for a, b in zip(bins, local, strict=True)]
    chosen = sum(sample % 16 == 3 for sample in samples)
    assert job.expected["bins"].tolist() == bins and job.expected["ranks"].tolist() == ranks
    assert job.expected["weights"].tolist() == weights and job.expected["total"].tolist() == [total]
    assert job.expected["counter"].tolist() == [chosen] and job.expected["tickets"].sum() == chosen


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE]))
def test_preempted(mechanism):
    job, image, saved = histogram_job(2, 1, 9, 64), compiled(), 0
    for at in range(40, 400, 90):
        device = open_device("golden", SMALL)
        result = run_preemption(device, CompiledJob(image, job), CompiledJob(*hostile(SMALL)), at,
                                Way(mechanism, scramble=True))
        assert result.correct, (at, result.differences)
        saved += result.preempt is not None
    assert saved > 1
