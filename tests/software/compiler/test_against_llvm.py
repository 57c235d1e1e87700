"""Random programs of every kind of instruction compute what LLVM makes of them, for the host: on the golden model."""

import random

import numpy as np
import pytest

from support.ptx.llvm_judge import JudgedProgram
from support.ptx.llvm_rows import ROWS
from support.selection import quick
from support.software.operand_patterns import patterns
from support.software.ptx_bench import THREADS, run, store

pytest.importorskip("llvmlite", reason="llvmlite is not installed: LLVM is the judge")

SHARDS, PROGRAMS, COUNT, RESULTS = 14, 12, 2 * THREADS, 32
"""Programs of a shard; threads of a program; results of a thread: more than a million in all."""


def judge(seed):
    """Return how many results of a program were compared."""
    program, rng = JudgedProgram(seed, results=RESULTS), random.Random(seed)
    a, b = patterns(2 * seed, COUNT), patterns(2 * seed + 1, COUNT)
    n = [rng.choice((rng.randrange(70), rng.getrandbits(32))) for _ in range(COUNT)]
    stores = "\n".join(store(k, register, bits, COUNT) for k, (register, bits) in enumerate(program.stored))
    got = run(f"{{ {program.text}\n{stores} }}", a, b, n, len(program.stored))
    expected = program.expected(a, b, n)
    wrong = np.argwhere(got != expected)
    assert not len(wrong), (seed, program.stored[wrong[0][0]], [hex(int(x[tuple(wrong[0])])) for x in (got, expected)],
                            [hex(x[wrong[0][1]]) for x in (a, b, n)], program.text.replace("\n\n", "\n"))
    return got.size


def test_a_program():
    assert judge(1) == RESULTS * COUNT


@pytest.mark.parametrize("shard", quick(range(SHARDS), ()))
@pytest.mark.timeout(3600)
def test_a_million_results(shard):
    first = 1000 + shard * PROGRAMS
    assert sum(judge(seed) for seed in range(first, first + PROGRAMS)) * SHARDS > 1_000_000


def test_rows_are_of_every_opcode_of_this_kind():
    opcodes = {row.text.split(".")[0] for row in ROWS}
    assert len(ROWS) > 250 and len({row.text for row in ROWS}) > 250
    assert opcodes >= {"add", "mad", "div", "rem", "shf", "lop3", "bfind", "cvt", "setp", "fma", "sqrt", "copysign"}
