// Speckle-reducing anisotropic diffusion, first half of a step by tiles: differences of each pixel to its neighbours,
// and its diffusion coefficient. A tile lies in shared memory. TB of 16 x 16; sides are multiples of 16.
#define SIDE 16
extern "C" __global__ void srad_cuda_1(float *east, float *west, float *north, float *south, float *coefficient,
                                       const float *image, int columns, int rows, float speckle)
{
    __shared__ float tile[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = SIDE * blockIdx.x + tx, y = SIDE * blockIdx.y + ty, i = columns * y + x;
    float here = image[i];
    tile[ty][tx] = here;
    __syncthreads();
    float n = (ty > 0 ? tile[ty - 1][tx] : image[columns * max(y - 1, 0) + x]) - here;
    float s = (ty < SIDE - 1 ? tile[ty + 1][tx] : image[columns * min(y + 1, rows - 1) + x]) - here;
    float w = (tx > 0 ? tile[ty][tx - 1] : image[columns * y + max(x - 1, 0)]) - here;
    float e = (tx < SIDE - 1 ? tile[ty][tx + 1] : image[columns * y + min(x + 1, columns - 1)]) - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplacian = (n + s + w + e) / here;
    float denominator = 1 + 0.25f * laplacian;
    float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (denominator * denominator);
    float c = 1.0f / (1.0f + (variation - speckle) / (speckle * (1 + speckle)));
    east[i] = e;
    west[i] = w;
    north[i] = n;
    south[i] = s;
    coefficient[i] = fminf(fmaxf(c, 0.0f), 1.0f);
}
