"""What CUDA has and the core has not is refused with what to do instead; files that are no PTX say what they are."""

import struct

import pytest

from caesura.software.compiler import CompileError, ImageError, compile_ptx
from caesura.software.compiler.codegen.elf import read_elf
from caesura.software.compiler.hints import HINTS, hint
from caesura.software.compiler.source import source_text
from caesura.software.kernels import KERNELS

FRAME = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc (.param .b64 a);
.extern .func free (.param .b64 a);
.func callee() { ret; }
.visible .entry k(.param .u64 p)
{
    .reg .pred %p<3>;
    .reg .b16 %h<5>;
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<9>;
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    .param .b64 d;
    STATEMENT
    ret;
}
"""
REFUSED = (
    ("call.uni (c), vprintf, (a, b);", "printf"), ("call.uni (d), malloc, (a);", "the heap"),
    ("{ call.uni free, (a); }", "the heap"), ("mov.u32 %r1, %envreg2;", "grid-wide sync"),
    ("@%p1 call.uni %rd1, (), proto;", "through a pointer"), ("call (c), %rd1, (a), proto;", "through a pointer"),
    ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];", "a texture of more"),
    ("sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};", "a surface"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4}, [%rd1], %r5;", "matrix unit"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};", "matrix unit"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;", "bulk copy"),
    ("bar.arrive 1, 64;", "split barrier"), ("@%p1 bar.arrive 1, 64;", "split barrier"),
    ("redux.sync.add.s32 %r1, %r2, %r3;", "reduction of a warp"),
    ("barrier.cluster.arrive;", "cluster"), ("mov.u32 %r1, %cluster_ctaid.x;", "cluster"),
    ("cvt.rna.tf32.f32 %r1, %f1;", "matrix products"), ("cvt.rn.f16x2.e4m3x2 %r1, %rs1;", "matrix products"))


@pytest.mark.parametrize(("statement", "what"), REFUSED)
def test_what_the_core_has_not_is_named_with_what_to_do_instead(statement, what):
    with pytest.raises(CompileError) as caught:
        compile_ptx(FRAME.replace("STATEMENT", statement), "k.ptx")
    error = caught.value
    assert what in error.hint and error.hint in str(error) and error.line == 19
    assert str(error).isprintable() and len(str(error)) < 500


def test_each_hint_is_tried():
    seen = {hint(" ".join(statement.strip("{} ").split())) for statement, _ in REFUSED}
    untried = [what for _, what, _ in HINTS if not any(what in text for text in seen)]
    assert untried == ["a launch from a kernel", "an array on the stack of a size unknown to the compiler"]
    assert "launch" in hint("call.uni (c), cudaLaunchDeviceV2, (a, b);") and "stack" in hint("alloca.u64 %rd1, %rd2;")


def test_nothing_that_compiles_has_a_hint():
    for kernel in KERNELS.values():
        statements = [" ".join(line.split()) for line in kernel.ptx_path.read_text().split(";")]
        assert [text for text in statements if hint(text)] == [], kernel.name


def test_other_mistakes_have_no_hint():
    for statement in ("call.uni (c), callee, (%r1);", "add.s33 %r1, %r2, %r3;", "div.rz.f32 %f1, %f2, %f3;"):
        with pytest.raises(CompileError) as caught:
            compile_ptx(FRAME.replace("STATEMENT", statement))
        assert caught.value.hint == ""


CUBIN = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, 190, 1) + bytes(200)


@pytest.mark.parametrize(("raw", "what"), [
    (b"// adds\n__global__ void add(int *a)\n{\n    *a += 1;\n}\n", "CUDA source"),
    (b'#include <cstdio>\nextern "C" __global__ void k() {}\n', "CUDA source"), (CUBIN, "cubin"),
    (b"\x50\xed\x55\xba" + bytes(60), "fat binary"), (b"\xb1\x43\x62\x46" + bytes(60), "fat binary")])
def test_files_of_cuda_that_are_no_ptx_say_how_to_make_some(raw, what):
    with pytest.raises(CompileError) as caught:
        source_text(raw, "k.cu")
    assert str(caught.value).startswith("k.cu: ") and what in str(caught.value)
    assert "nvcc -ptx -arch=sm_75 -o kernel.ptx kernel.cu" in str(caught.value)


def test_a_cubin_given_as_an_image_says_so():
    with pytest.raises(ImageError, match="cubin.*nvcc -ptx"):
        read_elf(CUBIN, "k.cubin")


def test_ptx_that_mentions_cuda_is_ptx():
    text = "// #include <x>\n//__global__ void k()\n.version 8.0\n.target sm_75\n"
    assert source_text(text.encode(), "k.ptx") == text
    for kernel in KERNELS.values():
        assert source_text(kernel.ptx_path.read_bytes(), "k.ptx")
