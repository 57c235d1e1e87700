"""Runs of plain instructions are a short cut: with it the parser gives the tree, and the errors, of the grammar."""

from pathlib import Path

import pytest

from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileError
from caesura.software.compiler.ptx import plain
from caesura.software.compiler.ptx.parser import parse
from caesura.software.compiler.ptx.plain_module import read_module
from caesura.software.compiler.ptx.syntax import Address, Instruction, Name, Number, Vector
from caesura.software.kernels import KERNELS
from support.ptx.fuzz import mutate

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 A)\n{\n"
DATA = sorted((Path(__file__).parents[1] / "data").glob("*.ptx"))
MUTATIONS = 60


def outcome(text, plain):
    """Return the module of a text with the column of each part, or the message."""
    try:
        module = parse(text, "x.ptx", plain)
    except CompileError as error:
        return str(error)
    parts = [part for f in module.functions for part in (f, *f.parameters, *f.variables, *f.statements)]
    return module, [part.column for part in (*module.variables, *parts)]


def alike(text):
    found = outcome(text, True)
    assert found == outcome(text, False), text
    return found


def test_shipped_kernels_are_read_alike():
    for kernel in KERNELS.values():
        alike(kernel.ptx_path.read_text())


def test_random_kernels_and_those_of_nvcc_are_read_alike():
    for text in [*(path.read_text() for path in DATA), *(RandomKernel(seed).ptx for seed in range(6))]:
        alike(text)


def test_mutated_kernels_are_read_or_refused_alike():
    texts = [KERNELS[name].ptx_path.read_text() for name in ("vecadd", "warpscan", "reduction", "find_k")]
    found = [alike(mutate(texts, seed)) for seed in range(MUTATIONS)]
    assert 10 < sum(isinstance(x, str) for x in found) < MUTATIONS - 5


@pytest.mark.parametrize("line", [
    "add.s32 %r1,%r2 , -5;", "@!%p1 bra L;", "@ %p1 bra L;", "ret;", "ret ;", "mov.b64 {%r1, %r2}, %rd1;",
    "ld.global.u32 %r1, [%rd1+-8];", "ld.global.u32 %r1, [%rd1-8];", "ld.global.u32 %r1, [%rd1 + 8];",
    "ld.global.u32 %r1, [%rd1+0x10];", "ld.global.u32 %r1, [%rd1++4];", "ld.global.u32 %r1, [64];",
    "mov.f32 %f1, 0f3F800000;", "mov.f32 %f1, 0f3F8000001;", "mov.f32 %f1, -0f3F800000;", "mov.u32 %r1, 017;",
    "mov.u32 %r1, 5U;", "mov.u32 %r1, 5a;", "mov.u32 %r1, 1.5;", "mov.u32 %r1, a+4;", "mov.u32 %r1, a -4;",
    "mov.u32 -4;", "mov.u32-4;", "add.s32%r1, %r2, 1;", "setp.eq.s32 %p1|%p2, %r1, 2;", "and.pred %p1, !%p2, %p3;",
    "mov.u64 %rd1, 99999999999999999999;", "ld.global.u32 %r1, [%rd1+99999999999];", "mov.u32 %r1, {};",
    "mov.u32 %r1, /* none */ 5;", "mov.u32 %r1, 5 // none\n;", "ret; ret;\n\tret;", "ret;\x0bret;", "L: ret;",
    "mov.u32 %r1, ;", "mov.b64 {%r1, }, %rd1;", "add.s32 %r1, %r2, , 1;", "mov.u32 %r1., 1;",
    "setp.eq.s32 %p1 | %p2, %r1, 2;", "not.pred %p1, ! %p2;", "and.pred %p1, !%p2.x, !3;", "mov.b64 {!%p1}, %p1|%p2;",
    "call f, (%r1);", "a::b.c d;", ".reg .b32 %r1\n add.s32 %r1, %r2, 1;", "x {%r1, [%r2]};", "add.s32 %r1, %r2",
    "mov.u32 %r1, 0b101;", "mov.u32 %r1, 09;", "mov.u32 %r1, \xe9;", "bra .L;", "( ret;", "ret ret;",
])
def test_lines_at_the_edge_are_read_or_refused_alike(line):
    alike(f"{HEAD}\tret;\n  {line}\n\tmov.u32 %r1, 7;\n}}\n")


@pytest.mark.parametrize("text", [
    ".visible .entry k()\n{\nret;\n}", ".entry k(.param .u64 .ptr .global .align 8 a , .param .u32 b)\n{ ret; }",
    ".weak .entry k(.param .f32 a)\n.maxntid 64, 2\n.minnctapersm 2\n{ ret; }", ".entry k(.param .u64 a,)\n{ ret; }",
    ".entry k()\n.maxntid 1, 1, 1, 1\n{ ret; }", ".entry k(.param .u64 a // b)\n)\n{ ret; }", ".entry k.x()\n{ ret; }",
    ".entry k(.param .u64 a)\n{ .reg .b32 a; ret; }", ".entry k(.param .u64 a, .param .u64 a)\n{ ret; }",
    ".entry k()\n{ .reg .b32 %r<010>, %s<2>; ret; }", ".entry k()\n{ .reg .b32 %r<010>;\n\n\t.reg .pred p ; ret; }",
    ".entry k()\n{ .shared .align 3 .b8 s[4]; ret; }", ".entry k()\n{ .shared .align 4 .b8 s[4]; a: a: ret; }",
    ".entry k()\n{ L : ret; M::N: ret; }", ".entry k()\n{ ret; ", ".entry k()\n{ ret; } }", ".entry k() ret;",
    ".const .align 4 .u32 t[3] = {1, 2, 3};", ".const .u32 t[2] = {1, 2, 3};", ".const .u32 t[3] = {1, --2};",
    ".const .u32 t[0] = { 7 ,\n-8 };", ".const .u32 t[2] = {};", ".const .u32 t = {1};", ".global .u32 t = 5;",
    ".pragma \"nounroll\" ;\n.entry k()\n{ .pragma \"x\"; ret; }", "/* */ .entry k()\n{ ret; }",
    ".section .debug_str { L: .b8 1 }\n.entry k()\n{ .loc 1 2 3\n ret; }", ".target sm_75.address_size 64",
    ".target sm_75, debug", ".target sm_75 // none\n.address_size 65", ".version 8\n.entry k()\n{ ret; }",
    ".entry k()\n{ .reg .f16x2 h; .reg .b32 x[2]; .local .align 8 .b8 d[16]; ret; }", ".reg .b32 %r<4>;",
    ".entry k()\n{ .reg .b32\x0b%r<4>; ret; }", ".entry k()\x0c\r\n{ ret;\r\n\tret; }", ".entry k(\n)\n{ret;}",
])
def test_modules_at_the_edge_are_read_or_refused_alike(text):
    alike(text)
    alike(f".version 8.0\n.target sm_75\n.address_size 64\n{text}\n.entry last()\n{{\n\tret;\n}}\n")


def test_shipped_kernels_need_no_grammar():
    """Else the short cut is none; nor does a process that compiles one wait for the grammar."""
    for name, kernel in KERNELS.items():
        assert read_module(kernel.ptx_path.read_text(), name).functions


def test_a_run_has_the_places_and_the_text_of_its_instructions():
    run = "@!%p1\tbra $L;  ld.u32 %r1,[%rd1+-4];\n\n \tmov.b64 {%r1, 2}, 0x10;"
    found = list(plain.PlainReader().read(run, 7, 3))
    assert [(i.opcode, i.line, i.column) for i in found] == [("bra", 7, 9), ("ld.u32", 7, 18), ("mov.b64", 9, 3)]
    assert found[0].guard is not None and found[0].guard.negated and found[0].text == "@!%p1\tbra $L;"
    assert found[1].operands == (Name("%r1"), Address("%rd1", -4))
    assert found[2].operands == (Vector((Name("%r1"), Number("2", 2))), Number("0x10", 16))


def test_most_instructions_are_plain():
    """Else the short cut is none."""
    runs, alone = 0, 0
    for kernel in KERNELS.values():
        module = parse(kernel.ptx_path.read_text())
        statements = [s for f in module.functions for s in f.statements if isinstance(s, Instruction)]
        for statement in statements:
            fits = plain.matches(statement.text)
            runs, alone = runs + fits, alone + (not fits)
    assert runs > 30 * alone
