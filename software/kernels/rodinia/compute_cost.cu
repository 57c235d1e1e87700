// Clustering of a stream: what opening a centre at one point would save. Each point compares its cost with what it would
// pay there: it would change over, or leave its own centre that much harder to close. Coordinates lie dimension by
// dimension.
struct Point {
    float weight;
    int centre;
    float cost;
};

extern "C" __global__ void compute_cost(int count, int dimensions, int candidate, const Point *points, int centres,
                                        const float *coordinates, float *work, const int *slot_of,
                                        unsigned char *changes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float *own = work + i * (centres + 1);
    float distance = 0.0f;
#pragma unroll 1
    for (int d = 0; d < dimensions; d++) {
        float apart = coordinates[d * count + i] - coordinates[d * count + candidate];
        distance += apart * apart;
    }
    float there = distance * points[i].weight, here = points[i].cost;
    if (there < here) {
        changes[i] = 1;
        own[centres] += there - here;
    } else {
        own[slot_of[points[i].centre]] += here - there;
    }
}
