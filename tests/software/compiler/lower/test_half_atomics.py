"""Atomics on f16 and bf16, and compare-and-swap of 16 bits: on the golden model."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.software.half_reference import BF16, F16
from support.software.ptxas import assert_legal

FRAME = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 sums)
{{ .shared .align 16 .b8 s[64]; .reg .b16 %rs<20>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>;
.reg .f32 %f<9>; ld.param.u64 %rd8, [o]; ld.param.u64 %rd1, [sums]; mov.u32 %r9, %tid.x; mul.wide.u32 %rd6, %r9, 4;
add.s64 %rd8, %rd8, %rd6; and.b32 %r8, %r9, 1; setp.ne.u32 %p1, %r8, 0; setp.eq.u32 %p2, %r9, 0;
cvt.rn.f32.u32 %f1, %r9; cvt.rn.f16.f32 %rs1, %f1; cvt.rn.bf16.f32 %rs2, %f1;
mov.b32 %r1, {{%rs1, %rs1}}; mov.b32 %r2, {{%rs2, %rs2}}; mov.u32 %r10, s; mov.b32 %r0, 0;
@%p2 st.shared.v2.u32 [%r10], {{%r0, %r0}}; bar.sync 0;
cvt.u64.u32 %rd2, %r10; cvta.shared.u64 %rd2, %rd2;
{body}
ret; }}
"""
THREADS = 64


def run(body, sums):
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out, memory = device.array(np.zeros(THREADS, np.uint32)), device.array(sums)
    device.wait(device.load([compile_ptx(FRAME.format(body=body))["k"]])["k"](1, THREADS, [out, memory]))
    return out.get(), memory.get()


@pytest.mark.parametrize("name, format, register", [("f16", F16, "1"), ("bf16", BF16, "2")])
def test_sums(name, format, register):
    """Alone in either half of a word, in pairs, in vectors; in shared memory, generic, under a guard."""
    body = f"""red.global.add.noftz.{name} [%rd1+2], %rs{register};
    @%p1 red.global.add.noftz.{name} [%rd1+4], %rs{register};
    red.relaxed.gpu.global.add.noftz.{name}x2 [%rd1+8], %r{register};
    red.global.add.noftz.v2.{name} [%rd1+14], {{%rs{register}, %rs{register}}};
    red.global.max.noftz.v2.{name}x2 [%rd1+20], {{%r{register}, %r{register}}};
    red.shared.add.noftz.{name} [%r10+2], %rs{register}; red.add.noftz.{name}x2 [%rd2+4], %r{register}; bar.sync 0;
    @%p2 ld.shared.v2.u32 {{%r11, %r12}}, [%r10]; @%p2 st.global.v2.u32 [%rd8], {{%r11, %r12}};"""
    found, memory = run(body, np.full(16, 0, np.uint16))
    total = [0, 0, 0]
    for k in range(THREADS):
        total = [format.bits(format.value(x) + k * on) for x, on in zip(total, (1, k % 2, 1), strict=True)]
    whole, odd = int(total[0]), int(total[1])
    most = int(format.bits(np.array(float(THREADS - 1))))
    assert memory.tolist() == [0, whole, odd, 0, whole, whole, 0, whole, whole, 0, most, most, most, most, 0, 0]
    assert found[:2].tolist() == [whole << 16, whole << 16 | whole]


def test_what_was_there_before():
    """Each of 64 threads finds another sum."""
    body = """mov.b16 %rs3, 0x3C00; atom.global.add.noftz.f16 %rs4, [%rd1+2], %rs3; cvt.rzi.u32.f16 %r3, %rs4;
    st.global.u32 [%rd8], %r3;"""
    found, _ = run(body, np.zeros(4, np.uint16))
    assert sorted(found) == [*range(THREADS)]


@pytest.mark.parametrize("space, address", [("global", "[%rd1+2]"), ("shared", "[%r10+6]"), ("", "[%rd2+6]")])
def test_compare_and_swap(space, address):
    """A sum by a loop of them, as compilers write one; and one that fails."""
    dot = f".{space}" if space else ""
    body = f"""AGAIN: ld{dot}.b16 %rs5, {address}; add.u16 %rs6, %rs5, 3;
    atom{dot}.cas.b16 %rs7, {address}, %rs5, %rs6; setp.ne.u16 %p3, %rs7, %rs5; @%p3 bra AGAIN;
    bar.sync 0; atom.acq_rel.gpu{dot}.cas.b16 %rs8, {address}, %rs0, %rs6; ld{dot}.u16 %r3, {address};
    cvt.u32.u16 %r4, %rs8; prmt.b32 %r3, %r3, %r4, 0x5410; st.global.u32 [%rd8], %r3;"""
    body = "mov.b16 %rs0, 7; " + body
    found, memory = run(body, np.array([5, 0, 6, 7], np.uint16))
    assert (found == 192 | 192 << 16).all() and memory[[0, 2, 3]].tolist() == [5, 6, 7]


def test_forms_are_legal(tmp_path):
    assert_legal("""red.global.add.noftz.f16 [%rd1], %rs1; red.shared.add.noftz.bf16x2 [%rd1], %r1;
    atom.global.add.noftz.bf16 %rs1, [%rd1], %rs2; red.global.add.noftz.v2.bf16 [%rd1], {%rs1, %rs2};
    red.global.max.noftz.v2.f16x2 [%rd1], {%r1, %r2}; atom.global.cas.b16 %rs1, [%rd1], %rs2, %rs3;
    atom.global.v2.bf16.add.noftz {%rs1, %rs2}, [%rd1], {%rs1, %rs2};""", tmp_path, version="8.6")


@pytest.mark.parametrize("statement, what", [
    ("red.global.add.f16 [%rd1], %rs1;", "operation is not supported"),
    ("atom.global.max.noftz.f16 %rs3, [%rd1], %rs1;", "operation is not supported"),
    ("red.global.add.noftz.v2.bf16 [%rd1], %rs1;", "1 data operands where 2 belong"),
    ("red.global.min.noftz.u32.f16 [%rd1], %rs1;", "modifier .u32"),
    ("atom.local.add.noftz.f16 %rs3, [%rd1], %rs1;", "modifier .local"),
])
def test_what_is_refused(statement, what):
    with pytest.raises(CompileError, match=what):
        compile_ptx(FRAME.format(body=statement))
