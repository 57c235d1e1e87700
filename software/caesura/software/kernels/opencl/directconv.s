	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	directconv              ; -- Begin function directconv
	.globl	directconv
	.p2align	8
	.type	directconv,@function
directconv:                             ; @directconv
; %bb.0:
	s_load_dwordx4 s[76:79], s[4:5], 0x20
	s_load_dwordx8 s[68:75], s[4:5], 0x0
	v_lshl_or_b32 v3, s6, 5, v0
	v_lshl_or_b32 v7, s7, 2, v1
                                        ; implicit-def: $vgpr6 : SGPR spill to VGPR lane
	s_waitcnt lgkmcnt(0)
	s_ashr_i32 s1, s79, 31
	s_mov_b32 s0, s79
	s_lshl_b64 s[0:1], s[0:1], 2
	s_add_u32 s4, s72, s0
	s_addc_u32 s5, s73, s1
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_cmp_lt_i32 s76, 1
	s_cbranch_scc1 .LBB0_5
; %bb.1:
	s_mul_i32 s80, s76, 9
	s_mul_i32 s4, s80, s79
	s_ashr_i32 s5, s4, 31
	v_mul_lo_u32 v0, v7, s78
	s_lshl_b64 s[4:5], s[4:5], 2
	s_add_u32 s34, s70, s4
	s_mul_i32 s70, s78, s77
	s_mul_i32 s12, s76, 18
	s_mul_i32 s14, s76, 27
	s_addc_u32 s35, s71, s5
	s_ashr_i32 s71, s70, 31
	s_ashr_i32 s81, s80, 31
	s_ashr_i32 s13, s12, 31
	s_ashr_i32 s15, s14, 31
	s_ashr_i32 s73, s78, 31
	s_mov_b32 s72, s78
	v_ashrrev_i32_e32 v1, 31, v0
	s_cmp_lt_u32 s76, 4
	v_ashrrev_i32_e32 v4, 31, v3
	s_cbranch_scc1 .LBB0_6
; %bb.2:
	v_lshlrev_b64 v[8:9], 2, v[0:1]
	v_lshlrev_b64 v[10:11], 2, v[3:4]
	s_and_b32 s33, s76, 0x7ffffffc
	v_add_co_u32_e32 v2, vcc, v8, v10
	s_lshl_b64 s[4:5], s[72:73], 2
	s_lshl_b64 s[6:7], s[70:71], 2
	v_addc_co_u32_e32 v12, vcc, v9, v11, vcc
	s_lshl_b64 s[86:87], s[70:71], 4
	v_mov_b32_e32 v5, s7
	v_add_co_u32_e32 v13, vcc, s6, v2
	s_add_u32 s8, s4, s6
	v_addc_co_u32_e32 v14, vcc, v12, v5, vcc
	s_addc_u32 s9, s5, s7
	v_mov_b32_e32 v5, s9
	v_add_co_u32_e32 v15, vcc, s8, v2
	s_lshl_b64 s[8:9], s[72:73], 3
	s_add_u32 s6, s8, s6
	v_addc_co_u32_e32 v16, vcc, v12, v5, vcc
	s_addc_u32 s7, s9, s7
	v_mov_b32_e32 v5, s7
	v_add_co_u32_e32 v17, vcc, s6, v2
	v_addc_co_u32_e32 v18, vcc, v12, v5, vcc
	s_lshl_b64 s[6:7], s[70:71], 3
	v_mov_b32_e32 v5, s7
	v_add_co_u32_e32 v19, vcc, s6, v2
	s_add_u32 s10, s6, s4
	v_addc_co_u32_e32 v20, vcc, v12, v5, vcc
	s_addc_u32 s11, s7, s5
	v_mov_b32_e32 v5, s11
	v_add_co_u32_e32 v21, vcc, s10, v2
	s_add_u32 s6, s8, s6
	v_addc_co_u32_e32 v22, vcc, v12, v5, vcc
	s_addc_u32 s7, s9, s7
	v_mov_b32_e32 v5, s7
	v_add_co_u32_e32 v23, vcc, s6, v2
	v_addc_co_u32_e32 v24, vcc, v12, v5, vcc
	v_add_co_u32_e32 v0, vcc, v0, v3
	v_addc_co_u32_e32 v1, vcc, v1, v4, vcc
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_mul_hi_i32 s10, s70, 12
	v_mad_i64_i32 v[4:5], s[6:7], s70, 12, v[0:1]
	s_mul_i32 s6, s70, 12
	v_mov_b32_e32 v8, s5
	v_add_co_u32_e32 v25, vcc, s4, v4
	s_add_u32 s6, s6, s8
	v_addc_co_u32_e32 v26, vcc, v5, v8, vcc
	s_addc_u32 s7, s10, s9
	v_mov_b32_e32 v8, s7
	v_add_co_u32_e32 v27, vcc, s6, v0
	v_addc_co_u32_e32 v28, vcc, v8, v1, vcc
	v_mov_b32_e32 v8, s5
	v_add_co_u32_e32 v29, vcc, s4, v2
	v_writelane_b32 v6, s12, 0
	v_addc_co_u32_e32 v30, vcc, v12, v8, vcc
	v_writelane_b32 v6, s13, 1
	v_mov_b32_e32 v8, s9
	v_add_co_u32_e32 v31, vcc, s8, v2
	v_writelane_b32 v6, s14, 2
	v_addc_co_u32_e32 v32, vcc, v12, v8, vcc
	s_lshl_b64 s[88:89], s[80:81], 2
	s_lshl_b64 s[90:91], s[12:13], 2
	v_writelane_b32 v6, s15, 3
	s_lshl_b64 s[92:93], s[14:15], 2
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v11, s0
	v_mov_b32_e32 v10, s1
	v_mov_b32_e32 v9, s2
	v_mov_b32_e32 v8, s3
.LBB0_3:                                ; =>This Inner Loop Header: Depth=1
	v_add_co_u32_e32 v34, vcc, s68, v2
	v_mov_b32_e32 v33, s69
	v_addc_co_u32_e32 v35, vcc, v33, v12, vcc
	global_load_dwordx3 v[34:36], v[34:35], off
	s_add_u32 s94, s34, s88
	s_addc_u32 s95, s35, s89
	s_add_u32 s82, s34, s90
	s_addc_u32 s83, s35, s91
	s_add_u32 s84, s34, s92
	s_addc_u32 s85, s35, s93
	s_load_dwordx16 s[0:15], s[34:35], 0x0
	s_load_dwordx16 s[16:31], s[94:95], 0x0
	s_load_dwordx16 s[36:51], s[82:83], 0x0
	s_load_dwordx16 s[52:67], s[84:85], 0x0
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_fmac_f32_e32 v11, s0, v34
	v_fmac_f32_e32 v10, s16, v34
	v_fmac_f32_e32 v9, s36, v34
	v_fmac_f32_e32 v8, s52, v34
	v_add_co_u32_e32 v34, vcc, s68, v29
	v_fmac_f32_e32 v11, s1, v35
	v_fmac_f32_e32 v10, s17, v35
	v_fmac_f32_e32 v9, s37, v35
	v_fmac_f32_e32 v8, s53, v35
	v_addc_co_u32_e32 v35, vcc, v33, v30, vcc
	v_fmac_f32_e32 v11, s2, v36
	v_fmac_f32_e32 v10, s18, v36
	v_fmac_f32_e32 v9, s38, v36
	v_fmac_f32_e32 v8, s54, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s3, v34
	v_fmac_f32_e32 v10, s19, v34
	v_fmac_f32_e32 v9, s39, v34
	v_fmac_f32_e32 v8, s55, v34
	v_add_co_u32_e32 v34, vcc, s68, v31
	v_fmac_f32_e32 v11, s4, v35
	v_fmac_f32_e32 v10, s20, v35
	v_fmac_f32_e32 v9, s40, v35
	v_fmac_f32_e32 v8, s56, v35
	v_addc_co_u32_e32 v35, vcc, v33, v32, vcc
	v_fmac_f32_e32 v11, s5, v36
	v_fmac_f32_e32 v10, s21, v36
	v_fmac_f32_e32 v9, s41, v36
	v_fmac_f32_e32 v8, s57, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s6, v34
	v_fmac_f32_e32 v10, s22, v34
	v_fmac_f32_e32 v9, s42, v34
	v_fmac_f32_e32 v8, s58, v34
	v_add_co_u32_e32 v34, vcc, s68, v13
	v_fmac_f32_e32 v11, s7, v35
	v_fmac_f32_e32 v10, s23, v35
	v_fmac_f32_e32 v9, s43, v35
	v_fmac_f32_e32 v8, s59, v35
	v_addc_co_u32_e32 v35, vcc, v33, v14, vcc
	v_fmac_f32_e32 v11, s8, v36
	v_fmac_f32_e32 v10, s24, v36
	v_fmac_f32_e32 v9, s44, v36
	v_fmac_f32_e32 v8, s60, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s9, v34
	v_fmac_f32_e32 v10, s25, v34
	v_fmac_f32_e32 v9, s45, v34
	v_fmac_f32_e32 v8, s61, v34
	v_add_co_u32_e32 v34, vcc, s68, v15
	v_fmac_f32_e32 v11, s10, v35
	v_fmac_f32_e32 v10, s26, v35
	v_fmac_f32_e32 v9, s46, v35
	v_fmac_f32_e32 v8, s62, v35
	v_addc_co_u32_e32 v35, vcc, v33, v16, vcc
	v_fmac_f32_e32 v11, s11, v36
	v_fmac_f32_e32 v10, s27, v36
	v_fmac_f32_e32 v9, s47, v36
	v_fmac_f32_e32 v8, s63, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s12, v34
	v_fmac_f32_e32 v10, s28, v34
	v_fmac_f32_e32 v9, s48, v34
	v_fmac_f32_e32 v8, s64, v34
	v_add_co_u32_e32 v34, vcc, s68, v17
	v_fmac_f32_e32 v11, s13, v35
	v_fmac_f32_e32 v10, s29, v35
	v_fmac_f32_e32 v9, s49, v35
	v_fmac_f32_e32 v8, s65, v35
	v_addc_co_u32_e32 v35, vcc, v33, v18, vcc
	v_fmac_f32_e32 v11, s14, v36
	v_fmac_f32_e32 v10, s30, v36
	v_fmac_f32_e32 v9, s50, v36
	v_fmac_f32_e32 v8, s66, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s15, v34
	v_fmac_f32_e32 v10, s31, v34
	v_fmac_f32_e32 v9, s51, v34
	v_fmac_f32_e32 v8, s67, v34
	s_load_dwordx16 s[0:15], s[34:35], 0x40
	s_load_dwordx16 s[16:31], s[94:95], 0x40
	s_load_dwordx16 s[36:51], s[82:83], 0x40
	s_load_dwordx16 s[52:67], s[84:85], 0x40
	v_add_co_u32_e32 v34, vcc, s68, v19
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v11, s0, v35
	v_fmac_f32_e32 v10, s16, v35
	v_fmac_f32_e32 v9, s36, v35
	v_fmac_f32_e32 v8, s52, v35
	v_addc_co_u32_e32 v35, vcc, v33, v20, vcc
	v_fmac_f32_e32 v11, s1, v36
	v_fmac_f32_e32 v10, s17, v36
	v_fmac_f32_e32 v9, s37, v36
	v_fmac_f32_e32 v8, s53, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s2, v34
	v_fmac_f32_e32 v10, s18, v34
	v_fmac_f32_e32 v9, s38, v34
	v_fmac_f32_e32 v8, s54, v34
	v_add_co_u32_e32 v34, vcc, s68, v21
	v_fmac_f32_e32 v11, s3, v35
	v_fmac_f32_e32 v10, s19, v35
	v_fmac_f32_e32 v9, s39, v35
	v_fmac_f32_e32 v8, s55, v35
	v_addc_co_u32_e32 v35, vcc, v33, v22, vcc
	v_fmac_f32_e32 v11, s4, v36
	v_fmac_f32_e32 v10, s20, v36
	v_fmac_f32_e32 v9, s40, v36
	v_fmac_f32_e32 v8, s56, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_load_dwordx4 s[0:3], s[34:35], 0x80
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s5, v34
	v_fmac_f32_e32 v10, s21, v34
	v_fmac_f32_e32 v9, s41, v34
	v_fmac_f32_e32 v8, s57, v34
	v_add_co_u32_e32 v34, vcc, s68, v23
	v_fmac_f32_e32 v11, s6, v35
	v_fmac_f32_e32 v10, s22, v35
	v_fmac_f32_e32 v9, s42, v35
	v_fmac_f32_e32 v8, s58, v35
	v_addc_co_u32_e32 v35, vcc, v33, v24, vcc
	v_fmac_f32_e32 v11, s7, v36
	v_fmac_f32_e32 v10, s23, v36
	v_fmac_f32_e32 v9, s43, v36
	v_fmac_f32_e32 v8, s59, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_load_dwordx4 s[4:7], s[94:95], 0x80
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s8, v34
	v_fmac_f32_e32 v10, s24, v34
	v_fmac_f32_e32 v9, s44, v34
	v_fmac_f32_e32 v8, s60, v34
	v_add_co_u32_e32 v34, vcc, s68, v4
	v_fmac_f32_e32 v11, s9, v35
	v_fmac_f32_e32 v10, s25, v35
	v_fmac_f32_e32 v9, s45, v35
	v_fmac_f32_e32 v8, s61, v35
	v_addc_co_u32_e32 v35, vcc, v33, v5, vcc
	v_fmac_f32_e32 v11, s10, v36
	v_fmac_f32_e32 v10, s26, v36
	v_fmac_f32_e32 v9, s46, v36
	v_fmac_f32_e32 v8, s62, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s11, v34
	v_fmac_f32_e32 v10, s27, v34
	v_fmac_f32_e32 v9, s47, v34
	v_fmac_f32_e32 v8, s63, v34
	v_add_co_u32_e32 v34, vcc, s68, v25
	v_fmac_f32_e32 v11, s12, v35
	v_fmac_f32_e32 v10, s28, v35
	v_fmac_f32_e32 v9, s48, v35
	v_fmac_f32_e32 v8, s64, v35
	v_addc_co_u32_e32 v35, vcc, v33, v26, vcc
	v_fmac_f32_e32 v11, s13, v36
	v_fmac_f32_e32 v10, s29, v36
	v_fmac_f32_e32 v9, s49, v36
	v_fmac_f32_e32 v8, s65, v36
	global_load_dwordx3 v[34:36], v[34:35], off
	s_load_dwordx4 s[8:11], s[82:83], 0x80
	s_add_u32 s34, s34, 0x90
	s_addc_u32 s35, s35, 0
	s_add_i32 s33, s33, -4
	s_cmp_lg_u32 s33, 0
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s14, v34
	v_fmac_f32_e32 v10, s30, v34
	v_fmac_f32_e32 v9, s50, v34
	v_fmac_f32_e32 v8, s66, v34
	v_add_co_u32_e32 v34, vcc, s68, v27
	v_fmac_f32_e32 v11, s15, v35
	s_load_dwordx4 s[12:15], s[84:85], 0x80
	v_fmac_f32_e32 v10, s31, v35
	v_fmac_f32_e32 v9, s51, v35
	v_fmac_f32_e32 v8, s67, v35
	v_addc_co_u32_e32 v35, vcc, v33, v28, vcc
	global_load_dwordx3 v[33:35], v[34:35], off
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v11, s0, v36
	v_fmac_f32_e32 v10, s4, v36
	v_fmac_f32_e32 v9, s8, v36
	v_fmac_f32_e32 v8, s12, v36
	v_add_co_u32_e32 v13, vcc, s86, v13
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s1, v33
	v_fmac_f32_e32 v10, s5, v33
	v_fmac_f32_e32 v9, s9, v33
	v_fmac_f32_e32 v8, s13, v33
	v_mov_b32_e32 v33, s87
	v_addc_co_u32_e32 v14, vcc, v14, v33, vcc
	v_add_co_u32_e32 v15, vcc, s86, v15
	v_addc_co_u32_e32 v16, vcc, v16, v33, vcc
	v_add_co_u32_e32 v17, vcc, s86, v17
	v_addc_co_u32_e32 v18, vcc, v18, v33, vcc
	v_add_co_u32_e32 v19, vcc, s86, v19
	v_addc_co_u32_e32 v20, vcc, v20, v33, vcc
	v_add_co_u32_e32 v21, vcc, s86, v21
	v_addc_co_u32_e32 v22, vcc, v22, v33, vcc
	v_add_co_u32_e32 v23, vcc, s86, v23
	v_addc_co_u32_e32 v24, vcc, v24, v33, vcc
	v_add_co_u32_e32 v4, vcc, s86, v4
	v_addc_co_u32_e32 v5, vcc, v5, v33, vcc
	v_add_co_u32_e32 v25, vcc, s86, v25
	v_addc_co_u32_e32 v26, vcc, v26, v33, vcc
	v_add_co_u32_e32 v27, vcc, s86, v27
	v_addc_co_u32_e32 v28, vcc, v28, v33, vcc
	v_add_co_u32_e32 v0, vcc, s86, v0
	v_addc_co_u32_e32 v1, vcc, v1, v33, vcc
	v_add_co_u32_e32 v29, vcc, s86, v29
	v_addc_co_u32_e32 v30, vcc, v30, v33, vcc
	v_add_co_u32_e32 v31, vcc, s86, v31
	v_addc_co_u32_e32 v32, vcc, v32, v33, vcc
	v_fmac_f32_e32 v11, s2, v34
	v_fmac_f32_e32 v10, s6, v34
	v_fmac_f32_e32 v9, s10, v34
	v_fmac_f32_e32 v8, s14, v34
	v_add_co_u32_e32 v2, vcc, s86, v2
	v_fmac_f32_e32 v11, s3, v35
	v_fmac_f32_e32 v10, s7, v35
	v_fmac_f32_e32 v9, s11, v35
	v_fmac_f32_e32 v8, s15, v35
	v_addc_co_u32_e32 v12, vcc, v12, v33, vcc
	s_cbranch_scc1 .LBB0_3
; %bb.4:
	v_mov_b32_e32 v2, s69
	v_add_co_u32_e32 v4, vcc, s68, v0
	v_readlane_b32 s12, v6, 0
	v_readlane_b32 s14, v6, 2
	v_addc_co_u32_e32 v5, vcc, v2, v1, vcc
	v_readlane_b32 s13, v6, 1
	v_readlane_b32 s15, v6, 3
	s_and_b32 s0, s76, 3
	s_cmp_eq_u32 s0, 0
	s_cbranch_scc0 .LBB0_7
	s_branch .LBB0_9
.LBB0_5:
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v8, s3
	v_mov_b32_e32 v9, s2
	v_mov_b32_e32 v10, s1
	v_mov_b32_e32 v11, s0
	s_branch .LBB0_9
.LBB0_6:
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s69
	v_add_co_u32_e32 v5, vcc, s68, v0
	v_addc_co_u32_e32 v2, vcc, v2, v1, vcc
	v_lshlrev_b64 v[0:1], 2, v[3:4]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v8, s3
	v_add_co_u32_e32 v4, vcc, v5, v0
	v_addc_co_u32_e32 v5, vcc, v2, v1, vcc
	v_mov_b32_e32 v9, s2
	v_mov_b32_e32 v10, s1
	v_mov_b32_e32 v11, s0
	s_and_b32 s0, s76, 3
	s_cmp_eq_u32 s0, 0
	s_cbranch_scc1 .LBB0_9
.LBB0_7:
	s_lshl_b64 s[16:17], s[72:73], 2
	s_lshl_b64 s[2:3], s[14:15], 2
	s_add_u32 s24, s34, s2
	s_addc_u32 s25, s35, s3
	s_mul_i32 s26, s0, 36
	s_lshl_b64 s[0:1], s[12:13], 2
	s_add_u32 s27, s34, s0
	s_addc_u32 s28, s35, s1
	s_lshl_b64 s[18:19], s[70:71], 2
	s_lshl_b64 s[0:1], s[80:81], 2
	s_add_u32 s29, s34, s0
	s_addc_u32 s30, s35, s1
	s_lshl_b64 s[20:21], s[72:73], 3
	s_mov_b64 s[22:23], 0
	v_mov_b32_e32 v12, s17
	v_mov_b32_e32 v13, s21
	v_mov_b32_e32 v14, s19
.LBB0_8:                                ; =>This Inner Loop Header: Depth=1
	global_load_dwordx3 v[0:2], v[4:5], off
	v_add_co_u32_e32 v21, vcc, s16, v4
	v_addc_co_u32_e32 v22, vcc, v5, v12, vcc
	v_add_co_u32_e32 v23, vcc, s20, v4
	v_addc_co_u32_e32 v24, vcc, v5, v13, vcc
	global_load_dwordx3 v[15:17], v[21:22], off
	global_load_dwordx3 v[18:20], v[23:24], off
	s_add_u32 s8, s34, s22
	s_addc_u32 s9, s35, s23
	s_add_u32 s36, s29, s22
	s_addc_u32 s37, s30, s23
	s_add_u32 s44, s27, s22
	s_addc_u32 s45, s28, s23
	s_add_u32 s52, s24, s22
	s_addc_u32 s53, s25, s23
	s_load_dwordx8 s[0:7], s[8:9], 0x0
	s_load_dword s17, s[8:9], 0x20
	s_nop 0
	s_load_dwordx8 s[8:15], s[36:37], 0x0
	s_load_dword s19, s[36:37], 0x20
	s_nop 0
	s_load_dwordx8 s[36:43], s[44:45], 0x0
	s_load_dword s21, s[44:45], 0x20
	s_nop 0
	s_load_dwordx8 s[44:51], s[52:53], 0x0
	s_load_dword s31, s[52:53], 0x20
	s_add_u32 s22, s22, 36
	v_add_co_u32_e32 v4, vcc, s18, v4
	s_addc_u32 s23, s23, 0
	v_addc_co_u32_e32 v5, vcc, v5, v14, vcc
	s_cmp_lg_u32 s26, s22
	s_waitcnt vmcnt(2) lgkmcnt(0)
	v_fmac_f32_e32 v11, s0, v0
	v_fmac_f32_e32 v10, s8, v0
	v_fmac_f32_e32 v9, s36, v0
	v_fmac_f32_e32 v8, s44, v0
	v_fmac_f32_e32 v11, s1, v1
	v_fmac_f32_e32 v10, s9, v1
	v_fmac_f32_e32 v9, s37, v1
	v_fmac_f32_e32 v8, s45, v1
	v_fmac_f32_e32 v11, s2, v2
	v_fmac_f32_e32 v10, s10, v2
	v_fmac_f32_e32 v9, s38, v2
	v_fmac_f32_e32 v8, s46, v2
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v11, s3, v15
	v_fmac_f32_e32 v10, s11, v15
	v_fmac_f32_e32 v9, s39, v15
	v_fmac_f32_e32 v8, s47, v15
	v_fmac_f32_e32 v11, s4, v16
	v_fmac_f32_e32 v10, s12, v16
	v_fmac_f32_e32 v9, s40, v16
	v_fmac_f32_e32 v8, s48, v16
	v_fmac_f32_e32 v11, s5, v17
	v_fmac_f32_e32 v10, s13, v17
	v_fmac_f32_e32 v9, s41, v17
	v_fmac_f32_e32 v8, s49, v17
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v11, s6, v18
	v_fmac_f32_e32 v10, s14, v18
	v_fmac_f32_e32 v9, s42, v18
	v_fmac_f32_e32 v8, s50, v18
	v_fmac_f32_e32 v11, s7, v19
	v_fmac_f32_e32 v10, s15, v19
	v_fmac_f32_e32 v9, s43, v19
	v_fmac_f32_e32 v8, s51, v19
	v_fmac_f32_e32 v11, s17, v20
	v_fmac_f32_e32 v10, s19, v20
	v_fmac_f32_e32 v9, s21, v20
	v_fmac_f32_e32 v8, s31, v20
	s_cbranch_scc1 .LBB0_8
.LBB0_9:
	s_mul_i32 s0, s79, s77
	v_add_u32_e32 v2, s0, v7
	v_mad_u64_u32 v[0:1], s[0:1], v2, s78, v[3:4]
	v_add_u32_e32 v2, s77, v2
	v_mad_u64_u32 v[4:5], s[0:1], v2, s78, v[3:4]
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v7, s75
	v_add_co_u32_e32 v0, vcc, s74, v0
	v_addc_co_u32_e32 v1, vcc, v7, v1, vcc
	v_ashrrev_i32_e32 v5, 31, v4
	v_add_u32_e32 v2, s77, v2
	global_store_dword v[0:1], v11, off
	v_lshlrev_b64 v[0:1], 2, v[4:5]
	v_mad_u64_u32 v[4:5], s[0:1], v2, s78, v[3:4]
	v_add_co_u32_e32 v0, vcc, s74, v0
	v_addc_co_u32_e32 v1, vcc, v7, v1, vcc
	v_ashrrev_i32_e32 v5, 31, v4
	global_store_dword v[0:1], v10, off
	v_lshlrev_b64 v[0:1], 2, v[4:5]
	v_mov_b32_e32 v4, s75
	v_add_u32_e32 v2, s77, v2
	v_mad_u64_u32 v[2:3], s[0:1], v2, s78, v[3:4]
	v_add_co_u32_e32 v0, vcc, s74, v0
	v_addc_co_u32_e32 v1, vcc, v4, v1, vcc
	v_ashrrev_i32_e32 v3, 31, v2
	global_store_dword v[0:1], v9, off
	v_lshlrev_b64 v[0:1], 2, v[2:3]
	v_mov_b32_e32 v2, s75
	v_add_co_u32_e32 v0, vcc, s74, v0
	v_addc_co_u32_e32 v1, vcc, v2, v1, vcc
	global_store_dword v[0:1], v8, off
                                        ; kill: killed $vgpr6
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel directconv
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 48
		.amdhsa_user_sgpr_count 6
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 37
		.amdhsa_next_free_sgpr 96
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_flat_scratch 0
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	directconv, .Lfunc_end0-directconv
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 2272
; NumSgprs: 100
; NumVgprs: 37
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 12
; VGPRBlocks: 9
; NumSGPRsForWavesPerEU: 100
; NumVGPRsForWavesPerEU: 37
; Occupancy: 6
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 1
	.hidden	__oclc_ABI_version              ; @__oclc_ABI_version
	.type	__oclc_ABI_version,@object
	.section	.rodata,"a",@progbits
	.weak	__oclc_ABI_version
	.p2align	2, 0x0
__oclc_ABI_version:
	.long	500                             ; 0x1f4
	.size	__oclc_ABI_version, 4

	.ident	"Debian clang version 19.1.7 (3~deb12u1)"
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         24
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         32
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         36
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         40
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         44
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 48
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 128
    .name:           directconv
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 32
      - 4
      - 1
    .sgpr_count:     100
    .sgpr_spill_count: 4
    .symbol:         directconv.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     37
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
