// Vector addition in f32: each thread adds `turns` elements, `step` apart, four a turn of the loop.
#include "work_items.h"
#define UNROLL 4

KERNEL(256, 1) vectoradd(__global const float *restrict a, __global const float *restrict b, __global float *restrict c,
                         int turns, int step)
{
    int i = GROUP_X * 256 + X;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL, i += UNROLL * step) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            c[i + k * step] = a[i + k * step] + b[i + k * step];
    }
}
