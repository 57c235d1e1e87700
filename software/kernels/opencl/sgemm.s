	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	sgemm                   ; -- Begin function sgemm
	.globl	sgemm
	.p2align	8
	.type	sgemm,@function
sgemm:                                  ; @sgemm
; %bb.0:
	s_load_dwordx2 s[8:9], s[4:5], 0x18
	s_mov_b32 s2, 0
	v_lshlrev_b32_e32 v22, 2, v1
	v_lshlrev_b32_e32 v23, 2, v0
	s_waitcnt lgkmcnt(0)
	s_cmp_gt_i32 s8, 0
	s_cbranch_scc1 .LBB0_2
; %bb.1:
	v_lshlrev_b32_e32 v17, 2, v1
	v_lshlrev_b32_e32 v16, 2, v0
	s_mov_b64 s[0:1], 0
	s_branch .LBB0_3
.LBB0_2:
	s_mov_b64 s[0:1], -1
                                        ; implicit-def: $sgpr2
                                        ; implicit-def: $vgpr17
                                        ; implicit-def: $vgpr16
.LBB0_3:
	s_load_dwordx2 s[10:11], s[4:5], 0x10
	s_lshl_b32 s7, s7, 5
	s_andn2_b64 vcc, exec, s[0:1]
	s_lshl_b32 s6, s6, 5
	s_cbranch_vccnz .LBB0_7
; %bb.4:
	v_lshlrev_b32_e32 v2, 3, v1
	v_or_b32_e32 v2, v2, v0
	v_and_b32_e32 v4, 31, v2
	v_or_b32_e32 v2, s6, v4
	v_bfe_u32 v3, v1, 2, 27
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_mad_u64_u32 v[16:17], s[4:5], v3, s9, v[2:3]
	v_lshlrev_b32_e32 v2, 2, v4
	v_lshl_or_b32 v24, v3, 7, v2
	v_add_u32_e32 v2, s7, v4
	v_mad_u64_u32 v[2:3], s[4:5], s8, v2, v[3:4]
	v_mov_b32_e32 v5, 0x100
	v_lshl_or_b32 v25, v0, 4, v5
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b32_e32 v26, 4, v1
	v_lshlrev_b64 v[0:1], 2, v[2:3]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v2, s1
	v_add_co_u32_e32 v0, vcc, s0, v0
	s_lshl_b32 s12, s9, 1
	v_addc_co_u32_e32 v1, vcc, v1, v2, vcc
	s_ashr_i32 s13, s12, 31
	v_add_co_u32_e32 v18, vcc, 16, v0
	s_add_i32 s5, s12, s12
	v_addc_co_u32_e32 v19, vcc, 0, v1, vcc
	s_mov_b32 s4, 0
	v_mov_b32_e32 v12, 0
	s_lshl_b64 s[0:1], s[12:13], 2
	s_add_i32 s5, s5, s5
	v_mov_b32_e32 v13, 0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v15, 0
	v_mov_b32_e32 v8, 0
	v_mov_b32_e32 v9, 0
	v_mov_b32_e32 v10, 0
	v_mov_b32_e32 v11, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v7, 0
	v_mov_b32_e32 v0, 0
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 0
	v_or_b32_e32 v27, 0x100, v24
.LBB0_5:                                ; =>This Inner Loop Header: Depth=1
	v_ashrrev_i32_e32 v17, 31, v16
	v_lshlrev_b64 v[20:21], 2, v[16:17]
	global_load_dword v17, v[18:19], off offset:-16
	v_mov_b32_e32 v28, s3
	v_add_co_u32_e32 v20, vcc, s2, v20
	v_addc_co_u32_e32 v21, vcc, v28, v21, vcc
	s_add_i32 s4, s4, 8
	v_add_u32_e32 v16, s5, v16
	s_cmp_lt_i32 s4, s8
	s_waitcnt vmcnt(0)
	ds_write_b32 v24, v17
	global_load_dword v17, v[20:21], off
	v_add_co_u32_e32 v20, vcc, s0, v20
	s_waitcnt vmcnt(0)
	ds_write_b32 v27, v17
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	ds_read2_b32 v[28:29], v26 offset1:1
	ds_read2_b32 v[30:31], v25 offset1:1
	ds_read2_b32 v[32:33], v25 offset0:2 offset1:3
	v_mov_b32_e32 v17, s1
	v_addc_co_u32_e32 v21, vcc, v21, v17, vcc
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:2 offset1:3
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:32 offset1:33
	ds_read2_b32 v[30:31], v25 offset0:32 offset1:33
	ds_read2_b32 v[32:33], v25 offset0:34 offset1:35
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:34 offset1:35
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	global_load_dword v28, v[18:19], off offset:-8
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	s_waitcnt vmcnt(0)
	ds_write_b32 v24, v28
	global_load_dword v28, v[20:21], off
	v_add_co_u32_e32 v20, vcc, s0, v20
	v_addc_co_u32_e32 v21, vcc, v21, v17, vcc
	s_waitcnt vmcnt(0)
	ds_write_b32 v27, v28
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	ds_read2_b32 v[28:29], v26 offset1:1
	ds_read2_b32 v[30:31], v25 offset1:1
	ds_read2_b32 v[32:33], v25 offset0:2 offset1:3
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:2 offset1:3
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:32 offset1:33
	ds_read2_b32 v[30:31], v25 offset0:32 offset1:33
	ds_read2_b32 v[32:33], v25 offset0:34 offset1:35
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:34 offset1:35
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	global_load_dword v28, v[18:19], off
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	s_waitcnt vmcnt(0)
	ds_write_b32 v24, v28
	global_load_dword v28, v[20:21], off
	v_add_co_u32_e32 v20, vcc, s0, v20
	v_addc_co_u32_e32 v21, vcc, v21, v17, vcc
	s_waitcnt vmcnt(0)
	ds_write_b32 v27, v28
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	ds_read2_b32 v[28:29], v26 offset1:1
	ds_read2_b32 v[30:31], v25 offset1:1
	ds_read2_b32 v[32:33], v25 offset0:2 offset1:3
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:2 offset1:3
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:32 offset1:33
	ds_read2_b32 v[30:31], v25 offset0:32 offset1:33
	ds_read2_b32 v[32:33], v25 offset0:34 offset1:35
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v28, v30
	v_fmac_f32_e32 v13, v28, v31
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v28, v32
	v_fmac_f32_e32 v15, v28, v33
	v_fmac_f32_e32 v8, v29, v30
	v_fmac_f32_e32 v9, v29, v31
	v_fmac_f32_e32 v10, v29, v32
	v_fmac_f32_e32 v11, v29, v33
	ds_read2_b32 v[28:29], v26 offset0:34 offset1:35
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	global_load_dword v17, v[20:21], off
	s_nop 0
	global_load_dword v20, v[18:19], off offset:8
	s_waitcnt vmcnt(0)
	ds_write_b32 v24, v20
	ds_write_b32 v27, v17
	v_fmac_f32_e32 v4, v28, v30
	v_fmac_f32_e32 v5, v28, v31
	v_fmac_f32_e32 v0, v29, v30
	v_fmac_f32_e32 v1, v29, v31
	v_fmac_f32_e32 v6, v28, v32
	v_fmac_f32_e32 v7, v28, v33
	v_fmac_f32_e32 v2, v29, v32
	v_fmac_f32_e32 v3, v29, v33
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	ds_read2_b32 v[20:21], v26 offset1:1
	ds_read2_b32 v[28:29], v25 offset1:1
	ds_read2_b32 v[30:31], v25 offset0:2 offset1:3
	v_add_co_u32_e32 v18, vcc, 32, v18
	v_addc_co_u32_e32 v19, vcc, 0, v19, vcc
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v20, v28
	v_fmac_f32_e32 v13, v20, v29
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v20, v30
	v_fmac_f32_e32 v15, v20, v31
	v_fmac_f32_e32 v8, v21, v28
	v_fmac_f32_e32 v9, v21, v29
	v_fmac_f32_e32 v10, v21, v30
	v_fmac_f32_e32 v11, v21, v31
	ds_read2_b32 v[20:21], v26 offset0:2 offset1:3
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v20, v28
	v_fmac_f32_e32 v5, v20, v29
	v_fmac_f32_e32 v0, v21, v28
	v_fmac_f32_e32 v1, v21, v29
	v_fmac_f32_e32 v6, v20, v30
	v_fmac_f32_e32 v7, v20, v31
	v_fmac_f32_e32 v2, v21, v30
	v_fmac_f32_e32 v3, v21, v31
	ds_read2_b32 v[20:21], v26 offset0:32 offset1:33
	ds_read2_b32 v[28:29], v25 offset0:32 offset1:33
	ds_read2_b32 v[30:31], v25 offset0:34 offset1:35
	s_waitcnt lgkmcnt(1)
	v_fmac_f32_e32 v12, v20, v28
	v_fmac_f32_e32 v13, v20, v29
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v14, v20, v30
	v_fmac_f32_e32 v15, v20, v31
	v_fmac_f32_e32 v8, v21, v28
	v_fmac_f32_e32 v9, v21, v29
	v_fmac_f32_e32 v10, v21, v30
	v_fmac_f32_e32 v11, v21, v31
	ds_read2_b32 v[20:21], v26 offset0:34 offset1:35
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v4, v20, v28
	v_fmac_f32_e32 v5, v20, v29
	v_fmac_f32_e32 v0, v21, v28
	v_fmac_f32_e32 v1, v21, v29
	v_fmac_f32_e32 v6, v20, v30
	v_fmac_f32_e32 v7, v20, v31
	v_fmac_f32_e32 v2, v21, v30
	v_fmac_f32_e32 v3, v21, v31
	s_cbranch_scc1 .LBB0_5
; %bb.6:
	v_mov_b32_e32 v17, v22
	v_mov_b32_e32 v16, v23
	s_branch .LBB0_8
.LBB0_7:
	v_mov_b32_e32 v3, s2
	v_mov_b32_e32 v2, s2
	v_mov_b32_e32 v1, s2
	v_mov_b32_e32 v0, s2
	v_mov_b32_e32 v7, s2
	v_mov_b32_e32 v6, s2
	v_mov_b32_e32 v5, s2
	v_mov_b32_e32 v4, s2
	v_mov_b32_e32 v11, s2
	v_mov_b32_e32 v10, s2
	v_mov_b32_e32 v9, s2
	v_mov_b32_e32 v8, s2
	v_mov_b32_e32 v15, s2
	v_mov_b32_e32 v14, s2
	v_mov_b32_e32 v13, s2
	v_mov_b32_e32 v12, s2
.LBB0_8:
	v_add_u32_e32 v17, s7, v17
	v_mul_lo_u32 v17, v17, s9
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v19, s11
	v_add3_u32 v16, v16, s6, v17
	v_ashrrev_i32_e32 v17, 31, v16
	v_lshlrev_b64 v[17:18], 2, v[16:17]
	v_add_co_u32_e32 v17, vcc, s10, v17
	v_addc_co_u32_e32 v18, vcc, v19, v18, vcc
	global_store_dwordx4 v[17:18], v[12:15], off
	s_nop 0
	v_add_u32_e32 v12, s9, v16
	v_ashrrev_i32_e32 v13, 31, v12
	v_lshlrev_b64 v[13:14], 2, v[12:13]
	v_add_co_u32_e32 v13, vcc, s10, v13
	v_addc_co_u32_e32 v14, vcc, v19, v14, vcc
	global_store_dwordx4 v[13:14], v[8:11], off
	s_nop 0
	v_add_u32_e32 v8, s9, v12
	v_ashrrev_i32_e32 v9, 31, v8
	v_lshlrev_b64 v[9:10], 2, v[8:9]
	v_add_co_u32_e32 v9, vcc, s10, v9
	v_addc_co_u32_e32 v10, vcc, v19, v10, vcc
	global_store_dwordx4 v[9:10], v[4:7], off
	s_nop 0
	v_add_u32_e32 v4, s9, v8
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_add_co_u32_e32 v4, vcc, s10, v4
	v_addc_co_u32_e32 v5, vcc, v19, v5, vcc
	global_store_dwordx4 v[4:5], v[0:3], off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel sgemm
		.amdhsa_group_segment_fixed_size 512
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 32
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
		.amdhsa_next_free_vgpr 34
		.amdhsa_next_free_sgpr 14
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
	.size	sgemm, .Lfunc_end0-sgemm
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1684
; NumSgprs: 18
; NumVgprs: 34
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 512 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 8
; NumSGPRsForWavesPerEU: 18
; NumVGPRsForWavesPerEU: 34
; Occupancy: 7
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
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         28
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 512
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           sgemm
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 8
      - 8
      - 1
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         sgemm.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     34
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
