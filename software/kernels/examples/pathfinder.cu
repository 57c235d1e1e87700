// Shortest path through a grid of weights, row by row (dynamic programming). Each block advances `rows` rows on
// its own strip of columns, with a halo of one column a row on either side, in shared memory.
#define BLOCK 256

extern "C" __global__ void pathfinder(const int *wall, const int *source, int *result, int columns, int rows,
                                      int first_row, int border)
{
    __shared__ int previous[BLOCK];
    __shared__ int current[BLOCK];
    int t = threadIdx.x;
    int strip = BLOCK - 2 * rows;
    int left = strip * blockIdx.x - border;
    int column = left + t;
    int last = left + BLOCK - 1;
    int valid_min = left < 0 ? -left : 0;
    int valid_max = last > columns - 1 ? BLOCK - 1 - (last - columns + 1) : BLOCK - 1;
    int west = t - 1 < valid_min ? valid_min : t - 1;
    int east = t + 1 > valid_max ? valid_max : t + 1;
    bool valid = t >= valid_min && t <= valid_max;

    if (column >= 0 && column <= columns - 1)
        previous[t] = source[column];
    __syncthreads();

    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < rows; i++) {
        computed = false;
        if (t >= i + 1 && t <= BLOCK - 2 - i && valid) {
            computed = true;
            int shortest = min(min(previous[west], previous[t]), previous[east]);
            current[t] = shortest + wall[columns * (first_row + i) + column];
        }
        __syncthreads();
        if (i == rows - 1)
            break;
        if (computed)
            previous[t] = current[t];
        __syncthreads();
    }
    if (computed)
        result[column] = current[t];
}
