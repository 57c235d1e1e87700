// Local response normalisation over five neighbouring channels (Krizhevsky et al. 2012), with the exponent 3/4 as two
// square roots: out = in / (k + alpha / 5 * sum of squares) ^ 3/4. A thread goes over the channels of a pixel, four a
// turn of the loop; two channels of border lie around those that count.
#include "work_items.h"
#define UNROLL 4

KERNEL(128, 1) lrn(__global const float *restrict in, __global float *restrict out, int channels, int pixels,
                   float share, float k)
{
    int i = GROUP_X * 128 + X;
    float back2 = in[i], back1 = in[i + pixels], here = in[i + 2 * pixels], next = in[i + 3 * pixels];
#pragma unroll 1
    for (int c = 0; c < channels; c += UNROLL)
#pragma unroll
        for (int n = 0; n < UNROLL; n++) {
            float last = in[i + 4 * pixels];
            float sum = back2 * back2 + back1 * back1 + here * here + next * next + last * last;
            float root = __builtin_amdgcn_rsqf(k + share * sum);
            out[i] = here * root * __builtin_amdgcn_sqrtf(root);
            back2 = back1;
            back1 = here;
            here = next;
            next = last;
            i += pixels;
        }
}
