// The bucket phase of a hybrid sort: a block takes tiles of keys until none is left and puts each in the order of 1024
// buckets, whose pivots are found by binary search. Places within a bucket are drawn by atomics: their order is open.
// `starts` gets, for each tile, where each bucket begins.
#define THREADS 128
#define KEYS 8
#define TILE (THREADS * KEYS)
#define BUCKETS 1024
#define SHARE (BUCKETS / THREADS)

extern "C" __global__ void hybridsort(const float *keys, const float *pivots, float *sorted, int *starts, int n)
{
    __shared__ int counts[BUCKETS];
    __shared__ int sums[THREADS];
    __shared__ float staged[TILE];
    int t = threadIdx.x;
#pragma unroll 1
    for (int tile = blockIdx.x; tile * TILE < n; tile += gridDim.x) {
        int first = tile * TILE;
#pragma unroll
        for (int k = 0; k < SHARE; k++)
            counts[t + k * THREADS] = 0;
        __syncthreads();
        float key[KEYS];
        int bucket[KEYS], place[KEYS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            int i = first + t + k * THREADS;
            key[k] = i < n ? keys[i] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            int low = 0;
#pragma unroll 1
            for (int step = BUCKETS / 2; step > 0; step /= 2)
                if (key[k] >= pivots[low + step])
                    low += step;
            bucket[k] = low;
            if (first + t + k * THREADS < n)
                place[k] = atomicAdd(&counts[low], 1);
        }
        __syncthreads();
        int count[SHARE], total = 0;
#pragma unroll
        for (int k = 0; k < SHARE; k++) {
            count[k] = counts[t * SHARE + k];
            total += count[k];
        }
        sums[t] = total;
        __syncthreads();
#pragma unroll 1
        for (int distance = 1; distance < THREADS; distance *= 2) {
            int other = t >= distance ? sums[t - distance] : 0;
            __syncthreads();
            sums[t] += other;
            __syncthreads();
        }
        int start = sums[t] - total;
#pragma unroll
        for (int k = 0; k < SHARE; k++) {
            counts[t * SHARE + k] = start;
            starts[tile * BUCKETS + t * SHARE + k] = first + start;
            start += count[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < KEYS; k++)
            if (first + t + k * THREADS < n)
                staged[counts[bucket[k]] + place[k]] = key[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            int i = t + k * THREADS;
            if (first + i < n)
                sorted[first + i] = staged[i];
        }
        __syncthreads();
    }
}
