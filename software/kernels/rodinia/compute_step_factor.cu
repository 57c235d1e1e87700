// Time step of each cell of an inviscid flow over its volume: what a wave needs to cross it, halved.
#define GAMMA 1.4f

extern "C" __global__ void compute_step_factor(int cells, const float *state, const float *areas, float *factors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float density = state[i], energy = state[i + 4 * cells];
    float x = state[i + cells] / density, y = state[i + 2 * cells] / density, z = state[i + 3 * cells] / density;
    float square = x * x + y * y + z * z;
    float pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    float sound = sqrtf(GAMMA * pressure / density);
    factors[i] = 0.5f / (sqrtf(areas[i]) * (sqrtf(square) + sound));
}
