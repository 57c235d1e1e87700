"""Which memory operations can be done again until when: hazards by space, barriers, arguments, constants."""

import pytest

from caesura.software.compiler.amdgpu.front_end import analysed, occupied_bytes, places
from caesura.software.compiler.flashback.blocks import Effect
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.search import Search
from support.software.amdgpu_run import COSTS, small

LOAD, SHARED = "global_load_dword v0, v[2:3], off", "ds_read_b32 v0, v2"
STORE, WRITE = "global_store_dword v[4:5], v6, off", "ds_write_b32 v4, v6"


def effects(*lines, racing=False):
    """Return what the instructions of a small kernel do with memory."""
    (code,) = analysed(small(*lines, "s_endpgm"), racing).code
    return [(one.effect, one.region) for one in code.block.instructions[:-1]]


def repeated(*lines, racing=False):
    """Return before how many of the later instructions the first can still be executed again."""
    (code,) = analysed(small(*lines, "s_endpgm"), racing).code
    return code.block.hazard[0]


@pytest.mark.parametrize(("lines", "until"), [
    ((LOAD, "s_nop 0", STORE, "s_nop 0"), 2), ((LOAD, WRITE, "s_nop 0", STORE), 3), ((SHARED, STORE, WRITE), 2),
    ((SHARED, "s_barrier", WRITE), 1), ((LOAD, "s_barrier", STORE), 1), ((LOAD, "buffer_wbinvl1_vol", STORE), 1),
    ((LOAD, "flat_store_dword v[4:5], v6", STORE), 1), ((SHARED, "flat_store_dword v[4:5], v6", WRITE), 1),
    ((LOAD, "global_atomic_add v[4:5], v6, off", "s_nop 0"), 1), ((SHARED, "ds_add_u32 v4, v6", "s_nop 0"), 1),
    ((LOAD, "buffer_store_dword v6, off, s[0:3], 0", "s_nop 0"), 1),
    (("flat_load_dword v0, v[2:3]", WRITE, STORE), 1),
    (("buffer_load_dword v0, off, s[0:3], 0", "s_nop 0", STORE), 2),
    (("scratch_load_dword v0, v2, off", STORE, WRITE, "scratch_store_dword v2, v3, off"), 3)])
def test_a_load_is_repeated_until_a_store_that_it_may_see(lines, until):
    assert repeated(*lines) == until


def test_what_no_store_touches_is_repeated_for_ever():
    assert repeated(LOAD, WRITE, "s_nop 0") == 4, "the kernel never writes global memory"
    assert repeated("s_load_dword s0, s[4:5], 0x0", STORE, "s_dcache_wb") == 4, "an argument"
    assert repeated("v_mov_b32_e32 v0, v1", "buffer_wbinvl1_vol", STORE) == 4, "only registers"


def test_nothing_is_repeated_behind_a_barrier():
    assert repeated("v_mov_b32_e32 v0, v1", "s_barrier", STORE) == 1


def test_atomic_and_volatile_loads_are_not_repeated():
    assert effects(LOAD + " glc") == effects(LOAD + " glc", STORE)[:1] == [(Effect.FIXED, "")]


def test_with_races_nothing_that_is_written_is_read_again():
    assert effects(LOAD, SHARED, STORE, racing=True)[:2] == [(Effect.FIXED, "")] * 2
    assert effects(LOAD, WRITE, racing=True)[0] == (Effect.COMPUTE, "")
    assert repeated("s_load_dword s0, s[4:5], 0x0", STORE, racing=True) == 3


def test_arguments_are_known_by_their_pointer():
    argument, loaded, overwritten, copied = "s_load_dword s0, s[4:5], 0x0", "s_load_dword s0, s[8:9], 0x0", \
        "s_mov_b32 s4, s20", "s_mov_b64 s[8:9], s[4:5]"
    assert effects(argument, STORE)[0] == (Effect.COMPUTE, "")
    assert effects(loaded, STORE)[0] == (Effect.READ, "global")
    assert effects(overwritten, argument, STORE)[1] == (Effect.READ, "global")
    assert effects(copied, loaded, STORE)[1] == (Effect.COMPUTE, "")
    assert effects(loaded, WRITE)[0] == (Effect.COMPUTE, "")


def test_arguments_are_known_on_all_paths():
    facts = analysed(small("s_cbranch_scc0 .L", "s_mov_b32 s4, 0", ".L: s_load_dword s0, s[4:5], 0x0", STORE,
                           "s_endpgm"))
    assert facts.code[2].block.instructions[0].effect is Effect.READ


@pytest.mark.parametrize("line", ["s_memtime s[0:1]", "s_getpc_b64 s[0:1]",
                                  "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)"])
def test_what_is_never_repeated(line):
    assert effects(line) == [(Effect.FIXED, "")]


def test_a_plan_does_not_read_again_what_was_stored():
    """v0 is loaded, then a store may have changed it: v0 is saved, not its address."""
    kernel = small(LOAD, STORE, "global_store_dword v[4:5], v0, off", "s_endpgm")
    (code,) = analysed(kernel).code
    search = Search(code.block, COSTS)
    assert search.live_size(1) > search.live_size(2)
    saved = {str(code.block.register_of[value]) for value in search.routines(search.plan(2, Objective.SIZE)).saved}
    assert "R0" in saved


def test_what_a_wave_occupies():
    """30 vector registers are given as 32, 20 scalar ones as 32; four waves share the memory of 256 threads."""
    kernel = small("s_endpgm", shared=1000)
    assert occupied_bytes(kernel) == 32 * 256 + 32 * 4 + 250
    assert [reg.index for reg in places(kernel)][:13] == [*range(16, 28), 0]
