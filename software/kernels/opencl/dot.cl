// Dot product: each thread adds up `turns` products, `step` apart, four a turn of the loop; then a tree in shared
// memory, and one partial sum a work-group.
#include "work_items.h"
#define UNROLL 4

KERNEL(256, 1) dot(__global const float *restrict x, __global const float *restrict y, __global float *restrict partial,
                   int turns, int step)
{
    __local float sums[256 * UNROLL];
    int t = X, i = GROUP_X * 256 + t;
    float sum[UNROLL] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL, i += UNROLL * step) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            sum[k] += x[i + k * step] * y[i + k * step];
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        sums[t + 256 * k] = sum[k];
    barrier_of_group();
#pragma unroll 1
    for (int reach = 128 * UNROLL; reach > 0; reach /= 2) {
        for (int k = t; k < reach; k += 256)
            sums[k] += sums[k + reach];
        barrier_of_group();
    }
    if (t == 0)
        partial[GROUP_X] = sums[0];
}
