"""The PTX parser: syntax tree with lines, and messages for text that is no PTX."""

import pytest

from caesura.software.compiler import CompileError
from caesura.software.compiler.ptx.parser import parse
from caesura.software.compiler.ptx.syntax import (
    Address,
    Arguments,
    Guard,
    Instruction,
    Label,
    Name,
    Negated,
    Number,
    Pair,
    Vector,
)

TEXT = """// a comment
.version 8.0
.target sm_75, debug
.address_size 64
.file	1 "/tmp/x.cu"
.extern .shared .align 16 .b8 dyn[];
.shared .align 4 .b8 fixed[4][8];
	// .globl	k
.visible .entry k(
	.param .u64 k_param_0,
	.param .align 8 .b8 k_param_1[24]
)
.maxntid 128, 2, 1
.reqntid 64
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>, %x;
	.loc	1 3 5, function_name $L__info_string0, inlined_at 1 4 3
	.pragma "nounroll";
	@!%p1 bra 	$L__BB0_2;
	/* two
	lines */
	ld.global.v2.u32 	{%r1, %r2}, [%rd1+-8];
	setp.ne.or.s32 %p1|%p2, %r1, 0x1F, !%p2;
$L__BB0_2:
	st.shared.u32 [fixed+4], 017;
	{
	.reg .b32 t;
	mov.u32 t, %tid.x;
	}
	ld.shared.u32 %r3, [64];
	ret;
}
"""


@pytest.fixture(scope="module")
def module():
    return parse(TEXT, "x.ptx")


def test_header_and_variables(module):
    assert (module.file, module.version, module.target, module.address_size) == ("x.ptx", "8.0", "sm_75,debug", 64)
    dynamic, fixed = module.variables
    assert (dynamic.space, dynamic.name, dynamic.elements, dynamic.align, dynamic.extern) == \
        ("shared", "dyn", 0, 16, True)
    assert (fixed.name, fixed.type, fixed.elements, fixed.line) == ("fixed", "b8", 32, 7)


def test_function_parameters_and_attributes(module):
    function, = module.functions
    assert (function.kind, function.name, function.line, function.defined) == ("entry", "k", 9, True)
    assert [(p.name, p.type, p.elements, p.align) for p in function.parameters] == \
        [("k_param_0", "u64", None, 0), ("k_param_1", "b8", 24, 8)]
    assert function.attributes == {"maxntid": (128, 2, 1), "reqntid": (64,)}
    assert [(v.name, v.type, v.count) for v in function.variables] == \
        [("%p", "pred", 3), ("%r", "b32", 9), ("%x", "b32", None), ("t'1", "b32", None)]


def test_statements_with_lines_and_operands(module):
    statements = module.functions[0].statements
    assert [s.line for s in statements] == [20, 23, 24, 25, 26, 29, 31, 32]
    branch, load, compare, label, store, move, absolute, end = statements
    assert branch.guard == Guard("%p1", True) and branch.operands == (Name("$L__BB0_2"),)
    assert load.operands == (Vector((Name("%r1"), Name("%r2"))), Address("%rd1", -8))
    assert (load.base, load.modifiers) == ("ld", ["global", "v2", "u32"])
    assert compare.operands == (Pair("%p1", "%p2"), Name("%r1"), Number("0x1F", 31), Negated("%p2"))
    assert label == Label("$L__BB0_2", 25)
    assert store.operands == (Address("fixed", 4), Number("017", 15))
    assert move.operands[1] == Name("%tid.x")
    assert absolute.operands[1] == Address(None, 64)
    assert isinstance(end, Instruction) and end.text == "ret;"


def constant(text):
    """Return the literal of an instruction."""
    move = parse(f".visible .entry k()\n{{ mov.b32 a, {text}; }}").functions[0].statements[0]
    assert isinstance(move, Instruction)
    return move.operands[1]


@pytest.mark.parametrize("text, single, double, exact", [
    ("0f3F800000", 0x3F80_0000, 0x3FF0 << 48, 32), ("0Fffc00001", 0xFFC0_0001, 0xFFF8_0000_2000_0000, 32),
    ("1.", 0x3F80_0000, 0x3FF0 << 48, 0), (".5", 0x3F00_0000, 0x3FE0 << 48, 0),
    ("+1.5e0", 0x3FC0_0000, 0x3FF8 << 48, 0), ("-2E-1", 0xBE4C_CCCD, 0xBFC9_9999_9999_999A, 0),
    ("0d3FF0000000000000", 0x3F80_0000, 0x3FF0 << 48, 64), ("0D7FF0000000000000", 0x7F80_0000, 0x7FF0 << 48, 64),
    ("0d47F0000000000000", 0x7F80_0000, 0x47F0 << 48, 64), ("0d3690000000000000", 0, 0x3690 << 48, 64),
    ("0d3690000000000001", 1, 0x3690 << 48 | 1, 64), ("1e99", 0x7F80_0000, 0x547D_42AE_A287_9F2E, 0),
    ("-0.0", 0x8000_0000, 1 << 63, 0),
])
def test_floating_point_literals(text, single, double, exact):
    assert constant(text) == Number(text, None, single, double, exact)


def test_results_of_functions_and_arguments_of_calls():
    module = parse(".func (.reg .f32 q, .param .b64 r) f(.reg .f32 a)\n{ call.uni (q, r), g, (a, 1); ret; }\n"
                   ".func none\n{ ret; }\n.visible .entry k(.param .u32 n)\n{ ret; }")
    f, none, k = module.functions
    assert [v.name for v in f.results] == ["q", "r"] and [v.name for v in f.parameters] == ["a"]
    call = f.statements[0]
    assert isinstance(call, Instruction)
    assert call.operands == (Arguments((Name("q"), Name("r"))), Name("g"), Arguments((Name("a"), Number("1", 1))))
    assert none.results == none.parameters == () and [v.name for v in k.parameters] == ["n"] and k.results == ()


def test_pragmas_and_what_calls_by_pointers_may_lead_to_are_passed_over():
    kernel = parse(""".entry k() {
        .pragma "nounroll", "b" ;
        P: .callprototype (.param .b32 _) _ (.param .b64 _,
            .param .align 8 .b8 _[16]) .noreturn ; Q: .callprototype _;
        R: .calltargets f, g;
        ret; }""").functions[0]
    assert [s.opcode for s in kernel.statements if isinstance(s, Instruction)] == ["ret"]


@pytest.mark.parametrize("text, value", [("0x1F", 31), ("-0x1fU", -31), ("0b101", 5), ("017", 15), ("0", 0),
                                         ("0xE0", 0xE0), ("0b1U", 1), ("19U", 19)])
def test_integer_literals(text, value):
    assert constant(text) == Number(text, value)


@pytest.mark.parametrize("text, line, column, what", [
    (".version 8.0\n.target sm_75\n.visible .entry k()\n{\n mov.u32 %r1 %r2;\n}\n", 5, 14, "syntax error at '%r2'"),
    (".version 8.0\n.visible .entry k()\n{\n ret;\n", 4, 6, "unexpected end of the file"),
    (".version 8.0\n\n ^\n", 3, 2, "unexpected character"),
    (".visible .entry k()\n{\n mov.f32 a, -0f3F800000;\n}", 3, 15, "syntax error at 'f3F800000'"),
    (".visible .entry k()\n{\n mov.f32 a, 1.0f;\n}", 3, 16, "syntax error at 'f'"),
    (".visible .entry k()\n{ .reg .b32 a;\n{\n .reg .b32 b;\n .reg .b64 b;\n }\n}", 5, 2, "b is declared twice"),
    (".visible .entry k(.param .u64 p,\n .param .u64 p)\n{\n}", 2, 2, "p is declared twice"),
    (".shared .b8 a[4];\n  .shared .b8 b[2][1.5];", 2, 20, "1.5 is no integer"),
    (".visible .entry k()\n{\n .reg .b32 %r<" + "9" * 5000 + ">;\n}", 3, 15, "9 does not fit 64 bits"),
    (".visible .entry k()\n{\n ld.shared.u32 %r1, [s 4];\n}", 3, 24, "syntax error at '4'"),
    (".visible .entry k()\n{\n ld.shared.u32 %r1, [s+];\n}", 3, 22, "syntax error at '+'"),
    (".visible .entry k()\n{\n mov.u32 %r\u00b2, 1;\n}", 3, 12, "unexpected character"),
    (" .const .b32 a = a 4;", 1, 20, "syntax error at '4'"),
    (" .const .b32 a = word(a);", 1, 18, "word is no operator of addresses"),
    ("\n .const .b32 a[2] = {1, 2, 3};", 2, 2, "3 initial values where 2 belong"),
    (" .shared .align .b8 a;", 1, 2, ".align needs a number"),
    (" .shared .b8 4 a;", 1, 2, "the number 4 after .b8"),
    (".address_size 16", 1, 15, "addresses of 16 bits"),
    (".entry k() .maxntid\n{\n}", 1, 12, "0 numbers after .maxntid"),
    (".entry k()\n{\n .pragma \"nounroll\"\n mov.u32 %r1, 1;\n ret;\n}", 3, 10, "unexpected character"),
    (".entry k()\n{\nP: .callprototype _\n mov.u32 %r1, 1;\n ret;\n}", 4, 2, "syntax error at 'mov.u32'"),
    (".entry k()\n{\nP: .calltargets a, b\n mov.u32 %r1, 1;\n ret;\n}", 4, 2, "syntax error at 'mov.u32'"),
    (".entry k()\n{\n" + "{" * 3000 + "}" * 3000 + "}", 3, 3000, "nested too deeply"),
])
def test_text_that_is_no_ptx(text, line, column, what):
    with pytest.raises(CompileError) as caught:
        parse(text, "bad.ptx")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"bad.ptx:{line}:{column}: ") and what in str(caught.value)
    assert "\n" not in str(caught.value)
