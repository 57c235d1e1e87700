	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	kmeans                  ; -- Begin function kmeans
	.globl	kmeans
	.p2align	8
	.type	kmeans,@function
kmeans:                                 ; @kmeans
; %bb.0:
	s_load_dwordx4 s[12:15], s[4:5], 0x18
	s_waitcnt lgkmcnt(0)
	s_cmp_gt_i32 s13, 0
	s_cbranch_scc1 .LBB0_4
; %bb.1:
	s_ashr_i32 s21, s15, 31
	s_mov_b32 s20, s15
	s_mov_b32 s7, -1
	s_load_dwordx2 s[2:3], s[4:5], 0x10
	v_lshl_or_b32 v0, s6, 6, v0
	s_cbranch_execz .LBB0_5
; %bb.2:
	v_mov_b32_e32 v4, s7
	v_mov_b32_e32 v5, s7
	v_mov_b32_e32 v6, s7
	v_mov_b32_e32 v7, s7
.LBB0_3:
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[1:2], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v3, s3
	v_add_co_u32_e32 v1, vcc, s2, v1
	v_addc_co_u32_e32 v2, vcc, v3, v2, vcc
	s_lshl_b64 s[0:1], s[20:21], 2
	global_store_dword v[1:2], v7, off
	v_mov_b32_e32 v7, s1
	v_add_co_u32_e32 v1, vcc, s0, v1
	s_add_i32 s0, s15, s15
	v_addc_co_u32_e32 v2, vcc, v2, v7, vcc
	v_add_u32_e32 v0, s0, v0
	global_store_dword v[1:2], v6, off
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[1:2], 2, v[0:1]
	v_add_u32_e32 v0, s15, v0
	v_add_co_u32_e32 v1, vcc, s2, v1
	v_addc_co_u32_e32 v2, vcc, v3, v2, vcc
	global_store_dword v[1:2], v5, off
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_add_co_u32_e32 v0, vcc, s2, v0
	v_addc_co_u32_e32 v1, vcc, v3, v1, vcc
	global_store_dword v[0:1], v4, off
	s_endpgm
.LBB0_4:
                                        ; implicit-def: $sgpr7
                                        ; implicit-def: $sgpr20_sgpr21
	s_load_dwordx2 s[2:3], s[4:5], 0x10
	v_lshl_or_b32 v0, s6, 6, v0
.LBB0_5:
	s_load_dwordx4 s[16:19], s[4:5], 0x0
	s_cmp_gt_i32 s14, 0
	s_cselect_b64 s[0:1], -1, 0
	s_ashr_i32 s21, s15, 31
	s_mov_b32 s20, s15
	s_lshl_b32 s27, s15, 1
	s_mul_i32 s29, s15, 3
	s_lshl_b32 s31, s12, 1
	s_mul_i32 s35, s12, 3
	s_add_i32 s37, s15, s12
	s_lshl_b32 s38, s12, 2
	s_mul_i32 s41, s12, 5
	s_mul_i32 s44, s12, 6
	s_mul_i32 s47, s12, 7
	v_cndmask_b32_e64 v1, 0, 1, s[0:1]
	s_mov_b32 s23, 0
	s_lshl_b32 s26, s12, 3
	s_add_i32 s28, s12, s27
	s_add_i32 s30, s12, s29
	s_add_i32 s33, s27, s31
	s_add_i32 s34, s29, s31
	s_add_i32 s36, s35, s27
	s_mul_i32 s37, s37, 3
	s_add_i32 s39, s38, s27
	s_add_i32 s40, s38, s29
	s_add_i32 s42, s41, s27
	s_add_i32 s43, s41, s29
	s_add_i32 s45, s44, s27
	s_add_i32 s46, s44, s29
	s_add_i32 s48, s47, s27
	s_add_i32 s49, s47, s29
	v_mov_b32_e32 v7, -1
	v_mov_b32_e32 v8, 0x7f7fc99e
	v_cmp_ne_u32_e64 s[0:1], 1, v1
	s_lshl_b64 s[24:25], s[20:21], 2
	s_mov_b32 s50, 0
	v_mov_b32_e32 v6, -1
	v_mov_b32_e32 v5, -1
	v_mov_b32_e32 v4, -1
	v_mov_b32_e32 v9, 0x7f7fc99e
	v_mov_b32_e32 v10, 0x7f7fc99e
	v_mov_b32_e32 v11, 0x7f7fc99e
	s_mov_b32 s51, 0
	s_branch .LBB0_8
.LBB0_6:                                ;   in Loop: Header=BB0_8 Depth=1
	v_mov_b32_e32 v12, 0
	v_mov_b32_e32 v13, 0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v15, 0
.LBB0_7:                                ;   in Loop: Header=BB0_8 Depth=1
	v_mov_b32_e32 v1, s51
	v_cmp_lt_f32_e32 vcc, v15, v8
	v_cndmask_b32_e32 v7, v7, v1, vcc
	v_max_f32_e32 v2, v8, v8
	v_max_f32_e32 v3, v15, v15
	v_cmp_lt_f32_e32 vcc, v14, v9
	v_min_f32_e32 v8, v3, v2
	v_cndmask_b32_e32 v6, v6, v1, vcc
	v_max_f32_e32 v2, v9, v9
	v_max_f32_e32 v3, v14, v14
	v_cmp_lt_f32_e32 vcc, v13, v10
	v_min_f32_e32 v9, v3, v2
	v_cndmask_b32_e32 v5, v5, v1, vcc
	v_max_f32_e32 v2, v10, v10
	v_max_f32_e32 v3, v13, v13
	v_cmp_lt_f32_e32 vcc, v12, v11
	v_min_f32_e32 v10, v3, v2
	v_cndmask_b32_e32 v4, v4, v1, vcc
	v_max_f32_e32 v1, v11, v11
	v_max_f32_e32 v2, v12, v12
	s_add_i32 s51, s51, 1
	s_add_i32 s50, s50, s14
	s_cmp_eq_u32 s51, s13
	v_min_f32_e32 v11, v2, v1
	s_cbranch_scc1 .LBB0_3
.LBB0_8:                                ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB0_10 Depth 2
	s_and_b64 vcc, exec, s[0:1]
	s_cbranch_vccnz .LBB0_6
; %bb.9:                                ;   in Loop: Header=BB0_8 Depth=1
	s_mov_b32 s52, 0
	v_mov_b32_e32 v15, 0
	v_mov_b32_e32 v1, v0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v13, 0
	v_mov_b32_e32 v12, 0
.LBB0_10:                               ;   Parent Loop BB0_8 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[16:17], 2, v[1:2]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v3, s17
	v_add_co_u32_e32 v18, vcc, s16, v16
	v_addc_co_u32_e32 v19, vcc, v3, v17, vcc
	v_add_co_u32_e32 v17, vcc, s24, v18
	v_mov_b32_e32 v2, s25
	global_load_dword v16, v[18:19], off
	v_addc_co_u32_e32 v18, vcc, v19, v2, vcc
	global_load_dword v17, v[17:18], off
	v_add_u32_e32 v18, s27, v1
	v_ashrrev_i32_e32 v19, 31, v18
	v_lshlrev_b64 v[18:19], 2, v[18:19]
	s_add_i32 s22, s50, s52
	v_add_co_u32_e32 v18, vcc, s16, v18
	v_addc_co_u32_e32 v19, vcc, v3, v19, vcc
	global_load_dword v18, v[18:19], off
	v_add_u32_e32 v19, s29, v1
	v_ashrrev_i32_e32 v20, 31, v19
	v_lshlrev_b64 v[19:20], 2, v[19:20]
	s_lshl_b64 s[4:5], s[22:23], 2
	v_add_co_u32_e32 v19, vcc, s16, v19
	v_addc_co_u32_e32 v20, vcc, v3, v20, vcc
	global_load_dword v19, v[19:20], off
	v_add_u32_e32 v20, s12, v1
	v_ashrrev_i32_e32 v21, 31, v20
	v_lshlrev_b64 v[20:21], 2, v[20:21]
	s_add_u32 s54, s18, s4
	v_add_co_u32_e32 v22, vcc, s16, v20
	v_addc_co_u32_e32 v23, vcc, v3, v21, vcc
	v_add_co_u32_e32 v21, vcc, s24, v22
	global_load_dword v20, v[22:23], off
	v_addc_co_u32_e32 v22, vcc, v23, v2, vcc
	global_load_dword v21, v[21:22], off
	v_add_u32_e32 v22, s28, v1
	v_ashrrev_i32_e32 v23, 31, v22
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	s_addc_u32 s55, s19, s5
	v_add_co_u32_e32 v22, vcc, s16, v22
	v_addc_co_u32_e32 v23, vcc, v3, v23, vcc
	global_load_dword v22, v[22:23], off
	v_add_u32_e32 v23, s30, v1
	v_ashrrev_i32_e32 v24, 31, v23
	v_lshlrev_b64 v[23:24], 2, v[23:24]
	s_load_dwordx8 s[4:11], s[54:55], 0x0
	v_add_co_u32_e32 v23, vcc, s16, v23
	v_addc_co_u32_e32 v24, vcc, v3, v24, vcc
	global_load_dword v23, v[23:24], off
	v_add_u32_e32 v24, s31, v1
	v_ashrrev_i32_e32 v25, 31, v24
	v_lshlrev_b64 v[24:25], 2, v[24:25]
	s_add_i32 s52, s52, 8
	v_add_co_u32_e32 v26, vcc, s16, v24
	v_addc_co_u32_e32 v27, vcc, v3, v25, vcc
	v_add_co_u32_e32 v25, vcc, s24, v26
	global_load_dword v24, v[26:27], off
	v_addc_co_u32_e32 v26, vcc, v27, v2, vcc
	global_load_dword v25, v[25:26], off
	v_add_u32_e32 v26, s33, v1
	v_ashrrev_i32_e32 v27, 31, v26
	v_lshlrev_b64 v[26:27], 2, v[26:27]
	s_cmp_ge_i32 s52, s14
	v_add_co_u32_e32 v26, vcc, s16, v26
	v_addc_co_u32_e32 v27, vcc, v3, v27, vcc
	global_load_dword v26, v[26:27], off
	v_add_u32_e32 v27, s34, v1
	v_ashrrev_i32_e32 v28, 31, v27
	v_lshlrev_b64 v[27:28], 2, v[27:28]
	v_add_co_u32_e32 v27, vcc, s16, v27
	v_addc_co_u32_e32 v28, vcc, v3, v28, vcc
	global_load_dword v27, v[27:28], off
	v_add_u32_e32 v28, s35, v1
	v_ashrrev_i32_e32 v29, 31, v28
	v_lshlrev_b64 v[28:29], 2, v[28:29]
	v_add_co_u32_e32 v30, vcc, s16, v28
	v_addc_co_u32_e32 v31, vcc, v3, v29, vcc
	v_add_co_u32_e32 v29, vcc, s24, v30
	global_load_dword v28, v[30:31], off
	v_addc_co_u32_e32 v30, vcc, v31, v2, vcc
	global_load_dword v29, v[29:30], off
	v_add_u32_e32 v30, s36, v1
	v_ashrrev_i32_e32 v31, 31, v30
	v_lshlrev_b64 v[30:31], 2, v[30:31]
	v_add_co_u32_e32 v30, vcc, s16, v30
	v_addc_co_u32_e32 v31, vcc, v3, v31, vcc
	global_load_dword v30, v[30:31], off
	v_add_u32_e32 v31, s37, v1
	v_ashrrev_i32_e32 v32, 31, v31
	v_lshlrev_b64 v[31:32], 2, v[31:32]
	v_add_co_u32_e32 v31, vcc, s16, v31
	v_addc_co_u32_e32 v32, vcc, v3, v32, vcc
	global_load_dword v31, v[31:32], off
	v_add_u32_e32 v32, s38, v1
	v_ashrrev_i32_e32 v33, 31, v32
	v_lshlrev_b64 v[32:33], 2, v[32:33]
	v_add_co_u32_e32 v34, vcc, s16, v32
	v_addc_co_u32_e32 v35, vcc, v3, v33, vcc
	v_add_co_u32_e32 v33, vcc, s24, v34
	global_load_dword v32, v[34:35], off
	v_addc_co_u32_e32 v34, vcc, v35, v2, vcc
	global_load_dword v33, v[33:34], off
	v_add_u32_e32 v34, s39, v1
	v_ashrrev_i32_e32 v35, 31, v34
	v_lshlrev_b64 v[34:35], 2, v[34:35]
	v_add_co_u32_e32 v34, vcc, s16, v34
	v_addc_co_u32_e32 v35, vcc, v3, v35, vcc
	global_load_dword v34, v[34:35], off
	v_add_u32_e32 v35, s40, v1
	v_ashrrev_i32_e32 v36, 31, v35
	v_lshlrev_b64 v[35:36], 2, v[35:36]
	v_add_co_u32_e32 v35, vcc, s16, v35
	v_addc_co_u32_e32 v36, vcc, v3, v36, vcc
	global_load_dword v35, v[35:36], off
	v_add_u32_e32 v36, s41, v1
	v_ashrrev_i32_e32 v37, 31, v36
	v_lshlrev_b64 v[36:37], 2, v[36:37]
	v_add_co_u32_e32 v38, vcc, s16, v36
	v_addc_co_u32_e32 v39, vcc, v3, v37, vcc
	v_add_co_u32_e32 v37, vcc, s24, v38
	global_load_dword v36, v[38:39], off
	v_addc_co_u32_e32 v38, vcc, v39, v2, vcc
	global_load_dword v37, v[37:38], off
	v_add_u32_e32 v38, s42, v1
	v_ashrrev_i32_e32 v39, 31, v38
	v_lshlrev_b64 v[38:39], 2, v[38:39]
	v_add_co_u32_e32 v38, vcc, s16, v38
	v_addc_co_u32_e32 v39, vcc, v3, v39, vcc
	global_load_dword v38, v[38:39], off
	v_add_u32_e32 v39, s43, v1
	v_ashrrev_i32_e32 v40, 31, v39
	v_lshlrev_b64 v[39:40], 2, v[39:40]
	v_add_co_u32_e32 v39, vcc, s16, v39
	v_addc_co_u32_e32 v40, vcc, v3, v40, vcc
	global_load_dword v39, v[39:40], off
	v_add_u32_e32 v40, s44, v1
	v_ashrrev_i32_e32 v41, 31, v40
	v_lshlrev_b64 v[40:41], 2, v[40:41]
	v_add_co_u32_e32 v42, vcc, s16, v40
	v_addc_co_u32_e32 v43, vcc, v3, v41, vcc
	v_add_co_u32_e32 v41, vcc, s24, v42
	global_load_dword v40, v[42:43], off
	v_addc_co_u32_e32 v42, vcc, v43, v2, vcc
	global_load_dword v41, v[41:42], off
	v_add_u32_e32 v42, s45, v1
	v_ashrrev_i32_e32 v43, 31, v42
	v_lshlrev_b64 v[42:43], 2, v[42:43]
	v_add_co_u32_e32 v42, vcc, s16, v42
	v_addc_co_u32_e32 v43, vcc, v3, v43, vcc
	global_load_dword v42, v[42:43], off
	v_add_u32_e32 v43, s46, v1
	v_ashrrev_i32_e32 v44, 31, v43
	v_lshlrev_b64 v[43:44], 2, v[43:44]
	v_add_co_u32_e32 v43, vcc, s16, v43
	v_addc_co_u32_e32 v44, vcc, v3, v44, vcc
	global_load_dword v43, v[43:44], off
	v_add_u32_e32 v44, s47, v1
	v_ashrrev_i32_e32 v45, 31, v44
	v_lshlrev_b64 v[44:45], 2, v[44:45]
	v_add_co_u32_e32 v46, vcc, s16, v44
	v_addc_co_u32_e32 v47, vcc, v3, v45, vcc
	v_add_co_u32_e32 v45, vcc, s24, v46
	global_load_dword v44, v[46:47], off
	v_addc_co_u32_e32 v46, vcc, v47, v2, vcc
	global_load_dword v45, v[45:46], off
	v_add_u32_e32 v46, s48, v1
	v_ashrrev_i32_e32 v47, 31, v46
	v_lshlrev_b64 v[46:47], 2, v[46:47]
	v_add_co_u32_e32 v46, vcc, s16, v46
	v_addc_co_u32_e32 v47, vcc, v3, v47, vcc
	global_load_dword v46, v[46:47], off
	v_add_u32_e32 v47, s49, v1
	v_ashrrev_i32_e32 v48, 31, v47
	v_lshlrev_b64 v[47:48], 2, v[47:48]
	v_add_u32_e32 v1, s26, v1
	v_add_co_u32_e32 v2, vcc, s16, v47
	v_addc_co_u32_e32 v3, vcc, v3, v48, vcc
	global_load_dword v2, v[2:3], off
	s_waitcnt vmcnt(31) lgkmcnt(0)
	v_subrev_f32_e32 v3, s4, v16
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(30)
	v_subrev_f32_e32 v3, s4, v17
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(29)
	v_subrev_f32_e32 v3, s4, v18
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(28)
	v_subrev_f32_e32 v3, s4, v19
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(27)
	v_subrev_f32_e32 v3, s5, v20
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(26)
	v_subrev_f32_e32 v3, s5, v21
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(25)
	v_subrev_f32_e32 v3, s5, v22
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(24)
	v_subrev_f32_e32 v3, s5, v23
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(23)
	v_subrev_f32_e32 v3, s6, v24
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(22)
	v_subrev_f32_e32 v3, s6, v25
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(21)
	v_subrev_f32_e32 v3, s6, v26
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(20)
	v_subrev_f32_e32 v3, s6, v27
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(19)
	v_subrev_f32_e32 v3, s7, v28
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(18)
	v_subrev_f32_e32 v3, s7, v29
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(17)
	v_subrev_f32_e32 v3, s7, v30
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(16)
	v_subrev_f32_e32 v3, s7, v31
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(15)
	v_subrev_f32_e32 v3, s8, v32
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(14)
	v_subrev_f32_e32 v3, s8, v33
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(13)
	v_subrev_f32_e32 v3, s8, v34
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(12)
	v_subrev_f32_e32 v3, s8, v35
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(11)
	v_subrev_f32_e32 v3, s9, v36
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(10)
	v_subrev_f32_e32 v3, s9, v37
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(9)
	v_subrev_f32_e32 v3, s9, v38
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(8)
	v_subrev_f32_e32 v3, s9, v39
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(7)
	v_subrev_f32_e32 v3, s10, v40
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(6)
	v_subrev_f32_e32 v3, s10, v41
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(5)
	v_subrev_f32_e32 v3, s10, v42
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(4)
	v_subrev_f32_e32 v3, s10, v43
	v_fmac_f32_e32 v12, v3, v3
	s_waitcnt vmcnt(3)
	v_subrev_f32_e32 v3, s11, v44
	v_fmac_f32_e32 v15, v3, v3
	s_waitcnt vmcnt(2)
	v_subrev_f32_e32 v3, s11, v45
	v_fmac_f32_e32 v14, v3, v3
	s_waitcnt vmcnt(1)
	v_subrev_f32_e32 v3, s11, v46
	v_fmac_f32_e32 v13, v3, v3
	s_waitcnt vmcnt(0)
	v_subrev_f32_e32 v2, s11, v2
	v_fmac_f32_e32 v12, v2, v2
	s_cbranch_scc0 .LBB0_10
	s_branch .LBB0_7
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel kmeans
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 40
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
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 49
		.amdhsa_next_free_sgpr 56
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
	.size	kmeans, .Lfunc_end0-kmeans
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1900
; NumSgprs: 60
; NumVgprs: 49
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 7
; VGPRBlocks: 12
; NumSGPRsForWavesPerEU: 60
; NumVGPRsForWavesPerEU: 49
; Occupancy: 4
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
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
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
        .offset:         16
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         28
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         32
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         36
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 40
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           kmeans
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     60
    .sgpr_spill_count: 0
    .symbol:         kmeans.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     49
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
