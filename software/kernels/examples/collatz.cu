// Steps of each number to 1 under n -> n / 2 or 3 n + 1: nested loops whose length each lane decides for itself.
extern "C" __global__ void collatz(const unsigned *start, int *steps, int n, int most)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned value = start[i];
    int count = 0;
#pragma unroll 1
    while (value > 1 && count < most) {
        if (value & 1) {
            value = 3 * value + 1;
            count++;
        } else {
#pragma unroll 1
            do {
                value >>= 1;
                count++;
            } while (!(value & 1));
        }
    }
    steps[i] = count;
}
