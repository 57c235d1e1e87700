// Direct convolution, 3 x 3, without border: a thread keeps one pixel of four output channels and goes over the input
// channels; a block takes groups of four channels until none is left. `channels_out` is a multiple of four.
#define SIZE 3
#define GROUP 4

extern "C" __global__ void directconv(const float *in, const float *weights, const float *bias, float *out,
                                      int channels_in, int channels_out, int rows, int columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int wide = columns - SIZE + 1, high = rows - SIZE + 1;
    if (x >= wide || y >= high)
        return;
#pragma unroll 1
    for (int first = GROUP * blockIdx.z; first < channels_out; first += GROUP * gridDim.z) {
        float sum[GROUP];
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            sum[k] = bias[first + k];
        const float *pixel = in + y * columns + x;
        const float *weight = weights + first * channels_in * SIZE * SIZE;
#pragma unroll 1
        for (int c = 0; c < channels_in; c++) {
            float window[SIZE * SIZE];
#pragma unroll
            for (int i = 0; i < SIZE * SIZE; i++)
                window[i] = pixel[i / SIZE * columns + i % SIZE];
#pragma unroll
            for (int k = 0; k < GROUP; k++)
#pragma unroll
                for (int i = 0; i < SIZE * SIZE; i++)
                    sum[k] += window[i] * weight[k * channels_in * SIZE * SIZE + i];
            pixel += rows * columns;
            weight += SIZE * SIZE;
        }
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            out[((first + k) * high + y) * wide + x] = sum[k];
    }
}
