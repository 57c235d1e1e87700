"""Random kernels with divergent lanes: brought back wherever they are stopped; what is said of masks holds."""

import dataclasses
import random

import numpy as np
import pytest

from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.masks import Change, masks
from caesura.software.compiler.amdgpu.operands import EXEC, is_vector
from caesura.software.compiler.flashback.blocks import Block, Effect
from caesura.software.compiler.flashback.costs import Objective
from support.selection import quick
from support.software.amdgpu_random import random_kernel
from support.software.amdgpu_run import planned, run, same_memory, small
from support.software.amdgpu_wave import Wave

OBJECTIVES = list(Objective)


def wrong(plans, seed, limit=200):
    """Return whether a kernel does otherwise if it is stopped: everywhere, or at some places."""
    trace, wave = run(plans, seed, limit=limit)
    some = np.random.default_rng(seed).integers(0, len(trace), 4).tolist()
    for stops in (frozenset(range(len(trace))), frozenset(some)):
        again, other = run(plans, seed, stops, limit)
        if again != trace or not same_memory(wave, other):
            return True
    return False


def brought_back(seeds):
    return [seed for seed in seeds if wrong(
        planned(small(*random_kernel(random.Random(seed))), OBJECTIVES[seed % 2]), seed)]


def test_random_kernels_are_brought_back():
    assert brought_back(range(50)) == []


@pytest.mark.full
@pytest.mark.depends_on("software/compiler/amdgpu", "software/compiler/flashback", "software/names.py",
                        "software/compiler/ir/digraph.py")
@pytest.mark.parametrize("part", range(20))
def test_many_random_kernels_are_brought_back(part):
    assert brought_back(range(1000 + 500 * part, 1500 + 500 * part)) == []


def test_what_is_said_of_masks_holds():
    """At every instruction of a run: where all lanes of the start are said to be on they are; what is said to narrow or
    widen does, unless nothing is known; and enough is said."""
    said = steps = 0
    for seed in range(80):
        kernel = small(*random_kernel(random.Random(seed)))
        facts = analysed(kernel)
        known = masks(facts.blocks, facts.accesses)
        for start in ((1 << 64) - 1, 0x0000FFFFFFFFFF37):
            wave, at = Wave(np.random.default_rng(seed), start), 0
            for _ in range(200):
                before, statement = wave.mask(126), facts.accesses[at].statement
                assert not known.full[at] or before == start, (seed, at)
                said, steps = said + known.full[at], steps + 1
                if statement.mnemonic == "s_endpgm":
                    break
                taken = wave.execute(statement.mnemonic, statement.operands, statement.modifiers)
                after, change = wave.mask(126), known.changes[at]
                assert change is not Change.NONE or after == before
                assert change is not Change.NARROWING or after & ~before == 0
                assert change is not Change.WIDENING or before & ~after == 0
                at = kernel.code.labels[statement.operands[0]] if taken else at + 1
    assert said > steps / 10


def old_values(one):
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if reg not in one.defs or reg in
                                               one.origin.uses), recovers=None)


def kept_parts(one):
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if not (
        one.origin.keeps and reg in one.defs))) if one.recovers is None else one


def exec_mask(one):
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if reg not in EXEC)) if any(
        map(is_vector, one.defs)) else one


def hazards(one):
    return dataclasses.replace(one, effect=Effect.COMPUTE, region="") if one.effect is Effect.READ else one


@pytest.mark.parametrize("fault", quick([old_values, kept_parts, exec_mask, hazards], [old_values, kept_parts]))
def test_planted_faults_are_noticed(fault):
    """Of the analysis, not of what runs: without these operands or hazards some kernel goes wrong."""
    def changed(seed):
        facts = analysed(small(*random_kernel(random.Random(seed))))
        code = [dataclasses.replace(one, block=Block(tuple(map(fault, one.block.instructions)), one.block.live))
                for one in facts.code]
        return planned(facts.kernel, OBJECTIVES[0], dataclasses.replace(facts, code=code))
    assert any(wrong(changed(seed), seed) for seed in (*range(20), *range(110, 130)))
