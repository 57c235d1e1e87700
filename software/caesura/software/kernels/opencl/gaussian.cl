// The elimination step of Gaussian elimination: below the pivot's row, each thread of a column subtracts from `turns`
// rows the factor of the row times the pivot's row, eight rows a turn of the loop.
#include "work_items.h"

KERNEL(64, 1) gaussian(__global float *a, __global const float *factors, int width, int pivot, int turns)
{
    int column = GROUP_X * 64 + X;
    float top = a[pivot * width + column];
    __global float *row = a + (pivot + 1) * width + column;
    __global const float *factor = factors + pivot + 1;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
        float old[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            old[k] = row[k * width];
#pragma unroll
        for (int k = 0; k < 8; k++)
            row[k * width] = old[k] - factor[k] * top;
        row += 8 * width;
        factor += 8;
    }
}
