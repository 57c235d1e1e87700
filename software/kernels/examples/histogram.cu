// Histogram with a table of each block in shared memory, and what the atomics return used as tickets: every one of them
// is handed out once, whatever the order.
extern "C" __global__ void histogram(const unsigned *samples, unsigned *bins, unsigned *ranks, float *weights,
                                     unsigned *counter, unsigned *tickets, int *order,
                                     unsigned long long *largest, double *total, int n)
{
    __shared__ unsigned local[64];
    __shared__ double sum;
    int t = threadIdx.x;
    if (t < 64)
        local[t] = 0;
    if (t == 0)
        sum = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        unsigned sample = samples[i], bin = sample & 63;
        unsigned rank = atomicAdd(&local[bin], 1u);
        atomicAdd(&ranks[bin], rank);
        atomicAdd(&weights[bin], (float)(sample >> 24));
        atomicMax(largest, (unsigned long long)sample << 32 | i);
        if ((sample & 15) == 3) {
            unsigned ticket = atomicAdd(counter, 1u);
            atomicAdd(&tickets[ticket], 1u);
            order[ticket] = i;
            atomicAdd(&sum, (double)(sample >> 8));
        }
    }
    __syncthreads();
    if (t < 64 && local[t])
        atomicAdd(&bins[t], local[t]);
    if (t == 0)
        atomicAdd(total, sum);
}
