// LU decomposition by tiles, first step: a diagonal tile in place, by the 16 threads of one block.
#define TILE 16

extern "C" __global__ void lud_diagonal(float *matrix, int size, int offset)
{
    __shared__ float tile[TILE][TILE];
    int t = threadIdx.x;
    float *corner = matrix + offset * size + offset;
#pragma unroll 1
    for (int r = 0; r < TILE; r++)
        tile[r][t] = corner[r * size + t];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < TILE - 1; i++) {
        if (t > i) {
#pragma unroll 1
            for (int k = 0; k < i; k++)
                tile[t][i] -= tile[t][k] * tile[k][i];
            tile[t][i] /= tile[i][i];
        }
        __syncthreads();
        if (t > i)
#pragma unroll 1
            for (int k = 0; k <= i; k++)
                tile[i + 1][t] -= tile[i + 1][k] * tile[k][t];
        __syncthreads();
    }
#pragma unroll 1
    for (int r = 1; r < TILE; r++)
        corner[r * size + t] = tile[r][t];
}
