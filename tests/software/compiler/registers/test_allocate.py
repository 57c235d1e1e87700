"""Register allocation: groups are aligned and consecutive, predicates overflow into vectors."""

import random

import pytest

from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.ir.spec import verify
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.registers.allocate import allocate
from caesura.software.compiler.registers.interference import groups_of


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
    groups = [[reg.index for reg in group] for op in kernel.ops() for group in groups_of(op)]
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


def test_predicates_beyond_seven_move_to_vector_registers():
    ops = ["%r0 = ldp"] + [f"%p{k} = setp.eq %r0, {k}" for k in range(10)]
    ops += [f"@%p{k} st.global.b32 %r0, %r0 #{4 * k}" for k in range(10)]
    kernel = allocated(*ops)
    assert {reg.index for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "P"} \
        <= set(range(7))
    stores = [op for op in kernel.ops() if op.name.startswith("st.")]
    assert len(stores) == 10 and all(op.guard is not None for op in stores)


def test_pairs_of_f64_operations_need_no_moves():
    kernel = allocated("%r0 = ldp", "%r1, %r2 = ld.global.b64 %r0", "%r3, %r4 = dmul.rn %r1, %r2, %r1, %r2",
                       "%r5, %r6 = dfma.rn %r1, %r2, %r3, %r4, %r3, %r4", "%p0 = dsetp.lt %r5, %r6, %r1, %r2",
                       "@%p0 %r5, %r6 = f2d %r0", "%r7 = d2f.rn %r5, %r6", "st.global.b32 %r0, %r7",
                       "st.global.b64 %r0, %r5, %r6 #8")
    assert "mov" not in [op.name for op in kernel.ops()] and len(used(kernel)) <= 8
    for op in kernel.ops():
        for low, high in groups_of(op):
            assert low.index % 2 == 0 and high.index == low.index + 1


def test_a_word_in_two_places_of_pairs_is_copied():
    kernel = allocated("%r0 = ldp", "%r1, %r2 = dadd.rn %r0, %r0, %r0, %r0", "%r3, %r4 = dadd.rn %r2, %r1, %r1, %r2",
                       "st.global.b64 %r0, %r3, %r4", "st.global.b64 %r0, %r4, %r3 #8")
    assert [op.name for op in kernel.ops()].count("mov") <= 6
    for op in kernel.ops():
        for low, high in groups_of(op):
            assert low.index % 2 == 0 and high.index == low.index + 1


@pytest.mark.parametrize("seed", range(6))
def test_pairs_and_single_registers_are_packed_tightly(seed):
    """Pairs and single values come and go: few more registers than are live at once."""
    rng = random.Random(seed)
    names, live, ops, number = {}, [], [], 0
    for _ in range(120):
        for value in [v for v in live if len(live) > 8]:
            if rng.random() < 0.2:
                live.remove(value)
                words = ", ".join(f"%r{k}" for k in names[value])
                ops.append(f"st.global.b{32 * len(names[value])} 64, {words}")
        width = rng.choice((1, 2))
        names[number] = list(range(1000 + 2 * number, 1000 + 2 * number + width))
        pairs = [v for v in live if len(names[v]) == 2]
        if width == 2 and pairs:
            a, b = (", ".join(f"%r{k}" for k in names[rng.choice(pairs)]) for _ in range(2))
            ops.append(f"%r{names[number][0]}, %r{names[number][1]} = dadd.rn {a}, {b}")
        else:
            made = ", ".join(f"%r{k}" for k in names[number])
            ops.append(f"{made} = ld.global.b{32 * width} 128")
        live.append(number)
        number += 1
    for value in live:
        ops.append(f"st.global.b{32 * len(names[value])} 64, " + ", ".join(f"%r{k}" for k in names[value]))
    kernel = kernel_of(*ops)
    most = max(len(s) for s in liveness(kernel).gaps(kernel.blocks[0]))
    allocate(kernel, 64)
    assert max(used(kernel)) + 1 <= most * 1.15 + 2


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs_keep_their_values(seed):
    """The allocated code computes what the code before did, with values followed by name."""
    rng = random.Random(seed)
    ops = [f"%r{k} = ldp #{4 * k}" for k in range(8)]
    for k in range(60):
        a, b, c, d = (rng.randrange(8) for _ in range(4))
        e, f = rng.sample(range(8), 2)
        ops.append(f"%r{e}, %r{f} = dadd.rn %r{a}, %r{b}, %r{c}, %r{d}" if k % 2 else f"%r{e} = iadd %r{a}, %r{c}")
    ops += [f"st.global.b32 64, %r{k} #{4 * k}" for k in range(8)]

    def meaning(kernel):
        values, stored = {}, {}
        for op in kernel.ops():
            read = tuple(values.get(use, use) for use in op.uses)
            if op.name == "mov":
                values[op.dest] = read[0]
            elif op.name == "xor":  # two registers change places
                values[op.dest] = read[0] ^ read[1]
            elif op.name.startswith("st."):
                stored[op.imm] = hash(read[1])
            else:
                for place, reg in enumerate(op.defs):
                    values[reg] = hash((op.name, op.imm, place, *map(hash, read)))
        return stored
    kernel = kernel_of(*ops)
    before = meaning(kernel)
    allocate(kernel, 64)
    verify(kernel, "machine")
    assert meaning(kernel) == before and len(before) == 8
