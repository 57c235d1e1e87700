// Tracking of points on the wall of a heart from frame to frame: a block has a point, and looks in the frame for the
// place where its template correlates best (normalised, in f64; nothing flat does). The template then follows the
// frame a little. Before it holds the best scores, the halves of that array hold the sums of the template's rows and
// of their squares.
#define BLOCK 256
#define MOST_SIDE 51
#define FLAT 1e-4

extern "C" __global__ void heartwall(const float *frame, int rows, int columns, float *templates, int side, int reach,
                                     int *point_rows, int *point_columns, float *scores, float keep)
{
    __shared__ float pattern[MOST_SIDE * MOST_SIDE];
    __shared__ float best[BLOCK];
    __shared__ unsigned short best_place[BLOCK];
    __shared__ double mean, spread;
    int t = threadIdx.x, point = blockIdx.x, elements = side * side, places = 2 * reach + 1;
    int top = point_rows[point] - side / 2 - reach, left = point_columns[point] - side / 2 - reach;
    float *own = templates + point * elements;

#pragma unroll 1
    for (int k = t; k < elements; k += BLOCK)
        pattern[k] = own[k];
    __syncthreads();
    if (t < side) {
        float sum = 0.0f, square = 0.0f;
#pragma unroll 1
        for (int c = 0; c < side; c++) {
            float value = pattern[t * side + c];
            sum += value;
            square += value * value;
        }
        best[t] = sum;
        best[t + BLOCK / 2] = square;
    }
    __syncthreads();
    if (t == 0) {
        double sum = 0, square = 0;
#pragma unroll 1
        for (int r = 0; r < side; r++) {
            sum += best[r];
            square += best[r + BLOCK / 2];
        }
        mean = sum / elements;
        spread = sqrt(square - sum * mean);
    }
    __syncthreads();

    float highest = -2.0f;
    int chosen = 0;
#pragma unroll 1
    for (int place = t; place < places * places; place += BLOCK) {
        int first_row = top + place / places, first_column = left + place % places;
        float sum = 0.0f, square = 0.0f, product = 0.0f;
#pragma unroll 1
        for (int r = 0; r < side; r++) {
            const float *line = frame + min(max(first_row + r, 0), rows - 1) * columns;
#pragma unroll 1
            for (int c = 0; c < side; c++) {
                float value = line[min(max(first_column + c, 0), columns - 1)];
                sum += value;
                square += value * value;
                product += value * pattern[r * side + c];
            }
        }
        double variance = square - (double)sum * sum / elements;
        float score = -1.0f;
        if (variance > FLAT * elements)
            score = (product - sum * mean) / (sqrt(variance) * spread);
        if (score > highest) {
            highest = score;
            chosen = place;
        }
    }
    best[t] = highest;
    best_place[t] = chosen;
    __syncthreads();
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (t < half && best[t + half] > best[t]) {
            best[t] = best[t + half];
            best_place[t] = best_place[t + half];
        }
        __syncthreads();
    }

    int row = top + best_place[0] / places, column = left + best_place[0] % places;
    if (t == 0) {
        point_rows[point] = row + side / 2;
        point_columns[point] = column + side / 2;
        scores[point] = best[0];
    }
#pragma unroll 1
    for (int k = t; k < elements; k += BLOCK) {
        int y = min(max(row + k / side, 0), rows - 1), x = min(max(column + k % side, 0), columns - 1);
        own[k] = keep * pattern[k] + (1.0f - keep) * frame[y * columns + x];
    }
}
