"""Splitting of live ranges: parallel copies, packings of groups, and as many registers as are needed at once."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.analysis.pressure import pressure, pressure_of_ops
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.spec import verify
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.registers import allocate as allocation
from caesura.software.compiler.registers.allocate import allocate
from caesura.software.compiler.registers.group_copies import copy_repeated_operands
from caesura.software.compiler.registers.parallel_copy import parallel_copy
from caesura.software.compiler.registers.register_file import Pieces, RegisterFile, pack

GEOMETRY = dataclasses.replace(PRESETS["gtx480"], stack_depth=64)


def executed(ops, values):
    for op in ops:
        source = values[op.uses[-1].index]
        if op.name == "xor":
            source ^= values[op.uses[0].index]
        values[op.dest.index] = source
    return values


def operations_of(moves, busy, size):
    """Return how many operations moves take: one each, one more a cycle, but 3 n - 3 a cycle of n with nothing free.

    Exclusive-or exchanges two registers in three operations, and n - 1 exchanges make a cycle.
    """
    left = {target: source for target, source in moves.items() if target != source}
    free = not set(range(size)) <= {*busy, *left}  # also one that is only read: once it is, nobody needs it
    count = len(left)
    cyclic = set()
    for start in left:
        path = [start]
        while path[-1] in left and left[path[-1]] not in path:
            path.append(left[path[-1]])
        if left.get(path[-1]) == start and cyclic.isdisjoint(path):
            cyclic.update(path)
            count += 1 if free else 2 * len(path) - 3
    return count


def check_parallel_copy(moves, busy, size):
    before = [1 << k for k in range(size)]
    ops = parallel_copy(moves, busy, size)
    after = executed(ops, list(before))
    for number in {*busy, *moves}:
        assert after[number] == before[moves.get(number, number)]
    assert len(ops) == operations_of(moves, busy, size)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_parallel_copies_lose_no_value(data):
    size = data.draw(st.integers(1, 12))
    targets = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    moves = {target: data.draw(st.integers(0, size - 1)) for target in targets}
    check_parallel_copy(moves, set(data.draw(st.lists(st.integers(0, size - 1)))) | set(moves.values()), size)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_parallel_copy_of_a_small_register_file(size):
    """Whatever moves there are, and whichever of the other registers are in use."""
    for sources in itertools.product([None, *range(size)], repeat=size):
        moves = {target: source for target, source in enumerate(sources) if source is not None}
        stay = {target for target, source in moves.items() if target == source}
        for others in itertools.product([False, True], repeat=size):
            check_parallel_copy(moves, {number for number in range(size) if others[number]} | stay, size)


@pytest.mark.parametrize("length", range(2, 13))
def test_a_cycle_with_nothing_free(length):
    moves = {k: (k + 1) % length for k in range(length)}
    assert len(parallel_copy(moves, moves, length)) == 3 * length - 3
    assert len(parallel_copy(moves, moves, length + 1)) == length + 1
    check_parallel_copy(moves, moves, length)


def test_a_full_register_file_is_permuted_by_exclusive_or():
    ops = parallel_copy({0: 1, 1: 2, 2: 0}, {0, 1, 2, 3}, 4)
    assert [op.name for op in ops] == ["xor"] * 6 and executed(ops, [1, 2, 4, 8]) == [2, 4, 1, 8]


@given(st.lists(st.sampled_from((1, 1, 2, 4)), max_size=24), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_aligned_groups_fill_any_register_file_without_gaps(widths, spare):
    numbers = iter(range(200))
    pieces = [tuple(Reg("r", next(numbers)) for _ in range(width)) for width in widths]
    size = sum(widths) + spare
    found = pack(size, pieces)
    assert len(set(found.values())) == sum(widths) and all(0 <= n < size for n in found.values())
    for piece in pieces:
        first = found[piece[0]]
        assert first % len(piece) == 0 and [found[reg] for reg in piece] == list(range(first, first + len(piece)))


@pytest.mark.parametrize("seed", range(200))
def test_room_is_always_found(seed):
    """Groups read, groups that stay and a group made find places whenever their number allows it."""
    rng = random.Random(seed)
    numbers = iter(range(100))
    pieces, ending = Pieces(), set()
    kinds = [(pieces.whole, False), (pieces.read, True), (None, False), (None, True)]
    values = []
    for _ in range(rng.randint(0, 9)):
        group = tuple(Reg("r", next(numbers)) for _ in range(rng.choice((1, 2, 4))))
        where, ends = rng.choice(kinds)
        if where is not None and len(group) > 1:
            where.append(group)
        values += group
        ending.update(group if ends else ())
    made = tuple(Reg("r", next(numbers)) for _ in range(rng.choice((2, 4))))
    pieces.made.append(made)
    pieces.ending = ending
    size = max(len(values), len(values) - len(ending) + len(made))
    places = rng.sample(range(size), len(values))
    file = RegisterFile(size, dict(zip(values, places, strict=True)))
    file.arrange(pieces)
    assert all(file.lies(group) for group in (*pieces.whole, *pieces.read))
    assert sorted(file.place) == sorted(values) and len(set(file.place.values())) == len(values)
    assert all(file.holder[number] == reg for reg, number in file.place.items())
    assert file.free_groups(len(made), ending)


@pytest.mark.parametrize("seed", range(8))
def test_no_more_registers_than_are_needed_at_once(seed):
    """Pairs, quads and single words come and go, some read in two places: the need is the number."""
    rng = random.Random(seed)
    live, ops, number = [], [], 0
    for _ in range(150):
        width = rng.choice((1, 1, 2, 4))
        group = [f"%r{number + k}" for k in range(width)]
        number += width
        guard = f"@%p0 {', '.join(group)} = ld.global.b{32 * width} 256\n  " if width > 1 and rng.random() < 0.3 else ""
        ops.append(f"{', '.join(group)} = ld.global.b{32 * width} 128")
        if guard:
            ops.append(guard.strip())
        live += group
        while len(live) > rng.randint(4, 14):
            width = rng.choice((1, 2, 2, 4))
            ops.append(f"st.global.b{32 * width} 64, " + ", ".join(rng.choices(live, k=width)))
            live.remove(rng.choice(live))
    ops += [f"st.global.b32 64, {reg}" for reg in live]
    kernel = parse("kernel k\nentry:\n  %r900 = ldp\n  %p0 = setp.eq %r900, 0\n"
                   + "".join(f"  {op}\n" for op in ops) + "  end\n")
    copy_repeated_operands(kernel)
    needed = pressure(kernel)
    allocate(kernel, needed)
    verify(kernel, "machine")
    used = {reg.index for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "R"}
    assert max(used) < needed


def test_needs_of_operations_with_groups():
    kernel = parse("kernel k\nentry:\n  %r0, %r1 = ld.global.b64 64\n  %r2, %r3 = ld.global.b64 72\n"
                   "  %r4, %r5 = dadd.rn %r0, %r1, %r2, %r3\n  st.global.b64 64, %r4, %r5\n"
                   "  st.global.b32 64, %r0\n  end\n")
    found = {need.index: (need.before, need.after) for need in pressure_of_ops(kernel.blocks[0], liveness(kernel))}
    # While r0 stays, so does its pair: the sum cannot take the place of r1.
    assert found == {0: (0, 2), 1: (2, 4), 2: (4, 4), 3: (3, 1), 4: (1, 0)}


@pytest.mark.parametrize("seed", range(3))
def test_code_split_everywhere_is_right(seed, monkeypatch):
    """Without any colouring as a hint: results are right, and lanes wait nowhere else than without the copies."""
    kernel = RandomKernel(seed, grid=(1,), depth=3, statements=8, nested_leaves=seed % 2 == 0)
    colored = compile_ptx(kernel.ptx)[kernel.name]
    monkeypatch.setattr(allocation, "_colored", lambda kernel, limit, predicates: {})
    image = compile_ptx(kernel.ptx)[kernel.name]
    assert image.registers <= colored.registers and image.code != colored.code
    assert image.stack_depth == colored.stack_depth
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 20)
    output = device.array(np.zeros(kernel.output_bytes, np.uint8))
    inputs = device.array(np.frombuffer(kernel.inputs(), np.uint8))
    device.wait(device.load([image])[kernel.name](kernel.grid, kernel.block, [output, inputs, kernel.n]))
    assert output.get().tobytes() == kernel.expected()


def test_splitting_is_deterministic():
    text = RandomKernel(5, statements=6).ptx
    first, second = (compile_ptx(text)[RandomKernel.name] for _ in range(2))
    assert dataclasses.asdict(first) == dataclasses.asdict(second)
