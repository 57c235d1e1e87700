"""Propagation of copies and of sums into addresses."""

import pytest

from caesura.software.compiler.optimize.copy_propagation import propagate
from support.software.ir_text import check, straight


@pytest.mark.parametrize("before, after", [
    ("%r1 = mov %r0; %r2 = iadd %r1, 5", "%r1 = mov %r0; %r2 = iadd %r0, 5"),
    ("%r1 = mov 7; %r2 = iadd %r1, %r1", "%r1 = mov 7; %r2 = iadd 7, 7"),
    # The source changes between the copy and the use.
    ("%r0 = mov 1; %r1 = mov %r0; %r0 = iadd %r0, 1; %r2 = iadd %r1, %r0",
     "%r0 = mov 1; %r1 = mov 1; %r0 = iadd 1, 1; %r2 = iadd 1, %r0"),
    ("%r0 = ldp; %r1 = mov %r0; %r0 = iadd %r0, 1; %r2 = iadd %r1, %r0",
     "%r0 = ldp; %r1 = mov %r0; %r0 = iadd %r0, 1; %r2 = iadd %r1, %r0"),
    # A guarded move copies nothing for sure.
    ("%r1 = mov 3; @%p0 %r1 = mov 4; %r2 = mov %r1", "%r1 = mov 3; @%p0 %r1 = mov 4; %r2 = mov %r1"),
    ("%p1 = pand !%p0, true; @!%p1 exit", "%p1 = pand !%p0, true; @%p0 exit"),
    ("%r0 = ldp; %r1 = iadd %r0, 16; %r2 = ld.global.b32 %r1 #4",
     "%r0 = ldp; %r1 = iadd %r0, 16; %r2 = ld.global.b32 %r0 #20"),
])
def test_propagation(before, after):
    straight(propagate, before, after)


@pytest.mark.parametrize("use", ["st.global.b32 %r1, %r2", "@%p0 %r3 = iadd %r2, 1", "%r3 = iadd %r2, %r1"])
def test_propagation_leaves_a_copy_whose_source_is_written_later_in_the_loop(use):
    """The copy is the value of the round before; each register has one definition, and the copy dominates the use."""
    text = f"""
        entry:
          %r1 = ldp
          jump loop
        loop:
          %r2 = mov %r0
          %r0 = ld.global.b32 %r1
          {use}
          %p0 = setp.ne %r0, 0
          branch %p0 loop done
        done:
          end
        """
    check(propagate, text, text)


def test_a_base_stays_if_its_sum_is_read_otherwise_or_its_summand_is_written_before_a_use():
    for kept in ("%r0 = ldp; %r1 = iadd %r0, 16; %r2 = ld.global.b32 %r1; st.global.b32 %r1, %r1",
                 "%r0 = ldp; %r1 = iadd %r0, 16; %r0 = ld.global.b32 %r2; %r3 = ld.global.b32 %r1"):
        straight(propagate, kept, kept)


def test_propagation_needs_dominance():
    text = """
        entry:
          branch %p0 set use
        set:
          %r1 = mov 5
          jump use
        use:
          %r2 = iadd %r1, 1
          end
        """
    check(propagate, text, text)


def test_propagation_across_blocks():
    check(propagate, """
        entry:
          %r0 = ldp
          %r1 = mov %r0
          branch %p0 one two
        one:
          %r2 = iadd %r1, 1
          jump two
        two:
          %r3 = iadd %r1, 2
          end
        """, """
        entry:
          %r0 = ldp
          %r1 = mov %r0
          branch %p0 one two
        one:
          %r2 = iadd %r0, 1
          jump two
        two:
          %r3 = iadd %r0, 2
          end
        """)
