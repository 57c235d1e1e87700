// Merge sort of many lists, a list a thread: fours are sorted in registers, then lists of fours are merged, the lower
// four of eight written at each turn, from one buffer to the other and back. After an odd number of passes the result
// is in `scratch`.
__device__ __forceinline__ void order(int &low, int &high)
{
    int least = min(low, high);
    high = max(low, high);
    low = least;
}

__device__ __forceinline__ void clean(int4 &v)  // a bitonic four becomes an ascending one
{
    order(v.x, v.z);
    order(v.y, v.w);
    order(v.x, v.y);
    order(v.z, v.w);
}

__device__ __forceinline__ void merge(int4 &low, int4 &high)  // two ascending fours become one of eight
{
    order(low.x, high.w);
    order(low.y, high.z);
    order(low.z, high.y);
    order(low.w, high.x);
    clean(low);
    clean(high);
}

extern "C" __global__ void mergesort(int4 *data, int4 *scratch, int lists, int fours)
{
#pragma unroll 1
    for (int list = blockIdx.x * blockDim.x + threadIdx.x; list < lists; list += gridDim.x * blockDim.x) {
        int4 *from = data + list * fours, *to = scratch + list * fours;
#pragma unroll 1
        for (int i = 0; i < fours; i++) {
            int4 v = from[i];
            order(v.x, v.y);
            order(v.z, v.w);
            order(v.x, v.z);
            order(v.y, v.w);
            order(v.y, v.z);
            from[i] = v;
        }
#pragma unroll 1
        for (int run = 1; run < fours; run *= 2) {
#pragma unroll 1
            for (int first = 0; first < fours; first += 2 * run) {
                int i = first, middle = min(first + run, fours), j = middle, end = min(first + 2 * run, fours);
                int place = first;
                int4 high = from[i++];
                while (i < middle || j < end) {
                    bool left = j >= end || (i < middle && from[i].x <= from[j].x);
                    int4 low = from[left ? i++ : j++];
                    merge(low, high);
                    to[place++] = low;
                }
                to[place] = high;
            }
            int4 *other = from;
            from = to;
            to = other;
        }
    }
}
