// Sums of fractions of 64-bit integers, reduced by their greatest common divisor, and their values in f64: quotients and
// remainders of signed and unsigned 64-bit numbers.
extern "C" __global__ void fractions(const long long *tops, const unsigned long long *bottoms, long long *sums,
                                     double *values, int terms, int count)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count)
        return;
    long long top = 0;
    unsigned long long bottom = 1;
#pragma unroll 1
    for (int t = 0; t < terms; t++) {
        long long other = tops[k * terms + t];
        unsigned long long under = bottoms[k * terms + t] | 1, a = bottom, b = under;
        while (b) {
            unsigned long long rest = a % b;
            a = b;
            b = rest;
        }
        top = top * (long long)(under / a) + other * (long long)(bottom / a);
        bottom = bottom / a * under;
        if (bottom >> 40) {
            top /= 4096;
            bottom /= 4097;
            bottom += !bottom;
        }
        values[k * terms + t] = (double)top / (double)bottom;
    }
    sums[3 * k] = top / (long long)bottom;
    sums[3 * k + 1] = top % (long long)bottom;
    sums[3 * k + 2] = (long long)(bottom % 1000003ULL);
}
