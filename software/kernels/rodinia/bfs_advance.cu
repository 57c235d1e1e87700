// End of a step of breadth-first search: the nodes that were reached become the frontier, and there is more to do.
extern "C" __global__ void bfs_advance(unsigned char *frontier, unsigned char *next, unsigned char *visited,
                                       unsigned char *more, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && next[node]) {
        frontier[node] = 1;
        visited[node] = 1;
        *more = 1;
        next[node] = 0;
    }
}
