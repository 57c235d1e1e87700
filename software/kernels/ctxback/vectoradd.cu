// Vector addition in f32, four elements a thread and turn.
#define UNROLL 4

extern "C" __global__ void vectoradd(const float *a, const float *b, float *c, int n)
{
    int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i < n - (UNROLL - 1) * step; i += UNROLL * step) {
        float x[UNROLL], y[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            x[k] = a[i + k * step];
            y[k] = b[i + k * step];
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            c[i + k * step] = x[k] + y[k];
    }
#pragma unroll 1
    for (; i < n; i += step)
        c[i] = a[i] + b[i];
}
