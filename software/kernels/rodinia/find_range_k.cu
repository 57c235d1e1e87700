// Ranges of keys in a B+ tree, a block a query and a thread a slot: the first and the last key go down together, and the
// records between them lie one after the other.
#define SLOTS 256

extern "C" __global__ void find_range_k(int height, const int *keys, const int *children, int *first_node,
                                        int *last_node, const int *first, const int *last, int *start, int *length)
{
    int slot = threadIdx.x, query = blockIdx.x;
#pragma unroll 1
    for (int level = 0; level < height; level++) {
        int left = first_node[query] * (SLOTS + 1) + slot, right = last_node[query] * (SLOTS + 1) + slot;
        bool spans_first = keys[left] <= first[query] && first[query] < keys[left + 1];
        bool spans_last = keys[right] <= last[query] && last[query] < keys[right + 1];
        __syncthreads();
        if (spans_first)
            first_node[query] = children[left];
        if (spans_last)
            last_node[query] = children[right];
        __syncthreads();
    }
    int left = first_node[query] * (SLOTS + 1) + slot, right = last_node[query] * (SLOTS + 1) + slot;
    if (keys[left] == first[query])
        start[query] = children[left];
    __syncthreads();
    if (keys[right] == last[query])
        length[query] = children[right] - start[query] + 1;
}
