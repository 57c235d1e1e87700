"""Liveness vectors are large enough: what a preemption point does not save may be lost, under any divergence.

Each thread block of a random kernel is a run, with scrambled registers at its preemption points, compared with the
undisturbed run; see `support.sim.soundness`. `make test` does about 1,500 runs, `make test-full` 100,000.
"""

import dataclasses
import random

import pytest

from caesura.hw.arch.isa.liveness import liveness_vector, saved_by
from caesura.hw.arch.isa.words import Instruction, decode, encode
from support.selection import quick
from support.sim.soundness import judge, subject

QUICK = range(12)
SHARDS = 8
KERNELS = 98
"""Of a shard; 128 runs each."""
MUTATED = 5, 14, 22


def verdicts(seeds):
    found = {}
    for seed in seeds:
        s = subject(seed)
        found[seed] = judge(s.kernel, s.image, seed)
    wrong = {seed: verdict for seed, verdict in found.items() if verdict.wrong}
    assert not wrong, f"runs that need what a preemption point loses, by seed of `subject`: {wrong}"
    return found.values()


def total(found, name):
    return sum(getattr(verdict, name) for verdict in found)


@pytest.mark.parametrize("seeds", quick([QUICK, QUICK[2:4]], [QUICK[2:4]]), ids=len)
def test_scrambled_registers_change_nothing(seeds):
    found = verdicts(seeds)
    assert total(found, "runs") >= 125 * len(seeds)
    assert total(found, "scrambles") > 10 * total(found, "runs")
    assert total(found, "registers") > 15 * total(found, "runs")
    assert total(found, "predicates") > total(found, "runs") and total(found, "uniforms") > total(found, "runs")
    assert total(found, "divergent") > total(found, "scrambles") // 3
    assert len(seeds) < len(QUICK) or total(found, "deep") > 500
    assert total(found, "spilled") >= len(seeds) // 4


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.depends_on("hw", "sim/golden", "sim/workloads/random_ptx", "tests/support/sim/soundness.py",
                        "tests/support/sim/launch.py", "sim/trace/retired.py", "sim/rtl/toolchain.py", "software")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_scrambled_registers_change_nothing_in_100_000_runs(shard):
    found = verdicts(range(1000 + shard * KERNELS, 1000 + (shard + 1) * KERNELS))
    assert total(found, "runs") * SHARDS >= 100_000


def vectors(image):
    """Vector of each preemption word, by its place."""
    decoded = {pc: decode(word) for pc, word in enumerate(image.code)}
    return {pc: word.get("live") for pc, word in decoded.items() if "live" in word.op.operands}


def with_vectors(image, changed):
    """The image with other vectors at some places."""
    code = list(image.code)
    for pc, vector in changed.items():
        code[pc] = encode(Instruction(decode(code[pc]).op, {"live": vector}))
    return dataclasses.replace(image, code=tuple(code))


def points(image):
    """Places of the words of each preemption point: a barrier, or ``pp`` and its ``pp.div``."""
    names = {pc: decode(image.code[pc]).op.name for pc in vectors(image)}
    return [(pc, pc + 1) if name == "pp" else (pc,) for pc, name in names.items() if name != "pp.div"]


def bits_of(kind, vector, allocated):
    """Bits of a vector that save a register, predicate or uniform register (`Saved`'s name) and nothing else."""
    none = {"registers": (), "predicates": (), "uniforms": ()}
    each = (liveness_vector(**none | {kind: [number]}, allocated=allocated)
            for number in getattr(saved_by(vector, allocated), kind))
    return [bit for bit in each if bit]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["registers", "predicates", "uniforms"])
def test_one_missing_at_one_point_is_found(kind):
    rng = random.Random(1)
    found = tried = 0
    for seed in MUTATED:
        s = subject(seed)
        whole = vectors(s.image)
        missing = [(pcs, bit) for pcs in points(s.image) for bit in bits_of(kind, whole[pcs[-1]], s.image.registers)]
        for pcs, bit in rng.sample(missing, min(len(missing), 3)):
            broken = with_vectors(s.image, {pc: whole[pc] & ~bit for pc in pcs})
            found += judge(s.kernel, broken, seed, rates=(1.0,)).wrong > 0
            tried += 1
    assert found >= tried * 2 // 3, f"{found} of {tried}"


@pytest.mark.full
def test_vectors_of_pp_and_pp_div_exchanged_are_found():
    found = 0
    for seed in MUTATED:
        s = subject(seed)
        whole = vectors(s.image)
        pairs = [pcs for pcs in points(s.image) if len(pcs) == 2]
        changed = {pc: whole[pcs[0] + pcs[1] - pc] for pcs in pairs for pc in pcs}
        found += judge(s.kernel, with_vectors(s.image, changed), seed, rates=(1.0,)).wrong > 0
    assert 3 * found >= 2 * len(MUTATED)
