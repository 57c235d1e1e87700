	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	avgpool                 ; -- Begin function avgpool
	.globl	avgpool
	.p2align	8
	.type	avgpool,@function
avgpool:                                ; @avgpool
; %bb.0:
	s_load_dwordx4 s[24:27], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s24, 1
	s_cbranch_scc1 .LBB0_8
; %bb.1:
	s_load_dword s0, s[4:5], 0x20
	s_load_dwordx4 s[28:31], s[4:5], 0x0
	v_lshl_or_b32 v1, s7, 2, v1
	v_lshl_or_b32 v2, s6, 5, v0
	v_mul_lo_u32 v0, v1, s26
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v4, v1, s0
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b64 v[6:7], 2, v[2:3]
	v_lshlrev_b32_e32 v0, 1, v0
	v_lshlrev_b32_e32 v2, 1, v2
	v_ashrrev_i32_e32 v5, 31, v4
	v_ashrrev_i32_e32 v1, 31, v0
	v_ashrrev_i32_e32 v3, 31, v2
	s_mul_i32 s34, s26, s25
	s_mul_i32 s36, s0, s27
	v_lshlrev_b64 v[10:11], 2, v[4:5]
	v_lshlrev_b64 v[4:5], 2, v[0:1]
	v_lshlrev_b64 v[8:9], 2, v[2:3]
	s_ashr_i32 s35, s34, 31
	s_ashr_i32 s37, s36, 31
	s_ashr_i32 s27, s26, 31
	s_cmp_lt_u32 s24, 4
	s_cbranch_scc1 .LBB0_5
; %bb.2:
	v_add_co_u32_e32 v6, vcc, v10, v6
	v_addc_co_u32_e32 v7, vcc, v11, v7, vcc
	v_add_co_u32_e32 v8, vcc, v4, v8
	s_and_b32 s25, s24, 0x7ffffffc
	s_lshl_b64 s[0:1], s[26:27], 2
	s_lshl_b64 s[38:39], s[36:37], 4
	s_lshl_b64 s[2:3], s[34:35], 2
	v_addc_co_u32_e32 v9, vcc, v5, v9, vcc
	s_lshl_b64 s[40:41], s[34:35], 4
	v_mov_b32_e32 v4, s3
	v_add_co_u32_e32 v10, vcc, s2, v8
	s_add_u32 s4, s0, s2
	v_addc_co_u32_e32 v11, vcc, v9, v4, vcc
	s_addc_u32 s5, s1, s3
	v_mov_b32_e32 v4, s5
	v_add_co_u32_e32 v12, vcc, s4, v8
	v_addc_co_u32_e32 v13, vcc, v9, v4, vcc
	s_lshl_b64 s[4:5], s[26:27], 3
	v_mov_b32_e32 v4, s5
	v_add_co_u32_e32 v14, vcc, s4, v8
	s_add_u32 s2, s4, s2
	v_addc_co_u32_e32 v15, vcc, v9, v4, vcc
	s_addc_u32 s3, s5, s3
	v_mov_b32_e32 v4, s3
	v_add_co_u32_e32 v16, vcc, s2, v8
	v_addc_co_u32_e32 v17, vcc, v9, v4, vcc
	v_mov_b32_e32 v4, s1
	v_add_co_u32_e32 v18, vcc, s0, v8
	v_addc_co_u32_e32 v19, vcc, v9, v4, vcc
	v_add_co_u32_e32 v0, vcc, v0, v2
	s_lshl_b64 s[2:3], s[34:35], 3
	s_mul_i32 s7, s34, 12
	v_addc_co_u32_e32 v1, vcc, v1, v3, vcc
	s_mul_hi_i32 s6, s34, 12
	s_add_u32 s7, s7, s4
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s3
	v_add_co_u32_e32 v20, vcc, s2, v8
	s_addc_u32 s6, s6, s5
	v_addc_co_u32_e32 v21, vcc, v9, v2, vcc
	s_add_u32 s8, s2, s0
	v_mov_b32_e32 v2, s6
	v_add_co_u32_e32 v22, vcc, s7, v0
	s_addc_u32 s6, s3, s1
	v_addc_co_u32_e32 v23, vcc, v2, v1, vcc
	v_mov_b32_e32 v4, s6
	v_mad_i64_i32 v[2:3], s[6:7], s34, 12, v[0:1]
	v_add_co_u32_e32 v24, vcc, s8, v8
	v_addc_co_u32_e32 v25, vcc, v9, v4, vcc
	v_mov_b32_e32 v4, s1
	v_add_co_u32_e32 v26, vcc, s0, v2
	s_add_u32 s0, s4, s2
	v_addc_co_u32_e32 v27, vcc, v3, v4, vcc
	s_addc_u32 s1, s5, s3
	v_mov_b32_e32 v4, s1
	v_add_co_u32_e32 v28, vcc, s0, v8
	v_addc_co_u32_e32 v29, vcc, v9, v4, vcc
	s_lshl_b64 s[42:43], s[36:37], 2
.LBB0_3:                                ; =>This Inner Loop Header: Depth=1
	v_mov_b32_e32 v30, s29
	v_add_co_u32_e64 v31, s[0:1], s28, v8
	v_add_co_u32_e32 v4, vcc, s28, v18
	v_addc_co_u32_e64 v32, s[0:1], v30, v9, s[0:1]
	v_addc_co_u32_e32 v5, vcc, v30, v19, vcc
	global_load_dwordx3 v[31:33], v[31:32], off
	s_nop 0
	global_load_dwordx3 v[34:36], v[4:5], off
	v_mov_b32_e32 v38, s31
	v_mov_b32_e32 v39, s43
	v_add_co_u32_e64 v18, s[6:7], s40, v18
	v_add_co_u32_e64 v0, s[8:9], s40, v0
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v4, 0, v31
	v_add_co_u32_e64 v31, s[0:1], s28, v14
	v_add_f32_e32 v4, v4, v32
	v_addc_co_u32_e64 v32, s[0:1], v30, v15, s[0:1]
	v_add_f32_e32 v5, v4, v33
	global_load_dwordx3 v[31:33], v[31:32], off
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v5, v5, v34
	v_add_f32_e32 v5, v5, v35
	v_add_f32_e32 v5, v5, v36
	v_add_co_u32_e64 v37, s[0:1], s30, v6
	v_addc_co_u32_e64 v38, s[0:1], v38, v7, s[0:1]
	v_add_co_u32_e32 v4, vcc, s28, v12
	s_add_u32 s30, s30, s38
	v_add_co_u32_e64 v14, s[2:3], s40, v14
	s_addc_u32 s31, s31, s39
	s_add_i32 s25, s25, -4
	s_cmp_lg_u32 s25, 0
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v5, v5, v31
	v_add_f32_e32 v5, v5, v32
	v_add_f32_e32 v33, v5, v33
	v_add_co_u32_e64 v31, s[0:1], s28, v10
	v_mul_f32_e32 v33, 0x3de38e39, v33
	v_addc_co_u32_e64 v32, s[0:1], v30, v11, s[0:1]
	global_store_dword v[37:38], v33, off
	v_addc_co_u32_e32 v5, vcc, v30, v13, vcc
	global_load_dwordx3 v[31:33], v[31:32], off
	s_nop 0
	global_load_dwordx3 v[34:36], v[4:5], off
	v_add_co_u32_e64 v10, s[22:23], s40, v10
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v4, 0, v31
	v_add_f32_e32 v4, v4, v32
	v_add_f32_e32 v31, v4, v33
	v_add_co_u32_e32 v4, vcc, s42, v37
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v31, v31, v34
	v_addc_co_u32_e32 v5, vcc, v38, v39, vcc
	v_add_f32_e32 v31, v31, v35
	v_add_f32_e32 v34, v31, v36
	v_add_co_u32_e32 v31, vcc, s28, v16
	v_addc_co_u32_e32 v32, vcc, v30, v17, vcc
	global_load_dwordx3 v[31:33], v[31:32], off
	v_add_co_u32_e64 v16, s[4:5], s40, v16
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v31, v34, v31
	v_add_f32_e32 v31, v31, v32
	v_add_f32_e32 v31, v31, v33
	v_mul_f32_e32 v31, 0x3de38e39, v31
	v_add_co_u32_e32 v34, vcc, s28, v24
	global_store_dword v[4:5], v31, off
	v_add_co_u32_e64 v31, s[0:1], s28, v20
	v_addc_co_u32_e64 v32, s[0:1], v30, v21, s[0:1]
	v_addc_co_u32_e32 v35, vcc, v30, v25, vcc
	global_load_dwordx3 v[31:33], v[31:32], off
	s_nop 0
	global_load_dwordx3 v[34:36], v[34:35], off
	v_add_co_u32_e32 v37, vcc, s42, v4
	v_addc_co_u32_e32 v38, vcc, v5, v39, vcc
	v_add_co_u32_e64 v20, s[10:11], s40, v20
	v_add_co_u32_e64 v24, s[14:15], s40, v24
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v31, 0, v31
	v_add_f32_e32 v31, v31, v32
	v_add_f32_e32 v31, v31, v33
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v4, v31, v34
	v_add_f32_e32 v4, v4, v35
	v_add_f32_e32 v34, v4, v36
	v_add_co_u32_e32 v4, vcc, s28, v28
	v_addc_co_u32_e32 v5, vcc, v30, v29, vcc
	global_load_dwordx3 v[31:33], v[4:5], off
	v_add_co_u32_e64 v28, s[18:19], s40, v28
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v4, v34, v31
	v_add_f32_e32 v4, v4, v32
	v_add_f32_e32 v31, v4, v33
	v_add_co_u32_e32 v4, vcc, s42, v37
	v_addc_co_u32_e32 v5, vcc, v38, v39, vcc
	v_mul_f32_e32 v31, 0x3de38e39, v31
	v_add_co_u32_e32 v34, vcc, s28, v26
	global_store_dword v[37:38], v31, off
	v_add_co_u32_e64 v31, s[0:1], s28, v2
	v_addc_co_u32_e64 v32, s[0:1], v30, v3, s[0:1]
	v_addc_co_u32_e32 v35, vcc, v30, v27, vcc
	global_load_dwordx3 v[31:33], v[31:32], off
	s_nop 0
	global_load_dwordx3 v[34:36], v[34:35], off
	v_add_co_u32_e64 v12, s[0:1], s40, v12
	v_add_co_u32_e64 v26, s[16:17], s40, v26
	v_add_co_u32_e64 v2, s[20:21], s40, v2
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v31, 0, v31
	v_add_f32_e32 v31, v31, v32
	v_add_f32_e32 v33, v31, v33
	v_add_co_u32_e32 v31, vcc, s28, v22
	v_addc_co_u32_e32 v32, vcc, v30, v23, vcc
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v30, v33, v34
	v_add_f32_e32 v30, v30, v35
	v_add_f32_e32 v33, v30, v36
	global_load_dwordx3 v[30:32], v[31:32], off
	v_mov_b32_e32 v34, s41
	v_add_co_u32_e32 v8, vcc, s40, v8
	v_add_co_u32_e64 v22, s[12:13], s40, v22
	v_addc_co_u32_e64 v11, s[22:23], v11, v34, s[22:23]
	v_addc_co_u32_e32 v9, vcc, v9, v34, vcc
	v_addc_co_u32_e64 v13, vcc, v13, v34, s[0:1]
	v_addc_co_u32_e64 v15, vcc, v15, v34, s[2:3]
	v_addc_co_u32_e64 v17, vcc, v17, v34, s[4:5]
	v_addc_co_u32_e64 v19, vcc, v19, v34, s[6:7]
	v_addc_co_u32_e64 v1, vcc, v1, v34, s[8:9]
	v_addc_co_u32_e64 v21, vcc, v21, v34, s[10:11]
	v_addc_co_u32_e64 v23, vcc, v23, v34, s[12:13]
	v_addc_co_u32_e64 v25, vcc, v25, v34, s[14:15]
	v_addc_co_u32_e64 v27, vcc, v27, v34, s[16:17]
	v_addc_co_u32_e64 v29, vcc, v29, v34, s[18:19]
	v_addc_co_u32_e64 v3, vcc, v3, v34, s[20:21]
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v30, v33, v30
	v_add_f32_e32 v30, v30, v31
	v_add_f32_e32 v30, v30, v32
	v_mul_f32_e32 v30, 0x3de38e39, v30
	global_store_dword v[4:5], v30, off
	s_cbranch_scc1 .LBB0_3
; %bb.4:
	v_mov_b32_e32 v3, s29
	v_add_co_u32_e32 v2, vcc, s28, v0
	v_addc_co_u32_e32 v3, vcc, v3, v1, vcc
	v_mov_b32_e32 v1, s31
	v_add_co_u32_e32 v0, vcc, s30, v6
	v_addc_co_u32_e32 v1, vcc, v1, v7, vcc
	s_and_b32 s8, s24, 3
	s_cmp_eq_u32 s8, 0
	s_cbranch_scc0 .LBB0_6
	s_branch .LBB0_8
.LBB0_5:
	v_mov_b32_e32 v0, s31
	v_add_co_u32_e32 v1, vcc, s30, v10
	v_addc_co_u32_e32 v2, vcc, v0, v11, vcc
	v_add_co_u32_e32 v0, vcc, v1, v6
	v_addc_co_u32_e32 v1, vcc, v2, v7, vcc
	v_mov_b32_e32 v2, s29
	v_add_co_u32_e32 v3, vcc, s28, v4
	v_addc_co_u32_e32 v4, vcc, v2, v5, vcc
	v_add_co_u32_e32 v2, vcc, v3, v8
	v_addc_co_u32_e32 v3, vcc, v4, v9, vcc
	s_and_b32 s8, s24, 3
	s_cmp_eq_u32 s8, 0
	s_cbranch_scc1 .LBB0_8
.LBB0_6:
	s_lshl_b64 s[0:1], s[26:27], 2
	s_lshl_b64 s[2:3], s[36:37], 2
	s_lshl_b64 s[4:5], s[26:27], 3
	s_lshl_b64 s[6:7], s[34:35], 2
	v_mov_b32_e32 v4, s1
	v_mov_b32_e32 v5, s5
	v_mov_b32_e32 v6, s3
	v_mov_b32_e32 v7, s7
.LBB0_7:                                ; =>This Inner Loop Header: Depth=1
	global_load_dwordx3 v[8:10], v[2:3], off
	v_add_co_u32_e32 v17, vcc, s0, v2
	v_addc_co_u32_e32 v18, vcc, v3, v4, vcc
	v_add_co_u32_e32 v19, vcc, s4, v2
	v_addc_co_u32_e32 v20, vcc, v3, v5, vcc
	global_load_dwordx3 v[11:13], v[17:18], off
	global_load_dwordx3 v[14:16], v[19:20], off
	v_add_co_u32_e32 v2, vcc, s6, v2
	v_addc_co_u32_e32 v3, vcc, v3, v7, vcc
	s_add_i32 s8, s8, -1
	s_cmp_lg_u32 s8, 0
	s_waitcnt vmcnt(2)
	v_add_f32_e32 v8, 0, v8
	v_add_f32_e32 v8, v8, v9
	v_add_f32_e32 v8, v8, v10
	s_waitcnt vmcnt(1)
	v_add_f32_e32 v8, v8, v11
	v_add_f32_e32 v8, v8, v12
	v_add_f32_e32 v8, v8, v13
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v8, v8, v14
	v_add_f32_e32 v8, v8, v15
	v_add_f32_e32 v8, v8, v16
	v_mul_f32_e32 v8, 0x3de38e39, v8
	global_store_dword v[0:1], v8, off
	v_add_co_u32_e32 v0, vcc, s2, v0
	v_addc_co_u32_e32 v1, vcc, v1, v6, vcc
	s_cbranch_scc1 .LBB0_7
.LBB0_8:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel avgpool
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
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 40
		.amdhsa_next_free_sgpr 44
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
	.size	avgpool, .Lfunc_end0-avgpool
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1440
; NumSgprs: 48
; NumVgprs: 40
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 5
; VGPRBlocks: 9
; NumSGPRsForWavesPerEU: 48
; NumVGPRsForWavesPerEU: 40
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
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         20
        .size:           4
        .type_name:      int
        .value_kind:     by_value
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
    .max_flat_workgroup_size: 128
    .name:           avgpool
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 32
      - 4
      - 1
    .sgpr_count:     48
    .sgpr_spill_count: 0
    .symbol:         avgpool.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     40
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
