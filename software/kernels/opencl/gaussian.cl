// The elimination step of Gaussian elimination: below the pivot's row, each thread of a column subtracts from `turns`
// rows the factor of the row times the pivot's row, eight rows a turn of the loop.
#include "work_items.h"
#define UNROLL 8

KERNEL(64, 1) gaussian(__global float *restrict a, __global const float *restrict factors, int width, int pivot,
                       int turns)
{
    int column = GROUP_X * 64 + X, place = (pivot + 1) * width + column;
    float top = a[pivot * width + column];
    __global const float *factor = factors + pivot + 1;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL) {
        float old[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            old[k] = a[place + k * width];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            a[place + k * width] = old[k] - factor[k] * top;
        place += UNROLL * width;
        factor += UNROLL;
    }
}
