// Kernels with the control flow that compilers make: nvcc -ptx -arch=sm_75 -lineinfo control.cu -o control.ptx
extern "C" __global__ void cases(const int *a, int *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = a[i], r = 0;
    switch ((v & 0x7fffffff) % 13) {
    case 0: r = v * 3; break;
    case 1: r = v ^ 7; break;
    case 2: r = v << 3; break;
    case 3: r = v + n;
    case 4: r += 9; break;
    case 5: r = v * v; break;
    case 6: r = -v; break;
    case 7: r = a[v & 31]; break;
    case 8: r = a[(v & 31) + 1] * 2; break;
    case 9: for (int k = 0; k < (v & 15); k++) r += a[k]; break;
    default: r = 1;
    }
    o[i] = r;
}

extern "C" __global__ void nest(const int *a, int *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
    for (int x = 0; x < n; x++) {
        int v = a[(i + x) & 63];
        if (v & 1) {
            if (v & 2) {
                for (int k = 0; k < (v & 7); k++) {
                    if ((k ^ v) & 4) continue;
                    r += k * v;
                    if (r > 3000) goto out;
                }
            } else {
                r ^= v;
            }
        } else if (v & 4) {
            r -= v;
            if (v & 8) break;
        } else {
            while (v > 0) {
                v -= 3;
                r += v;
                if ((r & 31) == 5) { r += 2; break; }
            }
        }
        if (r < -1000) return;
    }
out:
    o[i] = r;
}

extern "C" __global__ void collatz(const unsigned *a, unsigned *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = a[i];
    unsigned s = 0;
    while (v != 1) {
        if (v & 1) v = 3 * v + 1; else v >>= 1;
        s++;
        if (s > 100) break;
    }
    o[i] = s;
}

extern "C" __global__ void mixed(const unsigned char *a, short *o, long long *p, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    short s = 0;
    long long q = i;
    for (int k = 0; k < m; k++) {
        if ((a[k] + i) & 1) {
            s += a[k] * 3;
            for (int j = 0; j < (a[i] & 7); j++) q += (q << (j & 63)) ^ (q * k);
        } else {
            s -= a[k];
            if (q > m * 100000LL) break;
            q >>= 3;
        }
    }
    o[i] = s / 7;
    p[i] = q;
    if (q < 0) return;
    p[i + n] = q < m ? q : m;
}

extern "C" __global__ void __launch_bounds__(128) bitonic(int *d) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = d[blockIdx.x * 128 + t];
#pragma unroll 1
    for (int k = 2; k <= 128; k <<= 1)
#pragma unroll 1
        for (int j = k >> 1; j > 0; j >>= 1) {
            __syncthreads();
            int x = t ^ j;
            if (x > t && (s[t] > s[x]) == ((t & k) == 0)) { int q = s[t]; s[t] = s[x]; s[x] = q; }
        }
    __syncthreads();
    d[blockIdx.x * 128 + t] = s[t];
}

extern "C" __global__ void scan(int *d) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = d[t];
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        int v = t >= k ? s[t - k] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    d[t] = s[t];
}

extern "C" __global__ void multiply(const int *a, const int *b, int *c, int n) {
    __shared__ int sa[8][8], sb[8][8];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 8 + y, q = blockIdx.x * 8 + x, acc = 0;
    for (int t = 0; t < n; t += 8) {
        sa[y][x] = a[r * n + t + x];
        sb[y][x] = b[(t + y) * n + q];
        __syncthreads();
        for (int k = 0; k < 8; k++) acc += sa[y][k] * sb[k][x];
        __syncthreads();
    }
    c[r * n + q] = acc;
}

struct Packed { int *p; char c; short s[5]; long long q; };
extern "C" __global__ void by_value(Packed p, int4 *o) {
    int i = threadIdx.x;
    int4 v = o[i];
    o[i] = make_int4(v.w + p.p[i], v.z + p.c, v.y + p.s[2], v.x + (int)(p.q >> 8));
}
