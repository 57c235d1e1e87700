// Direct convolution, 3 x 3, without border: a thread keeps one pixel of four output channels and goes over the input
// channels, four a turn of the loop.
#include "work_items.h"

KERNEL(32, 4) directconv(__global const float *in, __global const float *weights, __global const float *bias,
                         __global float *out, int channels_in, int rows, int columns, int first)
{
    int x = GROUP_X * 32 + X, y = GROUP_Y * 4 + Y;
    float sum[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        sum[k] = bias[first + k];
    __global const float *pixel = in + y * columns + x;
    __global const float *weight = weights + first * channels_in * 9;
#pragma unroll 4
    for (int c = 0; c < channels_in; c++) {
#pragma unroll
        for (int i = 0; i < 9; i++) {
            float sample = pixel[i / 3 * columns + i % 3];
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[k] += sample * weight[k * channels_in * 9 + i];
        }
        pixel += rows * columns;
        weight += 9;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        out[((first + k) * rows + y) * columns + x] = sum[k];
}
