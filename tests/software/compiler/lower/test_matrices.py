"""ldmatrix, stmatrix and movmatrix are changes of layout: on the golden model, against indices of numpy arrays."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.software.ptxas import assert_legal

FRAME = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 in)
{{ .shared .align 16 .b8 s[512]; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<9>;
ld.param.u64 %rd8, [o]; ld.param.u64 %rd7, [in]; mov.u32 %r9, %tid.x; mul.wide.u32 %rd6, %r9, 16;
add.s64 %rd8, %rd8, %rd6; add.s64 %rd7, %rd7, %rd6; mov.u32 %r10, s; shl.b32 %r11, %r9, 4; add.u32 %r11, %r10, %r11;
ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd7]; mov.b64 %rd1, {{%r11, %r9}}; setp.lt.u32 %p1, %r9, 40;
{body}
st.global.v4.u32 [%rd8], {{%r5, %r6, %r7, %r8}};
ret; }}
"""
ROWS = np.random.default_rng(1).integers(0, 1 << 16, (32, 8)).astype(np.uint16)
"""32 rows of 16 bytes: four matrices."""
LANES = np.arange(32)
PUT = "st.shared.v4.u32 [%r11], {%r1, %r2, %r3, %r4}; bar.sync 0; "
CLEAR = "mov.b32 %r12, 0; st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12}; bar.sync 0; "
GET = " bar.sync 0; ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r11];"
ADDRESSES = {"shared": (".shared", "[%r11]"), "generic": ("", "[%rd2]"), "wide": (".shared::cta", "[%rd3+16]")}
MAKE = "cvt.u64.u32 %rd3, %r11; cvta.shared.u64 %rd2, %rd3; sub.s64 %rd3, %rd3, 16; "


def fragments(matrices, transposed):
    """Return the word of each lane of each matrix of shape (n, 8, 8)."""
    if transposed:
        matrices = matrices.transpose(0, 2, 1)
    pairs = matrices[:, LANES // 4].reshape(-1, 32, 4, 2)[:, LANES, LANES % 4].astype(np.uint32)
    return pairs[..., 0] | pairs[..., 1] << 16


def registers(count):
    return "{" + ", ".join(f"%r{5 + k}" for k in range(count)) + "}"


def run(body, data):
    image = compile_ptx(FRAME.format(body=body))["k"]
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros((32, 4), np.uint32))
    device.wait(device.load([image])["k"](1, 32, [out, device.array(np.ascontiguousarray(data))]))
    return out.get()


def load(count, trans, form):
    space, address = ADDRESSES[form]
    return f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' * trans}{space}.b16 {registers(count)}, {address};"


def store(count, trans, form):
    space, address = ADDRESSES[form]
    data = registers(count).replace("%r5", "%r1").replace("%r6", "%r2").replace("%r7", "%r3").replace("%r8", "%r4")
    return f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' * trans}{space}.b16 {address}, {data};"


SHAPES = [(count, trans, form) for count, form in ((1, "shared"), (2, "generic"), (4, "wide"), (4, "shared"))
          for trans in (False, True)]


@pytest.mark.parametrize("count, trans, form", SHAPES)
def test_loads(count, trans, form):
    found = run(MAKE + PUT + load(count, trans, form), ROWS.view(np.uint32).reshape(32, 4))
    expected = fragments(ROWS.reshape(4, 8, 8), trans)[:count]
    assert (found[:, :count].T == expected).all()


@pytest.mark.parametrize("count, trans, form", SHAPES)
def test_stores(count, trans, form):
    words = np.zeros((32, 4), np.uint32)
    words[:, :count] = fragments(ROWS.reshape(4, 8, 8), trans)[:count].T
    found = run(MAKE + CLEAR + store(count, trans, form) + GET, words)
    expected = ROWS.copy()
    expected[8 * count:] = 0
    assert (found.view(np.uint16).reshape(32, 8) == expected).all()


def test_move_transposes():
    words = np.zeros((32, 4), np.uint32)
    words[:, 0] = fragments(ROWS.reshape(4, 8, 8)[:1], False)[0]
    found = run("movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r1;", words)
    assert (found[:, 0] == fragments(ROWS.reshape(4, 8, 8)[:1], True)[0]).all()


def test_rows_may_lie_anywhere_and_a_guard_holds_for_all():
    order = np.random.default_rng(2).permutation(32)
    data = ROWS.view(np.uint32).reshape(32, 4)
    body = PUT + f"""ld.global.u32 %r12, [%rd7+512]; shl.b32 %r12, %r12, 4; add.u32 %r12, %r10, %r12;
    mov.b32 %r5, 7; mov.b32 %r6, 7; mov.b32 %r7, 7; mov.b32 %r8, 7;
    @%p1 {load(4, False, 'shared').replace('%r11', '%r12')} @!%p1 {load(2, False, 'shared')}"""
    extra = np.zeros((32, 4), np.uint32)
    extra[:, 0] = order
    found = run(body, np.concatenate((data, extra)))
    assert (found.T == fragments(ROWS[order].reshape(4, 8, 8), False)).all()


def test_the_address_may_be_the_destination():
    body = PUT + "mov.u32 %r5, %r11; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r5}, [%r5];"
    found = run(body, ROWS.view(np.uint32).reshape(32, 4))
    assert (found[:, [1, 0]].T == fragments(ROWS.reshape(4, 8, 8), False)[:2]).all()


def test_forms_are_legal(tmp_path):
    registers = "cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd2, %rd3; "
    lines = [form(*shape).replace("%r11", "%r0") for form in (load, store) for shape in SHAPES]
    assert_legal(registers + "\n".join(lines) + "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r1;"
                 "ldmatrix.sync.aligned.m8n8.trans.x1.shared.b16 {%f1}, [s];", tmp_path)


@pytest.mark.parametrize("statement, what", [
    ("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1}, [%r11];", "not a known matrix access"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r11];", "not a known matrix access"),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r11];", "2 registers in braces"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 %r11, {%r1};", "stmatrix wants an address"),
    ("stmatrix.sync.aligned.m8n8.x1.global.b16 [%rd7], {%r1};", "modifier .global"),
    ("movmatrix.sync.aligned.m8n8.b16 %r1, %r2;", "not a known matrix move"),
])
def test_what_is_refused(statement, what):
    with pytest.raises(CompileError, match=what):
        compile_ptx(FRAME.format(body=statement))
