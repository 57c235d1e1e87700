"""The IR: its text form is read back as it was written, and the verifier refuses what is not declared legal."""

import pytest

from caesura.software.compiler.ir.kernel import Kernel, Op, Reg
from caesura.software.compiler.ir.spec import IRError, verify
from caesura.software.compiler.ir.text import parse, show

TEXT = """kernel k
entry:
  %r0 = s2r #4
  %p0 = setp.lt.s %r0, 16
  @!%p0 %r1, %p1 = iaddc %r0, %r2, !true
  %r3, _ = iaddc %r1, %r2, %p1
  %w0 = pack.64 %r1, %r3
  st.global.b64 %w0, %w0 #8
  branch !%p0 body other
body:
  bar.pp.3
  jump other
other:
  end
"""


def test_text_round_trip():
    assert show(parse(TEXT)) == TEXT


def test_wide_kernel_is_legal_only_at_its_stage():
    verify(parse(TEXT), "wide")
    with pytest.raises(IRError, match="unknown operation"):
        verify(parse(TEXT), "narrow")


@pytest.mark.parametrize("line, what", [
    ("%r0 = frobnicate %r1", "unknown operation"),
    ("%r0 = iadd %r1", "operands are not 'rr'"),
    ("%p0 = iadd %r1, %r2", "results are not 'r'"),
    ("%r0 = iadd %r1, %p2", "operands are not 'rr'"),
    ("%r0 = iadd %r1, 4294967296", "operands are not 'rr'"),
    ("_ = iadd %r1, %r2", "results are not 'r'"),
    ("%r0 = ld.global.b64 %r1", "results are not 'rr'"),
    ("%w0 = ld.global.b64 %r1", "results are not 'rr'"),
    ("@%p0 bar.pp.0", "guard on an unguarded instruction"),
    ("R0 = mov %r1", "results are not 'r'"),
])
def test_illegal_operations_are_found(line, what):
    with pytest.raises(IRError, match=what):
        verify(parse(f"kernel k\nentry:\n  {line}\n  end\n"), "narrow")


@pytest.mark.parametrize("line, what", [
    ("R0 = iadd 5, R1", "no encoding"), ("R0 = imad.lo R1, 4, R2", "no encoding"), ("R64 = mov R1", "no register"),
    ("P7 = pand P1, true", "no register"), ("%r0 = mov R1", "results"), ("st.global.b32 R0, 5", "no encoding"),
])
def test_illegal_machine_operations_are_found(line, what):
    with pytest.raises(IRError, match=what):
        verify(parse(f"kernel k\nentry:\n  {line}\n  end\n"), "machine")


def test_bad_terminator_is_found():
    with pytest.raises(IRError, match="bad terminator"):
        verify(parse("kernel k\nentry:\n  jump nowhere\n"), "narrow")
    with pytest.raises(IRError, match="no blocks"):
        verify(Kernel("k"), "narrow")


def test_guarded_definition_kills_nothing():
    guarded = parse("kernel k\nentry:\n  @%p0 %r0 = mov %r1\n  end\n").blocks[0].ops[0]
    assert list(guarded.killed()) == [] and list(guarded.written()) == [Reg("r", 0)]
    assert set(guarded.read()) == {Reg("r", 1), Reg("p", 0)}
    assert list(Op("mov", (Reg("r", 0),), (Reg("r", 1),)).killed()) == [Reg("r", 0)]
