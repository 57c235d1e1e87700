// Average pooling of f32 planes that carry their border: windows of 3 x 3, every second row and column. A thread makes
// one output of each of `planes` planes, four planes a turn of the loop.
#include "work_items.h"

KERNEL(32, 4) avgpool(__global const float *in, __global float *out, int planes, int rows, int columns, int out_rows,
                      int out_columns)
{
    int x = GROUP_X * 32 + X, y = GROUP_Y * 4 + Y;
    __global const float *from = in + 2 * y * columns + 2 * x;
    __global float *to = out + y * out_columns + x;
#pragma unroll 4
    for (int plane = 0; plane < planes; plane++) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++)
                sum += from[i * columns + j];
        *to = sum * (1.0f / 9.0f);
        from += rows * columns;
        to += out_rows * out_columns;
    }
}
