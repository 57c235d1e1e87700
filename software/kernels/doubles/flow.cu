// Fluxes between the cells of an unstructured mesh in f64, in the spirit of Rodinia's euler3d_double: each neighbour's
// velocity, pressure, speed of sound and artificial viscosity anew.
#define NEIGHBOURS 4
#define VARIABLES 5
#define GAMMA 1.4

struct flow_state { double density, energy, mx, my, mz; };

__device__ static double pressure_of(flow_state s, double *vx, double *vy, double *vz)
{
    *vx = s.mx / s.density;
    *vy = s.my / s.density;
    *vz = s.mz / s.density;
    return (GAMMA - 1.0) * (s.energy - 0.5 * s.density * (*vx * *vx + *vy * *vy + *vz * *vz));
}

__device__ static flow_state state_of(const double *v, int cell, int cells)
{
    return { v[cell], v[cell + 4 * cells], v[cell + cells], v[cell + 2 * cells], v[cell + 3 * cells] };
}

extern "C" __global__ void flow(int cells, const int *neighbours, const double *normals, const double *variables,
                                double *fluxes)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    flow_state own = state_of(variables, cell, cells);
    double vx, vy, vz;
    double pressure = pressure_of(own, &vx, &vy, &vz);
    double speed = sqrt(vx * vx + vy * vy + vz * vz), sound = sqrt(GAMMA * pressure / own.density);
    double flux[VARIABLES] = {};
#pragma unroll
    for (int j = 0; j < NEIGHBOURS; j++) {
        int other = neighbours[cell + j * cells];
        double nx = normals[cell + (3 * j) * cells], ny = normals[cell + (3 * j + 1) * cells], nz = normals[cell + (3 * j + 2) * cells];
        double area = sqrt(nx * nx + ny * ny + nz * nz);
        if (other >= 0) {
            flow_state s = state_of(variables, other, cells);
            double ux, uy, uz;
            double p = pressure_of(s, &ux, &uy, &uz);
            double c = sqrt(GAMMA * p / s.density);
            double factor = -area * 0.2 * 0.5 * (speed + sqrt(ux * ux + uy * uy + uz * uz) + sound + c);
            double across = 0.5 * (nx * (vx + ux) + ny * (vy + uy) + nz * (vz + uz));
            flux[0] += factor * (own.density - s.density) + across * 0.5 * (own.density + s.density);
            flux[1] += factor * (own.energy - s.energy) + across * 0.5 * (own.energy + s.energy + pressure + p);
            flux[2] += factor * (own.mx - s.mx) + across * 0.5 * (own.mx + s.mx) + nx * 0.5 * (pressure + p);
            flux[3] += factor * (own.my - s.my) + across * 0.5 * (own.my + s.my) + ny * 0.5 * (pressure + p);
            flux[4] += factor * (own.mz - s.mz) + across * 0.5 * (own.mz + s.mz) + nz * 0.5 * (pressure + p);
        } else if (other == -1) {
            flux[2] += nx * pressure;
            flux[3] += ny * pressure;
            flux[4] += nz * pressure;
        } else {
            double mach = speed / sound, total = pressure * pow(1.0 + 0.2 * mach * mach, 3.5);
            flux[0] += area * total / (1.0 + sound);
            flux[1] += area * (total + own.energy) / own.density;
            flux[2] += nx * total;
        }
    }
    for (int k = 0; k < VARIABLES; k++)
        fluxes[cell + k * cells] = flux[k] / (speed + sound);
}
