// Matrix-vector product y = A x: a block of 64 takes four rows at a time until none is left, four columns a thread and
// turn; a tree in shared memory adds up the threads' sums.
#define THREADS 64
#define ROWS 4
#define UNROLL 4

extern "C" __global__ void matvec(const float *a, const float *x, float *y, int rows, int columns)
{
    __shared__ float sums[ROWS][THREADS];
    int t = threadIdx.x;
#pragma unroll 1
    for (int first = ROWS * blockIdx.x; first < rows; first += ROWS * gridDim.x) {
        const float *row[ROWS];
        float sum[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r] = a + min(first + r, rows - 1) * columns;
            sum[r] = 0.0f;
        }
        int column = t;
#pragma unroll 1
        for (; column < columns - (UNROLL - 1) * THREADS; column += UNROLL * THREADS) {
            float right[UNROLL], left[ROWS][UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                right[k] = x[column + k * THREADS];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int k = 0; k < UNROLL; k++)
                    left[r][k] = row[r][column + k * THREADS];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    sum[r] += left[r][k] * right[k];
        }
#pragma unroll 1
        for (; column < columns; column += THREADS) {
            float right = x[column];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] += row[r][column] * right;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sums[r][t] = sum[r];
        __syncthreads();
#pragma unroll 1
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (t < half)
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    sums[r][t] += sums[r][t + half];
            __syncthreads();
        }
        if (t < ROWS && first + t < rows)
            y[first + t] = sums[t][0];
        __syncthreads();
    }
}
