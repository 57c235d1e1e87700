// Matrix product C = A B in f32 with tiles of 4 x 4 in registers: 64 threads make a tile of 32 x 32, two steps of the
// inner dimension at a time from shared memory, four of those a turn of the loop.
#include "work_items.h"
#define TILE 32
#define DEPTH 2
#define UNROLL 4

KERNEL(8, 8) sgemm(__global const float *restrict a, __global const float *restrict b, __global float *restrict c,
                   int inner, int columns)
{
    __local float tile_a[DEPTH][TILE];
    __local float tile_b[DEPTH][TILE];
    int tx = X, ty = Y, t = ty * 8 + tx;
    int from_a = (GROUP_Y * TILE + t % TILE) * inner + t / TILE;
    int from_b = t / TILE * columns + GROUP_X * TILE + t % TILE;
    float sum[4][4] = {{0.0f}, {0.0f}, {0.0f}, {0.0f}};
#pragma unroll 1
    for (int first = 0; first < inner; first += UNROLL * DEPTH)
#pragma unroll
        for (int step = 0; step < UNROLL; step++) {
            tile_a[t / TILE][t % TILE] = a[from_a];
            tile_b[t / TILE][t % TILE] = b[from_b];
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
