// Q matrix of non-Cartesian MRI reconstruction: each thread sums cosines and sines over samples of k-space. TB of 256.
extern "C" __global__ void mriq(int samples, const float4 *k, const float *x, const float *y, const float *z,
                                float *real, float *imaginary)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i], re = 0, im = 0;
#pragma unroll 1
    for (int s = 0; s < samples; s++) {
        float4 v = k[s];
        float angle = 6.2831853071795864769f * (v.x * px + v.y * py + v.z * pz);
        re += v.w * __cosf(angle);
        im += v.w * __sinf(angle);
    }
    real[i] = re;
    imaginary[i] = im;
}
