"""Branches are tidied, loops get places to meet, blocks an order."""

from caesura.software.compiler.codegen.block_layout import lay_out
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.optimize.guarded_exits import exit_early
from caesura.software.compiler.optimize.simplify_cfg import simplify_cfg
from caesura.software.compiler.optimize.unify_loop_exits import unify_loop_exits
from support.software.ir_text import check, clean


def test_branch_to_the_end_becomes_a_guarded_exit():
    check(lambda k: (exit_early(k), simplify_cfg(k)), """
        entry:
          branch !%p0 done body
        body:
          %r0 = mov 1
          jump done
        done:
          end
        """, """
        entry:
          @!%p0 exit
          %r0 = mov 1
          end
        """)


def test_tidying_threads_jumps_and_drops_what_is_unreachable():
    check(simplify_cfg, """
        entry:
          branch true a b
        a:
          jump c
        b:
          %r0 = mov 2
          jump c
        c:
          %r1 = mov 1
          end
        """, """
        entry:
          %r1 = mov 1
          end
        """)


def test_loop_with_a_break_inside_a_conditional_gets_a_meeting_block():
    check(lambda k: (unify_loop_exits(k), simplify_cfg(k)), """
        entry:
          %r0 = mov 0
          jump head
        head:
          %r0 = iadd %r0, 1
          %p0 = setp.lt.s %r0, %r1
          branch %p0 inside other
        inside:
          %p1 = setp.eq %r0, 5
          branch %p1 done latch
        other:
          %r0 = iadd %r0, 2
          jump latch
        latch:
          %p2 = setp.lt.s %r0, 100
          branch %p2 head done
        done:
          end
        """, """
        entry:
          %r0 = mov 0
          jump head
        head:
          %r0 = iadd %r0, 1
          %p0 = setp.lt.s %r0, %r1
          branch %p0 inside other
        inside:
          %p1 = setp.eq %r0, 5
          %p3 = pand true, true
          branch %p1 meet.0 latch
        other:
          %r0 = iadd %r0, 2
          jump latch
        latch:
          %p2 = setp.lt.s %r0, 100
          %p3 = pand !%p2, true
          jump meet.0
        meet.0:
          branch %p3 done head
        done:
          end
        """)


def test_loop_with_one_exit_stays_as_it_is():
    kernel = parse(clean("entry:\n  jump head\nhead:\n  branch %p0 a b\na:\n  jump b\nb:\n  branch %p1 head done\n"
                         "done:\n  end\n"))
    assert not unify_loop_exits(kernel)


def test_layout_lets_the_untaken_side_fall_through():
    check(lay_out, """
        entry:
          branch %p0 next far
        next:
          jump far
        back:
          branch %p1 next entry
        far:
          end
        """, """
        entry:
          branch !%p0 far next
        next:
          jump far
        back:
          branch %p1 next back.jump
        back.jump:
          jump entry
        far:
          end
        """)
