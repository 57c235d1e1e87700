// Seven-point stencil in 3-D. A TB of 32 x 4 walks along z; each thread computes two columns of cells. The middle plane
// lies in shared memory. nx is a multiple of 64, and ny of 4. Cells at the edge are left alone.
#define TX 32
#define TY 4
extern "C" __global__ void stencil(float c0, float c1, const float *from, float *to, int nx, int ny, int nz)
{
    __shared__ float plane[TY][2 * TX];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = 2 * TX * blockIdx.x + tx, y = TY * blockIdx.y + ty, size = nx * ny;
    int column = nx * y + x0;
    float low[2] = {from[column], from[column + TX]};
    float mid[2] = {from[column + size], from[column + size + TX]};
#pragma unroll 1
    for (int z = 1; z < nz - 1; z++) {
        int here = size * z + column;
        float high[2] = {from[here + size], from[here + size + TX]};
        plane[ty][tx] = mid[0];
        plane[ty][tx + TX] = mid[1];
        __syncthreads();
        for (int k = 0; k < 2; k++) {
            int t = tx + k * TX, x = x0 + k * TX, i = here + k * TX;
            if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
                float west = t > 0 ? plane[ty][t - 1] : from[i - 1];
                float east = t < 2 * TX - 1 ? plane[ty][t + 1] : from[i + 1];
                float north = ty > 0 ? plane[ty - 1][t] : from[i - nx];
                float south = ty < TY - 1 ? plane[ty + 1][t] : from[i + nx];
                to[i] = c1 * (high[k] + low[k] + north + south + west + east) - c0 * mid[k];
            }
        }
        __syncthreads();
        low[0] = mid[0]; low[1] = mid[1];
        mid[0] = high[0]; mid[1] = high[1];
    }
}
