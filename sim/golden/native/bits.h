// Words, lanes and bit patterns of numbers.
#pragma once
#include <cstring>

#include "layout.h"

using u32 = uint32_t;
using u64 = uint64_t;

constexpr u32 SIGN = 0x80000000u, MAGNITUDE = 0x7fffffffu, INFINITY_BITS = 0x7f800000u, NAN_BITS = 0x7fffffffu;
constexpr u32 ONE = 0x3f800000u;
constexpr u64 SIGN64 = 1ull << 63, MAGNITUDE64 = SIGN64 - 1, INFINITY64 = 2047ull << 52, NAN64 = MAGNITUDE64;

template <class To, class From>
inline To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}

inline float number(u32 bits) { return bits_as<float>(bits); }
inline double number(u64 bits) { return bits_as<double>(bits); }
inline bool is_nan(u32 x) { return (x & MAGNITUDE) > INFINITY_BITS; }
inline bool is_nan(u64 x) { return (x & MAGNITUDE64) > INFINITY64; }

// The pattern of a result; all that are not numbers have one.
inline u32 pattern(float x) {
    const u32 bits = bits_as<u32>(x);
    return is_nan(bits) ? NAN_BITS : bits;
}
inline u64 pattern(double x) {
    const u64 bits = bits_as<u64>(x);
    return is_nan(bits) ? NAN64 : bits;
}

// A word of each lane.
template <class Word>
struct alignas(64) Lanes {
    Word lane[W];
    Word& operator[](int k) { return lane[k]; }
    const Word& operator[](int k) const { return lane[k]; }
};

template <int N, class Out, class In, class F>
inline void each(Out* __restrict out, const In* a, const In* b, const In* c, F f) {
    for (int k = 0; k < N; ++k) out[k] = f(a[k], b[k], c[k]);
}

// A bit a lane for which `f` holds.
template <int N, class In, class F>
inline u32 those(const In* a, const In* b, F f) {
    u32 mask = 0;
    for (int k = 0; k < N; ++k) mask |= u32(bool(f(a[k], b[k]))) << k;
    return mask;
}
