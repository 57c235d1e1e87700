// Speckle-reducing anisotropic diffusion, second half of a step by tiles: the divergence of the weighted differences
// is added to each pixel. The coefficients of a tile lie in shared memory. TB of 16 x 16; sides are multiples of 16.
#define SIDE 16
extern "C" __global__ void srad_cuda_2(const float *east, const float *west, const float *north, const float *south,
                                       const float *coefficient, float *image, int columns, int rows, float lambda)
{
    __shared__ float c[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = SIDE * blockIdx.x + tx, y = SIDE * blockIdx.y + ty;
    int i = columns * y + x;
    c[ty][tx] = coefficient[i];
    __syncthreads();
    float here = c[ty][tx];
    float below = ty < SIDE - 1 ? c[ty + 1][tx] : coefficient[columns * min(y + 1, rows - 1) + x];
    float right = tx < SIDE - 1 ? c[ty][tx + 1] : coefficient[columns * y + min(x + 1, columns - 1)];
    float divergence = here * north[i] + below * south[i] + here * west[i] + right * east[i];
    image[i] += 0.25f * lambda * divergence;
}
