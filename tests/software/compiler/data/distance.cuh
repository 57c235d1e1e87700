// Device functions that nvcc inlines into the kernel of norms.cu.

__device__ __forceinline__ float square(float x)
{
    return x * x;
}

__device__ __forceinline__ float distance(const float *a, const float *b, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += square(a[i] - b[i]);
    return sum;
}
