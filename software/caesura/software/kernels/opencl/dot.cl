// Dot product: each thread adds up `turns` products, `step` apart, eight a turn of the loop; then a tree in shared
// memory, and one partial sum a work-group.
#include "work_items.h"

KERNEL(256, 1) dot(__global const float *x, __global const float *y, __global float *partial, int turns, int step)
{
    __local float sums[1024];
    int t = X, i = GROUP_X * 256 + t;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 2
    for (int turn = 0; turn < turns; turn += 4) {
#pragma unroll
        for (int k = 0; k < 4; k++, i += step)
            sum[k] += x[i] * y[i];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        sums[t + 256 * k] = sum[k];
    barrier_of_group();
#pragma unroll
    for (int reach = 512; reach > 0; reach /= 2) {
        for (int k = t; k < reach; k += 256)
            sums[k] += sums[k + reach];
        barrier_of_group();
    }
    if (t == 0)
        partial[GROUP_X] = sums[0];
}
