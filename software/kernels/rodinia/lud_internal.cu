// LU decomposition by tiles, third step: each other tile loses the product of the one of L on its left and the one of U
// above it.
#define TILE 16

extern "C" __global__ void lud_internal(float *matrix, int size, int offset)
{
    __shared__ float upper[TILE][TILE];
    __shared__ float lower[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = offset + (blockIdx.y + 1) * TILE + ty, column = offset + (blockIdx.x + 1) * TILE + tx;
    upper[ty][tx] = matrix[(offset + ty) * size + column];
    lower[ty][tx] = matrix[row * size + offset + tx];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TILE; k++)
        sum += lower[ty][k] * upper[k][tx];
    matrix[row * size + column] -= sum;
}
