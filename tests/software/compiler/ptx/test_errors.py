"""What the compiler does not support it refuses with file, line, instruction, and what is supported."""

from pathlib import Path

import pytest

from caesura.software.compiler import CompileError, CompileOptions, compile_ptx
from caesura.software.compiler.lower.registry import supported_opcodes
from caesura.software.kernels import KERNELS

FRAME = """.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b8 table[40]; .global .u32 counter; .global .texref tex;
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b16 %rs<4>;
.reg .b32 %r<4>;
.reg .f32 %f<4>;
.reg .b64 %rd<4>; .reg .f64 %fd<4>; .reg .u32 %u<4>;
.shared .align 4 .b8 s[64];
<STATEMENT>
ret;
}
"""
LINE = 13


@pytest.mark.parametrize("statement, what, supported", [
    ("div.f16 %rs1, %rs2, %rs3;", "type .f16 is not supported", ".f64"),
    ("add.f32 %f1, %f2, 1;", "integer constant 1", "1.0"),
    ("add.ftz.f64 %fd1, %fd2, %fd3;", "modifier .ftz is not supported here", ".rn, .rp, .rz"),
    ("add.sat.f64 %fd1, %fd2, %fd3;", "modifier .sat is not supported here", ".rn, .rp, .rz"),
    ("add.f64 %fd1, %fd2, 1;", "integer constant 1", "1.0"),
    ("add.f64 %fd1, %fd2, %f3;", "%f3 is declared .f32, the instruction needs 64 bits", ""),
    ("min.NaN.f64 %fd1, %fd2, %fd3;", "modifier .NaN is not supported here", "none"),
    ("testp.odd.f64 %p1, %fd1;", "not a known property", "testp.normal"),
    ("slct %r1, %r1, %r1, %r1;", "selection is not supported", ".s32"),
    ("slct.b8.s32 %rs1, %rs1, %rs1, %r1;", "selection is not supported", "16-, 32-"),
    ("cvt.f32 %f1, %r1;", "conversion is not supported", "cvt between"),
    ("cvt.f64 %fd1, %r1;", "conversion is not supported", "cvt between"),
    ("slct.f32.f64 %f1, %f2, %f3, %fd1;", "selection is not supported", ".s32"),
    ("add.rn.rz.f32 %f1, %f2, %f3;", "one rounding modifier belongs here", ".rn, .rz, .rm, .rp"),
    ("add.f32x2 %rd1, %rd2, %rd3;", "type .f32x2 is not supported", ".f32"),
    ("sub.s32 %r1, %r2, 1.5;", "floating-point constant 1.5", "integer"),
    ("fma.f32 %f1, %f1, %f2, %f3;", "one rounding modifier belongs here", ".rn"),
    ("fma.f64 %fd1, %fd1, %fd2, %fd3;", "one rounding modifier belongs here", ".rn"),
    ("add.f32 %u1, %f2, %f3;", "%u1 is declared .u32, the instruction needs .f32", ".b32"),
    ("add.f32 %f1, %f2, %u1;", "%u1 is declared .u32, the instruction needs .f32", ".b32"),
    ("mad.lo.s32 %r1, %r2, %r3, %f1;", "%f1 is declared .f32, the instruction needs .s32", ".b32"),
    ("mov.u32 %r1, %f1;", "%f1 is declared .f32, the instruction needs .u32", ".b32"),
    ("setp.lt.s32 %p1, %f1, %r1;", "%f1 is declared .f32, the instruction needs .s32", ".b32"),
    ("set.lt.u32.f32 %f1, %f2, %f3;", "%f1 is declared .f32, the instruction needs .u32", ".b32"),
    ("cvt.rn.f32.s32 %f1, %f2;", "%f2 is declared .f32, the instruction needs .s32", ".b32"),
    ("cvt.rzi.s32.f32 %f1, %f2;", "%f1 is declared .f32, the instruction needs .s32", ".b32"),
    ("ld.shared.v2.f32 {%f1, %u1}, [s];", "%u1 is declared .u32, the instruction needs .f32", ".b32"),
    ("st.shared.u8 [s], %f1;", "%f1 is declared .f32, the instruction needs .u8", ".b32"),
    ("mul.f32 %f1, %f2, %rd1;", "%rd1 is declared .b64, the instruction needs 32 bits", ""),
    ("max.xorsign.f32 %f1, %f2, %f3;", "not a known form", ".xorsign.abs"),
    ("div.rz.f32 %f1, %f2, %f3;", "div is not supported in this form", "div.rn, div.full, div.approx"),
    ("div.rm.f64 %fd1, %fd2, %fd3;", "div is not supported in this form", "div.rn.f64"),
    ("sqrt.rz.f32 %f1, %f2;", "sqrt is not supported in this form", "sqrt.rn, sqrt.approx"),
    ("sqrt.rp.f64 %fd1, %fd2;", "sqrt is not supported in this form", "sqrt.rn.f64"),
    ("rcp.rz.f64 %fd1, %fd2;", "rcp is not supported in this form", "rcp.rn"),
    ("rcp.rz.f32 %f1, %f2;", "rcp is not supported in this form", "rcp.approx"),
    ("ex2.approx.ftz.f64 %fd1, %fd2;", "type .f64 is not supported", ".f32"),
    ("ex2.f32 %f1, %f2;", "ex2 is not supported in this form", "ex2.approx"),
    ("div.rn.f32 %f1, %f2;", "2 operands where 3 belong", ""),
    ("div.rn.f32 1.0, %f2, %f3;", "the destination must be a register", ""),
    ("div.rn.f32 %u1, %f2, %f3;", "%u1 is declared .u32, the instruction needs .f32", ".b32"),
    ("div.s32 %r1, %f1, %r3;", "%f1 is declared .f32, the instruction needs .s32", ".b32"),
    ("rem.s64 %r1, %rd1, %rd2;", "%r1 is declared .b32, the instruction needs 64 bits", ""),
    ("add.sat.u32 %r1, %r2, %r3;", "modifier .sat is not supported", "none"),
    ("mul.rn.s32 %r1, %r2, %r3;", "not an integer multiplication", ".wide"),
    ("madd.lo.s32 %r1, %r2, %r3, %r1;", "there is no instruction madd.lo.s32", "mad"),
    ("ld.tex.u32 %r1, [%rd1];", "modifier .tex is not supported here", ".global"),
    ("ld.shared.u32 %r1, [counter];", "counter is not in .shared", ""),
    ("mov.u64 %rd1, nothing;", "nothing is not a register or a variable", "variables"),
    ("ld.global.u32 %r1, [%f1];", "%f1 is not a 32- or 64-bit integer register", "registers"),
    ("ld.global.f16 %rs1, [%rd1];", "type .f16 is not supported", ".f32"),
    ("ld.global.f64 %f1, [%rd1];", "%f1 has 32 bits, the instruction needs 64", ""),
    ("st.global.f32 [%rd1], 1;", "integer constant 1", "1.0"),
    ("ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%rd1];", "256-bit access is not supported", "128"),
    ("ld.global.v4.u64 {%rd0, %rd1, %rd2, %rd3}, [%rd1];", "256-bit access is not supported", "128"),
    ("ld.param.u64 %rd1, [p+4];", "access beyond parameter p", ""),
    ("ld.param.u32 %r1, [q];", "q is not a parameter of this kernel", ""),
    ("st.param.u32 [p], %r1;", "not a known memory access", "ld"),
    ("add.s32 %r1, %r2, %r7;", "%r7 is neither declared nor a known special register", "docs/ptx.md"),
    ("mov.u32 %r1, %pm0;", "%pm0 is neither declared", "docs/ptx.md"),
    ("mov.u32 %r1, %tid;", "%tid is neither declared", "%tid.x"),
    ("add.s32 %r1, %rd2, 1;", "%rd2 is declared .b64, the instruction needs 32 bits", ""),
    ("add.s64 %r1, %rd2, 1;", "%r1 is declared .b32, the instruction needs 64 bits", ""),
    ("setp.lt.s32 %r1, %r2, %r3;", "the instruction needs a predicate", ""),
    ("setp.hi.f64 %p1, %fd1, %fd2;", "not an f64 comparison", ".equ"),
    ("setp.lt.ftz.f64 %p1, %fd1, %fd2;", "not an f64 comparison", ".equ"),
    ("setp.hi.f32 %p1, %f1, %f2;", "not an f32 comparison", ".equ"),
    ("setp.equ.s32 %p1, %r1, %r2;", "not an integer comparison", ".eq"),
    ("selp.f64 %fd1, %fd1, %f2, %p1;", "%f2 is declared .f32, the instruction needs 64 bits", ""),
    ("cvt.f32.s64 %f1, %rd1;", "one rounding modifier belongs here", ".rn"),
    ("cvt.u64.f32 %rd1, %f1;", "one rounding modifier belongs here", ".rni"),
    ("cvt.f32.f64 %f1, %fd1;", "one rounding modifier belongs here", ".rn"),
    ("cvt.rn.f64.f32 %fd1, %f1;", "modifier .rn is not supported here", ".sat"),
    ("cvt.rn.ftz.f64.s32 %fd1, %r1;", "modifier .ftz is not supported here", ".sat"),
    ("cvt.f16.f32 %rs1, %f1;", "conversion is not supported", ".f16x2"),
    ("cvt.f32.s32 %f1, %r1;", "one rounding modifier belongs here", ".rn"),
    ("cvt.rni.f32.s32 %f1, %r1;", "modifier .rni is not supported here", ".rn"),
    ("cvt.rn.s32.f32 %r1, %f1;", "modifier .rn is not supported here", ".rni"),
    ("cvt.rn.f32.f32 %f1, %f2;", "modifier .rn is not supported here", ".rni"),
    ("cvt.rn.f32.s32 %rs1, %r1;", "%rs1 has 16 bits, the instruction needs 32", ""),
    ("cvt.ftz.s8.s32 %r1, %r2;", "conversion is not supported", ".sat"),
    ("cvta.param.u64 %rd1, %rd2;", "address conversion is not supported", ".global"),
    ("bra nowhere;", "label nowhere is not defined", ""),
    ("bar.sync 0, 1025;", "part of the thread block is not supported", "bar.sync"),
    ("bar.sync 0, 0;", "part of the thread block is not supported", "bar.sync"),
    ("bar.sync 0, 1.5;", "floating-point constant 1.5", "integer"),
    ("bar.sync 0, 64, 64;", "3 operands where 1 or 2 belong", "bar.sync"),
    ("bar.sync %r1;", "the barrier id must be a constant", "bar.sync"),
    ("bar.sync 16;", "the barrier id must be a constant from 0 to 15", ""),
    ("bar.red.xor.pred %p1, 0, %p1;", "barrier operation is not supported", "bar.sync"),
    ("bar.red.popc.u32 %r1, 0, -64, %p1;", "part of the thread block is not supported", "bar.sync"),
    ("bar.red.popc.u32 %r1, %r2, %p1;", "the barrier id must be a constant", "bar.sync"),
    ("bar.arrive 0, 64;", "barrier operation is not supported", "bar.sync"),
    ("call.uni (%r1), f, (%r1);", "only calls of functions that the file defines are supported", "call.uni"),
    ("mov.f64 %fd1, 1;", "integer constant 1", "1.0"),
    ("mov.b32 %r1, 0d3FF0000000000000;", "floating-point constant", "integer"),
    ("mov.f32 %f1, 1;", "integer constant 1", "0f3F800000"),
    ("mov.f32 %f1, s;", "s is no floating-point value", "registers"),
    ("mov.f32 %f1, %tid.x;", "%tid.x is no floating-point value", "registers"),
    ("mov.u32 %r1, 0f3F800000;", "floating-point constant", "integer"),
    ("mov.b32 %r1, 1.5;", "floating-point constant", "integer"),
    ("mov.u64 %rd1, %fd1;", "%fd1 is declared .f64, the instruction needs .u64", ".b64"),
    (".shared .align 4 .b8 t[-4];", "a size must not be negative", ""),
    (".shared .align 3 .b8 t[8];", "an alignment is a power of two", ""),
    (".shared .align 4 .b8 s[8];", "s is declared twice", ""),
    (".reg .b64 %r<4>;", "%r is declared twice", ""),
    ("add.s32 %r1, %r2;", "2 operands where 3 belong", ""),
    ("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r1}, [t, {%r1}];", "t is no texture", "texref"),
    ("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r1}, [%r1, {%r1}];", "%r1 is no texture", "texref"),
    ("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1}];", "texture fetch is not supported", "tex.1d.v4"),
    ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1, %r2}];", "texture fetch is not supported", "tex.1d.v4"),
    ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %u1}, [%rd1, {%r1}];", "%u1 is declared .u32, the instruction needs .f32", ""),
    ("mov.b32 %r1, {%rs1, %rs2, %rs3};", "3 parts of 32 bits", "two .b16"),
    ("mov.u64 %rd1, tex;", "the address of tex, which is in .global, is not supported", ".local"),
    ("mul24.s32 %r1, %r2, %r3;", "not a 24-bit multiplication", ".lo"),
])
def test_unsupported_statements(statement, what, supported):
    with pytest.raises(CompileError) as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", statement), "kernel.ptx")
    error = caught.value
    assert (error.file, error.line, error.column) == ("kernel.ptx", LINE, 1)
    assert error.instruction in (" ".join(statement.split()), " ".join(statement.split()).rstrip(";"))
    assert what in error.message
    assert any(word in error.supported for word in supported.split("|"))
    text = str(error)
    assert text.startswith(f"kernel.ptx:{LINE}:1: ")
    assert error.instruction in text and "\n" not in text


@pytest.mark.parametrize("statement, column, what", [
    ("add.s64 %rd1, %rd2, 18446744073709551616;", 21, "18446744073709551616 does not fit 64 bits"),
    ("add.s64 %rd1, %rd2, -18446744073709551616;", 21, "-18446744073709551616 does not fit 64 bits"),
    (f"mov.u32 %r1, 0x{'f' * 5000};", 14, "does not fit 64 bits"),
    ("ld.global.u32 %r1, [%rd1+4294967296];", 25, "the offset 4294967296 does not fit 32 bits"),
    ("ld.global.u32 %r1, [%rd1+-2147483649];", 26, "the offset -2147483649 does not fit 32 bits"),
    ("mov.u32 %r1, s+4294967296;", 15, "the offset 4294967296 does not fit 32 bits"),
    ("ld.shared.u32 %r1, [s+1.5];", 22, "1.5 is no integer"),
    ("mov.u64 %rd1, s[%r1];", 17, "an index must be a constant"),
])
def test_column_is_that_of_the_number(statement, column, what):
    with pytest.raises(CompileError) as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", statement), "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (LINE, column) and what in caught.value.message
    assert statement.startswith(caught.value.instruction[:100]) and len(str(caught.value)) < 500


def test_column_is_that_of_the_opcode():
    with pytest.raises(CompileError) as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", "ret; \t@%p1 div.rz.f32 %f1, %f2, %f3;"), "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (LINE, 12)


@pytest.mark.parametrize("text, line, column, what", [
    (FRAME.replace("<STATEMENT>", "L:\n L:"), LINE + 1, 2, "label L is defined twice"),
    (FRAME.replace(".param .u32 n", ".param .f16x2 n").replace("<STATEMENT>", ""), 5, 34, "parameter type .f16x2"),
    (FRAME.replace(".param .u32 n", ".param n").replace("<STATEMENT>", ""), 5, 34, "parameter type is missing"),
    (FRAME.replace(".param .u32 n", ".reg .u32 n").replace("<STATEMENT>", ""), 5, 34, "not a parameter of a kernel"),
    (FRAME.replace(".u32 n", ".b8 n[32757]").replace("<STATEMENT>", ""), 5, 34, "32765 bytes of parameters"),
    (".version 8.0\n.target sm_75\n.func f()\n{\nret;\n}\n", 7, 1, "no kernel in the file"),
    (FRAME.replace(".param .u32 n", ".param .u32 p").replace("<STATEMENT>", ""), 5, 34, "p is declared twice"),
    (FRAME.replace("<STATEMENT>", "") + ".entry k()\n{\nret;\n}\n", 16, 1, "kernel k is defined twice"),
    (".version 8.0\n.entry k()\n.maxntid 0\n{\nret;\n}\n", 2, 1, ".maxntid of kernel k must be positive"),
    (".version 8.0\n.entry k()\n.reqntid 32,33\n{\nret;\n}\n", 2, 1, ".reqntid of kernel k must be at most 1024"),
    (".func f()\n{\nret;\n}\n.func f()\n{\nret;\n}\n", 5, 1, "f is defined twice"),
    (".func f()\n{\nret;\n}\n.visible .entry f()\n{\nret;\n}\n", 5, 10, "f is defined twice"),
    (".global .u32 f;\n.func f()\n{\nret;\n}\n", 2, 1, "f is defined twice"),
    (".version 8.0\n/* no end\n", 2, 1, "the comment has no end"),
    (FRAME.replace("<STATEMENT>", ".reg .foo x;"), LINE, 1, "registers of type .foo are not supported"),
    (FRAME.replace("<STATEMENT>", ".reg .v2 .b32 x;"), LINE, 1, "registers of type .v2 are not supported"),
    (FRAME.replace("<STATEMENT>", ".shared .u32 x = 5;"), LINE, 1, "shared variable x has an initial value"),
    (".version 8.0\n.entry k()\n.reqntid 4, 0\n{\nret;\n}\n", 2, 1, ".reqntid of kernel k must be positive"),
    ("", 1, 1, "no kernel in the file"),
    ("// nothing but a comment\n.version 8.0\n.target sm_75\n ", 4, 2, "no kernel in the file"),
    (".entry k()\n{\n" + "{" * 5000 + "}" * 5000 + "ret;\n}\n", 3, 5000, "nested too deeply"),
    (".version 8.0\n.visible .entry k()\n.maxclusterrank 4\n{\nret;\n}\n", 2, 10, "directive .maxclusterrank"),
])
def test_unsupported_declarations(text, line, column, what):
    with pytest.raises(CompileError, match=what) as caught:
        compile_ptx(text, "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("declaration, column, what", [
    (".shared .align 4 .b8 big[1048576];", 2, "bytes of shared memory"),
    (".local .b8 open[];", 2, "local variable open is not supported"),
    (".local .foo odd;", 2, "variable type .foo is not supported"),
    (".regs .b32 x;", 2, "directive .regs is not supported"),
    (".global .b32 v = 1.5;", 2, "1.5 is no initial value"),
    ("{ .shared .b8 inner[2] = {1, 2}; }", 4, "shared variable inner has an initial value"),
])
def test_unsupported_variables(declaration, column, what):
    with pytest.raises(CompileError, match=what) as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", f" {declaration}"), "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (LINE, column)


CALL = """.func (.param .b32 z) f(.param .b32 p) {
.reg .b32 %r<4>;
<BODY>
ret; }
.entry k() {
.reg .b32 %r<4>; .param .b32 a, b; .param .b64 wide;
<CALLER>
ret; }
"""


@pytest.mark.parametrize("body, caller, line, what", [
    ("ld.param.b32 %r1, [p+8];", "call (b), f, (a);", 3, r"access beyond the parameter \(4 bytes\)"),
    ("ld.param.b32 %r1, [p+-4];", "call (b), f, (a);", 3, r"access beyond the parameter \(4 bytes\)"),
    ("", "st.param.b32 [a+4], %r1; call (b), f, (a);", 7, r"access beyond the parameter \(4 bytes\)"),
    ("", "call (b), f, (wide);", 7, "wide has 8 bytes, p of the function 4"),
    ("", "call (wide), f, (a);", 7, "wide has 8 bytes, z of the function 4"),
])
def test_parameters_of_functions_are_as_large_as_declared(body, caller, line, what):
    with pytest.raises(CompileError, match=what) as caught:
        compile_ptx(CALL.replace("<BODY>", body).replace("<CALLER>", caller), "kernel.ptx")
    assert caught.value.line == line and caught.value.column


def test_names_in_inlined_functions_are_as_written():
    text = """.func (.reg .b32 q) f(.reg .b32 a) { .reg .b64 %r<4>; { .reg .b64 t; add.s64 t, t, 1; }
    add.s32 q, a, %r1; ret; }
.entry k() { .reg .b32 z; call (z), f, (z); ret; }"""
    with pytest.raises(CompileError, match="%r1 is declared .b64, the instruction needs 32 bits") as caught:
        compile_ptx(text, "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (2, 5)


def test_register_number_of_any_length():
    with pytest.raises(CompileError, match="neither declared") as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", f"mov.u32 %r1, %r{'9' * 5000};"), "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (LINE, 1) and len(str(caught.value)) < 600


@pytest.mark.parametrize("statement", [
    "ld.global.u32 %r1, [%rd1+4294967295];", "ld.global.u32 %r1, [%rd1+-2147483648];",
    "mov.u64 %rd1, 18446744073709551615;", "mov.s64 %rd1, -18446744073709551615;"])
def test_last_constant_that_fits(statement):
    assert compile_ptx(FRAME.replace("<STATEMENT>", statement))["k"].code


def test_message_shows_no_control_characters_and_no_endless_line():
    with pytest.raises(CompileError) as caught:
        compile_ptx("\x1b[2J\x07" + "x" * 5000, "kernel.ptx")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300
    assert r"\x1b[2J\x07" in str(caught.value)


def test_unused_float_registers_do_no_harm():
    assert compile_ptx(FRAME.replace("<STATEMENT>", ""))["k"].code


def test_too_few_registers():
    text = KERNELS["pathfinder"].ptx_path.read_text()
    with pytest.raises(CompileError, match="pathfinder needs at least 2 vector registers.* the target has 1") as caught:
        compile_ptx(text, options=CompileOptions(max_registers=1))
    entry = ".entry pathfinder"
    assert text.split("\n")[caught.value.line - 1].find(entry) == caught.value.column - 1


@pytest.mark.parametrize("field, value", [("interval", 3), ("max_registers", 0), ("max_registers", 65)])
def test_options_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field} must be .* not {value}"):
        CompileOptions(**{field: value})


def test_the_page_names_every_instruction():
    page = (Path(__file__).parents[4] / "docs" / "ptx.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {word.split(".")[0] for row in rows for word in row.replace("`", "").split()}
    assert set(supported_opcodes()) <= named


@pytest.mark.parametrize("statement, what", [
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 %f1, %f2, %f3, %f1;", "is not supported"),
    ("atom.global.exch.b16 %rs1, [%rd1], %rs2;", "type .b16 is not supported"),
    ("atom.local.add.u32 %r1, [%rd1], 1;", "atomics on .local memory are not supported"),
    ("bar.arrive 0, 64;", "barrier operation is not supported"),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];", "not a known copy"),
])
def test_refusals_of_the_page(statement, what):
    with pytest.raises(CompileError, match=what) as caught:
        compile_ptx(FRAME.replace("<STATEMENT>", statement), "kernel.ptx")
    assert (caught.value.line, caught.value.column) == (LINE, 1)
