// Shuffles and matches: lanes read what other lanes of their warp have (PTX ISA 9.7.9, ``shfl``).
#pragma once
#include "bits.h"

namespace exchange {

// Writes what each lane of `mask` reads and returns the lanes whose source is in range and executes it.
inline u32 shuffle(int op, u32* out, const u32* a, const u32* b, const u32* c, u32 mask) {
    constexpr int top = W - 1;
    const bool immediate = op >= ExchangeOp::SHFL_IDX_I;
    const int mode = op & 3;
    u32 found = 0;
    for (int lane = 0; lane < W; ++lane) {
        const u32 field = immediate ? b[lane] >> 8 : c[lane];
        const int distance = int(immediate ? b[lane] & 255 : b[lane]) & top;
        const int clamp = int(field) & top, segment = int(field >> 8) & top;
        const int first = lane & segment, last = first | (clamp & ~segment);
        const int source = mode == ExchangeOp::SHFL_IDX  ? first | (distance & ~segment)
                         : mode == ExchangeOp::SHFL_UP   ? lane - distance
                         : mode == ExchangeOp::SHFL_DOWN ? lane + distance
                                                         : lane ^ distance;
        const bool in_range = mode == ExchangeOp::SHFL_UP ? source >= last : source <= last;
        const bool inside = in_range && mask >> (source & top) & mask >> lane & 1;
        out[lane] = a[inside ? source & top : lane];
        found |= u32(inside) << lane;
    }
    return found;
}

// Writes for each lane a bit for every lane of `mask` with the same word.
inline void match(u32* out, const u32* a, u32 mask) {
    for (int lane = 0; lane < W; ++lane) {
        u32 equal = 0;
        for (int other = 0; other < W; ++other) equal |= u32(a[other] == a[lane]) << other;
        out[lane] = equal & mask;
    }
}

}  // namespace exchange
