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
	v_lshlrev_b32_e32 v8, 2, v0
	v_mov_b32_e32 v3, 0
	s_mov_b32 s0, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s11
	v_add_co_u32_e32 v2, vcc, s10, v8
	v_addc_co_u32_e32 v4, vcc, 0, v1, vcc
	v_add_co_u32_e32 v1, vcc, 0x200, v2
	v_addc_co_u32_e32 v2, vcc, 0, v4, vcc
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	global_load_dword v4, v[1:2], off offset:-512
	global_load_dword v5, v[1:2], off offset:-256
	global_load_dword v6, v[1:2], off
	global_load_dword v7, v[1:2], off offset:256
	v_add_u32_e32 v9, s0, v8
	s_addk_i32 s0, 0x400
	v_add_co_u32_e32 v1, vcc, 0x400, v1
	v_addc_co_u32_e32 v2, vcc, 0, v2, vcc
	s_cmpk_eq_i32 s0, 0x1000
	ds_write2st64_b32 v9, v3, v3 offset1:1
	ds_write2st64_b32 v9, v3, v3 offset0:16 offset1:17
	ds_write2st64_b32 v9, v3, v3 offset0:2 offset1:3
	ds_write2st64_b32 v9, v3, v3 offset0:18 offset1:19
	s_waitcnt vmcnt(2)
	ds_write2st64_b32 v9, v4, v5 offset0:32 offset1:33
	s_waitcnt vmcnt(0)
	ds_write2st64_b32 v9, v6, v7 offset0:34 offset1:35
	s_cbranch_scc0 .LBB0_1
; %bb.2:
	s_load_dwordx2 s[0:1], s[4:5], 0x20
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s0, 1
	s_cbranch_scc1 .LBB0_7
; %bb.3:
	s_ashr_i32 s3, s1, 31
	s_mov_b32 s2, s1
	s_lshl_b64 s[2:3], s[2:3], 2
	v_lshl_or_b32 v1, s6, 6, v0
	s_lshl_b32 s4, s1, 2
	s_mov_b32 s5, 0
	v_mov_b32_e32 v9, s9
	v_mov_b32_e32 v10, s3
	s_add_i32 s3, s1, s1
	v_mov_b32_e32 v11, 1
	v_mov_b32_e32 v12, s13
.LBB0_4:                                ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB0_5 Depth 2
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[4:5], 2, v[1:2]
	v_add_u32_e32 v6, s3, v1
	v_add_co_u32_e32 v13, vcc, s8, v4
	v_addc_co_u32_e32 v14, vcc, v9, v5, vcc
	v_ashrrev_i32_e32 v7, 31, v6
	v_add_co_u32_e32 v21, vcc, s2, v13
	v_lshlrev_b64 v[2:3], 2, v[6:7]
	v_add_u32_e32 v6, s1, v6
	v_addc_co_u32_e32 v22, vcc, v14, v10, vcc
	v_ashrrev_i32_e32 v7, 31, v6
	v_add_co_u32_e32 v23, vcc, s8, v2
	v_lshlrev_b64 v[6:7], 2, v[6:7]
	v_addc_co_u32_e32 v24, vcc, v9, v3, vcc
	v_add_co_u32_e32 v25, vcc, s8, v6
	v_addc_co_u32_e32 v26, vcc, v9, v7, vcc
	global_load_dword v15, v[13:14], off
	global_load_dword v16, v[21:22], off
	global_load_dword v18, v[23:24], off
	global_load_dword v20, v[25:26], off
	s_movk_i32 s7, 0x200
	v_mov_b32_e32 v19, 0
	v_mov_b32_e32 v17, 0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v13, 0
.LBB0_5:                                ;   Parent Loop BB0_4 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_add_lshl_u32 v21, v19, s7, 2
	ds_read_b32 v21, v21 offset:8192
	v_add_lshl_u32 v23, v17, s7, 2
	v_add_lshl_u32 v24, v14, s7, 2
	v_add_lshl_u32 v25, v13, s7, 2
	ds_read_b32 v23, v23 offset:8192
	ds_read_b32 v24, v24 offset:8192
	ds_read_b32 v25, v25 offset:8192
	v_mov_b32_e32 v22, s7
	s_waitcnt vmcnt(3) lgkmcnt(3)
	v_cmp_ge_f32_e32 vcc, v15, v21
	v_cndmask_b32_e32 v21, 0, v22, vcc
	s_waitcnt vmcnt(2) lgkmcnt(2)
	v_cmp_ge_f32_e32 vcc, v16, v23
	v_add_u32_e32 v19, v21, v19
	v_cndmask_b32_e32 v21, 0, v22, vcc
	s_waitcnt vmcnt(1) lgkmcnt(1)
	v_cmp_ge_f32_e32 vcc, v18, v24
	v_add_u32_e32 v17, v21, v17
	v_cndmask_b32_e32 v21, 0, v22, vcc
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_cmp_ge_f32_e32 vcc, v20, v25
	v_add_u32_e32 v14, v21, v14
	v_cndmask_b32_e32 v21, 0, v22, vcc
	s_lshr_b32 s9, s7, 1
	v_add_u32_e32 v13, v21, v13
	s_cmp_lt_u32 s7, 2
	s_mov_b32 s7, s9
	s_cbranch_scc0 .LBB0_5
; %bb.6:                                ;   in Loop: Header=BB0_4 Depth=1
	v_lshlrev_b32_e32 v15, 3, v19
	ds_add_rtn_u32 v15, v15, v11
	v_add_co_u32_e32 v4, vcc, s12, v4
	v_addc_co_u32_e32 v5, vcc, v12, v5, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v15, v19, 16, v15
	global_store_dword v[4:5], v15, off
	v_lshlrev_b32_e32 v15, 3, v17
	ds_add_rtn_u32 v15, v15, v11 offset:4
	v_add_co_u32_e32 v4, vcc, s2, v4
	v_addc_co_u32_e32 v5, vcc, v5, v10, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v15, v17, 16, v15
	global_store_dword v[4:5], v15, off
	v_lshlrev_b32_e32 v4, 3, v14
	ds_add_rtn_u32 v4, v4, v11
	v_add_co_u32_e32 v2, vcc, s12, v2
	v_addc_co_u32_e32 v3, vcc, v12, v3, vcc
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v4, v14, 16, v4
	global_store_dword v[2:3], v4, off
	v_lshlrev_b32_e32 v2, 3, v13
	ds_add_rtn_u32 v2, v2, v11 offset:4
	s_add_i32 s5, s5, 4
	s_cmp_ge_i32 s5, s0
	v_add_u32_e32 v1, s4, v1
	s_waitcnt lgkmcnt(0)
	v_lshl_or_b32 v4, v13, 16, v2
	v_add_co_u32_e32 v2, vcc, s12, v6
	v_addc_co_u32_e32 v3, vcc, v12, v7, vcc
	global_store_dword v[2:3], v4, off
	s_cbranch_scc0 .LBB0_4
.LBB0_7:
	v_lshl_or_b32 v0, s6, 11, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[1:2], 2, v[0:1]
	v_mov_b32_e32 v4, s15
	v_add_co_u32_e32 v1, vcc, s14, v1
	v_addc_co_u32_e32 v3, vcc, v2, v4, vcc
	v_add_co_u32_e32 v2, vcc, 0x200, v1
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	s_mov_b32 s0, 0
	s_waitcnt lgkmcnt(0)
	; wave barrier
.LBB0_8:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v7, s0, v8
	v_ashrrev_i32_e32 v1, 31, v0
	ds_read2st64_b32 v[9:10], v7 offset1:1
	ds_read2st64_b32 v[11:12], v7 offset0:2 offset1:3
	v_lshlrev_b64 v[5:6], 2, v[0:1]
	s_addk_i32 s0, 0x400
	v_add_co_u32_e32 v5, vcc, s14, v5
	v_addc_co_u32_e32 v6, vcc, v4, v6, vcc
	s_waitcnt lgkmcnt(1)
	global_store_dword v[5:6], v9, off
	global_store_dword v[2:3], v10, off offset:-256
	s_waitcnt lgkmcnt(0)
	global_store_dword v[2:3], v11, off
	global_store_dword v[2:3], v12, off offset:256
	v_add_co_u32_e32 v2, vcc, 0x400, v2
	v_add_u32_e32 v0, 0x100, v0
	s_cmpk_eq_i32 s0, 0x2000
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	s_cbranch_scc0 .LBB0_8
; %bb.9:
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
		.amdhsa_next_free_vgpr 27
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
	.size	hybridsort, .Lfunc_end0-hybridsort
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 856
; NumSgprs: 20
; NumVgprs: 27
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 12288 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 6
; NumSGPRsForWavesPerEU: 20
; NumVGPRsForWavesPerEU: 27
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
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .actual_access:  write_only
        .address_space:  global
        .is_restrict:    true
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
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .symbol:         hybridsort.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     27
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
