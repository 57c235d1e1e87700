// Normalised correlation of a template with every place of a frame, in f64, refined by a parabola through the best place
// and its neighbours, in the spirit of Rodinia's heartwall.
#define SIDE 8

extern "C" __global__ void correlation(const double *frame, int rows, int columns, const double *pattern, double *scores,
                                       double *shifts)
{
    int place = blockIdx.x * blockDim.x + threadIdx.x, across = columns - SIDE - 2, down = rows - SIDE - 2;
    if (place >= across * down)
        return;
    int row = place / across + 1, column = place % across + 1;
    double best[5];
#pragma unroll
    for (int k = 0; k < 5; k++) {
        int y = row + (k == 3) - (k == 4), x = column + (k == 1) - (k == 2);
        double sum = 0.0, square = 0.0, product = 0.0, mean = 0.0, spread = 0.0;
#pragma unroll 1
        for (int e = 0; e < SIDE * SIDE; e++) {
            double value = frame[(y + e / SIDE) * columns + x + e % SIDE], p = pattern[e];
            sum += value;
            square += value * value;
            product += value * p;
            mean += p;
            spread += p * p;
        }
        double n = SIDE * SIDE, variance = square - sum * sum / n, other = spread - mean * mean / n;
        best[k] = variance * other > 0.0 ? (product - sum * mean / n) / (sqrt(variance) * sqrt(other)) : -1.0;
    }
    double dx = 0.5 * (best[1] - best[2]) / (2.0 * best[0] - best[1] - best[2]);
    double dy = 0.5 * (best[3] - best[4]) / (2.0 * best[0] - best[3] - best[4]);
    scores[place] = best[0] + 0.25 * (dx * (best[1] - best[2]) + dy * (best[3] - best[4]));
    shifts[2 * place] = atan2(dy, dx) / 3.14159265358979323846;
    shifts[2 * place + 1] = hypot(dx, dy);
}
