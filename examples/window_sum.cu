// Sum of each element's neighbourhood of 2 * radius + 1, through dynamic shared memory; `in` has 2 * radius elements
// more than `out`. PTX: nvcc -ptx -arch=sm_75 window_sum.cu
extern "C" __global__ void window_sum(const int *in, int *out, int n, int radius)
{
    extern __shared__ int tile[];
    int first = blockIdx.x * blockDim.x;
    for (int k = threadIdx.x; k < blockDim.x + 2 * radius && first + k < n + 2 * radius; k += blockDim.x)
        tile[k] = in[first + k];
    __syncthreads();
    if (first + threadIdx.x >= n)
        return;
    int sum = 0;
    for (int k = 0; k <= 2 * radius; k++)
        sum += tile[threadIdx.x + k];
    out[first + threadIdx.x] = sum;
}
