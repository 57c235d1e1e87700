"""Register allocation: groups are aligned and consecutive, predicates overflow into vectors, limits are told."""

import random

import pytest

from caesura.software.compiler import CompileError
from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.ir.spec import verify
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.passes.allocate import allocate
from caesura.software.compiler.passes.interference import data_registers


def kernel_of(*ops):
    return parse("kernel k\nentry:\n" + "".join(f"  {op}\n" for op in ops) + "  end\n")


def allocated(*ops, limit=64):
    kernel = kernel_of(*ops)
    allocate(kernel, limit)
    verify(kernel, "machine")
    return kernel


def used(kernel):
    return {reg.index for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "R"}


def test_data_of_wide_accesses_is_aligned_and_consecutive():
    kernel = allocated("%r9 = ldp", "%r1, %r2 = ld.global.b64 %r9",
                       "%r3, %r4, %r5, %r6 = ld.global.b128 %r9 #16",
                       "st.global.b128 %r9, %r6, %r1, %r3, %r2", "st.global.b64 %r9, %r5, %r4",
                       "st.global.b32 %r9, %r1")
    groups = [[reg.index for reg in data_registers(op)] for op in kernel.ops() if data_registers(op)]
    assert len(groups) == 4
    for group in groups:
        assert group == list(range(group[0], group[0] + len(group))) and group[0] % len(group) == 0


def test_a_value_loaded_and_stored_in_the_same_place_needs_no_copy():
    kernel = allocated("%r9 = ldp", "%r1, %r2 = ld.global.b64 %r9", "st.global.b64 %r9, %r1, %r2 #8")
    assert [op.name for op in kernel.ops()] == ["ldp", "ld.global.b64", "st.global.b64"]


def test_copies_are_coalesced():
    kernel = allocated("%r0 = ldp", "%r1 = mov %r0", "%r2 = iadd %r1, 1", "%r3 = mov %r2", "st.global.b32 %r3, %r3")
    assert [op.name for op in kernel.ops()] == ["ldp", "iadd", "st.global.b32"] and used(kernel) == {0}


def test_registers_live_at_the_same_time_differ():
    rng = random.Random(3)
    ops = [f"%r{k} = ldp #{4 * k}" for k in range(12)]
    live = list(range(12))
    for k in range(12, 80):
        a, b = rng.sample(live, 2)
        live.remove(a)
        live.append(k)
        ops.append(f"%r{k} = iadd %r{a}, %r{b}")
    ops += [f"st.global.b32 %r{live[0]}, %r{r}" for r in live]
    kernel = allocated(*ops)
    # Twelve values are live throughout; a value that dies at an operation can share with its result.
    assert used(kernel) == set(range(12))
    result = liveness(kernel)
    assert max(len(s) for s in result.gaps(kernel.blocks[0])) == 12


def test_guarded_definition_does_not_end_a_live_range():
    kernel = allocated("%r0 = ldp", "%r1 = ldp #4", "%p0 = setp.lt.s %r0, 3", "@%p0 %r1 = ldp #8",
                       "st.global.b32 %r0, %r1")
    first, guarded = (op for op in kernel.ops() if op.imm in (4, 8))
    assert first.defs == guarded.defs


def test_too_many_vector_registers_says_how_many():
    ops = [f"%r{k} = ldp #{4 * k}" for k in range(20)] + [f"st.global.b32 %r0, %r{k}" for k in range(20)]
    with pytest.raises(CompileError, match=r"<ptx>: kernel k needs 20 vector registers, the target has 16"):
        allocated(*ops, limit=16)
    assert len(used(allocated(*ops, limit=20))) == 20


def test_predicates_beyond_seven_move_to_vector_registers():
    ops = ["%r0 = ldp"] + [f"%p{k} = setp.eq %r0, {k}" for k in range(10)]
    ops += [f"@%p{k} st.global.b32 %r0, %r0 #{4 * k}" for k in range(10)]
    kernel = allocated(*ops)
    assert {reg.index for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "P"} \
        <= set(range(7))
    stores = [op for op in kernel.ops() if op.name.startswith("st.")]
    assert len(stores) == 10 and all(op.guard is not None for op in stores)
