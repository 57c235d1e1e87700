"""Common subexpressions and linear forms, on small texts."""

import pytest

from caesura.software.compiler.analysis.definitions import Definitions, Place
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.optimize.copy_propagation import propagate
from caesura.software.compiler.optimize.dce import eliminate_dead_code
from caesura.software.compiler.optimize.reassociate import reassociate
from caesura.software.compiler.optimize.value_numbering import number_values
from support.software.ir_text import check, clean, straight

STORES = "; st.global.b32 %r8, %r9; st.global.b32 %r9, %r8"


def settle(kernel):
    while number_values(kernel) | reassociate(kernel) | propagate(kernel) | eliminate_dead_code(kernel):
        pass


@pytest.mark.parametrize("first, second", [
    ("xor %r0, %r1", "xor %r1, %r0"), ("fadd.rn %r0, %r1", "fadd.rn %r1, %r0"), ("ldp #8", "ldp #8"),
    ("ld.const.b32 %r0 #4", "ld.const.b32 %r0 #4"), ("s2r #4", "s2r #4"), ("shl %r0, 3", "imul.lo %r0, 8"),
    ("iadd %r0, %r1", "iadd %r1, %r0"), ("imul.hi.u %r0, %r1", "imul.hi.u %r1, %r0"),
    ("imad.lo %r0, 5, %r1", "imad.lo %r0, 5, %r1"), ("sel %r0, %r1, !%p0", "sel %r0, %r1, !%p0"),
])
def test_same_value_is_computed_once(first, second):
    straight(number_values, f"%r8 = {first}; %r9 = {second}{STORES}", f"%r8 = {first}; %r9 = mov %r8{STORES}")


@pytest.mark.parametrize("first, second", [
    ("isub %r0, %r1", "isub %r1, %r0"), ("ldp #8", "ldp #12"), ("s2r #3", "s2r #3"), ("s2r #2", "s2r #2"),
    ("ld.global.b32 %r0", "ld.global.b32 %r0"), ("ld.shared.b32 %r0", "ld.shared.b32 %r0"), ("match %r0", "match %r0"),
    ("ballot %p0", "ballot %p0"), ("shfl.idx.i %r0, 3", "shfl.idx.i %r0, 3"),
    ("sel %r0, %r1, %p0", "sel %r0, %r1, !%p0"),
    ("fsub.rn %r0, %r1", "fsub.rz %r0, %r1"), ("shl %r0, %r1", "shl %r1, %r0"),
])
def test_different_values_clocks_loads_and_exchanges_are_not(first, second):
    kept = f"%r8 = {first}; %r9 = {second}{STORES}"
    straight(number_values, kept, kept)


@pytest.mark.parametrize("between", ["%r0 = ldp", "@%p0 %r0 = ldp"])
def test_an_operand_written_in_between_is_another_value(between):
    kept = f"%r0 = s2r #4; %r8 = xor %r0, %r1; {between}; %r9 = xor %r0, %r1{STORES}"
    straight(number_values, kept, kept)


def test_a_guarded_operation_neither_gives_nor_takes_a_value():
    for kept in (f"@%p0 %r8 = xor %r0, %r1; %r9 = xor %r0, %r1{STORES}",
                 f"%r8 = xor %r0, %r1; @%p0 %r9 = xor %r0, %r1{STORES}"):
        straight(number_values, kept, kept)


def test_a_value_holds_below_what_dominates_and_not_where_paths_meet():
    text = """
        entry:
          %r0 = ldp
          branch %p0 left right
        left:
          %r1 = xor %r0, 5
          st.global.b32 %r0, %r1
          jump below
        below:
          %r2 = {below}
          st.global.b32 %r0, %r2
          jump meet
        right:
          jump meet
        meet:
          %r3 = xor %r0, 5
          st.global.b32 %r0, %r3
          end
        """
    check(number_values, text.format(below="xor %r0, 5"), text.format(below="mov %r1"))


def test_a_register_of_one_definition_that_a_loop_reads_first_is_not_its_later_value():
    text = """
        entry:
          %r1 = ldp
          jump loop
        loop:
          %r2 = xor %r0, %r1
          st.global.b32 %r1, %r2
          %r0 = ld.global.b32 %r1
          %r3 = xor %r0, %r1
          st.global.b32 %r1, %r3
          %p0 = setp.ne %r3, 0
          branch %p0 loop done
        done:
          end
        """
    check(number_values, text, text)


def test_predicates_are_shared_inside_a_block_only():
    text = """
        entry:
          %p0 = setp.lt.s %r0, %r1
          {again}
          @%p1 st.global.b32 %r0, %r1
          branch %p0 more done
        more:
          %p2 = setp.lt.s %r0, %r1
          @%p2 st.global.b32 %r1, %r0
          jump done
        done:
          end
        """
    check(number_values, text.format(again="%p1 = setp.lt.s %r0, %r1"), text.format(again="%p1 = pand %p0, true"))


def test_sums_are_equal_in_whatever_order_and_bases_differ_by_a_constant():
    straight(settle,
             "%r0 = ldp; %r1 = s2r #4; %r2 = shl %r1, 2; %r3 = iadd %r0, %r2; st.global.b32 %r3, %r1; "
             "%r4 = iadd %r1, 3; %r5 = imul.lo %r4, 4; %r6 = iadd %r5, %r0; st.global.b32 %r6, %r1",
             "%r0 = ldp; %r1 = s2r #4; %r2 = shl %r1, 2; %r3 = iadd %r0, %r2; st.global.b32 %r3, %r1; "
             "st.global.b32 %r3, %r1 #12")


def test_a_sum_that_cancels_is_what_is_left():
    straight(settle, "%r0 = ldp; %r1 = ldp #4; %r2 = iadd %r0, %r1; %r3 = isub %r2, %r0; %r4 = isub %r3, %r1; "
             "st.global.b32 %r3, %r4", "%r1 = ldp #4; st.global.b32 %r1, 0")


def test_a_constant_moves_out_of_an_index_into_the_offset():
    straight(settle, "%r0 = ldp; %r1 = s2r #4; %r2 = iadd %r1, 7; %r3 = shl %r2, 2; %r4 = iadd %r3, %r0; "
             "%r5 = ld.global.b32 %r4 #4; st.global.b32 %r0, %r5",
             "%r0 = ldp; %r1 = s2r #4; %r6 = shl %r1, 2; %r7 = iadd %r6, %r0; %r5 = ld.global.b32 %r7 #32; "
             "st.global.b32 %r0, %r5")


@pytest.mark.parametrize("kept", [
    "%r0 = ldp; %r1 = iadd %r0, 7; %r2 = xor %r0, 1; %r3 = isub %r2, %r1; %r4 = iadd %r1, %r3; "
    "st.global.b32 %r3, %r4",
    "%r0 = ldp; %r1 = iadd %r0, 7; %r2 = shr.u %r1, 2; st.global.b32 %r0, %r2",
])
def test_a_constant_stays_where_moving_it_would_take_an_operation(kept):
    straight(reassociate, kept, kept)


def test_the_most_registers_live_at_once_are_not_raised():
    """The second sum would keep the first alive where sixteen values are live already; there it is computed again."""
    loads = "".join(f"  %r{k} = ld.global.b32 %r0 #{k}\n" for k in range(2, 16))
    stores = "".join(f"  st.global.b32 %r0, %r{k} #{k}\n" for k in range(2, 16))
    sums = "  %r20 = {first}\n  st.global.b32 %r20, %r0\n"
    again = "  %r21 = {second}\n  st.global.b32 %r21, %r1\n  st.global.b32 %r1, %r0\n"
    start = "entry:\n  %r0 = ldp\n  %r1 = ldp #4\n"
    value = "xor %r0, %r1"
    apart = start + sums.format(first=value) + loads + stores + again.format(second=value) + "  end\n"
    check(number_values, apart, apart)
    near = start + loads + stores + sums.format(first=value) + again.format(second=value) + "  end\n"
    shared = near.replace(f"%r21 = {value}\n  st.global.b32 %r21", "%r21 = mov %r20\n  st.global.b32 %r20")
    check(number_values, near, shared)


def test_definitions_tell_what_reaches_a_place():
    kernel = parse(clean("""
        entry:
          %r0 = ldp
          %r1 = ldp #4
          branch %p0 body done
        body:
          %r1 = iadd %r1, 1
          @%p0 %r2 = mov %r1
          %r3 = mov %r0
          jump done
        done:
          end
        """))
    known = Definitions(kernel)
    entry, body, _ = kernel.blocks
    at = Place("body", 3)
    assert [known.reaching(Reg("r", k), at) for k in range(4)] == [entry.ops[0], body.ops[0], None, body.ops[2]]
    assert known.reaching(Reg("r", 3), Place("done", 0)) is None
    assert known.unchanged(Reg("r", 0), entry.ops[1], at) and not known.unchanged(Reg("r", 1), entry.ops[1], at)
    assert known.unchanged(Reg("r", 1), body.ops[1], at) and not known.unchanged(Reg("r", 1), body.ops[0], at)
    assert known.readers(Reg("r", 1)) == body.ops[:2] and known.is_condition(Reg("p", 0))
