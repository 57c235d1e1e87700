// Gaussian elimination of many small systems A x = b without pivoting: a block takes systems until none is left. A
// system is n rows of n + 1 elements, b the last column. Factors take the place of what they eliminate. A thread
// updates four rows of a column at once.
#define ROWS 4

extern "C" __global__ void gaussian(float *systems, int count, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y, width = n + 1;
#pragma unroll 1
    for (int s = blockIdx.x; s < count; s += gridDim.x) {
        float *a = systems + s * n * width;
#pragma unroll 1
        for (int pivot = 0; pivot < n - 1; pivot++) {
#pragma unroll 1
            for (int row = pivot + 1 + ty * blockDim.x + tx; row < n; row += blockDim.x * blockDim.y)
                a[row * width + pivot] /= a[pivot * width + pivot];
            __syncthreads();
#pragma unroll 1
            for (int row = pivot + 1 + ROWS * ty; row < n; row += ROWS * blockDim.y) {
                float factor[ROWS];
#pragma unroll
                for (int k = 0; k < ROWS; k++)
                    factor[k] = a[min(row + k, n - 1) * width + pivot];
#pragma unroll 1
                for (int column = pivot + 1 + tx; column < width; column += blockDim.x) {
                    float top = a[pivot * width + column], old[ROWS];
#pragma unroll
                    for (int k = 0; k < ROWS; k++)
                        old[k] = a[min(row + k, n - 1) * width + column];
#pragma unroll
                    for (int k = 0; k < ROWS; k++)
                        if (row + k < n)
                            a[(row + k) * width + column] = old[k] - factor[k] * top;
                }
            }
            __syncthreads();
        }
    }
}
