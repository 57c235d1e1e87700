"""The kernel whose lanes exchange registers: exact on warps of every width, on the golden model, preempted or not."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.kernels import hostile, kernel, warpscan_job
from support.selection import quick

GTX480 = PRESETS["gtx480"]
SMALL = GTX480.replace(warps=8, tb_slots=2)
WIDTHS = {"32 lanes": SMALL, "16 lanes": SMALL.replace(warp_size=16, lanes=16), "8 lanes": PRESETS["tiny"].replace(
    regs_per_thread=32, registers=128, shared_bytes=4096)}


def compiled():
    return kernel("warpscan").image()


def wrong_elements(job, geometry):
    device = open_device("golden", geometry)
    launch, arrays = start_job(device, device.load([compiled()])["warpscan"], job)
    device.wait(launch)
    return sum(differences(job, arrays).values())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [(1, 1, 8), (8, 1, 8), (61, 1, 24), (300, 2, 32), (517, 3, 16)])
def test_shapes(width, shape):
    n, blocks, threads = shape
    assert wrong_elements(warpscan_job(n, blocks, 3, threads), WIDTHS[width]) == 0


@pytest.mark.parametrize("size, seed", [("tiny", 1), ("small", 2)])
def test_jobs(size, seed):
    assert wrong_elements(kernel("warpscan").job(size, seed), GTX480) == 0


def test_reference_is_what_the_source_says():
    """Elements one by one, in plain Python."""
    job = warpscan_job(203, 1, 5)
    data = np.asarray(job.arguments["in"]).tolist() + [0] * 5
    for row in range(26):
        x = data[8 * row:8 * row + 8]
        odd = [v % 2 for v in x]
        sums = [sum(x[:k + 1]) for k in range(8)]
        kept = [s for s, o in zip(sums, odd, strict=True) if o]
        same = [sum(v % 2 and v & 12 == w & 12 for v in x) if w % 2 else -sum(v % 2 == 0 and v & 6 == w & 6 for v in x)
                for w in x]
        fact = max(x) * 8 + (len(set(x)) == 1) * 4 + (min(x) > 0) * 2 + (max(x) > 900)
        assert job.expected["facts"][row] == fact
        assert job.expected["kept"][8 * row:8 * row + 8].tolist() == [s - kept[0] for s in kept] + [0] * (8 - len(kept))
        expected = [s + (k << 20) for s, k in zip(sums, same, strict=True)]
        got = job.expected["scans"][8 * row:8 * row + 8].tolist()
        assert got == expected[:len(got)]


def test_every_fact_occurs():
    facts = kernel("warpscan").job("small").expected["facts"]
    assert {int(x) & 7 for x in facts} == {0, 1, 2, 3, 6, 7}


def test_it_uses_every_kind_of_exchange():
    text = disassemble(compiled())
    assert all(f"    {name} " in text for name in ("shfl.up", "shfl.bfly.i", "shfl.idx", "ballot", "match"))


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("width", ["32 lanes", "8 lanes"])
def test_one_tb_survives_preemption_anywhere(width, mechanism):
    geometry, image, saved, at = WIDTHS[width], compiled(), 0, 1 + 37 * mechanism
    job = warpscan_job(150 if width == "32 lanes" else 60, 1, 8, 24)
    while True:
        device = open_device("golden", geometry, memory_bytes=1 << 20)
        result = run_preemption(device, CompiledJob(image, job), CompiledJob(*hostile(geometry)), at,
                                Way(mechanism, scramble=True))
        assert result.correct, (at, result.differences)
        if result.preempt is None:
            break
        saved += 1
        at += 167
    assert saved > 3
