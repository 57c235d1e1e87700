"""Short cuts of the compiler change nothing: each is compared with the long way round."""

import heapq
import random

import pytest

from caesura.hw.arch.geometry import REGISTER_BANKS
from caesura.hw.arch.isa.words import decode
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.analysis import pressure as pressures
from caesura.software.compiler.analysis.liveness import liveness, partial_liveness
from caesura.software.compiler.ir.kernel import Block, Imm, Kernel, Op, Pred, Reg
from caesura.software.compiler.ir.spec import IRError, verify
from caesura.software.compiler.ir.text import parse, show
from caesura.software.compiler.optimize import value_numbering
from caesura.software.compiler.optimize.algebraic_simplification import simplify
from caesura.software.compiler.optimize.change import Change
from caesura.software.compiler.optimize.dce import eliminate_dead_code
from caesura.software.compiler.optimize.fixpoint import CLEANING, REDUNDANCY, optimize
from caesura.software.compiler.pipeline import run_passes
from caesura.software.compiler.preemption.placement import _Placement
from caesura.software.compiler.registers import coloring
from caesura.software.compiler.registers.interference import Interference
from caesura.software.compiler.uniform.selection import _Pressure
from caesura.software.kernels import KERNELS

SELECTED = ("mark-pointers", "legalize", "optimize", "select-immediates")
TEXTS = {**{name: KERNELS[name].ptx_path.read_text() for name in ("bfs", "reduction", "sgemm", "compute_flux")},
         **{f"random{seed}": RandomKernel(seed).ptx for seed in range(2)}}
each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def after(text, *passes) -> Kernel:
    """The first kernel of a text, as passes leave it."""
    kernel = next(iter(run_passes(text, "x.ptx", passes).values()))
    assert isinstance(kernel, Kernel)
    return kernel


def forgetful(kernel):
    """A kernel of the same code, whose operations have been seen by no pass."""
    copy = Kernel(kernel.name, [Block(b.label, [Op(op.name, op.defs, op.uses, op.guard, op.imm, op.line, op.volatile)
                                                for op in b.ops], b.end) for b in kernel.blocks])
    for reg in kernel.registers():
        copy.reserve(reg)
    return copy


def test_an_operation_that_changes_is_verified_again():
    for name, value in (("name", "frobnicate"), ("defs", (Reg("p", 0),)), ("uses", (Reg("r", 1),)),
                        ("guard", Pred(Reg("R", 0)))):
        kernel = parse("kernel k\nentry:\n  %r0 = iadd %r1, %r2\n  end\n")
        verify(kernel, "narrow")
        verify(kernel, "narrow")
        setattr(kernel.blocks[0].ops[0], name, value)
        with pytest.raises(IRError):
            verify(kernel, "narrow")
    kernel = parse("kernel k\nentry:\n  red.global.add.b32 R0, R1 #4\n  end\n")
    verify(kernel, "machine")
    kernel.blocks[0].ops[0].imm = 1 << 24
    with pytest.raises(IRError, match="no encoding"):
        verify(kernel, "machine")
    kernel.blocks[0].ops[0].imm = 8
    verify(kernel, "machine")
    with pytest.raises(IRError):
        verify(kernel, "narrow")


@pytest.mark.parametrize("change", [
    {"uses": (Reg("r", 1), Imm(0))}, {"uses": (Imm(1), Imm(2))}, {"name": "imul.lo", "uses": (Reg("r", 1), Imm(1))},
    {"guard": Pred(None, True)}])
def test_an_operation_that_changes_is_simplified_again(change):
    kernel = parse("kernel k\nentry:\n  %r0 = iadd %r1, %r2\n  end\n")
    assert not simplify(kernel) and not simplify(kernel)
    for name, value in change.items():
        setattr(kernel.blocks[0].ops[0], name, value)
    assert simplify(kernel)


def test_a_sum_whose_carry_is_dropped_and_a_mask_whose_operand_changes_are_simplified_again():
    kernel = parse("kernel k\nentry:\n  %r0, %p0 = iaddc %r1, %r2, !true\n  end\n")
    assert not simplify(kernel)
    kernel.blocks[0].ops[0].defs = (Reg("r", 0), None)
    assert simplify(kernel) and kernel.blocks[0].ops[0].name == "iadd"
    kernel = parse("kernel k\nentry:\n  %r1 = ld.global.b32 %r2\n  %r0 = and %r1, 255\n  end\n")
    assert not simplify(kernel)
    kernel.blocks[0].ops[0].name = "ld.global.u8"
    assert simplify(kernel) and kernel.blocks[0].ops[1].name == "mov"


@each_text
def test_what_is_optimised_gives_no_pass_anything_to_do(text):
    kernel = after(text, "legalize", "optimize")
    for name, step in (CLEANING | REDUNDANCY).items():
        assert not step(forgetful(kernel)), name


@each_text
def test_dead_code_that_is_settled_is_gone(text):
    """A pass that says so need not run again: `optimize` does not."""
    kernel, found = after(text, "legalize"), []
    passes = dict(CLEANING)

    def settling(kernel):
        found.append(eliminate_dead_code(kernel))
        if found[-1] == Change.SETTLED:
            assert eliminate_dead_code(kernel) == Change.NONE
        return found[-1]

    passes["dce"] = settling
    while any([step(kernel) for step in passes.values()]):
        pass
    assert found[-1] == Change.NONE


@each_text
def test_room_for_values_is_that_of_the_code_before_any_was_replaced(text, monkeypatch):
    late, early = after(text, "legalize"), after(text, "legalize")
    optimize(late)
    start = value_numbering._Numbering.run

    def run(self, entry):
        assert self._headroom  # found before the walk
        start(self, entry)

    monkeypatch.setattr(value_numbering._Numbering, "run", run)
    optimize(early)
    assert show(late) == show(early)


@each_text
def test_liveness_of_some_registers_is_what_that_of_all_says_of_them(text):
    kernel = after(text, *SELECTED)
    wanted = set(random.Random(1).sample(sorted(kernel.registers()), len(kernel.registers()) // 3))
    _, part = partial_liveness(kernel, wanted)
    whole = liveness(kernel)
    for found, known in ((part.live_in, whole.live_in), (part.live_out, whole.live_out)):
        assert {label: live & wanted for label, live in found.items()} == {
            label: live & wanted for label, live in known.items()}


@each_text
def test_pressure_is_the_most_that_an_operation_needs(text):
    kernel = after(text, *SELECTED)
    result = liveness(kernel)
    needs = [need for block in kernel.blocks for need in pressures.pressure_of_ops(block, result)]
    edges = [sum(reg.kind == "r" for reg in live) for live in (*result.live_in.values(), *result.live_out.values())]
    assert pressures.pressure(kernel) == max([*edges, *(max(need.before, need.after) for need in needs)])


@each_text
def test_registers_that_a_point_would_save_are_counted_as_they_are_live(text):
    kernel = after(text, *SELECTED, "uniform-registers", "allocate", "simplify-cfg", "block-layout")
    placement = _Placement(kernel, 500, lambda block: [1] * (len(block.ops) + 1))

    def vectors(live):
        return sum(reg.kind == "R" for reg in live)

    for block in kernel.blocks:
        assert placement._live_counts(block.label) == [
            (vectors(live), vectors(live | placement._waiting[block.label])) for live in placement._live.gaps(block)]


@each_text
def test_crowds_are_what_is_left_where_most_is_left(text):
    kernel = after(text, *SELECTED)
    candidates = sorted(reg for reg in kernel.registers() if reg.kind == "r")
    pressure = _Pressure(kernel, liveness(kernel), candidates)
    removed = set(random.Random(2).sample(candidates, len(candidates) // 2))

    def needs_move(reg, op):
        return reg in op.uses and reg.index % 3 == 0

    pressure.remove(removed, needs_move)
    places = list(zip(pressure._ops, pressure._count, pressure._live, strict=True))
    left = [count - sum(not needs_move(reg, op) for reg in live & removed) for op, count, live in places]
    assert pressure.crowds(needs_move) == [
        {reg for reg in live - removed if not needs_move(reg, op)}
        for (op, _, live), count in zip(places, left, strict=True) if count == max(left)]


def smallest_last(graph):
    """The order of groups by a heap."""
    groups = list({id(graph.groups[node][0]): graph.groups[node][0] for node in graph.representatives()}.values())
    number = {id(group): k for k, group in enumerate(groups)}
    near = [{number[id(graph.groups[other][0])] for node in group.members.values() for other in graph.neighbours[node]}
            - {k} for k, group in enumerate(groups)]
    weight = [sum(groups[other].width for other in others) + 8 * groups[k].width for k, others in enumerate(near)]
    heap, order, done = [(w, k) for k, w in enumerate(weight)], [], set()
    heapq.heapify(heap)
    while heap:
        least, k = heapq.heappop(heap)
        if k in done or least != weight[k]:
            continue
        done.add(k)
        order.append(groups[k])
        for other in near[k] - done:
            weight[other] -= groups[k].width
            heapq.heappush(heap, (weight[other], other))
    return order


@each_text
def test_groups_are_coloured_in_the_order_of_their_weights(text):
    graph = Interference(after(text, *SELECTED), "r")
    assert coloring._smallest_last(graph) == smallest_last(graph)


def test_a_group_goes_where_fewest_operands_share_its_bank():
    for seed in range(2000):
        rng = random.Random(seed)
        width, top = rng.choice((1, 2, 4)), rng.randrange(12)
        taken = rng.getrandbits(top) if top else 0
        conflicts = [rng.randrange(3) for _ in range(REGISTER_BANKS)]
        free = [base for base in range(0, top + width, width) if not taken >> base & 1]
        inside = [base for base in free if base + width <= top]
        wanted = min(inside, key=lambda base: (conflicts[base % REGISTER_BANKS], base)) if inside else free[0]
        assert coloring._base(taken, width, top, conflicts) == wanted, seed


@each_text
def test_an_image_has_the_predicates_that_its_words_name(text):
    for image in compile_ptx(text).values():
        words = [decode(word) for word in image.code]
        named = [p for word in words for p in (*word.predicate_reads, *word.predicate_writes)]
        assert image.predicates == max(named, default=-1) + 1
