// Matrix product C = A B in f32 with tiles of 4 x 4 in registers: 64 threads make a tile of 32 x 32, eight steps of the
// inner dimension at a time from shared memory. A block takes tiles until none is left; edges are filled up with zeros.
#define SIDE 8
#define PER_THREAD 4
#define TILE (SIDE * PER_THREAD)
#define DEPTH 8

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    __shared__ float tile_a[DEPTH][TILE];
    __shared__ float tile_b[DEPTH][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * SIDE + tx;
    int across = (columns + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        int top = tile / across * TILE, left = tile % across * TILE;
        float sum[PER_THREAD][PER_THREAD];
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++)
#pragma unroll
            for (int j = 0; j < PER_THREAD; j++)
                sum[i][j] = 0.0f;
#pragma unroll 1
        for (int first = 0; first < inner; first += DEPTH) {
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++) {
                int row = top + ty + SIDE * i, column = left + t % TILE, depth = first + t / TILE + 2 * i;
                tile_a[tx][ty + SIDE * i] = row < rows && first + tx < inner ? a[row * inner + first + tx] : 0.0f;
                tile_b[t / TILE + 2 * i][t % TILE] =
                    depth < inner && column < columns ? b[depth * columns + column] : 0.0f;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < DEPTH; k++) {
                float left_part[PER_THREAD], right_part[PER_THREAD];
#pragma unroll
                for (int i = 0; i < PER_THREAD; i++) {
                    left_part[i] = tile_a[k][ty + SIDE * i];
                    right_part[i] = tile_b[k][tx + SIDE * i];
                }
#pragma unroll
                for (int i = 0; i < PER_THREAD; i++)
#pragma unroll
                    for (int j = 0; j < PER_THREAD; j++)
                        sum[i][j] += left_part[i] * right_part[j];
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++)
#pragma unroll
            for (int j = 0; j < PER_THREAD; j++) {
                int row = top + ty + SIDE * i, column = left + tx + SIDE * j;
                if (row < rows && column < columns)
                    c[row * columns + column] = sum[i][j];
            }
    }
}
