// Vector addition in f32; each thread adds `turns` elements, `step` apart, four a turn of the loop.
#include "work_items.h"

KERNEL(256, 1) vectoradd(__global const float *a, __global const float *b, __global float *c, int turns, int step)
{
    int i = GROUP_X * 256 + X;
#pragma unroll 4
    for (int turn = 0; turn < turns; turn++, i += step)
        c[i] = a[i] + b[i];
}
