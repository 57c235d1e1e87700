// y = a x + y in f32: a grid-stride loop, so that a thread does several elements.
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
