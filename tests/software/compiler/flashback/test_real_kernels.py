"""What holds of flashback at every instruction of the kernels that ship, on both instruction sets."""

import functools

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.words import decode
from caesura.software.compiler import amdgpu
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.search import WINDOW, Search
from caesura.software.kernels import KERNELS
from caesura.software.kernels.opencl import KERNELS as OPENCL
from support.selection import quick
from support.software.flashback_judge import least_size

G = PRESETS["gtx480"]
CALLING = [name for name in KERNELS if any(decode(word).op.name == "call" for word in KERNELS[name].image().code)]
CASES = [*(("caesura", name) for name in KERNELS), *(("gfx906", kernel.name) for kernel in OPENCL)]
QUICK = [("caesura", "layerforward"), ("gfx906", "relu")]


@functools.cache
def program_of(isa, name):
    if isa == "caesura":
        return program(KERNELS[name].image(), G)
    kernel, = (each for each in OPENCL if each.name == name)
    return amdgpu.program(amdgpu.read(kernel.assembly).kernel(name))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("isa, name", quick(CASES, QUICK))
def test_each_technique_refines_the_one_before_at_every_instruction(isa, name):
    """By size; by latency the combination is at most both. Nothing that only computes forwards is below the minimum
    cut."""
    found = flashback(program_of(isa, name), Objective.SIZE)
    for fact in found.instructions:
        order = [fact.live_bytes, fact.strict_bytes, fact.relaxed_bytes, fact.reverting_bytes, fact.bytes]
        assert order == sorted(order, reverse=True), fact.pc
        assert fact.combined_bytes <= min(fact.bytes, fact.deferred_bytes), fact.pc
    for fact in flashback(program_of(isa, name), Objective.LATENCY).instructions:
        assert fact.combined_latency <= min(fact.latency, fact.deferred_latency), fact.pc
    tried = 0
    for code in found.program.blocks:
        search = Search(code.block, found.program.costs)
        for at in range(0, code.words, 1 if code.words < 60 else 7):
            plan = search.plan(at, Objective.SIZE)
            if not plan.mode.at_resume:
                tried += 1
                assert plan.size >= least_size(code.block, at, found.program.costs), code.start + at
    assert tried


def test_some_kernel_calls():
    assert CALLING


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("name", CALLING)
def test_no_flashback_crosses_a_call(name, objective):
    """Nothing on the other side is executed again or reverted, whatever the window."""
    found = flashback(program_of("caesura", name), objective)
    words, calls = [decode(word).op.name for word in KERNELS[name].image().code], 0
    for fact in found.instructions:
        touched = (*fact.again, *fact.reverted, *fact.resumed)
        behind = words[min(touched, default=fact.pc):fact.pc]
        assert "call" not in behind, fact.pc
        calls += "call" in words[max(0, fact.pc - 3):fact.pc]
    assert calls, "some stand right behind one"


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("isa", ["caesura", "gfx906"])
def test_twice_the_window_changes_the_mean_size_by_less_than_half_a_per_cent(isa, objective):
    def total(window):
        return sum(flashback(program_of(isa, name), objective, window).mean("bytes")
                   for each, name in CASES if each == isa)

    assert abs(total(2 * WINDOW) / total(WINDOW) - 1) < 0.005
