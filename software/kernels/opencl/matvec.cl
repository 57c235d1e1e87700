// Matrix-vector product y = A x: a work-group of 64 makes four rows, a thread takes every 64th column, eight columns a
// turn of the loop; a tree in shared memory adds up the threads' sums, a row after the other.
#include "work_items.h"
#define ROWS 4
#define UNROLL 8

KERNEL(64, 1) matvec(__global const float *restrict a, __global const float *restrict x, __global float *restrict y,
                     int columns)
{
    __local float sums[64];
    int t = X, first = ROWS * GROUP_X;
    float sum[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int column = 0; column < columns; column += 64 * UNROLL) {
        float right[UNROLL], left[ROWS][UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            right[k] = x[column + t + 64 * k];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                left[r][k] = a[(first + r) * columns + column + t + 64 * k];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] += left[r][k] * right[k];
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        sums[t] = sum[r];
        barrier_of_group();
#pragma unroll 1
        for (int reach = 32; reach > 0; reach /= 2) {
            if (t < reach)
                sums[t] += sums[t + reach];
            barrier_of_group();
        }
        if (t == 0)
            y[first + r] = sums[0];
        barrier_of_group();
    }
}
