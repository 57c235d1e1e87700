// Lattice-Boltzmann method, D3Q19: a step streams 19 densities of each cell in, relaxes them (BGK), and stores them. The
// densities of one direction lie together, and the lattice is periodic. Solid cells turn the densities round. A TB is a
// row of cells, a thread is a cell; the originals have 120.
extern "C" __global__ void lbm(const float *from, float *to, const int *solid, float omega)
{
    constexpr int ex[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    constexpr int ey[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    constexpr int ez[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    constexpr int back[19] = {0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17};
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, nx = blockDim.x, ny = gridDim.x, nz = gridDim.y;
    int west = x ? x - 1 : nx - 1, east = x < nx - 1 ? x + 1 : 0;
    int north = (y ? y - 1 : ny - 1), south = (y < ny - 1 ? y + 1 : 0);
    int below = (z ? z - 1 : nz - 1), above = (z < nz - 1 ? z + 1 : 0);
    int cells = nx * ny * nz, cell = (z * ny + y) * nx + x;
    float f[19], density = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
    for (int d = 0; d < 19; d++) {
        int xs = ex[d] > 0 ? west : ex[d] < 0 ? east : x, ys = ey[d] > 0 ? north : ey[d] < 0 ? south : y;
        int zs = ez[d] > 0 ? below : ez[d] < 0 ? above : z;
        f[d] = from[d * cells + (zs * ny + ys) * nx + xs];
        density += f[d];
        ux += ex[d] * f[d];
        uy += ey[d] * f[d];
        uz += ez[d] * f[d];
    }
    ux /= density;
    uy /= density;
    uz /= density;
    float square = 1.5f * (ux * ux + uy * uy + uz * uz);
    bool stands = solid[cell] != 0;
#pragma unroll
    for (int d = 0; d < 19; d++) {
        float weight = d == 0 ? 1.0f / 3 : d < 7 ? 1.0f / 18 : 1.0f / 36;
        float along = ex[d] * ux + ey[d] * uy + ez[d] * uz;
        float equal = weight * density * (1 + 3 * along + 4.5f * along * along - square);
        to[d * cells + cell] = stands ? f[back[d]] : f[d] + omega * (equal - f[d]);
    }
}
