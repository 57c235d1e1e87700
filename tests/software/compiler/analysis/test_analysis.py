"""Analyses: liveness, reconvergence, what divergence adds, stack depth."""

import copy
import pickle

import pytest

from caesura.software.compiler.analysis.definitions import DominatorTree, definitions_of
from caesura.software.compiler.analysis.dominance import immediate_dominators, reconvergence
from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.analysis.loops import loop_depth
from caesura.software.compiler.analysis.simt_stack import stack_depth
from caesura.software.compiler.ir.cfg import graph
from caesura.software.compiler.ir.kernel import TRUE, Imm, Op, Pred, Reg, Terminator
from caesura.software.compiler.ir.text import parse, show
from caesura.software.compiler.preemption.extended_liveness import waiting_registers


def names(registers):
    return {str(reg).removeprefix("%") for reg in registers}


def blocks(text):
    """A kernel from ``label: op; op -> condition? target target``, one block a line."""
    lines = ["kernel k"]
    for line in filter(None, map(str.strip, text.splitlines())):
        label, _, rest = line.partition(":")
        ops, _, targets = rest.partition("->")
        lines.append(f"{label}:")
        lines += [f"  {op.strip()}" for op in ops.split(";") if op.strip()]
        targets = targets.split()
        lines.append("  " + ("end" if not targets else f"jump {targets[0]}" if len(targets) == 1
                             else f"branch {' '.join(targets)}"))
    return parse("\n".join(lines))


NESTED = """
entry: R0 = mov 1; R1 = mov 2; R2 = mov 3; R3 = mov 4 -> P0 outer_then outer_else
outer_then: nop -> P1 inner_then inner_else
inner_then: R4 = mov R0 -> inner_end
inner_else: R4 = mov R1 -> inner_end
inner_end: st.global.b32 R4, R4 -> outer_end
outer_else: st.global.b32 R2, R2 -> outer_end
outer_end: st.global.b32 R3, R3
"""


def test_liveness_of_a_loop():
    kernel = blocks("""
        entry: R0 = mov 0; R1 = ldp -> loop
        loop: R0 = iadd R0, R1; P0 = setp.lt.s R0, 9 -> P0 loop done
        done: st.global.b32 R0, R0
        """)
    result = liveness(kernel)
    assert names(result.live_in["loop"]) == {"R0", "R1"}
    assert names(result.live_out["loop"]) == {"R0", "R1"}
    assert names(result.live_in["done"]) == {"R0"}
    assert names(result.live_in["entry"]) == set()
    assert [names(s) for s in result.gaps(kernel.blocks[1])] == [{"R0", "R1"}, {"R0", "R1"}, {"R0", "R1", "P0"}]


def test_guarded_definition_keeps_the_old_value_live():
    kernel = blocks("entry: R0 = mov 0; @P0 R0 = mov 1; st.global.b32 R1, R0")
    gaps = [names(s) for s in liveness(kernel).gaps(kernel.blocks[0])]
    assert gaps == [{"R1", "P0"}, {"R0", "R1", "P0"}, {"R0", "R1"}, set()]


def test_unguarded_exit_ends_liveness_and_a_guarded_one_does_not():
    kernel = blocks("""
        entry: R0 = mov 1; @P0 exit; nop -> P1 stop go
        stop: nop
        go: st.global.b32 R0, R0
        """)
    result = liveness(kernel)
    assert names(result.live_in["stop"]) == set()
    assert "R0" in names(result.gaps(kernel.blocks[0])[1])


def test_registers_of_waiting_lanes_under_nested_divergence():
    """While a warp is in the innermost block its other lanes can wait at every other side and meeting point."""
    kernel = blocks(NESTED)
    flow = graph(kernel)
    live = liveness(kernel).live_in
    waiting = waiting_registers(kernel, flow, live, reconvergence(flow))
    # Plain liveness there: R0, R3. The inner branch adds the other inner side (R1) and inner_end (R4);
    # the outer branch adds the outer side (R2).
    assert names(live["inner_then"]) == {"R0", "R3"}
    assert {r for r in names(waiting["inner_then"]) if r[0] == "R"} == {"R0", "R1", "R2", "R3", "R4"}
    assert {r for r in names(waiting["inner_end"]) if r[0] == "R"} == {"R0", "R1", "R2", "R3"}
    assert {r for r in names(waiting["outer_else"]) if r[0] == "R"} == {"R0", "R1", "R2", "R3"}
    assert waiting["outer_end"] == frozenset()


def test_waiting_lanes_of_an_earlier_iteration():
    """Lanes that left the loop wait behind it while the others go on."""
    kernel = blocks("""
        entry: R0 = mov 0; R1 = mov 5 -> loop
        loop: R0 = iadd R0, 1 -> P0 loop done
        done: st.global.b32 R1, R1
        """)
    flow = graph(kernel)
    waiting = waiting_registers(kernel, flow, liveness(kernel).live_in, reconvergence(flow))
    assert {"R0", "R1"} <= names(waiting["loop"])


def test_reconvergence_is_the_immediate_post_dominator():
    meet = reconvergence(graph(blocks(NESTED)))
    assert meet["entry"] == "outer_end" and meet["outer_then"] == "inner_end" and meet["outer_end"] is None


def test_a_side_that_ends_does_not_keep_the_others_apart():
    meet = reconvergence(graph(blocks("""
        entry: nop -> P0 a b
        a: nop -> P1 stop c
        stop: trap
        c: nop -> join
        b: nop -> join
        join: bar.pp.0
        """)))
    assert meet["entry"] == "join" and meet["a"] == "c" and meet["stop"] is None


def test_reconvergence_in_a_part_that_never_ends():
    meet = reconvergence(graph(blocks("""
        entry: nop -> P0 spin out
        spin: nop -> P1 one two
        one: nop -> back
        two: nop -> back
        back: nop -> spin
        out: nop
        """)))
    assert meet["spin"] == "back" and meet["entry"] == "out"


def test_dominators_and_loop_depth():
    kernel = blocks("""
        entry: nop -> outer
        outer: nop -> inner
        inner: nop -> P0 inner latch
        latch: nop -> P1 outer done
        done: nop
        """)
    idom = immediate_dominators(kernel)
    tree = DominatorTree(graph(kernel))
    assert idom == {"entry": "entry", "outer": "entry", "inner": "outer", "latch": "inner", "done": "latch"}
    assert tree.dominates("outer", "latch") and tree.dominates("inner", "inner")
    assert not tree.dominates("latch", "inner") and tree.children["latch"] == ["done"]
    assert loop_depth(kernel) == {"entry": 0, "outer": 1, "inner": 2, "latch": 1, "done": 0}


@pytest.mark.parametrize("text, depth", [
    ("entry: nop", 1),
    # One side starts at the reconvergence point: base and one side.
    ("entry: nop -> P0 join body\nbody: nop -> join\njoin: nop", 2),
    ("entry: nop -> P0 a b\na: nop -> join\nb: nop -> join\njoin: nop", 3),
    # A loop that lanes leave one by one reuses the top entry.
    ("entry: nop -> loop\nloop: nop -> P0 loop done\ndone: nop", 2),
    # A chain of else-ifs with one end adds one entry each.
    ("entry: nop -> P0 t1 f1\nf1: nop -> join\nt1: nop -> P1 t2 f2\nf2: nop -> join\nt2: nop -> join\njoin: nop", 4),
    (NESTED, 5),
    # A side that parts in every iteration and meets only behind the loop: an entry for every lane.
    ("entry: nop -> head\nhead: nop -> P0 a b\na: nop -> P1 done latch\nb: nop -> latch\n"
     "latch: nop -> P2 head done\ndone: nop", 33),
])
def test_stack_depth(text, depth):
    kernel = blocks(text)
    flow = graph(kernel)
    assert stack_depth(kernel, flow, reconvergence(flow)) == depth


KEPT = """
entry: %r0 = mov 1; %r1 = mov 2; %p0 = setp.eq %r0, %r1; %r2 = iadd %r0, %r1 -> %p0 then end
then: st.global.b32 %r2, %r1 -> end
end: st.global.b32 %r0, %r0
"""


def change(kernel, what):
    entry, then, end = kernel.blocks
    if what == "operands":
        end.ops[0].uses = (Reg("r", 1), Reg("r", 2))
    elif what == "result":
        entry.ops[3].defs = (Reg("r", 7),)
    elif what == "guard":
        entry.ops[1].guard = Pred(Reg("p", 3))
    elif what == "condition":
        entry.end.condition = Pred(Reg("p", 4))
    elif what == "targets":
        then.end = Terminator(())
    elif what == "operation gone":
        del entry.ops[0]
    elif what == "operation in another block":
        end.ops.append(then.ops.pop())
    else:
        entry.ops[0] = Op("mov", (Reg("r", 5),), (Imm(1),))


@pytest.mark.parametrize("what", ["operands", "result", "guard", "condition", "targets", "operation gone",
                                  "operation in another block", "another operation"])
def test_analyses_are_kept_as_long_as_the_code_stays(what):
    kernel = blocks(KEPT)
    live, known = liveness(kernel), definitions_of(kernel)
    assert liveness(kernel) is live and definitions_of(kernel) is known
    change(kernel, what)
    assert liveness(kernel) == liveness(parse(show(kernel))) != live
    assert definitions_of(kernel) is not known


def test_equal_registers_and_predicates_are_one_object():
    reg = Reg("r", 3)
    assert Reg("r", 3) is reg and Pred(reg, True) is Pred(reg).inverted() and Pred(None) is TRUE
    assert pickle.loads(pickle.dumps((reg, Pred(reg)))) == (reg, Pred(reg)) and copy.deepcopy(reg) is reg
    assert sorted([Reg("u", 0), Reg("r", 10), Reg("r", 9)]) == [Reg("r", 9), Reg("r", 10), Reg("u", 0)]
    with pytest.raises(AttributeError, match="Reg does not change"):
        reg.index = 4
