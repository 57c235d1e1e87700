// Speckle-reducing anisotropic diffusion, first step: pixels of 0 to 255 become exponentials. TB of 512.
extern "C" __global__ void extract(int count, float *image)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        image[i] = __expf(image[i] / 255.0f);
}
