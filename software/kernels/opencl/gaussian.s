	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	gaussian                ; -- Begin function gaussian
	.globl	gaussian
	.p2align	8
	.type	gaussian,@function
gaussian:                               ; @gaussian
; %bb.0:
	s_load_dwordx4 s[8:11], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s10, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_lshl_b32 s11, s6, 6
	s_mul_i32 s0, s9, s8
	s_load_dwordx4 s[12:15], s[4:5], 0x0
	s_add_i32 s0, s0, s11
	v_add_u32_e32 v1, s0, v0
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[2:3], 2, v[1:2]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s13
	v_add_co_u32_e32 v2, vcc, s12, v2
	v_addc_co_u32_e32 v3, vcc, v1, v3, vcc
	global_load_dword v2, v[2:3], off
	s_ashr_i32 s1, s9, 31
	s_mov_b32 s0, s9
	s_lshl_b64 s[0:1], s[0:1], 2
	s_add_u32 s0, s14, s0
	s_addc_u32 s1, s15, s1
	s_add_u32 s14, s0, 4
	s_addc_u32 s15, s1, 0
	s_add_i32 s2, s9, 1
	s_mul_i32 s2, s8, s2
	v_add_u32_e32 v3, s2, v0
	s_add_i32 s2, s9, 3
	s_mul_i32 s2, s8, s2
	v_add_u32_e32 v4, s2, v0
	s_add_i32 s2, s9, 4
	s_mul_i32 s2, s8, s2
	v_add_u32_e32 v5, s2, v0
	s_add_i32 s2, s9, 5
	s_mul_i32 s2, s8, s2
	v_add_u32_e32 v6, s2, v0
	s_add_i32 s2, s9, 6
	s_mul_i32 s2, s8, s2
	v_add_u32_e32 v7, s2, v0
	s_add_i32 s2, s9, 7
	s_mul_i32 s2, s8, s2
	s_ashr_i32 s1, s8, 31
	s_mov_b32 s0, s8
	v_add_u32_e32 v8, s2, v0
	s_add_i32 s2, s9, 8
	s_lshl_b32 s13, s8, 3
	s_mul_i32 s2, s8, s2
	s_lshl_b64 s[8:9], s[0:1], 2
	v_add_u32_e32 v0, s2, v0
	s_mov_b32 s16, 0
	v_mov_b32_e32 v9, s9
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v10, s11, v3
	v_ashrrev_i32_e32 v11, 31, v10
	v_add_u32_e32 v12, s11, v4
	v_lshlrev_b64 v[10:11], 2, v[10:11]
	v_ashrrev_i32_e32 v13, 31, v12
	v_add_u32_e32 v14, s11, v5
	v_lshlrev_b64 v[12:13], 2, v[12:13]
	v_add_co_u32_e32 v10, vcc, s12, v10
	v_ashrrev_i32_e32 v15, 31, v14
	v_addc_co_u32_e32 v11, vcc, v1, v11, vcc
	v_add_u32_e32 v16, s11, v6
	v_lshlrev_b64 v[14:15], 2, v[14:15]
	v_add_co_u32_e32 v12, vcc, s12, v12
	v_ashrrev_i32_e32 v17, 31, v16
	v_addc_co_u32_e32 v13, vcc, v1, v13, vcc
	v_add_u32_e32 v18, s11, v7
	v_lshlrev_b64 v[16:17], 2, v[16:17]
	v_add_co_u32_e32 v14, vcc, s12, v14
	v_ashrrev_i32_e32 v19, 31, v18
	v_addc_co_u32_e32 v15, vcc, v1, v15, vcc
	v_add_u32_e32 v20, s11, v8
	v_lshlrev_b64 v[18:19], 2, v[18:19]
	v_add_co_u32_e32 v16, vcc, s12, v16
	v_ashrrev_i32_e32 v21, 31, v20
	v_addc_co_u32_e32 v17, vcc, v1, v17, vcc
	v_add_u32_e32 v22, s11, v0
	v_lshlrev_b64 v[20:21], 2, v[20:21]
	v_add_co_u32_e32 v18, vcc, s12, v18
	v_ashrrev_i32_e32 v23, 31, v22
	v_addc_co_u32_e32 v19, vcc, v1, v19, vcc
	v_lshlrev_b64 v[22:23], 2, v[22:23]
	v_add_co_u32_e32 v20, vcc, s12, v20
	v_addc_co_u32_e32 v21, vcc, v1, v21, vcc
	v_add_co_u32_e32 v22, vcc, s12, v22
	v_addc_co_u32_e32 v23, vcc, v1, v23, vcc
	global_load_dword v26, v[10:11], off
	v_add_co_u32_e32 v24, vcc, s8, v10
	v_addc_co_u32_e32 v25, vcc, v11, v9, vcc
	s_load_dwordx8 s[0:7], s[14:15], 0x0
	global_load_dword v27, v[24:25], off
	global_load_dword v28, v[12:13], off
	global_load_dword v29, v[14:15], off
	global_load_dword v30, v[16:17], off
	global_load_dword v31, v[18:19], off
	global_load_dword v32, v[20:21], off
	global_load_dword v33, v[22:23], off
	s_add_i32 s16, s16, 8
	s_add_u32 s14, s14, 32
	s_addc_u32 s15, s15, 0
	v_add_u32_e32 v3, s13, v3
	v_add_u32_e32 v4, s13, v4
	v_add_u32_e32 v5, s13, v5
	v_add_u32_e32 v6, s13, v6
	v_add_u32_e32 v7, s13, v7
	v_add_u32_e32 v8, s13, v8
	v_add_u32_e32 v0, s13, v0
	s_cmp_lt_i32 s16, s10
	s_waitcnt vmcnt(7) lgkmcnt(0)
	v_fma_f32 v26, -s0, v2, v26
	global_store_dword v[10:11], v26, off
	s_waitcnt vmcnt(7)
	v_fma_f32 v10, -s1, v2, v27
	s_waitcnt vmcnt(6)
	v_fma_f32 v11, -s2, v2, v28
	s_waitcnt vmcnt(5)
	v_fma_f32 v26, -s3, v2, v29
	s_waitcnt vmcnt(4)
	v_fma_f32 v27, -s4, v2, v30
	s_waitcnt vmcnt(3)
	v_fma_f32 v28, -s5, v2, v31
	s_waitcnt vmcnt(2)
	v_fma_f32 v29, -s6, v2, v32
	s_waitcnt vmcnt(1)
	v_fma_f32 v30, -s7, v2, v33
	global_store_dword v[24:25], v10, off
	global_store_dword v[12:13], v11, off
	global_store_dword v[14:15], v26, off
	global_store_dword v[16:17], v27, off
	global_store_dword v[18:19], v28, off
	global_store_dword v[20:21], v29, off
	global_store_dword v[22:23], v30, off
	s_cbranch_scc1 .LBB0_2
.LBB0_3:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel gaussian
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 28
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
		.amdhsa_next_free_vgpr 34
		.amdhsa_next_free_sgpr 17
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
	.size	gaussian, .Lfunc_end0-gaussian
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 676
; NumSgprs: 21
; NumVgprs: 34
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 8
; NumSGPRsForWavesPerEU: 21
; NumVGPRsForWavesPerEU: 34
; Occupancy: 7
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
      - .address_space:  global
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           gaussian
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     21
    .sgpr_spill_count: 0
    .symbol:         gaussian.kd
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
