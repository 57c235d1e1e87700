// Look-up of keys in a B+ tree, a block a query and a thread a slot of the node. On every level the one thread whose
// slot spans the key names the child; in the leaf it names the record. A slot spans [keys[slot], keys[slot + 1]).
#define SLOTS 256

extern "C" __global__ void find_k(int height, const int *keys, const int *children, const int *records, int *node,
                                  const int *queries, int *answers)
{
    int slot = threadIdx.x, query = blockIdx.x;
#pragma unroll 1
    for (int level = 0; level < height; level++) {
        int place = node[query] * (SLOTS + 1) + slot;
        bool spans = keys[place] <= queries[query] && queries[query] < keys[place + 1];
        __syncthreads();
        if (spans)
            node[query] = children[place];
        __syncthreads();
    }
    int place = node[query] * (SLOTS + 1) + slot;
    if (keys[place] == queries[query])
        answers[query] = records[children[place]];
}
