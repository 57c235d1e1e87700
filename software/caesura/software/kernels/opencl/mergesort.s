	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.protected	mergesort               ; -- Begin function mergesort
	.globl	mergesort
	.p2align	8
	.type	mergesort,@function
mergesort:                              ; @mergesort
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x8
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s0, 1
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	s_load_dwordx2 s[2:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v0, 3, v0
	v_lshl_or_b32 v32, s6, 9, v0
	s_lshl_b32 s1, s1, 3
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v35, s3
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_ashrrev_i32_e32 v33, 31, v32
	v_lshlrev_b64 v[0:1], 4, v[32:33]
	s_add_i32 s0, s0, -1
	v_add_co_u32_e32 v33, vcc, s2, v0
	v_addc_co_u32_e32 v34, vcc, v35, v1, vcc
	global_load_dwordx4 v[0:3], v[33:34], off offset:48
	global_load_dwordx4 v[4:7], v[33:34], off offset:32
	global_load_dwordx4 v[8:11], v[33:34], off offset:16
	global_load_dwordx4 v[12:15], v[33:34], off
	global_load_dwordx4 v[16:19], v[33:34], off offset:112
	global_load_dwordx4 v[20:23], v[33:34], off offset:96
	global_load_dwordx4 v[24:27], v[33:34], off offset:80
	global_load_dwordx4 v[28:31], v[33:34], off offset:64
	v_add_u32_e32 v32, s1, v32
	s_cmp_eq_u32 s0, 0
	s_waitcnt vmcnt(4)
	v_min_i32_e32 v36, v12, v13
	v_max_i32_e32 v12, v12, v13
	v_min_i32_e32 v13, v14, v15
	v_max_i32_e32 v14, v14, v15
	v_min_i32_e32 v15, v8, v9
	v_max_i32_e32 v8, v8, v9
	v_min_i32_e32 v9, v10, v11
	v_max_i32_e32 v10, v10, v11
	v_min_i32_e32 v11, v4, v5
	v_max_i32_e32 v4, v4, v5
	v_min_i32_e32 v5, v6, v7
	v_max_i32_e32 v6, v6, v7
	v_min_i32_e32 v7, v0, v1
	v_max_i32_e32 v0, v0, v1
	v_min_i32_e32 v1, v2, v3
	v_max_i32_e32 v2, v2, v3
	s_waitcnt vmcnt(0)
	v_min_i32_e32 v3, v28, v29
	v_max_i32_e32 v28, v28, v29
	v_min_i32_e32 v29, v30, v31
	v_max_i32_e32 v30, v30, v31
	v_min_i32_e32 v31, v24, v25
	v_max_i32_e32 v24, v24, v25
	v_min_i32_e32 v25, v26, v27
	v_max_i32_e32 v26, v26, v27
	v_min_i32_e32 v27, v20, v21
	v_max_i32_e32 v20, v20, v21
	v_min_i32_e32 v21, v22, v23
	v_max_i32_e32 v22, v22, v23
	v_min_i32_e32 v23, v16, v17
	v_max_i32_e32 v16, v16, v17
	v_min_i32_e32 v17, v18, v19
	v_max_i32_e32 v18, v18, v19
	v_min_i32_e32 v19, v36, v14
	v_max_i32_e32 v14, v36, v14
	v_min_i32_e32 v36, v12, v13
	v_max_i32_e32 v12, v12, v13
	v_min_i32_e32 v13, v15, v10
	v_max_i32_e32 v10, v15, v10
	v_min_i32_e32 v15, v8, v9
	v_max_i32_e32 v8, v8, v9
	v_min_i32_e32 v9, v11, v6
	v_max_i32_e32 v6, v11, v6
	v_min_i32_e32 v11, v4, v5
	v_max_i32_e32 v4, v4, v5
	v_min_i32_e32 v5, v7, v2
	v_max_i32_e32 v2, v7, v2
	v_min_i32_e32 v7, v0, v1
	v_max_i32_e32 v0, v0, v1
	v_min_i32_e32 v1, v3, v30
	v_max_i32_e32 v3, v3, v30
	v_min_i32_e32 v30, v28, v29
	v_max_i32_e32 v28, v28, v29
	v_min_i32_e32 v29, v31, v26
	v_max_i32_e32 v26, v31, v26
	v_min_i32_e32 v31, v24, v25
	v_max_i32_e32 v24, v24, v25
	v_min_i32_e32 v25, v27, v22
	v_max_i32_e32 v22, v27, v22
	v_min_i32_e32 v27, v20, v21
	v_max_i32_e32 v20, v20, v21
	v_min_i32_e32 v21, v23, v18
	v_max_i32_e32 v18, v23, v18
	v_min_i32_e32 v23, v16, v17
	v_max_i32_e32 v16, v16, v17
	v_min_i32_e32 v17, v19, v36
	v_max_i32_e32 v19, v19, v36
	v_min_i32_e32 v36, v12, v14
	v_max_i32_e32 v12, v12, v14
	v_min_i32_e32 v14, v13, v15
	v_max_i32_e32 v13, v13, v15
	v_min_i32_e32 v15, v8, v10
	v_max_i32_e32 v8, v8, v10
	v_min_i32_e32 v10, v9, v11
	v_max_i32_e32 v9, v9, v11
	v_min_i32_e32 v11, v4, v6
	v_max_i32_e32 v4, v4, v6
	v_min_i32_e32 v6, v5, v7
	v_max_i32_e32 v5, v5, v7
	v_min_i32_e32 v7, v0, v2
	v_max_i32_e32 v0, v0, v2
	v_min_i32_e32 v2, v1, v30
	v_max_i32_e32 v1, v1, v30
	v_min_i32_e32 v30, v28, v3
	v_max_i32_e32 v3, v28, v3
	v_min_i32_e32 v28, v29, v31
	v_max_i32_e32 v29, v29, v31
	v_min_i32_e32 v31, v24, v26
	v_max_i32_e32 v24, v24, v26
	v_min_i32_e32 v26, v25, v27
	v_max_i32_e32 v25, v25, v27
	v_min_i32_e32 v27, v20, v22
	v_max_i32_e32 v20, v20, v22
	v_min_i32_e32 v22, v21, v23
	v_max_i32_e32 v21, v21, v23
	v_min_i32_e32 v23, v16, v18
	v_max_i32_e32 v16, v16, v18
	v_min_i32_e32 v18, v17, v8
	v_max_i32_e32 v8, v17, v8
	v_min_i32_e32 v17, v19, v15
	v_max_i32_e32 v15, v19, v15
	v_min_i32_e32 v19, v36, v13
	v_max_i32_e32 v13, v36, v13
	v_min_i32_e32 v36, v12, v14
	v_max_i32_e32 v12, v12, v14
	v_min_i32_e32 v14, v10, v0
	v_max_i32_e32 v0, v10, v0
	v_min_i32_e32 v10, v9, v7
	v_max_i32_e32 v7, v9, v7
	v_min_i32_e32 v9, v11, v5
	v_max_i32_e32 v5, v11, v5
	v_min_i32_e32 v11, v4, v6
	v_max_i32_e32 v4, v4, v6
	v_min_i32_e32 v6, v2, v24
	v_max_i32_e32 v2, v2, v24
	v_min_i32_e32 v24, v1, v31
	v_max_i32_e32 v1, v1, v31
	v_min_i32_e32 v31, v30, v29
	v_max_i32_e32 v29, v30, v29
	v_min_i32_e32 v30, v3, v28
	v_max_i32_e32 v3, v3, v28
	v_min_i32_e32 v28, v26, v16
	v_max_i32_e32 v16, v26, v16
	v_min_i32_e32 v26, v25, v23
	v_max_i32_e32 v23, v25, v23
	v_min_i32_e32 v25, v27, v21
	v_max_i32_e32 v21, v27, v21
	v_min_i32_e32 v27, v20, v22
	v_max_i32_e32 v20, v20, v22
	v_min_i32_e32 v22, v18, v19
	v_max_i32_e32 v18, v18, v19
	v_min_i32_e32 v19, v17, v36
	v_max_i32_e32 v17, v17, v36
	v_min_i32_e32 v36, v12, v15
	v_max_i32_e32 v12, v12, v15
	v_min_i32_e32 v15, v13, v8
	v_max_i32_e32 v8, v13, v8
	v_min_i32_e32 v13, v14, v9
	v_max_i32_e32 v9, v14, v9
	v_min_i32_e32 v14, v10, v11
	v_max_i32_e32 v10, v10, v11
	v_min_i32_e32 v11, v4, v7
	v_max_i32_e32 v4, v4, v7
	v_min_i32_e32 v7, v5, v0
	v_max_i32_e32 v0, v5, v0
	v_min_i32_e32 v5, v6, v31
	v_max_i32_e32 v6, v6, v31
	v_min_i32_e32 v31, v24, v30
	v_max_i32_e32 v24, v24, v30
	v_min_i32_e32 v30, v3, v1
	v_max_i32_e32 v1, v3, v1
	v_min_i32_e32 v3, v29, v2
	v_max_i32_e32 v2, v29, v2
	v_min_i32_e32 v29, v28, v25
	v_max_i32_e32 v25, v28, v25
	v_min_i32_e32 v28, v26, v27
	v_max_i32_e32 v26, v26, v27
	v_min_i32_e32 v27, v20, v23
	v_max_i32_e32 v20, v20, v23
	v_min_i32_e32 v23, v21, v16
	v_max_i32_e32 v16, v21, v16
	v_min_i32_e32 v21, v22, v19
	v_max_i32_e32 v19, v22, v19
	v_min_i32_e32 v22, v18, v17
	v_max_i32_e32 v17, v18, v17
	v_min_i32_e32 v18, v36, v15
	v_max_i32_e32 v15, v36, v15
	v_min_i32_e32 v36, v12, v8
	v_max_i32_e32 v8, v12, v8
	v_min_i32_e32 v12, v13, v14
	v_max_i32_e32 v13, v13, v14
	v_min_i32_e32 v14, v9, v10
	v_max_i32_e32 v9, v9, v10
	v_min_i32_e32 v10, v11, v7
	v_max_i32_e32 v7, v11, v7
	v_min_i32_e32 v11, v4, v0
	v_max_i32_e32 v0, v4, v0
	v_min_i32_e32 v4, v5, v31
	v_max_i32_e32 v5, v5, v31
	v_min_i32_e32 v31, v6, v24
	v_max_i32_e32 v6, v6, v24
	v_min_i32_e32 v24, v30, v3
	v_max_i32_e32 v3, v30, v3
	v_min_i32_e32 v30, v1, v2
	v_max_i32_e32 v1, v1, v2
	v_min_i32_e32 v2, v29, v28
	v_max_i32_e32 v28, v29, v28
	v_min_i32_e32 v29, v25, v26
	v_max_i32_e32 v25, v25, v26
	v_min_i32_e32 v26, v27, v23
	v_max_i32_e32 v23, v27, v23
	v_min_i32_e32 v27, v20, v16
	v_max_i32_e32 v16, v20, v16
	v_min_i32_e32 v20, v21, v0
	v_max_i32_e32 v0, v21, v0
	v_min_i32_e32 v21, v19, v11
	v_max_i32_e32 v11, v19, v11
	v_min_i32_e32 v19, v22, v7
	v_max_i32_e32 v7, v22, v7
	v_min_i32_e32 v22, v17, v10
	v_max_i32_e32 v10, v17, v10
	v_min_i32_e32 v17, v18, v9
	v_max_i32_e32 v9, v18, v9
	v_min_i32_e32 v18, v15, v14
	v_max_i32_e32 v14, v15, v14
	v_min_i32_e32 v15, v36, v13
	v_max_i32_e32 v13, v36, v13
	v_min_i32_e32 v36, v8, v12
	v_max_i32_e32 v8, v8, v12
	v_min_i32_e32 v12, v4, v16
	v_max_i32_e32 v4, v4, v16
	v_min_i32_e32 v16, v5, v27
	v_max_i32_e32 v5, v5, v27
	v_min_i32_e32 v27, v31, v23
	v_max_i32_e32 v23, v31, v23
	v_min_i32_e32 v31, v6, v26
	v_max_i32_e32 v6, v6, v26
	v_min_i32_e32 v26, v24, v25
	v_max_i32_e32 v24, v24, v25
	v_min_i32_e32 v25, v3, v29
	v_max_i32_e32 v3, v3, v29
	v_min_i32_e32 v29, v30, v28
	v_max_i32_e32 v28, v30, v28
	v_min_i32_e32 v30, v1, v2
	v_max_i32_e32 v1, v1, v2
	v_min_i32_e32 v2, v20, v17
	v_max_i32_e32 v17, v20, v17
	v_min_i32_e32 v20, v21, v18
	v_max_i32_e32 v18, v21, v18
	v_min_i32_e32 v21, v19, v15
	v_max_i32_e32 v15, v19, v15
	v_min_i32_e32 v19, v22, v36
	v_max_i32_e32 v22, v22, v36
	v_min_i32_e32 v36, v8, v10
	v_max_i32_e32 v8, v8, v10
	v_min_i32_e32 v10, v13, v7
	v_max_i32_e32 v7, v13, v7
	v_min_i32_e32 v13, v14, v11
	v_max_i32_e32 v11, v14, v11
	v_min_i32_e32 v14, v9, v0
	v_max_i32_e32 v0, v9, v0
	v_min_i32_e32 v9, v12, v26
	v_max_i32_e32 v12, v12, v26
	v_min_i32_e32 v26, v16, v25
	v_max_i32_e32 v16, v16, v25
	v_min_i32_e32 v25, v27, v29
	v_max_i32_e32 v27, v27, v29
	v_min_i32_e32 v29, v31, v30
	v_max_i32_e32 v30, v31, v30
	v_min_i32_e32 v31, v1, v6
	v_max_i32_e32 v1, v1, v6
	v_min_i32_e32 v6, v28, v23
	v_max_i32_e32 v23, v28, v23
	v_min_i32_e32 v28, v3, v5
	v_max_i32_e32 v3, v3, v5
	v_min_i32_e32 v5, v24, v4
	v_max_i32_e32 v4, v24, v4
	v_min_i32_e32 v24, v2, v21
	v_max_i32_e32 v2, v2, v21
	v_min_i32_e32 v21, v20, v19
	v_max_i32_e32 v19, v20, v19
	v_min_i32_e32 v20, v17, v15
	v_max_i32_e32 v15, v17, v15
	v_min_i32_e32 v17, v18, v22
	v_max_i32_e32 v18, v18, v22
	v_min_i32_e32 v22, v36, v13
	v_max_i32_e32 v13, v36, v13
	v_min_i32_e32 v36, v10, v14
	v_max_i32_e32 v10, v10, v14
	v_min_i32_e32 v14, v8, v11
	v_max_i32_e32 v8, v8, v11
	v_min_i32_e32 v11, v7, v0
	v_max_i32_e32 v0, v7, v0
	v_min_i32_e32 v7, v9, v25
	v_max_i32_e32 v9, v9, v25
	v_min_i32_e32 v25, v26, v29
	v_max_i32_e32 v26, v26, v29
	v_min_i32_e32 v29, v12, v27
	v_max_i32_e32 v12, v12, v27
	v_min_i32_e32 v27, v16, v30
	v_max_i32_e32 v16, v16, v30
	v_min_i32_e32 v30, v31, v28
	v_max_i32_e32 v28, v31, v28
	v_min_i32_e32 v31, v6, v5
	v_max_i32_e32 v5, v6, v5
	v_min_i32_e32 v6, v1, v3
	v_max_i32_e32 v1, v1, v3
	v_min_i32_e32 v3, v23, v4
	v_max_i32_e32 v4, v23, v4
	v_min_i32_e32 v23, v24, v21
	v_max_i32_e32 v21, v24, v21
	v_min_i32_e32 v24, v2, v19
	v_max_i32_e32 v2, v2, v19
	v_min_i32_e32 v19, v20, v17
	v_max_i32_e32 v17, v20, v17
	v_min_i32_e32 v20, v15, v18
	v_max_i32_e32 v15, v15, v18
	v_min_i32_e32 v18, v22, v36
	v_max_i32_e32 v22, v22, v36
	v_min_i32_e32 v36, v13, v10
	v_max_i32_e32 v10, v13, v10
	v_min_i32_e32 v13, v14, v11
	v_max_i32_e32 v11, v14, v11
	v_min_i32_e32 v14, v8, v0
	v_max_i32_e32 v8, v8, v0
	v_min_i32_e32 v37, v7, v25
	v_max_i32_e32 v7, v7, v25
	v_min_i32_e32 v25, v9, v26
	v_max_i32_e32 v9, v9, v26
	v_min_i32_e32 v26, v29, v27
	v_max_i32_e32 v27, v29, v27
	v_min_i32_e32 v29, v12, v16
	v_max_i32_e32 v12, v12, v16
	v_min_i32_e32 v16, v30, v31
	v_max_i32_e32 v30, v30, v31
	v_min_i32_e32 v31, v28, v5
	v_max_i32_e32 v5, v28, v5
	v_min_i32_e32 v28, v6, v3
	v_max_i32_e32 v3, v6, v3
	v_min_i32_e32 v6, v1, v4
	v_max_i32_e32 v0, v1, v4
	v_min_i32_e32 v1, v23, v0
	v_max_i32_e32 v0, v23, v0
	v_min_i32_e32 v4, v21, v6
	v_max_i32_e32 v6, v21, v6
	v_min_i32_e32 v21, v24, v3
	v_max_i32_e32 v3, v24, v3
	v_min_i32_e32 v23, v2, v28
	v_max_i32_e32 v2, v2, v28
	v_min_i32_e32 v24, v19, v5
	v_max_i32_e32 v5, v19, v5
	v_min_i32_e32 v19, v17, v31
	v_max_i32_e32 v17, v17, v31
	v_min_i32_e32 v28, v20, v30
	v_max_i32_e32 v20, v20, v30
	v_min_i32_e32 v30, v15, v16
	v_max_i32_e32 v15, v15, v16
	v_min_i32_e32 v16, v18, v12
	v_max_i32_e32 v12, v18, v12
	v_min_i32_e32 v18, v22, v29
	v_max_i32_e32 v22, v22, v29
	v_min_i32_e32 v29, v36, v27
	v_min_i32_e32 v31, v10, v26
	v_max_i32_e32 v10, v10, v26
	v_min_i32_e32 v26, v13, v9
	v_max_i32_e32 v9, v13, v9
	v_min_i32_e32 v13, v11, v25
	v_max_i32_e32 v11, v11, v25
	v_min_i32_e32 v25, v14, v7
	v_max_i32_e32 v7, v14, v7
	v_min_i32_e32 v14, v8, v37
	v_max_i32_e32 v27, v36, v27
	v_max_i32_e32 v8, v8, v37
	v_min_i32_e32 v36, v1, v16
	v_max_i32_e32 v1, v1, v16
	v_min_i32_e32 v16, v4, v18
	v_max_i32_e32 v4, v4, v18
	v_min_i32_e32 v18, v21, v29
	v_max_i32_e32 v21, v21, v29
	v_min_i32_e32 v29, v23, v31
	v_max_i32_e32 v23, v23, v31
	v_min_i32_e32 v31, v24, v26
	v_max_i32_e32 v24, v24, v26
	v_min_i32_e32 v26, v19, v13
	v_max_i32_e32 v13, v19, v13
	v_min_i32_e32 v19, v28, v25
	v_max_i32_e32 v25, v28, v25
	v_min_i32_e32 v28, v30, v14
	v_max_i32_e32 v14, v30, v14
	v_min_i32_e32 v30, v8, v15
	v_max_i32_e32 v8, v8, v15
	v_min_i32_e32 v15, v7, v20
	v_max_i32_e32 v7, v7, v20
	v_min_i32_e32 v20, v11, v17
	v_max_i32_e32 v11, v11, v17
	v_min_i32_e32 v17, v9, v5
	v_max_i32_e32 v5, v9, v5
	v_min_i32_e32 v9, v10, v2
	v_max_i32_e32 v2, v10, v2
	v_min_i32_e32 v10, v27, v3
	v_max_i32_e32 v3, v27, v3
	v_min_i32_e32 v27, v22, v6
	v_max_i32_e32 v6, v22, v6
	v_min_i32_e32 v22, v12, v0
	v_max_i32_e32 v0, v12, v0
	v_min_i32_e32 v12, v36, v31
	v_max_i32_e32 v31, v36, v31
	v_min_i32_e32 v36, v16, v26
	v_max_i32_e32 v16, v16, v26
	v_min_i32_e32 v26, v18, v19
	v_max_i32_e32 v18, v18, v19
	v_min_i32_e32 v19, v29, v28
	v_max_i32_e32 v28, v29, v28
	v_min_i32_e32 v29, v1, v24
	v_max_i32_e32 v1, v1, v24
	v_min_i32_e32 v24, v4, v13
	v_max_i32_e32 v4, v4, v13
	v_min_i32_e32 v13, v21, v25
	v_max_i32_e32 v21, v21, v25
	v_min_i32_e32 v25, v23, v14
	v_max_i32_e32 v14, v23, v14
	v_min_i32_e32 v23, v30, v9
	v_max_i32_e32 v9, v30, v9
	v_min_i32_e32 v30, v15, v10
	v_max_i32_e32 v10, v15, v10
	v_min_i32_e32 v15, v20, v27
	v_max_i32_e32 v20, v20, v27
	v_min_i32_e32 v27, v17, v22
	v_max_i32_e32 v17, v17, v22
	v_min_i32_e32 v22, v8, v2
	v_max_i32_e32 v2, v8, v2
	v_min_i32_e32 v8, v7, v3
	v_max_i32_e32 v3, v7, v3
	v_min_i32_e32 v7, v11, v6
	v_max_i32_e32 v6, v11, v6
	v_min_i32_e32 v11, v5, v0
	v_max_i32_e32 v5, v5, v0
	v_min_i32_e32 v37, v12, v26
	v_max_i32_e32 v0, v12, v26
	v_min_i32_e32 v12, v36, v19
	v_max_i32_e32 v19, v36, v19
	v_min_i32_e32 v26, v31, v18
	v_max_i32_e32 v18, v31, v18
	v_min_i32_e32 v36, v16, v28
	v_max_i32_e32 v16, v16, v28
	v_min_i32_e32 v38, v29, v13
	v_max_i32_e32 v13, v29, v13
	v_min_i32_e32 v39, v24, v25
	v_max_i32_e32 v40, v24, v25
	v_min_i32_e32 v41, v1, v21
	v_max_i32_e32 v1, v1, v21
	v_min_i32_e32 v42, v4, v14
	v_max_i32_e32 v4, v4, v14
	v_min_i32_e32 v14, v23, v15
	v_max_i32_e32 v15, v23, v15
	v_min_i32_e32 v43, v30, v27
	v_max_i32_e32 v44, v30, v27
	v_min_i32_e32 v45, v9, v20
	v_max_i32_e32 v46, v9, v20
	v_min_i32_e32 v9, v10, v17
	v_max_i32_e32 v47, v10, v17
	v_min_i32_e32 v48, v22, v7
	v_max_i32_e32 v7, v22, v7
	v_min_i32_e32 v49, v8, v11
	v_max_i32_e32 v50, v8, v11
	v_min_i32_e32 v51, v2, v6
	v_max_i32_e32 v52, v2, v6
	v_min_i32_e32 v2, v3, v5
	v_max_i32_e32 v3, v3, v5
	v_min_i32_e32 v28, v37, v12
	v_max_i32_e32 v29, v37, v12
	v_min_i32_e32 v30, v0, v19
	v_max_i32_e32 v31, v0, v19
	v_min_i32_e32 v24, v26, v36
	v_max_i32_e32 v25, v26, v36
	v_min_i32_e32 v26, v18, v16
	v_max_i32_e32 v27, v18, v16
	v_min_i32_e32 v20, v38, v39
	v_max_i32_e32 v21, v38, v39
	v_min_i32_e32 v22, v13, v40
	v_max_i32_e32 v23, v13, v40
	v_min_i32_e32 v16, v41, v42
	v_max_i32_e32 v17, v41, v42
	v_min_i32_e32 v18, v1, v4
	v_max_i32_e32 v19, v1, v4
	v_min_i32_e32 v12, v14, v43
	v_max_i32_e32 v13, v14, v43
	v_min_i32_e32 v14, v15, v44
	v_max_i32_e32 v15, v15, v44
	v_min_i32_e32 v8, v45, v9
	v_max_i32_e32 v9, v45, v9
	v_min_i32_e32 v10, v46, v47
	v_max_i32_e32 v11, v46, v47
	v_min_i32_e32 v4, v48, v49
	v_max_i32_e32 v5, v48, v49
	v_min_i32_e32 v6, v7, v50
	v_max_i32_e32 v7, v7, v50
	v_min_i32_e32 v0, v51, v2
	v_max_i32_e32 v1, v51, v2
	v_min_i32_e32 v2, v52, v3
	v_max_i32_e32 v3, v52, v3
	global_store_dwordx4 v[33:34], v[28:31], off
	global_store_dwordx4 v[33:34], v[24:27], off offset:16
	global_store_dwordx4 v[33:34], v[20:23], off offset:32
	global_store_dwordx4 v[33:34], v[16:19], off offset:48
	global_store_dwordx4 v[33:34], v[12:15], off offset:64
	global_store_dwordx4 v[33:34], v[8:11], off offset:80
	global_store_dwordx4 v[33:34], v[4:7], off offset:96
	global_store_dwordx4 v[33:34], v[0:3], off offset:112
	s_cbranch_scc0 .LBB0_2
.LBB0_3:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel mergesort
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
		.amdhsa_next_free_vgpr 53
		.amdhsa_next_free_sgpr 7
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
; codeLenInByte = 2148
; NumSgprs: 11
; NumVgprs: 53
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 13
; NumSGPRsForWavesPerEU: 11
; NumVGPRsForWavesPerEU: 53
; Occupancy: 4
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
        .offset:         0
        .size:           8
        .type_name:      'int4*'
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .type_name:      int
        .value_kind:     by_value
      - .offset:         12
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
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
    .sgpr_count:     11
    .sgpr_spill_count: 0
    .symbol:         mergesort.kd
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
