// Fluxes of mass, momentum and energy over the four faces of each cell (3-D Euler equations, unstructured grid): the
// mean of both sides with a smoothing by the waves' speed, the pressure alone at a wall (-1), the mean with the
// undisturbed flow (Mach 1.2 along x) at the far field (-2).
#define GAMMA 1.4f
#define SMOOTHING 0.2f
#define FACES 4

struct Cell {
    float density, mx, my, mz, energy;
    float vx, vy, vz, pressure, speed, sound;
};

__device__ __forceinline__ Cell derived(float density, float mx, float my, float mz, float energy)
{
    Cell c = {density, mx, my, mz, energy, mx / density, my / density, mz / density, 0.0f, 0.0f, 0.0f};
    float square = c.vx * c.vx + c.vy * c.vy + c.vz * c.vz;
    c.pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    c.speed = sqrtf(square);
    c.sound = sqrtf(GAMMA * c.pressure / density);
    return c;
}

__device__ __forceinline__ Cell cell(const float *state, int cells, int i)
{
    return derived(state[i], state[i + cells], state[i + 2 * cells], state[i + 3 * cells], state[i + 4 * cells]);
}

// Add what half of a state brings over a face of normal (x, y, z).
__device__ __forceinline__ void transport(float *flux, const Cell &c, float x, float y, float z)
{
    float volume = 0.5f * (c.vx * x + c.vy * y + c.vz * z), push = 0.5f * c.pressure;
    flux[0] += volume * c.density;
    flux[1] += volume * c.mx + push * x;
    flux[2] += volume * c.my + push * y;
    flux[3] += volume * c.mz + push * z;
    flux[4] += volume * (c.energy + c.pressure);
}

extern "C" __global__ void compute_flux(int cells, const int *neighbours, const float *normals, const float *state,
                                        float *fluxes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Cell own = cell(state, cells, i);
    float flux[5] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int j = 0; j < FACES; j++) {
        int other = neighbours[i + j * cells];
        float x = normals[i + j * cells], y = normals[i + (j + FACES) * cells];
        float z = normals[i + (j + 2 * FACES) * cells];
        if (other >= 0) {
            Cell c = cell(state, cells, other);
            float length = sqrtf(x * x + y * y + z * z);
            float waves = own.speed + c.speed + own.sound + c.sound;
            float smooth = -length * (0.5f * SMOOTHING) * waves;
            flux[0] += smooth * (own.density - c.density);
            flux[1] += smooth * (own.mx - c.mx);
            flux[2] += smooth * (own.my - c.my);
            flux[3] += smooth * (own.mz - c.mz);
            flux[4] += smooth * (own.energy - c.energy);
            transport(flux, c, x, y, z);
            transport(flux, own, x, y, z);
        } else if (other == -1) {
            flux[1] += own.pressure * x;
            flux[2] += own.pressure * y;
            flux[3] += own.pressure * z;
        } else {
            transport(flux, derived(1.4f, 1.68f, 0.0f, 0.0f, 3.508f), x, y, z);
            transport(flux, own, x, y, z);
        }
    }
#pragma unroll
    for (int k = 0; k < 5; k++)
        fluxes[i + k * cells] = flux[k];
}
