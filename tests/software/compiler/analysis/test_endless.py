"""Loops that nothing but a thread's end leaves: where lanes meet, and barriers inside them."""

import itertools

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.analysis.dominance import reconvergence
from caesura.software.compiler.ir.digraph import DiGraph
from support.selection import quick
from support.software.ptx_bench import HEAD

THREADS, ROUNDS = 64, 5

# Blocks of a loop's body. Every thread leaves after ROUNDS rounds; odd and even ones, and every fourth, part in each.
LOOP = {
    "HEAD": "add.s32 %r2, %r2, 1; setp.gt.s32 %p1, %r2, 5; {leave} and.b32 %r3, %r1, 1; setp.eq.s32 %p2, %r3, 0; "
            "@%p2 bra EVEN; bra ODD;",
    "ODD": "add.s32 %r4, %r4, 100; and.b32 %r5, %r1, 3; setp.eq.s32 %p3, %r5, 3; @%p3 bra FOURTH; bra MEET;",
    "FOURTH": "add.s32 %r4, %r4, 10; bra MEET;",
    "EVEN": "add.s32 %r4, %r4, 1000; bra MEET;",
    "MEET": "bar.sync 0; add.s32 %r4, %r4, 1; bra HEAD;",
}
LEAVE = {
    "a guarded exit": "@%p1 bra STORE; bra CONTINUE; STORE: st.global.u32 [%rd2], %r4; exit; CONTINUE:",
    "a return": "@!%p1 bra CONTINUE; st.global.u32 [%rd2], %r4; ret; CONTINUE:",
    "an exit after the store": "st.global.u32 [%rd2], %r4; @%p1 exit;",
    "a branch to the end": "st.global.u32 [%rd2], %r4; @%p1 bra DONE;",
    "a break inside an if": "st.global.u32 [%rd2], %r4; setp.lt.s32 %p4, %r2, 3; @%p4 bra SKIP; @%p1 bra DONE; SKIP:",
    "a break with code behind": "@%p1 bra LAST;",
    "a break with code behind, inside an if": "setp.lt.s32 %p4, %r2, 3; @%p4 bra SKIP; @%p1 bra LAST; SKIP:",
}


def kernel(order, leave):
    body = "\n".join(f"{name}: {LOOP[name].format(leave=leave) if name == 'HEAD' else LOOP[name]}" for name in order)
    return HEAD + f"""
.visible .entry k(.param .u64 OUT)
{{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [OUT]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r2, 0; mov.u32 %r4, 0; bra HEAD;
    {body}
LAST: st.global.u32 [%rd2], %r4;
DONE: ret;
}}
"""


def expected():
    return [sum((100 + 10 * (i % 4 == 3) if i % 2 else 1000) + 1 for _ in range(ROUNDS)) for i in range(THREADS)]


def run(text):
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros(THREADS, np.uint32))
    image = compile_ptx(text)["k"]
    device.wait(device.load([image])["k"](1, THREADS, [out]))
    return out.get().tolist(), image


ORDERS = [("HEAD", *rest) for rest in itertools.permutations(("ODD", "FOURTH", "EVEN", "MEET"))]


@pytest.mark.parametrize("leave", quick(LEAVE, [*LEAVE][::2]), ids=lambda name: name.replace(" ", "-"))
def test_lanes_meet_in_every_round_however_the_loop_is_laid_out(leave):
    for order in ORDERS[::5]:
        got, image = run(kernel(order, LEAVE[leave]))
        assert got == expected(), order
        assert image.stack_depth <= 5


def test_where_lanes_meet_in_a_loop_without_an_end():
    flow = DiGraph([("before", "left"), ("before", "right"), ("left", "head"), ("right", "head"),
                    ("head", "odd"), ("head", "even"), ("odd", "meet"), ("even", "meet"), ("meet", "head"),
                    ("odd", "turn"), ("turn", "head")])
    for order in (list(flow), list(flow)[::-1]):
        ordered = DiGraph()
        ordered.add_nodes(order)
        ordered.add_edges(flow.edges())
        meet = reconvergence(ordered)
        assert meet == {"before": "head", "left": "head", "right": "head", "head": "head", "odd": "head",
                        "even": "meet", "meet": "head", "turn": "head"}


def test_where_lanes_meet_with_an_end_for_some():
    """The lanes that go to the end come from before the loop; who is in the loop meets in it."""
    flow = DiGraph([("entry", "end"), ("entry", "head"), ("head", "a"), ("head", "b"), ("a", "c"), ("b", "c"),
                    ("c", "head")])
    meet = reconvergence(flow)
    assert meet["head"] == "c" and meet["c"] == "head"
    assert meet["entry"] == "end"  # nobody comes there but those who go there at once


def test_lanes_that_leave_in_different_rounds_do_not_hold_up_the_others():
    leave = LEAVE["an exit after the store"]
    later = LOOP["HEAD"].replace("setp.gt.s32 %p1, %r2, 5;", "and.b32 %r6, %r1, 7; setp.gt.u32 %p1, %r2, %r6;")
    text = kernel(ORDERS[0], leave).replace(LOOP["HEAD"].format(leave=leave), later.format(leave=leave))
    got, _ = run(text)
    assert got == [(i & 7) * (101 + 10 * (i % 4 == 3) if i % 2 else 1001) for i in range(THREADS)]
