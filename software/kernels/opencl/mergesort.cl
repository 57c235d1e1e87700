// The merge phase of a merge sort (Rodinia's, after Sintorn and Assarsson 2008): each thread merges two ascending lists,
// four elements at a time, in registers; `turns` fours are written, four a turn of the loop. Each list ends with a four
// that is above all others.
#include "work_items.h"
#define UNROLL 4

static inline void order(int *low, int *high)
{
    int least = *low < *high ? *low : *high;
    *high = *low < *high ? *high : *low;
    *low = least;
}

static inline void clean(int4 *v)  // a bitonic four becomes an ascending one
{
    int a = v->x, b = v->y, c = v->z, d = v->w;
    order(&a, &c);
    order(&b, &d);
    order(&a, &b);
    order(&c, &d);
    *v = (int4)(a, b, c, d);
}

static inline void merge(int4 *low, int4 *high)  // two ascending fours become one of eight
{
    int4 a = *low, b = (*high).wzyx;
    *low = (int4)(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z, a.w < b.w ? a.w : b.w);
    *high = (int4)(a.x < b.x ? b.x : a.x, a.y < b.y ? b.y : a.y, a.z < b.z ? b.z : a.z, a.w < b.w ? b.w : a.w);
    clean(low);
    clean(high);
}

KERNEL(64, 1) mergesort(__global const int4 *restrict from, __global int4 *restrict to, int turns, int length)
{
    int thread = GROUP_X * 64 + X, left = 2 * thread * length, right = left + length, place = left;
    int4 high = from[left++];
#pragma unroll 1
    for (int turn = 0; turn < turns; turn += UNROLL)
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            int4 a = from[left], b = from[right];
            int mine = a.x <= b.x;
            int4 low = mine ? a : b;
            left += mine;
            right += 1 - mine;
            merge(&low, &high);
            to[place++] = low;
        }
    to[place] = high;
}
