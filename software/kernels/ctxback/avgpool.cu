// Average pooling of f32 planes: windows of 3 x 3 every second row and column, one row and column of border around the
// plane, which does not count. A thread makes two outputs, one above the other, whose windows share a row; a block
// takes planes until none is left.
#define SIZE 3
#define STRIDE 2
#define HEIGHT (SIZE + STRIDE)

extern "C" __global__ void avgpool(const float *in, float *out, int planes, int rows, int columns, int out_rows,
                                   int out_columns)
{
#pragma unroll 1
    for (int plane = blockIdx.x; plane < planes; plane += gridDim.x) {
        const float *from = in + plane * rows * columns;
        float *to = out + plane * out_rows * out_columns;
#pragma unroll 1
        for (int y = 2 * threadIdx.y; y < out_rows; y += 2 * blockDim.y) {
#pragma unroll 1
            for (int x = threadIdx.x; x < out_columns; x += blockDim.x) {
                int top = y * STRIDE - 1, left = x * STRIDE - 1;
                float sample[HEIGHT][SIZE];
#pragma unroll
                for (int i = 0; i < HEIGHT; i++)
#pragma unroll
                    for (int j = 0; j < SIZE; j++) {
                        bool inside = top + i >= 0 && top + i < rows && left + j >= 0 && left + j < columns;
                        sample[i][j] = inside ? from[(top + i) * columns + left + j] : 0.0f;
                    }
                float sum[HEIGHT];
#pragma unroll
                for (int i = 0; i < HEIGHT; i++)
                    sum[i] = sample[i][0] + sample[i][1] + sample[i][2];
                int wide = min(left + SIZE, columns) - max(left, 0);
                int high = min(top + SIZE, rows) - max(top, 0);
                to[y * out_columns + x] = (sum[0] + sum[1] + sum[2]) / (float)(wide * high);
                if (y + 1 < out_rows) {
                    high = min(top + HEIGHT, rows) - (top + STRIDE);
                    to[(y + 1) * out_columns + x] = (sum[2] + sum[3] + sum[4]) / (float)(wide * high);
                }
            }
        }
    }
}
