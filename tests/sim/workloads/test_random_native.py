"""Random machine-code programs: legal, independent of scheduling, and covering the instruction set."""

from collections import Counter

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import OPCODES, AluOp, Space
from caesura.hw.arch.isa.words import decode
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.native.operands import COMMON, SHARED_SLOT
from caesura.sim.workloads.random_native import random_program
from support.selection import quick
from support.sim.launch import Bench

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


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["tiny"]))
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
    missing = {op.name for op in OPCODES if op.name not in seen and not op.yields}
    assert missing == {"trap", "rejoin", "ld.local.all.b32", "st.local.all.b32"}, "but for what only routines may do"
    assert all(any(op.alu is alu for op in OPCODES if op.name in seen) for alu in AluOp)


def test_bad_register_count_is_refused():
    with pytest.raises(ValueError, match="12 to 16, not 17"):
        random_program(GEOMETRIES["tiny"], 0, registers=17)


def test_racing_programs_touch_common_words_by_atomics_alone():
    """But between the two barriers of an exchange: else the result depends on more than the order of atomics."""
    g, atomics = GEOMETRIES["narrow"], 0
    for seed in range(60):
        meeting = False
        for pc, word in enumerate(random_program(g, seed, racing=True).image.code):
            op, fields = (found := decode(word)).op, found.fields
            meeting ^= op.barrier is not None
            shared = op.space is Space.SHARED and fields["no_base"] and fields["imm"] >= 2 * g.warp_size * SHARED_SLOT
            if shared or op.space is Space.GLOBAL and fields["base_uniform"] and fields["a"] == COMMON:
                assert op.is_atomic or meeting and not op.store, f"seed {seed}, pc {pc}: {op.name}"
                atomics += op.is_atomic
    assert atomics > 100
