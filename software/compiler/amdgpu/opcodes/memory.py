"""Vector memory of gfx906: global, flat, scratch, buffers, and local data share (DS).

A load of 16 bits into half a register keeps the other half. An atomic operation with ``glc`` (or ``_rtn``) has a
result; a buffer's result replaces the data. Buffers are either the scratch of a thread or global memory. Assembly does
not say which, so they count as both.

Source: AMD, "Vega 7nm" Instruction Set Architecture (2020), chapters 8 to 11.
"""

from __future__ import annotations

from .rows import Kind, Row, rows

__all__ = ["MEMORY"]

_WORDS, _PARTS = "dword{,x2,x3,x4}", "{ubyte,sbyte,ushort,sshort}"
_HALVES = "{ubyte,sbyte,short}_d16{,_hi}"
_STORES = "{byte,short}{,_d16_hi}"
_ATOMICS = "{add,and,dec,inc,or,smax,smin,sub,swap,umax,umin,xor,cmpswap}{,_x2}"


def _addressed(prefix: str, space: str, address: str, reads: str) -> list[Row]:
    """Return the rows of one way of addressing; `address` holds the roles of an address."""
    return [
        *rows(f"{prefix}_load_{_WORDS} {prefix}_load_{_PARTS}", "d" + address, Kind.LOAD, space, reads),
        *rows(f"{prefix}_load_{_HALVES}", "d" + address, Kind.LOAD, space, reads, keeps=True)]


_FLAT = [
    *_addressed("global", "global", "ss", "exec"),
    *rows(f"global_store_{_WORDS} global_store_{_STORES}", "sss", Kind.STORE, "global", "exec"),
    *rows(f"global_atomic_{_ATOMICS}", "sss", Kind.ATOMIC, "global", "exec"),
    *_addressed("scratch", "scratch", "ss", "exec flat_scratch"),
    *rows(f"scratch_store_{_WORDS} scratch_store_{_STORES}", "sss", Kind.STORE, "scratch", "exec flat_scratch"),
    *_addressed("flat", "", "s", "exec flat_scratch"),
    *rows(f"flat_store_{_WORDS} flat_store_{_STORES}", "ss", Kind.STORE, "", "exec flat_scratch"),
    *rows(f"flat_atomic_{_ATOMICS}", "ss", Kind.ATOMIC, "", "exec flat_scratch"),
]

_BUFFER = [
    *_addressed("buffer", "", "sss", "exec"),
    *rows(f"buffer_store_{_WORDS} buffer_store_{_STORES}", "ssss", Kind.STORE, "", "exec"),
    *rows(f"buffer_atomic_{_ATOMICS}", "ssss", Kind.ATOMIC, "", "exec"),
    *rows("buffer_load_format_{x,xy,xyz,xyzw,d16_x,d16_xy,d16_xyz,d16_xyzw}", "dsss", Kind.LOAD, "", "exec",
          keeps=True),
    *rows("buffer_load_format_d16_hi_x", "dsss", Kind.LOAD, "", "exec", keeps=True),
    *rows("buffer_store_format_{x,xy,xyz,xyzw,d16_x,d16_xy,d16_xyz,d16_xyzw,d16_hi_x}", "ssss", Kind.STORE, "", "exec"),
    *rows("buffer_wbinvl1{,_vol}", "", Kind.CACHE, reads="exec"),
]



def _ds(names: str, plain: str, returning: str) -> list[Row]:
    """Return rows of updates of shared memory without and with a result; ``@`` in `names` marks where ``_rtn`` goes."""
    return [*rows(names.replace("@", ""), plain, Kind.ATOMIC, "lds", "exec"),
            *rows(names.replace("@", "_rtn"), returning, Kind.ATOMIC, "lds", "exec")]


_SHARED = [
    *rows("ds_read_b{32,64,96,128} ds_read_{i,u}{8,16} ds_read2{,st64}_b{32,64}", "ds", Kind.LOAD, "lds", "exec"),
    *rows("ds_read_{u8,i8,u16}_d16{,_hi}", "ds", Kind.LOAD, "lds", "exec", keeps=True),
    *rows("ds_write_b{8,16,32,64,96,128} ds_write_b{8,16}_d16_hi", "ss", Kind.STORE, "lds", "exec"),
    *rows("ds_write2{,st64}_b{32,64}", "sss", Kind.STORE, "lds", "exec"),
    *rows("ds_read_addtid_b32", "d", Kind.LOAD, "lds", "exec m0"),
    *rows("ds_write_addtid_b32", "s", Kind.STORE, "lds", "exec m0"),
    *_ds("ds_{add,sub,rsub,inc,dec,min,max}@_u{32,64} ds_{min,max}@_i{32,64} ds_{and,or,xor}@_b{32,64} ds_add@_f32 "
         "ds_{min,max}@_f{32,64}", "ss", "dss"),
    *_ds("ds_cmpst@_{b,f}{32,64} ds_mskor@_b{32,64}", "sss", "dsss"),
    *rows("ds_wrxchg_rtn_b{32,64} ds_condxchg32_rtn_b64", "dss", Kind.ATOMIC, "lds", "exec"),
    *rows("ds_wrxchg2{,st64}_rtn_b{32,64} ds_wrap_rtn_b32", "dsss", Kind.ATOMIC, "lds", "exec"),
    *rows("ds_{append,consume}", "d", Kind.ATOMIC, "lds", "exec m0"),
    # exchange between lanes; no memory
    *rows("ds_swizzle_b32", "ds", Kind.LANES, reads="exec"),
    *rows("ds_{permute,bpermute}_b32", "dss", Kind.LANES, reads="exec"),
    *rows("ds_nop", "", Kind.WAIT),
]

MEMORY: list[Row] = [*_FLAT, *_BUFFER, *_SHARED]
"""Rows of vector memory instructions."""
