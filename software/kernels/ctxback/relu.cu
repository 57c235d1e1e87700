// Rectified linear units: what is negative becomes zero. Two times four elements a thread and turn; the elements after
// the last eight of all threads one by one.
#define UNROLL 2

__device__ __forceinline__ float4 rectified(float4 v)
{
    return make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}

extern "C" __global__ void relu(const float *in, float *out, int n)
{
    int step = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    int i = thread, fours = n / 4;
#pragma unroll 1
    for (; i < fours - (UNROLL - 1) * step; i += UNROLL * step) {
        float4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            v[k] = ((const float4 *)in)[i + k * step];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            ((float4 *)out)[i + k * step] = rectified(v[k]);
    }
#pragma unroll 1
    for (; i < fours; i += step)
        ((float4 *)out)[i] = rectified(((const float4 *)in)[i]);
    if (4 * fours + thread < n)
        out[4 * fours + thread] = fmaxf(in[4 * fours + thread], 0.0f);
}
