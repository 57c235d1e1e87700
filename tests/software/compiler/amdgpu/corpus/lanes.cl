// Shared memory, atomic operations, and what one lane sees of others.
#define X (int)__builtin_amdgcn_workitem_id_x()

static inline void barrier_of_group(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__kernel void atomics(__global int *a, __global uint *b, __global long *c)
{
    __local int shared[64];
    __local long longs[64];
    shared[X] = a[X];
    longs[X] = c[X];
    barrier_of_group();
    a[X] = __atomic_fetch_add(&shared[a[X] & 63], 3, __ATOMIC_RELAXED);
    __atomic_fetch_max((__local uint *)&shared[b[X] & 63], 9u, __ATOMIC_RELAXED);
    c[X] = __atomic_fetch_xor(&longs[b[X] & 63], 5L, __ATOMIC_RELAXED);
    b[X] = __atomic_fetch_or(&b[a[X]], 4u, __ATOMIC_SEQ_CST);
    __atomic_fetch_min(&b[a[X] + 1], 4u, __ATOMIC_RELAXED);
    int expected = 5;
    __atomic_compare_exchange_n(&a[X + 64], &expected, 6, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    a[X + 128] = expected + __atomic_load_n(&a[X + 1], __ATOMIC_ACQUIRE);
    barrier_of_group();
    a[X + 192] = shared[63 - X] + (int)longs[X ^ 1];
}

__kernel void one_sum(__global int *total, __global const int *a)
{
    __atomic_fetch_add(total, a[X], __ATOMIC_RELAXED);
}

__kernel void across(__global int *a, __global float *f)
{
    int x = a[X];
    int first = __builtin_amdgcn_readfirstlane(x), fifth = __builtin_amdgcn_readlane(x, 5);
    int moved = __builtin_amdgcn_mov_dpp(x, 0x111, 0xf, 0xf, 0);
    int summed = x + __builtin_amdgcn_update_dpp(x, moved, 0x142, 0xa, 0xf, 0);
    int zeroed = __builtin_amdgcn_update_dpp(0, x, 0x130, 0xf, 0xf, 1);
    a[X] = first + fifth + summed + zeroed;
    a[X + 64] = __builtin_amdgcn_ds_swizzle(x, 0x401f) + __builtin_amdgcn_ds_bpermute(x << 2, x)
        + __builtin_amdgcn_ds_permute(x << 2, x);
    a[X + 128] = __builtin_popcountl(__builtin_amdgcn_uicmp((uint)x, (uint)moved, 34));
    f[X] = __builtin_amdgcn_wavefrontsize();
}

__kernel void clocks(__global long *a)
{
    long before = __builtin_amdgcn_s_memtime();
    a[X] = a[X] * 3;
    a[X + 64] = __builtin_amdgcn_s_memtime() - before + __builtin_amdgcn_s_memrealtime();
    __builtin_amdgcn_s_sleep(1);
}

__kernel void volatile_memory(__global volatile int *a, __local volatile int *b)
{
    int x = a[X] + a[X];
    b[X] = x;
    a[X] = b[X ^ 1] + b[X ^ 1];
}
