"""Conditional code under guards, and conditions in chains, on small texts."""

import pytest

from caesura.software.compiler.optimize.condition_chains import chain_conditions
from caesura.software.compiler.optimize.if_conversion import LONGEST, convert_ifs
from caesura.software.compiler.optimize.simplify_cfg import simplify_cfg
from support.software.ir_text import check, straight

TRIANGLE = """
    entry:
      %r0 = ldp
      %r1 = mov 0
      %p0 = setp.ne %r0, 0
      branch %p0 side meet
    side:
      {side}
      jump meet
    meet:
      st.global.b32 %r0, %r1
      end
    """
LINE = """
    entry:
      %r0 = ldp
      %r1 = mov 0
      %p0 = setp.ne %r0, 0
      {side}
      st.global.b32 %r0, %r1
      end
    """


@pytest.mark.parametrize("side, converted", [
    ("%r1 = ld.global.b32 %r0", "@%p0 %r1 = ld.global.b32 %r0"),
    ("%r2 = iadd %r0, 4; %r1 = ld.global.b32 %r2", "%r2 = iadd %r0, 4; @%p0 %r1 = ld.global.b32 %r2"),
    ("st.shared.b32 %r0, %r0", "@%p0 st.shared.b32 %r0, %r0"),
    ("red.global.add.b32 %r0, %r0", "@%p0 red.global.add.b32 %r0, %r0"),
    # A load into what the side has written itself, since a guarded definition kills nothing.
    ("%r2 = iadd %r0, 4; %r3 = ld.global.b32 %r2; %r4 = iadd %r3, 1; st.global.b32 %r0, %r4",
     "%r2 = iadd %r0, 4; @%p0 %r2 = ld.global.b32 %r2; %r4 = iadd %r2, 1; @%p0 st.global.b32 %r0, %r4"),
    ("%r2 = iadd %r0, 4; %r3 = ld.global.b32 %r2; %r4 = ld.global.b32 %r3; st.global.b32 %r0, %r4",
     "%r2 = iadd %r0, 4; @%p0 %r2 = ld.global.b32 %r2; @%p0 %r2 = ld.global.b32 %r2; @%p0 st.global.b32 %r0, %r2"),
])
def test_short_conditional_code_is_guarded(side, converted):
    check(convert_ifs, TRIANGLE.format(side=side.replace("; ", "\n      ")),
          LINE.format(side=converted.replace("; ", "\n      ")))


@pytest.mark.parametrize("side", [
    "%r1 = match %r0", "%r1 = ballot %p0", "bar.pp.0", "exit", "membar", "%r1 = mufu.rcp %r0",
    "%r2, %r3 = dadd.rn %r0, %r1, %r0, %r1",
    "%r1 = ld.global.b32 %r0; %p0 = setp.eq %r1, 3",             # overwrites the condition
    "%r3 = ld.global.b32 %r0; st.global.b32 %r0, %r3",           # nothing to hold what it loads
    "%r2 = iadd %r0, 4; %r3 = ld.global.b32 %r2; st.global.b32 %r2, %r3",  # the address is read again
    "%p1 = setp.eq %r0, 3; @%p1 %r1 = mov 3",                    # a guard of its own
    "; ".join(["st.global.b32 %r0, %r0"] * (LONGEST + 1)),
])
def test_what_depends_on_who_executes_it_is_slow_or_long_is_not(side):
    text = TRIANGLE.format(side=side.replace("; ", "\n      "))
    check(convert_ifs, text, text)


def test_of_two_sides_all_lanes_compute_the_first():
    check(convert_ifs, """
        entry:
          %r0 = ldp
          %p0 = setp.ne %r0, 0
          branch !%p0 one two
        one:
          %r1 = iadd %r0, 1
          jump meet
        two:
          %r1 = shl %r0, 1
          jump meet
        meet:
          st.global.b32 %r0, %r1
          end
        """, """
        entry:
          %r0 = ldp
          %p0 = setp.ne %r0, 0
          %r1 = iadd %r0, 1
          @%p0 %r1 = shl %r0, 1
          st.global.b32 %r0, %r1
          end
        """)


@pytest.mark.parametrize("two", ["%r1 = shl %r1, 1", "%r2 = iadd %r0, 2"])
def test_a_side_that_the_first_would_disturb_or_that_does_not_settle_its_result(two):
    """The first side's value must not reach the second; one that the second does not write stays under its guard."""
    text = f"""
        entry:
          %r0 = ldp
          %r1 = ldp #4
          %r2 = mov 0
          %p0 = setp.ne %r0, 0
          branch %p0 one two
        one:
          %r1 = iadd %r0, 1
          jump meet
        two:
          {two}
          jump meet
        meet:
          st.global.b32 %r2, %r1
          end
        """
    if "%r1, 1" in two:
        check(convert_ifs, text, text)
    else:
        check(lambda kernel: (convert_ifs(kernel), simplify_cfg(kernel)), text, """
        entry:
          %r0 = ldp
          %r1 = ldp #4
          %r2 = mov 0
          %p0 = setp.ne %r0, 0
          @%p0 %r1 = iadd %r0, 1
          @!%p0 %r2 = iadd %r0, 2
          st.global.b32 %r2, %r1
          end
        """)


def test_nested_conditionals_are_converted_from_the_inside():
    check(convert_ifs, """
        entry:
          %r0 = ldp
          %p0 = setp.ne %r0, 0
          branch %p0 outer meet
        outer:
          bar.pp.0
          %p1 = setp.ne %r0, 1
          branch %p1 inner join
        inner:
          st.global.b32 %r0, %r0
          jump join
        join:
          jump meet
        meet:
          end
        """, """
        entry:
          %r0 = ldp
          %p0 = setp.ne %r0, 0
          branch %p0 outer meet
        outer:
          bar.pp.0
          %p1 = setp.ne %r0, 1
          @%p1 st.global.b32 %r0, %r0
          jump meet
        meet:
          end
        """)


@pytest.mark.parametrize("before, after", [
    ("%p2 = pand %p0, %p1", "%p2 = setp.lt.s %r0, %r1; @%p2 %p2 = fsetp.gt %r2, %r3"),
    ("%p2 = por %p1, %p0", "%p2 = setp.lt.s %r0, %r1; @!%p2 %p2 = fsetp.gt %r2, %r3"),
    ("%p2 = pand !%p0, !%p1", "%p2 = setp.ge.s %r0, %r1; @%p2 %p2 = fsetp.leu %r2, %r3"),
    ("%p2 = por !%p0, %p1", "%p2 = setp.ge.s %r0, %r1; @!%p2 %p2 = fsetp.gt %r2, %r3"),
])
def test_a_condition_of_two_comparisons_needs_no_third_operation(before, after):
    use = "@%p2 st.global.b32 %r0, %r1"
    straight(chain_conditions, f"%p0 = setp.lt.s %r0, %r1; %p1 = fsetp.gt %r2, %r3; {before}; {use}", f"{after}; {use}")


def test_chains_collapse_from_the_front():
    straight(chain_conditions,
             "%p0 = setp.eq %r0, 1; %p1 = setp.eq %r1, 1; %p2 = pand %p0, %p1; %p3 = setp.ne %r2, 1; "
             "%p4 = por %p2, %p3; @%p4 exit",
             "%p4 = setp.eq %r0, 1; @%p4 %p4 = setp.eq %r1, 1; @!%p4 %p4 = setp.ne %r2, 1; @%p4 exit")


@pytest.mark.parametrize("kept", [
    "%p0 = setp.eq %r0, 1; %p1 = setp.eq %r1, 1; %p2 = pand %p0, %p1; @%p2 exit; @%p1 exit",  # read otherwise
    "%p0 = setp.eq %r0, 1; @%p3 %p1 = setp.eq %r1, 1; %p2 = pand %p0, %p1; @%p2 exit",        # guarded
    "%p0 = setp.eq %r0, 1; @%p2 exit; %p1 = setp.eq %r1, 1; %p2 = pand %p0, %p1",             # the value before
    "%p0 = setp.eq %r0, 1; %p1 = setp.eq %r1, 1; %p2 = pxor %p0, %p1; @%p2 exit",
    "%r2, %p0 = iaddc %r0, %r1, !true; %p1 = setp.eq %r1, 1; %p2 = pand %p0, %p1; @%p2 exit",
])
def test_other_conditions_stay(kept):
    straight(chain_conditions, kept, kept)
