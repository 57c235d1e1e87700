	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	directconv              ; -- Begin function directconv
	.globl	directconv
	.p2align	8
	.type	directconv,@function
directconv:                             ; @directconv
; %bb.0:
	s_load_dwordx8 s[68:75], s[4:5], 0x10
	s_lshl_b32 s7, s7, 2
	v_or_b32_e32 v4, s7, v1
	s_waitcnt lgkmcnt(0)
	s_ashr_i32 s1, s75, 31
	s_mov_b32 s0, s75
	s_lshl_b64 s[0:1], s[0:1], 2
	s_add_u32 s8, s68, s0
	s_addc_u32 s9, s69, s1
	s_load_dwordx4 s[0:3], s[8:9], 0x0
	s_lshl_b32 s33, s6, 5
	s_cmp_lt_i32 s72, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_load_dwordx4 s[76:79], s[4:5], 0x0
	s_mul_i32 s4, s72, 9
	s_mul_i32 s8, s4, s75
	s_ashr_i32 s9, s8, 31
	s_mul_i32 s10, s74, s73
	s_mul_i32 s12, s72, 18
	s_mul_i32 s14, s72, 27
	s_ashr_i32 s5, s4, 31
	s_ashr_i32 s13, s12, 31
	s_ashr_i32 s15, s14, 31
	s_ashr_i32 s11, s10, 31
	s_lshl_b64 s[8:9], s[8:9], 2
	s_waitcnt lgkmcnt(0)
	s_add_u32 s6, s8, s78
	s_addc_u32 s8, s9, s79
	s_add_u32 s82, s6, 0x8c
	s_addc_u32 s83, s8, 0
	s_add_i32 s7, s7, s73
	v_add_u32_e32 v3, 2, v4
	v_add_u32_e32 v1, s7, v1
	v_mul_lo_u32 v2, v4, s74
	v_mad_u64_u32 v[5:6], s[6:7], s74, v3, v[0:1]
	v_mul_lo_u32 v7, s74, v1
	v_add3_u32 v15, v2, s74, v0
	v_add_u32_e32 v16, v0, v2
	v_add_u32_e32 v3, 2, v1
	v_mad_u64_u32 v[1:2], s[6:7], s73, 3, v[4:5]
	v_lshl_add_u32 v8, s73, 1, v4
	v_mul_lo_u32 v9, s74, v8
	v_add3_u32 v17, v7, s74, v0
	v_mad_u64_u32 v[6:7], s[6:7], s74, v3, v[0:1]
	v_add_u32_e32 v3, 2, v8
	v_mul_lo_u32 v2, s74, v1
	v_mad_u64_u32 v[7:8], s[6:7], s74, v3, v[0:1]
	v_add_u32_e32 v1, 2, v1
	v_add3_u32 v18, v9, s74, v0
	v_mad_u64_u32 v[8:9], s[6:7], s74, v1, v[0:1]
	s_lshl_b64 s[80:81], s[10:11], 2
	s_lshl_b32 s84, s10, 2
	v_add3_u32 v19, v2, s74, v0
	s_lshl_b64 s[34:35], s[14:15], 2
	s_lshl_b64 s[68:69], s[12:13], 2
	s_lshl_b64 s[78:79], s[4:5], 2
	s_mov_b32 s85, 0
	v_mov_b32_e32 v14, s0
	v_mov_b32_e32 v13, s1
	v_mov_b32_e32 v12, s2
	v_mov_b32_e32 v11, s3
	v_mov_b32_e32 v20, s77
	v_mov_b32_e32 v21, s81
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v1, s33, v16
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[1:2], 2, v[1:2]
	v_add_u32_e32 v22, s33, v15
	v_ashrrev_i32_e32 v23, 31, v22
	v_add_co_u32_e32 v9, vcc, s76, v1
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	v_addc_co_u32_e32 v10, vcc, v20, v2, vcc
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v25, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v26, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	global_load_dwordx3 v[1:3], v[9:10], off
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v27, v[22:23], off
	v_add_u32_e32 v22, s33, v5
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	s_add_u32 s16, s82, 0xffffff74
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v28, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v24, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	s_addc_u32 s17, s83, -1
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v22, v[22:23], off
	s_add_u32 s77, s82, s78
	s_addc_u32 s81, s83, s79
	s_add_u32 s36, s77, 0xffffff74
	s_addc_u32 s37, s81, -1
	s_add_u32 s86, s82, s68
	s_addc_u32 s87, s83, s69
	s_add_u32 s52, s86, 0xffffff74
	s_addc_u32 s53, s87, -1
	s_add_u32 s88, s82, s34
	s_addc_u32 s89, s83, s35
	s_add_u32 s90, s88, 0xffffff74
	s_addc_u32 s91, s89, -1
	s_load_dwordx16 s[0:15], s[16:17], 0x0
	v_add_co_u32_e32 v9, vcc, s80, v9
	s_load_dwordx16 s[16:31], s[36:37], 0x0
	v_addc_co_u32_e32 v10, vcc, v10, v21, vcc
	s_load_dwordx16 s[36:51], s[52:53], 0x0
	v_add_u32_e32 v15, s84, v15
	s_load_dwordx16 s[52:67], s[90:91], 0x0
	v_add_u32_e32 v5, s84, v5
	v_add_u32_e32 v16, s84, v16
	s_waitcnt vmcnt(4) lgkmcnt(0)
	v_fmac_f32_e32 v14, s0, v1
	v_fmac_f32_e32 v13, s16, v1
	v_fmac_f32_e32 v12, s36, v1
	v_fmac_f32_e32 v11, s52, v1
	v_fmac_f32_e32 v14, s1, v2
	v_fmac_f32_e32 v13, s17, v2
	v_fmac_f32_e32 v12, s37, v2
	v_fmac_f32_e32 v11, s53, v2
	v_fmac_f32_e32 v14, s2, v3
	v_fmac_f32_e32 v13, s18, v3
	v_fmac_f32_e32 v12, s38, v3
	v_fmac_f32_e32 v11, s54, v3
	global_load_dwordx3 v[1:3], v[9:10], off
	v_fmac_f32_e32 v14, s3, v25
	v_fmac_f32_e32 v13, s19, v25
	v_fmac_f32_e32 v12, s39, v25
	v_fmac_f32_e32 v11, s55, v25
	v_fmac_f32_e32 v14, s4, v26
	v_fmac_f32_e32 v13, s20, v26
	v_fmac_f32_e32 v12, s40, v26
	v_fmac_f32_e32 v11, s56, v26
	s_waitcnt vmcnt(4)
	v_fmac_f32_e32 v14, s5, v27
	v_fmac_f32_e32 v13, s21, v27
	v_fmac_f32_e32 v12, s41, v27
	v_fmac_f32_e32 v11, s57, v27
	s_waitcnt vmcnt(3)
	v_fmac_f32_e32 v14, s6, v28
	v_fmac_f32_e32 v13, s22, v28
	v_fmac_f32_e32 v12, s42, v28
	v_fmac_f32_e32 v11, s58, v28
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v14, s7, v24
	v_fmac_f32_e32 v13, s23, v24
	v_fmac_f32_e32 v12, s43, v24
	v_fmac_f32_e32 v11, s59, v24
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v14, s8, v22
	v_fmac_f32_e32 v13, s24, v22
	v_fmac_f32_e32 v12, s44, v22
	v_fmac_f32_e32 v11, s60, v22
	v_add_u32_e32 v22, s33, v17
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	s_add_u32 s0, s82, 0xffffffb4
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v25, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v26, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	s_addc_u32 s1, s83, -1
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v27, v[22:23], off
	v_add_u32_e32 v22, s33, v6
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	v_add_u32_e32 v17, s84, v17
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v28, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v24, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	v_add_u32_e32 v6, s84, v6
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v22, v[22:23], off
	v_add_co_u32_e32 v9, vcc, s80, v9
	v_addc_co_u32_e32 v10, vcc, v10, v21, vcc
	s_waitcnt vmcnt(6)
	v_fmac_f32_e32 v11, s61, v1
	v_fmac_f32_e32 v11, s62, v2
	v_fmac_f32_e32 v11, s63, v3
	v_fmac_f32_e32 v14, s9, v1
	v_fmac_f32_e32 v13, s25, v1
	v_fmac_f32_e32 v12, s45, v1
	v_fmac_f32_e32 v14, s10, v2
	v_fmac_f32_e32 v13, s26, v2
	v_fmac_f32_e32 v12, s46, v2
	v_fmac_f32_e32 v14, s11, v3
	v_fmac_f32_e32 v13, s27, v3
	v_fmac_f32_e32 v12, s47, v3
	global_load_dwordx3 v[1:3], v[9:10], off
	s_waitcnt vmcnt(6)
	v_fmac_f32_e32 v11, s64, v25
	v_fmac_f32_e32 v14, s12, v25
	v_fmac_f32_e32 v13, s28, v25
	v_fmac_f32_e32 v12, s48, v25
	s_waitcnt vmcnt(5)
	v_fmac_f32_e32 v11, s65, v26
	v_fmac_f32_e32 v14, s13, v26
	v_fmac_f32_e32 v13, s29, v26
	v_fmac_f32_e32 v12, s49, v26
	s_waitcnt vmcnt(4)
	v_fmac_f32_e32 v11, s66, v27
	v_fmac_f32_e32 v14, s14, v27
	v_fmac_f32_e32 v13, s30, v27
	v_fmac_f32_e32 v12, s50, v27
	s_waitcnt vmcnt(3)
	v_fmac_f32_e32 v11, s67, v28
	s_load_dwordx16 s[52:67], s[0:1], 0x0
	s_add_u32 s0, s77, 0xffffffb4
	s_addc_u32 s1, s81, -1
	s_add_u32 s16, s86, 0xffffffb4
	s_addc_u32 s17, s87, -1
	s_add_u32 s90, s88, 0xffffffb4
	s_addc_u32 s91, s89, -1
	v_fmac_f32_e32 v14, s15, v28
	v_fmac_f32_e32 v13, s31, v28
	v_fmac_f32_e32 v12, s51, v28
	s_load_dwordx16 s[36:51], s[0:1], 0x0
	s_waitcnt vmcnt(2) lgkmcnt(0)
	v_fmac_f32_e32 v14, s52, v24
	s_load_dwordx16 s[0:15], s[16:17], 0x0
	v_fmac_f32_e32 v13, s36, v24
	s_load_dwordx16 s[16:31], s[90:91], 0x0
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v12, s0, v24
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v14, s53, v22
	v_fmac_f32_e32 v13, s37, v22
	v_fmac_f32_e32 v12, s1, v22
	v_fmac_f32_e32 v11, s16, v24
	v_fmac_f32_e32 v11, s17, v22
	v_add_u32_e32 v22, s33, v18
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	v_add_u32_e32 v18, s84, v18
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v25, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v26, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v14, s54, v1
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v27, v[22:23], off
	v_add_u32_e32 v22, s33, v7
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[23:24], 2, v[22:23]
	v_fmac_f32_e32 v13, s38, v1
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v28, v[23:24], off
	v_add_u32_e32 v23, 1, v22
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	v_add_u32_e32 v22, 2, v22
	v_add_co_u32_e32 v23, vcc, s76, v23
	v_addc_co_u32_e32 v24, vcc, v20, v24, vcc
	global_load_dword v24, v[23:24], off
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	v_fmac_f32_e32 v12, s2, v1
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v22, v[22:23], off
	v_fmac_f32_e32 v11, s18, v1
	v_fmac_f32_e32 v14, s55, v2
	v_fmac_f32_e32 v13, s39, v2
	v_fmac_f32_e32 v12, s3, v2
	v_fmac_f32_e32 v11, s19, v2
	v_fmac_f32_e32 v14, s56, v3
	v_fmac_f32_e32 v13, s40, v3
	v_fmac_f32_e32 v12, s4, v3
	v_fmac_f32_e32 v11, s20, v3
	v_add_co_u32_e32 v1, vcc, s80, v9
	v_add_u32_e32 v9, s33, v19
	v_addc_co_u32_e32 v2, vcc, v10, v21, vcc
	v_ashrrev_i32_e32 v10, 31, v9
	global_load_dwordx3 v[1:3], v[1:2], off
	s_add_u32 s4, s82, -12
	v_add_u32_e32 v7, s84, v7
	v_add_u32_e32 v19, s84, v19
	s_waitcnt vmcnt(6)
	v_fmac_f32_e32 v14, s57, v25
	v_fmac_f32_e32 v13, s41, v25
	v_fmac_f32_e32 v12, s5, v25
	v_fmac_f32_e32 v11, s21, v25
	s_addc_u32 s5, s83, -1
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_waitcnt vmcnt(5)
	v_fmac_f32_e32 v14, s58, v26
	v_fmac_f32_e32 v13, s42, v26
	v_fmac_f32_e32 v12, s6, v26
	v_fmac_f32_e32 v11, s22, v26
	v_add_u32_e32 v26, s33, v8
	v_add_u32_e32 v8, s84, v8
	s_waitcnt vmcnt(4)
	v_fmac_f32_e32 v14, s59, v27
	v_fmac_f32_e32 v13, s43, v27
	v_fmac_f32_e32 v12, s7, v27
	v_fmac_f32_e32 v11, s23, v27
	v_ashrrev_i32_e32 v27, 31, v26
	s_waitcnt vmcnt(3)
	v_fmac_f32_e32 v14, s60, v28
	v_fmac_f32_e32 v13, s44, v28
	v_fmac_f32_e32 v12, s8, v28
	v_fmac_f32_e32 v11, s24, v28
	s_add_u32 s8, s77, -12
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v14, s61, v24
	v_fmac_f32_e32 v13, s45, v24
	v_fmac_f32_e32 v12, s9, v24
	v_fmac_f32_e32 v11, s25, v24
	s_addc_u32 s9, s81, -1
	s_load_dwordx4 s[4:7], s[8:9], 0x0
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v14, s62, v22
	v_fmac_f32_e32 v13, s46, v22
	v_fmac_f32_e32 v12, s10, v22
	v_fmac_f32_e32 v11, s26, v22
	v_lshlrev_b64 v[22:23], 2, v[9:10]
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v25, v[22:23], off
	v_add_u32_e32 v22, 1, v9
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	v_add_u32_e32 v9, 2, v9
	v_ashrrev_i32_e32 v10, 31, v9
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_lshlrev_b64 v[9:10], 2, v[9:10]
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	v_add_co_u32_e32 v9, vcc, s76, v9
	v_addc_co_u32_e32 v10, vcc, v20, v10, vcc
	global_load_dword v9, v[9:10], off
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v12, s11, v1
	global_load_dword v24, v[22:23], off
	v_lshlrev_b64 v[22:23], 2, v[26:27]
	v_fmac_f32_e32 v12, s12, v2
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	global_load_dword v10, v[22:23], off
	v_add_u32_e32 v22, 1, v26
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	v_add_u32_e32 v26, 2, v26
	v_ashrrev_i32_e32 v27, 31, v26
	v_add_co_u32_e32 v22, vcc, s76, v22
	v_lshlrev_b64 v[26:27], 2, v[26:27]
	v_addc_co_u32_e32 v23, vcc, v20, v23, vcc
	v_add_co_u32_e32 v26, vcc, s76, v26
	global_load_dword v22, v[22:23], off
	v_addc_co_u32_e32 v27, vcc, v20, v27, vcc
	global_load_dword v23, v[26:27], off
	s_add_u32 s12, s86, -12
	v_fmac_f32_e32 v12, s13, v3
	s_addc_u32 s13, s87, -1
	s_add_u32 s16, s88, -12
	s_addc_u32 s17, s89, -1
	v_fmac_f32_e32 v14, s63, v1
	v_fmac_f32_e32 v13, s47, v1
	v_fmac_f32_e32 v11, s27, v1
	s_load_dwordx4 s[8:11], s[12:13], 0x0
	v_fmac_f32_e32 v14, s64, v2
	v_fmac_f32_e32 v13, s48, v2
	v_fmac_f32_e32 v11, s28, v2
	v_fmac_f32_e32 v14, s65, v3
	v_fmac_f32_e32 v13, s49, v3
	v_fmac_f32_e32 v11, s29, v3
	s_add_i32 s85, s85, 4
	s_add_u32 s82, s82, 0x90
	s_addc_u32 s83, s83, 0
	s_cmp_lt_i32 s85, s72
	s_waitcnt vmcnt(5)
	v_fmac_f32_e32 v12, s14, v25
	v_fmac_f32_e32 v14, s66, v25
	v_fmac_f32_e32 v13, s50, v25
	v_fmac_f32_e32 v11, s30, v25
	s_waitcnt vmcnt(3)
	v_fmac_f32_e32 v12, s15, v24
	s_load_dwordx4 s[12:15], s[16:17], 0x0
	v_fmac_f32_e32 v14, s67, v24
	v_fmac_f32_e32 v13, s51, v24
	v_fmac_f32_e32 v11, s31, v24
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, s0, v9
	v_fmac_f32_e32 v13, s4, v9
	v_fmac_f32_e32 v12, s8, v9
	v_fmac_f32_e32 v11, s12, v9
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v14, s1, v10
	v_fmac_f32_e32 v13, s5, v10
	v_fmac_f32_e32 v12, s9, v10
	v_fmac_f32_e32 v11, s13, v10
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v14, s2, v22
	v_fmac_f32_e32 v13, s6, v22
	v_fmac_f32_e32 v12, s10, v22
	v_fmac_f32_e32 v11, s14, v22
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v14, s3, v23
	v_fmac_f32_e32 v13, s7, v23
	v_fmac_f32_e32 v12, s11, v23
	v_fmac_f32_e32 v11, s15, v23
	s_cbranch_scc1 .LBB0_2
	s_branch .LBB0_4
.LBB0_3:
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v11, s3
	v_mov_b32_e32 v12, s2
	v_mov_b32_e32 v13, s1
	v_mov_b32_e32 v14, s0
.LBB0_4:
	s_mul_i32 s0, s75, s73
	v_add_u32_e32 v0, s33, v0
	v_add_u32_e32 v3, s0, v4
	v_mad_u64_u32 v[1:2], s[0:1], v3, s74, v[0:1]
	v_add_u32_e32 v6, s73, v3
	v_mov_b32_e32 v5, s71
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[1:2], 2, v[1:2]
	v_mad_u64_u32 v[3:4], s[0:1], v6, s74, v[0:1]
	v_add_co_u32_e32 v1, vcc, s70, v1
	v_addc_co_u32_e32 v2, vcc, v5, v2, vcc
	v_ashrrev_i32_e32 v4, 31, v3
	global_store_dword v[1:2], v14, off
	v_lshlrev_b64 v[1:2], 2, v[3:4]
	v_add_u32_e32 v6, s73, v6
	v_mad_u64_u32 v[3:4], s[0:1], v6, s74, v[0:1]
	v_add_co_u32_e32 v1, vcc, s70, v1
	v_addc_co_u32_e32 v2, vcc, v5, v2, vcc
	v_ashrrev_i32_e32 v4, 31, v3
	global_store_dword v[1:2], v13, off
	v_lshlrev_b64 v[1:2], 2, v[3:4]
	v_add_u32_e32 v3, s73, v6
	v_mad_u64_u32 v[3:4], s[0:1], v3, s74, v[0:1]
	v_add_co_u32_e32 v0, vcc, s70, v1
	v_addc_co_u32_e32 v1, vcc, v5, v2, vcc
	v_ashrrev_i32_e32 v4, 31, v3
	global_store_dword v[0:1], v12, off
	v_lshlrev_b64 v[0:1], 2, v[3:4]
	v_add_co_u32_e32 v0, vcc, s70, v0
	v_addc_co_u32_e32 v1, vcc, v5, v1, vcc
	global_store_dword v[0:1], v11, off
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
		.amdhsa_next_free_vgpr 29
		.amdhsa_next_free_sgpr 92
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
; codeLenInByte = 2364
; NumSgprs: 96
; NumVgprs: 29
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 11
; VGPRBlocks: 7
; NumSGPRsForWavesPerEU: 96
; NumVGPRsForWavesPerEU: 29
; Occupancy: 8
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

	.section	".note.GNU-stack","",@progbits
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .actual_access:  read_only
        .address_space:  global
        .is_const:       true
        .is_restrict:    true
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .actual_access:  read_only
        .address_space:  global
        .is_const:       true
        .is_restrict:    true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .actual_access:  read_only
        .address_space:  global
        .is_const:       true
        .is_restrict:    true
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
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
    .sgpr_count:     96
    .sgpr_spill_count: 0
    .symbol:         directconv.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     29
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
