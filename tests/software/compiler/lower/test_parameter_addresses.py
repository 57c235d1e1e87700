"""Addresses of parameters: constant offsets are parameters, other ones copies in local memory."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.software.ptxas import assert_legal

FRAME = """.version 8.5
.target sm_90
.address_size 64
{module}
.visible .entry k(.param .u64 o, .param .align 4 .b8 q[64], .param .align 4 .b8 small[7])
{{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %rs<9>; .reg .pred %p<3>;
ld.param.u64 %rd8, [o]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd7, %r8, 4; add.s64 %rd8, %rd8, %rd7;
{body}
ret; }}
"""
STORE = " st.global.u32 [%rd8], %r1;"
WORDS = np.arange(16, dtype=np.uint32) * 0x1010101 + 5
SMALL = np.arange(1, 8, dtype=np.uint8)
FUNCTION = """.func (.param .b32 r) f(.param .align 4 .b8 a[64], .param .b64 at)
{ .reg .b64 %d<4>; .reg .b32 %x; mov.b64 %d1, a; ld.param.b64 %d2, [at]; add.s64 %d3, %d1, %d2; ld.param.b32 %x, [%d3];
st.param.b32 [r], %x; ret; }"""
CALL = """{ .param .b32 result; .param .align 4 .b8 b[64]; .param .b64 c; st.param.b32 [b+60], %r8; st.param.b32 [b], 9;
add.s64 %rd7, %rd7, 0; mov.b64 %rd1, 60; st.param.b64 [c], %rd1; call (result), f, (b, c);
ld.param.b32 %r1, [result]; }""" + STORE

CASES = {
    "by the thread": ("mov.b64 %rd1, q; add.s64 %rd2, %rd1, %rd7; ld.param.u32 %r1, [%rd2];" + STORE,
                      lambda i: WORDS[i], 64),
    "by 32 bits": ("mov.b32 %r2, q; mad.lo.u32 %r3, %r8, 4, %r2; ld.param.u32 %r1, [%r3];" + STORE,
                   lambda i: WORDS[i], 64),
    "constant": ("mov.b64 %rd1, q+4; add.s64 %rd2, %rd1, 4; mov.b64 %rd3, %rd2; "
                 "ld.param::entry.u32 %r1, [%rd3+4];" + STORE, lambda i: WORDS[3], 0),
    "generic": ("mov.b64 %rd1, small; cvta.param.u64 %rd2, %rd1; ld.u8 %r1, [%rd2+6];" + STORE, lambda i: 7, 8),
    "bytes": ("mov.b64 %rd1, q; add.s64 %rd2, %rd1, %rd7; ld.param.u8 %r1, [%rd2+1];" + STORE,
              lambda i: WORDS[i] >> 8 & 255, 64),
    "both": ("mov.b64 %rd1, q; add.s64 %rd2, %rd1, %rd7; ld.param.u32 %r1, [%rd2]; ld.param.u32 %r2, [q+4];"
             "add.u32 %r1, %r1, %r2;" + STORE, lambda i: WORDS[i] + WORDS[1], 64),
    "of one of two": ("setp.lt.u32 %p1, %r8, 4; mov.b64 %rd1, q; @%p1 mov.b64 %rd1, small;"
                      "ld.param.u32 %r1, [%rd1];" + STORE, lambda i: WORDS[0] if i >= 4 else 0x04030201, 72),
    "of a function": (CALL, lambda i: i, 64),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_loaded(name):
    body, meaning, local = CASES[name]
    image = compile_ptx(FRAME.format(body=body, module=FUNCTION if "call" in body else ""))["k"]
    assert image.local_bytes == local
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros(16, np.uint32))
    device.wait(device.load([image])["k"](1, 16, [out, WORDS.tobytes(), SMALL.tobytes()]))
    with np.errstate(over="ignore"):
        assert out.get().tolist() == [int(np.uint32(meaning(i))) for i in range(16)]


def test_they_are_legal(tmp_path):
    bodies = [body.replace("small", "q") for body, _, _ in CASES.values()]
    assert_legal("\n".join(f"{{ .reg .b32 %r<9>; .reg .b64 %rd<9>; {body} }}" for body in bodies), tmp_path, FUNCTION)


def test_parameters_cannot_be_stored_to():
    with pytest.raises(CompileError, match="not a known memory access"):
        compile_ptx(FRAME.format(body="mov.b64 %rd1, q; st.param.u32 [%rd1], 5;", module=""))
