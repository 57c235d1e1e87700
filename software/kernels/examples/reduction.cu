// Sum of each block's elements: grid-stride accumulation, then a tree in shared memory with a barrier a level.
extern "C" __global__ void reduction(const int *in, int *out, int n)
{
    __shared__ int partial[256];
    int t = threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    partial[t] = sum;
    __syncthreads();
#pragma unroll 1
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = partial[0];
}
