"""Real code of LLVM, run by the model of a wave: stopped anywhere, scrambled, brought back, it does what it did.

The model's instructions are apart from the table of opcodes; masks are those of divergent lanes, half of the runs start
with some lanes off.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from caesura.software.compiler.amdgpu import read
from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.operands import EXEC, is_vector
from caesura.software.compiler.flashback.blocks import Block, Effect
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.kernels.opencl import KERNELS
from support.selection import quick
from support.software.amdgpu_run import planned, run, same_memory, small

CORPUS = Path(__file__).parent / "corpus"
CLOCKS = ("clocks",)
"""Kernels whose results are not the same twice."""
SMALL = [(path, kernel) for path in sorted(CORPUS.glob("*.s")) for kernel in read(path).kernels if kernel not in CLOCKS]


def wrong(plans, seeds, rng, few=10, limit=800):
    """Return the stops of a run that did otherwise than without: everywhere in one run, at a few places in another."""
    for seed in seeds:
        trace, wave = run(plans, seed, limit=limit)
        for stops in (frozenset(rng.integers(0, len(trace), few).tolist()), frozenset(range(len(trace)))):
            again, other = run(plans, seed, stops, limit)
            if again != trace or not same_memory(wave, other):
                return seed, sorted(stops)[:few]
    return None


@pytest.mark.parametrize(("path", "name"), quick(SMALL, SMALL[::3]), ids=lambda value: getattr(value, "stem", value))
def test_the_corpus_is_brought_back(path, name):
    plans = planned(read(path).kernel(name), Objective.SIZE)
    assert wrong(plans, range(2), np.random.default_rng(4), limit=250) is None


@pytest.mark.parametrize("kernel", quick(KERNELS, KERNELS[-2:]), ids=lambda kernel: kernel.name)
def test_kernels_of_the_table_are_brought_back(kernel):
    plans = planned(read(kernel.assembly).kernel(kernel.name), Objective.LATENCY)
    assert wrong(plans, range(1), np.random.default_rng(5), limit=400) is None


@pytest.mark.full
@pytest.mark.depends_on("software/compiler/amdgpu", "software/compiler/flashback", "software/kernels/opencl",
                        "software/names.py", "software/compiler/ir/digraph.py",
                        "tests/software/compiler/amdgpu/corpus")
@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_kernels_of_the_table_are_brought_back_many_times(kernel, objective):
    plans = planned(read(kernel.assembly).kernel(kernel.name), objective)
    assert wrong(plans, range(20), np.random.default_rng(6), limit=2000) is None


def faulty(kernel, change, of_block=lambda block: block.live):
    """Return plans of a kernel whose instructions are changed in the analysis, not in what runs."""
    facts = analysed(kernel)
    code = [dataclasses.replace(one, block=Block(tuple(map(change, one.block.instructions)), of_block(one.block)))
            for one in facts.code]
    return planned(kernel, facts=dataclasses.replace(facts, code=code))


def without_old(one):
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if reg not in one.defs or reg in
                                               one.origin.uses), recovers=None)


def without_mask(one):
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if reg not in EXEC)) if any(
        is_vector(reg) for reg in one.defs) else one


def without_hazards(one):
    return dataclasses.replace(one, effect=Effect.COMPUTE, region="") if one.effect is Effect.READ else one


def without_sums(one):
    sums = one.opcode.startswith(("v_fmac", "v_writelane", "s_cselect"))
    gone = one.defs if sums else ()
    return dataclasses.replace(one, uses=tuple(reg for reg in one.uses if reg not in gone))


UNDER_A_MASK = small(
    "v_cmp_gt_u32_e32 vcc, 20, v0", "v_lshlrev_b32_e32 v5, 3, v0", "s_and_saveexec_b64 s[0:1], vcc",
    "v_mul_lo_u32 v5, v0, v0", "v_mul_lo_u32 v6, v0, v0", "s_or_b64 exec, exec, s[0:1]", "s_nop 0", "s_nop 0",
    "v_mul_lo_u32 v7, v0, v0", "global_store_dword v[0:1], v7, off", "global_store_dword v[0:1], v5, off", "s_endpgm")
LOADS = small("global_load_dword v4, v[0:1], off", "global_store_dword v[0:1], v0, off", "s_nop 0",
              "global_store_dword v[0:1], v4, off offset:8", "s_endpgm")
SUMS = small("v_mov_b32_e32 v4, 3", "v_fmac_f32_e32 v4, v0, v0", "v_fmac_f32_e32 v4, v0, v0", "s_nop 0",
             "global_store_dword v[0:1], v4, off", "s_endpgm")


@pytest.mark.parametrize(("kernel", "change"), [
    (UNDER_A_MASK, without_old), (UNDER_A_MASK, without_mask), (LOADS, without_hazards), (SUMS, without_sums)],
    ids=["old destination", "mask", "hazards", "sums"])
def test_planted_faults_are_noticed(kernel, change):
    rng = np.random.default_rng(7)
    assert wrong(planned(kernel), range(4), rng) is None
    assert wrong(faulty(kernel, change), range(4), rng) is not None


def test_liveness_by_register_is_noticed():
    """If a write under a mask killed its register, lanes that wake would find something else."""
    rng = np.random.default_rng(8)

    def by_register(block):
        found, live = [block.live[-1]], block.live[-1]
        for one in reversed(block.instructions):
            live = live - frozenset(one.defs) | frozenset(one.origin.uses)
            found.append(live)
        return tuple(reversed(found))

    assert wrong(faulty(UNDER_A_MASK, without_old, by_register), range(4), rng) is not None
