// Integers of all widths, carries, divisions, bits: what LLVM makes of them for gfx906.
#define X (int)__builtin_amdgcn_workitem_id_x()
typedef __global int *ints;
typedef __global long *longs;

__kernel void wide(longs a, longs b)
{
    long x = a[X], y = b[X];
    a[X] = x * y + (x - y) / (y | 1);
    b[X] = (x << (y & 63)) ^ ((ulong)x >> 7) ^ (x >> (y & 31));
    a[X + 64] = x < y ? x : y;
    b[X + 64] = __builtin_popcountl(x) + __builtin_clzl(y | 1);
}

__kernel void narrow(__global short *a, __global char *b, __global ushort *c)
{
    short x = a[X], y = a[X + 64];
    char z = b[X];
    a[X] = x * y + z;
    c[X] = (ushort)(c[X] + y) >> (z & 15);
    b[X] = x > y ? z : -z;
    a[X + 128] = x > y ? x : y;
}

__kernel void bits(ints a, int n, uint m)
{
    uint x = a[X], y = a[X + 64];
    a[X] = x / (y | 1) + x % m;
    a[X + 64] = __builtin_amdgcn_alignbit(x, x, 7) ^ __builtin_amdgcn_perm(x, y, 0x03020706) + __builtin_bitreverse32(y);
    a[X + 128] = ~(x ^ y) + (x & y | m) + (x << 3) + __builtin_amdgcn_ubfe(x, 3, 9) + __builtin_amdgcn_mbcnt_lo(x, y);
    a[X + 192] = __builtin_amdgcn_sad_u8(x, y, m) + __builtin_popcount(x) + (((uint)n * m) >> 5) + (n < 0 ? -n : n);
    a[X + 256] = (x & 0xffffff) * (y & 0xffffff) + m;
}

typedef short shorts __attribute__((ext_vector_type(2)));
typedef ushort ushorts __attribute__((ext_vector_type(2)));

__kernel void packed(__global shorts *a, __global ushorts *b)
{
    shorts x = a[X], y = a[X + 64];
    ushorts z = b[X];
    a[X] = x * y + x;
    a[X + 64] = x >> (y & (short)15);
    b[X] = __builtin_elementwise_max(z, b[X + 64]) - z;
}
