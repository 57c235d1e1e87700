// Speckle-reducing anisotropic diffusion (Yu and Acton 2002), first half of a step: differences of each pixel, stored by
// columns, to its four neighbours, and its diffusion coefficient from the local coefficient of variation; partly f64.
extern "C" __global__ void srad(int rows, int columns, const int *north_of, const int *south_of, const int *west_of,
                                const int *east_of, float *north, float *south, float *west, float *east, float speckle,
                                float *coefficient, const float *image)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    int row = i % rows, column = i / rows;
    float here = image[i];
    float n = image[north_of[row] + rows * column] - here, s = image[south_of[row] + rows * column] - here;
    float w = image[row + rows * west_of[column]] - here, e = image[row + rows * east_of[column]] - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float numerator = 0.5 * gradient - (1.0 / 16.0) * (laplacian * laplacian);
    float denominator = 1 + 0.25 * laplacian;
    float variation = numerator / (denominator * denominator);
    denominator = (variation - speckle) / (speckle * (1 + speckle));
    float c = 1.0 / (1.0 + denominator);
    north[i] = n;
    south[i] = s;
    west[i] = w;
    east[i] = e;
    coefficient[i] = c < 0 ? 0 : c > 1 ? 1 : c;
}
