// Persistent threads (Lin et al. Fig. 2): each thread takes the next input from a queue until there is none, works on
// it for a time that depends on the input, and appends the result to another queue.
__device__ __forceinline__ unsigned work(unsigned value)
{
    unsigned state = value | 1;
#pragma unroll 1
    for (int turns = value & 15; turns >= 0; turns--) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
    return state;
}

extern "C" __global__ void persistent(const unsigned *in, unsigned *out, unsigned *in_head, unsigned *out_head,
                                      unsigned n)
{
    unsigned next;
#pragma unroll 1
    while ((next = atomicAdd(in_head, 1u)) < n) {
        unsigned result = work(in[next]);
        out[atomicAdd(out_head, 1u)] = result;
    }
}
