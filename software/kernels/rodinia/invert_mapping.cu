// Points with their features to features with their points: a transposition, a thread a point.
extern "C" __global__ void invert_mapping(const float *points, float *features, int count, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
#pragma unroll 1
        for (int j = 0; j < length; j++)
            features[i + j * count] = points[i * length + j];
}
