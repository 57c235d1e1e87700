// Where cells may be in an image: for each pixel the largest gradient inverse coefficient of variation (Ray and Acton
// 2004) of some circles around it, mean squared over variance of the gradient along the circle's normal. A block is a
// part of a column; images lie column by column. A circle is sampled at every `step`-th of 32 directions.
#define DIRECTIONS 32
#define QUARTER (DIRECTIONS / 4)
#define BORDER 22
#define LEAST_RADIUS 8

__constant__ float cosine[DIRECTIONS] = {
    1.0f, 0.980785251f, 0.923879504f, 0.831469595f, 0.707106769f, 0.555570245f, 0.382683426f, 0.195090324f,
    0.0f, -0.195090324f, -0.382683426f, -0.555570245f, -0.707106769f, -0.831469595f, -0.923879504f, -0.980785251f,
    -1.0f, -0.980785251f, -0.923879504f, -0.831469595f, -0.707106769f, -0.555570245f, -0.382683426f, -0.195090324f,
    0.0f, 0.195090324f, 0.382683426f, 0.555570245f, 0.707106769f, 0.831469595f, 0.923879504f, 0.980785251f};

extern "C" __global__ void gicov(int rows, const float *__restrict__ along_x, const float *__restrict__ along_y,
                                 float *result, int circles, int step)
{
    int x = blockIdx.x + BORDER, y = blockIdx.y * blockDim.x + threadIdx.x + BORDER;
    if (y >= rows - BORDER)
        return;
    float best = 0.0f;
#pragma unroll 1
    for (int k = 0; k < circles; k++) {
        float radius = LEAST_RADIUS + 2 * k, sum = 0.0f, mean = 0.0f, squares = 0.0f, count = 0.0f;
#pragma unroll 1
        for (int d = 0; d < DIRECTIONS; d += step) {
            float c = cosine[d], s = cosine[(d + DIRECTIONS - QUARTER) % DIRECTIONS];
            int place = (x + (int)(radius * c)) * rows + y + (int)(radius * s);
            float slope = along_x[place] * c + along_y[place] * s;
            float off = slope - mean;
            count += 1.0f;
            sum += slope;
            mean += off / count;
            squares += off * (slope - mean);
        }
        float average = sum / count, variance = squares / (count - 1.0f);
        float score = average * average / variance;
        if (score > best)
            best = score;
    }
    result[x * rows + y] = best;
}
