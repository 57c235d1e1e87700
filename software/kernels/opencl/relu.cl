// Rectified linear units: what is negative becomes zero. Each thread takes `turns` elements, `step` apart, eight a turn
// of the loop.
#include "work_items.h"
#define UNROLL 8

KERNEL(256, 1) relu(__global const float *restrict in, __global float *restrict out, int turns, int step)
{
    int i = GROUP_X * 256 + X;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL, i += UNROLL * step) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            out[i + k * step] = __builtin_fmaxf(in[i + k * step], 0.0f);
    }
}
