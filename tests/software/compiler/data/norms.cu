// nvcc -ptx -lineinfo -arch=sm_75 -O3 norms.cu -o norms.ptx && sed -i "s,$PWD/,," norms.ptx
#include "distance.cuh"

extern "C" __global__ void norms(const float *points, const float *centre, float *result, int dimensions, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    result[i] = distance(points + i * dimensions, centre, dimensions);
}
