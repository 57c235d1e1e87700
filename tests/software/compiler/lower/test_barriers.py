"""Barriers with a count of threads, which has to be the whole thread block: on the golden model."""

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.sim import open_device
from caesura.software.compiler import CompileError, assemble, compile_ptx, disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.driver import LaunchError
from caesura.software.driver.machine.errors import KernelFault

TEXT = """.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {required}
{{
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %o<4>; .shared .align 4 .b8 s[4096];
    ld.param.u64 %o1, [o]; ld.param.u32 %r5, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;
    mul.lo.u32 %r3, %r1, 4; mov.u32 %r4, s; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1;
    setp.lt.u32 %p1, %r1, 7; setp.ne.u32 %p2, %r2, 0;
    {barrier}
    sub.u32 %r2, %r2, %r1; sub.u32 %r2, %r2, 1; mul.lo.u32 %r2, %r2, 4; add.u32 %r2, %r2, %r4;
    ld.shared.u32 %r3, [%r2];
    mul.wide.u32 %o2, %r1, 4; add.u64 %o1, %o1, %o2; st.global.u32 [%o1], %r3; ret;
}}
"""


def text(barrier, required=""):
    return TEXT.format(barrier=barrier, required=required)


def run(barrier, threads, n=0, required=""):
    with open_device("golden", "gtx480", memory_bytes=1 << 22) as device:
        out = device.zeros(threads, np.uint32)
        device.wait(device.load(compile_ptx(text(barrier, required)).values())["k"](1, threads, [out, n]))
        return out.get().tolist()


WHOLE = ["bar.sync 1, 64;", "barrier.sync 0, 64;", "barrier.cta.sync.aligned 3, 64;", "bar.sync 1, %r5;",
         "@%p2 bar.sync 1, 64;", "@%p2 barrier.sync 15, %r5;", "bar.sync 1, 64; bar.cta.sync 2, 64;"]


@pytest.mark.parametrize("barrier", WHOLE)
@pytest.mark.parametrize("threads", [64, 60, 33])
def test_a_count_of_all_threads(barrier, threads):
    """A count is a multiple of 32, so that the last warp may have fewer threads than that."""
    assert run(barrier, threads, 64) == [*range(threads)][::-1]


@pytest.mark.parametrize("count", ["64", "%r5"])
def test_reductions_with_a_count(count):
    popc = f"bar.red.popc.u32 %r6, 1, {count}, %p1;"
    both = f"bar.red.and.pred %p3, 1, {count}, !%p1; selp.u32 %r7, 8, 0, %p3; barrier.red.or.pred %p3, 2, {count}, %p1;"
    store = "selp.u32 %r8, 16, 0, %p3; or.b32 %r6, %r6, %r7; or.b32 %r6, %r6, %r8; st.shared.u32 [%r3], %r6;"
    assert run(f"{popc} {both} {store} bar.sync 0;", 64, 64) == [7 | 16] * 64


@pytest.mark.parametrize("threads", [32, 65, 96, 256])
def test_another_block_is_refused_at_launch(threads):
    with pytest.raises(LaunchError, match=f"{threads} threads, its barriers are for 64; a barrier for part"):
        run("bar.sync 1, 64;", threads)


@pytest.mark.parametrize("required", [".reqntid 32", ".reqntid 64, 2", ".reqntid 128"])
def test_another_block_is_refused_when_it_is_known(required):
    with pytest.raises(CompileError, match="a barrier for part of the thread block.*all threads of the block"):
        compile_ptx(text("bar.sync 1, 64;", required))


def test_two_counts_are_refused():
    with pytest.raises(CompileError, match="a barrier for part of the thread block.*a count of 64, all threads"):
        compile_ptx(text("bar.sync 1, 64; bar.sync 2, 96;"))


def test_a_known_block():
    assert run("bar.sync 1, 64;", 64, required=".reqntid 64") == [*range(64)][::-1]
    image = compile_ptx(text("bar.sync 1, 64;", ".reqntid 8, 8"))["k"]
    assert (image.barrier_threads, image.required_block) == (64, (8, 8, 1))


@pytest.mark.parametrize("n", [0, 32, 96, 0xFFFF_FFFF])
def test_a_wrong_count_in_a_register_traps(n):
    with pytest.raises(KernelFault) as caught:
        run("bar.sync 1, %r5;", 64, n)
    assert caught.value.record is not None and caught.value.record.kind is Fault.TRAP


def test_images_and_assembly_keep_the_count():
    images = compile_ptx(text("bar.sync 1, 96;"))
    assert images["k"].barrier_threads == 96
    assert list(read_elf(write_elf(images)).values()) == list(images.values())
    assert assemble("".join(map(disassemble, images.values()))) == list(images.values())
