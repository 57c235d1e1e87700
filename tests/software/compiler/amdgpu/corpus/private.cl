// Arrays of a thread, in scratch and in registers; spilt registers; buffers; traps.
#define X (int)__builtin_amdgcn_workitem_id_x()

__kernel void in_scratch(__global int *a, __global const int *b, int n)
{
    int own[64];
    for (int i = 0; i < 64; i++)
        own[i] = b[i] + X;
    for (int i = 0; i < n; i++)
        own[b[i] & 63] ^= own[b[i + 1] & 63];
    a[X] = own[a[X] & 63];
}

__kernel void in_registers(__global int *a, int n)
{
    int own[4] = {a[X], a[X + 64], a[X + 128], a[X + 192]};
    int m = n & 3;
    own[m] += 7;
    a[X] = own[(m + n) & 3] + own[0];
}

__attribute__((amdgpu_num_vgpr(32))) __kernel void spills_vectors(__global int *a, __global int *b)
{
    int own[40];
#pragma unroll
    for (int i = 0; i < 40; i++)
        own[i] = a[64 * i + X];
    __builtin_amdgcn_s_barrier();
#pragma unroll
    for (int i = 0; i < 40; i++)
        b[64 * i + X] = own[i] * own[39 - i];
}

__attribute__((amdgpu_num_sgpr(48))) __kernel void spills_scalars(__global int *a, __global const int *restrict b)
{
    int own[48];
#pragma unroll
    for (int i = 0; i < 48; i++)
        own[i] = b[i] * b[i + 48];
    int x = a[X];
    if (x > 3) {
#pragma unroll
        for (int i = 0; i < 48; i++)
            x = x * own[i] + own[47 - i];
    }
    a[X] = x;
}

__kernel void generic_pointers(__global int *a, int n)
{
    int own[8];
    __local int shared[64];
    for (int i = 0; i < 8; i++)
        own[i] = a[i];
    shared[X] = n;
    int *p = a[X] > 3 ? (int *)&own[n & 7] : a[X] > 1 ? (int *)&shared[X] : (int *)&a[X];
    *p += 5;
    a[X + 64] = own[n & 7] + shared[X];
}

__kernel void traps(__global int *a)
{
    if (a[X] == 7)
        __builtin_trap();
    a[X] = 1;
}

typedef int ints __attribute__((ext_vector_type(16)));

__kernel void found_at_run_time(__global ints *a, __global int *b, int n, int m)
{
    ints v = a[X];
    v[n & 15] = b[X];
    b[X] = v[m & 15] + v.s1;
    a[X] = v;
}
