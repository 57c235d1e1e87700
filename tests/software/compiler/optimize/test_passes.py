"""Each pass on small texts: IR in, IR out."""

import re

import pytest

from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.spec import machine_opcode, verify
from caesura.software.compiler.ir.text import parse, show
from caesura.software.compiler.lower.legalize import legalize
from caesura.software.compiler.optimize import dce
from caesura.software.compiler.optimize.algebraic_simplification import simplify
from caesura.software.compiler.optimize.copy_propagation import propagate
from caesura.software.compiler.optimize.dce import eliminate_dead_code
from caesura.software.compiler.optimize.redundant_flushes import drop_flushes
from caesura.software.compiler.optimize.select_immediates import WINDOW, select_immediates
from caesura.software.compiler.optimize.sink import sink
from support.software.ir_text import check, clean, straight


@pytest.mark.parametrize("before, after", [
    ("%w0 = pack.64 %r0, %r1; st.global.b64 %w0, %w0",
     "%r2 = mov %r0; %r3 = mov %r1; st.global.b64 %r2, %r2, %r3"),
    ("%w2 = add.64 %w0, %w1", "%r4, %p0 = iaddc %r0, %r2, !true; %r5, %p1 = iaddc %r1, %r3, %p0"),
    ("%w0 = ld.global.b64 %w1 #8", "%r0, %r1 = ld.global.b64 %r2 #8"),
    ("%w0 = mulwide.s.64 %r0, 4", "%r1 = imul.lo %r0, 4; %r2 = imul.hi.s %r0, 4"),
    ("%w1 = shl.64 %w0, 40", "%r3 = shl %r0, 8; %r2 = mov 0"),
    ("%p0 = setp.eq.64 %w0, 4294967297", "%p1 = setp.eq %r0, 1; %p2 = setp.eq %r1, 1; %p0 = pand %p1, %p2"),
    # The first half of the product may not overwrite what the second still reads.
    ("%w0 = mul.64 %w0, %w1",
     "%r4 = imul.hi.u %r0, %r2; %r5 = imad.lo %r0, %r3, %r4; %r6 = imul.lo %r0, %r2; %r7 = imad.lo %r1, %r2, %r5; "
     "%r0 = mov %r6; %r1 = mov %r7"),
])
def test_legalization(before, after):
    def registers_in_order(text):
        """Number registers as they appear: which numbers are fresh does not matter."""
        found = list(dict.fromkeys(re.findall(r"%[rp]\d+", text)))
        return re.sub(r"%[rp]\d+", lambda match: f"{match[0][:2]}{found.index(match[0])}", text)

    def text(lines):
        return clean("entry:\n" + "".join(f"  {line}\n" for line in lines.split("; ")) + "  end\n")
    kernel = parse(text(before))
    legalize(kernel)
    verify(kernel, "narrow")
    assert registers_in_order(show(kernel)) == registers_in_order(text(after))


def test_guarded_wide_operation_is_computed_into_temporaries():
    kernel = parse(clean("entry:\n  @%p0 %w0 = add.64 %w0, %w1\n  end\n"))
    legalize(kernel)
    *computed, low, high = kernel.blocks[0].ops
    assert all(op.guard is None for op in computed)
    assert low.name == high.name == "mov" and low.guard == high.guard is not None
    assert not {d for op in computed for d in op.written()} & {*low.defs, *high.defs}


def test_dead_code_elimination_removes_dead_high_halves():
    straight(eliminate_dead_code,
             "%r4, %p0 = iaddc %r0, %r2, !true; %r5, _ = iaddc %r1, %r3, %p0; st.global.b32 %r4, %r0",
             "%r4, _ = iaddc %r0, %r2, !true; st.global.b32 %r4, %r0")


def test_dead_code_elimination_removes_a_cycle_that_only_feeds_itself():
    check(eliminate_dead_code, """
        entry:
          %r0 = mov 0
          %r1 = mov 0
          jump loop
        loop:
          %r0 = iadd %r0, 1
          %r1 = iadd %r1, 7
          %p0 = setp.lt.s %r0, 9
          branch %p0 loop done
        done:
          end
        """, """
        entry:
          %r0 = mov 0
          jump loop
        loop:
          %r0 = iadd %r0, 1
          %p0 = setp.lt.s %r0, 9
          branch %p0 loop done
        done:
          end
        """)


def test_dead_code_elimination_removes_a_long_chain_in_few_rounds(monkeypatch):
    rounds = []
    monkeypatch.setattr(dce, "liveness", lambda kernel: rounds.append(kernel) or liveness(kernel))
    chain = "; ".join(["%r1 = iadd %r1, %r0"] * 50)
    straight(eliminate_dead_code, f"st.global.b32 %r0, %r1; {chain}", "st.global.b32 %r0, %r1")
    assert len(rounds) <= 2


def test_dead_code_elimination_keeps_what_has_effects():
    text = "bar.pp.0; @%p0 exit; membar; %r0 = ld.global.b32 %r1"
    straight(eliminate_dead_code, text, "bar.pp.0; @%p0 exit; membar")


@pytest.mark.parametrize("before, after", [
    ("%r0 = iadd %r1, 0", "%r0 = mov %r1"), ("%r0 = iadd 3, 4", "%r0 = mov 7"),
    ("%r0 = isub 3, 4", "%r0 = mov 4294967295"),
    ("%r0 = iadd 3, %r1", "%r0 = iadd %r1, 3"), ("%r0 = isub %r1, 3", "%r0 = iadd %r1, 4294967293"),
    ("%r0, _ = iaddc %r1, %r2, !true", "%r0 = iadd %r1, %r2"),
    ("%r0, _ = isubc %r1, %r2, true", "%r0 = isub %r1, %r2"),
    ("%r0, %p0 = iaddc %r1, 0, !true", "%r0 = mov %r1; %p0 = pand !true, true"),
    ("%r0, _ = iaddc %r1, %r2, true", "%r0, _ = iaddc %r1, %r2, true"),
    ("%r0 = imad.lo %r1, %r2, 0", "%r0 = imul.lo %r1, %r2"), ("%r0 = imul.hi.u %r1, 8", "%r0 = shr.u %r1, 29"),
    ("%r0 = imul.hi.s %r1, 1", "%r0 = shr.s %r1, 31"), ("%r0 = sel %r1, %r2, !true", "%r0 = mov %r2"),
    ("%p0 = setp.lt.s 5, %r1", "%p0 = setp.gt.s %r1, 5"), ("%p0 = setp.lt.s 4294967295, 0", "%p0 = pand true, true"),
    ("%p0 = setp.lt.u %r1, 0", "%p0 = pand !true, true"), ("%p0 = setp.ge.u %r1, 0", "%p0 = pand true, true"),
    ("%p0 = pxor %p1, true", "%p0 = pand !%p1, true"), ("%p0 = por %p1, true", "%p0 = pand true, true"),
    ("@!true %r0 = mov 1", ""),
    ("%r0 = ld.global.u8 %r2; %r1 = and %r0, 65535", "%r0 = ld.global.u8 %r2; %r1 = mov %r0"),
    ("%r0 = ld.global.s16 %r2; %r1 = and %r0, 65535", "%r0 = ld.global.s16 %r2; %r1 = and %r0, 65535"),
    ("%r0 = shr.s 2147483648, 40", "%r0 = mov 4294967295"), ("%r0 = shl 1, 32", "%r0 = mov 0"),
    ("%r0 = fadd.rp 1065353216, %r1", "%r0 = fadd.rp %r1, 1065353216"), ("%r0 = fmax 7, %r1", "%r0 = fmax %r1, 7"),
    ("%p0 = fsetp.ltu 0, %r1", "%p0 = fsetp.gtu %r1, 0"), ("%p0 = fsetp.neu 0, %r1", "%p0 = fsetp.neu %r1, 0"),
    ("%r0 = ffma.rm %r1, %r1, 0", "%r0 = fmul.rm %r1, %r1"),
    ("%r0 = ffma.rn %r1, %r2, 2147483648", "%r0 = fmul.rn %r1, %r2"),
    ("%r0, %r1 = dfma.rz %r2, %r3, %r2, %r3, 0, 0", "%r0, %r1 = dmul.rz %r2, %r3, %r2, %r3"),
    ("%p0 = fsetp.ge 0, %r1", "%p0 = fsetp.le %r1, 0"), ("%p0 = fsetp.nan 0, %r1", "%p0 = fsetp.nan %r1, 0"),
    # What holds for integers does not for -0 and NaNs.
    *((text, text) for text in ("%r0 = fsub.rn 0, %r1", "%r0 = fadd.rn %r1, 0", "%r0 = fmul.rn %r1, 1065353216",
                                "%r0 = ffma.rn %r1, %r2, 0", "%r0 = ffma.rm %r1, %r2, 2147483648",
                                "%r0, %r1 = dfma.rn %r2, %r3, %r2, %r3, 0, 1", "%r0 = fsub.rn %r1, %r1",
                                "%p0 = fsetp.eq %r1, %r1", "%r0 = fadd.rn 0, 0")),
])
def test_simplification(before, after):
    straight(simplify, before, after)


@pytest.mark.parametrize("before, after", [
    ("%r0 = fsub.rn %r1, 5", "%r0 = fsub.rn %r1, 5"), ("%r0 = fsub.rn 5, %r1", "%r2 = mov 5; %r0 = fsub.rn %r2, %r1"),
    ("%r0 = fadd.rn 5, 6", "%r2 = mov 5; %r0 = fadd.rn %r2, 6"), ("%r0 = fneg 5", "%r2 = mov 5; %r0 = fneg %r2"),
    ("%p0 = fsetp.num %r1, 5", "%r2 = mov 5; %p0 = fsetp.num %r1, %r2"),
    ("%r0 = ffma.rz %r1, 5, 6", "%r2 = mov 5; %r3 = mov 6; %r0 = ffma.rz %r1, %r2, %r3"),
])
def test_constants_of_f32_operations(before, after):
    def block(lines):
        return clean("entry:\n" + "".join(f"  {line}\n" for line in lines.split("; ")) + "  end\n")

    kernel = parse(block(before))
    kernel.reserve(Reg("r", 1))
    select_immediates(kernel)
    verify(kernel, "narrow")
    assert show(kernel) == block(after)


def test_a_constant_is_kept_for_a_while_but_not_for_long():
    def moves(between):
        kernel = parse(clean("entry:\n  st.global.b32 %r0, 5\n" + "  %r1 = iadd %r1, %r0\n" * between
                             + "  st.global.b32 %r1, 5\n  end\n"))
        select_immediates(kernel)
        return sum(op.name == "mov" for op in kernel.ops())
    assert [moves(0), moves(WINDOW - 2), moves(WINDOW)] == [1, 1, 2]


def test_a_constant_in_a_uniform_place_is_another_one_and_so_is_each_word_of_a_pair():
    text = "entry:\n  st.global.b32 %r0, 5\n  %r1 = imad.lo %r1, 5, %r1\n  %r2, %r3 = dadd.rn %r2, %r3, 5, 5\n  end\n"
    kernel = parse(clean(text))
    select_immediates(kernel)
    assert sum(op.name == "mov" for op in kernel.ops()) == 3  # the store and the low word share one


@pytest.mark.parametrize("before, after", [
    ("%r0 = isub 5, %r1", "%r0 = irsub %r1, 5"), ("%r0 = sel 1, %r1, %p0", "%r0 = sel %r1, 1, !%p0"),
    ("%r0 = iadd %r1, 5", "%r0 = iadd %r1, 5"), ("st.shared.b32 64, %r0", "st.shared.b32 64, %r0"),
    ("st.shared.b32 %r0, 5", "%r1 = mov 5; st.shared.b32 %r0, %r1"),
    ("%r0 = sel 1, 0, %p0", "%r1 = mov 1; %r0 = sel %r1, 0, %p0"),
    ("%r0 = imad.lo %r1, 12, %r2", "%r3 = mov 12; %r0 = imad.lo %r1, %r3, %r2"),
    ("%r0, _ = iaddc 7, 7, %p0", "%r2 = mov 7; %r0, _ = iaddc %r2, %r2, %p0"),
])
def test_immediate_selection(before, after):
    kernel = parse(clean("entry:\n  " + before + "\n  end\n"))
    select_immediates(kernel)
    *moves, last = kernel.blocks[0].ops
    fresh = {move.defs[0]: move.uses[0] for move in moves}
    assert all(machine_opcode(op) for op in kernel.ops())
    expected = parse(clean("entry:\n" + "".join(f"  {x}\n" for x in after.split("; ")) + "  end\n")).blocks[0].ops
    assert [move.uses for move in moves] == [move.uses for move in expected[:-1]]
    assert last.name == expected[-1].name
    values = {move.defs[0]: move.uses[0] for move in expected[:-1]}
    assert [fresh.get(use, use) for use in last.uses] == [values.get(use, use) for use in expected[-1].uses]


def test_sinking_moves_cheap_operations_to_their_use_but_not_into_loops():
    check(sink, """
        entry:
          %r0 = ldp #8
          %r1 = ldp #16
          %r2 = s2r #3
          %r3 = mov 1
          jump loop
        loop:
          %r3 = iadd %r3, %r0
          %p0 = setp.lt.s %r3, 9
          branch %p0 loop done
        done:
          st.global.b32 %r1, %r2
          end
        """, """
        entry:
          %r2 = s2r #3
          %r3 = mov 1
          %r0 = ldp #8
          jump loop
        loop:
          %r3 = iadd %r3, %r0
          %p0 = setp.lt.s %r3, 9
          branch %p0 loop done
        done:
          %r1 = ldp #16
          st.global.b32 %r1, %r2
          end
        """)


# Flushes of subnormals


def test_what_is_never_subnormal_is_not_flushed_again():
    straight(drop_flushes, "%r0 = ldp; %r1 = fftz %r0; %r2 = fftz %r1; %r3 = fneg %r2; %r4 = fftz %r3; "
             "%r5 = i2f.u.rn %r0; %r6 = fftz %r5; %r7 = fftz 1065353216",
             "%r0 = ldp; %r1 = fftz %r0; %r2 = mov %r1; %r3 = fneg %r2; %r4 = mov %r3; "
             "%r5 = i2f.u.rn %r0; %r6 = mov %r5; %r7 = mov 1065353216")


def test_one_subnormal_definition_keeps_the_flush():
    for other in ("ldp", "fadd.rn %r0, %r0", "mov 1", "mov %r0", "fmin %r1, %r0", "mufu.rcp %r0", "fsat %r0"):
        kept = f"%r0 = ldp; %r1 = fftz %r0; %p0 = setp.eq %r0, 0; @%p0 %r1 = {other}; %r2 = fftz %r1"
        straight(drop_flushes, kept, kept)


def test_a_loop_of_flushed_values_needs_none():
    check(drop_flushes, """
        entry:
          %r0 = ldp
          %r1 = fftz %r0
          jump loop
        loop:
          %r2 = fftz %r1
          %r3 = fadd.rn %r2, %r2
          %r1 = fftz %r3
          %p0 = fsetp.lt %r1, 1065353216
          branch %p0 loop out
        out:
          end
        """, """
        entry:
          %r0 = ldp
          %r1 = fftz %r0
          jump loop
        loop:
          %r2 = mov %r1
          %r3 = fadd.rn %r2, %r2
          %r1 = fftz %r3
          %p0 = fsetp.lt %r1, 1065353216
          branch %p0 loop out
        out:
          end
        """)


# Register pairs


def test_pairs_are_not_made_of_constants_and_registers():
    straight(propagate, "%r0 = mov 0; %r1 = ldp; %r2, %r3 = dadd.rn %r0, %r1, %r0, %r1; st.global.b64 %r1, %r2, %r3",
             "%r0 = mov 0; %r1 = ldp; %r2, %r3 = dadd.rn %r0, %r1, %r0, %r1; st.global.b64 %r1, %r2, %r3")
    straight(propagate, "%r0 = mov 0; %r1 = mov 7; %r2, %r3 = dadd.rn %r0, %r1, %r2, %r3",
             "%r0 = mov 0; %r1 = mov 7; %r2, %r3 = dadd.rn 0, 7, %r2, %r3")


def test_constants_of_pairs_are_moved_into_two_registers():
    straight(select_immediates, "%r2, %r3 = dfma.rn 0, 0, %r2, %r3, 0, 0",
             "%r4 = mov 0; %r5 = mov 0; %r2, %r3 = dfma.rn %r4, %r5, %r2, %r3, %r4, %r5")


def test_offsets_of_atomics_stay_where_they_fit():
    straight(select_immediates, "red.global.add.b32 %r0, %r1 #8388607; red.global.add.b32 %r0, %r1 #8388608; "
             "red.global.add.b32 %r0, %r1 #4286578688; red.shared.add.b32 64, %r1 #4; red.global.add.b32 8388608, %r1",
             "red.global.add.b32 %r0, %r1 #8388607; %r2 = iadd %r0, 8388608; red.global.add.b32 %r2, %r1; "
             "red.global.add.b32 %r0, %r1 #4286578688; red.shared.add.b32 64, %r1 #4; %r3 = mov 8388608; "
             "red.global.add.b32 %r3, %r1")


def test_a_wide_register_of_a_machine_operation_becomes_a_pair():
    straight(legalize, "%w0 = mov.64 4607182418800017408; %w1 = f2d %r0; %w1 = dfma.rn %w0, %w1, %w1; "
             "%p0 = dsetp.lt %w1, %w0; %r1 = d2f.rn %w1",
             "%r2 = mov 0; %r3 = mov 1072693248; %r4, %r5 = f2d %r0; %r4, %r5 = dfma.rn %r2, %r3, %r4, %r5, %r4, %r5; "
             "%p0 = dsetp.lt %r4, %r5, %r2, %r3; %r1 = d2f.rn %r4, %r5")
