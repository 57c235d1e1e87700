// Tiled matrix product C = A B in f32: rows x inner times inner x columns, a 16 x 16 tile of each in shared memory.
// Tiles that reach over an edge are filled up with zeros.
#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
#pragma unroll 1
    for (int first = 0; first < inner; first += TILE) {
        tile_a[ty][tx] = row < rows && first + tx < inner ? a[row * inner + first + tx] : 0.0f;
        tile_b[ty][tx] = first + ty < inner && column < columns ? b[(first + ty) * columns + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[row * columns + column] = sum;
}
