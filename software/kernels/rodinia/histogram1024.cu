// Histogram of floats in 1024 bins, without atomics in shared memory: each warp has a table of its own, and of the lanes
// that count in one bin the one whose mark is left has counted; the others do it again (Podlozhnyuk 2007).
#define WARPS 3
#define LANES 32
#define BINS 1024
#define MARK_SHIFT 27

extern "C" __global__ void histogram1024(unsigned *result, const float *data, float least, float most, int n)
{
    __shared__ volatile unsigned table[WARPS * BINS];
    int t = threadIdx.x;
    volatile unsigned *own = table + t / LANES * BINS;
    unsigned mark = (unsigned)t << MARK_SHIFT;
#pragma unroll 1
    for (int k = t; k < WARPS * BINS; k += WARPS * LANES)
        table[k] = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = min((unsigned)((data[i] - least) / (most - least) * BINS), BINS - 1u);
        unsigned count;
#pragma unroll 1
        do {
            count = mark | ((own[bin] & ((1u << MARK_SHIFT) - 1)) + 1);
            own[bin] = count;
        } while (own[bin] != count);
    }
    __syncthreads();
#pragma unroll 1
    for (int k = t; k < BINS; k += WARPS * LANES) {
        unsigned sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            sum += table[w * BINS + k] & ((1u << MARK_SHIFT) - 1);
        atomicAdd(result + k, sum);
    }
}
