// Divergent control flow: alternatives, loops with different turns, early ends, switches.
#define X (int)__builtin_amdgcn_workitem_id_x()

__kernel void alternative(__global int *a, __global const int *b)
{
    int x = a[X], y;
    if (x > 0)
        y = b[x] * 3;
    else
        y = b[-x] + x;
    a[X] = y;
}

__kernel void keeps_old(__global int *a, __global const int *b)
{
    int x = a[X], y = x * 5;
    if (x > 7) {
        y = b[x];
        a[X + 64] = y + x;
    }
    a[X] = y;
}

__kernel void own_turns(__global int *a, __global const int *b)
{
    int x = a[X], sum = 0;
    for (int i = 0; i < x; i++) {
        int y = b[i];
        if (y & 1)
            sum += y;
        else if (y < 0)
            break;
        sum ^= i;
    }
    a[X] = sum;
}

__kernel void ends_early(__global int *a, int n)
{
    if (X >= n)
        return;
    int x = a[X];
    while (x > 1)
        x = x & 1 ? 3 * x + 1 : x >> 1;
    a[X] = x;
}

__kernel void cases(__global int *a, __global int *b, int how)
{
    int x = a[X];
    switch (x) {
    case 0: b[X] = 1; break;
    case 3: b[X] = x * how; break;
    case 7: x += b[X];
    case 9: b[X] = x ^ how; break;
    default: b[X] = -x;
    }
    switch (how) {
    case 1: a[X] = x; break;
    case 2: a[X] = -x; break;
    case 3: a[X] = x * x; break;
    case 4: a[X] = x + 1; break;
    }
}

__kernel void nested(__global int *a, __global const int *b, int n)
{
    int x = a[X], total = 0;
    for (int i = 0; i < n; i++) {
        int y = b[i] ^ x;
        for (int j = y & 7; j > 0; j--) {
            if (j == x)
                continue;
            total += y * j;
            if (total > 1000)
                break;
        }
        if (total & 1)
            total += x;
        else
            total -= y;
    }
    a[X] = total;
}
