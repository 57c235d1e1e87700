// A step of a particle filter in f64, in the spirit of Rodinia's particlefilter: particles move with normal noise of
// their own (a linear congruential generator, Box and Muller), and are weighed against an image; weights are normalised by
// their sum over the thread block.
#define BLOCK 128
#define POINTS 8
#define PI 3.14159265358979323846

__device__ static double uniform(int *seed)
{
    long long next = (1103515245LL * *seed + 12345) % 2147483647LL;
    *seed = (int)next;
    return fabs(next / 2147483647.0);
}

__device__ static double normal(int *seed)
{
    double u = uniform(seed), v = uniform(seed);
    return sqrt(-2.0 * log(u + 1e-12)) * cos(2.0 * PI * v);
}

extern "C" __global__ void particles(double *xs, double *ys, double *weights, int *seeds, const double *image, int width,
                                     int height, const int *offsets, int count)
{
    __shared__ double total[BLOCK];
    int t = threadIdx.x, k = blockIdx.x * BLOCK + t;
    double weight = 0.0;
    if (k < count) {
        int seed = seeds[k];
        double x = xs[k] + 1.0 + 5.0 * normal(&seed), y = ys[k] - 2.0 + 2.0 * normal(&seed);
        double likelihood = 0.0;
#pragma unroll 1
        for (int p = 0; p < POINTS; p++) {
            long long at = (long long)rint(x + offsets[2 * p]) * height + (long long)rint(y + offsets[2 * p + 1]);
            long long inside = at < 0 ? -at % ((long long)width * height) : at % ((long long)width * height);
            double value = image[inside];
            likelihood += (pow(value - 100.0, 2.0) - pow(value - 228.0, 2.0)) / 50.0;
        }
        likelihood /= POINTS;
        weight = weights[k] * exp(likelihood / (1.0 + sqrt(x * x + y * y)));
        xs[k] = x;
        ys[k] = y;
        seeds[k] = seed;
    }
    total[t] = weight;
    __syncthreads();
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (t < half)
            total[t] += total[t + half];
        __syncthreads();
    }
    if (k < count)
        weights[k] = weight / total[0];
}
