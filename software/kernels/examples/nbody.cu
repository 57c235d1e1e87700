// Accelerations of bodies by gravity, in f64: a square root and a division in every turn of the loop.
extern "C" __global__ void nbody(const double *x, const double *y, const double *z, const float *mass, double *ax,
                                 double *ay, double *az, float *speed, int bodies, int sources, double softening)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bodies)
        return;
    double px = x[i], py = y[i], pz = z[i];
    double sx = 0, sy = 0, sz = 0;
#pragma unroll 1
    for (int j = 0; j < sources; j++) {
        double dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
        double square = dx * dx + dy * dy + dz * dz + softening;
        double scale = mass[j] / (square * sqrt(square));
        sx += dx * scale;
        sy += dy * scale;
        sz += dz * scale;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
    speed[i] = sqrtf((float)(sx * sx + sy * sy + sz * sz));
}
