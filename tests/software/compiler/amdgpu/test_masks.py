"""Masks and liveness: a write kills by lane, never lanes that a mask wakes again."""

from pathlib import Path

import pytest

from caesura.software.compiler.amdgpu import read
from caesura.software.compiler.amdgpu.flow import basic_blocks
from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.masks import Change, masks
from caesura.software.compiler.amdgpu.operands import name
from support.software.amdgpu_run import small

CORPUS = Path(__file__).parent / "corpus"
SAVE, WAKE = "s_and_saveexec_b64 s[0:1], vcc", "s_or_b64 exec, exec, s[0:1]"
END = ("global_store_dword v[8:9], v0, off", "s_endpgm")


def known(*lines):
    """Return what is known of the masks of a small kernel."""
    kernel = small(*lines)
    facts = analysed(kernel)
    return masks(basic_blocks(kernel, facts.accesses), facts.accesses)


def live(facts, index):
    return {name(reg) for reg in facts.liveness.before[index]}


def test_a_saved_mask_brings_all_lanes_back():
    found = known("v_cmp_eq_u32_e32 vcc, 0, v0", SAVE, "v_mov_b32_e32 v1, 0", WAKE, "v_mov_b32_e32 v1, 0", "s_endpgm")
    assert found.full == [True, True, False, False, True, True]
    assert found.changes[1] is Change.NARROWING and found.changes[3] is Change.WIDENING


def test_alternatives_bring_all_lanes_back():
    found = known("v_cmp_eq_u32_e32 vcc, 0, v0", SAVE, "s_xor_b64 s[0:1], exec, s[0:1]", "s_cbranch_execz .L",
                  "v_cmp_eq_u32_e32 vcc, 1, v0", "s_and_saveexec_b64 s[2:3], vcc", "v_mov_b32_e32 v1, 1",
                  "s_or_b64 exec, exec, s[2:3]", ".L: s_andn2_saveexec_b64 s[0:1], s[0:1]", "v_mov_b32_e32 v1, 2", WAKE,
                  "v_mov_b32_e32 v1, 0", "s_endpgm")
    assert [index for index, full in enumerate(found.full) if full] == [0, 1, 11, 12]


def test_a_loop_that_lanes_leave_one_by_one():
    found = known("s_mov_b64 s[0:1], 0", ".L: v_cmp_eq_u32_e32 vcc, 0, v0", "s_or_b64 s[0:1], vcc, s[0:1]",
                  "s_andn2_b64 exec, exec, s[0:1]", "v_add_u32_e32 v0, -1, v0", "s_cbranch_execnz .L", WAKE, "s_nop 0",
                  "s_endpgm")
    assert [index for index, full in enumerate(found.full) if full] == [0, 7, 8]


@pytest.mark.parametrize("line", ["s_mov_b64 exec, -1", "s_not_b64 exec, exec", "s_or_saveexec_b64 s[6:7], -1",
                                  "s_mov_b64 exec, s[10:11]", "s_mov_b32 exec_lo, s10", "s_wqm_b64 exec, exec"])
def test_whole_waves_are_not_trusted(line):
    """If lanes from outside the start may be on, no place is known to have all lanes."""
    found = known("v_mov_b32_e32 v1, 0", line, "v_mov_b32_e32 v1, 0", "s_endpgm")
    assert not any(found.full) and found.changes[1] in (Change.ANY, Change.WIDENING)


def test_a_mask_that_is_written_is_forgotten():
    found = known("v_cmp_eq_u32_e32 vcc, 0, v0", SAVE, "s_mov_b32 s1, 5", "s_nop 0", WAKE, "s_nop 0", "s_endpgm")
    assert not any(found.full)


def test_a_write_under_a_mask_kills_nothing_that_is_woken():
    """v0 is written by the lanes that are on; the others wake with their old v0, which is stored."""
    lines = ("v_cmp_eq_u32_e32 vcc, 0, v1", SAVE, "v_mov_b32_e32 v0, 7", WAKE, *END)
    facts = analysed(small(*lines))
    assert all("v0" in live(facts, index) for index in range(4))
    write = facts.code[0].block.instructions[2]
    assert "v0" in map(name, write.uses), "the old value is an operand"


def test_a_register_of_the_narrowed_part_is_dead_outside():
    """v2 is only of use within; nothing says that it was live before, nor that the write needs its old value."""
    lines = ("v_cmp_eq_u32_e32 vcc, 0, v1", SAVE, "v_mov_b32_e32 v2, 7", "v_add_u32_e32 v0, v2, v0", WAKE, *END)
    facts = analysed(small(*lines))
    assert "v2" not in live(facts, 0) | live(facts, 2) and "v2" in live(facts, 3)
    assert "v2" not in map(name, facts.code[0].block.instructions[2].uses)


def test_all_lanes_kill():
    facts = analysed(small("v_mov_b32_e32 v0, 7", "v_cmp_eq_u32_e32 vcc, 0, v1", SAVE, "v_mov_b32_e32 v1, v0", WAKE,
                           *END))
    assert "v0" not in live(facts, 0)


def test_lanes_that_have_left_a_loop_keep_their_results():
    lines = ("s_mov_b64 s[0:1], 0", ".L: v_mov_b32_e32 v0, v3", "v_cmp_eq_u32_e32 vcc, 0, v3",
             "s_or_b64 s[0:1], vcc, s[0:1]", "s_andn2_b64 exec, exec, s[0:1]", "v_add_u32_e32 v3, -1, v3",
             "s_cbranch_execnz .L", WAKE, *END)
    facts = analysed(small(*lines))
    loop = facts.code[1].block.instructions
    assert "v0" in map(name, loop[0].uses), "lanes that have left need their v0"
    assert "v3" not in [name(reg) for reg in facts.liveness.kept[5]], "nobody needs v3 afterwards"


def test_the_branch_that_no_lane_takes():
    """Behind ``s_cbranch_execz`` no lane is on, so what lanes that are on need there is not needed here."""
    facts = analysed(small("v_cmp_eq_u32_e32 vcc, 0, v1", SAVE, "s_cbranch_execz .L", "v_mov_b32_e32 v0, 7",
                           ".L: v_mov_b32_e32 v5, v0", WAKE, "global_store_dword v[8:9], v1, off", "s_endpgm"))
    assert "v0" not in live(facts, 2)


def test_other_lanes_are_read():
    """A lane that is off is read by ``v_readlane``: what it holds is live."""
    facts = analysed(small("v_cmp_eq_u32_e32 vcc, 0, v1", SAVE, "v_mov_b32_e32 v2, 7", "v_readlane_b32 s5, v2, 3",
                           "v_mov_b32_e32 v0, s5", WAKE, *END))
    assert "v2" in live(facts, 1)
    assert "v2" in map(name, facts.code[0].block.instructions[2].uses)


def test_single_lanes_that_are_written_stay():
    """Spilt scalar registers lie in lanes that may never be on: no vector write kills them."""
    facts = analysed(small("v_writelane_b32 v4, s9, 63", "v_mov_b32_e32 v6, 0", "v_readlane_b32 s9, v4, 63",
                           "v_mov_b32_e32 v0, s9", *END))
    assert all("v4" in live(facts, index) for index in (0, 1, 2)) and "v4" not in live(facts, 3)


def test_exec_is_an_operand_and_live():
    facts = analysed(small("v_mov_b32_e32 v0, 7", *END))
    assert {"exec_lo", "exec_hi"} <= {*map(name, facts.code[0].block.instructions[0].uses)} & live(facts, 0)


def test_divergent_kernels_of_llvm_find_all_lanes_again():
    kernels = read(CORPUS / "branches.s").kernels
    for word in ("alternative", "keeps_old", "own_turns", "ends_early"):
        facts = analysed(kernels[word])
        found = masks(facts.blocks, facts.accesses)
        assert found.full[0] and not all(found.full)
        stores = [index for index, one in enumerate(facts.accesses) if one.row.opcode == "global_store_dword"]
        assert word == "ends_early" or found.full[stores[-1]], word
