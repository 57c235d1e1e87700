// The state of the undisturbed flow (Mach 1.2 along x) in every cell: density, momentum, energy density.
#define VARIABLES 5

__constant__ float far_field[VARIABLES] = {1.4f, 1.68f, 0.0f, 0.0f, 3.508f};

extern "C" __global__ void initialize_variable(int cells, float *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int j = 0; j < VARIABLES; j++)
        state[i + j * cells] = far_field[j];
}
