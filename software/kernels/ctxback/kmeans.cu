// The assignment step of k-means: each point gets the number of the nearest of the centres. A thread keeps four points
// of eight features and goes over the centres; features of all points lie together.
#define FEATURES 8
#define POINTS 4

extern "C" __global__ void kmeans(const float *features, const float *centres, int *nearest, int points, int clusters)
{
    int step = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int first = blockIdx.x * blockDim.x + threadIdx.x; first < points; first += POINTS * step) {
        float feature[POINTS][FEATURES], least[POINTS];
        int best[POINTS];
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            least[p] = 3.4e38f;
            best[p] = -1;
#pragma unroll
            for (int f = 0; f < FEATURES; f++)
                feature[p][f] = features[f * points + min(first + p * step, points - 1)];
        }
#pragma unroll 1
        for (int c = 0; c < clusters; c++) {
            float distance[POINTS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
            for (int f = 0; f < FEATURES; f++) {
                float centre = centres[c * FEATURES + f];
#pragma unroll
                for (int p = 0; p < POINTS; p++) {
                    float away = feature[p][f] - centre;
                    distance[p] += away * away;
                }
            }
#pragma unroll
            for (int p = 0; p < POINTS; p++)
                if (distance[p] < least[p]) {
                    least[p] = distance[p];
                    best[p] = c;
                }
        }
#pragma unroll
        for (int p = 0; p < POINTS; p++)
            if (first + p * step < points)
                nearest[first + p * step] = best[p];
    }
}
