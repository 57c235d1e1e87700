// Forward pass of a layer in back-propagation, f32: each block multiplies 16 inputs with their weights to 16 hidden
// units and adds them up by a tree in shared memory. It leaves the tree in the place of the weights, and the sums.
#define HEIGHT 16
#define WIDTH 16

extern "C" __global__ void layerforward(const float *input, float *weights, float *partial, int hidden)
{
    __shared__ float node[HEIGHT];
    __shared__ float matrix[HEIGHT][WIDTH];
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int index = (hidden + 1) * HEIGHT * by + (hidden + 1) * ty + tx + 1 + (hidden + 1);
    if (tx == 0)
        node[ty] = input[HEIGHT * by + ty + 1];
    __syncthreads();
    matrix[ty][tx] = weights[index];
    __syncthreads();
    matrix[ty][tx] = matrix[ty][tx] * node[ty];
    __syncthreads();
#pragma unroll 1
    for (int half = 1; half < HEIGHT; half <<= 1) {
        if ((ty & (2 * half - 1)) == 0)
            matrix[ty][tx] = matrix[ty][tx] + matrix[ty + half][tx];
        __syncthreads();
    }
    weights[index] = matrix[ty][tx];
    __syncthreads();
    if (tx == 0)
        partial[by * hidden + ty] = matrix[tx][ty];
}
