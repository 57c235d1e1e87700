	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	lrn                     ; -- Begin function lrn
	.globl	lrn
	.p2align	8
	.type	lrn,@function
lrn:                                    ; @lrn
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s0, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	v_lshl_or_b32 v0, s6, 7, v0
	s_load_dwordx4 s[8:11], s[4:5], 0x0
	v_mad_u64_u32 v[3:4], s[4:5], s1, 3, v[0:1]
	v_ashrrev_i32_e32 v1, 31, v0
	s_ashr_i32 s5, s1, 31
	v_ashrrev_i32_e32 v4, 31, v3
	v_lshlrev_b64 v[4:5], 2, v[3:4]
	v_subrev_u32_e32 v3, s1, v3
	s_waitcnt lgkmcnt(0)
	v_add_co_u32_e32 v6, vcc, s8, v4
	v_ashrrev_i32_e32 v4, 31, v3
	v_mov_b32_e32 v2, s9
	v_lshlrev_b64 v[3:4], 2, v[3:4]
	v_addc_co_u32_e32 v7, vcc, v2, v5, vcc
	v_add_co_u32_e32 v10, vcc, s8, v3
	v_add_u32_e32 v3, s1, v0
	v_addc_co_u32_e32 v11, vcc, v2, v4, vcc
	v_ashrrev_i32_e32 v4, 31, v3
	v_lshlrev_b64 v[3:4], 2, v[3:4]
	s_mov_b32 s4, s1
	v_add_co_u32_e32 v12, vcc, s8, v3
	v_addc_co_u32_e32 v13, vcc, v2, v4, vcc
	v_lshlrev_b64 v[3:4], 2, v[0:1]
	s_lshl_b32 s6, s1, 2
	v_add_co_u32_e32 v14, vcc, s8, v3
	v_addc_co_u32_e32 v15, vcc, v2, v4, vcc
	global_load_dword v3, v[6:7], off
	global_load_dword v4, v[10:11], off
	global_load_dword v8, v[12:13], off
	global_load_dword v9, v[14:15], off
	s_mul_i32 s7, s1, 7
	s_mul_i32 s9, s1, 6
	s_mul_i32 s12, s1, 5
	s_lshl_b64 s[4:5], s[4:5], 2
	s_add_i32 s1, s1, s1
	s_mov_b32 s13, 0
	v_mov_b32_e32 v5, s3
	v_mov_b32_e32 v6, s11
	v_mov_b32_e32 v7, s5
	s_add_i32 s1, s1, s1
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v10, s6, v0
	v_ashrrev_i32_e32 v11, 31, v10
	v_add_u32_e32 v12, s12, v0
	v_lshlrev_b64 v[10:11], 2, v[10:11]
	v_ashrrev_i32_e32 v13, 31, v12
	v_add_u32_e32 v14, s9, v0
	v_lshlrev_b64 v[12:13], 2, v[12:13]
	v_add_co_u32_e32 v10, vcc, s8, v10
	v_ashrrev_i32_e32 v15, 31, v14
	v_addc_co_u32_e32 v11, vcc, v2, v11, vcc
	v_add_u32_e32 v16, s7, v0
	v_lshlrev_b64 v[14:15], 2, v[14:15]
	v_add_co_u32_e32 v12, vcc, s8, v12
	v_ashrrev_i32_e32 v17, 31, v16
	v_addc_co_u32_e32 v13, vcc, v2, v13, vcc
	v_lshlrev_b64 v[16:17], 2, v[16:17]
	v_add_co_u32_e32 v14, vcc, s8, v14
	v_addc_co_u32_e32 v15, vcc, v2, v15, vcc
	v_add_co_u32_e32 v16, vcc, s8, v16
	v_addc_co_u32_e32 v17, vcc, v2, v17, vcc
	global_load_dword v19, v[10:11], off
	global_load_dword v20, v[12:13], off
	global_load_dword v21, v[14:15], off
	global_load_dword v22, v[16:17], off
	s_waitcnt vmcnt(5)
	v_mul_f32_e32 v23, v8, v8
	v_ashrrev_i32_e32 v1, 31, v0
	v_mul_f32_e32 v24, v4, v4
	s_waitcnt vmcnt(4)
	v_fmac_f32_e32 v23, v9, v9
	v_mul_f32_e32 v25, v3, v3
	v_lshlrev_b64 v[9:10], 2, v[0:1]
	v_fmac_f32_e32 v24, v8, v8
	v_fmac_f32_e32 v23, v4, v4
	v_fmac_f32_e32 v25, v4, v4
	v_fmac_f32_e32 v24, v3, v3
	v_fmac_f32_e32 v23, v3, v3
	v_add_co_u32_e32 v11, vcc, s10, v9
	v_addc_co_u32_e32 v12, vcc, v6, v10, vcc
	v_add_co_u32_e32 v13, vcc, s4, v11
	v_addc_co_u32_e32 v14, vcc, v12, v7, vcc
	v_add_co_u32_e32 v15, vcc, s4, v13
	v_addc_co_u32_e32 v16, vcc, v14, v7, vcc
	s_add_i32 s13, s13, 4
	v_add_co_u32_e32 v17, vcc, s4, v15
	v_add_u32_e32 v0, s1, v0
	s_cmp_lt_i32 s13, s0
	v_addc_co_u32_e32 v18, vcc, v16, v7, vcc
	s_waitcnt vmcnt(3)
	v_mul_f32_e32 v1, v19, v19
	v_fmac_f32_e32 v1, v3, v3
	v_fmac_f32_e32 v23, v19, v19
	v_fmac_f32_e32 v24, v19, v19
	v_fmac_f32_e32 v25, v19, v19
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v1, v20, v20
	v_fma_f32 v10, s2, v23, v5
	v_fmac_f32_e32 v24, v20, v20
	v_fmac_f32_e32 v25, v20, v20
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v1, v21, v21
	v_rsq_f32_e32 v10, v10
	v_fma_f32 v23, s2, v24, v5
	v_fmac_f32_e32 v25, v21, v21
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v1, v22, v22
	v_rsq_f32_e32 v23, v23
	v_fma_f32 v24, s2, v25, v5
	v_fma_f32 v1, s2, v1, v5
	v_rsq_f32_e32 v24, v24
	v_rsq_f32_e32 v1, v1
	v_mul_f32_e32 v25, v4, v10
	v_sqrt_f32_e32 v10, v10
	v_mov_b32_e32 v4, v21
	v_mul_f32_e32 v21, v3, v23
	v_sqrt_f32_e32 v23, v23
	v_mov_b32_e32 v8, v20
	v_mov_b32_e32 v3, v22
	v_sqrt_f32_e32 v22, v24
	v_mul_f32_e32 v20, v20, v1
	v_sqrt_f32_e32 v1, v1
	v_mul_f32_e32 v10, v25, v10
	v_mov_b32_e32 v9, v19
	v_mul_f32_e32 v19, v19, v24
	global_store_dword v[11:12], v10, off
	v_mul_f32_e32 v10, v21, v23
	global_store_dword v[13:14], v10, off
	v_mul_f32_e32 v10, v19, v22
	v_mul_f32_e32 v1, v20, v1
	global_store_dword v[15:16], v10, off
	global_store_dword v[17:18], v1, off
	s_cbranch_scc1 .LBB0_2
.LBB0_3:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel lrn
		.amdhsa_group_segment_fixed_size 0
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
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 26
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
	.size	lrn, .Lfunc_end0-lrn
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 664
; NumSgprs: 18
; NumVgprs: 26
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 6
; NumSGPRsForWavesPerEU: 18
; NumVGPRsForWavesPerEU: 26
; Occupancy: 8
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
        .type_name:      float
        .value_kind:     by_value
      - .offset:         28
        .size:           4
        .type_name:      float
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 128
    .name:           lrn
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 128
      - 1
      - 1
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         lrn.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     26
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
