	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	gaussian                ; -- Begin function gaussian
	.globl	gaussian
	.p2align	8
	.type	gaussian,@function
gaussian:                               ; @gaussian
; %bb.0:
	s_load_dwordx4 s[12:15], s[4:5], 0x10
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s14, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_lshl_b32 s0, s6, 6
	s_load_dwordx4 s[16:19], s[4:5], 0x0
	v_or_b32_e32 v1, s0, v0
	s_mul_i32 s1, s13, s12
	v_add_u32_e32 v2, s1, v1
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b64 v[2:3], 2, v[2:3]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s17
	v_add_co_u32_e32 v2, vcc, s16, v2
	v_addc_co_u32_e32 v3, vcc, v4, v3, vcc
	global_load_dword v8, v[2:3], off
	s_ashr_i32 s3, s13, 31
	s_mov_b32 s2, s13
	s_lshl_b64 s[2:3], s[2:3], 2
	s_add_u32 s2, s18, s2
	s_addc_u32 s3, s19, s3
	s_add_u32 s18, s2, 4
	s_addc_u32 s19, s3, 0
	s_add_i32 s2, s1, s12
	s_ashr_i32 s3, s2, 31
	s_ashr_i32 s13, s12, 31
	s_ashr_i32 s1, s0, 31
	s_lshl_b64 s[4:5], s[12:13], 2
	s_lshl_b64 s[6:7], s[2:3], 2
	s_lshl_b64 s[8:9], s[0:1], 2
	s_add_u32 s8, s6, s8
	s_addc_u32 s9, s7, s9
	v_lshlrev_b32_e32 v3, 2, v0
	v_ashrrev_i32_e32 v2, 31, v1
	v_mov_b32_e32 v4, s9
	v_add_co_u32_e32 v9, vcc, s8, v3
	s_lshl_b64 s[20:21], s[12:13], 5
	s_lshl_b64 s[8:9], s[12:13], 3
	v_lshlrev_b64 v[15:16], 2, v[1:2]
	s_add_u32 s8, s6, s8
	v_addc_co_u32_e32 v10, vcc, 0, v4, vcc
	s_addc_u32 s9, s7, s9
	v_mov_b32_e32 v1, s9
	v_add_co_u32_e32 v11, vcc, s8, v15
	s_add_u32 s0, s2, s0
	v_addc_co_u32_e32 v12, vcc, v1, v16, vcc
	s_addc_u32 s1, s3, s1
	v_mov_b32_e32 v1, s1
	v_add_co_u32_e32 v0, vcc, s0, v0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	v_lshlrev_b64 v[6:7], 2, v[0:1]
	v_mad_i64_i32 v[0:1], s[0:1], s12, 12, v[6:7]
	s_lshl_b64 s[0:1], s[12:13], 4
	v_mov_b32_e32 v2, s1
	v_add_co_u32_e32 v13, vcc, s0, v6
	v_addc_co_u32_e32 v14, vcc, v2, v7, vcc
	v_mad_i64_i32 v[2:3], s[0:1], s12, 20, v[6:7]
	v_mad_i64_i32 v[4:5], s[0:1], s12, 24, v[6:7]
	v_mad_i64_i32 v[6:7], s[0:1], s12, 28, v[6:7]
	s_add_u32 s0, s6, s4
	s_addc_u32 s1, s7, s5
	v_mov_b32_e32 v17, s1
	v_add_co_u32_e32 v15, vcc, s0, v15
	v_addc_co_u32_e32 v16, vcc, v17, v16, vcc
	v_mov_b32_e32 v17, 0
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_mov_b32_e32 v31, s17
	v_add_co_u32_e32 v18, vcc, s16, v9
	v_addc_co_u32_e32 v19, vcc, v31, v10, vcc
	global_load_dword v34, v17, s[18:19]
	global_load_dword v35, v[18:19], off
	v_add_co_u32_e64 v32, s[10:11], s16, v15
	v_add_co_u32_e32 v20, vcc, s16, v11
	v_add_co_u32_e64 v22, s[0:1], s16, v0
	v_add_co_u32_e64 v24, s[2:3], s16, v13
	v_add_co_u32_e64 v26, s[4:5], s16, v2
	v_add_co_u32_e64 v28, s[6:7], s16, v4
	v_add_co_u32_e64 v30, s[8:9], s16, v6
	v_addc_co_u32_e64 v33, s[10:11], v31, v16, s[10:11]
	v_addc_co_u32_e32 v21, vcc, v31, v12, vcc
	v_addc_co_u32_e64 v23, vcc, v31, v1, s[0:1]
	v_addc_co_u32_e64 v25, vcc, v31, v14, s[2:3]
	v_addc_co_u32_e64 v27, vcc, v31, v3, s[4:5]
	v_addc_co_u32_e64 v29, vcc, v31, v5, s[6:7]
	v_addc_co_u32_e64 v31, vcc, v31, v7, s[8:9]
	global_load_dword v36, v[32:33], off
	global_load_dword v37, v[20:21], off
	global_load_dword v38, v[22:23], off
	global_load_dword v39, v[24:25], off
	global_load_dword v40, v[26:27], off
	global_load_dword v41, v[28:29], off
	global_load_dword v42, v[30:31], off
	s_waitcnt vmcnt(7)
	v_fma_f32 v34, -v34, v8, v35
	global_store_dword v[18:19], v34, off
	global_load_dword v18, v17, s[18:19] offset:4
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v36
	global_store_dword v[32:33], v18, off
	global_load_dword v18, v17, s[18:19] offset:8
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v37
	global_store_dword v[20:21], v18, off
	global_load_dword v18, v17, s[18:19] offset:12
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v38
	global_store_dword v[22:23], v18, off
	global_load_dword v18, v17, s[18:19] offset:16
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v39
	global_store_dword v[24:25], v18, off
	global_load_dword v18, v17, s[18:19] offset:20
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v40
	global_store_dword v[26:27], v18, off
	global_load_dword v18, v17, s[18:19] offset:24
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v41
	global_store_dword v[28:29], v18, off
	global_load_dword v18, v17, s[18:19] offset:28
	s_add_u32 s18, s18, 32
	s_addc_u32 s19, s19, 0
	s_add_i32 s14, s14, -1
	s_add_u32 s16, s16, s20
	s_addc_u32 s17, s17, s21
	s_cmp_lg_u32 s14, 0
	s_waitcnt vmcnt(0)
	v_fma_f32 v18, -v18, v8, v42
	global_store_dword v[30:31], v18, off
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
		.amdhsa_next_free_vgpr 43
		.amdhsa_next_free_sgpr 22
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
; codeLenInByte = 736
; NumSgprs: 26
; NumVgprs: 43
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 3
; VGPRBlocks: 10
; NumSGPRsForWavesPerEU: 26
; NumVGPRsForWavesPerEU: 43
; Occupancy: 5
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
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         gaussian.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     43
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
