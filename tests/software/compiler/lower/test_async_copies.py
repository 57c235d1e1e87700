"""cp.async and mbarrier within a thread block: on the golden model."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.software.ptxas import assert_legal

FRAME = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 in, .param .u64 sizes)
{{ .shared .align 16 .b8 s[1024]; .shared .align 8 .b64 mb; .shared .align 8 .b64 other;
.reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .pred %p<9>;
ld.param.u64 %rd8, [o]; ld.param.u64 %rd7, [in]; ld.param.u64 %rd5, [sizes]; mov.u32 %r9, %tid.x;
mul.wide.u32 %rd6, %r9, 16; add.s64 %rd8, %rd8, %rd6; add.s64 %rd7, %rd7, %rd6; mul.wide.u32 %rd6, %r9, 4;
add.s64 %rd5, %rd5, %rd6; ld.global.u32 %r20, [%rd5];
mov.u32 %r10, s; shl.b32 %r11, %r9, 4; add.u32 %r11, %r10, %r11; and.b32 %r12, %r9, 1; setp.ne.u32 %p1, %r12, 0;
mov.b32 %r12, -1; st.shared.v4.u32 [%r11], {{%r12, %r12, %r12, %r12}};
{body}
ret; }}
"""
BACK = """cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r11]; st.global.v4.u32 [%rd8], {%r1, %r2, %r3, %r4};"""
DATA = np.random.default_rng(3).integers(0, 256, (64, 16)).astype(np.uint8)


def run(body, sizes=None, threads=64, columns=4):
    image = compile_ptx(FRAME.format(body=body))["k"]
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros((threads, columns), np.uint32))
    sizes = np.zeros(threads, np.uint32) if sizes is None else sizes
    device.wait(device.load([image])["k"](1, threads, [out, device.array(DATA), device.array(sizes)]))
    return out.get()


def copied(size, counts):
    """Return what lies in shared memory: `counts` bytes of each row, zeros up to `size`, ones behind."""
    expected = np.full_like(DATA, 255)
    expected[:, :size] = np.where(np.arange(size) < np.asarray(counts)[:, None], DATA[:, :size], 0)
    return expected.view(np.uint32).reshape(-1, 4)


SIZES = np.random.default_rng(4).permutation(np.arange(64) % 17).astype(np.uint32)
EVEN = np.arange(64) % 2 == 0
COPIES = {
    "4": ("cp.async.ca.shared.global [%r11], [%rd7], 4;", 4, np.full(64, 4)),
    "8": ("cp.async.ca.shared::cta.global.L2::128B [%r11], [%rd7], 8;", 8, np.full(64, 8)),
    "16": ("cp.async.cg.shared.global [%r11], [%rd7], 16;", 16, np.full(64, 16)),
    "counted 16": ("cp.async.cg.shared.global [%r11], [%rd7], 16, %r20;", 16, SIZES),
    "counted 8": ("min.u32 %r20, %r20, 8; cp.async.ca.shared.global [%r11], [%rd7], 8, %r20;", 8, np.minimum(SIZES, 8)),
    "counted 4": ("min.u32 %r20, %r20, 4; cp.async.ca.shared.global [%r11], [%rd7], 4, %r20;", 4, np.minimum(SIZES, 4)),
    "constant 0": ("cp.async.ca.shared.global [%r11], [%rd7], 16, 0;", 16, np.zeros(64)),
    "constant 7": ("cp.async.ca.shared.global [%r11], [%rd7], 8, 7;", 8, np.full(64, 7)),
    "constant 16": ("cp.async.ca.shared.global [%r11], [%rd7], 16, 16;", 16, np.full(64, 16)),
    "predicate": ("cp.async.ca.shared.global [%r11], [%rd7], 16, %p1;", 16, np.where(EVEN, 16, 0)),
    "not predicate": ("cp.async.ca.shared.global.L2::cache_hint [%r11], [%rd7], 16, !%p1, %rd1;", 16,
                      np.where(EVEN, 0, 16)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    text, size, counts = COPIES[name]
    assert (run(text + BACK, SIZES) == copied(size, counts)).all()


def test_a_copy_under_a_guard_writes_only_its_lanes():
    for text, counts in (("@%p1 cp.async.cg.shared.global [%r11], [%rd7], 16, %r20;", SIZES),
                         ("@%p1 cp.async.cg.shared.global [%r11], [%rd7], 16;", np.full(64, 16))):
        expected = np.where(EVEN[:, None], np.uint32(0xFFFF_FFFF), copied(16, counts))
        assert (run(text + BACK, SIZES) == expected).all()


def test_what_is_not_to_be_read_is_not():
    body = """setp.ne.u32 %p2, %r20, 0; selp.b64 %rd1, %rd7, 0x30000000, %p2;
    cp.async.cg.shared.global [%r11], [%rd1], 16, %r20;""" + BACK
    sizes = np.where(EVEN, 16, 0).astype(np.uint32)
    assert (run(body, sizes) == copied(16, sizes)).all()


INIT = """setp.eq.u32 %p2, %r9, 0; @%p2 mbarrier.init.shared.b64 [mb], 64;
@%p2 mbarrier.init.shared::cta.b64 [other], 1;
fence.mbarrier_init.release.cluster; bar.sync 0;"""
PHASES = INIT + """
mov.b32 %r15, 0; mov.b32 %r16, 0;
TURN:
add.u32 %r17, %r9, %r15; and.b32 %r17, %r17, 63; shl.b32 %r17, %r17, 4; add.u32 %r17, %r10, %r17;
st.shared.u32 [%r17], %r15;
mbarrier.arrive.shared.b64 %rd10, [mb];
WAIT:
mbarrier.try_wait.shared.b64 %p3, [mb], %rd10;
@!%p3 bra WAIT;
ld.shared.u32 %r18, [%r11]; add.u32 %r16, %r16, %r18;
mbarrier.arrive.release.cta.shared::cta.b64 _, [mb];
and.b32 %r19, %r15, 0;
LAST:
mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p3, [mb], 1;
@!%p3 bra LAST;
add.u32 %r15, %r15, 1; setp.lt.u32 %p4, %r15, 5; @%p4 bra TURN;
st.global.u32 [%rd8], %r16;
mbarrier.inval.shared.b64 [mb];
"""


@pytest.mark.full
def test_phases_of_all_threads():
    assert (run(PHASES)[:, 0] == sum(range(5))).all()


ACCOUNT = INIT + """
mov.b64 %rd10, 2; @%p2 mbarrier.init.shared.b64 [other], 2;
@%p2 mbarrier.arrive_drop.noComplete.shared.b64 %rd10, [other], 1;
@%p2 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [other], 24; bar.sync 0;
@%p2 mbarrier.arrive.shared.b64 %rd11, [other]; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [other], 0; selp.b32 %r1, 1, 0, %p3;
@%p2 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [other], 24; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [other], 0; selp.b32 %r2, 1, 0, %p3;
@%p2 mbarrier.complete_tx.shared::cta.b64 [other], 8; bar.sync 0;
@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [other], 8; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [other], 1; selp.b32 %r3, 1, 0, %p3;
mbarrier.pending_count.b64 %r4, %rd10;
st.global.v4.u32 [%rd8], {%r1, %r2, %r3, %r4};
"""


def test_bytes_hold_a_phase_back():
    assert (run(ACCOUNT) == [0, 1, 1, 2]).all()


DROPS = INIT + """
mbarrier.arrive_drop.shared.b64 %rd10, [mb]; bar.sync 0;
mbarrier.test_wait.shared.b64 %p3, [mb], %rd10; selp.b32 %r1, 1, 0, %p3;
@%p2 mbarrier.init.shared.b64 [mb], 70; bar.sync 0;
setp.lt.u32 %p5, %r9, 6; mov.b64 %rd10, 0; @%p5 mbarrier.arrive_drop.shared.b64 _, [mb]; bar.sync 0;
@%p2 mbarrier.arrive.shared.b64 _, [mb], 64; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [mb], 0; selp.b32 %r2, 1, 0, %p3;
mbarrier.arrive.shared.b64 _, [mb]; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [mb], 1; selp.b32 %r3, 1, 0, %p3;
cp.async.mbarrier.arrive.shared.b64 [mb]; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [mb]; bar.sync 0;
mbarrier.test_wait.parity.shared.b64 %p3, [mb], 0; selp.b32 %r4, 1, 0, %p3;
st.global.v4.u32 [%rd8], {%r1, %r2, %r3, %r4};
"""


def test_drops_lower_what_later_phases_wait_for():
    assert (run(DROPS) == 1).all()


def test_pending_arrivals_of_states():
    """Every arrival sees another number; they end exactly at the last one."""
    body = INIT + """mbarrier.arrive.shared.b64 %rd10, [mb]; mbarrier.pending_count.b64 %r1, %rd10; bar.sync 0;
    mbarrier.test_wait.shared.b64 %p3, [mb], %rd10; selp.b32 %r2, 1, 0, %p3; st.global.v2.u32 [%rd8], {%r1, %r2};"""
    found = run(body)
    assert sorted(found[:, 0]) == [*range(1, 65)] and (found[:, 1] == 1).all()


def test_generic_addresses():
    body = INIT + """mov.u64 %rd1, mb; cvta.shared.u64 %rd1, %rd1; mbarrier.arrive.b64 %rd10, [%rd1]; bar.sync 0;
    mbarrier.try_wait.b64 %p3, [%rd1], %rd10, 100; selp.b32 %r2, 1, 0, %p3; st.global.u32 [%rd8], %r2;"""
    assert (run(body)[:, 0] == 1).all()


def test_forms_are_legal(tmp_path):
    declarations = ".shared .align 8 .b64 mb, other; .reg .b32 %r<30>; .reg .b64 %rd<20>;"
    copies = "\n".join(text for text, _, _ in COPIES.values())
    for k, body in enumerate((copies + BACK, PHASES, ACCOUNT, DROPS)):
        assert_legal(f"{{ {declarations} {body} }}", tmp_path, version="8.6"), k


@pytest.mark.parametrize("statement, what", [
    ("cp.async.cg.shared.global [%r11], [%rd7], 8;", "the size must be a constant"),
    ("cp.async.ca.shared.global [%r11], [%rd7], 8, 9;", "the source size must be a constant"),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd7], 16, [mb];", "not a known copy"),
    ("cp.async.wait_group %r1;", "the number of groups must be a constant"),
    ("cp.async.ca.global.shared [%rd7], %r11, 16;", "not a known copy"),
    ("mbarrier.arrive.shared::cluster.b64 _, [%r11];", "modifier .shared::cluster"),
    ("mbarrier.wait.shared.b64 %p1, [mb], %rd1;", "not a known operation on a barrier"),
    ("mbarrier.init.shared.b64 [mb];", "1 operands where 2 belong"),
])
def test_what_is_refused(statement, what):
    with pytest.raises(CompileError, match=what):
        compile_ptx(FRAME.format(body=statement))
