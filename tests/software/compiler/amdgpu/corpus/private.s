	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	in_scratch              ; -- Begin function in_scratch
	.globl	in_scratch
	.p2align	8
	.type	in_scratch,@function
in_scratch:                             ; @in_scratch
; %bb.0:
	s_load_dwordx4 s[24:27], s[4:5], 0x0
	s_load_dword s28, s[4:5], 0x10
	s_add_u32 s0, s0, s9
	s_addc_u32 s1, s1, 0
	s_waitcnt lgkmcnt(0)
	s_load_dwordx16 s[8:23], s[26:27], 0x0
	s_cmp_lt_i32 s28, 1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, s8, v0
	v_add_u32_e32 v2, s9, v0
	v_add_u32_e32 v3, s10, v0
	v_add_u32_e32 v4, s11, v0
	buffer_store_dword v1, off, s[0:3], 0
	buffer_store_dword v2, off, s[0:3], 0 offset:4
	buffer_store_dword v3, off, s[0:3], 0 offset:8
	buffer_store_dword v4, off, s[0:3], 0 offset:12
	v_add_u32_e32 v1, s12, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:16
	v_add_u32_e32 v1, s13, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:20
	v_add_u32_e32 v1, s14, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:24
	v_add_u32_e32 v1, s15, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:28
	v_add_u32_e32 v1, s16, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:32
	v_add_u32_e32 v1, s17, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:36
	v_add_u32_e32 v1, s18, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:40
	v_add_u32_e32 v1, s19, v0
	s_load_dwordx16 s[4:19], s[26:27], 0x40
	buffer_store_dword v1, off, s[0:3], 0 offset:44
	v_add_u32_e32 v1, s20, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:48
	v_add_u32_e32 v1, s21, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:52
	v_add_u32_e32 v1, s22, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:56
	v_add_u32_e32 v1, s23, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:60
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, s4, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:64
	v_add_u32_e32 v1, s5, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:68
	v_add_u32_e32 v1, s6, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:72
	v_add_u32_e32 v1, s7, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:76
	v_add_u32_e32 v1, s8, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:80
	v_add_u32_e32 v1, s9, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:84
	v_add_u32_e32 v1, s10, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:88
	v_add_u32_e32 v1, s11, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:92
	v_add_u32_e32 v1, s12, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:96
	v_add_u32_e32 v1, s13, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:100
	v_add_u32_e32 v1, s14, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:104
	v_add_u32_e32 v1, s15, v0
	s_load_dwordx16 s[36:51], s[26:27], 0x80
	buffer_store_dword v1, off, s[0:3], 0 offset:108
	v_add_u32_e32 v1, s16, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:112
	v_add_u32_e32 v1, s17, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:116
	v_add_u32_e32 v1, s18, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:120
	v_add_u32_e32 v1, s19, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:124
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, s36, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:128
	v_add_u32_e32 v1, s37, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:132
	v_add_u32_e32 v1, s38, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:136
	v_add_u32_e32 v1, s39, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:140
	v_add_u32_e32 v1, s40, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:144
	v_add_u32_e32 v1, s41, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:148
	v_add_u32_e32 v1, s42, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:152
	v_add_u32_e32 v1, s43, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:156
	v_add_u32_e32 v1, s44, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:160
	v_add_u32_e32 v1, s45, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:164
	v_add_u32_e32 v1, s46, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:168
	v_add_u32_e32 v1, s47, v0
	s_load_dwordx16 s[4:19], s[26:27], 0xc0
	buffer_store_dword v1, off, s[0:3], 0 offset:172
	v_add_u32_e32 v1, s48, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:176
	v_add_u32_e32 v1, s49, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:180
	v_add_u32_e32 v1, s50, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:184
	v_add_u32_e32 v1, s51, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:188
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, s4, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:192
	v_add_u32_e32 v1, s5, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:196
	v_add_u32_e32 v1, s6, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:200
	v_add_u32_e32 v1, s7, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:204
	v_add_u32_e32 v1, s8, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:208
	v_add_u32_e32 v1, s9, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:212
	v_add_u32_e32 v1, s10, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:216
	v_add_u32_e32 v1, s11, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:220
	v_add_u32_e32 v1, s12, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:224
	v_add_u32_e32 v1, s13, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:228
	v_add_u32_e32 v1, s14, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:232
	v_add_u32_e32 v1, s15, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:236
	v_add_u32_e32 v1, s16, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:240
	v_add_u32_e32 v1, s17, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:244
	v_add_u32_e32 v1, s18, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:248
	v_add_u32_e32 v1, s19, v0
	buffer_store_dword v1, off, s[0:3], 0 offset:252
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_load_dword s6, s[26:27], 0x0
	s_add_u32 s4, s26, 4
	s_addc_u32 s5, s27, 0
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v2, s6
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	global_load_dword v3, v1, s[4:5]
	v_and_b32_e32 v2, 63, v2
	v_lshlrev_b32_e32 v2, 2, v2
	v_add_u32_e32 v4, 0, v2
	s_add_u32 s4, s4, 4
	s_addc_u32 s5, s5, 0
	s_add_i32 s28, s28, -1
	s_cmp_eq_u32 s28, 0
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v2, 63, v3
	v_lshlrev_b32_e32 v2, 2, v2
	v_add_u32_e32 v2, 0, v2
	buffer_load_dword v5, v2, s[0:3], 0 offen
	buffer_load_dword v6, v4, s[0:3], 0 offen
	v_mov_b32_e32 v2, v3
	s_waitcnt vmcnt(0)
	v_xor_b32_e32 v3, v6, v5
	buffer_store_dword v3, v4, s[0:3], 0 offen
	s_cbranch_scc0 .LBB0_2
.LBB0_3:
	v_lshlrev_b32_e32 v0, 2, v0
	global_load_dword v1, v0, s[24:25]
	v_mov_b32_e32 v2, 0
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v1, 63, v1
	v_lshl_add_u32 v1, v1, 2, v2
	buffer_load_dword v1, v1, s[0:3], 0 offen
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[24:25]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel in_scratch
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 260
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_count 8
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 1
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 7
		.amdhsa_next_free_sgpr 52
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
.Lfunc_end0:
	.size	in_scratch, .Lfunc_end0-in_scratch
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1028
; NumSgprs: 56
; NumVgprs: 7
; ScratchSize: 260
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 6
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 56
; NumVGPRsForWavesPerEU: 7
; Occupancy: 10
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 1
; COMPUTE_PGM_RSRC2:USER_SGPR: 8
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	in_registers            ; -- Begin function in_registers
	.globl	in_registers
	.p2align	8
	.type	in_registers,@function
in_registers:                           ; @in_registers
; %bb.0:
	s_load_dwordx2 s[6:7], s[4:5], 0x0
	s_load_dword s8, s[4:5], 0x8
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[6:7]
	global_load_dword v2, v0, s[6:7] offset:256
	global_load_dword v3, v0, s[6:7] offset:512
	global_load_dword v4, v0, s[6:7] offset:768
	s_and_b32 s4, s8, 3
	s_cmp_eq_u32 s4, 1
	s_cselect_b64 vcc, -1, 0
	s_cmp_eq_u32 s4, 2
	s_cselect_b64 s[0:1], -1, 0
	s_cmp_eq_u32 s4, 3
	s_cselect_b64 s[2:3], -1, 0
	s_cmp_eq_u32 s4, 0
	s_cselect_b64 s[4:5], -1, 0
	s_lshl_b32 s9, s8, 1
	s_waitcnt vmcnt(2)
	v_cndmask_b32_e32 v5, v1, v2, vcc
	s_waitcnt vmcnt(1)
	v_cndmask_b32_e64 v5, v5, v3, s[0:1]
	s_waitcnt vmcnt(0)
	v_cndmask_b32_e64 v5, v5, v4, s[2:3]
	v_add_u32_e32 v5, 7, v5
	v_cndmask_b32_e64 v3, v3, v5, s[0:1]
	s_and_b32 s0, s9, 2
	s_cmp_eq_u32 s0, 1
	v_cndmask_b32_e32 v2, v2, v5, vcc
	v_cndmask_b32_e64 v1, v1, v5, s[4:5]
	s_cselect_b64 vcc, -1, 0
	s_bitcmp1_b32 s8, 0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	s_cselect_b64 vcc, -1, 0
	s_cmp_eq_u32 s0, 3
	v_cndmask_b32_e64 v4, v4, v5, s[2:3]
	v_cndmask_b32_e32 v2, v2, v3, vcc
	s_cselect_b64 vcc, -1, 0
	v_cndmask_b32_e32 v2, v2, v4, vcc
	v_add_u32_e32 v1, v2, v1
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel in_registers
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 12
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
		.amdhsa_next_free_vgpr 6
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
.Lfunc_end1:
	.size	in_registers, .Lfunc_end1-in_registers
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 216
; NumSgprs: 14
; NumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 6
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
	.protected	spills_vectors          ; -- Begin function spills_vectors
	.globl	spills_vectors
	.p2align	8
	.type	spills_vectors,@function
spills_vectors:                         ; @spills_vectors
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v2, 2, v0
	s_movk_i32 s4, 0x2000
	v_or_b32_e32 v3, 0x2000, v2
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s1
	v_add_co_u32_e32 v0, vcc, s0, v2
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	v_add_co_u32_e32 v4, vcc, s4, v0
	v_addc_co_u32_e32 v5, vcc, 0, v1, vcc
	global_load_dword v10, v[4:5], off offset:512
	global_load_dword v8, v[4:5], off offset:768
	global_load_dword v7, v[4:5], off offset:1024
	global_load_dword v6, v[4:5], off offset:1280
	global_load_dword v11, v[4:5], off offset:1536
	global_load_dword v12, v[4:5], off offset:1792
	global_load_dword v9, v3, s[0:1]
	global_load_dword v13, v2, s[0:1] offset:1792
	global_load_dword v14, v2, s[0:1]
	global_load_dword v15, v2, s[0:1] offset:256
	global_load_dword v16, v2, s[0:1] offset:512
	global_load_dword v17, v2, s[0:1] offset:768
	global_load_dword v18, v2, s[0:1] offset:1024
	global_load_dword v19, v[4:5], off offset:256
	s_movk_i32 s4, 0x1000
	v_add_co_u32_e32 v0, vcc, s4, v0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	global_load_dword v20, v2, s[0:1] offset:1280
	global_load_dword v21, v2, s[0:1] offset:1536
	global_load_dword v22, v[0:1], off offset:2304
	global_load_dword v23, v[0:1], off offset:2560
	global_load_dword v24, v[0:1], off offset:2816
	global_load_dword v25, v[0:1], off offset:3072
	global_load_dword v26, v[0:1], off offset:3328
	global_load_dword v27, v[0:1], off offset:3584
	global_load_dword v28, v[0:1], off offset:3840
	s_waitcnt vmcnt(15)
	v_mul_lo_u32 v9, v9, v13
	s_waitcnt vmcnt(12)
	v_mul_lo_u32 v6, v6, v16
	v_mul_lo_u32 v5, v11, v15
	v_mul_lo_u32 v4, v12, v14
	s_waitcnt vmcnt(11)
	v_mul_lo_u32 v7, v7, v17
	global_load_dword v12, v2, s[0:1] offset:2048
	s_waitcnt vmcnt(11)
	v_mul_lo_u32 v8, v8, v18
	global_load_dword v13, v2, s[0:1] offset:2304
	global_load_dword v14, v2, s[0:1] offset:2560
	global_load_dword v15, v2, s[0:1] offset:2816
	global_load_dword v16, v2, s[0:1] offset:3072
	global_load_dword v17, v2, s[0:1] offset:3328
	global_load_dword v18, v2, s[0:1] offset:3584
	s_waitcnt vmcnt(15)
	v_mul_lo_u32 v10, v10, v20
	global_load_dword v20, v[0:1], off offset:2048
	s_waitcnt vmcnt(15)
	v_mul_lo_u32 v11, v19, v21
	global_load_dword v19, v2, s[0:1] offset:3840
	v_or_b32_e32 v21, 0x1000, v2
	s_waitcnt vmcnt(7)
	v_mul_lo_u32 v13, v27, v13
	s_waitcnt vmcnt(6)
	v_mul_lo_u32 v14, v26, v14
	s_waitcnt vmcnt(5)
	v_mul_lo_u32 v15, v25, v15
	s_waitcnt vmcnt(4)
	v_mul_lo_u32 v16, v24, v16
	s_waitcnt vmcnt(3)
	v_mul_lo_u32 v17, v23, v17
	s_waitcnt vmcnt(2)
	v_mul_lo_u32 v18, v22, v18
	global_load_dword v22, v[0:1], off offset:512
	global_load_dword v23, v[0:1], off offset:768
	global_load_dword v24, v[0:1], off offset:1024
	global_load_dword v25, v[0:1], off offset:1280
	global_load_dword v26, v[0:1], off offset:1536
	global_load_dword v27, v[0:1], off offset:1792
	s_nop 0
	global_load_dword v0, v[0:1], off offset:256
	s_nop 0
	global_load_dword v1, v21, s[0:1]
	v_mul_lo_u32 v12, v28, v12
	s_waitcnt vmcnt(0)
	s_barrier
	v_mul_lo_u32 v19, v20, v19
	v_mul_lo_u32 v23, v24, v23
	v_mul_lo_u32 v22, v25, v22
	v_mul_lo_u32 v26, v26, v0
	v_mul_lo_u32 v20, v27, v1
	global_store_dword v21, v20, s[2:3]
	global_store_dword v2, v9, s[2:3] offset:1792
	global_store_dword v2, v4, s[2:3]
	global_store_dword v2, v5, s[2:3] offset:256
	global_store_dword v2, v6, s[2:3] offset:512
	global_store_dword v2, v7, s[2:3] offset:768
	global_store_dword v2, v8, s[2:3] offset:1024
	global_store_dword v2, v10, s[2:3] offset:1280
	global_store_dword v2, v11, s[2:3] offset:1536
	global_store_dword v2, v12, s[2:3] offset:2048
	global_store_dword v2, v13, s[2:3] offset:2304
	global_store_dword v2, v14, s[2:3] offset:2560
	global_store_dword v2, v15, s[2:3] offset:2816
	global_store_dword v2, v16, s[2:3] offset:3072
	global_store_dword v2, v17, s[2:3] offset:3328
	global_store_dword v2, v18, s[2:3] offset:3584
	global_store_dword v2, v19, s[2:3] offset:3840
	v_mov_b32_e32 v0, s3
	v_add_co_u32_e32 v2, vcc, s2, v2
	v_addc_co_u32_e32 v21, vcc, 0, v0, vcc
	v_add_co_u32_e32 v0, vcc, s4, v2
	v_addc_co_u32_e32 v1, vcc, 0, v21, vcc
	global_store_dword v[0:1], v23, off offset:768
	global_store_dword v[0:1], v23, off offset:1024
	global_store_dword v[0:1], v22, off offset:512
	global_store_dword v[0:1], v22, off offset:1280
	global_store_dword v[0:1], v26, off offset:256
	global_store_dword v[0:1], v26, off offset:1536
	global_store_dword v[0:1], v20, off offset:1792
	global_store_dword v[0:1], v19, off offset:2048
	global_store_dword v[0:1], v18, off offset:2304
	global_store_dword v[0:1], v17, off offset:2560
	global_store_dword v[0:1], v16, off offset:2816
	global_store_dword v[0:1], v15, off offset:3072
	global_store_dword v[0:1], v14, off offset:3328
	global_store_dword v[0:1], v13, off offset:3584
	global_store_dword v[0:1], v12, off offset:3840
	global_store_dword v3, v9, s[2:3]
	v_add_co_u32_e32 v0, vcc, 0x2000, v2
	v_addc_co_u32_e32 v1, vcc, 0, v21, vcc
	global_store_dword v[0:1], v11, off offset:256
	global_store_dword v[0:1], v10, off offset:512
	global_store_dword v[0:1], v8, off offset:768
	global_store_dword v[0:1], v7, off offset:1024
	global_store_dword v[0:1], v6, off offset:1280
	global_store_dword v[0:1], v5, off offset:1536
	global_store_dword v[0:1], v4, off offset:1792
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel spills_vectors
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
		.amdhsa_next_free_vgpr 29
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
	.size	spills_vectors, .Lfunc_end2-spills_vectors
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 968
; NumSgprs: 10
; NumVgprs: 29
; ScratchSize: 0
; MemoryBound: 1
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 7
; NumSGPRsForWavesPerEU: 10
; NumVGPRsForWavesPerEU: 29
; Occupancy: 8
; WaveLimiterHint : 1
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	spills_scalars          ; -- Begin function spills_scalars
	.globl	spills_scalars
	.p2align	8
	.type	spills_scalars,@function
spills_scalars:                         ; @spills_scalars
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
                                        ; implicit-def: $vgpr2 : SGPR spill to VGPR lane
	s_waitcnt lgkmcnt(0)
	global_load_dword v3, v0, s[0:1]
	v_mov_b32_e32 v1, s1
	v_add_co_u32_e32 v0, vcc, s0, v0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	s_waitcnt vmcnt(0)
	v_cmp_lt_i32_e32 vcc, 3, v3
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB3_2
; %bb.1:
	s_load_dwordx2 s[34:35], s[4:5], 0x8
	v_writelane_b32 v2, s2, 0
	v_writelane_b32 v2, s3, 1
	s_waitcnt lgkmcnt(0)
	s_load_dwordx16 s[0:15], s[34:35], 0x140
	s_load_dwordx16 s[16:31], s[34:35], 0x80
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s15, s15, s31
	v_writelane_b32 v2, s15, 2
	s_mul_i32 s14, s14, s30
	v_writelane_b32 v2, s14, 3
	s_mul_i32 s13, s13, s29
	v_writelane_b32 v2, s13, 4
	s_mul_i32 s12, s12, s28
	v_writelane_b32 v2, s12, 5
	s_mul_i32 s11, s11, s27
	v_writelane_b32 v2, s11, 6
	s_mul_i32 s10, s10, s26
	v_writelane_b32 v2, s10, 7
	s_mul_i32 s9, s9, s25
	v_writelane_b32 v2, s9, 8
	s_mul_i32 s8, s8, s24
	v_writelane_b32 v2, s8, 9
	s_mul_i32 s7, s7, s23
	v_writelane_b32 v2, s7, 10
	s_mul_i32 s6, s6, s22
	v_writelane_b32 v2, s6, 11
	s_mul_i32 s5, s5, s21
	v_writelane_b32 v2, s5, 12
	s_mul_i32 s4, s4, s20
	v_writelane_b32 v2, s4, 13
	s_mul_i32 s3, s3, s19
	v_writelane_b32 v2, s3, 14
	s_mul_i32 s2, s2, s18
	v_writelane_b32 v2, s2, 15
	s_mul_i32 s1, s1, s17
	v_writelane_b32 v2, s1, 16
	s_mul_i32 s0, s0, s16
	v_writelane_b32 v2, s0, 17
	s_load_dwordx16 s[0:15], s[34:35], 0x100
	s_load_dwordx16 s[16:31], s[34:35], 0x40
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s15, s15, s31
	v_writelane_b32 v2, s15, 18
	s_mul_i32 s14, s14, s30
	v_writelane_b32 v2, s14, 19
	s_mul_i32 s13, s13, s29
	v_writelane_b32 v2, s13, 20
	s_mul_i32 s12, s12, s28
	v_writelane_b32 v2, s12, 21
	s_mul_i32 s11, s11, s27
	v_writelane_b32 v2, s11, 22
	s_mul_i32 s10, s10, s26
	v_writelane_b32 v2, s10, 23
	s_mul_i32 s9, s9, s25
	v_writelane_b32 v2, s9, 24
	s_mul_i32 s4, s4, s20
	v_writelane_b32 v2, s4, 25
	s_mul_i32 s3, s3, s19
	s_mul_i32 s33, s8, s24
	s_mul_i32 s39, s7, s23
	s_mul_i32 vcc_lo, s6, s22
	s_mul_i32 vcc_hi, s5, s21
	v_writelane_b32 v2, s3, 26
	s_mul_i32 s36, s2, s18
	s_mul_i32 s37, s1, s17
	s_mul_i32 s38, s0, s16
	s_load_dwordx16 s[0:15], s[34:35], 0xc0
	s_load_dwordx16 s[16:31], s[34:35], 0x0
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s6, s6, s22
	v_writelane_b32 v2, s6, 27
	s_mul_i32 s5, s5, s21
	v_writelane_b32 v2, s5, 28
	s_mul_i32 s4, s4, s20
	v_writelane_b32 v2, s4, 29
	s_mul_i32 s3, s3, s19
	v_writelane_b32 v2, s3, 30
	s_mul_i32 s2, s2, s18
	s_mul_i32 s0, s0, s16
	v_writelane_b32 v2, s2, 31
	s_mul_i32 s1, s1, s17
	v_mul_lo_u32 v3, s0, v3
	v_writelane_b32 v2, s1, 32
	v_writelane_b32 v2, s0, 33
	v_readlane_b32 s16, v2, 2
	v_add_u32_e32 v3, s16, v3
	v_mul_lo_u32 v3, s1, v3
	v_readlane_b32 s17, v2, 3
	v_readlane_b32 s18, v2, 4
	v_readlane_b32 s19, v2, 5
	v_add_u32_e32 v3, s17, v3
	v_mul_lo_u32 v3, s2, v3
	v_readlane_b32 s20, v2, 6
	v_readlane_b32 s21, v2, 7
	v_readlane_b32 s22, v2, 8
	v_add_u32_e32 v3, s18, v3
	v_mul_lo_u32 v3, s3, v3
	s_mul_i32 s7, s7, s23
	v_readlane_b32 s23, v2, 9
	s_mul_i32 s8, s8, s24
	v_add_u32_e32 v3, s19, v3
	v_mul_lo_u32 v3, s4, v3
	v_readlane_b32 s24, v2, 10
	s_mul_i32 s9, s9, s25
	v_readlane_b32 s25, v2, 11
	v_add_u32_e32 v3, s20, v3
	v_mul_lo_u32 v3, s5, v3
	s_mul_i32 s10, s10, s26
	v_readlane_b32 s26, v2, 12
	s_mul_i32 s11, s11, s27
	v_add_u32_e32 v3, s21, v3
	v_mul_lo_u32 v3, s6, v3
	v_readlane_b32 s27, v2, 13
	s_mul_i32 s12, s12, s28
	v_readlane_b32 s28, v2, 14
	v_add_u32_e32 v3, s22, v3
	v_mul_lo_u32 v3, s7, v3
	s_mul_i32 s13, s13, s29
	v_readlane_b32 s29, v2, 15
	s_mul_i32 s14, s14, s30
	v_add_u32_e32 v3, s23, v3
	v_mul_lo_u32 v3, s8, v3
	v_readlane_b32 s30, v2, 16
	s_mul_i32 s15, s15, s31
	v_readlane_b32 s31, v2, 17
	v_add_u32_e32 v3, s24, v3
	v_mul_lo_u32 v3, s9, v3
	s_mov_b32 s6, s38
	v_readlane_b32 s34, v2, 18
	v_readlane_b32 s35, v2, 19
	v_add_u32_e32 v3, s25, v3
	v_mul_lo_u32 v3, s10, v3
	s_mov_b32 s5, s36
	v_readlane_b32 s4, v2, 20
	v_readlane_b32 s3, v2, 26
	v_add_u32_e32 v3, s26, v3
	v_mul_lo_u32 v3, s11, v3
	v_readlane_b32 s2, v2, 21
	v_readlane_b32 s1, v2, 25
	v_readlane_b32 s38, v2, 22
	v_add_u32_e32 v3, s27, v3
	v_mul_lo_u32 v3, s12, v3
	v_readlane_b32 s36, v2, 23
	v_readlane_b32 s0, v2, 24
	v_add_u32_e32 v3, s28, v3
	v_mul_lo_u32 v3, s13, v3
	v_add_u32_e32 v3, s29, v3
	v_mul_lo_u32 v3, s14, v3
	v_add_u32_e32 v3, s30, v3
	v_mul_lo_u32 v3, s15, v3
	v_add_u32_e32 v3, s31, v3
	v_mul_lo_u32 v3, s6, v3
	v_add_u32_e32 v3, s34, v3
	v_mul_lo_u32 v3, s37, v3
	v_add_u32_e32 v3, s35, v3
	v_mul_lo_u32 v3, s5, v3
	v_add_u32_e32 v3, s4, v3
	v_mul_lo_u32 v3, s3, v3
	v_add_u32_e32 v3, s2, v3
	v_mul_lo_u32 v3, s1, v3
	v_add_u32_e32 v3, s38, v3
	v_mul_lo_u32 v3, vcc_hi, v3
	v_add_u32_e32 v3, s36, v3
	v_mul_lo_u32 v3, vcc_lo, v3
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s39, v3
	v_add_u32_e32 v3, s33, v3
	v_mul_lo_u32 v3, s33, v3
	v_add_u32_e32 v3, s39, v3
	v_mul_lo_u32 v3, s0, v3
	v_readlane_b32 s0, v2, 27
	v_add_u32_e32 v3, vcc_lo, v3
	v_mul_lo_u32 v3, s36, v3
	v_add_u32_e32 v3, vcc_hi, v3
	v_mul_lo_u32 v3, s38, v3
	v_add_u32_e32 v3, s1, v3
	v_mul_lo_u32 v3, s2, v3
	v_add_u32_e32 v3, s3, v3
	v_mul_lo_u32 v3, s4, v3
	v_readlane_b32 s2, v2, 0
	v_readlane_b32 s3, v2, 1
	v_add_u32_e32 v3, s5, v3
	v_mul_lo_u32 v3, s35, v3
	v_add_u32_e32 v3, s37, v3
	v_mul_lo_u32 v3, s34, v3
	v_add_u32_e32 v3, s6, v3
	v_mul_lo_u32 v3, s31, v3
	v_add_u32_e32 v3, s15, v3
	v_mul_lo_u32 v3, s30, v3
	v_add_u32_e32 v3, s14, v3
	v_mul_lo_u32 v3, s29, v3
	v_add_u32_e32 v3, s13, v3
	v_mul_lo_u32 v3, s28, v3
	v_add_u32_e32 v3, s12, v3
	v_mul_lo_u32 v3, s27, v3
	v_add_u32_e32 v3, s11, v3
	v_mul_lo_u32 v3, s26, v3
	v_add_u32_e32 v3, s10, v3
	v_mul_lo_u32 v3, s25, v3
	v_add_u32_e32 v3, s9, v3
	v_mul_lo_u32 v3, s24, v3
	v_add_u32_e32 v3, s8, v3
	v_mul_lo_u32 v3, s23, v3
	v_add_u32_e32 v3, s7, v3
	v_mul_lo_u32 v3, s22, v3
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s21, v3
	v_readlane_b32 s0, v2, 28
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s20, v3
	v_readlane_b32 s0, v2, 29
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s19, v3
	v_readlane_b32 s0, v2, 30
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s18, v3
	v_readlane_b32 s0, v2, 31
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s17, v3
	v_readlane_b32 s0, v2, 32
	v_add_u32_e32 v3, s0, v3
	v_mul_lo_u32 v3, s16, v3
	v_readlane_b32 s0, v2, 33
	v_add_u32_e32 v3, s0, v3
.LBB3_2:
	s_or_b64 exec, exec, s[2:3]
	global_store_dword v[0:1], v3, off
                                        ; kill: killed $vgpr2
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel spills_scalars
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
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 40
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
.Lfunc_end3:
	.size	spills_scalars, .Lfunc_end3-spills_scalars
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1460
; NumSgprs: 44
; NumVgprs: 4
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 5
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 44
; NumVGPRsForWavesPerEU: 4
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
	.protected	generic_pointers        ; -- Begin function generic_pointers
	.globl	generic_pointers
	.p2align	8
	.type	generic_pointers,@function
generic_pointers:                       ; @generic_pointers
; %bb.0:
	s_add_u32 flat_scratch_lo, s6, s9
	s_addc_u32 flat_scratch_hi, s7, 0
	s_load_dwordx2 s[6:7], s[4:5], 0x0
	s_load_dword s8, s[4:5], 0x8
	v_lshlrev_b32_e32 v0, 2, v0
	s_add_u32 s0, s0, s9
	s_addc_u32 s1, s1, 0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[6:7]
	s_load_dwordx8 s[12:19], s[6:7], 0x0
	v_mov_b32_e32 v3, s7
                                        ; implicit-def: $vgpr4_vgpr5
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v2, s12
	buffer_store_dword v2, off, s[0:3], 0
	v_mov_b32_e32 v2, s13
	buffer_store_dword v2, off, s[0:3], 0 offset:4
	v_mov_b32_e32 v2, s14
	buffer_store_dword v2, off, s[0:3], 0 offset:8
	v_mov_b32_e32 v2, s15
	buffer_store_dword v2, off, s[0:3], 0 offset:12
	v_mov_b32_e32 v2, s16
	buffer_store_dword v2, off, s[0:3], 0 offset:16
	v_mov_b32_e32 v2, s17
	buffer_store_dword v2, off, s[0:3], 0 offset:20
	v_mov_b32_e32 v2, s18
	buffer_store_dword v2, off, s[0:3], 0 offset:24
	v_mov_b32_e32 v2, s19
	buffer_store_dword v2, off, s[0:3], 0 offset:28
	v_mov_b32_e32 v2, s8
	ds_write_b32 v0, v2
	v_add_co_u32_e32 v2, vcc, s6, v0
	v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
	s_waitcnt vmcnt(8)
	v_cmp_gt_i32_e32 vcc, 4, v1
	s_and_saveexec_b64 s[4:5], vcc
	s_xor_b64 s[4:5], exec, s[4:5]
	s_cbranch_execz .LBB4_6
; %bb.1:
	v_cmp_gt_i32_e32 vcc, 2, v1
                                        ; implicit-def: $vgpr4_vgpr5
	s_and_saveexec_b64 s[6:7], vcc
	s_xor_b64 s[6:7], exec, s[6:7]
; %bb.2:
	v_mov_b32_e32 v5, v3
	v_mov_b32_e32 v4, v2
; %bb.3:
	s_andn2_saveexec_b64 s[6:7], s[6:7]
; %bb.4:
	s_mov_b64 s[10:11], src_shared_base
	v_mov_b32_e32 v1, s11
	v_mov_b32_e32 v5, v1
	v_mov_b32_e32 v4, v0
; %bb.5:
	s_or_b64 exec, exec, s[6:7]
.LBB4_6:
	s_andn2_saveexec_b64 s[4:5], s[4:5]
; %bb.7:
	s_and_b32 s6, s8, 7
	s_lshl_b32 s6, s6, 2
	v_mov_b32_e32 v1, 0
	v_add_u32_e32 v4, s6, v1
	s_mov_b64 s[6:7], src_private_base
	v_mov_b32_e32 v5, s7
; %bb.8:
	s_or_b64 exec, exec, s[4:5]
	flat_load_dword v1, v[4:5]
	s_and_b32 s4, s8, 7
	v_mov_b32_e32 v6, 0
	s_lshl_b32 s4, s4, 2
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_add_u32_e32 v1, 5, v1
	flat_store_dword v[4:5], v1
	v_add_u32_e32 v1, s4, v6
	buffer_load_dword v1, v1, s[0:3], 0 offen
	ds_read_b32 v0, v0
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_add_u32_e32 v0, v0, v1
	global_store_dword v[2:3], v0, off offset:256
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel generic_pointers
		.amdhsa_group_segment_fixed_size 256
		.amdhsa_private_segment_fixed_size 36
		.amdhsa_kernarg_size 12
		.amdhsa_user_sgpr_count 8
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 1
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 7
		.amdhsa_next_free_sgpr 20
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_flat_scratch 1
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
.Lfunc_end4:
	.size	generic_pointers, .Lfunc_end4-generic_pointers
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 352
; NumSgprs: 26
; NumVgprs: 7
; ScratchSize: 36
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 256 bytes/workgroup (compile time only)
; SGPRBlocks: 3
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 26
; NumVGPRsForWavesPerEU: 7
; Occupancy: 10
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 1
; COMPUTE_PGM_RSRC2:USER_SGPR: 8
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	traps                   ; -- Begin function traps
	.globl	traps
	.p2align	8
	.type	traps,@function
traps:                                  ; @traps
; %bb.0:
	s_load_dwordx2 s[2:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[2:3]
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 7, v1
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execnz .LBB5_3
; %bb.1:
	s_andn2_saveexec_b64 s[0:1], s[0:1]
	s_cbranch_execnz .LBB5_4
.LBB5_2:
	s_endpgm
.LBB5_3:
	v_mov_b32_e32 v1, s3
	v_add_co_u32_e32 v0, vcc, s2, v0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	v_mov_b32_e32 v2, 1
	global_store_dword v[0:1], v2, off
	s_andn2_saveexec_b64 s[0:1], s[0:1]
	s_cbranch_execz .LBB5_2
.LBB5_4:
	s_trap 2
	; divergent unreachable
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel traps
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 8
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
		.amdhsa_next_free_vgpr 3
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
.Lfunc_end5:
	.size	traps, .Lfunc_end5-traps
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 96
; NumSgprs: 10
; NumVgprs: 3
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 10
; NumVGPRsForWavesPerEU: 3
; Occupancy: 10
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	found_at_run_time       ; -- Begin function found_at_run_time
	.globl	found_at_run_time
	.p2align	8
	.type	found_at_run_time,@function
found_at_run_time:                      ; @found_at_run_time
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_load_dwordx2 s[6:7], s[4:5], 0x10
	v_lshlrev_b32_e32 v17, 6, v0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx4 v[13:16], v17, s[0:1] offset:48
	global_load_dwordx4 v[9:12], v17, s[0:1] offset:32
	global_load_dwordx4 v[5:8], v17, s[0:1] offset:16
	global_load_dwordx4 v[1:4], v17, s[0:1]
	global_load_dword v18, v0, s[2:3]
	s_and_b32 s4, s6, 15
	s_and_b32 s5, s7, 15
	s_waitcnt vmcnt(0)
	s_set_gpr_idx_on s4, gpr_idx(DST)
	v_mov_b32_e32 v1, v18
	s_set_gpr_idx_off
	s_set_gpr_idx_on s5, gpr_idx(SRC0)
	v_mov_b32_e32 v18, v1
	s_set_gpr_idx_off
	v_add_u32_e32 v18, v18, v2
	global_store_dword v0, v18, s[2:3]
	global_store_dwordx4 v17, v[13:16], s[0:1] offset:48
	global_store_dwordx4 v17, v[9:12], s[0:1] offset:32
	global_store_dwordx4 v17, v[5:8], s[0:1] offset:16
	global_store_dwordx4 v17, v[1:4], s[0:1]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel found_at_run_time
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
		.amdhsa_next_free_vgpr 19
		.amdhsa_next_free_sgpr 8
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
.Lfunc_end6:
	.size	found_at_run_time, .Lfunc_end6-found_at_run_time
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 152
; NumSgprs: 12
; NumVgprs: 19
; ScratchSize: 0
; MemoryBound: 1
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 4
; NumSGPRsForWavesPerEU: 12
; NumVGPRsForWavesPerEU: 19
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
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 20
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           in_scratch
    .private_segment_fixed_size: 260
    .sgpr_count:     56
    .sgpr_spill_count: 0
    .symbol:         in_scratch.kd
    .uses_dynamic_stack: false
    .vgpr_count:     7
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 12
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           in_registers
    .private_segment_fixed_size: 0
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         in_registers.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           spills_vectors
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .sgpr_spill_count: 0
    .symbol:         spills_vectors.kd
    .uses_dynamic_stack: false
    .vgpr_count:     29
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .actual_access:  read_only
        .address_space:  global
        .is_const:       true
        .is_restrict:    true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           spills_scalars
    .private_segment_fixed_size: 0
    .sgpr_count:     44
    .sgpr_spill_count: 34
    .symbol:         spills_scalars.kd
    .uses_dynamic_stack: false
    .vgpr_count:     4
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
    .group_segment_fixed_size: 256
    .kernarg_segment_align: 8
    .kernarg_segment_size: 12
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           generic_pointers
    .private_segment_fixed_size: 36
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         generic_pointers.kd
    .uses_dynamic_stack: false
    .vgpr_count:     7
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           traps
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .sgpr_spill_count: 0
    .symbol:         traps.kd
    .uses_dynamic_stack: false
    .vgpr_count:     3
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'ints*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'int*'
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
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           found_at_run_time
    .private_segment_fixed_size: 0
    .sgpr_count:     12
    .sgpr_spill_count: 0
    .symbol:         found_at_run_time.kd
    .uses_dynamic_stack: false
    .vgpr_count:     19
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
