// The assignment step of k-means: each point gets the number of the nearest of the centres. A thread takes `turns`
// points, four at a time, and goes over the features of each centre, eight a turn of the innermost loop; features of all
// points lie together.
#include "work_items.h"
#define POINTS 4
#define UNROLL 8

KERNEL(64, 1) kmeans(__global const float *restrict features, __global const float *restrict centres,
                     __global int *restrict nearest, int points, int clusters, int dimensions, int step)
{
    int first = GROUP_X * 64 + X;
    float least[POINTS] = {3.4e38f, 3.4e38f, 3.4e38f, 3.4e38f};
    int best[POINTS] = {-1, -1, -1, -1};
#pragma unroll 1
    for (int c = 0; c < clusters; c++) {
        float distance[POINTS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
        for (int f = 0; f < dimensions; f += UNROLL) {
            float feature[UNROLL][POINTS];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
#pragma unroll
                for (int p = 0; p < POINTS; p++)
                    feature[k][p] = features[(f + k) * points + first + p * step];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
#pragma unroll
                for (int p = 0; p < POINTS; p++) {
                    float away = feature[k][p] - centres[c * dimensions + f + k];
                    distance[p] += away * away;
                }
        }
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            best[p] = distance[p] < least[p] ? c : best[p];
            least[p] = __builtin_fminf(distance[p], least[p]);
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        nearest[first + p * step] = best[p];
}
