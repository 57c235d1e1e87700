"""The OpenCL kernels after CTXBack Table I: what they occupy, and what flashback saves of it."""

import subprocess

import pytest

from caesura.software.compiler.amdgpu import program, read
from caesura.software.compiler.amdgpu.front_end import allocated, shared_bytes
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.kernels.opencl import KERNELS
from support.checkout import ROOT
from support.software.amdgpu_mir import tools


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_occupied_is_near_the_table(kernel):
    """Vector registers within 3 KB of the paper's, but for the matrix product and merge sort, which need fewer here."""
    found = read(kernel.assembly).kernel(kernel.name)
    assert shared_bytes(found) == kernel.shared_kib * 1024
    few = {"sgemm": 5, "mergesort": 4}.get(kernel.name, 3)
    assert abs(allocated(found)[0] / 4 - kernel.vector_kib) <= few
    assert found.number(".private_segment_fixed_size") == 0 and found.number(".vgpr_spill_count") == 0


@pytest.fixture(scope="module")
def saved():
    """Per cent not saved, mean of the kernels' means, by attribute, of each objective; and flashback over the least."""
    found = {}
    for objective in Objective:
        shares, means = {}, {}
        for kernel in KERNELS:
            code = read(kernel.assembly).kernel(kernel.name)
            facts = flashback(program(code), objective)
            assert facts.program.shared_bytes == shared_bytes(code)
            for name in ("live_bytes", "strict_bytes", "relaxed_bytes", "reverting_bytes", "bytes", "deferred_bytes",
                         "combined_bytes", "checkpoint_bytes"):
                shares.setdefault(name, []).append(1 - facts.mean(name) / facts.program.occupied_bytes)
                means[name] = means.get(name, 0) + facts.mean(name)
        found[objective] = {name: 100 * sum(values) / len(values) for name, values in shares.items()}
        found[objective]["over_least"] = means["bytes"] / means["checkpoint_bytes"]
    return found


@pytest.mark.full
def test_what_is_saved_is_in_the_expected_range(saved):
    """An independent implementation found LIVE -36 to -46 %, CTXBack -56 to -66 %, 17 to 23 points below LIVE, at 1.00
    to 1.10 of the least, CS-Defer within 3 points of it."""
    size, latency = saved[Objective.SIZE], saved[Objective.LATENCY]
    for found in (size, latency):
        assert 36 <= found["live_bytes"] <= 46 and 56 <= found["bytes"] <= 66
        assert found["combined_bytes"] >= found["bytes"] and 17 <= found["bytes"] - found["live_bytes"] <= 23
        assert 1.0 <= found["over_least"] <= 1.1
    assert abs(size["deferred_bytes"] - size["bytes"]) <= 3


@pytest.mark.full
def test_each_technique_saves_more(saved):
    size = saved[Objective.SIZE]
    order = [size[name] for name in ("live_bytes", "strict_bytes", "relaxed_bytes", "reverting_bytes", "bytes",
                                     "combined_bytes")]
    assert order == sorted(order) and size["bytes"] < size["checkpoint_bytes"]


@pytest.mark.skipif(tools() is None, reason="clang-19 and llc-19 are not installed")
def test_the_assembly_is_that_of_its_source(tmp_path):
    for kernel in KERNELS:
        for path in (kernel.source, kernel.source.parent / "work_items.h"):
            (tmp_path / path.name).write_text(path.read_text())
    subprocess.run(["sh", ROOT / "tools/compile_opencl.sh", tmp_path], check=True, capture_output=True)
    for kernel in KERNELS:
        assert (tmp_path / kernel.assembly.name).read_text() == kernel.assembly.read_text(), kernel.name
