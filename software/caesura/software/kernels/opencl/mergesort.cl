// The register phase of a merge sort: fours are sorted, and eight of them merged to a list of 32, in registers. A thread
// sorts one list a turn of the loop.
#include "work_items.h"

static inline void order(int *low, int *high)
{
    int least = *low < *high ? *low : *high;
    *high = *low < *high ? *high : *low;
    *low = least;
}

KERNEL(64, 1) mergesort(__global int4 *data, int turns, int step)
{
    int i = GROUP_X * 64 + X;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++, i += step) {
        int v[32];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int4 four = data[8 * i + k];
            v[4 * k] = four.x, v[4 * k + 1] = four.y, v[4 * k + 2] = four.z, v[4 * k + 3] = four.w;
        }
#pragma unroll
        for (int run = 1; run < 32; run *= 2)
#pragma unroll
            for (int gap = run; gap > 0; gap /= 2)
#pragma unroll
                for (int k = 0; k < 32; k++) {
                    int other = gap == run ? k ^ (2 * run - 1) : k ^ gap;
                    if (other > k)
                        order(&v[k], &v[other]);
                }
#pragma unroll
        for (int k = 0; k < 8; k++)
            data[8 * i + k] = (int4)(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
    }
}
