	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	hybridsort              ; -- Begin function hybridsort
	.globl	hybridsort
	.p2align	8
	.type	hybridsort,@function
hybridsort:                             ; @hybridsort
; %bb.0:
	s_load_dwordx8 s[8:15], s[4:5], 0x0
	v_lshlrev_b32_e32 v14, 2, v0
	v_mov_b32_e32 v3, 0
	s_mov_b32 s0, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s11
	v_add_co_u32_e32 v2, vcc, s10, v14
	v_addc_co_u32_e32 v4, vcc, 0, v1, vcc
	v_add_co_u32_e32 v1, vcc, 0x200, v2
	v_addc_co_u32_e32 v2, vcc, 0, v4, vcc
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	global_load_dword v4, v[1:2], off offset:-512
	global_load_dword v5, v[1:2], off offset:-256
	global_load_dword v6, v[1:2], off
	global_load_dword v7, v[1:2], off offset:256
	v_add_u32_e32 v8, s0, v14
	s_addk_i32 s0, 0x400
	v_add_co_u32_e32 v1, vcc, 0x400, v1
	v_addc_co_u32_e32 v2, vcc, 0, v2, vcc
	s_cmpk_eq_i32 s0, 0x1000
	ds_write2st64_b32 v8, v3, v3 offset1:1
	ds_write2st64_b32 v8, v3, v3 offset0:16 offset1:17
	ds_write2st64_b32 v8, v3, v3 offset0:2 offset1:3
	ds_write2st64_b32 v8, v3, v3 offset0:18 offset1:19
	s_waitcnt vmcnt(2)
	ds_write2st64_b32 v8, v4, v5 offset0:32 offset1:33
	s_waitcnt vmcnt(0)
	ds_write2st64_b32 v8, v6, v7 offset0:34 offset1:35
	s_cbranch_scc0 .LBB0_1
; %bb.2:
	s_load_dwordx2 s[10:11], s[4:5], 0x20
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s10, 1
	s_cbranch_scc1 .LBB0_5
; %bb.3:
	s_ashr_i32 s1, s11, 31
	s_mov_b32 s0, s11
	s_lshl_b32 s16, s11, 2
	v_mov_b32_e32 v2, 0
	s_lshl_b64 s[0:1], s[0:1], 2
	ds_read_b32 v15, v2 offset:10240
	s_add_u32 s7, s12, s0
	v_lshl_or_b32 v1, s6, 6, v0
	s_addc_u32 s24, s13, s1
	s_ashr_i32 s17, s16, 31
	v_ashrrev_i32_e32 v2, 31, v1
	s_lshl_b64 s[18:19], s[16:17], 2
	v_lshlrev_b64 v[2:3], 2, v[1:2]
	s_add_u32 s17, s8, s0
	s_addc_u32 s25, s9, s1
	s_lshl_b32 s26, s11, 1
	s_mul_i32 s11, s11, 3
	v_mov_b32_e32 v16, s9
	s_movk_i32 s27, 0x2000
	v_mov_b32_e32 v17, 1
	v_mov_b32_e32 v18, s13
	s_mov_b64 s[20:21], s[8:9]
	s_mov_b64 s[22:23], s[12:13]
.LBB0_4:                                ; =>This Inner Loop Header: Depth=1
	v_mov_b32_e32 v5, s21
	v_mov_b32_e32 v7, s25
	v_add_co_u32_e32 v4, vcc, s17, v2
	v_add_u32_e32 v6, s26, v1
	v_add_co_u32_e64 v21, s[4:5], s20, v2
	v_addc_co_u32_e64 v22, s[4:5], v5, v3, s[4:5]
	v_addc_co_u32_e32 v5, vcc, v7, v3, vcc
	v_ashrrev_i32_e32 v7, 31, v6
	v_add_u32_e32 v12, s11, v1
	v_mov_b32_e32 v9, s23
	v_add_co_u32_e64 v8, s[0:1], s22, v2
	v_mov_b32_e32 v11, s24
	v_add_co_u32_e64 v10, s[2:3], s7, v2
	global_load_dword v20, v[21:22], off
	global_load_dword v19, v[4:5], off
	v_lshlrev_b64 v[4:5], 2, v[6:7]
	v_ashrrev_i32_e32 v13, 31, v12
	v_addc_co_u32_e64 v9, vcc, v9, v3, s[0:1]
	v_addc_co_u32_e64 v11, vcc, v11, v3, s[2:3]
	v_lshlrev_b64 v[12:13], 2, v[12:13]
	v_add_co_u32_e32 v21, vcc, s8, v4
	v_addc_co_u32_e32 v22, vcc, v16, v5, vcc
	v_add_co_u32_e32 v23, vcc, s8, v12
	v_addc_co_u32_e32 v24, vcc, v16, v13, vcc
	v_add_co_u32_e32 v6, vcc, s12, v4
	v_addc_co_u32_e32 v7, vcc, v18, v5, vcc
	v_add_co_u32_e32 v4, vcc, s12, v12
	v_addc_co_u32_e32 v5, vcc, v18, v13, vcc
	global_load_dword v13, v[21:22], off
	global_load_dword v12, v[23:24], off
	s_add_u32 s7, s7, s18
	s_addc_u32 s24, s24, s19
	s_add_u32 s22, s22, s18
	s_addc_u32 s23, s23, s19
	s_add_u32 s17, s17, s18
	s_addc_u32 s25, s25, s19
	s_add_u32 s20, s20, s18
	s_addc_u32 s21, s21, s19
	s_add_i32 s10, s10, -1
	v_add_u32_e32 v1, s16, v1
	s_cmp_lg_u32 s10, 0
	s_waitcnt vmcnt(3) lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v20, v15
	v_cndmask_b32_e64 v21, 0, 1, vcc
	s_waitcnt vmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v15
	v_cndmask_b32_e64 v22, 0, 1, vcc
	v_lshlrev_b32_e32 v23, 9, v21
	v_lshlrev_b32_e32 v24, 9, v22
	v_lshlrev_b32_e32 v21, 11, v21
	v_lshlrev_b32_e32 v22, 11, v22
	ds_read_b32 v21, v21 offset:9216
	ds_read_b32 v22, v22 offset:9216
	s_waitcnt vmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v15
	v_cndmask_b32_e64 v25, 0, 1, vcc
	s_waitcnt vmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v15
	v_cndmask_b32_e64 v26, 0, 1, vcc
	v_lshlrev_b32_e32 v27, 9, v25
	v_lshlrev_b32_e32 v28, 9, v26
	v_lshlrev_b32_e32 v25, 11, v25
	v_lshlrev_b32_e32 v26, 11, v26
	ds_read_b32 v25, v25 offset:9216
	ds_read_b32 v26, v26 offset:9216
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v21
	v_cndmask_b32_e64 v21, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v22
	v_cndmask_b32_e64 v22, 0, 1, vcc
	v_lshl_or_b32 v21, v21, 8, v23
	v_lshl_or_b32 v22, v22, 8, v24
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v25
	v_lshlrev_b32_e32 v23, 2, v21
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v25, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v26
	v_cndmask_b32_e64 v26, 0, 1, vcc
	ds_read_b32 v23, v23 offset:8704
	ds_read_b32 v24, v24 offset:8704
	v_lshl_or_b32 v25, v25, 8, v27
	v_lshl_or_b32 v26, v26, 8, v28
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v27, v27 offset:8704
	ds_read_b32 v28, v28 offset:8704
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_cndmask_b32_e64 v23, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_cndmask_b32_e64 v24, 0, 1, vcc
	v_lshl_or_b32 v21, v23, 7, v21
	v_lshl_or_b32 v22, v24, 7, v22
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_lshlrev_b32_e32 v23, 2, v21
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v27, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v28
	v_cndmask_b32_e64 v28, 0, 1, vcc
	ds_read_b32 v23, v23 offset:8448
	ds_read_b32 v24, v24 offset:8448
	v_lshl_or_b32 v25, v27, 7, v25
	v_lshl_or_b32 v26, v28, 7, v26
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v27, v27 offset:8448
	ds_read_b32 v28, v28 offset:8448
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_cndmask_b32_e64 v23, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_cndmask_b32_e64 v24, 0, 1, vcc
	v_lshl_or_b32 v21, v23, 6, v21
	v_lshl_or_b32 v22, v24, 6, v22
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_lshlrev_b32_e32 v23, 2, v21
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v27, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v28
	v_cndmask_b32_e64 v28, 0, 1, vcc
	ds_read_b32 v23, v23 offset:8320
	ds_read_b32 v24, v24 offset:8320
	v_lshl_or_b32 v25, v27, 6, v25
	v_lshl_or_b32 v26, v28, 6, v26
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v27, v27 offset:8320
	ds_read_b32 v28, v28 offset:8320
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_cndmask_b32_e64 v23, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_cndmask_b32_e64 v24, 0, 1, vcc
	v_lshl_or_b32 v21, v23, 5, v21
	v_lshl_or_b32 v22, v24, 5, v22
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_lshlrev_b32_e32 v23, 2, v21
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v27, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v28
	v_cndmask_b32_e64 v28, 0, 1, vcc
	ds_read_b32 v23, v23 offset:8256
	ds_read_b32 v24, v24 offset:8256
	v_lshl_or_b32 v25, v27, 5, v25
	v_lshl_or_b32 v26, v28, 5, v26
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v27, v27 offset:8256
	ds_read_b32 v28, v28 offset:8256
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_cndmask_b32_e64 v23, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_cndmask_b32_e64 v24, 0, 1, vcc
	v_lshl_or_b32 v21, v23, 4, v21
	v_lshl_or_b32 v22, v24, 4, v22
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_lshlrev_b32_e32 v23, 2, v21
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v27, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v28
	v_cndmask_b32_e64 v28, 0, 1, vcc
	ds_read_b32 v23, v23 offset:8224
	ds_read_b32 v24, v24 offset:8224
	v_lshl_or_b32 v25, v27, 4, v25
	v_lshl_or_b32 v26, v28, 4, v26
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v27, v27 offset:8224
	ds_read_b32 v28, v28 offset:8224
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_cndmask_b32_e64 v23, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_cndmask_b32_e64 v24, 0, 1, vcc
	v_lshl_or_b32 v21, v23, 3, v21
	v_lshl_or_b32 v22, v24, 3, v22
	v_lshlrev_b32_e32 v23, 2, v21
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_lshlrev_b32_e32 v24, 2, v22
	v_cndmask_b32_e64 v27, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v28
	ds_read_b32 v29, v23 offset:8208
	ds_read_b32 v30, v24 offset:8208
	v_cndmask_b32_e64 v28, 0, 1, vcc
	v_lshl_or_b32 v25, v27, 3, v25
	v_lshl_or_b32 v26, v28, 3, v26
	v_lshlrev_b32_e32 v27, 2, v25
	v_lshlrev_b32_e32 v28, 2, v26
	ds_read_b32 v31, v27 offset:8208
	ds_read_b32 v32, v28 offset:8208
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v20, v29
	v_cndmask_b32_e64 v29, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v19, v30
	v_cndmask_b32_e64 v30, 0, 1, vcc
	v_lshl_add_u32 v21, v29, 2, v21
	v_lshlrev_b32_e32 v29, 4, v29
	v_lshl_add_u32 v22, v30, 2, v22
	v_lshlrev_b32_e32 v30, 4, v30
	v_add3_u32 v23, v23, s27, v29
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v13, v31
	v_add3_u32 v24, v24, s27, v30
	v_cndmask_b32_e64 v29, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v12, v32
	ds_read_b32 v31, v23 offset:8
	ds_read_b32 v32, v24 offset:8
	v_cndmask_b32_e64 v30, 0, 1, vcc
	v_lshl_add_u32 v25, v29, 2, v25
	v_lshlrev_b32_e32 v29, 4, v29
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v20, v31
	v_lshl_add_u32 v26, v30, 2, v26
	v_lshlrev_b32_e32 v30, 4, v30
	v_add3_u32 v27, v27, s27, v29
	v_cndmask_b32_e64 v31, 0, 1, vcc
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v19, v32
	v_add3_u32 v28, v28, s27, v30
	ds_read_b32 v29, v27 offset:8
	ds_read_b32 v30, v28 offset:8
	v_cndmask_b32_e64 v32, 0, 1, vcc
	v_lshl_add_u32 v23, v31, 3, v23
	v_lshl_add_u32 v24, v32, 3, v24
	ds_read_b32 v23, v23 offset:4
	ds_read_b32 v24, v24 offset:4
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v13, v29
	v_cndmask_b32_e64 v29, 0, 1, vcc
	s_waitcnt lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v12, v30
	v_lshlrev_b32_e32 v33, 1, v31
	v_cndmask_b32_e64 v30, 0, 1, vcc
	s_waitcnt lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v20, v23
	v_addc_co_u32_e32 v20, vcc, v33, v21, vcc
	v_lshl_add_u32 v27, v29, 3, v27
	v_lshl_add_u32 v28, v30, 3, v28
	v_lshlrev_b32_e32 v21, 3, v20
	ds_read_b32 v27, v27 offset:4
	ds_read_b32 v28, v28 offset:4
	ds_add_rtn_u32 v21, v21, v17
	v_lshlrev_b32_e32 v34, 1, v32
	s_waitcnt lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v19, v24
	v_addc_co_u32_e32 v19, vcc, v34, v22, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v20, v20, 16, v21
	v_lshlrev_b32_e32 v22, 3, v19
	global_store_dword v[8:9], v20, off
	ds_add_rtn_u32 v8, v22, v17 offset:4
	v_lshlrev_b32_e32 v31, 1, v29
	v_cmp_ge_f32_e32 vcc, v13, v27
	v_addc_co_u32_e32 v9, vcc, v31, v25, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v8, v19, 16, v8
	v_lshlrev_b32_e32 v13, 3, v9
	global_store_dword v[10:11], v8, off
	ds_add_rtn_u32 v8, v13, v17
	v_lshlrev_b32_e32 v32, 1, v30
	v_cmp_ge_f32_e32 vcc, v12, v28
	v_addc_co_u32_e32 v10, vcc, v32, v26, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v8, v9, 16, v8
	v_lshlrev_b32_e32 v11, 3, v10
	global_store_dword v[6:7], v8, off
	ds_add_rtn_u32 v6, v11, v17 offset:4
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v6, v10, 16, v6
	global_store_dword v[4:5], v6, off
	s_cbranch_scc1 .LBB0_4
.LBB0_5:
	v_lshl_or_b32 v0, s6, 11, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[1:2], 2, v[0:1]
	v_mov_b32_e32 v3, s15
	v_add_co_u32_e32 v1, vcc, s14, v1
	v_addc_co_u32_e32 v3, vcc, v2, v3, vcc
	v_add_co_u32_e32 v2, vcc, 0x200, v1
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	s_mov_b32 s0, 0
	v_mov_b32_e32 v4, s15
	s_waitcnt lgkmcnt(0)
	; wave barrier
.LBB0_6:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v9, s0, v14
	v_ashrrev_i32_e32 v1, 31, v0
	ds_read2st64_b32 v[7:8], v9 offset1:1
	ds_read2st64_b32 v[9:10], v9 offset0:2 offset1:3
	v_lshlrev_b64 v[5:6], 2, v[0:1]
	s_addk_i32 s0, 0x400
	v_add_co_u32_e32 v5, vcc, s14, v5
	v_addc_co_u32_e32 v6, vcc, v4, v6, vcc
	s_waitcnt lgkmcnt(1)
	global_store_dword v[5:6], v7, off
	global_store_dword v[2:3], v8, off offset:-256
	s_waitcnt lgkmcnt(0)
	global_store_dword v[2:3], v9, off
	global_store_dword v[2:3], v10, off offset:256
	v_add_co_u32_e32 v2, vcc, 0x400, v2
	v_add_u32_e32 v0, 0x100, v0
	s_cmpk_eq_i32 s0, 0x2000
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	s_cbranch_scc0 .LBB0_6
; %bb.7:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel hybridsort
		.amdhsa_group_segment_fixed_size 12288
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
		.amdhsa_next_free_vgpr 35
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
	.size	hybridsort, .Lfunc_end0-hybridsort
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 2160
; NumSgprs: 32
; NumVgprs: 35
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 12288 bytes/workgroup (compile time only)
; SGPRBlocks: 3
; VGPRBlocks: 8
; NumSGPRsForWavesPerEU: 32
; NumVGPRsForWavesPerEU: 35
; Occupancy: 2
; WaveLimiterHint : 1
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
      - .address_space:  global
        .offset:         24
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         32
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         36
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 12288
    .kernarg_segment_align: 8
    .kernarg_segment_size: 40
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           hybridsort
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     32
    .sgpr_spill_count: 0
    .symbol:         hybridsort.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     35
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
