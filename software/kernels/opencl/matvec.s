	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	matvec                  ; -- Begin function matvec
	.globl	matvec
	.p2align	8
	.type	matvec,@function
matvec:                                 ; @matvec
; %bb.0:
	s_load_dword s7, s[4:5], 0x18
	s_load_dwordx2 s[8:9], s[4:5], 0x10
	s_lshl_b32 s6, s6, 2
	v_mov_b32_e32 v4, 0
	v_lshlrev_b32_e32 v3, 2, v0
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s7, 1
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v8, 0
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_add_i32 s5, s6, 1
	s_mul_i32 s5, s7, s5
	v_add_u32_e32 v7, s5, v0
	s_add_i32 s5, s6, 2
	s_mul_i32 s5, s7, s5
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s3
	v_add_co_u32_e32 v2, vcc, s2, v3
	v_add_u32_e32 v9, s5, v0
	s_add_i32 s5, s6, 3
	v_addc_co_u32_e32 v4, vcc, 0, v1, vcc
	s_mul_i32 s4, s6, s7
	s_mul_i32 s5, s7, s5
	v_add_co_u32_e32 v1, vcc, 0x700, v2
	v_add_u32_e32 v10, s5, v0
	v_add_u32_e32 v11, s4, v0
	v_addc_co_u32_e32 v2, vcc, 0, v4, vcc
	s_mov_b32 s2, 0
	v_mov_b32_e32 v8, 0
	v_mov_b32_e32 v12, s1
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v4, 0
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_add_u32_e32 v13, s2, v11
	v_ashrrev_i32_e32 v14, 31, v13
	v_add_u32_e32 v15, s2, v7
	v_lshlrev_b64 v[13:14], 2, v[13:14]
	v_ashrrev_i32_e32 v16, 31, v15
	v_add_u32_e32 v17, s2, v9
	v_lshlrev_b64 v[15:16], 2, v[15:16]
	v_add_co_u32_e32 v26, vcc, s0, v13
	v_ashrrev_i32_e32 v18, 31, v17
	v_addc_co_u32_e32 v27, vcc, v12, v14, vcc
	v_add_u32_e32 v19, s2, v10
	v_lshlrev_b64 v[17:18], 2, v[17:18]
	v_add_co_u32_e32 v30, vcc, s0, v15
	v_ashrrev_i32_e32 v20, 31, v19
	v_addc_co_u32_e32 v31, vcc, v12, v16, vcc
	v_lshlrev_b64 v[19:20], 2, v[19:20]
	v_add_co_u32_e32 v36, vcc, s0, v17
	v_addc_co_u32_e32 v37, vcc, v12, v18, vcc
	v_add_co_u32_e32 v39, vcc, s0, v19
	v_addc_co_u32_e32 v40, vcc, v12, v20, vcc
	global_load_dword v46, v[26:27], off
	global_load_dword v47, v[26:27], off offset:256
	global_load_dword v25, v[26:27], off offset:512
	global_load_dword v23, v[26:27], off offset:768
	global_load_dword v21, v[26:27], off offset:1024
	global_load_dword v19, v[26:27], off offset:1280
	global_load_dword v17, v[26:27], off offset:1536
	global_load_dword v13, v[26:27], off offset:1792
	global_load_dword v48, v[30:31], off
	global_load_dword v49, v[30:31], off offset:256
	global_load_dword v29, v[30:31], off offset:512
                                        ; kill: killed $vgpr26 killed $vgpr27
	s_nop 0
	global_load_dword v27, v[30:31], off offset:768
	global_load_dword v26, v[30:31], off offset:1024
	global_load_dword v24, v[30:31], off offset:1280
	global_load_dword v15, v[30:31], off offset:1536
	global_load_dword v14, v[30:31], off offset:1792
	global_load_dword v50, v[36:37], off
	global_load_dword v35, v[36:37], off offset:256
	global_load_dword v33, v[36:37], off offset:512
	s_nop 0
	global_load_dword v31, v[36:37], off offset:768
	global_load_dword v30, v[36:37], off offset:1024
	global_load_dword v28, v[36:37], off offset:1280
	global_load_dword v18, v[36:37], off offset:1536
	global_load_dword v16, v[36:37], off offset:1792
	global_load_dword v51, v[39:40], off
	global_load_dword v38, v[39:40], off offset:256
	s_nop 0
	global_load_dword v37, v[39:40], off offset:512
	global_load_dword v36, v[39:40], off offset:768
	global_load_dword v34, v[39:40], off offset:1024
	global_load_dword v32, v[39:40], off offset:1280
	global_load_dword v22, v[39:40], off offset:1536
	global_load_dword v20, v[39:40], off offset:1792
	global_load_dword v52, v[1:2], off offset:-1792
	global_load_dword v45, v[1:2], off offset:-1536
	global_load_dword v44, v[1:2], off offset:-1280
	global_load_dword v43, v[1:2], off offset:-1024
	global_load_dword v42, v[1:2], off offset:-768
	global_load_dword v41, v[1:2], off offset:-512
	global_load_dword v40, v[1:2], off offset:-256
	global_load_dword v39, v[1:2], off
	s_addk_i32 s2, 0x200
	v_add_co_u32_e32 v1, vcc, 0x800, v1
	v_addc_co_u32_e32 v2, vcc, 0, v2, vcc
	s_cmp_ge_i32 s2, s7
	s_waitcnt vmcnt(7)
	v_fmac_f32_e32 v8, v46, v52
	v_fmac_f32_e32 v6, v48, v52
	v_fmac_f32_e32 v5, v50, v52
	v_fmac_f32_e32 v4, v51, v52
	s_waitcnt vmcnt(6)
	v_fmac_f32_e32 v8, v47, v45
	v_fmac_f32_e32 v6, v49, v45
	v_fmac_f32_e32 v5, v35, v45
	v_fmac_f32_e32 v4, v38, v45
	s_waitcnt vmcnt(5)
	v_fmac_f32_e32 v8, v25, v44
	v_fmac_f32_e32 v6, v29, v44
	v_fmac_f32_e32 v5, v33, v44
	v_fmac_f32_e32 v4, v37, v44
	s_waitcnt vmcnt(4)
	v_fmac_f32_e32 v8, v23, v43
	v_fmac_f32_e32 v6, v27, v43
	v_fmac_f32_e32 v5, v31, v43
	v_fmac_f32_e32 v4, v36, v43
	s_waitcnt vmcnt(3)
	v_fmac_f32_e32 v8, v21, v42
	v_fmac_f32_e32 v6, v26, v42
	v_fmac_f32_e32 v5, v30, v42
	v_fmac_f32_e32 v4, v34, v42
	s_waitcnt vmcnt(2)
	v_fmac_f32_e32 v8, v19, v41
	v_fmac_f32_e32 v6, v24, v41
	v_fmac_f32_e32 v5, v28, v41
	v_fmac_f32_e32 v4, v32, v41
	s_waitcnt vmcnt(1)
	v_fmac_f32_e32 v8, v17, v40
	v_fmac_f32_e32 v6, v15, v40
	v_fmac_f32_e32 v5, v18, v40
	v_fmac_f32_e32 v4, v22, v40
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v8, v13, v39
	v_fmac_f32_e32 v6, v14, v39
	v_fmac_f32_e32 v5, v16, v39
	v_fmac_f32_e32 v4, v20, v39
	s_cbranch_scc0 .LBB0_2
.LBB0_3:
	s_mov_b32 s2, 32
	ds_write_b32 v3, v8
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_branch .LBB0_5
.LBB0_4:                                ;   in Loop: Header=BB0_5 Depth=1
	s_or_b64 exec, exec, s[0:1]
	s_lshr_b32 s0, s2, 1
	s_cmp_lt_u32 s2, 2
	s_mov_b32 s2, s0
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cbranch_scc1 .LBB0_7
.LBB0_5:                                ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e32 vcc, s2, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_4
; %bb.6:                                ;   in Loop: Header=BB0_5 Depth=1
	v_lshl_add_u32 v1, s2, 2, v3
	ds_read_b32 v1, v1
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v1, v1, v2
	ds_write_b32 v3, v1
	s_branch .LBB0_4
.LBB0_7:
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_9
; %bb.8:
	v_mov_b32_e32 v1, 0
	ds_read_b32 v2, v1
	s_ashr_i32 s7, s6, 31
	s_lshl_b64 s[2:3], s[6:7], 2
	s_add_u32 s2, s8, s2
	s_addc_u32 s3, s9, s3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[2:3]
.LBB0_9:
	s_or_b64 exec, exec, s[0:1]
	s_mov_b32 s4, 32
	s_waitcnt lgkmcnt(0)
	; wave barrier
	ds_write_b32 v3, v6
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_branch .LBB0_11
.LBB0_10:                               ;   in Loop: Header=BB0_11 Depth=1
	s_or_b64 exec, exec, s[2:3]
	s_lshr_b32 s0, s4, 1
	s_cmp_gt_u32 s4, 1
	s_mov_b32 s4, s0
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cbranch_scc0 .LBB0_13
.LBB0_11:                               ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e64 s[0:1], s4, v0
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_10
; %bb.12:                               ;   in Loop: Header=BB0_11 Depth=1
	v_lshl_add_u32 v1, s4, 2, v3
	ds_read_b32 v1, v1
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v1, v1, v2
	ds_write_b32 v3, v1
	s_branch .LBB0_10
.LBB0_13:
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_15
; %bb.14:
	v_mov_b32_e32 v1, 0
	ds_read_b32 v2, v1
	s_ashr_i32 s7, s6, 31
	s_lshl_b64 s[2:3], s[6:7], 2
	s_add_u32 s2, s8, s2
	s_addc_u32 s3, s9, s3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[2:3] offset:4
.LBB0_15:
	s_or_b64 exec, exec, s[0:1]
	s_mov_b32 s4, 32
	s_waitcnt lgkmcnt(0)
	; wave barrier
	ds_write_b32 v3, v5
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_branch .LBB0_17
.LBB0_16:                               ;   in Loop: Header=BB0_17 Depth=1
	s_or_b64 exec, exec, s[2:3]
	s_lshr_b32 s0, s4, 1
	s_cmp_gt_u32 s4, 1
	s_mov_b32 s4, s0
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cbranch_scc0 .LBB0_19
.LBB0_17:                               ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e64 s[0:1], s4, v0
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_16
; %bb.18:                               ;   in Loop: Header=BB0_17 Depth=1
	v_lshl_add_u32 v1, s4, 2, v3
	ds_read_b32 v1, v1
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v1, v1, v2
	ds_write_b32 v3, v1
	s_branch .LBB0_16
.LBB0_19:
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_21
; %bb.20:
	v_mov_b32_e32 v1, 0
	ds_read_b32 v2, v1
	s_ashr_i32 s7, s6, 31
	s_lshl_b64 s[2:3], s[6:7], 2
	s_add_u32 s2, s8, s2
	s_addc_u32 s3, s9, s3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[2:3] offset:8
.LBB0_21:
	s_or_b64 exec, exec, s[0:1]
	s_mov_b32 s4, 32
	s_waitcnt lgkmcnt(0)
	; wave barrier
	ds_write_b32 v3, v4
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_branch .LBB0_23
.LBB0_22:                               ;   in Loop: Header=BB0_23 Depth=1
	s_or_b64 exec, exec, s[2:3]
	s_lshr_b32 s0, s4, 1
	s_cmp_gt_u32 s4, 1
	s_mov_b32 s4, s0
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_waitcnt lgkmcnt(0)
	s_cbranch_scc0 .LBB0_25
.LBB0_23:                               ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e64 s[0:1], s4, v0
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_22
; %bb.24:                               ;   in Loop: Header=BB0_23 Depth=1
	v_lshl_add_u32 v1, s4, 2, v3
	ds_read_b32 v1, v1
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v1, v1, v2
	ds_write_b32 v3, v1
	s_branch .LBB0_22
.LBB0_25:
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_27
; %bb.26:
	v_mov_b32_e32 v0, 0
	ds_read_b32 v1, v0
	s_ashr_i32 s7, s6, 31
	s_lshl_b64 s[2:3], s[6:7], 2
	s_add_u32 s2, s8, s2
	s_addc_u32 s3, s9, s3
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[2:3] offset:12
.LBB0_27:
	s_or_b64 exec, exec, s[0:1]
	s_waitcnt lgkmcnt(0)
	; wave barrier
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel matvec
		.amdhsa_group_segment_fixed_size 256
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
		.amdhsa_next_free_vgpr 53
		.amdhsa_next_free_sgpr 10
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
	.size	matvec, .Lfunc_end0-matvec
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1444
; NumSgprs: 14
; NumVgprs: 53
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 256 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 13
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 53
; Occupancy: 4
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
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 256
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 64
    .name:           matvec
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         matvec.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     53
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
