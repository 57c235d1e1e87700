// Rows of eight elements, each by eight neighbouring lanes without shared memory: prefix sums by shuffles up, the largest
// element by a butterfly; odd elements are compacted by ballot, equal ones counted by match, on either side of a branch.
// (All lanes of a row store its facts: a condition on the lane would let nvcc make two copies of the loop, whose lanes
// could exchange nothing on a machine that runs one side of a branch after the other.)
extern "C" __global__ void warpscan(const int *in, int *scans, int *kept, int *facts, int n)
{
    unsigned lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    unsigned own = 0xffu << (lane & ~7u);
    int k = lane & 7;
#pragma unroll 1
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8; row * 8 < n; row += gridDim.x * blockDim.x / 8) {
        int i = row * 8 + k;
        int value = i < n ? in[i] : 0;
        int scan = value, most = value, all_equal, same;
#pragma unroll 1
        for (int d = 1; d < 8; d *= 2) {
            int other = __shfl_up_sync(own, scan, d, 8);
            if (k >= d)
                scan += other;
        }
#pragma unroll
        for (int d = 4; d > 0; d /= 2)
            most = max(most, __shfl_xor_sync(own, most, d, 8));
        unsigned odd = __ballot_sync(own, value & 1);
        if (value & 1) {
            int first = __shfl_sync(odd, scan, __ffs(odd) - 1, 8);
            kept[row * 8 + __popc(odd & below)] = scan - first;
            same = __popc(__match_any_sync(odd, value & 12));
        } else {
            same = -__popc(__match_any_sync(own & ~odd, value & 6));
        }
        if (i < n)
            scans[i] = scan + (same << 20);
        __match_all_sync(own, value, &all_equal);
        int positive = __all_sync(own, value > 0), large = __any_sync(own, value > 900);
        facts[row] = most * 8 + all_equal * 4 + positive * 2 + large;
    }
}
