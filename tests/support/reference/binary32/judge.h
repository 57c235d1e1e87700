// Binary32 operations done by the host's arithmetic, and operands for them, stratified as in Berkeley TestFloat:
// special values and their neighbours, few-bit fractions, weighted exponents, cancellation, near-halfway cases,
// results near the limits of the exponent. KIND_* come from the Python side.
#pragma once
#include "../float_judge/operands.h"

namespace binary32 {

using float_judge::near;
using float_judge::Random;
using Tuple = float_judge::Tuple<uint32_t>;

constexpr uint32_t SIGN = 0x80000000u, NAN_RESULT = 0x7fffffffu, ONE = 0x3f800000u;

inline float number(uint32_t bits) { return float_judge::bit_cast<float>(bits); }

inline uint32_t bits_of(float x) { return float_judge::bit_cast<uint32_t>(x); }

inline uint32_t pattern(float x) { return std::isnan(x) ? NAN_RESULT : bits_of(x); }

inline uint32_t compose(uint32_t sign, int exponent, uint32_t fraction) {
    const int kept = exponent < 0 ? 0 : exponent > 255 ? 255 : exponent;
    return sign << 31 | uint32_t(kept) << 23 | (fraction & 0x7fffff);
}

inline int exponent_of(uint32_t x) { return int(x >> 23 & 255); }

inline uint32_t special(Random& r) {
    static const uint32_t values[] = {
        0, 1, 2, 3, 0x400000, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xffffff, 0x1000000, 0x33800000, 0x34000000,
        0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, ONE, 0x3f800001, 0x3fc00000, 0x40000000, 0x40200000,
        0x4a800000, 0x4affffff, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000, 0x4effffff, 0x4f000000, 0x4f000001,
        0x4f7fffff, 0x4f800000, 0x5f000000, 0x7e800000, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001,
        0x7fbfffff, 0x7fc00000, 0x7fffffff};
    return values[r.below(sizeof values / 4)] ^ (r.word() & SIGN);
}

// A fraction of few bits, or any.
inline uint32_t fraction(Random& r) {
    return float_judge::fraction<uint32_t>(r, 23, 8, [&](uint32_t) { return r.word(); });
}

inline int exponent(Random& r) {
    static const int weighted[] = {0, 1, 2, 3, 23, 24, 25, 63, 64, 126, 127, 128, 149, 150, 151, 157, 158, 159,
                                   191, 230, 252, 253, 254, 255};
    switch (r.below(4)) {
    case 0: return weighted[r.below(sizeof weighted / sizeof *weighted)];
    case 1: return r.between(100, 160);
    default: return r.between(0, 255);
    }
}

inline uint32_t any(Random& r) {
    switch (r.below(8)) {
    case 0: return special(r);
    case 1: return special(r) + uint32_t(r.between(-2, 2));
    case 2: return r.word();
    case 3: return compose(r.below(2), 0, fraction(r));
    default: return compose(r.below(2), exponent(r), fraction(r));
    }
}

inline uint32_t integer(Random& r) {
    const uint32_t x = r.word() >> r.below(32);
    switch (r.below(6)) {
    case 0: return uint32_t(r.between(-40, 40));
    case 1: return (1u << r.below(32)) + uint32_t(r.between(-3, 3));
    case 2: return x << r.below(32);
    case 3: return 0u - x;
    case 4: {  // 24 bits, and what is below them about a half
        const int up = r.between(1, 8);
        const uint32_t y = (0x800000u | fraction(r)) << up;
        return (y | 1u << (up - 1)) + uint32_t(r.between(-1, 1));
    }
    default: return x;
    }
}

// Operand about an integer and a half.
inline uint32_t about_half(Random& r) {
    const float x = float(int32_t(integer(r)) >> r.below(31)) + 0.5f * float(r.between(-1, 1));
    return bits_of(x) + uint32_t(r.between(-1, 1));
}

inline uint32_t about_product(Random& r, uint32_t a, uint32_t b) {
    return near(r, bits_of(number(a) * number(b)) ^ (r.below(4) ? SIGN : 0));
}

// A product that leaves, after the addend took its upper bits, one bit far below the subnormal numbers.
inline Tuple vanishing(Random& r) {
    uint64_t x, y;
    do {  // x * y = 1 modulo 2**31
        x = (r.word() >> 8) | 1;
        y = x;
        for (int step = 0; step < 4; ++step) y = y * (2 - x * y) & 0x7fffffff;
    } while (y >> 24);
    const uint32_t sign = r.word() & SIGN;
    return {bits_of(std::ldexp(float(x), -90)) ^ sign, bits_of(std::ldexp(float(y), -90)),
            (uint32_t(x * y >> 31) + uint32_t(r.below(4) ? 0 : r.between(-1, 1))) ^ sign ^ SIGN};
}

inline Tuple operands(Random& r, int kind) {
    Tuple t{any(r), any(r), any(r)};
    if (r.below(16) == 0) return {special(r), special(r), special(r)};
    if (kind == KIND_FMA && r.below(256) == 0) return vanishing(r);
    const uint32_t sign = r.below(2);
    switch (kind) {
    case KIND_ADD:
    case KIND_SUB:
    case KIND_TEST:
    case KIND_MIN:
    case KIND_MAX:
        switch (r.below(6)) {
        case 0: t.b = near(r, t.a ^ (r.word() & SIGN)); break;  // cancellation, equality
        case 1: t.b = compose(sign, exponent_of(t.a) + r.between(-27, 27), fraction(r)); break;
        case 2: t.b = near(r, compose(sign, exponent_of(t.a) - 24, 0)); break;  // half a unit in the last place
        case 3: t.b = compose(sign, exponent_of(t.a) + r.between(-2, 2), r.word()); break;
        }
        if (r.below(2)) t = {t.b, t.a, t.c};
        break;
    case KIND_MUL:
    case KIND_FMA:
        switch (r.below(6)) {
        case 0: {  // a product of 25 bits or one less or more
            const int bits = r.between(1, 23);
            t.a = compose(r.below(2), exponent(r), fraction(r) & ~0u << bits);
            t.b = compose(r.below(2), exponent(r), fraction(r) & ~0u << (23 - bits + r.between(-1, 1) & 31));
            break;
        }
        case 1: t.b = compose(sign, 127 - exponent_of(t.a) + r.between(-26, 3), fraction(r)); break;  // subnormal
        case 2: t.b = compose(sign, 381 - exponent_of(t.a) + r.between(-3, 2), fraction(r)); break;  // overflow
        case 3:
            t.a = compose(sign, r.between(60, 190), fraction(r));
            t.b = compose(r.below(2), r.between(60, 190), fraction(r));
            break;
        }
        if (kind == KIND_MUL) break;
        switch (r.below(6)) {
        case 0: t.c = about_product(r, t.a, t.b); break;
        case 1: t.c = compose(r.below(2), exponent_of(t.a) + exponent_of(t.b) - 127 + r.between(-52, 30), fraction(r)); break;
        case 2: t.c = compose(r.below(2), exponent_of(t.a) + exponent_of(t.b) - 127 + r.between(-3, 3), r.word()); break;
        case 3: t.c = compose(r.below(2), r.between(0, 1), fraction(r)); break;
        case 4: {  // the exact rest of a product
            const float product = number(t.a) * number(t.b);
            t.c = near(r, bits_of(std::fmaf(-number(t.a), number(t.b), product)));
            if (r.below(2)) t.c = bits_of(-product);
            break;
        }
        }
        break;
    case KIND_FROM_S:
    case KIND_FROM_U: t.b = r.below(8) ? integer(r) : t.b; break;
    case KIND_TO_S:
    case KIND_TO_U:
    case KIND_INTEGRAL:
        switch (r.below(4)) {
        case 0: t.b = about_half(r); break;
        case 1: t.b = compose(sign, r.between(124, 162), fraction(r)); break;
        }
        break;
    }
    return t;
}

inline uint32_t clamp(float x, double low, double high) {
    if (std::isnan(x)) return 0;
    const double integral = std::nearbyint(double(x));
    return uint32_t(int64_t(integral < low ? low : integral > high ? high : integral));
}

// The result in the rounding direction that the host is in; `detail` is the set of relations of a KIND_TEST.
inline uint32_t result(int kind, int detail, const Tuple& t) {
    const float a = number(t.a), b = number(t.b), c = number(t.c);
    switch (kind) {
    case KIND_ADD: return pattern(a + b);
    case KIND_SUB: return pattern(a - b);
    case KIND_MUL: return pattern(a * b);
    case KIND_FMA: return pattern(std::fmaf(a, b, c));
    case KIND_TEST: return (float_judge::relation(a, b) & detail) != 0;
    case KIND_MIN: return float_judge::choose<float>(t.a, t.b, false, NAN_RESULT);
    case KIND_MAX: return float_judge::choose<float>(t.a, t.b, true, NAN_RESULT);
    case KIND_NEG: return t.b ^ SIGN;
    case KIND_ABS: return t.b & ~SIGN;
    case KIND_SAT: return b > 0 ? b < 1 ? t.b : ONE : 0;
    case KIND_TO_S: return clamp(b, -2147483648.0, 2147483647.0);
    case KIND_TO_U: return clamp(b, 0.0, 4294967295.0);
    case KIND_FROM_S: return bits_of(float(int32_t(t.b)));
    case KIND_FROM_U: return bits_of(float(t.b));
    case KIND_INTEGRAL: return pattern(std::nearbyintf(b));
    case KIND_FLUSH: return std::fpclassify(b) == FP_SUBNORMAL ? t.b & SIGN : pattern(b);
    }
    __builtin_trap();
}

}  // namespace binary32
