"""Constant, local and generic memory in PTX: what kernels compute on the golden model, and the code they become."""

import dataclasses
import re
import struct

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx, listing
from caesura.software.compiler.codegen.assemble import assemble
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.ir.variables import Symbol
from caesura.software.driver import KernelFault, LaunchError
from support.software.ptx_bench import HEAD

THREADS = 64
REGISTERS = """
    .reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<60>; .reg .b64 %rd<60>; .reg .f32 %f<20>; .reg .f64 %fd<20>;"""
TABLE = """
.const .align 4 .u32 words[8] = {10, 11, 12, 13, 0xFFFFFFFF, -1};
.const .align 8 .f64 doubles[2] = {0d3FF0000000000000, -2.5};
.const .f32 singles[4] = {0f3F800000, 0.5, 0f40000000};
.const .align 16 .b8 bytes[32] = {1, 2, 0x80, 255, 4};
.const .s16 half = -2;
"""


def text(body, constants="", variables=""):
    """A kernel whose thread i has i in %r1, i % 4 in %r2, A in %rd1 and its 64-bit place of OUT in %rd2."""
    return HEAD + constants + f"""
.visible .entry k(.param .u64 A, .param .u64 OUT)
{{{REGISTERS}
    {variables}
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3;
    ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [OUT]; cvta.to.global.u64 %rd2, %rd2;
    mul.wide.u32 %rd3, %r1, 8; add.s64 %rd2, %rd2, %rd3;
    {body}
    ret;
}}
"""


def run(source, given=(), shared=0):
    """Return what 64 threads store, and the image."""
    image = compile_ptx(source)["k"]
    device = open_device("golden", PRESETS["gtx480"], memory_bytes=1 << 23)
    out = device.array(np.zeros(THREADS, np.uint64))
    array = device.array(np.resize(np.array(given or [0], np.uint64), THREADS))
    device.wait(device.load([image])["k"](1, THREADS, [array, out], shared))
    return [int(x) for x in out.get()], image


def words_of(image):
    return [decode(word).op.name for word in image.code]


def test_the_bank_holds_initial_values_in_order():
    image = compile_ptx(text("", TABLE))["k"]
    expected = (struct.pack("<8I", 10, 11, 12, 13, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0) + struct.pack("<2d", 1.0, -2.5)
                + struct.pack("<4f", 1, 0.5, 2, 0) + bytes([1, 2, 0x80, 255, 4]) + bytes(27) + struct.pack("<h", -2))
    assert image.constants == expected
    assert image.symbols == (Symbol("words", "u32", 0, 32), Symbol("doubles", "f64", 32, 16),
                             Symbol("singles", "f32", 48, 16), Symbol("bytes", "b8", 64, 32),
                             Symbol("half", "s16", 96, 2))


def test_rows_of_an_initialiser_are_put_one_after_the_other():
    image = compile_ptx(text("", ".const .u16 grid[2][3] = {{1, 2, 3}, {4, 5, 6}};"))["k"]
    assert image.constants == struct.pack("<6H", 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("body, expected", [
    ("mov.u64 %rd5, words; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd5, %rd5, %rd6; ld.const.u32 %r5, [%rd5+4];"
     "cvt.u64.u32 %rd9, %r5;", lambda i: [11, 12, 13, 0xFFFFFFFF][i % 4]),
    ("mov.u64 %rd5, bytes; cvt.u64.u32 %rd6, %r2; add.s64 %rd5, %rd5, %rd6; ld.const.s8 %rs1, [%rd5+1];"
     "cvt.s64.s16 %rd9, %rs1;", lambda i: [2, -128, -1, 4][i % 4]),
    ("ld.const.s16 %r5, [half]; cvt.u64.u32 %rd9, %r5;", lambda i: 0xFFFF_FFFE),
    ("ld.const.f64 %fd1, [doubles+8]; mov.b64 %rd9, %fd1;",
     lambda i: int.from_bytes(struct.pack("<d", -2.5), "little")),
    ("ld.const.v4.u32 {%r5, %r6, %r7, %r8}, [words]; add.s32 %r5, %r6, %r8; cvt.u64.u32 %rd9, %r5;", lambda i: 24),
    ("ld.const.v2.u64 {%rd8, %rd9}, [words];", lambda i: 12 | 13 << 32),
    ("ld.const.v2.f32 {%f1, %f2}, [singles]; mov.b32 %r5, %f2; cvt.u64.u32 %rd9, %r5;", lambda i: 0x3F00_0000),
    ("ld.const.u64 %rd9, [bytes];", lambda i: 0x04_FF80_0201),
])
def test_constant_loads(body, expected):
    got, _ = run(text(body + "st.global.u64 [%rd2], %rd9;", TABLE))
    assert got == [expected(i) & (1 << 64) - 1 for i in range(THREADS)]


LOCAL = ".local .align 16 .b8 pad[20]; .local .align 16 .b8 array[64]; .local .u32 last;"


@pytest.mark.parametrize("body, expected", [
    # a dynamic index into words of the thread's own
    ("mul.wide.u32 %rd6, %r2, 4; mov.u64 %rd5, array; add.s64 %rd6, %rd5, %rd6; st.local.u32 [array], %r1;"
     "st.local.u32 [array+4], 7; st.local.u32 [array+8], %r2; st.local.u32 [%rd5+12], 9; ld.local.u32 %r5, [%rd6];"
     "cvt.u64.u32 %rd9, %r5;", lambda i, a: [i, 7, i % 4, 9][i % 4]),
    ("st.local.u64 [array+8], %rd4; ld.local.u64 %rd9, [array+8];", lambda i, a: a),
    ("st.local.u64 [array+8], %rd4; ld.local.u32 %r5, [array+12]; cvt.u64.u32 %rd9, %r5;", lambda i, a: a >> 32),
    ("mov.b64 %fd1, %rd4; st.local.f64 [array], %fd1; ld.local.f64 %fd2, [array]; mov.b64 %rd9, %fd2;",
     lambda i, a: a),
    ("st.local.v4.u32 [array+16], {%r1, %r2, 5, %r1}; ld.local.v2.u64 {%rd8, %rd9}, [array+16];"
     "xor.b64 %rd9, %rd9, %rd8;", lambda i, a: (5 | i << 32) ^ (i | i % 4 << 32)),
    ("st.local.v2.u64 [array], {%rd4, %rd3}; ld.local.v4.u32 {%r5, %r6, %r7, %r8}, [array]; add.s32 %r5, %r6, %r7;"
     "cvt.u64.u32 %rd9, %r5;", lambda i, a: (a >> 32) + 8 * i & 0xFFFF_FFFF),
    ("cvt.u16.u64 %rs1, %rd4; st.local.u8 [array+5], %rs1; st.local.u8 [array+4], 3; st.local.u16 [array+6], %rs1;"
     "ld.local.u32 %r5, [array+4]; cvt.u64.u32 %rd9, %r5;", lambda i, a: 3 | (a & 0xFF) << 8 | (a & 0xFFFF) << 16),
    ("cvt.u16.u64 %rs1, %rd4; st.local.u16 [array+2], %rs1; ld.local.s8 %rs2, [array+3]; cvt.s64.s16 %rd9, %rs2;",
     lambda i, a: (a >> 8 & 0xFF) - (a >> 7 & 0x100)),
    # the base is one of the destinations
    ("st.local.v4.u32 [array], {%r1, 1, 2, 3}; mov.u64 %rd9, array; ld.local.v2.u64 {%rd8, %rd9}, [%rd9];",
     lambda i, a: 2 | 3 << 32),
    ("st.local.u32 [last], %r1; st.local.u32 [pad+16], 1; ld.volatile.local.u32 %r5, [last]; cvt.u64.u32 %rd9, %r5;",
     lambda i, a: i),
    ("setp.lt.u32 %p1, %r1, 5; st.local.u64 [array], 1; @%p1 st.local.u64 [array], %rd4; ld.local.u64 %rd9, [array];",
     lambda i, a: a if i < 5 else 1),
])
def test_local_memory_is_each_threads_own(body, expected):
    given = [(k * 0x9E37_79B9_7F4A_7C15) & (1 << 64) - 1 for k in range(THREADS)]
    load = "cvta.to.global.u64 %rd4, %rd1; add.s64 %rd4, %rd4, %rd3; ld.global.u64 %rd4, [%rd4];"
    got, image = run(text(load + body + "st.global.u64 [%rd2], %rd9;", variables=LOCAL), given)
    assert got == [expected(i, a) & (1 << 64) - 1 for i, a in enumerate(given)]
    assert image.local_bytes == 100
    assert not any(name.startswith(("ld.local.b64", "st.local.b64")) for name in words_of(image))


VARIABLES = ".local .align 8 .b8 mine[16]; .shared .align 8 .b8 ours[512];"
POINTERS = """
    mov.u64 %rd10, mine; cvta.local.u64 %rd10, %rd10; mov.u64 %rd11, ours; cvta.shared.u64 %rd11, %rd11;
    mov.u64 %rd12, words; cvta.const.u64 %rd12, %rd12; add.s64 %rd13, %rd1, %rd3; add.s64 %rd11, %rd11, %rd3;
"""
CHOOSE = """
    setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; setp.eq.u32 %p3, %r2, 2;
    selp.b64 %rd20, %rd10, %rd13, %p1; selp.b64 %rd20, %rd11, %rd20, %p2; selp.b64 %rd20, %rd12, %rd20, %p3;
"""
FILL = "st.local.u64 [mine], 77; st.local.u64 [mine+8], %rd3; st.shared.u64 [ours], 1; st.u64 [%rd11], %rd3;"


@pytest.mark.parametrize("load, shown", [
    ("ld.u64 %rd9, [%rd20];", lambda x: x), ("ld.u32 %r5, [%rd20]; cvt.u64.u32 %rd9, %r5;", lambda x: x & 0xFFFF_FFFF),
    ("ld.s8 %rs1, [%rd20]; cvt.s64.s16 %rd9, %rs1;", lambda x: (x & 0x7F) - (x & 0x80)),
    ("ld.v2.u32 {%r5, %r6}, [%rd20]; cvt.u64.u32 %rd9, %r6;", lambda x: x >> 32),
    ("ld.volatile.f64 %fd1, [%rd20]; mov.b64 %rd9, %fd1;", lambda x: x),
    ("setp.lt.u32 %p5, %r1, 8; mov.u64 %rd9, 5; @%p5 ld.u64 %rd9, [%rd20];", None),
    ("mov.u64 %rd9, %rd20; ld.u64 %rd9, [%rd9];", lambda x: x),
    ("add.s64 %rd21, %rd20, -8; ld.u64 %rd9, [%rd21+8];", lambda x: x),
])
def test_a_generic_load_reads_the_space_its_lane_points_to(load, shown):
    given = [(k * 0x1234_5678_9ABC_DEF1) & (1 << 64) - 1 for k in range(THREADS)]
    body = POINTERS + FILL + CHOOSE + load + "st.global.u64 [%rd2], %rd9;"
    got, image = run(text(body, TABLE, VARIABLES), given)
    where = [77, None, 10 | 11 << 32, None]
    values = [where[i % 4] if where[i % 4] is not None else 8 * i if i % 4 == 1 else given[i] for i in range(THREADS)]
    expected = [x if i < 8 else 5 for i, x in enumerate(values)] if shown is None else [shown(x) for x in values]
    assert got == [x & (1 << 64) - 1 for x in expected]
    assert {"ld.local", "ld.shared", "ld.const", "ld.global"} <= {".".join(w.split(".")[:2]) for w in words_of(image)}


@pytest.mark.parametrize("store, load, expected", [
    ("st.u64 [%rd20], %rd3;", "ld.u64 %rd9, [%rd20];", lambda i: 8 * i),
    ("st.v2.u32 [%rd20], {%r1, 3};", "ld.u64 %rd9, [%rd20];", lambda i: i | 3 << 32),
    ("st.u64 [%rd20], 0; st.u8 [%rd20+1], 9;", "ld.u64 %rd9, [%rd20];", lambda i: 0x900),
    ("st.u64 [%rd20], 4; setp.gt.u32 %p5, %r1, 6; @%p5 st.u64 [%rd20], %rd3;", "ld.u64 %rd9, [%rd20];",
     lambda i: 8 * i if i > 6 else 4),
])
def test_a_generic_store_changes_the_space_its_lane_points_to(store, load, expected):
    choose = CHOOSE[:CHOOSE.rindex("selp")]
    body = POINTERS + FILL + choose + store + load + "st.global.u64 [%rd2], %rd9;"
    got, _ = run(text(body, TABLE, VARIABLES), [1] * THREADS)
    assert got == [expected(i) for i in range(THREADS)]


@pytest.mark.parametrize("body, kinds", [
    ("ld.u64 %rd9, [%rd1]; st.u64 [%rd2], %rd9;", {"global"}),
    ("mov.u64 %rd5, array; cvta.local.u64 %rd5, %rd5; add.s64 %rd6, %rd5, 8; st.u32 [%rd6], %r1; ld.u32 %r5, [%rd6+4];"
     "cvt.u64.u32 %rd9, %r5; st.global.u64 [%rd2], %rd9;", {"local", "global"}),
    ("cvt.u64.u32 %rd7, %r2; mov.u64 %rd5, array; cvta.local.u64 %rd5, %rd5; add.s64 %rd6, %rd5, %rd7;"
     "ld.u8 %rs5, [%rd6]; st.u8 [%rd2], %rs5;", {"local", "global"}),
])
def test_where_the_space_is_known_a_generic_access_is_one_instruction(body, kinds):
    image = compile_ptx(text(body, variables=LOCAL))["k"]
    memory = [name.split(".") for name in words_of(image) if name.startswith(("ld.", "st."))]
    assert {name[1] for name in memory} == kinds
    assert len(memory) == body.count("st.") + body.count("ld.") and "setp" not in str(words_of(image))


OBJECT = HEAD + """
.visible .entry k(.param .u64 T, .param .u64 OUT)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd3, [T]; mov.u32 %r3, %tid.x; ld.param.u64 %rd1, [OUT]; mov.b64 %rd4, %rd3;
    tex.1d.v4.s32.s32 {%r4, %r5, %r6, %r7}, [%rd4, {%r3}]; st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; ret;
}
"""


def test_a_texture_object_among_the_parameters_is_known():
    image = compile_ptx(OBJECT)["k"]
    assert [(p.pointer, p.texture) for p in image.parameters] == [(True, True), (True, False)]
    assert assemble(disassemble(image)) == [image] and read_elf(write_elf([image])) == {"k": image}
    device = open_device("golden", PRESETS["tiny"])
    kernel, array = device.load([image])["k"], device.array(np.zeros(4, np.int32))
    with pytest.raises(LaunchError, match=r"parameter T .*: a texture object is wanted, not a device array"):
        kernel.parameter_words([array, array])


def test_a_pointer_from_memory_can_be_of_any_space_that_the_kernel_makes_addresses_of():
    body = ("mov.u64 %rd5, array; cvta.local.u64 %rd5, %rd5; st.local.u32 [array], %r1; st.global.u64 [%rd2], %rd5;"
            "ld.global.u64 %rd6, [%rd2]; ld.u32 %r5, [%rd6]; cvt.u64.u32 %rd9, %r5; st.global.u64 [%rd2], %rd9;")
    got, image = run(text(body, variables=LOCAL))
    assert got == list(range(THREADS)) and "ld.shared.b32" not in words_of(image)


@pytest.mark.parametrize("space, variable", [("shared", ".shared .u32 x;"), ("local", ".local .u32 x;"), ("const", "")])
def test_address_conversions_are_each_others_inverse_and_tell_their_space(space, variable):
    constants = ".const .u32 first = 4; .const .u32 x = 5;"
    tests = "".join(f"isspacep.{other} %p1, %rd6; selp.u32 %r5, 1, 0, %p1; shl.b32 %r6, %r6, 1; or.b32 %r6, %r6, %r5;"
                    for other in ("global", "shared", "local", "const"))
    body = (f"mov.u64 %rd5, x; add.s64 %rd5, %rd5, 12; cvta.{space}.u64 %rd6, %rd5; cvta.to.{space}.u64 %rd7, %rd6;"
            f"sub.s64 %rd7, %rd7, %rd5; mov.u32 %r6, 0; {tests} cvt.u64.u32 %rd8, %r6; add.s64 %rd9, %rd7, %rd8;"
            "st.global.u64 [%rd2], %rd9;")
    got, _ = run(text(body, constants if space == "const" else "", variable))
    assert set(got) == {{"shared": 0b0100, "local": 0b0010, "const": 0b0001}[space]}


def test_global_addresses_are_generic_as_they_are():
    body = ("isspacep.global %p1, %rd1; isspacep.local %p2, %rd1; selp.u64 %rd8, 1, 0, %p1; cvta.global.u64 %rd5, %rd1;"
            "@%p2 mov.u64 %rd8, 9; sub.s64 %rd5, %rd5, %rd1; add.s64 %rd9, %rd5, %rd8; st.global.u64 [%rd2], %rd9;")
    assert run(text(body))[0] == [1] * THREADS


@pytest.mark.parametrize("body, kind", [
    ("mul.wide.u32 %rd5, %r1, 4; mov.u64 %rd6, array; add.s64 %rd6, %rd6, %rd5; st.local.u32 [%rd6], %r1;",
     Fault.LOCAL_BOUND),
    ("ld.local.u32 %r5, [array+2]; st.local.u32 [array], %r5;", Fault.MISALIGNED),
    ("mul.wide.u32 %rd5, %r1, 4; mov.u64 %rd6, words; add.s64 %rd6, %rd6, %rd5; ld.const.u32 %r5, [%rd6];"
     "st.global.u32 [%rd2], %r5;", Fault.CONSTANT_BOUND),
    ("mov.u64 %rd5, words; cvta.const.u64 %rd5, %rd5; st.u32 [%rd5], %r1;", Fault.TRAP),
])
def test_what_lies_beyond_faults(body, kind):
    with pytest.raises(KernelFault) as fault:
        run(text(body, TABLE, LOCAL))
    assert fault.value.record is not None and fault.value.record.kind == kind


@pytest.mark.parametrize("constants, variables, body, message", [
    (".const .u32 x[] ;", "", "ld.const.u32 %r5, [x];", "the size of x is not known"),
    (".extern .const .u32 x;", "", "ld.const.u32 %r5, [x];", "the size of x is not known"),
    (".const .u8 x = 256;", "", "", "256 is no initial value of type .u8"),
    (".const .f32 x = 1;", "", "", "1 is no initial value of type .f32"),
    (".const .u32 x = 1.5;", "", "", "1.5 is no initial value of type .u32"),
    (".const .u64 x[2] = {k, 1};", "", "", "k is no initial value of type .u64"),
    (".const .u32 x[2] = {1, 2, 3};", "", "", "3 initial values where 2 belong"),
    (".const .u32 x[2][2] = {{1}, {2, 3, 4}};", "", "", "3 initial values where 2 belong"),
    (".const .b8 x[65537];", "", "", "constants of more than 65536 bytes"),
    (".const .pred x;", "", "", "variable type .pred is not supported"),
    ("", ".local .b8 x[65536];", "", "65536 bytes of local memory"),
    ("", ".local .u32 x = 4;", "", "local variable x is not supported"),
    ("", ".local .u32 x;", "ld.shared.u32 %r5, [x];", "x is not in .shared"),
    ("", ".local .u32 x;", "ld.u32 %r5, [x];", "x is in .local"),
    (".const .u32 x;", "", "st.const.u32 [x], %r1;", "not a known memory access"),
    (".extern .global .u32 x;", "", "ld.global.u32 %r5, [x];", "the size of x is not known"),
    (".global .u8 x[4] = {x, 0};", "", "", "x is no initial value of type .u8"),
    (".global .u8 x[4] = {0xF0F(x), 0};", "", "", "0xF0F(x) is no initial value of type .u8"),
    (".global .f32 x = generic(x);", "", "", "generic(x) is no initial value of type .f32"),
    (".global .u64 x = special(x);", "", "", "special is no operator of addresses"),
    (".global .b8 x[2147483649];", "", "", "global variables of more than 2147483648 bytes"),
    ("", ".shared .b8 x[16777217];", "", "a thread block has 16777217 bytes of shared memory"),
    ("", ".shared .u32 x = 1;", "", "shared variable x has an initial value"),
    ("", "", "cvta.param.u64 %rd5, %rd1;", "address conversion is not supported"),
    ("", "", "isspacep.param %p1, %rd1;", "address test is not supported"),
])
def test_what_is_not_supported_is_said(constants, variables, body, message):
    with pytest.raises(CompileError, match=re.escape(message)):
        compile_ptx(text(body, constants, variables))


def test_an_unused_extern_constant_is_no_matter():
    assert compile_ptx(text("", ".extern .const .u32 x[];"))["k"].constants == b""


def test_assembly_text_and_elf_files_keep_constants_symbols_and_local_memory():
    images = compile_ptx(text("st.local.u32 [last], %r1; ld.const.u32 %r5, [words]; st.global.u32 [%rd2], %r5;", TABLE,
                              LOCAL))
    assert [image for image in assemble(disassemble(images["k"]))] == [images["k"]]
    assert read_elf(write_elf(images)) == images
    assert "100 bytes local a thread, 98 bytes of constants" in listing(images["k"])


def test_kernels_of_a_file_with_the_same_constants_have_one_section():
    image = compile_ptx(text("", TABLE))["k"]
    other, none = dataclasses.replace(image, name="other"), dataclasses.replace(image, name="none", constants=b"",
                                                                                symbols=())
    file = write_elf([image, other, none])
    assert file.count(image.constants) == 1 and list(read_elf(file).values()) == [image, other, none]


@pytest.mark.parametrize("line, message", [
    (".local 6", "a multiple of 4"), (".local 65536", r"\.local must be 0 to 65532"), (".const 0g", "hexadecimal"),
    (".symbol a u32 0", "expected .symbol name type offset size"), (".const " + "00" * 65537, "at most 65536 bytes"),
])
def test_bad_directives_are_refused(line, message):
    with pytest.raises(CompileError, match=message):
        assemble(f".kernel k\n{line}\nexit\n")


def test_a_register_can_hold_addresses_of_several_spaces():
    body = (POINTERS + FILL + "setp.eq.u32 %p1, %r2, 0; mov.u64 %rd20, %rd13; @%p1 mov.u64 %rd20, %rd10;"
            "ld.u64 %rd9, [%rd20]; st.global.u64 [%rd2], %rd9;")
    got, image = run(text(body, TABLE, VARIABLES), list(range(100, 100 + THREADS)))
    assert got == [77 if i % 4 == 0 else 100 + i for i in range(THREADS)]
    assert "ld.const.b64" not in words_of(image)
