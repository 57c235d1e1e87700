"""AMDGPU assembly is read, or refused with one message that names file and line and says what to do."""

import random
from pathlib import Path

import pytest

from caesura.errors import InputError
from caesura.software.compiler.amdgpu import AssemblyError, parse, read
from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.text import Directive, Label, Statement, statements
from caesura.software.kernels.opencl import KERNELS
from support.selection import quick
from support.software.amdgpu_run import small

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.s"))


def test_lines():
    text = """a: ; comment
        .long 4, "x;y" // more
        v_add_f32_e64 v0, -v1, |v2| clamp mul:2
        s_waitcnt vmcnt(0) lgkmcnt(1)
        global_load_dword v0, v[1:2], off offset:16 glc
        s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)
        s_endpgm
        _x.y: s_nop 0"""
    found = list(statements(text, "f"))
    assert found[0] == Label(1, "a") and found[1] == Directive(2, ".long", '4, "x;y"')
    forms = [(one.line, one.mnemonic, one.operands, one.modifiers) for one in found if isinstance(one, Statement)]
    assert forms == [
        (3, "v_add_f32_e64", ("v0", "-v1", "|v2|"), ("clamp", "mul:2")),
        (4, "s_waitcnt", ("vmcnt(0)",), ("lgkmcnt(1)",)),
        (5, "global_load_dword", ("v0", "v[1:2]", "off"), ("offset:16", "glc")),
        (6, "s_getreg_b32", ("s0", "hwreg(HW_REG_MODE, 0, 4)"), ()), (7, "s_endpgm", (), ()), (8, "s_nop", ("0",), ())]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_several_kernels_a_file(path):
    module = read(path)
    assert len(module.kernels) >= 4
    for name, kernel in module.kernels.items():
        facts = analysed(kernel)
        assert kernel.name == name and len(facts.accesses) == len(kernel.code.statements) > 10
        assert sum(block.end - block.start for block in facts.blocks) == len(facts.accesses)
        assert facts.accesses[-1].row.opcode in ("s_endpgm", "s_trap") or facts.blocks[-1].successors


def test_metadata_and_descriptor():
    kernel = read(next(one.assembly for one in KERNELS if one.name == "dot")).kernel("dot")
    assert kernel.number(".group_segment_fixed_size") == 4096
    assert kernel.metadata[".reqd_workgroup_size"] == ["256", "1", "1"]
    assert kernel.described("user_sgpr_kernarg_segment_ptr") == 1
    assert kernel.metadata[".vgpr_count"] == kernel.descriptor["next_free_vgpr"]


@pytest.mark.parametrize(("line", "message"), [
    ("v_frobnicate_b32 v0, v1", r"small\.s:5: no gfx906 instruction 'v_frobnicate_b32' in the table: compile with"),
    ("v_add_u32_e32 v0, v1", r"small\.s:5: v_add_u32_e32 has 2 operands, not 3"),
    ("v_add_u32_e32 v0, q1, v2", r"small\.s:5: operand 'q1' of v_add_u32_e32 is no register"),
    ("v_add_u32_e32 v300, v1, v2", r"small\.s:5: operand 'v300'"),
    ("v_add_u32_e32 4, v1, v2", r"small\.s:5: operand '4'"),
    ("s_swappc_b64 s[30:31], s[4:5]", r"small\.s:5: s_swappc_b64 calls a function, .* -O3 so that .* inlined"),
    ("s_setpc_b64 s[30:31]", r"small\.s:5: s_setpc_b64 jumps to an address in a register"),
    ("s_branch .LBB9", r"small\.s:5: branch to \.LBB9, which is no place in kernel small"),
    ("buffer_load_dword off, s[8:11], s3 lds", r"small\.s:5: buffer_load_dword loads straight into shared memory"),
    ("ds_add_u32 v0, v1 gds", r"small\.s:5: ds_add_u32 uses the global data share"),
    ("image_sample v0, v[0:1], s[0:7], s[8:11]", r"small\.s:5: no gfx906 instruction 'image_sample'"),
    ("v_accvgpr_read_b32 v0, a0", r"small\.s:5: no gfx906 instruction"),
    ("?", r"small\.s:5: neither a label, an instruction nor a directive")])
def test_what_is_refused(line, message):
    with pytest.raises(AssemblyError, match=message):
        analysed(small(line, "s_endpgm"))


@pytest.mark.parametrize(("change", "message"), [
    (lambda text: text.replace("gfx906", "gfx1030"), "2: code for .*gfx1030.*; compile with -mcpu=gfx906"),
    (lambda text: text[:text.index(".amdgpu_metadata")], "no .amdgpu_metadata"),
    (lambda text: text.replace(".wavefront_size: 64", ".wavefront_size: 32"), "waves of 32 lanes, not 64"),
    (lambda text: text.replace(".vgpr_count:", ".vgprs:"), "has no number .vgpr_count"),
    (lambda text: text.replace("@function", "@object"), "instruction outside of a function"),
    (lambda text: text.replace(".amdhsa_kernel vectoradd", ".amdhsa_kernel other"), "kernel other has no code")])
def test_files_that_are_refused(change, message):
    text = next(one.assembly for one in KERNELS if one.name == "vectoradd").read_text()
    with pytest.raises(AssemblyError, match=message):
        analysed(parse(change(text), "file.s").kernel())


def test_a_kernel_is_chosen(tmp_path):
    module = read(CORPUS[0])
    with pytest.raises(InputError, match="has 6 kernels: say which one of alternative, "):
        module.kernel()
    with pytest.raises(InputError, match="no kernel 'neste'"):
        module.kernel("neste")
    with pytest.raises(InputError, match="cannot be read as assembly"):
        read(tmp_path / "none.s")


@pytest.mark.parametrize("path", quick(CORPUS, CORPUS[::3]), ids=lambda path: path.stem)
def test_damaged_files_are_read_or_refused(path):
    """Letters and lines are changed, dropped and doubled: whatever comes, it is no other exception."""
    lines, rng, refused = path.read_text().split("\n"), random.Random(1), 0
    for _ in range(20):
        damaged = list(lines)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(damaged))
            line = damaged[place]
            at = rng.randrange(len(line) + 1)
            damaged[place:place + 1] = rng.choice((
                [], [line, line], [line[:at]], [line[:at] + rng.choice("x0[]:,.- \"|s\tv") + line[at + 1:]],
                [lines[rng.randrange(len(lines))]]))
        try:
            for kernel in parse("\n".join(damaged), "damaged.s").kernels.values():
                analysed(kernel)
        except InputError as error:
            refused += 1
            assert "damaged.s" in str(error)
    assert 0 < refused < 20
