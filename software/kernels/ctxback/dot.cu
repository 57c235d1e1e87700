// Dot product: four sums a thread over the whole vectors, then a tree in shared memory; one partial sum a block.
#define THREADS 256
#define UNROLL 4

extern "C" __global__ void dot(const float *x, const float *y, float *partial, int n)
{
    __shared__ float sums[THREADS];
    int t = threadIdx.x, step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + t;
    float sum[UNROLL] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (; i < n - (UNROLL - 1) * step; i += UNROLL * step) {
        float a[UNROLL], b[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            a[k] = x[i + k * step];
            b[k] = y[i + k * step];
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            sum[k] += a[k] * b[k];
    }
#pragma unroll 1
    for (; i < n; i += step)
        sum[0] += x[i] * y[i];
    sums[t] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    __syncthreads();
#pragma unroll 1
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = sums[0];
}
