	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	avgpool                 ; -- Begin function avgpool
	.globl	avgpool
	.p2align	8
	.type	avgpool,@function
avgpool:                                ; @avgpool
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s0, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_load_dword s12, s[4:5], 0x20
	s_load_dwordx4 s[8:11], s[4:5], 0x0
	v_lshl_or_b32 v5, s7, 2, v1
	v_lshl_or_b32 v2, s6, 5, v0
	s_lshl_b32 s7, s7, 3
	s_waitcnt lgkmcnt(0)
	v_mad_u64_u32 v[2:3], s[4:5], v5, s12, v[2:3]
	v_lshlrev_b32_e32 v3, 1, v1
	v_or_b32_e32 v4, s7, v3
	s_mul_i32 s14, s12, s3
	s_mul_i32 s12, s1, 3
	v_add_u32_e32 v6, 2, v4
	s_mul_i32 s4, s2, s1
	s_add_i32 s12, s7, s12
	v_lshl_add_u32 v4, s1, 1, v6
	s_add_i32 s1, s1, s7
	v_add3_u32 v1, s12, v3, 2
	v_mul_lo_u32 v7, s2, v5
	v_add3_u32 v3, s1, v3, 2
	s_ashr_i32 s3, s2, 31
	v_mul_lo_u32 v1, s2, v1
	v_mul_lo_u32 v4, s2, v4
	v_mul_lo_u32 v5, s2, v3
	v_mul_lo_u32 v6, s2, v6
	s_ashr_i32 s5, s4, 31
	s_ashr_i32 s15, s14, 31
	v_lshlrev_b32_e32 v0, 1, v0
	s_lshl_b64 s[2:3], s[2:3], 2
	v_lshl_or_b32 v0, s6, 6, v0
	s_lshl_b32 s12, s4, 2
	v_mov_b32_e32 v9, s3
	s_lshl_b64 s[4:5], s[4:5], 2
	s_lshl_b64 s[6:7], s[14:15], 2
	s_add_i32 s3, s14, s14
	v_lshlrev_b32_e32 v7, 1, v7
	s_mov_b32 s1, 0
	v_mov_b32_e32 v8, s9
	v_mov_b32_e32 v10, s11
	v_mov_b32_e32 v11, s5
	v_mov_b32_e32 v12, s7
	s_add_i32 s3, s3, s3
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v13, v7, v0
	v_ashrrev_i32_e32 v14, 31, v13
	v_lshlrev_b64 v[13:14], 2, v[13:14]
	s_add_i32 s1, s1, 4
	v_add_co_u32_e32 v16, vcc, s8, v13
	v_addc_co_u32_e32 v17, vcc, v8, v14, vcc
	global_load_dwordx3 v[13:15], v[16:17], off
	v_add_co_u32_e32 v18, vcc, s4, v16
	v_addc_co_u32_e32 v19, vcc, v17, v11, vcc
	v_add_co_u32_e32 v20, vcc, s4, v18
	v_addc_co_u32_e32 v21, vcc, v19, v11, vcc
	s_cmp_lt_i32 s1, s0
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, 0, v13
	v_add_f32_e32 v3, v3, v14
	v_add_f32_e32 v3, v3, v15
	global_load_dwordx3 v[13:15], v[18:19], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, 0, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v22, v13, v15
	global_load_dwordx3 v[13:15], v[20:21], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, 0, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v23, v13, v15
	v_add_co_u32_e32 v13, vcc, s2, v16
	v_addc_co_u32_e32 v14, vcc, v17, v9, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	v_add_co_u32_e32 v16, vcc, s4, v20
	v_addc_co_u32_e32 v17, vcc, v21, v11, vcc
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, v3, v13
	v_add_f32_e32 v3, v3, v14
	v_add_f32_e32 v3, v3, v15
	global_load_dwordx3 v[13:15], v[16:17], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, 0, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v24, v13, v15
	v_add_co_u32_e32 v13, vcc, s2, v18
	v_addc_co_u32_e32 v14, vcc, v19, v9, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, v22, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v18, v13, v15
	v_add_co_u32_e32 v13, vcc, s2, v20
	v_addc_co_u32_e32 v14, vcc, v21, v9, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, v23, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v19, v13, v15
	v_add_u32_e32 v13, v6, v0
	v_ashrrev_i32_e32 v14, 31, v13
	v_lshlrev_b64 v[13:14], 2, v[13:14]
	v_add_co_u32_e32 v13, vcc, s8, v13
	v_addc_co_u32_e32 v14, vcc, v8, v14, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, v3, v13
	v_add_co_u32_e32 v13, vcc, s2, v16
	v_add_f32_e32 v3, v3, v14
	v_addc_co_u32_e32 v14, vcc, v17, v9, vcc
	v_add_f32_e32 v20, v3, v15
	global_load_dwordx3 v[13:15], v[13:14], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, v24, v13
	v_add_u32_e32 v13, v5, v0
	v_add_f32_e32 v3, v3, v14
	v_ashrrev_i32_e32 v14, 31, v13
	v_lshlrev_b64 v[13:14], 2, v[13:14]
	v_add_f32_e32 v21, v3, v15
	v_add_co_u32_e32 v13, vcc, s8, v13
	v_addc_co_u32_e32 v14, vcc, v8, v14, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	v_ashrrev_i32_e32 v3, 31, v2
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, v18, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v17, v13, v15
	v_add_u32_e32 v13, v4, v0
	v_ashrrev_i32_e32 v14, 31, v13
	v_lshlrev_b64 v[13:14], 2, v[13:14]
	v_add_co_u32_e32 v13, vcc, s8, v13
	v_addc_co_u32_e32 v14, vcc, v8, v14, vcc
	global_load_dwordx3 v[13:15], v[13:14], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v13, v19, v13
	v_add_f32_e32 v13, v13, v14
	v_add_f32_e32 v19, v13, v15
	v_lshlrev_b64 v[13:14], 2, v[2:3]
	v_add_u32_e32 v15, v1, v0
	v_ashrrev_i32_e32 v16, 31, v15
	v_add_co_u32_e32 v13, vcc, s10, v13
	v_lshlrev_b64 v[15:16], 2, v[15:16]
	v_addc_co_u32_e32 v14, vcc, v10, v14, vcc
	v_add_co_u32_e32 v15, vcc, s8, v15
	v_addc_co_u32_e32 v16, vcc, v8, v16, vcc
	v_mul_f32_e32 v3, 0x3de38e39, v20
	global_store_dword v[13:14], v3, off
	v_add_co_u32_e32 v13, vcc, s6, v13
	v_addc_co_u32_e32 v14, vcc, v14, v12, vcc
	v_mul_f32_e32 v3, 0x3de38e39, v17
	v_add_co_u32_e32 v17, vcc, s6, v13
	global_store_dword v[13:14], v3, off
	v_addc_co_u32_e32 v18, vcc, v14, v12, vcc
	global_load_dwordx3 v[13:15], v[15:16], off
	v_add_u32_e32 v0, s12, v0
	v_add_u32_e32 v2, s3, v2
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, v21, v13
	v_add_f32_e32 v3, v3, v14
	v_add_f32_e32 v3, v3, v15
	v_add_co_u32_e32 v13, vcc, s6, v17
	v_addc_co_u32_e32 v14, vcc, v18, v12, vcc
	v_mul_f32_e32 v15, 0x3de38e39, v19
	v_mul_f32_e32 v3, 0x3de38e39, v3
	global_store_dword v[17:18], v15, off
	global_store_dword v[13:14], v3, off
	s_cbranch_scc1 .LBB0_2
.LBB0_3:
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
		.amdhsa_next_free_vgpr 25
		.amdhsa_next_free_sgpr 16
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
; codeLenInByte = 836
; NumSgprs: 20
; NumVgprs: 25
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 6
; NumSGPRsForWavesPerEU: 20
; NumVGPRsForWavesPerEU: 25
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
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
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
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .symbol:         avgpool.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     25
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
