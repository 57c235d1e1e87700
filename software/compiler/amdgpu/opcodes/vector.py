"""Vector instructions (VOP1, VOP2, VOP3, VOPC, VOP3P) of gfx906, without the suffix of their encoding.

Nearly all read the mask ``exec`` and write the lanes in which it is set. Instructions that add, multiply or convert
floating point read the mode register (rounding, denormals). Most results of 16 bits set the other half of the register
to zero. Instructions that keep it, or for which the manual says nothing, are `keeps`.

Source: AMD, "Vega 7nm" Instruction Set Architecture (2020), chapter 12.
"""

from __future__ import annotations

from .rows import Kind, Row, rows

__all__ = ["VECTOR"]

_INT, _FLOAT = "exec", "exec mode"
_FLOATS = "f{16,32,64}"

_ONE = [
    *rows("v_{mov,not,bfrev,ffbl}_b32 v_ffbh_{u,i}32 v_sat_pk_u8_i16 v_cvt_off_f32_i4", "ds", reads=_INT),
    *rows(f"v_{{ceil,floor,fract,trunc,rndne,rcp,rsq,sqrt,frexp_mant}}_{_FLOATS} v_{{exp,log,sin,cos}}_f{{16,32}} "
          "v_{exp,log}_legacy_f32 v_rcp_iflag_f32 v_frexp_exp_i16_f16 v_frexp_exp_i32_f{32,64} v_cvt_f16_{f32,i16,u16} "
          "v_cvt_f32_{f16,f64,i32,u32,ubyte0,ubyte1,ubyte2,ubyte3} v_cvt_f64_{f32,i32,u32} v_cvt_{flr,rpi}_i32_f32 "
          "v_cvt_{i16,u16}_f16 v_cvt_{i32,u32}_f{32,64} v_cvt_norm_{i16,u16}_f16", "ds", reads=_FLOAT),
    *rows("v_swap_b32", "bb", reads=_INT),
    *rows("v_nop", "", Kind.WAIT),
]

_TWO = [
    *rows("v_{and,or,xor,xnor}_b32 v_{lshl,lshr}rev_b{16,32,64} v_ashrrev_i{16,32,64} v_{add,sub,subrev}_u{16,32} "
          "v_{add,sub}_i{16,32} v_{min,max}_{i,u}{16,32} v_mul_{i32_i24,u32_u24,hi_i32_i24,hi_u32_u24,lo_u16} "
          "v_mul_lo_{u,i}32 v_mul_hi_{i,u}32 v_bcnt_u32_b32 v_bfm_b32 v_mbcnt_{lo,hi}_u32_b32 v_pack_b32_f16 "
          "v_cvt_pk_{i16_i32,u16_u32}", "dss", reads=_INT),
    *rows(f"v_{{add,sub,subrev}}_f{{16,32}} v_add_f64 v_{{mul,min,max,ldexp}}_{_FLOATS} v_mul_legacy_f32 "
          "v_cvt_pkrtz_f16_f32 v_cvt_pknorm_{i16,u16}_f{16,32} v_trig_preop_f64", "dss", reads=_FLOAT),
    *rows("v_cvt_pkaccum_u8_f32", "bss", reads=_FLOAT),
    *rows("v_{fmac,mac}_f32 v_mac_f16", "bss", reads=_FLOAT),
    # carries are in a mask of lanes, which is printed
    *rows("v_{add,sub,subrev}_co_u32", "ddss", reads=_INT),
    *rows("v_{addc,subb,subbrev}_co_u32", "ddsss", reads=_INT),
    *rows("v_cndmask_b32", "dsss", reads=_INT),
]

_THREE = [
    *rows("v_add3_u32 v_add_lshl_u32 v_alignbit_b32 v_alignbyte_b32 v_and_or_b32 v_bfe_{i,u}32 v_bfi_b32 v_lerp_u8 "
          "v_lshl_add_u32 v_lshl_or_b32 v_mad_{i32_i16,i32_i24,u32_u16,u32_u24} v_{max3,med3,min3}_{i,u}32 v_msad_u8 "
          "v_{mqsad,qsad}_pk_u16_u8 v_mqsad_u32_u8 v_or3_b32 v_perm_b32 v_sad_{u8,u16,u32,hi_u8} v_xad_u32 "
          "v_mad_legacy_{i,u}16", "dsss", reads=_INT),
    *rows("v_{mad,fma}_f32 v_fma_f64 v_mad_legacy_f{16,32} v_fma_legacy_f16 v_cube{id,ma,sc,tc}_f32 "
          "v_{max3,med3,min3}_f32 v_div_fixup_f{32,64} v_div_fixup_legacy_f16 v_cvt_pk_u8_f32 v_mad{a,m}k_f{16,32} "
          "v_fma_mix_f32 v_dot2_f32_f16", "dsss", reads=_FLOAT),
    *rows("v_dot2_{i32_i16,u32_u16} v_dot4_{i32_i8,u32_u8} v_dot8_{i32_i4,u32_u4}", "dsss", reads=_INT),
    *rows("v_{mad,fma}_f16 v_div_fixup_f16 v_{max3,med3,min3}_f16 v_fma_mix{lo,hi}_f16", "dsss", reads=_FLOAT,
          keeps=True),
    *rows("v_mad_{i,u}16 v_{max3,med3,min3}_{i,u}16", "dsss", reads=_INT, keeps=True),
    *rows("v_div_fmas_f{32,64}", "dsss", reads="exec vcc mode"),
    *rows("v_div_scale_f{32,64}", "ddsss", reads=_FLOAT),
    *rows("v_mad_{u64_u32,i64_i32}", "ddsss", reads=_INT),
]

_PACKED = [
    *rows("v_pk_{add,sub}_{i,u}16 v_pk_{ashrrev_i16,lshlrev_b16,lshrrev_b16,mul_lo_u16} v_pk_{max,min}_{i,u}16",
          "dss", reads=_INT),
    *rows("v_pk_{add,mul,max,min}_f16", "dss", reads=_FLOAT),
    *rows("v_pk_mad_{i,u}16", "dsss", reads=_INT),
    *rows("v_pk_fma_f16", "dsss", reads=_FLOAT),
]

_ORDERS, _SIZES = "{f,lt,eq,le,gt,ge,t,ne}", "{i,u}{16,32,64}"
_FLOAT_ORDERS = "{f,lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt,tru}"

_COMPARE = [
    *rows(f"v_cmp_{_ORDERS}_{_SIZES}", "dss", reads=_INT),
    *rows(f"v_cmp_{_FLOAT_ORDERS}_{_FLOATS} v_cmp_class_{_FLOATS}", "dss", reads=_FLOAT),
    *rows(f"v_cmpx_{_ORDERS}_{_SIZES}", "dss", reads=_INT, writes="exec"),
    *rows(f"v_cmpx_{_FLOAT_ORDERS}_{_FLOATS} v_cmpx_class_{_FLOATS}", "dss", reads=_FLOAT, writes="exec"),
]

_ACROSS = [
    *rows("v_readfirstlane_b32", "ds", Kind.LANES, reads="exec"),
    *rows("v_readlane_b32", "dss", Kind.LANES),
    *rows("v_writelane_b32", "bss"),  # one lane, whatever the mask
]

VECTOR: list[Row] = [*_ONE, *_TWO, *_THREE, *_PACKED, *_COMPARE, *_ACROSS]
"""Rows of vector instructions."""
