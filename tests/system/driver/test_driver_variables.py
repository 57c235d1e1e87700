"""Global variables and textures of a module: what kernels and host see of them, on the model and on the RTL."""

import dataclasses
import struct

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, ImageError, assemble, compile_ptx, disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.ir.variables import Binding, Relocation, Symbol
from caesura.software.driver import DriverError, LaunchError, Texture
from support.sim.queues import DEVICE

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
VARIABLES = """
.global .align 4 .b8 table[32] = {0, 0, 128, 63, 0, 0, 0, 64};
.visible .global .align 4 .u32 counter;
.global .align 8 .u64 middle = generic(table)+8;
.const .align 8 .u64 through = generic(middle);
.const .f32 singles[2] = {0f40400000, 4.0};
.global .align 8 .u64 s[3] = {5, generic(table)+4, generic(singles)+4};
.global .attribute(.managed) .align 4 .s16 man[3] = {-3, 7};
.global .u8 parts[5] = {0xFF(table), 0xFF00(table), 0xFF0000(table), 0xFF000000(table), 9};
.global .f64 double = 0d4000000000000000;
.global .u32 open[] = {1, 2, 3};
.weak .global .align 16 .b8 zeros[100000];
"""
KERNELS = VARIABLES + """
.visible .entry bump(.param .u32 by)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    .global .u32 calls = 100;
    ld.param.u32 %r1, [by]; mov.u64 %rd1, counter; atom.global.add.u32 %r2, [%rd1], %r1;
    red.global.add.u32 [calls], 1; ret;
}
.visible .entry show(.param .u64 OUT)
{
    .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .f64 %fd<3>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [OUT]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64;
    add.s64 %rd1, %rd1, %rd2; mul.wide.u32 %rd3, %r1, 4;
    ld.global.u32 %r2, [counter]; st.global.u32 [%rd1], %r2;
    ld.global.u64 %rd4, [middle]; add.s64 %rd4, %rd4, %rd3; ld.f32 %f1, [%rd4+-8]; st.global.f32 [%rd1+4], %f1;
    ld.const.u64 %rd5, [through]; ld.u64 %rd6, [%rd5]; ld.global.u64 %rd7, [middle]; setp.eq.u64 %p1, %rd6, %rd7;
    selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd1+8], %r3;
    ld.global.u64 %rd8, [s+8]; ld.u32 %r4, [%rd8]; st.global.u32 [%rd1+12], %r4;
    ld.global.u64 %rd9, [s+16]; ld.f32 %f2, [%rd9]; st.global.f32 [%rd1+16], %f2;
    ld.global.s16 %r5, [man]; st.global.u32 [%rd1+20], %r5;
    ld.global.u8 %r6, [parts+1]; shl.b32 %r6, %r6, 8; ld.global.u8 %r7, [parts]; or.b32 %r6, %r6, %r7;
    ld.global.u8 %r7, [parts+2]; shl.b32 %r7, %r7, 16; or.b32 %r6, %r6, %r7; ld.global.u8 %r7, [parts+3];
    shl.b32 %r7, %r7, 24; or.b32 %r6, %r6, %r7; mov.u64 %rd10, table; cvt.u32.u64 %r8, %rd10; sub.u32 %r6, %r6, %r8;
    st.global.u32 [%rd1+24], %r6; ld.global.f64 %fd1, [double]; st.global.f64 [%rd1+32], %fd1;
    mov.u64 %rd11, open; add.s64 %rd11, %rd11, %rd3; ld.global.u32 %r9, [%rd11]; st.global.u32 [%rd1+40], %r9;
    ld.global.u32 %r10, [zeros+99996]; st.global.u32 [%rd1+44], %r10;
    cvta.global.u64 %rd12, %rd10; ld.u32 %r11, [%rd12]; st.global.u32 [%rd1+48], %r11;
    ld.u32 %r12, [table+4]; st.global.u32 [%rd1+52], %r12; ret;
}
"""
IMAGES = compile_ptx(HEAD + KERNELS, "variables.ptx")


def device_of(kind):
    return open_device(kind, "gtx480", memory_bytes=1 << 21)


@pytest.fixture
def device():
    return device_of("golden")


def shown(device, module, threads=3):
    out = device.array(np.zeros((threads, 16), np.uint32))
    device.wait(module["show"](1, threads, [out]))
    return out.get()


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


@pytest.mark.parametrize("kind", ["golden", pytest.param("rtl", marks=[pytest.mark.full, pytest.mark.timeout(600)])])
def test_kernels_share_variables_that_start_with_their_initial_values(kind):
    device = device_of(kind)
    module = device.load(read_elf(write_elf(IMAGES)).values())
    rows = shown(device, module)
    one, two = bits(1.0), bits(2.0)
    for k, row in enumerate(rows.tolist()):
        assert row[:8] == [0, (one, two, 0)[k], 1, two, bits(4.0), 0xFFFF_FFFD, 0, 0]
        assert row[8:14] == [0, 0x4000_0000, k + 1, 0, one, two]
    device.wait(module["bump"](2, 32, [3]))
    assert shown(device, module)[:, 0].tolist() == [192] * 3
    assert module.symbol("counter").get().tolist() == [192]
    assert module.globals["bump::calls"].get().tolist() == [164]


def test_the_host_reads_and_writes_variables_by_name(device):
    module = device.load(IMAGES.values())
    assert set(module.globals) == {"table", "counter", "middle", "s", "man", "parts", "double", "open", "zeros",
                                   "bump::calls"}
    module.globals["counter"].set(7)
    module.symbol("table", np.float32).set([8.0, 9.0], first=1)
    assert module.symbol("man").get().tolist() == [-3, 7, 0] and module.globals["double"].get().tolist() == [2.0]
    rows = shown(device, module)
    assert rows[:, 0].tolist() == [7] * 3 and rows[:, 1].tolist() == [bits(x) for x in (1.0, 8.0, 9.0)]
    assert module.symbol("middle").get()[0] == module.globals["table"].address + 8
    assert module.symbol("through").get()[0] == module.globals["middle"].address
    assert "global variable" in repr(module.globals["s"]) and "constant" in repr(module.symbol("singles"))
    other = device.load(IMAGES.values())
    assert shown(device, other)[:, 0].tolist() == [0] * 3, "another module has variables of its own"
    with pytest.raises(ValueError, match="do not fit the 3 elements of global variable 'man'"):
        module.symbol("man").set([1, 2], first=2)
    with pytest.raises(LaunchError, match="no variables 'nothing' in this module; there are bump::calls, counter"):
        module.symbol("nothing")


def test_a_kernel_that_uses_no_variable_has_them_all_the_same():
    images = compile_ptx(HEAD + ".global .u32 x = 4;\n.visible .entry a() { ret; }\n.visible .entry b()\n"
                         "{ .reg .b32 %r<2>; ld.global.u32 %r1, [x]; st.global.u32 [x+0], %r1; ret; }")
    assert images["a"].bindings == () and images["b"].bindings == (Binding("global", "", 0),)
    assert images["a"].global_data == images["b"].global_data == bytes((4, 0, 0, 0))
    assert images["a"].symbols == (Symbol("x", "u32", 0, 4, "global"),) and images["b"].parameter_bytes == 4


def test_assembly_text_and_elf_files_keep_variables():
    assert IMAGES["show"].relocations[:2] == (Relocation("global", 32, 8, 8), Relocation("const", 0, 8, 32))
    assert list(read_elf(write_elf(IMAGES)).values()) == list(IMAGES.values())
    assert assemble("".join(map(disassemble, IMAGES.values()))) == list(IMAGES.values())
    assert len(write_elf(IMAGES)) < 30_000, "zeros take no place"


@pytest.mark.parametrize("change, message", [
    ({"symbols": (Symbol("x", "u32", 99_999_999, 4, "global"),)}, "symbols.offset must be an integer from 0 to"),
    ({"relocations": (Relocation("global", 99_999_999, 8, 0),)}, "relocations.offset must be an integer from 0 to"),
    ({"global_bytes": 4}, "global_data must be at most 4 bytes, not 104"),
    ({"bindings": (Binding("yarn", "a", 8),)}, "bindings.kind must be one of global, texture"),
])
def test_damaged_images_are_refused(device, change, message):
    with pytest.raises(ImageError, match=message):
        device.load([dataclasses.replace(IMAGES["bump"], **{"symbols": (), **change})])


def test_no_room_for_variables(device):
    images = compile_ptx(HEAD + ".global .b8 x[3000000];\n.visible .entry k() { ret; }")
    with pytest.raises(DriverError, match="out of device memory"):
        device.load(images.values())


STEP = """
.const .u32 step = 1;
.visible .entry count(.param .u64 counter, .param .u32 rounds)
{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %a<2>;
    ld.param.u64 %a0, [counter]; ld.param.u32 %r0, [rounds]; mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    ld.const.u32 %r2, [step]; red.global.add.u32 [%a0], %r2; ret;
}
"""


@pytest.mark.parametrize("where", ["running", "preempted", "away", "queue", "stream", "other stream"])
def test_constants_stay_as_long_as_a_kernel_has_not_ended(where):
    """Also of one that is preempted, has no kernel slot, is in a hardware queue, or waits in a stream."""
    with open_device("golden", DEVICE, memory_bytes=1 << 21) as device:
        module, counter = device.load(compile_ptx(HEAD + STEP).values()), device.zeros(1, np.uint32)
        count, step, stream = module["count"], module.symbol("step"), device.stream()
        if where == "queue":
            work = device.queue([count], 16).launch(count, 1, 16, [counter, 500])
            device.advance(100)
        elif "stream" in where:
            other = device.load(compile_ptx(HEAD + STEP).values())["count"]
            busy = stream if where == "stream" else device.stream()
            busy.launch(other, 1, 16, [device.zeros(1, np.uint32), 500])
            stream.wait_event(busy.record())
            work = stream.launch(count, 1, 16, [counter, 1])
            assert work.launch is None
        else:
            work = count(1, 16, [counter, 500])
            device.advance(100)
            if where != "running":
                device.preempt(work)
            if where == "away":
                device.release_slot(work)
        with pytest.raises(DriverError, match="constant 'step' belongs to a kernel that has not finished"):
            step.set(7)
        if where in ("preempted", "away"):
            device.resume(work)
        getattr(work, "wait", lambda: device.wait(work))()
        assert counter.get()[0] == 16
        step.set(7)
        device.wait(count(1, 16, [counter, 1]))
        assert counter.get()[0] == 8 * 16
        killed = count(1, 16, [counter, 1 << 30])
        device.kill(killed)
        step.set(1)


def test_a_call_sets_constants_for_what_waits_for_it(device):
    """Kernels behind it in its stream, and in streams that wait for that; one that may begin any time keeps them."""
    module, counters = device.load(compile_ptx(HEAD + STEP).values()), device.zeros(4, np.uint32)
    count, step, place = module["count"], module.symbol("step"), counters.address
    first, second, third = (device.stream() for _ in range(3))
    first.launch(count, 1, 16, [place, 500])
    first.call(lambda: step.set(7))
    first.launch(count, 1, 16, [place + 4, 1])
    second.wait_event(first.record())
    second.launch(count, 1, 16, [place + 8, 1])
    third.wait_event(second.record())
    third.launch(count, 1, 16, [place + 12, 1])
    device.synchronize()
    assert counters.get().tolist() == [16, 7 * 16, 7 * 16, 7 * 16]
    first.launch(count, 1, 16, [place, 500])
    told = first.call(lambda: step.set(1))
    second.wait_event(first.call(lambda: None))
    third.launch(count, 1, 16, [place + 4, 5000])
    with pytest.raises(DriverError, match="set it in a Stream.call in front of it"):
        told.wait()


FETCH = """
.global .texref points;
.visible .entry fetch(.param .s32 first, .param .u64 OUT)
{
    .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>;
    ld.param.s32 %r1, [first]; mov.u32 %r2, %tid.x; add.s32 %r3, %r1, %r2; ld.param.u64 %rd1, [OUT];
    mul.wide.u32 %rd2, %r2, 16; add.s64 %rd1, %rd1, %rd2; mov.f32 %f1, 0f42C80000; setp.ne.u32 %p1, %r2, 2;
    mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    @%p1 tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [points, {%r3}];
    st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}; ret;
}
.visible .entry object(.param .u64 T, .param .u64 OUT)
{
    .reg .b32 %r<20>; .reg .b64 %rd<9>;
    ld.param.u64 %rd3, [T]; mov.u32 %r3, %tid.x; ld.param.u64 %rd1, [OUT]; mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd1, %rd1, %rd2; tex.1d.v4.s32.s32 {%r4, %r5, _, %r7}, [%rd3, {%r3}];
    add.s32 %r4, %r4, %r5; add.s32 %r4, %r4, %r7; st.global.u32 [%rd1], %r4; ret;
}
"""


@pytest.mark.parametrize("channels", [None, 1, 2, 4])
def test_fetches_of_a_texture_reference(device, channels):
    module = device.load(compile_ptx(HEAD + FETCH).values())
    texels = np.arange(1, 6 * (channels or 1) + 1, dtype=np.float32)
    array = device.array(texels if channels is None else texels.reshape(6, channels))
    module.bind_texture("points", array)
    out = device.array(np.zeros((10, 4), np.float32))
    device.wait(module["fetch"](1, 10, [-2, out]))
    expected = np.zeros((10, 4), np.float32)
    expected[2:8, :channels or 1] = texels.reshape(6, -1)
    expected[2] = 100
    assert (out.get() == expected).all()


def test_a_texture_object_is_an_argument(device):
    module = device.load(compile_ptx(HEAD + FETCH).values())
    texels = np.arange(-6, 6, dtype=np.int32).reshape(6, 2)
    texture = Texture(device.array(texels))
    out = device.array(np.full(8, 77, np.int32))
    device.wait(module["object"](1, 8, [texture, out]))
    assert out.get().tolist() == [*texels.sum(axis=1).tolist(), 0, 0]


def test_what_cannot_be_bound(device):
    module = device.load(compile_ptx(HEAD + FETCH).values())
    out, array = device.array(np.zeros(4, np.float32)), device.array(np.zeros(4, np.float32))
    with pytest.raises(LaunchError, match="texture points: nothing is bound to it"):
        module["fetch"](1, 1, [0, out])
    with pytest.raises(LaunchError, match="no texture 'tex' in this module; there are points"):
        module.bind_texture("tex", array)
    for shape, dtype in (((4,), np.float64), ((4, 3), np.float32), ((2, 2, 2), np.int32), ((4,), np.uint8)):
        with pytest.raises(LaunchError, match="a texture is an array of 32-bit numbers"):
            module.bind_texture("points", device.array(np.zeros(shape, dtype)))
    module.bind_texture("points", array)
    array.free()
    with pytest.raises(LaunchError, match="the device array has been freed"):
        module["fetch"](1, 1, [0, out])
    module.bind_texture("points", device_of("golden").array(np.zeros(4, np.float32)))
    with pytest.raises(LaunchError, match="the device array is on another device"):
        module["fetch"](1, 1, [0, out])


def test_a_texture_that_is_never_declared():
    with pytest.raises(CompileError, match="points is no texture"):
        compile_ptx(HEAD + FETCH.replace(".global .texref points;", ""))
