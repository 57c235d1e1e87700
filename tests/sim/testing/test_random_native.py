"""Random machine-code programs: legal, independent of scheduling, and covering the instruction set."""

from collections import Counter

import pytest

from caesura.hw.arch.encoding import decode
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import OPCODES, AluOp
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.testing.launch import Bench
from caesura.sim.testing.random_native import random_program

GEOMETRIES = {"tiny": preset("tiny"), "narrow": preset("gtx480").replace(lanes=8, warps=8, tb_slots=2, registers=256)}


def run(g, program):
    """Return the output of a program, the machine's deepest stack and its retired instructions."""
    transport = GoldenTransport(g, 1 << 18)
    bench = Bench(transport)
    output = bench.allocate(program.output_bytes)
    bench.load(0, program.image, program.grid, program.block, (output, bench.store(program.inputs)),
               windows=((output, bench.allocate(128)),))
    bench.start(0)
    deepest = 0
    while not bench.fields("event")["finished"]:
        transport.advance(5)
        deepest = max([deepest, *(len(w.stack) for tb in transport.machine.resident() for w in tb.warps)])
    assert bench.fault() is None
    return transport.read_memory(output, program.output_bytes), deepest, bench.get("retired")


@pytest.mark.parametrize("name", GEOMETRIES)
def test_programs_run_without_fault_whatever_the_schedule(name):
    g = GEOMETRIES[name]
    deepest = retired = 0
    for seed in (0, 1, 2, 4):
        program = random_program(g, seed, warps=2 + seed % 2, tbs=2)
        first, depth, count = run(g, program)
        again, _, _ = run(g.replace(tb_slots=1), program)
        assert first == again and any(first)
        deepest, retired = max(deepest, depth), retired + count
    assert deepest >= 6 and retired > 3000


def test_same_seed_same_program_other_seed_another():
    a, b, c = (random_program(GEOMETRIES["tiny"], seed) for seed in (1, 1, 2))
    assert a == b and a.image.code != c.image.code


def test_every_instruction_occurs():
    seen = Counter()
    for seed in range(35):
        program = random_program(GEOMETRIES["tiny"], seed, statements=80)
        seen.update(decode(word).op.name for word in program.image.code)
    missing = [op.name for op in OPCODES if op.name not in seen]
    assert missing == ["trap"], missing
    assert all(any(op.alu is alu for op in OPCODES if op.name in seen) for alu in AluOp)


def test_bad_register_count_is_refused():
    with pytest.raises(ValueError, match="12 to 16, not 17"):
        random_program(GEOMETRIES["tiny"], 0, registers=17)
