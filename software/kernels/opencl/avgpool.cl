// Average pooling of f32 planes that carry their border: windows of 3 x 3, every second row and column. A thread makes
// one output of each of `planes` planes, four planes a turn of the loop.
#include "work_items.h"
#define UNROLL 4

KERNEL(32, 4) avgpool(__global const float *restrict in, __global float *restrict out, int planes, int rows,
                      int columns, int out_rows, int out_columns)
{
    int x = GROUP_X * 32 + X, y = GROUP_Y * 4 + Y;
    int from = 2 * y * columns + 2 * x, to = y * out_columns + x;
#pragma unroll 1
    for (int plane = 0; plane < planes; plane += UNROLL)
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            float sum = 0.0f;
#pragma unroll
            for (int i = 0; i < 3; i++)
#pragma unroll
                for (int j = 0; j < 3; j++)
                    sum += in[from + i * columns + j];
            out[to] = sum * (1.0f / 9.0f);
            from += rows * columns;
            to += out_rows * out_columns;
        }
}
