// Direct convolution, 3 x 3, without border: a thread keeps one pixel of four output channels and goes over the input
// channels, four a turn of the loop.
#include "work_items.h"
#define UNROLL 4
#define CHANNELS 4

KERNEL(32, 4) directconv(__global const float *restrict in, __global const float *restrict weights,
                         __global const float *restrict bias, __global float *restrict out, int channels_in, int rows,
                         int columns, int first)
{
    int x = GROUP_X * 32 + X, y = GROUP_Y * 4 + Y, pixel = y * columns + x;
    __global const float *weight = weights + first * channels_in * 9;
    float sum[CHANNELS];
#pragma unroll
    for (int k = 0; k < CHANNELS; k++)
        sum[k] = bias[first + k];
#pragma unroll 1
    for (int c = 0; c < channels_in; c += UNROLL)
#pragma unroll
        for (int n = 0; n < UNROLL; n++) {
            float window[9];
#pragma unroll
            for (int i = 0; i < 9; i++)
                window[i] = in[pixel + i / 3 * columns + i % 3];
#pragma unroll
            for (int i = 0; i < 9; i++)
#pragma unroll
                for (int k = 0; k < CHANNELS; k++)
                    sum[k] += window[i] * weight[k * channels_in * 9 + i];
            pixel += rows * columns;
            weight += 9;
        }
#pragma unroll
    for (int k = 0; k < CHANNELS; k++)
        out[((first + k) * rows + y) * columns + x] = sum[k];
}
