	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	wide                    ; -- Begin function wide
	.globl	wide
	.p2align	8
	.type	wide,@function
wide:                                   ; @wide
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v2, 3, v0
	v_mov_b32_e32 v8, 0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx2 v[0:1], v2, s[0:1]
	global_load_dwordx2 v[4:5], v2, s[2:3]
	v_mov_b32_e32 v3, s1
	v_add_co_u32_e32 v6, vcc, s0, v2
	v_addc_co_u32_e32 v7, vcc, 0, v3, vcc
	v_mov_b32_e32 v9, s3
	v_add_co_u32_e32 v2, vcc, s2, v2
	v_addc_co_u32_e32 v3, vcc, 0, v9, vcc
	s_waitcnt vmcnt(0)
	v_sub_co_u32_e32 v11, vcc, v0, v4
	v_subb_co_u32_e32 v12, vcc, v1, v5, vcc
	v_or_b32_e32 v9, v12, v5
	v_cmp_ne_u64_e32 vcc, 0, v[8:9]
	v_or_b32_e32 v10, 1, v4
                                        ; implicit-def: $vgpr8_vgpr9
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[2:3], exec, s[0:1]
	s_cbranch_execz .LBB0_2
; %bb.1:
	v_ashrrev_i32_e32 v17, 31, v5
	v_add_co_u32_e32 v8, vcc, v10, v17
	v_addc_co_u32_e32 v9, vcc, v5, v17, vcc
	v_xor_b32_e32 v18, v9, v17
	v_xor_b32_e32 v19, v8, v17
	v_cvt_f32_u32_e32 v8, v19
	v_cvt_f32_u32_e32 v9, v18
	v_sub_co_u32_e32 v16, vcc, 0, v19
	v_subb_co_u32_e32 v20, vcc, 0, v18, vcc
	v_madmk_f32 v8, v9, 0x4f800000, v8
	v_rcp_f32_e32 v8, v8
	v_mul_f32_e32 v8, 0x5f7ffffc, v8
	v_mul_f32_e32 v9, 0x2f800000, v8
	v_trunc_f32_e32 v9, v9
	v_madmk_f32 v8, v9, 0xcf800000, v8
	v_cvt_u32_f32_e32 v15, v8
	v_cvt_u32_f32_e32 v21, v9
	v_mul_lo_u32 v13, v20, v15
	v_mad_u64_u32 v[8:9], s[0:1], v16, v15, 0
	v_mul_lo_u32 v14, v16, v21
	v_add3_u32 v22, v9, v14, v13
	v_mad_u64_u32 v[13:14], s[0:1], v15, v22, 0
	v_mul_hi_u32 v9, v15, v8
	v_add_co_u32_e32 v23, vcc, v9, v13
	v_mad_u64_u32 v[8:9], s[0:1], v21, v8, 0
	v_addc_co_u32_e32 v24, vcc, 0, v14, vcc
	v_mad_u64_u32 v[13:14], s[0:1], v21, v22, 0
	v_add_co_u32_e32 v8, vcc, v23, v8
	v_addc_co_u32_e32 v8, vcc, v24, v9, vcc
	v_addc_co_u32_e32 v9, vcc, 0, v14, vcc
	v_add_co_u32_e32 v8, vcc, v8, v13
	v_addc_co_u32_e32 v9, vcc, 0, v9, vcc
	v_add_co_u32_e32 v22, vcc, v15, v8
	v_addc_co_u32_e32 v21, vcc, v21, v9, vcc
	v_mul_lo_u32 v13, v16, v21
	v_mul_lo_u32 v14, v20, v22
	v_mad_u64_u32 v[8:9], s[0:1], v16, v22, 0
	v_add3_u32 v9, v9, v13, v14
	v_mad_u64_u32 v[15:16], s[0:1], v22, v9, 0
	v_mul_hi_u32 v20, v22, v8
	v_mad_u64_u32 v[13:14], s[0:1], v21, v9, 0
	v_mad_u64_u32 v[8:9], s[0:1], v21, v8, 0
	v_add_co_u32_e32 v15, vcc, v20, v15
	v_addc_co_u32_e32 v16, vcc, 0, v16, vcc
	v_add_co_u32_e32 v8, vcc, v15, v8
	v_addc_co_u32_e32 v8, vcc, v16, v9, vcc
	v_addc_co_u32_e32 v9, vcc, 0, v14, vcc
	v_add_co_u32_e32 v8, vcc, v8, v13
	v_addc_co_u32_e32 v9, vcc, 0, v9, vcc
	v_add_co_u32_e32 v13, vcc, v22, v8
	v_addc_co_u32_e32 v14, vcc, v21, v9, vcc
	v_ashrrev_i32_e32 v15, 31, v12
	v_add_co_u32_e32 v8, vcc, v11, v15
	v_xor_b32_e32 v16, v8, v15
	v_addc_co_u32_e32 v11, vcc, v12, v15, vcc
	v_mad_u64_u32 v[8:9], s[0:1], v16, v14, 0
	v_mul_hi_u32 v12, v16, v13
	v_xor_b32_e32 v20, v11, v15
	v_add_co_u32_e32 v21, vcc, v12, v8
	v_addc_co_u32_e32 v22, vcc, 0, v9, vcc
	v_mad_u64_u32 v[8:9], s[0:1], v20, v13, 0
	v_mad_u64_u32 v[11:12], s[0:1], v20, v14, 0
	v_add_co_u32_e32 v8, vcc, v21, v8
	v_addc_co_u32_e32 v8, vcc, v22, v9, vcc
	v_addc_co_u32_e32 v9, vcc, 0, v12, vcc
	v_add_co_u32_e32 v11, vcc, v8, v11
	v_addc_co_u32_e32 v12, vcc, 0, v9, vcc
	v_mul_lo_u32 v13, v18, v11
	v_mul_lo_u32 v14, v19, v12
	v_mad_u64_u32 v[8:9], s[0:1], v19, v11, 0
	v_add3_u32 v9, v9, v14, v13
	v_sub_u32_e32 v13, v20, v9
	v_sub_co_u32_e32 v8, vcc, v16, v8
	v_subb_co_u32_e64 v13, s[0:1], v13, v18, vcc
	v_sub_co_u32_e64 v14, s[0:1], v8, v19
	v_subbrev_co_u32_e64 v13, s[0:1], 0, v13, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v13, v18
	v_cndmask_b32_e64 v16, 0, -1, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v14, v19
	v_cndmask_b32_e64 v14, 0, -1, s[0:1]
	v_cmp_eq_u32_e64 s[0:1], v13, v18
	v_cndmask_b32_e64 v13, v16, v14, s[0:1]
	v_add_co_u32_e64 v14, s[0:1], 2, v11
	v_addc_co_u32_e64 v16, s[0:1], 0, v12, s[0:1]
	v_add_co_u32_e64 v21, s[0:1], 1, v11
	v_addc_co_u32_e64 v22, s[0:1], 0, v12, s[0:1]
	v_subb_co_u32_e32 v9, vcc, v20, v9, vcc
	v_cmp_ne_u32_e64 s[0:1], 0, v13
	v_cmp_ge_u32_e32 vcc, v9, v18
	v_cndmask_b32_e64 v13, v22, v16, s[0:1]
	v_cndmask_b32_e64 v16, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v8, v19
	v_cndmask_b32_e64 v8, 0, -1, vcc
	v_cmp_eq_u32_e32 vcc, v9, v18
	v_cndmask_b32_e32 v8, v16, v8, vcc
	v_cmp_ne_u32_e32 vcc, 0, v8
	v_cndmask_b32_e64 v9, v21, v14, s[0:1]
	v_cndmask_b32_e32 v8, v12, v13, vcc
	v_cndmask_b32_e32 v9, v11, v9, vcc
	v_xor_b32_e32 v11, v15, v17
	v_xor_b32_e32 v12, v8, v11
	v_xor_b32_e32 v8, v9, v11
	v_sub_co_u32_e32 v8, vcc, v8, v11
	v_subb_co_u32_e32 v9, vcc, v12, v11, vcc
                                        ; implicit-def: $vgpr11
.LBB0_2:
	s_andn2_saveexec_b64 s[0:1], s[2:3]
	s_cbranch_execz .LBB0_4
; %bb.3:
	v_cvt_f32_u32_e32 v8, v10
	v_sub_u32_e32 v9, 0, v10
	v_rcp_iflag_f32_e32 v8, v8
	v_mul_f32_e32 v8, 0x4f7ffffe, v8
	v_cvt_u32_f32_e32 v8, v8
	v_mul_lo_u32 v9, v9, v8
	v_mul_hi_u32 v9, v8, v9
	v_add_u32_e32 v8, v8, v9
	v_mul_hi_u32 v8, v11, v8
	v_mul_lo_u32 v9, v8, v10
	v_add_u32_e32 v12, 1, v8
	v_sub_u32_e32 v9, v11, v9
	v_sub_u32_e32 v11, v9, v10
	v_cmp_ge_u32_e32 vcc, v9, v10
	v_cndmask_b32_e32 v9, v9, v11, vcc
	v_cndmask_b32_e32 v8, v8, v12, vcc
	v_add_u32_e32 v11, 1, v8
	v_cmp_ge_u32_e32 vcc, v9, v10
	v_cndmask_b32_e32 v8, v8, v11, vcc
	v_mov_b32_e32 v9, 0
.LBB0_4:
	s_or_b64 exec, exec, s[0:1]
	v_mad_u64_u32 v[8:9], s[0:1], v4, v0, v[8:9]
	v_mul_lo_u32 v11, v4, v1
	v_mul_lo_u32 v12, v5, v0
	v_lshrrev_b64 v[13:14], 7, v[0:1]
	v_cmp_lt_i64_e32 vcc, v[0:1], v[4:5]
	v_add3_u32 v9, v12, v9, v11
	v_lshlrev_b64 v[11:12], v4, v[0:1]
	global_store_dwordx2 v[6:7], v[8:9], off
	v_and_b32_e32 v8, 31, v4
	v_ashrrev_i64 v[8:9], v8, v[0:1]
	v_xor_b32_e32 v12, v12, v14
	v_xor_b32_e32 v11, v11, v13
	v_xor_b32_e32 v9, v12, v9
	v_xor_b32_e32 v8, v11, v8
	global_store_dwordx2 v[2:3], v[8:9], off
	v_cndmask_b32_e32 v8, v4, v0, vcc
	v_bcnt_u32_b32 v0, v0, 0
	v_cndmask_b32_e32 v9, v5, v1, vcc
	v_bcnt_u32_b32 v0, v1, v0
	v_ffbh_u32_e32 v1, v10
	v_add_u32_e32 v1, 32, v1
	v_ffbh_u32_e32 v4, v5
	v_min_u32_e32 v1, v1, v4
	v_add_co_u32_e32 v0, vcc, v1, v0
	v_addc_co_u32_e64 v1, s[0:1], 0, 0, vcc
	global_store_dwordx2 v[6:7], v[8:9], off offset:512
	global_store_dwordx2 v[2:3], v[0:1], off offset:512
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel wide
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
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
		.amdhsa_next_free_vgpr 25
		.amdhsa_next_free_sgpr 6
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
	.size	wide, .Lfunc_end0-wide
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 984
; NumSgprs: 10
; NumVgprs: 25
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 6
; NumSGPRsForWavesPerEU: 10
; NumVGPRsForWavesPerEU: 25
; Occupancy: 9
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	narrow                  ; -- Begin function narrow
	.globl	narrow
	.p2align	8
	.type	narrow,@function
narrow:                                 ; @narrow
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_load_dwordx2 s[6:7], s[4:5], 0x10
	v_lshlrev_b32_e32 v1, 1, v0
	s_waitcnt lgkmcnt(0)
	global_load_ushort v2, v1, s[0:1]
	global_load_ushort v3, v1, s[0:1] offset:128
	global_load_ubyte v4, v0, s[2:3]
	s_waitcnt vmcnt(2)
	v_and_b32_e32 v5, 0xffff, v2
	s_waitcnt vmcnt(1)
	v_and_b32_e32 v6, 0xffff, v3
	s_waitcnt vmcnt(0)
	v_bfe_i32 v7, v4, 0, 8
	v_mad_u32_u24 v5, v6, v5, v7
	global_store_short v1, v5, s[0:1]
	global_load_ushort v5, v1, s[6:7]
	v_max_i16_e32 v8, v2, v3
	v_and_b32_e32 v7, 15, v7
	v_cmp_gt_i16_e32 vcc, v2, v3
	v_sub_u16_e32 v6, 0, v4
	v_cndmask_b32_e32 v2, v6, v4, vcc
	s_waitcnt vmcnt(0)
	v_add_u16_e32 v3, v5, v3
	v_lshrrev_b32_e32 v3, v7, v3
	global_store_short v1, v3, s[6:7]
	global_store_byte v0, v2, s[2:3]
	global_store_short v1, v8, s[0:1] offset:256
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel narrow
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
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
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 8
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
.Lfunc_end1:
	.size	narrow, .Lfunc_end1-narrow
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 168
; NumSgprs: 12
; NumVgprs: 9
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 2
; NumSGPRsForWavesPerEU: 12
; NumVGPRsForWavesPerEU: 9
; Occupancy: 10
; WaveLimiterHint : 1
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	bits                    ; -- Begin function bits
	.globl	bits
	.p2align	8
	.type	bits,@function
bits:                                   ; @bits
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[0:1] offset:256
	global_load_dword v2, v0, s[0:1]
	v_cvt_f32_u32_e32 v3, s3
	s_sub_i32 s4, 0, s3
	s_mul_i32 s5, s3, s2
	s_abs_i32 s2, s2
	v_rcp_iflag_f32_e32 v3, v3
	s_lshr_b32 s5, s5, 5
	s_add_i32 s5, s5, s2
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s4, v3
	s_mov_b32 s4, 0x3020706
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, v3, v4
	s_waitcnt vmcnt(1)
	v_or_b32_e32 v4, 1, v1
	v_cvt_f32_u32_e32 v13, v4
	s_waitcnt vmcnt(0)
	v_perm_b32 v6, v2, v1, s4
	v_bfrev_b32_e32 v7, v1
	v_xnor_b32_e32 v8, v2, v1
	v_rcp_iflag_f32_e32 v13, v13
	v_lshlrev_b32_e32 v10, 3, v2
	v_bfe_u32 v11, v2, 3, 9
	v_add_u32_e32 v6, v6, v7
	v_add3_u32 v7, v10, v8, v11
	v_mul_f32_e32 v8, 0x4f7ffffe, v13
	v_cvt_u32_f32_e32 v8, v8
	v_alignbit_b32 v5, v2, v2, 7
	v_and_or_b32 v9, v1, v2, s3
	v_mbcnt_lo_u32_b32 v12, v2, v1
	v_sub_u32_e32 v16, 0, v4
	v_xor_b32_e32 v5, v6, v5
	v_add3_u32 v6, v7, v9, v12
	v_mul_lo_u32 v7, v16, v8
	global_store_dword v0, v5, s[0:1] offset:256
	v_mul_hi_u32 v3, v2, v3
	global_store_dword v0, v6, s[0:1] offset:512
	v_mul_hi_u32 v5, v8, v7
	v_sad_u8 v14, v2, v1, s3
	v_mul_lo_u32 v3, v3, s3
	v_bcnt_u32_b32 v15, v2, 0
	v_add_u32_e32 v5, v8, v5
	v_mul_hi_u32 v5, v2, v5
	v_sub_u32_e32 v3, v2, v3
	v_subrev_u32_e32 v6, s3, v3
	v_cmp_le_u32_e32 vcc, s3, v3
	v_mul_lo_u32 v7, v5, v4
	v_cndmask_b32_e32 v3, v3, v6, vcc
	v_mad_u32_u24 v1, v1, v2, s3
	v_subrev_u32_e32 v6, s3, v3
	v_cmp_le_u32_e32 vcc, s3, v3
	v_sub_u32_e32 v2, v2, v7
	v_cndmask_b32_e32 v3, v3, v6, vcc
	v_add_u32_e32 v6, 1, v5
	v_cmp_ge_u32_e32 vcc, v2, v4
	v_cndmask_b32_e32 v5, v5, v6, vcc
	v_sub_u32_e32 v6, v2, v4
	v_cndmask_b32_e32 v2, v2, v6, vcc
	v_add_u32_e32 v6, 1, v5
	v_cmp_ge_u32_e32 vcc, v2, v4
	v_cndmask_b32_e32 v2, v5, v6, vcc
	v_add3_u32 v10, s5, v15, v14
	v_add_u32_e32 v2, v3, v2
	global_store_dword v0, v10, s[0:1] offset:768
	global_store_dword v0, v2, s[0:1]
	global_store_dword v0, v1, s[0:1] offset:1024
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bits
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
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
		.amdhsa_next_free_vgpr 17
		.amdhsa_next_free_sgpr 6
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
.Lfunc_end2:
	.size	bits, .Lfunc_end2-bits
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 408
; NumSgprs: 10
; NumVgprs: 17
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 4
; NumSGPRsForWavesPerEU: 10
; NumVGPRsForWavesPerEU: 17
; Occupancy: 10
; WaveLimiterHint : 1
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	packed                  ; -- Begin function packed
	.globl	packed
	.p2align	8
	.type	packed,@function
packed:                                 ; @packed
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[0:1] offset:256
	global_load_dword v2, v0, s[0:1]
	global_load_dword v3, v0, s[2:3]
	s_waitcnt vmcnt(2)
	v_pk_add_u16 v4, v1, 1 op_sel_hi:[1,0]
	v_and_b32_e32 v1, 0xf000f, v1
	s_waitcnt vmcnt(1)
	v_pk_mul_lo_u16 v4, v4, v2
	v_pk_ashrrev_i16 v1, v1, v2
	global_store_dword v0, v4, s[0:1]
	global_store_dword v0, v1, s[0:1] offset:256
	global_load_dword v1, v0, s[2:3] offset:256
	s_waitcnt vmcnt(0)
	v_pk_sub_u16 v1, v1, v3 clamp
	global_store_dword v0, v1, s[2:3]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel packed
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
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
		.amdhsa_next_free_vgpr 5
		.amdhsa_next_free_sgpr 6
		.amdhsa_reserve_vcc 0
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
.Lfunc_end3:
	.size	packed, .Lfunc_end3-packed
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 128
; NumSgprs: 10
; NumVgprs: 5
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 10
; NumVGPRsForWavesPerEU: 5
; Occupancy: 10
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

	.section	".note.GNU-stack","",@progbits
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'long*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'long*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           wide
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .sgpr_spill_count: 0
    .symbol:         wide.kd
    .uses_dynamic_stack: false
    .vgpr_count:     25
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'short*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'char*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .type_name:      'ushort*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           narrow
    .private_segment_fixed_size: 0
    .sgpr_count:     12
    .sgpr_spill_count: 0
    .symbol:         narrow.kd
    .uses_dynamic_stack: false
    .vgpr_count:     9
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         12
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           bits
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .sgpr_spill_count: 0
    .symbol:         bits.kd
    .uses_dynamic_stack: false
    .vgpr_count:     17
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'shorts*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'ushorts*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           packed
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .sgpr_spill_count: 0
    .symbol:         packed.kd
    .uses_dynamic_stack: false
    .vgpr_count:     5
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
