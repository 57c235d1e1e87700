// Rectified linear units: what is negative becomes zero. Four elements a thread and step, four steps a turn of the loop.
#include "work_items.h"

KERNEL(256, 1) relu(__global const float4 *in, __global float4 *out, int turns, int step)
{
    int i = GROUP_X * 256 + X;
#pragma unroll 4
    for (int turn = 0; turn < turns; turn++, i += step) {
        float4 v = in[i];
        out[i] = (float4)(__builtin_fmaxf(v.x, 0.0f), __builtin_fmaxf(v.y, 0.0f), __builtin_fmaxf(v.z, 0.0f),
                          __builtin_fmaxf(v.w, 0.0f));
    }
}
