"""docs/ptx.md lists every instruction of the PTX ISA, and the compiler does with each what the page says."""

import shutil
import subprocess
from pathlib import Path

import pytest

from caesura.software.compiler import CompileError, compile_ptx
from caesura.software.compiler.lower.registry import supported_opcodes
from caesura.software.compiler.ptx.instruction_set import SECTIONS, Outcome, instructions, page_with_table
from caesura.software.compiler.source import read_source

PAGE = Path(__file__).parents[4] / "docs/ptx.md"
TEXT = """.version 9.0
.target sm_100a
.address_size 64
.global .texref image;
.func (.reg .b32 %y) twice(.reg .b32 %x) {{ add.s32 %y, %x, %x; ret; }}
.visible .entry k(.param .u64 p)
{{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .f64 %g<9>;
.shared .align 16 .b8 s[512];
ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %r1; mov.u32 %r3, %r1; mov.u32 %r5, s; mov.b32 %f1, %r1;
mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.u64 %d2, %d1; mov.u64 %d3, %d1; mov.b64 %g1, %d1; mov.b64 %g2, %d2;
setp.ne.u32 %p1, %r1, 0; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r1;
{}
st.global.u32 [%d1], %r4; st.global.u32 [%d1+8], %r1;
ret;
}}
"""
"""Sources are registers 1 to 3 of each kind, results 4; `%d1` is an address in global memory, `%r5` in shared."""
EXAMPLES = {
    # 9.7.1 to 9.7.3
    **{name: f"{name}.s32 %r4, %r1, %r2;" for name in ("add", "sub", "div", "rem", "min", "max")},
    **{name: f"{name}.s32 %r4, %r1;" for name in ("abs", "neg")}, "sad": "sad.u32 %r4, %r1, %r2, %r3;",
    "mul": "mul.wide.s32 %d4, %r1, %r2;", "mad": "mad.lo.s32 %r4, %r1, %r2, %r3;",
    "mul24": "mul24.lo.s32 %r4, %r1, %r2;", "mad24": "mad24.hi.u32 %r4, %r1, %r2, %r3;",
    **{name: f"{name}.b32 %r4, %r1;" for name in ("popc", "clz", "brev")}, "bfind": "bfind.u32 %r4, %r1;",
    "fns": "fns.b32 %r4, %r1, %r2, %r3;", "bfe": "bfe.u32 %r4, %r1, %r2, %r3;",
    "bfi": "bfi.b32 %r4, %r1, %r2, 3, 4;", "szext": "szext.wrap.s32 %r4, %r1, %r2;",
    "bmsk": "bmsk.clamp.b32 %r4, %r1, %r2;", "dp4a": "dp4a.s32.u32 %r4, %r1, %r2, %r3;",
    "dp2a": "dp2a.hi.s32.u32 %r4, %r1, %r2, %r3;",
    **{name: f"{name}.u32 %r4, %r1, %r2;" for name in ("add.cc", "addc", "sub.cc", "subc")},
    "mad.cc": "mad.lo.cc.u32 %r4, %r1, %r2, %r3;", "madc": "madc.hi.u32 %r4, %r1, %r2, %r3;",
    "testp": "testp.finite.f32 %p2, %f1;", "copysign": "copysign.f32 %f4, %f1, %f2;",
    **{f"{name}.f32": f"{name}.f32 %f4, %f1, %f2;" for name in ("add", "sub", "mul", "min", "max")},
    **{f"{name}.f32": f"{name}.f32 %f4, %f1;" for name in ("abs", "neg")}, "div.f32": "div.rn.f32 %f4, %f1, %f2;",
    "fma": "fma.rn.f32 %f4, %f1, %f2, %f3;", "mad.f32": "mad.rn.f32 %f4, %f1, %f2, %f3;",
    "rcp": "rcp.rn.f32 %f4, %f1;", "sqrt": "sqrt.rn.f64 %g4, %g1;", "rsqrt": "rsqrt.approx.f32 %f4, %f1;",
    **{f"{name}.approx.ftz.f64": f"{name}.approx.ftz.f64 %g4, %g1;" for name in ("rcp", "rsqrt")},
    **{name: f"{name}.approx.f32 %f4, %f1;" for name in ("sin", "cos", "lg2", "ex2", "tanh")},
    # 9.7.4 to 9.7.7
    **{f"{name}.f16": f"{name}.f16 %h4, %h1, %h2;" for name in ("add", "sub", "mul", "min", "max")},
    **{f"{name}.f16": f"{name}.f16 %h4, %h1;" for name in ("neg", "abs")}, "fma.f16": "fma.rn.f16 %h4, %h1, %h2, %h3;",
    "tanh.f16": "tanh.approx.f16 %h4, %h1;", "ex2.f16": "ex2.approx.f16 %h4, %h1;",
    "add.f32.f16": "add.f32.f16 %f4, %h1, %f2;", "sub.f32.f16": "sub.f32.f16 %f4, %h1, %f2;",
    "fma.f32.f16": "fma.rn.f32.f16 %f4, %h1, %h2, %f3;",
    "set": "set.lt.u32.f32 %r4, %f1, %f2;", "setp": "setp.lt.s32 %p2|%p3, %r1, %r2;",
    "selp": "selp.b32 %r4, %r1, %r2, %p1;", "slct": "slct.b32.s32 %r4, %r1, %r2, %r3;",
    "set.f16": "set.lt.f16.f16 %h4, %h1, %h2;", "setp.f16": "setp.lt.f16 %p2, %h1, %h2;",
    # 9.7.8 to 9.7.9
    **{name: f"{name}.b32 %r4, %r1, %r2;" for name in ("and", "or", "xor", "shl", "shr")},
    **{name: f"{name}.b32 %r4, %r1;" for name in ("not", "cnot", "mov")}, "lop3": "lop3.b32 %r4, %r1, %r2, %r3, 0x3c;",
    "shf": "shf.l.wrap.b32 %r4, %r1, %r2, %r3;", "prmt": "prmt.b32 %r4, %r1, %r2, 0x5410;",
    "shfl": "shfl.idx.b32 %r4, %r1, 0, 31;", "shfl.sync": "shfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, -1;",
    "ld": "ld.global.u32 %r4, [%d1];", "ld.global.nc": "ld.global.nc.u32 %r4, [%d1];",
    "ldu": "ldu.global.u32 %r4, [%d1];",
    "st": "st.shared.u32 [%r5], %r1;", "isspacep": "isspacep.shared %p2, %d1;", "cvta": "cvta.to.global.u64 %d4, %d1;",
    "cvt": "cvt.rn.f32.s32 %f4, %r1;", "cvt.pack": "cvt.pack.sat.s16.s32 %r4, %r1, %r2;",
    "prefetch": "prefetch.global.L2 [%d1];", "prefetchu": "prefetchu.L1 [%d1];",
    "applypriority": "applypriority.global.L2::evict_normal [%d1], 128;", "discard": "discard.global.L2 [%d1], 128;",
    "createpolicy": "createpolicy.fractional.L2::evict_last.b64 %d4, 0.5;",
    "st.async": "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], %r1, [%r5];",
    "st.bulk": "st.bulk.shared::cta [%r5], 64, 0;", "mapa": "mapa.shared::cluster.u32 %r4, %r5, %r1;",
    "getctarank": "getctarank.shared::cluster.u32 %r4, %r5;",
    "multimem.ld_reduce": "multimem.ld_reduce.global.add.u32 %r4, [%d1];",
    "multimem.st": "multimem.st.global.u32 [%d1], %r1;", "multimem.red": "multimem.red.global.add.u32 [%d1], %r1;",
    "cp.async": "cp.async.ca.shared.global [%r5], [%d1], 16;", "cp.async.commit_group": "cp.async.commit_group;",
    "cp.async.wait_group": "cp.async.wait_group 0;", "cp.async.wait_all": "cp.async.wait_all;",
    "cp.async.bulk": "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%d1], 64, [%r5];",
    "cp.reduce.async.bulk": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r5], 64;",
    "cp.async.bulk.prefetch": "cp.async.bulk.prefetch.L2.global [%d1], 64;",
    "cp.async.bulk.tensor": "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r1}], [%r5];",
    "cp.reduce.async.bulk.tensor":
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%d1, {%r1}], [%r5];",
    "cp.async.bulk.prefetch.tensor": "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d1, {%r1}];",
    "cp.async.bulk.commit_group": "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group": "cp.async.bulk.wait_group 0;",
    "tensormap.replace": "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2;",
    # 9.7.10 to 9.7.13
    "tex": "tex.1d.v4.u32.s32 {%r4, %r6, %r7, %r8}, [image, {%r1}];",
    "tld4": "tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f1, %f2}];", "txq": "txq.width.b32 %r4, [image];",
    "istypep": "istypep.texref %p2, %d1;", "suld": "suld.b.1d.b32.trap %r4, [image, {%r1}];",
    "sust": "sust.b.1d.b32.trap [image, {%r1}], %r1;", "sured": "sured.b.add.1d.u32.trap [image, {%r1}], %r1;",
    "suq": "suq.width.b32 %r4, [image];", "bra": "bra END; END:",
    "brx.idx": "bra END; T: .branchtargets END, END2; END: brx.idx %r1, T; END2:", "ret": "@%p1 ret;",
    "call": "call (%r4), twice, (%r1);", "exit": "@%p1 exit;", "bar.sync": "bar.sync 0;",
    "bar.red": "bar.red.popc.u32 %r4, 0, %p1;", "bar.warp.sync": "bar.warp.sync -1;", "barrier": "barrier.sync 0, 64;",
    "barrier.red": "barrier.red.or.pred %p2, 1, %p1;", "membar": "membar.gl;", "fence": "fence.acq_rel.gpu;",
    "atom": "atom.global.add.u32 %r4, [%d1], %r1;", "red": "red.global.add.u32 [%d1], %r1;",
    "vote": "vote.ballot.b32 %r4, %p1;", "vote.sync": "vote.sync.any.pred %p2, %p1, -1;",
    "match.sync": "match.any.sync.b32 %r4, %r1, -1;", "activemask": "activemask.b32 %r4;",
    "bar.arrive": "bar.arrive 0, 64;", "barrier.cluster": "barrier.cluster.arrive;",
    "red.async": "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r1, [%r5];",
    "redux.sync": "redux.sync.add.s32 %r4, %r1, -1;", "elect.sync": "elect.sync %r4|%p2, -1;",
    "griddepcontrol": "griddepcontrol.wait;",
    "mbarrier.init": "mbarrier.init.shared.b64 [%r5], 64;", "mbarrier.inval": "mbarrier.inval.shared.b64 [%r5];",
    "mbarrier.expect_tx": "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r5], 64;",
    "mbarrier.complete_tx": "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r5], 64;",
    "mbarrier.arrive": "mbarrier.arrive.shared.b64 %d4, [%r5];",
    "mbarrier.arrive_drop": "mbarrier.arrive_drop.shared.b64 %d4, [%r5];",
    "mbarrier.test_wait": "mbarrier.test_wait.shared.b64 %p2, [%r5], %d2;",
    "mbarrier.try_wait": "mbarrier.try_wait.shared.b64 %p2, [%r5], %d2;",
    "mbarrier.pending_count": "mbarrier.pending_count.b64 %r4, %d2;",
    "cp.async.mbarrier.arrive": "cp.async.mbarrier.arrive.shared.b64 [%r5];",
    "tensormap.cp_fenceproxy":
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%r5], 128;",
    "clusterlaunchcontrol.try_cancel":
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r5], [%r5];",
    "clusterlaunchcontrol.query_cancel": "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %d2;",
    # 9.7.14 to 9.7.17
    "wmma.load": "wmma.load.a.sync.aligned.row.m8n8k32.s4 {%r4}, [%d1];",
    "wmma.store": "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%d1], {%r1, %r2};",
    "wmma.mma": "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r4, %r6}, {%r1}, {%r2}, {%r3, %r5};",
    "mma": "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r4, %r6}, {%r1}, {%r2}, {%r3, %r5};",
    "mma.sp": "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r4}, {%r1}, {%r2}, {%r3}, %r5, 0;",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r5];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r1};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r1;",
    "wgmma.fence": "wgmma.fence.sync.aligned;", "wgmma.commit_group": "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group": "wgmma.wait_group.sync.aligned 0;",
    "wgmma.mma_async": "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r4}, %d1, %d2, 1;",
    "wgmma.mma_async.sp": "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {%r4}, %d1, %d2, %r1, 0, 1;",
    "tcgen05.alloc": "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r5], 32;",
    "tcgen05.dealloc": "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;",
    "tcgen05.relinquish_alloc_permit": "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "tcgen05.ld": "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r5];",
    "tcgen05.st": "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r1};",
    "tcgen05.wait": "tcgen05.wait::ld.sync.aligned;", "tcgen05.cp": "tcgen05.cp.cta_group::1.128x256b [%r5], %d1;",
    "tcgen05.shift": "tcgen05.shift.cta_group::1.down [%r5];",
    "tcgen05.mma": "tcgen05.mma.cta_group::1.kind::i8 [%r5], %d1, %d2, %r1, %p1;",
    "tcgen05.mma.sp": "tcgen05.mma.sp.cta_group::1.kind::i8 [%r5], %d1, %d2, [%r5], %r1, %p1;",
    "tcgen05.mma.ws": "tcgen05.mma.ws.cta_group::1.kind::i8 [%r5], %d1, %d2, %r1, %p1;",
    "tcgen05.mma.ws.sp": "tcgen05.mma.ws.sp.cta_group::1.kind::i8 [%r5], %d1, %d2, [%r5], %r1, %p1;",
    "tcgen05.fence": "tcgen05.fence::before_thread_sync;",
    "tcgen05.commit": "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d1];",
    "stacksave": "stacksave.u64 %d4;", "stackrestore": "stackrestore.u64 %d1;", "alloca": "alloca.u64 %d4, %d1;",
    # 9.7.18 to 9.7.19
    **{name: f"{name}.s32.u32.s32.sat %r4, %r1.b0, %r2.h1;" for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")},
    **{name: f"{name}.s32.u32.u32.clamp %r4, %r1, %r2;" for name in ("vshl", "vshr")},
    "vmad": "vmad.s32.s32.u32.sat %r4, %r1, %r2, -%r3;", "vset": "vset.u32.u32.ne %r4, %r1, %r2.h1;",
    **{f"{name}{n}": f"{name}{n}.s32.u32.s32 %r4, %r1, %r2, %r3;"
       for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for n in (2, 4)},
    **{f"vset{n}": f"vset{n}.u32.u32.lt %r4, %r1, %r2, %r3;" for n in (2, 4)},
    "brkpt": "brkpt;", "trap": "@%p1 trap;", "nanosleep": "nanosleep.u32 %r1;", "pmevent": "pmevent 7;",
    "setmaxnreg": "setmaxnreg.dec.sync.aligned.u32 64;",
}
"""Statements with each instruction."""
UNJUDGED = {"suld", "sust", "sured", "suq", "mma.sp", "wgmma.mma_async", "wgmma.mma_async.sp",
            "clusterlaunchcontrol.query_cancel"}
"""Those whose operands (surfaces, fragments of matrices, 128 bits) the frame does not declare."""
OUTCOMES = {name: (outcome, reason) for name, outcome, reason in instructions()}


def code(statements):
    return compile_ptx(TEXT.format(statements), "example.ptx")["k"].code


def test_the_page_has_the_table():
    page = PAGE.read_text()
    assert page_with_table(page) == page, "python -m caesura.software.compiler.ptx.instruction_set docs/ptx.md"


@pytest.mark.full
def test_ptxas_knows_every_instruction(tmp_path):
    """On one machine or another; those without ``.sync`` up to PTX 6.3."""
    program = shutil.which("ptxas")
    if program is None:
        pytest.skip("ptxas is not installed")

    def accepts(statement, target, version):
        text = TEXT.format(statement).replace("sm_100a", target).replace(".version 9.0", f".version {version}")
        (tmp_path / "judged.ptx").write_text(text)
        return subprocess.run([program, "-arch", target, "-o", "/dev/null", str(tmp_path / "judged.ptx")], timeout=60,
                              capture_output=True, check=False).returncode == 0
    machines = (("sm_100a", "9.0"), ("sm_90a", "9.0"), ("sm_75", "9.0"), ("sm_75", "6.3"))
    assert [name for name, statement in EXAMPLES.items() if name not in UNJUDGED
            and not any(accepts(statement, *machine) for machine in machines)] == []


def test_each_instruction_stands_once_and_has_an_example():
    names = [name for name, _, _ in instructions()]
    assert len(names) == len({*names}) and {*names} == {*EXAMPLES}
    assert len(names) > 200 and [section.number for section in SECTIONS][0] == "9.7.1"


def test_all_that_the_compiler_takes_is_in_the_table():
    accepted = {name.split(".")[0] for name, (outcome, _) in OUTCOMES.items() if outcome is not Outcome.REFUSED}
    assert accepted - {*supported_opcodes()} <= {"rem", "call"}, "those of the library and of inlining"
    assert {*supported_opcodes()} <= accepted


def test_what_runs_compiles():
    for name, (outcome, _) in OUTCOMES.items():
        if outcome is Outcome.RUNS:
            code(EXAMPLES[name])


def test_what_has_no_effect_leaves_no_code():
    plain = code("")
    for name, (outcome, _) in OUTCOMES.items():
        if outcome is Outcome.NO_EFFECT:
            assert code(EXAMPLES[name]) == plain, name


def test_what_is_refused_is_refused_with_its_reason():
    for name, (outcome, reason) in OUTCOMES.items():
        if outcome is Outcome.REFUSED:
            with pytest.raises(CompileError) as caught:
                code(EXAMPLES[name])
            assert caught.value.line == 13, (name, str(caught.value))
            assert reason
            if "." not in name and name not in supported_opcodes():
                assert caught.value.message.endswith(f": {reason}") and not caught.value.supported


@pytest.mark.parametrize("statement, suggested", [
    ("madd.lo.s32 %r4, %r1, %r2, %r3;", "mad, madc, all that docs/ptx.md lists"),
    ("selpp.b32 %r4, %r1, %r2, %p1;", "selp, all that docs/ptx.md lists"),
    ("fadd.f32 %f4, %f1, %f2;", "all that docs/ptx.md lists"), ("xyz %r1;", "all that docs/ptx.md lists"),
])
def test_an_unknown_instruction_suggests_what_is_written_alike(statement, suggested):
    with pytest.raises(CompileError, match=f"there is no instruction {statement.split()[0]}") as caught:
        code(statement)
    assert caught.value.supported == suggested


@pytest.mark.parametrize("statement", [
    "ld.global.L2::cache_hint.u32 %r4, [%d1], %d2;",
    "ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%r4, %r6}, [%d1], %d2;",
    "st.global.L2::cache_hint.u32 [%d1+4], %r1, %d2;", "atom.global.add.L2::cache_hint.u32 %r4, [%d1], %r1, %d2;",
    "red.global.add.L2::cache_hint.u32 [%d1], %r1, %d2;",
    "atom.global.cas.L2::cache_hint.b32 %r4, [%d1], %r1, %r2, %d2;",
])
def test_a_cache_policy_has_no_effect(statement):
    plain = statement.replace(".L2::cache_hint", "").replace(", %d2;", ";")
    assert code(f"createpolicy.range.global.L2::evict_last.b64 %d2, [%d1], 16, 32; {statement}") == code(plain)
    with pytest.raises(CompileError, match="the instruction needs 64 bits"):
        code(statement.replace("%d2;", "%r2;"))


@pytest.mark.parametrize("end", [b"\0", b"\n\0\0\0"])
def test_a_text_may_end_as_those_of_c(tmp_path, end):
    text = TEXT.format("")
    (tmp_path / "k.ptx").write_bytes(text.encode() + end)
    assert read_source(tmp_path / "k.ptx").rstrip() == text.rstrip()
    assert compile_ptx(text + end.decode())["k"].code == code("")


def test_zero_bytes_within_a_text_are_refused(tmp_path):
    (tmp_path / "k.ptx").write_bytes(TEXT.format("").encode() + b"\0 ret;")
    with pytest.raises(CompileError, match="it holds zero bytes"):
        read_source(tmp_path / "k.ptx")


def test_a_breakpoint_traps():
    assert code("brkpt;") == code("trap;") and code("@%p1 brkpt;") == code("@%p1 trap;")
