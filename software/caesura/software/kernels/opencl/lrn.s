	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	lrn                     ; -- Begin function lrn
	.globl	lrn
	.p2align	8
	.type	lrn,@function
lrn:                                    ; @lrn
; %bb.0:
	s_load_dwordx4 s[8:11], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s8, 1
	s_cbranch_scc1 .LBB0_8
; %bb.1:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_lshl_b32 s6, s6, 7
	v_or_b32_e32 v1, s6, v0
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[6:7], 2, v[1:2]
	s_lshl_b32 s4, s9, 2
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s1
	v_add_co_u32_e32 v8, vcc, s0, v6
	s_ashr_i32 s5, s4, 31
	v_addc_co_u32_e32 v9, vcc, v1, v7, vcc
	s_lshl_b64 s[14:15], s[4:5], 2
	s_ashr_i32 s13, s9, 31
	s_mov_b32 s12, s9
	v_mov_b32_e32 v1, s15
	v_add_co_u32_e32 v5, vcc, s14, v8
	v_addc_co_u32_e32 v4, vcc, v9, v1, vcc
	s_lshl_b64 s[4:5], s[12:13], 2
	v_mov_b32_e32 v1, s5
	v_subrev_co_u32_e32 v10, vcc, s4, v5
	v_subb_co_u32_e32 v11, vcc, v4, v1, vcc
	v_subrev_co_u32_e32 v12, vcc, s4, v10
	v_subb_co_u32_e32 v13, vcc, v11, v1, vcc
	v_subrev_co_u32_e32 v15, vcc, s4, v12
	v_subb_co_u32_e32 v16, vcc, v13, v1, vcc
	global_load_dword v2, v[12:13], off
	global_load_dword v1, v[15:16], off
	global_load_dword v14, v[8:9], off
	global_load_dword v3, v[10:11], off
	v_mov_b32_e32 v9, s3
	v_add_co_u32_e32 v6, vcc, s2, v6
	s_cmp_lt_u32 s8, 4
	v_addc_co_u32_e32 v7, vcc, v9, v7, vcc
	s_waitcnt vmcnt(2)
	v_mul_f32_e32 v8, v1, v1
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v8, v14, v14
	v_fmac_f32_e32 v8, v2, v2
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v8, v3, v3
	s_cbranch_scc1 .LBB0_5
; %bb.2:
	s_and_b32 s9, s8, 0x7ffffffc
	s_add_u32 s0, s0, s14
	v_lshlrev_b32_e32 v0, 2, v0
	s_addc_u32 s1, s1, s15
	v_mov_b32_e32 v10, s1
	v_add_co_u32_e32 v9, vcc, s0, v0
	v_addc_co_u32_e32 v10, vcc, 0, v10, vcc
	s_ashr_i32 s7, s6, 31
	v_mov_b32_e32 v12, s3
	v_add_co_u32_e32 v11, vcc, s2, v0
	s_lshl_b64 s[6:7], s[6:7], 2
	s_lshl_b64 s[12:13], s[12:13], 4
	v_addc_co_u32_e32 v12, vcc, 0, v12, vcc
	v_mov_b32_e32 v13, s11
.LBB0_3:                                ; =>This Inner Loop Header: Depth=1
	v_mov_b32_e32 v17, s7
	v_add_co_u32_e32 v15, vcc, s6, v9
	v_addc_co_u32_e32 v16, vcc, v10, v17, vcc
	global_load_dword v0, v[15:16], off
	v_mov_b32_e32 v19, v2
	v_add_co_u32_e32 v15, vcc, s4, v5
	v_mov_b32_e32 v18, v1
	v_add_co_u32_e64 v1, s[0:1], s6, v11
	v_mov_b32_e32 v20, s5
	v_addc_co_u32_e32 v16, vcc, v4, v20, vcc
	v_mov_b32_e32 v21, v3
	v_add_co_u32_e32 v3, vcc, s4, v6
	s_add_u32 s6, s6, s12
	s_addc_u32 s7, s7, s13
	s_add_i32 s9, s9, -4
	s_cmp_eq_u32 s9, 0
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v8, v0, v0
	v_fma_f32 v2, s10, v8, v13
	v_rsq_f32_e32 v5, v2
	v_addc_co_u32_e64 v2, s[0:1], v12, v17, s[0:1]
	v_fma_f32 v14, -v14, v14, v8
	v_sqrt_f32_e32 v17, v5
	v_mul_f32_e32 v4, v19, v5
	v_mul_f32_e32 v4, v4, v17
	global_store_dword v[1:2], v4, off
	global_load_dword v1, v[15:16], off
	v_addc_co_u32_e32 v4, vcc, v7, v20, vcc
	v_add_co_u32_e32 v5, vcc, s4, v15
	v_addc_co_u32_e32 v6, vcc, v16, v20, vcc
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v14, v1, v1
	v_fma_f32 v2, s10, v14, v13
	v_rsq_f32_e32 v2, v2
	v_sqrt_f32_e32 v7, v2
	v_mul_f32_e32 v2, v21, v2
	v_mul_f32_e32 v2, v2, v7
	global_store_dword v[3:4], v2, off
	global_load_dword v2, v[5:6], off
	v_add_co_u32_e32 v7, vcc, s4, v3
	v_addc_co_u32_e32 v8, vcc, v4, v20, vcc
	v_fma_f32 v4, -v18, v18, v14
	v_add_co_u32_e32 v14, vcc, s4, v5
	v_addc_co_u32_e32 v15, vcc, v6, v20, vcc
	v_add_co_u32_e32 v16, vcc, s4, v7
	v_addc_co_u32_e32 v17, vcc, v8, v20, vcc
	v_add_co_u32_e32 v6, vcc, s4, v16
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v4, v2, v2
	v_fma_f32 v3, s10, v4, v13
	v_rsq_f32_e32 v3, v3
	v_sqrt_f32_e32 v5, v3
	v_mul_f32_e32 v3, v0, v3
	v_mul_f32_e32 v3, v3, v5
	global_store_dword v[7:8], v3, off
	global_load_dword v3, v[14:15], off
	v_fma_f32 v8, -v19, v19, v4
	v_add_co_u32_e64 v5, s[0:1], s4, v14
	v_addc_co_u32_e32 v7, vcc, v17, v20, vcc
	v_mov_b32_e32 v14, v0
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v8, v3, v3
	v_fma_f32 v4, s10, v8, v13
	v_rsq_f32_e32 v18, v4
	v_addc_co_u32_e64 v4, s[0:1], v15, v20, s[0:1]
	v_fma_f32 v8, -v21, v21, v8
	v_sqrt_f32_e32 v15, v18
	v_mul_f32_e32 v18, v1, v18
	v_mul_f32_e32 v15, v18, v15
	global_store_dword v[16:17], v15, off
	s_cbranch_scc0 .LBB0_3
; %bb.4:
	v_mov_b32_e32 v4, s7
	v_add_co_u32_e32 v6, vcc, s6, v11
	v_addc_co_u32_e32 v7, vcc, v12, v4, vcc
	v_add_co_u32_e32 v5, vcc, s6, v9
	v_addc_co_u32_e32 v4, vcc, v10, v4, vcc
	s_and_b32 s2, s8, 3
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .LBB0_6
	s_branch .LBB0_8
.LBB0_5:
	v_mov_b32_e32 v0, v14
	s_and_b32 s2, s8, 3
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc1 .LBB0_8
.LBB0_6:
	s_mov_b64 s[0:1], 0
	v_mov_b32_e32 v9, s11
.LBB0_7:                                ; =>This Inner Loop Header: Depth=1
	v_mov_b32_e32 v13, s1
	v_add_co_u32_e32 v10, vcc, s0, v5
	v_addc_co_u32_e32 v11, vcc, v4, v13, vcc
	v_mov_b32_e32 v12, v1
	v_mov_b32_e32 v1, v2
	v_mov_b32_e32 v2, v3
	global_load_dword v3, v[10:11], off
	v_add_co_u32_e32 v10, vcc, s0, v6
	v_addc_co_u32_e32 v11, vcc, v7, v13, vcc
	s_add_u32 s0, s0, s4
	s_addc_u32 s1, s1, s5
	s_add_i32 s2, s2, -1
	s_cmp_lg_u32 s2, 0
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v8, v3, v3
	v_fma_f32 v13, s10, v8, v9
	v_rsq_f32_e32 v13, v13
	v_fma_f32 v8, -v0, v0, v8
	v_mov_b32_e32 v0, v12
	v_sqrt_f32_e32 v14, v13
	v_mul_f32_e32 v12, v1, v13
	v_mul_f32_e32 v12, v12, v14
	global_store_dword v[10:11], v12, off
	s_cbranch_scc1 .LBB0_7
.LBB0_8:
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
		.amdhsa_next_free_vgpr 22
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
	.size	lrn, .Lfunc_end0-lrn
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 808
; NumSgprs: 20
; NumVgprs: 22
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 5
; NumSGPRsForWavesPerEU: 20
; NumVGPRsForWavesPerEU: 22
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
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .symbol:         lrn.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     22
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
