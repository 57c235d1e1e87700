// Local response normalisation over five neighbouring channels (Krizhevsky et al. 2012), with the exponent 3/4 as two
// square roots: out = in / (k + alpha / 5 * sum of squares) ^ 3/4. A thread slides over the channels of a pixel, four a
// turn of the loop; two channels of border lie around those that count.
#include "work_items.h"

KERNEL(128, 1) lrn(__global const float *in, __global float *out, int channels, int pixels, float share, float k)
{
    int i = GROUP_X * 128 + X;
    __global const float *from = in + i;
    __global float *to = out + i;
    float back2 = from[0], back1 = from[pixels], here = from[2 * pixels], next = from[3 * pixels];
    float sum = back2 * back2 + back1 * back1 + here * here + next * next;
    from += 4 * pixels;
#pragma unroll 4
    for (int c = 0; c < channels; c++) {
        float last = *from;
        sum += last * last;
        float root = __builtin_amdgcn_rsqf(k + share * sum);
        *to = here * root * __builtin_amdgcn_sqrtf(root);
        sum -= back2 * back2;
        back2 = back1;
        back1 = here;
        here = next;
        next = last;
        from += pixels;
        to += pixels;
    }
}
