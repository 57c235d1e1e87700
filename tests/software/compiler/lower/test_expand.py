"""Instructions that the library computes, and calls, compiled and run; what messages about them say."""

import random
import struct

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from caesura.software.compiler.library import ROUTINES, routine
from support.ptx.evaluate import evaluate
from support.selection import quick
from support.software.ptx_bench import THREADS, check

REGISTER = {"s16": "%rs", "u16": "%rs", "s32": "%r", "u32": "%r", "s64": "%rd", "u64": "%rd", "f32": "%r", "f64": "%rd"}
LOW = 0xFFFF_FFFF


def patterns(seed):
    rng = random.Random(seed)
    special = [0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F80_0000, 0x7FC0_0000, 0x7E80_0000, 0xFFFF, 0x8000]
    special += [x << 32 for x in (0x3FF0_0000, 0x7FF0_0000, 0x7FF8_0000, 1, 0x0010_0000, 0x7FE0_0000)]

    def one():
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(special) | rng.choice((0, 1 << 31, 1 << 63))
        if kind < 0.5:
            return rng.getrandbits(64) >> rng.randrange(64)
        wide = rng.getrandbits(1) << 63 | rng.randrange(900, 1100) << 52 | rng.getrandbits(52)
        return wide & ~LOW | rng.getrandbits(1) << 31 | rng.randrange(40, 210) << 23 | rng.getrandbits(23)
    return [one() for _ in range(THREADS)]


def flush(x):
    return x & 1 << 31 if x & 0x7F80_0000 == 0 else x


def meaning(opcode):
    """Return what an instruction of the library computes from lists of bit patterns, by the evaluator."""
    entry, bits = ROUTINES[opcode], int(opcode[-2:])

    def values(*operands):
        columns = [[(flush(y & LOW) if entry.flush else y) & (1 << bits) - 1 for y in x] for x in operands]
        got = evaluate(routine, entry.name, *(np.array(x, np.uint64) for x in columns))[entry.result].tolist()
        return [flush(x) for x in got] if entry.flush else got
    return values


@pytest.mark.parametrize("opcode", quick(ROUTINES, [*ROUTINES][::3]))
def test_every_routine(opcode):
    a, b = patterns(1), patterns(2)
    prefix, bits, values = REGISTER[opcode.rsplit(".", 1)[1]], int(opcode[-2:]), meaning(opcode)
    two = opcode.startswith(("div", "rem"))
    sources = f"{prefix}1, {prefix}2" if two else f"{prefix}2"
    known = dict(zip(zip(a, b, strict=True), values(a, b) if two else values(b), strict=True))
    n = [k % 3 for k in range(THREADS)]
    check([(f"{opcode} {prefix}4, {sources};", bits, lambda x, y, z: known[x, y]),
           (f"setp.eq.s32 %p1, %r3, 1; mov.b{bits} {prefix}4, {prefix}1; @%p1 {opcode} {prefix}4, {sources};", bits,
            lambda x, y, z: known[x, y] if z == 1 else x),
           (f"setp.eq.s32 %p1, %r3, 1; mov.b{bits} {prefix}4, {prefix}2; @!%p1 {opcode} {prefix}4, "
            f"{sources[:-len(prefix) - 1]}{prefix}4;", bits, lambda x, y, z: y if z == 1 else known[x, y])], a, b, n)


def test_constants_and_special_registers():
    a = [x & ~LOW & 0x7FFF << 48 | x & 0x7FFF_FFFF for x in patterns(3)]

    def single(x):
        return struct.unpack("<f", struct.pack("<I", x & LOW))[0]
    thirds = dict(zip(a, meaning("div.rn.f32")(a, [0x4040_0000] * THREADS), strict=True))
    check([("div.u32 %r4, %r1, 10;", 32, lambda x, y, z: (x & LOW) // 10),
           ("rem.s32 %r4, -7, 3;", 32, lambda x, y, z: -1),
           ("rem.u32 %r4, %r1, %ntid.x;", 32, lambda x, y, z: (x & LOW) % THREADS),
           ("div.s64 %rd4, %rd1, -3;", 64, lambda x, y, z: -(x // 3)),
           ("div.rn.f32 %f4, 1.0, 0f40400000; mov.b32 %r4, %f4;", 32, lambda x, y, z: 0x3EAA_AAAB),
           ("div.rn.f32 %r4, %f1, 3.0;", 32, lambda x, y, z: thirds[x]),
           ("div.rn.f64 %fd4, 1.0, 0d4008000000000000; mov.b64 %rd4, %fd4;", 64,
            lambda x, y, z: 0x3FD5_5555_5555_5555)], a, a, [0] * THREADS)
    assert all(single(x) >= 0 or single(x) != single(x) for x in a)


def test_code_keeps_the_line_of_the_instruction():
    text = """.version 8.0
.target sm_75
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<4>; .reg .f64 %fd<4>;
    ld.param.u64 %rd1, [p];
    ld.global.f64 %fd1, [%rd1];
    div.rn.f64 %fd2, %fd1, %fd1;
    st.global.f64 [%rd1], %fd2;
    ret;
}
"""
    assert set(compile_ptx(text)["k"].lines) == {6, 7, 8, 9, 10}


CALLS = """.version 8.0
.target sm_75
.address_size 64
.func (.param .b32 func_retval0) power(.param .b32 power_param_0, .param .b32 power_param_1)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<4>;
    ld.param.f32 %f1, [power_param_0];
    ld.param.u32 %r1, [power_param_1];
    mov.f32 %f2, 0f3F800000;
    setp.lt.s32 %p1, %r1, 1;
    @%p1 bra $L__BB0_2;
$L__BB0_1:
    mul.f32 %f2, %f2, %f1;
    add.s32 %r1, %r1, -1;
    setp.gt.s32 %p1, %r1, 0;
    @%p1 bra $L__BB0_1;
$L__BB0_2:
    st.param.f32 [func_retval0+0], %f2;
    ret;
}
.func (.param .align 8 .b8 func_retval0[16]) swap(.param .align 8 .b8 swap_param_0[16])
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [swap_param_0];
    ld.param.u64 %rd2, [swap_param_0+8];
    st.param.b64 [func_retval0], %rd2;
    st.param.b64 [func_retval0+8], %rd1;
    ret;
}
.func (.reg .u32 %out) early(.reg .u32 %in)
{
    .reg .pred %p;
    mov.u32 %out, 7;
    setp.lt.u32 %p, %in, 16;
    @%p ret;
    add.u32 %out, %in, 1000;
    ret;
}
.visible .entry k(.param .u64 k_param_0)
{
    .reg .pred %p<3>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 32;
    add.s64 %rd1, %rd1, %rd2;
    cvt.rn.f32.u32 %f1, %r1;
    and.b32 %r2, %r1, 3;
    {
    .param .b32 param0;
    st.param.f32 [param0+0], %f1;
    .param .b32 param1;
    st.param.b32 [param1+0], %r2;
    .param .b32 retval0;
    call.uni (retval0), power, (param0, param1);
    ld.param.f32 %f2, [retval0+0];
    }
    st.global.f32 [%rd1], %f2;
    {
    .param .align 8 .b8 param0[16];
    st.param.v2.b64 [param0], {%rd2, %rd1};
    .param .align 8 .b8 retval0[16];
    call.uni (retval0), swap, (param0);
    ld.param.b64 %rd4, [retval0+8];
    }
    st.global.u64 [%rd1+8], %rd4;
    setp.ne.s32 %p1, %r2, 2;
    mov.u32 %r3, 5;
    @%p1 call (%r3), early, (%r1);
    st.global.u32 [%rd1+16], %r3;
    ret;
}
"""


def test_functions_of_the_file_are_inlined():
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros((64, 8), np.uint32))
    device.wait(device.load([compile_ptx(CALLS)["k"]])["k"](1, 64, [out]))
    rows = out.get()
    threads = np.arange(64)
    assert (rows[:, 0].view(np.float32) == threads.astype(np.float32) ** (threads % 4)).all()
    assert (rows[:, 2] == threads * 32).all()
    early = np.where(threads < 16, 7, threads + 1000)
    assert (rows[:, 4] == np.where(threads % 4 == 2, 5, early)).all()


@pytest.mark.parametrize("old, new, line, what", [
    ("mul.f32 %f2, %f2, %f1;", "call (%f2), power, (%f1, %r1);", 15, "recursive call of power"),
    ("call (%r3), early, (%r1);", "call (%r3), early, (%r1, %r2);", 70, "early has 1 results and 1 parameters"),
    ("call (%r3), early, (%r1);", "call (%r3), late, (%r1);", 70, "only calls of functions that the file defines"),
    ("call (%r3), early, (%r1);", "call (%r3), %rd2, (%r1), early;", 70, "only calls of functions that the file"),
    ("swap, (param0)", "swap, (%rd1)", 64, "swap_param_0 is in .param, its argument is not"),
    ("st.param.v2.b64 [param0], {%rd2, %rd1};", "st.param.b64 [param0+4], %rd1;", 62,
     "parameter offset 4 is not a multiple of 8"),
    ("mul.f32 %f2, %f2, %f1;", "mul.f32 %f2, %f2, %f7;", 0, "%f7 is not declared in function power"),
    ("mul.f32 %f2, %f2, %f1;", "mul.f32 %f2, %f2, %f8x;", 15, "%f8x is no floating-point value"),
])
def test_calls_that_are_not_supported(old, new, line, what):
    assert CALLS.count(old) == 1
    with pytest.raises(CompileError) as caught:
        compile_ptx(CALLS.replace(old, new))
    assert what in caught.value.message and (not line or caught.value.line == line)


SINKS = """.func (.param .align 8 .b8 z[8]) swapped(.param .align 16 .b8 p[16])
{
    .reg .u32 %r<3>;
    ld.param.v4.u32 {%r1, _, _, %r2}, [p];
    st.param.v2.u32 [z], {%r2, %r1};
    ret;
}
.visible .entry sinks(.param .u64 out, .param .align 16 .b8 given[16])
{
    .reg .u32 %r<5>;
    .reg .u64 %rd<2>;
    .param .align 16 .b8 a[16];
    .param .align 8 .b8 b[8];
    ld.param.u64 %rd1, [out];
    ld.param.v4.u32 {%r1, _, _, %r2}, [given];
    st.param.v4.u32 [a], {%r1, 0, 0, %r2};
    call (b), swapped, (a);
    ld.param.v2.u32 {_, %r3}, [b];
    ld.param.v2.u32 {%r4, _}, [b];
    st.global.v2.u32 [%rd1], {%r3, %r4};
    ret;
}
"""


def test_vector_loads_of_parameters_may_leave_elements_out():
    device = open_device("golden", "gtx480")
    out = device.empty(2, np.uint32)
    kernel = device.load(compile_ptx(SINKS).values())["sinks"]
    device.wait(kernel((1,), (1,), [out, np.array([5, 6, 7, 8], np.uint32).tobytes()]), 10_000)
    assert out.get().tolist() == [5, 8]
