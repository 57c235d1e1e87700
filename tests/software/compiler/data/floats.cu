// f32 as CUDA code has it: nvcc -ptx -arch=sm_75 -O3 floats.cu -o floats.ptx
#define I (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void rounding(const float *a, float *o, int n)
{
    int i = I;
    if (i >= n)
        return;
    float x = a[i];
    o[i] = rintf(x);
    o[n + i] = floorf(x);
    o[2 * n + i] = ceilf(x);
    o[3 * n + i] = truncf(x);
    o[4 * n + i] = roundf(x);
    o[5 * n + i] = copysignf(x, -0.0f);
    o[6 * n + i] = __saturatef(x);
    o[7 * n + i] = fabsf(x) - 1.0f;
}

extern "C" __global__ void conversions(const float *a, int *o, int n)
{
    int i = I;
    float x = a[i];
    o[i] = (int)x;
    o[n + i] = __float2int_rn(x);
    o[2 * n + i] = __float2int_rd(x);
    o[3 * n + i] = __float2int_ru(x);
    o[4 * n + i] = (int)(unsigned)x;
    o[5 * n + i] = (signed char)x;
    o[6 * n + i] = (unsigned short)__float2uint_rn(fabsf(x));
    o[7 * n + i] = __float_as_int(x) ^ 1;
}

extern "C" __global__ void integers(const int *a, float *o, int n)
{
    int i = I;
    int x = a[i];
    o[i] = x;
    o[n + i] = (unsigned)x;
    o[2 * n + i] = (short)x;
    o[3 * n + i] = (unsigned char)(x >> 4);
    o[4 * n + i] = __int2float_rz(x);
    o[5 * n + i] = __uint2float_ru(x);
    o[6 * n + i] = __int_as_float(x & 0x807fffff | 0x3f800000);
    o[7 * n + i] = x > 0 ? 0.5f : -1.25f;
}

extern "C" __global__ void arithmetic(const float4 *a, float4 *o, float s)
{
    float4 v = a[I], r;
    r.x = __fadd_rz(v.x, v.y) - __fmul_ru(v.z, s);
    r.y = __fmaf_rd(v.x, v.y, v.z) + __fsub_rn(v.w, v.x);
    r.z = fmaxf(fminf(v.x, v.y), v.z) * s;
    r.w = v.x * v.y + v.z * v.w;
    o[I] = r;
}

extern "C" __global__ void branches(const float *a, const float *b, int *o, int n)
{
    int i = I, r = 0;
    float x = a[i], y = b[i];
    while (x < 100.0f && r < 40) {
        if (!(x > y))
            x = x * 1.5f + 1.0f;
        else if (x != x + 1.0f)
            x += 3.0f;
        else
            break;
        r++;
    }
    if (x >= y && !(y == 2.0f))
        r |= 256;
    if (!(x <= y) || y != y)
        r |= 512;
    o[i] = r;
}
