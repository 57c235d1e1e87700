// Local response normalisation over five neighbouring channels (Krizhevsky et al. 2012), with the exponent 3/4 as two
// square roots: out = in / (k + alpha / 5 * sum of squares) ^ 3/4. A thread slides over the channels of a pixel.
extern "C" __global__ void lrn(const float *in, float *out, int channels, int pixels, float share, float k)
{
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
        float back2 = 0.0f, back1 = 0.0f, here = in[i];
        float next = channels > 1 ? in[i + pixels] : 0.0f;
        float sum = here * here + next * next;
#pragma unroll 1
        for (int c = 0; c < channels; c++) {
            float last = c + 2 < channels ? in[i + (c + 2) * pixels] : 0.0f;
            sum += last * last;
            float scale = sqrtf(k + share * sum);
            out[i + c * pixels] = here / (scale * sqrtf(scale));
            sum -= back2 * back2;
            back2 = back1;
            back1 = here;
            here = next;
            next = last;
        }
    }
}
