// Cutoff Coulomb potential on a lattice: atoms near a region come into shared memory in parts, and each thread of a TB
// of 128 sums charge / r * (1 - r^2 / cutoff^2)^2 at one point of each of four planes of a region of 16 x 8 x 4.
#define PART 128
extern "C" __global__ void cutcp(int atoms, const float4 *atom, float spacing, float cutoff2, float inverse_cutoff2,
                                 float *potential)
{
    __shared__ float4 part[PART];
    int t = threadIdx.x, region = blockIdx.x;
    float x = spacing * (16 * region + (t & 15)), y = spacing * (t >> 4), sum[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int first = 0; first < atoms; first += PART) {
        __syncthreads();
        part[t] = atom[first + t];
        __syncthreads();
#pragma unroll 1
        for (int a = 0; a < PART; a++) {
            float4 v = part[a];
            float dx = v.x - x, dy = v.y - y, flat = dx * dx + dy * dy;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float dz = v.z - spacing * k, r2 = flat + dz * dz, s = 1.0f - r2 * inverse_cutoff2;
                if (r2 < cutoff2)
                    sum[k] += v.w * rsqrtf(r2) * s * s;
            }
        }
    }
    for (int k = 0; k < 4; k++)
        potential[512 * region + 128 * k + t] = sum[k];
}
