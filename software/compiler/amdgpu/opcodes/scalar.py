"""Scalar instructions (SOP1, SOP2, SOPC, SOPK, SOPP) and scalar memory (SMEM) of gfx906.

Source: AMD, "Vega 7nm" Instruction Set Architecture (2020), chapter 12.
"""

from __future__ import annotations

from .rows import Kind, Row, rows

__all__ = ["SCALAR"]

_B = "_b{32,64}"

SCALAR: list[Row] = [
    # results of one or two sources; the condition code does not change
    *rows(f"s_{{mov,brev}}{_B} s_movk_i32 s_ff{{0,1}}_i32{_B} s_flbit_i32 s_flbit_i32{_B} s_flbit_i32_i64 "
          "s_sext_i32_i{8,16} s_bitreplicate_b64_b32", "ds"),
    *rows(f"s_bfm{_B} s_mul_i32 s_mul_hi_{{i,u}}32 s_pack_{{ll,lh,hh}}_b32_b16", "dss"),
    # instructions that read it
    *rows(f"s_cselect{_B}", "dss", reads="scc"),
    *rows(f"s_cmov{_B} s_cmovk_i32", "bs", reads="scc"),
    # instructions that write it
    *rows(f"s_{{not,quadmask,wqm}}{_B} s_bcnt{{0,1}}_i32{_B} s_abs_i32", "ds", writes="scc"),
    *rows(f"s_{{and,or,xor,andn2,orn2,nand,nor,xnor}}{_B} s_{{lshl,lshr}}{_B} s_ashr_i{{32,64}} "
          "s_bfe_{i,u}{32,64} s_{add,sub}_{u,i}32 s_{min,max}_{i,u}32 s_absdiff_i32 s_lshl{1,2,3,4}_add_u32",
          "dss", writes="scc"),
    *rows("s_{addc,subb}_u32", "dss", reads="scc", writes="scc"),
    *rows("s_addk_i32", "bs", writes="scc"),
    *rows("s_mulk_i32", "bs"),
    *rows(f"s_bitset{{0,1}}{_B}", "bs"),
    *rows("s_cmp_{eq,lg,gt,ge,lt,le}_{i,u}32 s_cmp_{eq,lg}_u64 s_cmpk_{eq,lg,gt,ge,lt,le}_{i,u}32 "
          "s_bitcmp{0,1}_b{32,64}", "ss", writes="scc"),
    # masks
    *rows("s_{and,or,xor,andn1,andn2,orn1,orn2,nand,nor,xnor}_saveexec_b64 s_andn{1,2}_wrexec_b64", "ds",
          reads="exec", writes="exec scc"),
    # vector registers selected at run time (`accesses`); scalar ones (``s_movrels``) are refused
    *rows("s_set_gpr_idx_on", "s-", Kind.LIMIT, reads="m0 mode", writes="m0 mode"),
    *rows("s_set_gpr_idx_off", "", Kind.LIMIT, reads="mode", writes="mode"),
    # instructions that cannot be repeated: clocks; the program counter, which a routine does not share; modes
    *rows("s_getpc_b64 s_mem{,real}time", "d", Kind.FIXED),
    *rows("s_getreg_b32", "d-", Kind.FIXED, reads="mode"),
    *rows("s_setreg_b32", "-s", Kind.FIXED, reads="mode", writes="mode"),
    *rows("s_setreg_imm32_b32", "--", Kind.FIXED, reads="mode", writes="mode"),
    # the order of execution
    *rows("s_branch", "-", Kind.BRANCH),
    *rows("s_cbranch_scc{0,1}", "-", Kind.BRANCH, reads="scc"),
    *rows("s_cbranch_vcc{z,nz}", "-", Kind.BRANCH, reads="vcc"),
    *rows("s_cbranch_exec{z,nz}", "-", Kind.BRANCH, reads="exec"),
    *rows("s_endpgm", "", Kind.END),
    *rows("s_nop s_sleep s_setprio s_incperflevel s_decperflevel", "-", Kind.WAIT),
    *rows("s_waitcnt", "-", Kind.WAIT),
    *rows("s_wakeup s_icache_inv s_ttracedata", "", Kind.WAIT),
    *rows("s_barrier", "", Kind.LIMIT),
    *rows("s_dcache_{inv,wb}{,_vol}", "", Kind.CACHE),
    *rows("s_trap s_sethalt", "-", Kind.CACHE),
    *rows("s_sendmsg s_sendmsghalt", "-", Kind.CACHE, reads="m0"),
    # memory through the scalar cache
    *rows("s_load_dword{,x2,x4,x8,x16}", "dss", Kind.LOAD, "constant"),
    *rows("s_buffer_load_dword{,x2,x4,x8,x16}", "dss", Kind.LOAD, "constant"),
    *rows("s_{,buffer_}store_dword{,x2,x4}", "sss", Kind.STORE, "global"),
    *rows("s_{,buffer_}atomic_{add,and,cmpswap,dec,inc,or,smax,smin,sub,swap,umax,umin,xor}{,_x2}", "sss", Kind.ATOMIC,
          "global"),
]
"""Rows of scalar instructions."""
