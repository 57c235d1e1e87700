// One step of breadth-first search: every node of the frontier offers its unvisited neighbours a cost.
extern "C" __global__ void bfs(const int *first_edge, const int *edge_count, const int *edges,
                               unsigned char *frontier, unsigned char *next, const unsigned char *visited,
                               int *cost, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && frontier[node]) {
        frontier[node] = 0;
        int start = first_edge[node];
        int end = start + edge_count[node];
#pragma unroll 1
        for (int e = start; e < end; e++) {
            int neighbour = edges[e];
            if (!visited[neighbour]) {
                cost[neighbour] = cost[node] + 1;
                next[neighbour] = 1;
            }
        }
    }
}
