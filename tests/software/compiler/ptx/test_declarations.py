"""Declarations and operands as compilers write them: vectors, arrays in part, elements, aliases, early PTX."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.software.ptxas import assert_legal

HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>;"


def kernel(body, module="", parameters="", head=HEAD):
    return (f"{head}{module}\n.visible .entry k(.param .u64 o{parameters})\n"
            f"{{ {REGISTERS} ld.param.u64 %rd8, [o];\n{body}\nret; }}\n")


def run(text, count, *arguments, block=1, dtype=np.uint32):
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros(count, dtype))
    module = device.load([compile_ptx(text)["k"]])
    device.wait(module["k"](1, block, [out, *arguments]))
    return out.get(), module


DECLARATIONS = """
.global .v4 .f32 quad = {1.0, 2.0, 3.0, 4.0};
.global .v2 .u64 wide = {5, 6};
.const .u32 rows[2][3] = {{1}, {2, 3}};
.global .u16 cube[2][2][2] = {{{1}, {2}}, {{3, 4}}};
.global .f32 singles[2][2] = {{1.5}, {2.5}};
.global .v2 .u32 pairs[] = {{1, 2}, {3, 4}};
.global .u32 table[4] = {10, 11, 12, 13};
.global .u32 none[2][3] = {{}, {2, 3}};
"""


def test_initial_values_lie_where_their_rows_begin():
    _, module = run(kernel("", DECLARATIONS), 1)
    found = {name: module.symbol(name, dtype).get().ravel().tolist() for name, dtype in
             {"quad": np.float32, "wide": np.uint64, "rows": np.uint32, "cube": np.uint16, "singles": np.float32,
              "pairs": np.uint32, "none": np.uint32}.items()}
    assert found == {"quad": [1, 2, 3, 4], "wide": [5, 6], "rows": [1, 0, 0, 2, 3, 0],
                     "cube": [1, 0, 2, 0, 3, 4, 0, 0], "singles": [1.5, 0, 2.5, 0], "pairs": [1, 2, 3, 4],
                     "none": [0, 0, 0, 2, 3, 0]}


ELEMENTS = """
.shared .v4 .u32 s[2];
st.shared.v4.u32 s[1], {1, 2, 3, 4};
mov.u32 %r1, s[1]; ld.shared.u32 %r2, [%r1+4]; st.global.u32 [%rd8], %r2;
ld.const.u32 %r1, rows[3]; st.global.u32 [%rd8+4], %r1;
mov.u64 %rd1, table[2]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd8+8], %r1;
atom.global.add.u32 %r1, [table+4], 5; ld.global.u32 %r2, [table+4];
st.global.u32 [%rd8+12], %r1; st.global.u32 [%rd8+16], %r2;
ld.global.v2.u32 {%r1, %r2}, pairs[1]; st.global.u32 [%rd8+20], %r2;
"""


def test_elements_are_addresses():
    found, _ = run(kernel(ELEMENTS, DECLARATIONS), 6)
    assert found.tolist() == [2, 2, 12, 11, 16, 4]


def test_vectors_and_elements_are_legal(tmp_path):
    assert_legal(ELEMENTS.replace(" s[", " ss["), tmp_path, DECLARATIONS)


@pytest.mark.parametrize("declaration, what", [
    (".global .v4 .f32 g[2] = {{1.0, 2.0, 3.0, 4.0, 5.0}};", "5 initial values where 4 belong"),
    (".const .u32 c[2][3] = {{1}, {2, 3, 4, 5}};", "4 initial values where 3 belong"),
    (".global .u32 c[2] = 1;", "the initial values of an array stand in braces"),
    (".global .u32 c[2][2] = {{1, 2}, 3};", "the initial values of an array stand in braces"),
])
def test_initial_values_that_do_not_fit(declaration, what):
    with pytest.raises(CompileError, match=what):
        compile_ptx(kernel("", declaration))


FUNCTIONS = """
.visible .func (.param .b32 r) f(.param .b32 a)
{ .reg .b32 %x; ld.param.b32 %x, [a]; atom.global.add.u32 %x, [table], %x; st.param.b32 [r], %x; ret; }
.visible .func (.param .b32 r) h(.param .b32 a);
.alias h, f;
"""
CALLS = """
{ .param .b32 p; .param .b32 q; st.param.b32 [p], 7; call.uni (q), h, (p); ld.param.b32 %r1, [q]; }
{ .param .b32 p; st.param.b32 [p], 5; call (_), f, (p); }
ld.global.u32 %r2, [table]; st.global.u32 [%rd8], %r1; st.global.u32 [%rd8+4], %r2;
"""


def test_functions_by_other_names_and_results_that_nobody_wants():
    found, _ = run(kernel(CALLS, DECLARATIONS + FUNCTIONS), 2)
    assert found.tolist() == [10, 22]


def test_aliases_are_legal(tmp_path):
    assert_legal(CALLS, tmp_path, DECLARATIONS + FUNCTIONS)


@pytest.mark.parametrize("alias", [".alias g, f;", ".alias f, f;", ".alias k, f;"])
def test_an_alias_needs_a_function_and_a_free_name(alias):
    module = ".func f() { ret; }\n" + alias
    if "g, f" in alias:
        module = ".func g();\n.alias g, f;"
    with pytest.raises(CompileError, match="names no function of the file"):
        compile_ptx(f"{HEAD}.visible .entry k() {{ ret; }}\n{module}")


ORDERS = ("div.ftz.rn.f32 %f1, %f2, %f3;", "sqrt.ftz.rn.f32 %f1, %f2;", "rcp.ftz.rn.f32 %f1, %f2;",
          "div.full.ftz.f32 %f1, %f2, %f3;", "div.ftz.approx.f32 %f1, %f2, %f3;", "ex2.ftz.approx.f32 %f1, %f2;",
          "add.sat.ftz.rn.f32 %f1, %f2, %f3;", "setp.ftz.lt.f32 %p1, %f2, %f3;", "add.s32.sat %r1, %r2, %r3;",
          "setp.lt.and.ftz.f32 %p1, %f2, %f3, %p2;", "cvt.ftz.rn.f32.f64 %f1, %fd3;", "min.NaN.ftz.f32 %f1, %f2, %f3;",
          "slct.f32.ftz.f32 %f1, %f2, %f3, %f4;", "set.ftz.lt.u32.f32 %r1, %f3, %f4;", "ld.u32.global %r1, [%rd1];",
          "testp.f32.finite %p1, %f2;", "ld.v2.global.u32 {%r1, %r2}, [%rd1];", "prmt.f4e.b32 %r1, %r2, %r3, %r4;",
          "atom.add.global.u32 %r1, [%rd1], %r2;", "ld.global.volatile.u32 %r1, [%rd1];",
          "prmt.b32.f4e %r1, %r2, %r3, %r4;")


def test_modifiers_stand_in_any_order():
    assert compile_ptx(kernel("\n".join(ORDERS)))["k"].code
    found, _ = run(kernel("mov.f32 %f1, 0f00000001; div.ftz.rn.f32 %f2, %f1, %f1; div.rn.f32 %f3, %f1, %f1;"
                          "st.global.f32 [%rd8], %f2; st.global.f32 [%rd8+4], %f3;"), 2)
    assert found.tolist() == [0x7FFF_FFFF, 0x3F80_0000]


@pytest.mark.full
@pytest.mark.parametrize("order", ORDERS)
def test_orders_are_legal(order, tmp_path):
    assert_legal(order, tmp_path)


EARLY = """
mov.f32 %f1, 0f00000001; add.f32 %f2, %f1, %f1; st.global.f32 [%rd8], %f2;
mov.f32 %f1, 0f3F800001; mad.f32 %f2, %f1, %f1, 0fBF800000; st.global.f32 [%rd8+4], %f2;
"""


def test_early_ptx_flushes_and_fuses():
    found, _ = run(kernel(EARLY, ".tex .u32 image;", head=".version 1.4\n.target sm_13\n.address_size 64\n"), 2)
    exact = np.float32(1 + 2.0**-23) * np.float64(1 + 2.0**-23) - 1
    assert found.tolist() == [0, int(np.float32(exact).view(np.uint32))]


def test_the_earliest_ptx_declares_parameters_in_the_body():
    text = f""".version 1.3
.target sm_13
.entry k
{{ .param .u64 o; {REGISTERS} ld.param.u64 %rd8, [o];
mov.f32 %f1, 6.0; mov.f32 %f2, 2.0; div.f32 %f3, %f1, %f2; cvt.s32.f32 %r1, %f3; st.global.u32 [%rd8], %r1;
mov.f64 %fd1, 0d4008000000000000; div.f64 %fd2, %fd1, %fd1; cvt.f32.f64 %f1, %fd2; st.global.f32 [%rd8+4], %f1;
exit; }}"""
    found, _ = run(text, 2)
    assert found.tolist() == [3, 0x3F80_0000]
