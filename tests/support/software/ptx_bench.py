"""Runs pieces of PTX on the golden model, one value per thread, and compares with the expected results."""

from collections.abc import Callable, Sequence

import numpy as np

from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.software.compiler import compile_ptx

GEOMETRY = PRESETS["gtx480"]
THREADS = 96
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
PREFIX = {16: "%rs", 32: "%r", 64: "%rd"}

Case = tuple[str, int, Callable[[int, int, int], int]]
"""A text, the bits of its result and what it computes of a, b and n."""


def kernel_text(body: str, shared: str = "", module: str = "") -> str:
    """A kernel that gives each thread a, b (64 bits), n (32 bits) and stores 64-bit results with `store`.

    They come in %rd1, %rd2 and %r3; a and b are also in %fd1 and %fd2, their low halves in %r1, %r2, %f1, %f2, %rs1,
    %rs2, n in %f3. `shared` are declarations in the kernel, `module` what stands before it.
    """
    return HEAD + module + f"""
.visible .entry k(.param .u64 A, .param .u64 B, .param .u64 N, .param .u64 OUT)
{{
    .reg .pred %p<40>; .reg .b16 %rs<40>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .f32 %f<40>; .reg .f64 %fd<40>;
    {shared}
    mov.u32 %r90, %tid.x; mov.u32 %r91, %ctaid.x; mad.lo.s32 %r90, %r91, {THREADS}, %r90;
    ld.param.u64 %rd90, [A]; cvta.to.global.u64 %rd90, %rd90;
    ld.param.u64 %rd91, [B]; cvta.to.global.u64 %rd91, %rd91;
    ld.param.u64 %rd92, [N]; cvta.to.global.u64 %rd92, %rd92;
    ld.param.u64 %rd93, [OUT]; cvta.to.global.u64 %rd93, %rd93;
    mul.wide.u32 %rd94, %r90, 8;
    add.s64 %rd90, %rd90, %rd94; add.s64 %rd91, %rd91, %rd94; add.s64 %rd93, %rd93, %rd94;
    mul.wide.u32 %rd95, %r90, 4; add.s64 %rd92, %rd92, %rd95;
    ld.global.u64 %rd1, [%rd90]; ld.global.u64 %rd2, [%rd91]; ld.global.u32 %r3, [%rd92];
    cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2;
    cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2;
    mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2;
    {body}
    ret;
}}
"""


def run(body: str, a: Sequence[int], b: Sequence[int], n: Sequence[int], results: int, shared: str = "",
        module: str = "") -> np.ndarray:
    """Return `results` rows of 64-bit values, one column per thread; columns are a multiple of `THREADS`."""
    assert len(a) == len(b) == len(n) and len(a) % THREADS == 0
    image = compile_ptx(kernel_text(body, shared, module))["k"]
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 23)
    out = device.array(np.zeros(results * len(a), np.uint64))
    arguments = [device.array(np.array(a, np.uint64)), device.array(np.array(b, np.uint64)),
                 device.array(np.array(n, np.uint32)), out]
    launch = device.launch(device.load([image])["k"], (len(a) // THREADS, 1, 1), (THREADS, 1, 1), arguments)
    device.wait(launch)
    return out.get().reshape(results, len(a))


def store(row: int, source: str, bits: int, count: int) -> str:
    """Store a register, zero-extended to 64 bits, in the row of a result of `count` threads."""
    if bits == 64:
        return f"st.global.u64 [%rd93+{row * count * 8}], {source};"
    return f"cvt.u64.u{bits} %rd80, {source}; st.global.u64 [%rd93+{row * count * 8}], %rd80;"


def check(cases: Sequence[Case], a: Sequence[int], b: Sequence[int], n: Sequence[int], shared: str = "",
          module: str = ""):
    """Run ``(text, bits, meaning(a, b, n))`` cases, each leaving its result in register 4 of its width."""
    body = "\n".join(f"{text} {store(k, PREFIX[bits] + '4', bits, len(a))}" for k, (text, bits, _) in enumerate(cases))
    got = run(body, a, b, n, len(cases), shared, module)
    for k, (text, bits, meaning) in enumerate(cases):
        expected = [meaning(*x) & (1 << bits) - 1 for x in zip(a, b, n, strict=True)]
        wrong = [(hex(x), hex(y), z, hex(e), hex(int(g)))
                 for x, y, z, e, g in zip(a, b, n, expected, got[k], strict=True) if e != int(g)]
        assert not wrong, (text, wrong[:3])
