// Pixels of three bytes to three planes of signed samples. A block stages its bytes in shared memory, so that they are
// read in order.
#define BLOCK 256

extern "C" __global__ void copy_src_to_components(int *red, int *green, int *blue, const unsigned char *source,
                                                  int pixels)
{
    __shared__ unsigned char staged[3 * BLOCK];
    int t = threadIdx.x, first = blockIdx.x * BLOCK;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        int byte = 3 * first + t + k * BLOCK;
        if (byte < 3 * pixels)
            staged[t + k * BLOCK] = source[byte];
    }
    __syncthreads();
    int pixel = first + t;
    if (pixel < pixels) {
        red[pixel] = staged[3 * t] - 128;
        green[pixel] = staged[3 * t + 1] - 128;
        blue[pixel] = staged[3 * t + 2] - 128;
    }
}
