	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	kmeans                  ; -- Begin function kmeans
	.globl	kmeans
	.p2align	8
	.type	kmeans,@function
kmeans:                                 ; @kmeans
; %bb.0:
	s_load_dwordx4 s[20:23], s[4:5], 0x18
	s_load_dwordx4 s[16:19], s[4:5], 0x0
	s_load_dwordx2 s[24:25], s[4:5], 0x10
	v_lshl_or_b32 v15, s6, 6, v0
	v_ashrrev_i32_e32 v16, 31, v15
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v12, s22, v15
	v_add_u32_e32 v10, s22, v12
	v_add_u32_e32 v8, s22, v10
	v_ashrrev_i32_e32 v13, 31, v12
	v_ashrrev_i32_e32 v11, 31, v10
	v_ashrrev_i32_e32 v9, 31, v8
	v_lshlrev_b64 v[6:7], 2, v[15:16]
	v_lshlrev_b64 v[4:5], 2, v[12:13]
	v_lshlrev_b64 v[2:3], 2, v[10:11]
	v_lshlrev_b64 v[0:1], 2, v[8:9]
	s_cmp_lt_i32 s21, 1
	s_cbranch_scc1 .LBB0_5
; %bb.1:
	v_add_u32_e32 v15, s20, v15
	v_ashrrev_i32_e32 v16, 31, v15
	v_mov_b32_e32 v9, s17
	v_add_co_u32_e32 v13, vcc, s16, v6
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_addc_co_u32_e32 v14, vcc, v9, v7, vcc
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v20, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_addc_co_u32_e32 v21, vcc, v9, v17, vcc
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v22, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_addc_co_u32_e32 v23, vcc, v9, v17, vcc
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v24, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_addc_co_u32_e32 v25, vcc, v9, v17, vcc
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v26, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_addc_co_u32_e32 v27, vcc, v9, v17, vcc
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v28, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_addc_co_u32_e32 v29, vcc, v9, v17, vcc
	v_lshlrev_b64 v[16:17], 2, v[15:16]
	v_add_u32_e32 v15, s20, v15
	v_add_co_u32_e32 v30, vcc, s16, v16
	v_ashrrev_i32_e32 v16, 31, v15
	v_lshlrev_b64 v[15:16], 2, v[15:16]
	v_addc_co_u32_e32 v31, vcc, v9, v17, vcc
	v_add_co_u32_e32 v32, vcc, s16, v15
	v_add_u32_e32 v11, s20, v12
	v_addc_co_u32_e32 v33, vcc, v9, v16, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	global_load_dword v15, v[13:14], off
	global_load_dword v16, v[20:21], off
	global_load_dword v17, v[22:23], off
	global_load_dword v18, v[24:25], off
	global_load_dword v19, v[26:27], off
                                        ; kill: killed $vgpr13 killed $vgpr14
                                        ; kill: killed $vgpr22 killed $vgpr23
                                        ; kill: killed $vgpr26 killed $vgpr27
                                        ; kill: killed $vgpr20 killed $vgpr21
                                        ; kill: killed $vgpr24 killed $vgpr25
	s_nop 0
	global_load_dword v20, v[28:29], off
	global_load_dword v21, v[30:31], off
	global_load_dword v22, v[32:33], off
	v_add_co_u32_e32 v13, vcc, s16, v4
	v_lshlrev_b64 v[23:24], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v14, vcc, v9, v5, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v23, vcc, s16, v23
	v_lshlrev_b64 v[25:26], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v24, vcc, v9, v24, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v25, vcc, s16, v25
	v_lshlrev_b64 v[27:28], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v26, vcc, v9, v26, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v27, vcc, s16, v27
	v_lshlrev_b64 v[29:30], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v28, vcc, v9, v28, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v29, vcc, s16, v29
	v_lshlrev_b64 v[31:32], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v30, vcc, v9, v30, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v31, vcc, s16, v31
	v_lshlrev_b64 v[33:34], 2, v[11:12]
	v_add_u32_e32 v11, s20, v11
	v_addc_co_u32_e32 v32, vcc, v9, v32, vcc
	v_ashrrev_i32_e32 v12, 31, v11
	v_add_co_u32_e32 v33, vcc, s16, v33
	v_lshlrev_b64 v[11:12], 2, v[11:12]
	v_addc_co_u32_e32 v34, vcc, v9, v34, vcc
	v_add_co_u32_e32 v11, vcc, s16, v11
	v_addc_co_u32_e32 v12, vcc, v9, v12, vcc
	global_load_dword v13, v[13:14], off
	s_nop 0
	global_load_dword v14, v[23:24], off
	s_nop 0
	global_load_dword v23, v[25:26], off
	global_load_dword v24, v[27:28], off
	s_nop 0
	global_load_dword v25, v[29:30], off
	global_load_dword v26, v[31:32], off
                                        ; kill: killed $vgpr31 killed $vgpr32
                                        ; kill: killed $vgpr29 killed $vgpr30
	global_load_dword v27, v[33:34], off
	global_load_dword v28, v[11:12], off
	v_add_u32_e32 v29, s20, v10
	v_add_co_u32_e32 v11, vcc, s16, v2
	v_ashrrev_i32_e32 v30, 31, v29
	v_addc_co_u32_e32 v12, vcc, v9, v3, vcc
	v_lshlrev_b64 v[9:10], 2, v[29:30]
	v_mov_b32_e32 v30, s17
	v_add_co_u32_e32 v9, vcc, s16, v9
	v_add_u32_e32 v29, s20, v29
	v_addc_co_u32_e32 v10, vcc, v30, v10, vcc
	v_ashrrev_i32_e32 v30, 31, v29
	v_lshlrev_b64 v[30:31], 2, v[29:30]
	v_add_u32_e32 v29, s20, v29
	v_mov_b32_e32 v33, s17
	v_add_co_u32_e32 v32, vcc, s16, v30
	v_ashrrev_i32_e32 v30, 31, v29
	v_addc_co_u32_e32 v33, vcc, v33, v31, vcc
	v_lshlrev_b64 v[30:31], 2, v[29:30]
	v_add_u32_e32 v29, s20, v29
	v_mov_b32_e32 v35, s17
	v_add_co_u32_e32 v34, vcc, s16, v30
	v_ashrrev_i32_e32 v30, 31, v29
	v_addc_co_u32_e32 v35, vcc, v35, v31, vcc
	v_lshlrev_b64 v[30:31], 2, v[29:30]
	v_add_u32_e32 v29, s20, v29
	v_mov_b32_e32 v37, s17
	v_add_co_u32_e32 v36, vcc, s16, v30
	v_ashrrev_i32_e32 v30, 31, v29
	v_addc_co_u32_e32 v37, vcc, v37, v31, vcc
	v_lshlrev_b64 v[30:31], 2, v[29:30]
	v_add_u32_e32 v29, s20, v29
	v_mov_b32_e32 v39, s17
	v_add_co_u32_e32 v38, vcc, s16, v30
	v_ashrrev_i32_e32 v30, 31, v29
	v_addc_co_u32_e32 v39, vcc, v39, v31, vcc
	v_lshlrev_b64 v[30:31], 2, v[29:30]
	v_add_u32_e32 v29, s20, v29
	v_add_co_u32_e32 v40, vcc, s16, v30
	v_ashrrev_i32_e32 v30, 31, v29
	v_mov_b32_e32 v41, s17
	v_lshlrev_b64 v[29:30], 2, v[29:30]
	v_addc_co_u32_e32 v41, vcc, v41, v31, vcc
	v_mov_b32_e32 v31, s17
	v_add_co_u32_e32 v42, vcc, s16, v29
	v_addc_co_u32_e32 v43, vcc, v31, v30, vcc
	global_load_dword v29, v[11:12], off
	global_load_dword v30, v[9:10], off
	global_load_dword v31, v[32:33], off
	s_nop 0
	global_load_dword v32, v[34:35], off
	global_load_dword v33, v[36:37], off
	s_nop 0
	global_load_dword v34, v[38:39], off
	global_load_dword v35, v[40:41], off
	global_load_dword v36, v[42:43], off
	v_add_u32_e32 v37, s20, v8
	v_ashrrev_i32_e32 v38, 31, v37
	v_mov_b32_e32 v10, s17
	v_add_co_u32_e32 v9, vcc, s16, v0
	v_lshlrev_b64 v[11:12], 2, v[37:38]
	v_add_u32_e32 v37, s20, v37
	v_addc_co_u32_e32 v10, vcc, v10, v1, vcc
	v_ashrrev_i32_e32 v38, 31, v37
	v_mov_b32_e32 v8, s17
	v_add_co_u32_e32 v11, vcc, s16, v11
	v_lshlrev_b64 v[38:39], 2, v[37:38]
	v_add_u32_e32 v40, s20, v37
	v_addc_co_u32_e32 v12, vcc, v8, v12, vcc
	v_ashrrev_i32_e32 v41, 31, v40
	v_add_co_u32_e32 v38, vcc, s16, v38
	v_lshlrev_b64 v[41:42], 2, v[40:41]
	v_add_u32_e32 v43, s20, v40
	v_addc_co_u32_e32 v39, vcc, v8, v39, vcc
	v_ashrrev_i32_e32 v44, 31, v43
	v_add_co_u32_e32 v41, vcc, s16, v41
	v_lshlrev_b64 v[44:45], 2, v[43:44]
	v_add_u32_e32 v46, s20, v43
	v_addc_co_u32_e32 v42, vcc, v8, v42, vcc
	v_ashrrev_i32_e32 v47, 31, v46
	v_add_co_u32_e32 v44, vcc, s16, v44
	v_lshlrev_b64 v[47:48], 2, v[46:47]
	v_add_u32_e32 v49, s20, v46
	v_addc_co_u32_e32 v45, vcc, v8, v45, vcc
	v_ashrrev_i32_e32 v50, 31, v49
	v_add_co_u32_e32 v47, vcc, s16, v47
	v_lshlrev_b64 v[50:51], 2, v[49:50]
	v_add_u32_e32 v52, s20, v49
	v_addc_co_u32_e32 v48, vcc, v8, v48, vcc
	v_ashrrev_i32_e32 v53, 31, v52
	v_add_co_u32_e32 v50, vcc, s16, v50
	v_lshlrev_b64 v[52:53], 2, v[52:53]
	v_addc_co_u32_e32 v51, vcc, v8, v51, vcc
	v_add_co_u32_e32 v52, vcc, s16, v52
	v_addc_co_u32_e32 v53, vcc, v8, v53, vcc
	global_load_dword v8, v[9:10], off
	s_nop 0
	global_load_dword v9, v[11:12], off
	global_load_dword v10, v[38:39], off
	s_nop 0
	global_load_dword v11, v[41:42], off
	global_load_dword v12, v[44:45], off
	global_load_dword v37, v[47:48], off
	global_load_dword v38, v[50:51], off
	global_load_dword v39, v[52:53], off
	s_cmp_lt_u32 s21, 4
	s_cbranch_scc1 .LBB0_6
; %bb.2:
	s_and_b32 s22, s21, 0x7ffffffc
	s_mov_b32 s17, 0
	s_mov_b32 s23, 24
	v_mov_b32_e32 v47, 0x7f7fc99e
	v_mov_b32_e32 v43, -1
	s_mov_b32 s20, 0
	v_mov_b32_e32 v46, 0x7f7fc99e
	v_mov_b32_e32 v45, 0x7f7fc99e
	v_mov_b32_e32 v44, 0x7f7fc99e
	v_mov_b32_e32 v42, -1
	v_mov_b32_e32 v41, -1
	v_mov_b32_e32 v40, -1
.LBB0_3:                                ; =>This Inner Loop Header: Depth=1
	s_sub_i32 s16, s23, 24
	s_lshl_b64 s[0:1], s[16:17], 2
	s_add_u32 s26, s18, s0
	s_addc_u32 s27, s19, s1
	s_load_dwordx16 s[0:15], s[26:27], 0x0
	s_add_i32 s16, s23, -8
	s_waitcnt vmcnt(31) lgkmcnt(0)
	v_subrev_f32_e32 v48, s0, v15
	v_fma_f32 v51, v48, v48, 0
	s_waitcnt vmcnt(23)
	v_subrev_f32_e32 v48, s0, v13
	v_subrev_f32_e32 v52, s1, v16
	v_fma_f32 v50, v48, v48, 0
	s_waitcnt vmcnt(15)
	v_subrev_f32_e32 v48, s0, v29
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s1, v14
	v_fma_f32 v49, v48, v48, 0
	s_waitcnt vmcnt(7)
	v_subrev_f32_e32 v48, s0, v8
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s1, v30
	v_fma_f32 v48, v48, v48, 0
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(6)
	v_subrev_f32_e32 v52, s1, v9
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s2, v17
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s2, v23
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s2, v31
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(5)
	v_subrev_f32_e32 v52, s2, v10
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s3, v18
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s3, v24
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s3, v32
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(4)
	v_subrev_f32_e32 v52, s3, v11
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s4, v19
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s4, v25
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s4, v33
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(3)
	v_subrev_f32_e32 v52, s4, v12
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s5, v20
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s5, v26
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s5, v34
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(2)
	v_subrev_f32_e32 v52, s5, v37
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s6, v21
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s6, v27
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s6, v35
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(1)
	v_subrev_f32_e32 v52, s6, v38
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s7, v22
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s7, v28
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s7, v36
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(0)
	v_subrev_f32_e32 v52, s7, v39
	v_fmac_f32_e32 v48, v52, v52
	v_cmp_lt_f32_e32 vcc, v51, v47
	v_mov_b32_e32 v52, s20
	v_cndmask_b32_e32 v43, v43, v52, vcc
	v_cmp_lt_f32_e32 vcc, v50, v46
	v_cndmask_b32_e32 v42, v42, v52, vcc
	v_cmp_lt_f32_e32 vcc, v49, v45
	v_cndmask_b32_e32 v41, v41, v52, vcc
	v_cmp_lt_f32_e32 vcc, v48, v44
	v_max_f32_e32 v44, v44, v44
	v_max_f32_e32 v47, v47, v47
	v_min_f32_e32 v44, v48, v44
	v_subrev_f32_e32 v48, s8, v15
	v_min_f32_e32 v47, v51, v47
	v_max_f32_e32 v46, v46, v46
	v_cndmask_b32_e32 v40, v40, v52, vcc
	v_fma_f32 v51, v48, v48, 0
	v_subrev_f32_e32 v48, s8, v13
	v_subrev_f32_e32 v52, s9, v16
	v_min_f32_e32 v46, v50, v46
	v_max_f32_e32 v45, v45, v45
	v_fma_f32 v50, v48, v48, 0
	v_subrev_f32_e32 v48, s8, v29
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s9, v14
	v_min_f32_e32 v45, v49, v45
	v_fma_f32 v49, v48, v48, 0
	v_subrev_f32_e32 v48, s8, v8
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s9, v30
	v_fma_f32 v48, v48, v48, 0
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s9, v9
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s10, v17
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s10, v23
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s10, v31
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s10, v10
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s11, v18
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s11, v24
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s11, v32
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s11, v11
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s12, v19
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s12, v25
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s12, v33
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s12, v12
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s13, v20
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s13, v26
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s13, v34
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s13, v37
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s14, v21
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s14, v27
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s14, v35
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s14, v38
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s15, v22
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s15, v28
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s15, v36
	v_fmac_f32_e32 v49, v52, v52
	v_subrev_f32_e32 v52, s15, v39
	s_add_i32 s0, s20, 1
	v_fmac_f32_e32 v48, v52, v52
	v_mov_b32_e32 v52, s0
	s_lshl_b64 s[0:1], s[16:17], 2
	s_add_u32 s26, s18, s0
	s_addc_u32 s27, s19, s1
	s_load_dwordx16 s[0:15], s[26:27], 0x0
	v_cmp_lt_f32_e32 vcc, v51, v47
	v_cndmask_b32_e32 v43, v43, v52, vcc
	v_cmp_lt_f32_e32 vcc, v50, v46
	v_cndmask_b32_e32 v42, v42, v52, vcc
	v_cmp_lt_f32_e32 vcc, v49, v45
	v_min_f32_e32 v46, v50, v46
	v_cndmask_b32_e32 v50, v41, v52, vcc
	v_cmp_lt_f32_e32 vcc, v48, v44
	v_min_f32_e32 v47, v51, v47
	v_cndmask_b32_e32 v51, v40, v52, vcc
	s_waitcnt lgkmcnt(0)
	v_subrev_f32_e32 v40, s0, v15
	v_fma_f32 v41, v40, v40, 0
	v_subrev_f32_e32 v40, s0, v13
	v_min_f32_e32 v52, v48, v44
	v_fma_f32 v44, v40, v40, 0
	v_subrev_f32_e32 v40, s0, v29
	v_fma_f32 v48, v40, v40, 0
	v_subrev_f32_e32 v40, s0, v8
	v_fma_f32 v53, v40, v40, 0
	v_subrev_f32_e32 v40, s1, v16
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s1, v14
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s1, v30
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s1, v9
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s2, v17
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s2, v23
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s2, v31
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s2, v10
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s3, v18
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s3, v24
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s3, v32
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s3, v11
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s4, v19
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s4, v25
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s4, v33
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s4, v12
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s5, v20
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s5, v26
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s5, v34
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s5, v37
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s6, v21
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s6, v27
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s6, v35
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s6, v38
	v_fmac_f32_e32 v53, v40, v40
	v_subrev_f32_e32 v40, s7, v22
	v_fmac_f32_e32 v41, v40, v40
	v_subrev_f32_e32 v40, s7, v28
	v_fmac_f32_e32 v44, v40, v40
	v_subrev_f32_e32 v40, s7, v36
	s_add_i32 s0, s20, 2
	v_fmac_f32_e32 v48, v40, v40
	v_subrev_f32_e32 v40, s7, v39
	v_cmp_lt_f32_e32 vcc, v41, v47
	v_mov_b32_e32 v54, s0
	v_min_f32_e32 v49, v49, v45
	v_fmac_f32_e32 v53, v40, v40
	v_cndmask_b32_e32 v40, v43, v54, vcc
	v_cmp_lt_f32_e32 vcc, v44, v46
	v_cndmask_b32_e32 v42, v42, v54, vcc
	v_cmp_lt_f32_e32 vcc, v48, v49
	v_subrev_f32_e32 v43, s8, v15
	v_min_f32_e32 v44, v44, v46
	v_cndmask_b32_e32 v45, v50, v54, vcc
	v_cmp_lt_f32_e32 vcc, v53, v52
	v_fma_f32 v46, v43, v43, 0
	v_subrev_f32_e32 v43, s8, v13
	v_min_f32_e32 v48, v48, v49
	v_cndmask_b32_e32 v49, v51, v54, vcc
	v_fma_f32 v51, v43, v43, 0
	v_subrev_f32_e32 v43, s8, v29
	v_min_f32_e32 v50, v53, v52
	v_fma_f32 v52, v43, v43, 0
	v_subrev_f32_e32 v43, s8, v8
	v_fma_f32 v53, v43, v43, 0
	v_subrev_f32_e32 v43, s9, v16
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s9, v14
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s9, v30
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s9, v9
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s10, v17
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s10, v23
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s10, v31
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s10, v10
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s11, v18
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s11, v24
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s11, v32
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s11, v11
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s12, v19
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s12, v25
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s12, v33
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s12, v12
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s13, v20
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s13, v26
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s13, v34
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s13, v37
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s14, v21
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s14, v27
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s14, v35
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s14, v38
	v_fmac_f32_e32 v53, v43, v43
	v_subrev_f32_e32 v43, s15, v22
	v_fmac_f32_e32 v46, v43, v43
	v_subrev_f32_e32 v43, s15, v28
	v_min_f32_e32 v41, v41, v47
	v_fmac_f32_e32 v51, v43, v43
	v_subrev_f32_e32 v43, s15, v36
	s_add_i32 s0, s20, 3
	v_fmac_f32_e32 v52, v43, v43
	v_subrev_f32_e32 v43, s15, v39
	v_cmp_lt_f32_e32 vcc, v46, v41
	v_mov_b32_e32 v54, s0
	v_fmac_f32_e32 v53, v43, v43
	v_cndmask_b32_e32 v43, v40, v54, vcc
	v_cmp_lt_f32_e32 vcc, v51, v44
	v_cndmask_b32_e32 v42, v42, v54, vcc
	v_cmp_lt_f32_e32 vcc, v52, v48
	v_min_f32_e32 v47, v46, v41
	v_cndmask_b32_e32 v41, v45, v54, vcc
	v_cmp_lt_f32_e32 vcc, v53, v50
	s_add_i32 s20, s20, 4
	s_add_i32 s23, s23, 32
	v_min_f32_e32 v46, v51, v44
	v_min_f32_e32 v45, v52, v48
	v_cndmask_b32_e32 v40, v49, v54, vcc
	v_min_f32_e32 v44, v53, v50
	s_cmp_lg_u32 s20, s22
	s_cbranch_scc1 .LBB0_3
; %bb.4:
	s_and_b32 s2, s21, 3
	s_cmp_eq_u32 s2, 0
	s_mov_b32 s1, 0
	s_cbranch_scc0 .LBB0_7
	s_branch .LBB0_9
.LBB0_5:
	v_mov_b32_e32 v40, -1
	v_mov_b32_e32 v41, -1
	v_mov_b32_e32 v42, -1
	v_mov_b32_e32 v43, -1
	s_branch .LBB0_9
.LBB0_6:
	s_mov_b32 s20, 0
	v_mov_b32_e32 v40, -1
	v_mov_b32_e32 v44, 0x7f7fc99e
	v_mov_b32_e32 v41, -1
	v_mov_b32_e32 v42, -1
	v_mov_b32_e32 v43, -1
	v_mov_b32_e32 v45, 0x7f7fc99e
	v_mov_b32_e32 v46, 0x7f7fc99e
	v_mov_b32_e32 v47, 0x7f7fc99e
	s_and_b32 s2, s21, 3
	s_cmp_eq_u32 s2, 0
	s_mov_b32 s1, 0
	s_cbranch_scc1 .LBB0_9
.LBB0_7:
	s_lshl_b32 s0, s20, 3
	s_lshl_b64 s[0:1], s[0:1], 2
	s_add_u32 s10, s18, s0
	s_addc_u32 s11, s19, s1
	s_lshl_b32 s12, s2, 5
	s_mov_b64 s[8:9], 0
.LBB0_8:                                ; =>This Inner Loop Header: Depth=1
	s_add_u32 s14, s10, s8
	s_addc_u32 s15, s11, s9
	s_load_dwordx8 s[0:7], s[14:15], 0x0
	s_waitcnt vmcnt(31) lgkmcnt(0)
	v_subrev_f32_e32 v48, s0, v15
	v_fma_f32 v51, v48, v48, 0
	s_waitcnt vmcnt(23)
	v_subrev_f32_e32 v48, s0, v13
	v_subrev_f32_e32 v52, s1, v16
	v_fma_f32 v50, v48, v48, 0
	s_waitcnt vmcnt(15)
	v_subrev_f32_e32 v48, s0, v29
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s1, v14
	v_fma_f32 v49, v48, v48, 0
	s_waitcnt vmcnt(7)
	v_subrev_f32_e32 v48, s0, v8
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s1, v30
	v_fma_f32 v48, v48, v48, 0
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(6)
	v_subrev_f32_e32 v52, s1, v9
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s2, v17
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s2, v23
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s2, v31
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(5)
	v_subrev_f32_e32 v52, s2, v10
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s3, v18
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s3, v24
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s3, v32
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(4)
	v_subrev_f32_e32 v52, s3, v11
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s4, v19
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s4, v25
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s4, v33
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(3)
	v_subrev_f32_e32 v52, s4, v12
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s5, v20
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s5, v26
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s5, v34
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(2)
	v_subrev_f32_e32 v52, s5, v37
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s6, v21
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s6, v27
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s6, v35
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(1)
	v_subrev_f32_e32 v52, s6, v38
	v_fmac_f32_e32 v48, v52, v52
	v_subrev_f32_e32 v52, s7, v22
	v_fmac_f32_e32 v51, v52, v52
	v_subrev_f32_e32 v52, s7, v28
	v_fmac_f32_e32 v50, v52, v52
	v_subrev_f32_e32 v52, s7, v36
	v_fmac_f32_e32 v49, v52, v52
	s_waitcnt vmcnt(0)
	v_subrev_f32_e32 v52, s7, v39
	v_fmac_f32_e32 v48, v52, v52
	v_cmp_lt_f32_e32 vcc, v51, v47
	v_mov_b32_e32 v52, s20
	v_cndmask_b32_e32 v43, v43, v52, vcc
	v_cmp_lt_f32_e32 vcc, v50, v46
	s_add_i32 s20, s20, 1
	v_cndmask_b32_e32 v42, v42, v52, vcc
	v_cmp_lt_f32_e32 vcc, v49, v45
	s_add_u32 s8, s8, 32
	v_max_f32_e32 v47, v47, v47
	v_max_f32_e32 v46, v46, v46
	v_cndmask_b32_e32 v41, v41, v52, vcc
	v_max_f32_e32 v45, v45, v45
	v_cmp_lt_f32_e32 vcc, v48, v44
	v_max_f32_e32 v44, v44, v44
	s_addc_u32 s9, s9, 0
	v_min_f32_e32 v47, v51, v47
	v_min_f32_e32 v46, v50, v46
	v_min_f32_e32 v45, v49, v45
	v_cndmask_b32_e32 v40, v40, v52, vcc
	v_min_f32_e32 v44, v48, v44
	s_cmp_lg_u32 s12, s8
	s_cbranch_scc1 .LBB0_8
.LBB0_9:
	s_waitcnt vmcnt(7)
	v_mov_b32_e32 v8, s25
	v_add_co_u32_e32 v6, vcc, s24, v6
	v_addc_co_u32_e32 v7, vcc, v8, v7, vcc
	v_add_co_u32_e32 v4, vcc, s24, v4
	v_addc_co_u32_e32 v5, vcc, v8, v5, vcc
	v_add_co_u32_e32 v2, vcc, s24, v2
	v_addc_co_u32_e32 v3, vcc, v8, v3, vcc
	v_add_co_u32_e32 v0, vcc, s24, v0
	v_addc_co_u32_e32 v1, vcc, v8, v1, vcc
	global_store_dword v[6:7], v43, off
	global_store_dword v[4:5], v42, off
	global_store_dword v[2:3], v41, off
	global_store_dword v[0:1], v40, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel kmeans
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 36
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
		.amdhsa_next_free_vgpr 55
		.amdhsa_next_free_sgpr 28
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
; codeLenInByte = 3276
; NumSgprs: 32
; NumVgprs: 55
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 3
; VGPRBlocks: 13
; NumSGPRsForWavesPerEU: 32
; NumVGPRsForWavesPerEU: 55
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 36
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
    .sgpr_count:     32
    .sgpr_spill_count: 0
    .symbol:         kmeans.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     55
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
