"""Names in inner scopes, parameters of calls, labels and odd names: what PTX says, on the golden model."""

import re

import pytest

from caesura.software.compiler import CompileError, compile_ptx
from caesura.software.compiler.ptx.parser import parse
from support.software.ptx_bench import HEAD, THREADS, check

LOW = (1 << 32) - 1
A = [(k * 0x9E37_79B9_7F4A_7C15) & (1 << 64) - 1 for k in range(THREADS)]
B = [(k * 0xC2B2_AE3D_27D4_EB4F + 5) & (1 << 64) - 1 for k in range(THREADS)]
INDEX = list(range(THREADS))


def test_what_a_scope_declares_is_its_own():
    check([
        ("setp.lt.u32 %p1, %r3, 7; { .reg .pred %p1; .reg .b32 %r1; mov.u32 %r1, 3; setp.lt.u32 %p1, %r3, %r1; } "
         "selp.u32 %r4, %r1, 0, %p1;", 32, lambda x, y, i: x if i < 7 else 0),
        ("mov.u32 %r4, 1; { .reg .b32 %r<5>; mov.u32 %r4, %r90; { .reg .b64 %r4; mov.u64 %r4, 9; } }", 32,
         lambda x, y, i: 1),
        ("{ .reg .b32 t; mov.u32 t, %r1; add.u32 %r4, t, 1; } { .reg .b64 t; mov.u64 t, %rd2; cvt.u32.u64 %r5, t; "
         "xor.b32 %r4, %r4, %r5; }", 32, lambda x, y, i: (x + 1 & LOW) ^ y),
        ("{ .reg .b32 t; mov.u32 t, 4; { .reg .b32 u; mov.u32 u, t; { add.u32 u, u, t; } add.u32 t, t, u; } "
         "mov.u32 %r4, t; }", 32, lambda x, y, i: 12),
        ("mov.u32 %r5, 0; { bra L; add.u32 %r5, %r5, 1; L: add.u32 %r5, %r5, 10; } "
         "{ bra L; add.u32 %r5, %r5, 100; L: add.u32 %r5, %r5, 1000; } mov.u32 %r4, %r5;", 32, lambda x, y, i: 1010),
        # a register as used before the inner declaration is the outer one
        ("mov.u32 %r5, 8; { add.u32 %r5, %r5, 1; .reg .b32 %r5; mov.u32 %r5, 100; add.u32 %r4, %r5, 1; } "
         "add.u32 %r4, %r4, %r5;", 32, lambda x, y, i: 110),
        ("{ .shared .u32 spot; st.shared.u32 [spot], 7; bar.sync 0; ld.shared.u32 %r4, [spot]; } "
         "{ .shared .u64 spot; st.shared.u64 [spot], 9; }", 32, lambda x, y, i: 7),
    ], A, B, INDEX)


def test_predicates_of_barriers_with_a_count_are_those_of_their_scope():
    """As nvcc writes ``__syncthreads_count``, ``_and`` and ``_or``."""
    counts = ("setp.lt.u32 %p1, %r3, 20; mov.u32 %r5, {value}; {{ .reg .pred %p1; .reg .pred %p2; "
              "setp.ne.u32 %p1, %r5, 0; {what} }} @!%p1 add.u32 %r4, %r4, 1000;")
    popc = "bar.red.popc.u32 %r4, 0, %p1;"
    both = "bar.red.{0}.pred %p2, 1, {1}%p1; selp.u32 %r4, 1, 0, %p2;"

    def shown(result):
        return lambda x, y, i: result + (0 if i < 20 else 1000)
    cases = [(counts.format(value="%laneid", what=popc), 32, shown(93)),
             (counts.format(value="%laneid", what=popc.replace("%p1", "!%p1")), 32, shown(3)),
             (counts.format(value="%r3", what=both.format("and", "")), 32, shown(0)),
             (counts.format(value="1", what=both.format("and", "")), 32, shown(1)),
             (counts.format(value="%r3", what=both.format("and", "!")), 32, shown(0)),
             (counts.format(value="%r3", what=both.format("or", "")), 32, shown(1)),
             (counts.format(value="0", what=both.format("or", "")), 32, shown(0)),
             (counts.format(value="%r3", what="barrier.cta.red.popc.aligned.u32 %r4, 15, %p1;"), 32, shown(95))]
    check(cases, A, B, INDEX, ".shared .u32 other;")


def test_a_name_that_a_variable_of_the_module_has_too():
    check([("{ .reg .b32 table; mov.u32 table, 4; add.u32 %r4, table, %r1; }", 32, lambda x, y, i: x + 4),
           ("ld.const.u32 %r4, [table+4];", 32, lambda x, y, i: 11)], A, B, INDEX,
          module=".const .u32 table[2] = {10, 11};")


def test_registers_of_eight_bits_and_packing():
    check([
        (".reg .b8 %b<4>; st.shared.u32 [spot], %r1; bar.sync 0; mov.u32 %r6, 0; cvt.u8.u32 %b1, %r1; "
         "cvt.s32.s8 %r4, %b1;", 32, lambda x, y, i: (x & 0xFF) - (x << 1 & 0x100)),
        ("cvt.u8.u32 %b1, %r1; cvt.u8.u32 %b2, %r2; mov.b16 %rs4, {%b1, %b2};", 16,
         lambda x, y, i: x & 255 | (y & 255) << 8),
        ("mov.b32 {%b0, %b1, %b2, %b3}, %r1; mov.b32 %r4, {%b3, %b2, %b1, %b0};", 32,
         lambda x, y, i: int.from_bytes((x & LOW).to_bytes(4, "little"), "big")),
        ("mov.b16 {%b1, %b2}, %rs1; cvt.u32.u8 %r4, %b2;", 32, lambda x, y, i: x >> 8 & 255),
        ("st.local.u8 [home+1], %rs1; ld.local.u8 %b1, [home+1]; st.local.u8 [home+2], %b1; ld.local.s8 %r4, [home+2];",
         32, lambda x, y, i: (x & 0xFF) - (x << 1 & 0x100)),
    ], A, B, INDEX, ".shared .u32 spot; .local .u32 home;")


def test_saturating_sums_and_products_of_24_bits():
    def clamp(x):
        return max(min(x, (1 << 31) - 1), -(1 << 31))

    def s(x, bits=32):
        return (x & (1 << bits) - 1) - (x << 1 & 1 << bits)
    a = [0x7FFF_FFFF, 0x8000_0000, 1, LOW, 0, 0x4000_0000] * (THREADS // 6)
    b = [1, 0x7FFF_FFFF, 0x8000_0000, LOW, 0x8000_0000, 0x4000_0000, 0xC000_0000, 5] * (THREADS // 8)
    for x, y in ((a, b), (b, a), (A, B)):
        check([("add.sat.s32 %r4, %r1, %r2;", 32, lambda x, y, i: clamp(s(x) + s(y))),
               ("sub.sat.s32 %r4, %r1, %r2;", 32, lambda x, y, i: clamp(s(x) - s(y))),
               ("mad.hi.sat.s32 %r4, %r1, %r2, %r1;", 32, lambda x, y, i: clamp((s(x) * s(y) >> 32) + s(x))),
               ("mul24.hi.u32 %r4, %r1, %r2;", 32, lambda x, y, i: (x & 0xFF_FFFF) * (y & 0xFF_FFFF) >> 16),
               ("mul24.hi.s32 %r4, %r1, %r2;", 32, lambda x, y, i: s(x, 24) * s(y, 24) >> 16),
               ("mad24.lo.s32 %r4, %r1, %r2, %r1;", 32, lambda x, y, i: s(x, 24) * s(y, 24) + x),
               ("mad24.hi.s32 %r4, %r1, %r2, %r1;", 32, lambda x, y, i: (s(x, 24) * s(y, 24) >> 16) + x)], x, y, INDEX)


FUNCTIONS = """
.func (.param .b32 result) later(.param .b32 given);
.func (.param .b32 result) narrow(.param .b32 a, .param .b32 b)
{
    .reg .b16 %rs<9>; .reg .b32 %r<9>;
    ld.param.u8 %rs1, [a]; ld.param.s8 %rs2, [b]; ld.param.u16 %rs3, [a+2];
    cvt.u32.u16 %r1, %rs1; cvt.s32.s16 %r2, %rs2; cvt.u32.u16 %r3, %rs3;
    add.s32 %r1, %r1, %r2; mad.lo.s32 %r1, %r3, 256, %r1; st.param.b32 [result+0], %r1; ret;
}
.func (.param .align 8 .b8 result[24]) mixed(.param .align 8 .b8 given[16])
{
    .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [given]; ld.param.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [given+8]; ld.param.f32 %f1, [given+12];
    st.param.v2.b32 [result], {%r1, %r1}; st.param.b64 [result], %rd1; st.param.b8 [result+8], %rs4;
    st.param.b8 [result+9], %rs3; st.param.v2.b8 [result+10], {%rs2, %rs1}; st.param.f32 [result+16], %f1; ret;
}
.func (.reg .b32 total) counted(.reg .b32 add)
{
    .shared .u32 cell; .reg .pred %p; .reg .b32 %own;
    setp.eq.u32 %p, add, 0; @%p st.shared.u32 [cell], 0; bar.sync 0;
    atom.shared.add.u32 %own, [cell], 1; bar.sync 0; ld.shared.u32 total, [cell]; bar.sync 0; ret;
}
.func again(.param .b64 where, .param .b32 what)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    { .param .b32 param0; ld.param.u32 %r1, [what]; st.param.b32 [param0], %r1; .param .b32 retval0;
      call.uni (retval0), later, (param0); ld.param.b32 %r2, [retval0]; }
    ld.param.u64 %rd1, [where]; st.global.u32 [%rd1], %r2; ret;
}
.func (.param .b32 result) later(.param .b32 given)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [given]; mul.lo.u32 %r2, %r1, 3; st.param.b32 [result], %r2; ret;
}
.global .b8 space[3072];
"""


def test_parameters_of_calls_are_accessed_whole_and_in_part():
    struct = ("{ .param .align 8 .b8 param0[16]; st.param.b64 [param0], %rd1; st.param.b32 [param0+8], %r2; "
              "st.param.f32 [param0+12], %f1; .param .align 8 .b8 retval0[24]; call.uni (retval0), mixed, (param0); ")
    check([
        ("{ .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 param1; st.param.b8 [param1], %rs2; "
         ".param .b32 retval0; call.uni (retval0), narrow, (param0, param1); ld.param.b32 %r4, [retval0]; }", 32,
         lambda x, y, i: (x & 255) + (y & 255) - (y << 1 & 256) + (x >> 16 & 0xFFFF) * 256),
        (struct + "ld.param.b64 %rd4, [retval0]; }", 64, lambda x, y, i: x),
        (struct + "ld.param.u32 %r4, [retval0+4]; }", 32, lambda x, y, i: x >> 32),
        (struct + "ld.param.u32 %r4, [retval0+8]; }", 32,
         lambda x, y, i: int.from_bytes((y & LOW).to_bytes(4, "little"), "big")),
        (struct + "ld.param.s16 %rs4, [retval0+10]; }", 16,
         lambda x, y, i: int.from_bytes((y & 0xFFFF).to_bytes(2, "little"), "big")),
        (struct + "ld.param.b32 %r4, [retval0+16]; }", 32, lambda x, y, i: x),
        (struct + "ld.param.b32 %r4, [retval0+20]; }", 32, lambda x, y, i: 0),
        # registers and constants where the function has parameters in .param
        ("call.uni (%r4), later, (%r1);", 32, lambda x, y, i: 3 * x),
        ("call (%r4), later, (7);", 32, lambda x, y, i: 21),
        ("mul.wide.u32 %rd6, %r3, 4; mov.u64 %rd7, space; add.s64 %rd7, %rd7, %rd6; call again, (%rd7, %r2); "
         "ld.global.u32 %r4, [%rd7];", 32, lambda x, y, i: 3 * y),
        # both calls count in one cell
        ("call (%r4), counted, (%r90); call (%r5), counted, (1); add.u32 %r4, %r4, %r5;", 32,
         lambda x, y, i: 3 * THREADS),
    ], A, B, INDEX, module=FUNCTIONS)


@pytest.mark.parametrize("names", [("entry", "next.0"), ("next.0", "next.1"), ("skip.0", "again.0"),
                                   ("added.0", "entry")])
def test_labels_that_the_compiler_might_have_chosen(names):
    first, second = names
    check([(f"mov.u32 %r4, %r1; setp.lt.u32 %p1, %r3, 9; @%p1 bra {second}; add.u32 %r4, %r4, 1; "
            f"@!%p1 bra {first}; {second}: add.u32 %r4, %r4, 5; {first}:", 32,
            lambda x, y, i: x + 5 if i < 9 else x + 1)], A, B, INDEX)


def test_a_branch_by_index():
    """An index beyond the list is undefined in PTX."""
    text = ("mov.u32 %r4, 0; and.b32 %r5, %r3, 3; {{ T: .branchtargets L1, L2, L3, L1; {guard} brx.idx %r5, T; "
            "add.u32 %r4, %r4, 1000; bra LAST; L1: add.u32 %r4, %r4, 1; bra LAST; L2: add.u32 %r4, %r4, 20; "
            "L3: add.u32 %r4, %r4, 300; LAST: }}")
    check([(text.format(guard=""), 32, lambda x, y, i: (1, 320, 300, 1)[i % 4]),
           ("setp.lt.u32 %p1, %r3, 50; " + text.format(guard="@%p1"), 32,
            lambda x, y, i: (1, 320, 300, 1)[i % 4] if i < 50 else 1000)], A, B, INDEX)


def test_an_address_plus_a_constant():
    check([("mov.u32 %r5, spot+4; st.shared.u32 [%r5], %r90; bar.sync 0; ld.shared.u32 %r4, [spot+4]; bar.sync 0; "
            "sub.u32 %r4, %r5, spot + -4;", 32, lambda x, y, i: 8),
           ("mov.u64 %rd5, table+8; ld.global.u32 %r4, [%rd5+-4];", 32, lambda x, y, i: 5)], A, B, INDEX,
          ".shared .u32 spot[4];", ".global .u32 table[3] = {4, 5, 6};")


def test_a_branch_to_the_first_statement():
    text = HEAD + """.visible .entry k(.param .u64 p)
{ .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;
entry: ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p, %r1, 0; @%p bra entry; ret; }
"""
    assert compile_ptx(text)["k"].code


@pytest.mark.parametrize("body, message", [
    ("{ .reg .b32 t; } mov.u32 %r4, t;", "t is not a register or a variable"),
    ("{ L: } bra L;", "label L is not defined in this kernel"),
    ("{ .reg .b32 t; .reg .b64 t; }", "t is declared twice"),
    ("{ .reg .b64 t; mov.u32 t, 1; }", "t is declared .b64, the instruction needs 32 bits"),
    ("{ .reg .f64 %r<3>; mov.u32 %r1, 1; }", "%r1 is declared .f64, the instruction needs 32 bits"),
    ("L: L: ret;", "label L is defined twice"),
    ("mov.u32 %r1, x+4;", "x is not a variable"),
    ("mov.u32 %r1, %r2 4;", "syntax error at '4'"),
    ("brx.idx %r1, L; L: ret;", "a list of labels is wanted"),
    ("T: .branchtargets U; brx.idx %r1, T;", "label U is not defined in this kernel"),
    ("call (%r4), %rd1, (%r1), P; P: .callprototype (.param .b32 _) _ (.param .b32 _);", "only calls of functions"),
    ("call nobody, (%r1);", "only calls of functions that the file defines"),
    (".extern .shared .u32 x[]; call (x), f, (%r1);", "only calls of functions"),
])
def test_what_is_not_there(body, message):
    with pytest.raises(CompileError, match=re.escape(message)) as caught:
        compile_ptx(HEAD + ".visible .entry k()\n{ .reg .b32 %r<9>;\n" + body + "\nret; }\n")
    assert caught.value.line in (5, 6)


def test_other_lines_of_a_debug_build_are_passed_over():
    text = """.version 8.0
.target sm_75, debug
.address_size 64
.file 1 "x.cu", 12, 13
.section .debug_str { .b8 108, 105; $L__info: .b8 0 }
.visible .entry k(.param .u64 p)
{
    .loc 1 3 5
    .pragma "used_bytes_mask 15";
    ret;
}
"""
    module = parse(text)
    assert [getattr(s, "text", "") for s in module.functions[0].statements] == ["ret;"]
