// What the kernels of this folder ask of the machine, without a library: who a thread is, and a barrier.
#define X (int)__builtin_amdgcn_workitem_id_x()
#define Y (int)__builtin_amdgcn_workitem_id_y()
#define GROUP_X (int)__builtin_amdgcn_workgroup_id_x()
#define GROUP_Y (int)__builtin_amdgcn_workgroup_id_y()
#define KERNEL(x, y) __attribute__((reqd_work_group_size(x, y, 1), amdgpu_waves_per_eu(4))) __kernel void

static inline void barrier_of_group(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
