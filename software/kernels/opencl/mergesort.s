	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	mergesort               ; -- Begin function mergesort
	.globl	mergesort
	.p2align	8
	.type	mergesort,@function
mergesort:                              ; @mergesort
; %bb.0:
	s_load_dwordx2 s[2:3], s[4:5], 0x10
	s_load_dwordx4 s[8:11], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 1, v0
	v_lshl_or_b32 v0, s6, 7, v0
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v4, v0, s3
	v_mov_b32_e32 v1, s9
	s_cmp_gt_i32 s2, 0
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[10:11], 4, v[4:5]
	v_add_co_u32_e32 v0, vcc, s8, v10
	v_addc_co_u32_e32 v1, vcc, v1, v11, vcc
	global_load_dwordx4 v[0:3], v[0:1], off
	s_cbranch_scc1 .LBB0_2
; %bb.1:
	s_cbranch_execz .LBB0_3
	s_branch .LBB0_6
.LBB0_2:
.LBB0_3:
	v_mov_b32_e32 v5, s11
	v_add_co_u32_e32 v6, vcc, s10, v10
	v_addc_co_u32_e32 v8, vcc, v11, v5, vcc
	v_add_co_u32_e32 v5, vcc, 32, v6
	v_or_b32_e32 v7, 1, v4
	v_add_u32_e32 v9, s3, v4
	v_addc_co_u32_e32 v6, vcc, 0, v8, vcc
	s_mov_b32 s3, 0
	v_mov_b32_e32 v15, s9
.LBB0_4:                                ; =>This Inner Loop Header: Depth=1
	v_ashrrev_i32_e32 v8, 31, v7
	v_lshlrev_b64 v[11:12], 4, v[7:8]
	v_ashrrev_i32_e32 v10, 31, v9
	v_add_co_u32_e32 v11, vcc, s8, v11
	v_lshlrev_b64 v[13:14], 4, v[9:10]
	v_addc_co_u32_e32 v12, vcc, v15, v12, vcc
	v_add_co_u32_e32 v13, vcc, s8, v13
	v_addc_co_u32_e32 v14, vcc, v15, v14, vcc
	global_load_dwordx4 v[16:19], v[11:12], off
	global_load_dwordx4 v[20:23], v[13:14], off
	s_add_i32 s3, s3, 4
	s_cmp_lt_i32 s3, s2
	s_waitcnt vmcnt(0)
	v_cmp_le_i32_e64 s[0:1], v16, v20
	v_cndmask_b32_e64 v10, v23, v19, s[0:1]
	v_cndmask_b32_e64 v18, v22, v18, s[0:1]
	v_cndmask_b32_e64 v17, v21, v17, s[0:1]
	v_cndmask_b32_e64 v19, v20, v16, s[0:1]
	v_cmp_gt_i32_e32 vcc, v16, v20
	v_min_i32_e32 v20, v19, v3
	v_min_i32_e32 v21, v17, v2
	v_min_i32_e32 v22, v18, v1
	v_min_i32_e32 v23, v10, v0
	v_max_i32_e32 v3, v19, v3
	v_max_i32_e32 v2, v17, v2
	v_max_i32_e32 v1, v18, v1
	v_max_i32_e32 v0, v10, v0
	v_min_i32_e32 v10, v20, v22
	v_min_i32_e32 v18, v21, v23
	v_cndmask_b32_e64 v8, 0, 1, s[0:1]
	v_min_i32_e32 v17, v10, v18
	v_max_i32_e32 v18, v10, v18
	v_min_i32_e32 v10, v3, v1
	v_max_i32_e32 v1, v3, v1
	v_min_i32_e32 v3, v2, v0
	v_max_i32_e32 v0, v2, v0
	v_min_i32_e32 v25, v1, v0
	v_max_i32_e32 v26, v1, v0
	v_lshlrev_b32_e32 v0, 4, v8
	v_cndmask_b32_e64 v16, 0, 1, vcc
	v_add_co_u32_e32 v0, vcc, v11, v0
	v_min_i32_e32 v2, v10, v3
	v_max_i32_e32 v3, v10, v3
	v_addc_co_u32_e32 v1, vcc, 0, v12, vcc
	v_lshlrev_b32_e32 v10, 4, v16
	v_max_i32_e32 v20, v20, v22
	v_max_i32_e32 v21, v21, v23
	v_add_co_u32_e32 v10, vcc, v13, v10
	v_min_i32_e32 v19, v20, v21
	v_max_i32_e32 v20, v20, v21
	v_addc_co_u32_e32 v11, vcc, 0, v14, vcc
	global_store_dwordx4 v[5:6], v[17:20], off offset:-32
	global_load_dwordx4 v[17:20], v[0:1], off
	s_nop 0
	global_load_dwordx4 v[21:24], v[10:11], off
	s_waitcnt vmcnt(0)
	v_cmp_le_i32_e64 s[0:1], v17, v21
	v_cmp_gt_i32_e32 vcc, v17, v21
	v_cndmask_b32_e64 v12, v24, v20, s[0:1]
	v_cndmask_b32_e64 v13, v23, v19, s[0:1]
	v_cndmask_b32_e64 v14, v22, v18, s[0:1]
	v_cndmask_b32_e64 v17, v21, v17, s[0:1]
	v_cndmask_b32_e64 v27, 0, 1, s[0:1]
	v_addc_co_u32_e64 v7, s[0:1], v7, v8, s[0:1]
	v_cndmask_b32_e64 v21, 0, 1, vcc
	v_addc_co_u32_e32 v8, vcc, v9, v16, vcc
	v_min_i32_e32 v9, v17, v26
	v_min_i32_e32 v16, v14, v25
	v_min_i32_e32 v18, v13, v3
	v_min_i32_e32 v19, v12, v2
	v_max_i32_e32 v22, v17, v26
	v_max_i32_e32 v14, v14, v25
	v_max_i32_e32 v3, v13, v3
	v_max_i32_e32 v2, v12, v2
	v_min_i32_e32 v12, v9, v18
	v_max_i32_e32 v9, v9, v18
	v_min_i32_e32 v13, v16, v19
	v_max_i32_e32 v16, v16, v19
	v_min_i32_e32 v17, v12, v13
	v_max_i32_e32 v18, v12, v13
	v_min_i32_e32 v19, v9, v16
	v_max_i32_e32 v20, v9, v16
	v_min_i32_e32 v9, v22, v3
	v_max_i32_e32 v3, v22, v3
	v_min_i32_e32 v13, v14, v2
	v_max_i32_e32 v2, v14, v2
	v_min_i32_e32 v14, v3, v2
	v_max_i32_e32 v16, v3, v2
	v_lshlrev_b32_e32 v2, 4, v27
	v_add_co_u32_e32 v2, vcc, v0, v2
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	v_lshlrev_b32_e32 v0, 4, v21
	v_add_co_u32_e32 v0, vcc, v10, v0
	v_addc_co_u32_e32 v1, vcc, 0, v11, vcc
	global_store_dwordx4 v[5:6], v[17:20], off offset:-16
	global_load_dwordx4 v[17:20], v[2:3], off
	v_min_i32_e32 v12, v9, v13
	global_load_dwordx4 v[21:24], v[0:1], off
	v_max_i32_e32 v13, v9, v13
	s_waitcnt vmcnt(0)
	v_cmp_le_i32_e64 s[0:1], v17, v21
	v_cmp_gt_i32_e32 vcc, v17, v21
	v_cndmask_b32_e64 v11, v24, v20, s[0:1]
	v_cndmask_b32_e64 v19, v23, v19, s[0:1]
	v_cndmask_b32_e64 v18, v22, v18, s[0:1]
	v_cndmask_b32_e64 v17, v21, v17, s[0:1]
	v_min_i32_e32 v20, v17, v16
	v_min_i32_e32 v21, v18, v14
	v_min_i32_e32 v22, v19, v13
	v_min_i32_e32 v23, v11, v12
	v_max_i32_e32 v24, v17, v16
	v_max_i32_e32 v13, v19, v13
	v_max_i32_e32 v11, v11, v12
	v_min_i32_e32 v12, v20, v22
	v_max_i32_e32 v19, v20, v22
	v_min_i32_e32 v17, v21, v23
	v_max_i32_e32 v20, v21, v23
	v_cndmask_b32_e64 v9, 0, 1, s[0:1]
	v_max_i32_e32 v14, v18, v14
	v_min_i32_e32 v16, v12, v17
	v_max_i32_e32 v17, v12, v17
	v_min_i32_e32 v18, v19, v20
	v_max_i32_e32 v19, v19, v20
	global_store_dwordx4 v[5:6], v[16:19], off
	v_cndmask_b32_e64 v10, 0, 1, vcc
	v_lshlrev_b32_e32 v16, 4, v9
	v_add_co_u32_e32 v2, vcc, v2, v16
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	global_load_dwordx4 v[16:19], v[2:3], off
	v_lshlrev_b32_e32 v2, 4, v10
	v_add_co_u32_e32 v0, vcc, v0, v2
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	global_load_dwordx4 v[0:3], v[0:1], off
	v_min_i32_e32 v12, v24, v13
	v_max_i32_e32 v20, v24, v13
	v_min_i32_e32 v13, v14, v11
	v_max_i32_e32 v14, v14, v11
	v_min_i32_e32 v11, v12, v13
	v_max_i32_e32 v12, v12, v13
	v_min_i32_e32 v13, v20, v14
	v_max_i32_e32 v14, v20, v14
	s_waitcnt vmcnt(0)
	v_cmp_le_i32_e64 s[0:1], v16, v0
	v_cmp_gt_i32_e32 vcc, v16, v0
	v_cndmask_b32_e64 v3, v3, v19, s[0:1]
	v_cndmask_b32_e64 v2, v2, v18, s[0:1]
	v_cndmask_b32_e64 v1, v1, v17, s[0:1]
	v_cndmask_b32_e64 v0, v0, v16, s[0:1]
	v_addc_co_u32_e64 v7, s[0:1], v7, v9, s[0:1]
	v_addc_co_u32_e32 v9, vcc, v8, v10, vcc
	v_min_i32_e32 v8, v0, v14
	v_min_i32_e32 v10, v1, v13
	v_min_i32_e32 v16, v2, v12
	v_min_i32_e32 v17, v3, v11
	v_max_i32_e32 v1, v1, v13
	v_max_i32_e32 v2, v2, v12
	v_max_i32_e32 v3, v3, v11
	v_min_i32_e32 v11, v8, v16
	v_max_i32_e32 v8, v8, v16
	v_min_i32_e32 v12, v10, v17
	v_max_i32_e32 v13, v10, v17
	v_max_i32_e32 v0, v0, v14
	v_min_i32_e32 v10, v11, v12
	v_max_i32_e32 v11, v11, v12
	v_min_i32_e32 v12, v8, v13
	v_max_i32_e32 v13, v8, v13
	v_min_i32_e32 v8, v0, v2
	v_max_i32_e32 v14, v0, v2
	v_min_i32_e32 v2, v1, v3
	v_max_i32_e32 v3, v1, v3
	global_store_dwordx4 v[5:6], v[10:13], off offset:16
	v_add_co_u32_e32 v5, vcc, 64, v5
	v_min_i32_e32 v0, v8, v2
	v_max_i32_e32 v1, v8, v2
	v_min_i32_e32 v2, v14, v3
	v_max_i32_e32 v3, v14, v3
	v_addc_co_u32_e32 v6, vcc, 0, v6, vcc
	s_cbranch_scc1 .LBB0_4
; %bb.5:
	v_add_u32_e32 v4, s3, v4
	v_ashrrev_i32_e32 v5, 31, v4
.LBB0_6:
	v_lshlrev_b64 v[4:5], 4, v[4:5]
	v_mov_b32_e32 v6, s11
	v_add_co_u32_e32 v4, vcc, s10, v4
	v_addc_co_u32_e32 v5, vcc, v6, v5, vcc
	s_waitcnt vmcnt(0)
	global_store_dwordx4 v[4:5], v[0:3], off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel mergesort
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
		.amdhsa_next_free_vgpr 28
		.amdhsa_next_free_sgpr 12
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
	.size	mergesort, .Lfunc_end0-mergesort
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1048
; NumSgprs: 16
; NumVgprs: 28
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 6
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 28
; Occupancy: 9
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
        .type_name:      'int4*'
        .value_kind:     global_buffer
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
        .offset:         8
        .size:           8
        .type_name:      'int4*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         20
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           mergesort
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         mergesort.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     28
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
