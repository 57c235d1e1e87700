// Prices of European options (Black and Scholes 1973), the normal distribution by a polynomial (Abramowitz and Stegun
// 26.2.17). A grid strides over the options. TB of 128.
__device__ float normal(float d)
{
    float t = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d)
        * (t * (0.31938153f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(float *call, float *put, const float *price, const float *strike,
                                        const float *years, float rate, float volatility, int count)
{
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
        float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal(d1), n2 = normal(d2), discounted = x * __expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
