// LU decomposition by tiles, second step: a block has one tile beside and one below the diagonal tile. Half of its warp
// solves for the rows of U, the other half for the columns of L.
#define TILE 16

extern "C" __global__ void lud_perimeter(float *matrix, int size, int offset)
{
    __shared__ float diagonal[TILE][TILE];
    __shared__ float beside[TILE][TILE];
    __shared__ float below[TILE][TILE];
    bool upper = threadIdx.x < TILE;
    int t = threadIdx.x % TILE, ahead = (blockIdx.x + 1) * TILE;
    float *corner = matrix + offset * size + offset;
    float *right = corner + ahead, *down = corner + ahead * size;
    int half = upper ? 0 : TILE / 2;
#pragma unroll 1
    for (int r = half; r < half + TILE / 2; r++)
        diagonal[r][t] = corner[r * size + t];
    float *from = upper ? right : down;
    float(*to)[TILE] = upper ? beside : below;
#pragma unroll 1
    for (int r = 0; r < TILE; r++)
        to[r][t] = from[r * size + t];
    __syncthreads();

    if (upper) {
#pragma unroll 1
        for (int i = 1; i < TILE; i++)
#pragma unroll 1
            for (int k = 0; k < i; k++)
                beside[i][t] -= diagonal[i][k] * beside[k][t];
    } else {
#pragma unroll 1
        for (int i = 0; i < TILE; i++) {
#pragma unroll 1
            for (int k = 0; k < i; k++)
                below[t][i] -= below[t][k] * diagonal[k][i];
            below[t][i] /= diagonal[i][i];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int r = 0; r < TILE; r++)
        from[r * size + t] = to[r][t];
}
