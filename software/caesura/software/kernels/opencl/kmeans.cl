// The assignment step of k-means: each point gets the number of the nearest of the centres. A thread keeps four points
// of eight features and goes over the centres, four a turn of the loop; features of all points lie together.
#include "work_items.h"
#define FEATURES 8
#define POINTS 4

KERNEL(64, 1) kmeans(__global const float *features, __global const float *centres, __global int *nearest, int points,
                     int clusters, int step)
{
    int first = GROUP_X * 64 + X;
    float feature[POINTS][FEATURES], least[POINTS];
    int best[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        least[p] = 3.4e38f;
        best[p] = -1;
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            feature[p][f] = features[f * points + first + p * step];
    }
#pragma unroll 4
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
        for (int p = 0; p < POINTS; p++) {
            best[p] = distance[p] < least[p] ? c : best[p];
            least[p] = __builtin_fminf(distance[p], least[p]);
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        nearest[first + p * step] = best[p];
}
