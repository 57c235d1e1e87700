// Matrix product C = A B in f32 with tiles of 4 x 4 in registers: 64 threads make a tile of 32 x 32, two steps of the
// inner dimension at a time from shared memory, four of those a turn of the loop.
#include "work_items.h"
#define TILE 32
#define DEPTH 2

KERNEL(8, 8) sgemm(__global const float *a, __global const float *b, __global float *c, int inner, int columns)
{
    __local float tile_a[DEPTH][TILE];
    __local float tile_b[DEPTH][TILE];
    int tx = X, ty = Y, t = ty * 8 + tx;
    __global const float *from_a = a + (GROUP_Y * TILE + t % TILE) * inner + t / TILE;
    __global const float *from_b = b + t / TILE * columns + GROUP_X * TILE + t % TILE;
    float sum[4][4] = {{0.0f}, {0.0f}, {0.0f}, {0.0f}};
#pragma unroll 1
    for (int first = 0; first < inner; first += 4 * DEPTH)
#pragma unroll
      for (int step = 0; step < 4; step++) {
        tile_a[t / TILE][t % TILE] = *from_a;
        tile_b[t / TILE][t % TILE] = *from_b;
        from_a += DEPTH;
        from_b += DEPTH * columns;
        barrier_of_group();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += tile_a[k][ty * 4 + i] * tile_b[k][tx * 4 + j];
        barrier_of_group();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            c[(GROUP_Y * TILE + ty * 4 + i) * columns + GROUP_X * TILE + tx * 4 + j] = sum[i][j];
}
