// Weights of a layer after back-propagation: each moves along its gradient and by a share of its last move. A block of
// 16 x 16 threads has the weights of 16 inputs to 16 units; the first also those of the bias. The rates are f64.
#define SIDE 16
#define RATE 0.3
#define MOMENTUM 0.3

extern "C" __global__ void adjust_weight(const float *delta, int hidden, const float *input, float *weights,
                                         float *moves)
{
    int unit = threadIdx.x + 1, source = blockIdx.y * SIDE + threadIdx.y + 1;
    int index = source * (hidden + 1) + unit;
    double move = RATE * delta[unit] * input[source] + MOMENTUM * moves[index];
    weights[index] += move;
    moves[index] = move;
    __syncthreads();
    if (threadIdx.y == 0 && blockIdx.y == 0) {
        double bias = RATE * delta[unit] + MOMENTUM * moves[unit];
        weights[unit] += bias;
        moves[unit] = bias;
    }
}
