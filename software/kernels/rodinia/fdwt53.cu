// One level of the reversible 5/3 wavelet transform (lifting; JPEG 2000) of an image, into its four bands. A block goes
// down a strip of 192 columns in windows of eight rows: new rows are transformed along x in shared memory, then each
// thread transforms its column along y with the three rows that stay from the window before. Edges are mirrored.
#define STRIP 192
#define WINDOW 8
#define KEPT 3
#define PITCH (STRIP + 4)

__device__ __forceinline__ int mirrored(int i, int n)
{
    i = abs(i);
    return max(i < n ? i : 2 * (n - 1) - i, 0);
}

extern "C" __global__ void fdwt53(const int *in, int *out, int columns, int rows, int windows)
{
    __shared__ int buffer[KEPT + WINDOW][PITCH];
    int t = threadIdx.x;
    int left = blockIdx.x * STRIP, top = blockIdx.y * windows * WINDOW;
    int side = t / (STRIP / 2), pair = 2 * (t % (STRIP / 2)) + 2;
    int low_columns = (columns + 1) / 2, low_rows = (rows + 1) / 2;
    int column = left + t;

    int begin = 0;
#pragma unroll 1
    for (int w = 0; w < windows && top + w * WINDOW < rows; w++) {
        int row = top + w * WINDOW - (KEPT - 1);
#pragma unroll 1
        for (int r = begin; r < KEPT + WINDOW; r++) {
            const int *line = in + mirrored(row + r, rows) * columns;
            buffer[r][t + 2] = line[mirrored(column, columns)];
            if (t < 3) {
                int edge = t < 2 ? t : STRIP + 2;
                buffer[r][edge] = line[mirrored(left - 2 + edge, columns)];
            }
        }
        __syncthreads();
        if (t >= begin && t < KEPT + WINDOW)
            buffer[t][1] -= (buffer[t][0] + buffer[t][2]) >> 1;
#pragma unroll 1
        for (int r = begin + side; r < KEPT + WINDOW; r += 2)
            buffer[r][pair + 1] -= (buffer[r][pair] + buffer[r][pair + 2]) >> 1;
        __syncthreads();
#pragma unroll 1
        for (int r = begin + side; r < KEPT + WINDOW; r += 2)
            buffer[r][pair] += (buffer[r][pair - 1] + buffer[r][pair + 1] + 2) >> 2;
        __syncthreads();

        int line[KEPT + WINDOW];
#pragma unroll
        for (int r = 0; r < KEPT + WINDOW; r++)
            line[r] = buffer[r][t + 2];
#pragma unroll
        for (int r = 0; r < KEPT; r++)
            buffer[r][t + 2] = line[WINDOW + r];
#pragma unroll
        for (int r = 1; r < KEPT + WINDOW; r += 2)
            line[r] -= (line[r - 1] + line[r + 1]) >> 1;
#pragma unroll
        for (int r = 2; r < WINDOW + 2; r += 2)
            line[r] += (line[r - 1] + line[r + 1] + 2) >> 2;
        if (column < columns) {
            int *band = out + column / 2 + (column & 1) * low_columns;
#pragma unroll
            for (int r = 0; r < WINDOW; r++) {
                int y = row + 2 + r;
                if (y < rows)
                    band[(y / 2 + (y & 1) * low_rows) * columns] = line[r + 2];
            }
        }
        begin = KEPT;
        __syncthreads();
    }
}
