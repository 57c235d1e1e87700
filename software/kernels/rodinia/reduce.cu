// Sums of the elements of a block and of their squares, both by a tree in shared memory. They replace the block's first
// elements, so that a launch with `stride` 512 times larger goes on.
#define BLOCK 512

extern "C" __global__ void reduce(int count, int stride, float *sums, float *squares)
{
    __shared__ float sum[BLOCK];
    __shared__ float square[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    bool inside = i < count;
    sum[t] = inside ? sums[i * stride] : 0.0f;
    square[t] = inside ? squares[i * stride] : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int distance = 1; distance < BLOCK; distance *= 2) {
        if (t % (2 * distance) == 0) {
            sum[t] += sum[t + distance];
            square[t] += square[t + distance];
        }
        __syncthreads();
    }
    if (t == 0) {
        sums[i * stride] = sum[0];
        squares[i * stride] = square[0];
    }
}
