"""What instructions read and write: the forms that are easily got wrong, each with its registers."""

import re

import pytest

from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.opcodes import OPCODES
from caesura.software.compiler.amdgpu.operands import name, registers
from support.software.amdgpu_run import small

EXEC = "exec_lo exec_hi"


def accessed(line):
    """Return names of what a line writes and reads."""
    one = analysed(small(line, "s_endpgm")).accesses[0]
    return " ".join(map(name, one.defs)), " ".join(sorted(map(name, one.uses))), one


@pytest.mark.parametrize(("line", "defs", "uses"), [
    ("v_add_u32_e32 v0, s1, v2", "v0", f"{EXEC} s1 v2"),
    ("v_add_f64 v[0:1], -v[2:3], |v[4:5]|", "v0 v1", f"{EXEC} v2 v3 v4 v5"),
    ("v_add_co_u32_e32 v0, vcc, v1, v2", "v0 vcc_lo vcc_hi", f"{EXEC} v1 v2"),
    ("v_addc_co_u32_e64 v0, s[0:1], v1, v2, s[2:3]", "v0 s0 s1", f"{EXEC} s2 s3 v1 v2"),
    ("v_cndmask_b32_e32 v0, v1, v2, vcc", "v0", f"{EXEC} v1 v2 vcc_lo vcc_hi"),
    ("v_cmp_lt_f32_e64 s[0:1], v0, 0", "s0 s1", f"{EXEC} v0"),
    ("v_cmpx_lt_f32_e32 vcc, v0, v1", "vcc_lo vcc_hi exec_lo exec_hi", f"{EXEC} v0 v1"),
    ("v_div_fmas_f32 v0, v1, v2, v3", "v0", f"{EXEC} v1 v2 v3 vcc_lo vcc_hi"),
    ("v_div_scale_f32 v0, s[0:1], v1, v2, v3", "v0 s0 s1", f"{EXEC} v1 v2 v3"),
    ("v_mad_u64_u32 v[0:1], vcc, v2, s3, v[4:5]", "v0 v1 vcc_lo vcc_hi", f"{EXEC} s3 v2 v4 v5"),
    ("v_swap_b32 v0, v1", "v0 v1", f"{EXEC} v0 v1"),
    ("v_readfirstlane_b32 s0, v1", "s0", f"{EXEC} v1"),
    ("v_readlane_b32 s0, v1, m0", "s0", "m0 v1"),
    ("s_add_u32 s0, s1, 4", "s0 scc", "s1"),
    ("s_addc_u32 s0, s1, s2", "s0 scc", "s1 s2 scc"),
    ("s_mul_i32 s0, s1, s2", "s0", "s1 s2"),
    ("s_cselect_b64 s[0:1], -1, 0", "s0 s1", "scc"),
    ("s_cmov_b32 s0, s1", "s0", "s0 s1 scc"),
    ("s_addk_i32 s0, 0x10", "s0 scc", "s0"),
    ("s_and_saveexec_b64 s[0:1], vcc", "s0 s1 exec_lo exec_hi scc", f"{EXEC} vcc_lo vcc_hi"),
    ("s_mov_b32 m0, s1", "m0", "s1"),
    ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "s0 s1", "s4 s5"),
    ("global_load_dwordx2 v[0:1], v2, s[4:5] offset:8", "v0 v1", f"{EXEC} s4 s5 v2"),
    ("global_store_dwordx2 v[0:1], v[2:3], off", "", f"{EXEC} v0 v1 v2 v3"),
    ("global_atomic_add v0, v[1:2], v3, off glc", "v0", f"{EXEC} v1 v2 v3"),
    ("global_atomic_add v[1:2], v3, off", "", f"{EXEC} v1 v2 v3"),
    ("buffer_atomic_add v0, off, s[0:3], 0 glc", "v0", f"{EXEC} s0 s1 s2 s3 v0"),
    ("flat_load_dword v0, v[2:3]", "v0", f"{EXEC} flat_scratch_hi flat_scratch_lo v2 v3"),
    ("ds_read2_b32 v[0:1], v2 offset1:1", "v0 v1", f"{EXEC} v2"),
    ("ds_add_rtn_u32 v0, v1, v2", "v0", f"{EXEC} v1 v2"),
    ("ds_bpermute_b32 v0, v1, v2", "v0", f"{EXEC} v1 v2"),
    ("v_mov_b32_e32 v0, src_shared_base", "v0", EXEC),
    ("v_mov_b32_e32 v0, table@rel32@lo+4", "v0", EXEC),
    ("s_cbranch_vccz .L", "", "vcc_hi vcc_lo"), ("s_waitcnt vmcnt(0) lgkmcnt(0)", "", "")])
def test_what_is_written_and_read(line, defs, uses):
    found = accessed(".L: " + line)
    assert found[:2] == (defs, " ".join(sorted(uses.split())))


@pytest.mark.parametrize("line", [
    "v_fmac_f32_e32 v0, v1, v2", "v_mac_f32_e32 v0, v1, v2", "v_writelane_b32 v0, s1, 3",
    "global_load_short_d16_hi v0, v[1:2], off", "global_load_ubyte_d16 v0, v[1:2], off", "ds_read_u16_d16_hi v0, v1",
    "v_fma_mixhi_f16 v0, v1, v2, v1", "v_fma_mixlo_f16 v0, v1, v2, v1", "v_mad_u16 v0, v1, v2, v1",
    "v_add_u16_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
    "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf bound_ctrl:0",
    "v_add_f16_e64 v0, v1, v2 op_sel:[0,0,1]"])
def test_what_reads_its_old_destination(line):
    defs, uses, one = accessed(line)
    assert defs == "v0" and "v0" in uses.split() and one.keeps


@pytest.mark.parametrize("line", [
    "v_add_u16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
    "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "v_add_f16_e32 v0, v1, v2",
    "v_pk_add_f16 v0, v1, v2 op_sel:[0,1] op_sel_hi:[1,0]", "global_load_ubyte v0, v[1:2], off"])
def test_what_does_not(line):
    defs, uses, one = accessed(line)
    assert defs == "v0" and "v0" not in uses.split() and not one.keeps


def test_the_mode_register_counts_if_it_is_written():
    facts = analysed(small("v_add_f32_e32 v0, v1, v2", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
                           "v_add_u32_e32 v0, v1, v2", "s_endpgm"))
    assert "mode" in map(name, facts.accesses[0].uses) and "mode" not in map(name, facts.accesses[2].uses)
    assert "mode" not in accessed("v_add_f32_e32 v0, v1, v2")[1]


def test_registers_that_are_found_at_run_time():
    """A move between ``s_set_gpr_idx_on`` and ``off`` reads every register, or writes one of all."""
    facts = analysed(small("s_set_gpr_idx_on s1, gpr_idx(DST)", "v_mov_b32_e32 v3, v9", "s_set_gpr_idx_off",
                           "s_set_gpr_idx_on s1, gpr_idx(SRC0)", "v_mov_b32_e32 v3, v9", "s_set_gpr_idx_off",
                           "s_endpgm"))
    to, source = facts.accesses[1], facts.accesses[4]
    assert {f"v{n}" for n in range(32)} <= {*map(name, to.defs)} & {*map(name, to.uses)} and to.keeps
    assert [*map(name, source.defs)] == ["v3"] and {f"v{n}" for n in range(32)} <= {*map(name, source.uses)}


def test_names_lead_back():
    for word in ("v0", "v255", "s0", "s101", "vcc_lo", "exec_hi", "m0", "flat_scratch_lo", "xnack_mask_hi", "scc"):
        (reg,) = registers(word)
        assert name(reg) == word
    assert registers("v[3:5]") == (*registers("v3"), *registers("v4"), *registers("v5"))
    assert registers("v[5:3]") is None and registers("s102") is None and registers("a0") is None
    assert [registers(word) for word in ("0x10", "-4", "1.0", "off", "-0.5", "0.15915494")] == [()] * 6


def test_the_table_is_of_one_mind():
    """Results come first; memory operations say what they do; a carry or condition code that is read is named."""
    for row in OPCODES.values():
        assert re.fullmatch(r"[db]*[sb-]*|-?s?|d-", row.roles), row
        assert row.space == "" or row.kind.value in ("load", "store", "atomic"), row
        assert row.kind.value not in ("load", "atomic") or "s" in row.roles or "m0" in row.reads, row
    assert len(OPCODES) > 950
