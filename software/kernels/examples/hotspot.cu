// Temperature of a chip, explicit 2-D stencil in f32. Each block advances a 16 x 16 patch with its halo in shared
// memory by `steps` steps, of which the inner (16 - 2 steps) x (16 - 2 steps) cells are its result. Beyond the edge
// of the chip a cell has the temperature of its neighbour. The factors of the step come divided already.
#define SIDE 16

extern "C" __global__ void hotspot(const float *power, const float *from, float *to, int columns, int rows,
                                   int steps, float step, float inverse_x, float inverse_y, float inverse_z,
                                   float ambient)
{
    __shared__ float now[SIDE][SIDE];
    __shared__ float heat[SIDE][SIDE];
    __shared__ float next[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int side = SIDE - 2 * steps;
    int top = side * blockIdx.y - steps, left = side * blockIdx.x - steps;
    int y = top + ty, x = left + tx;
    bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
    if (inside) {
        now[ty][tx] = from[columns * y + x];
        heat[ty][tx] = power[columns * y + x];
    }
    __syncthreads();

    int y_min = top < 0 ? -top : 0, x_min = left < 0 ? -left : 0;
    int y_max = min(SIDE - 1, rows - 1 - top), x_max = min(SIDE - 1, columns - 1 - left);
    int north = max(ty - 1, y_min), south = min(ty + 1, y_max);
    int west = max(tx - 1, x_min), east = min(tx + 1, x_max);

    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= SIDE - 2 - i && ty >= i + 1 && ty <= SIDE - 2 - i && inside) {
            computed = true;
            float t = now[ty][tx];
            next[ty][tx] = t + step * (heat[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * t) * inverse_y
                                       + (now[ty][east] + now[ty][west] - 2.0f * t) * inverse_x
                                       + (ambient - t) * inverse_z);
        }
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed)
        to[columns * y + x] = next[ty][tx];
}
