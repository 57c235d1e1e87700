// The bucket phase of a hybrid sort: each thread finds the buckets of `turns` keys, four a turn of the loop, by binary
// search among 1024 pivots, which lie in shared memory, and counts them there; a key's place in its bucket is kept.
#include "work_items.h"
#define BUCKETS 1024
#define UNROLL 4

KERNEL(64, 1) hybridsort(__global const float *restrict keys, __global const float *restrict pivots,
                         __global int *restrict places, __global int *restrict counts, int turns, int step)
{
    __local float pivot[BUCKETS];
    __local int count[2 * BUCKETS];
    int t = X, i = GROUP_X * 64 + t;
#pragma unroll 4
    for (int k = 0; k < BUCKETS / 64; k++) {
        pivot[t + 64 * k] = pivots[t + 64 * k];
        count[t + 64 * k] = 0;
        count[t + 64 * k + BUCKETS] = 0;
    }
    barrier_of_group();
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL, i += UNROLL * step) {
        float key[UNROLL];
        int low[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            key[k] = keys[i + k * step];
            low[k] = 0;
        }
#pragma unroll 1
        for (int reach = BUCKETS / 2; reach > 0; reach /= 2)
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                low[k] += key[k] >= pivot[low[k] + reach] ? reach : 0;
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            places[i + k * step] = low[k] << 16 | __atomic_fetch_add(&count[2 * low[k] + (k & 1)], 1, __ATOMIC_RELAXED);
    }
    barrier_of_group();
#pragma unroll 4
    for (int k = 0; k < 2 * BUCKETS / 64; k++)
        counts[GROUP_X * 2 * BUCKETS + t + 64 * k] = count[t + 64 * k];
}
