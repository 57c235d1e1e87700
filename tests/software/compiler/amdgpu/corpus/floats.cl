// Floating point of 16, 32 and 64 bits: arithmetic, division, conversions, mixed precision.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define X (int)__builtin_amdgcn_workitem_id_x()

__kernel void single(__global float *a, float s)
{
    float x = a[X], y = a[X + 64];
    a[X] = x / y + __builtin_sqrtf(x) * __builtin_floorf(y);
    a[X + 64] = __builtin_fminf(x, __builtin_fmaxf(y, s)) + (int)x + (uint)y;
    a[X + 128] = __builtin_amdgcn_fmed3f(x, y, s) - __builtin_fabsf(x) * s + __builtin_amdgcn_exp2f(-x);
    a[X + 192] = __builtin_amdgcn_sinf(x) + __builtin_ldexpf(y, (int)s) + (x != x ? y : s);
}

__kernel void twice(__global double *a, double s, __global float *f)
{
    double x = a[X], y = a[X + 64];
    a[X] = x / y + __builtin_fma(x, y, s);
    a[X + 64] = __builtin_fmin(x, y) + (double)(int)y + f[X];
    f[X] = (float)(x * s) + (int)x;
}

__kernel void half_width(__global half *a, __global float *f, half s)
{
    half x = a[X], y = a[X + 64], z = a[X + 128];
    a[X] = x * y + z;
    a[X + 64] = x / s + (half)f[X];
    f[X] = (float)x * (float)y + f[X + 64];
    a[X + 192] = x > y ? __builtin_fmaf16(x, y, s) : s;
}

typedef half halves __attribute__((ext_vector_type(2)));

__kernel void half_pairs(__global halves *a, __global half *b, __global float *f)
{
    halves x = a[X], y = a[X + 64];
    a[X] = x * y + x;
    halves z = {b[X], b[X + 64]};
    a[X + 64] = z + x.yx;
    halves w = {(half)(f[X] * (float)b[X] + f[X + 1]), (half)(f[X + 2] * (float)b[X + 3] + (float)b[X + 4])};
    a[X + 128] = w;
}

__kernel void bytes(__global uchar *a, __global float *f)
{
    uint4 v = {a[X], a[X + 1], a[X + 2], a[X + 3]};
    f[X] = (float)v.x + (float)v.y * (float)v.z - (float)v.w;
    a[X] = (uchar)(f[X + 64] * 255.0f);
    f[X + 64] = __builtin_amdgcn_cvt_pk_u8_f32(f[X], 2, v.x);
}
