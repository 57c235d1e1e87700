// Binary64 operations done by the host's arithmetic, and operands for them, stratified as those of binary32.
// OF_* come from the Python side; an operation's `detail` is the set of relations of a comparison (bit 0 less, 1 equal,
// 2 greater, 3 unordered), or the bits of an integer, plus 1 if it is signed.
#pragma once
#include "../binary32/judge.h"

namespace binary64 {

using float_judge::near;
using float_judge::Random;
using Tuple = float_judge::Tuple<uint64_t>;

constexpr uint64_t SIGN = 1ull << 63, NAN_RESULT = ~SIGN, ONE = 1023ull << 52, FRACTION = (1ull << 52) - 1;

inline double number(uint64_t bits) { return float_judge::bit_cast<double>(bits); }

inline uint64_t bits_of(double x) { return float_judge::bit_cast<uint64_t>(x); }

inline uint64_t pattern(double x) { return std::isnan(x) ? NAN_RESULT : bits_of(x); }

inline uint64_t sign_of(Random& r) { return r.next() & SIGN; }

inline uint64_t compose(uint64_t sign, int exponent, uint64_t fraction) {
    const int kept = exponent < 0 ? 0 : exponent > 2047 ? 2047 : exponent;
    return sign | uint64_t(kept) << 52 | (fraction & FRACTION);
}

inline int exponent_of(uint64_t x) { return int(x >> 52 & 2047); }

inline uint64_t special(Random& r) {
    static const uint64_t values[] = {
        0, 1, 2, 3, 1ull << 51, FRACTION - 1, FRACTION, FRACTION + 1, FRACTION + 2, (2ull << 52) - 1, 2ull << 52,
        0x3ca0000000000000, 0x3cb0000000000000, 0x3fdfffffffffffff, 0x3fe0000000000000, 0x3fe0000000000001,
        0x3fefffffffffffff, ONE, 0x3ff0000000000001, 0x3ff8000000000000, 0x4000000000000000, 0x4004000000000000,
        0x4320000000000000, 0x432fffffffffffff, 0x4330000000000000, 0x4330000000000001, 0x433fffffffffffff,
        0x4340000000000000,
        0x3690000000000000, 0x36a0000000000000, 0x380fffffe0000000, 0x380fffffffffffff, 0x3810000000000000,  // binary32's
        0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000, 0x47f0000000000000,  // limits
        0x41dfffffffc00000, 0x41e0000000000000, 0x41e0000000100000, 0x41efffffffe00000, 0x41f0000000000000,  // integers'
        0x43dfffffffffffff, 0x43e0000000000000, 0x43e0000000000001, 0x43efffffffffffff, 0x43f0000000000000,  // limits
        0x7fd0000000000000, 0x7fe0000000000000, 0x7feffffffffffffe, 0x7fefffffffffffff, 0x7ff0000000000000,
        0x7ff0000000000001, 0x7ff7ffffffffffff, 0x7ff8000000000000, 0x7fffffffffffffff};
    return values[r.below(sizeof values / 8)] ^ sign_of(r);
}

// A fraction of few bits; of binary32 and a half; any.
inline uint64_t fraction(Random& r) {
    return float_judge::fraction<uint64_t>(r, 52, 9, [&](uint32_t kind) {
        return kind == 7 ? (r.next() << 28) + uint64_t(r.between(-1, 1)) : r.next();
    });
}

inline int exponent(Random& r) {
    static const int weighted[] = {0, 1, 2, 3, 52, 53, 54, 511, 512, 872, 873, 874, 875, 895, 896, 897, 898, 1021,
                                   1022, 1023, 1024, 1053, 1054, 1055, 1074, 1075, 1076, 1084, 1085, 1086, 1087, 1149,
                                   1150, 1151, 1534, 1535, 2044, 2045, 2046, 2047};
    switch (r.below(4)) {
    case 0: return weighted[r.below(sizeof weighted / sizeof *weighted)];
    case 1: return r.between(960, 1100);
    default: return r.between(0, 2047);
    }
}

inline uint64_t any(Random& r) {
    switch (r.below(8)) {
    case 0: return special(r);
    case 1: return special(r) + uint64_t(r.between(-2, 2));
    case 2: return r.next();
    case 3: return compose(sign_of(r), 0, fraction(r));
    default: return compose(sign_of(r), exponent(r), fraction(r));
    }
}

// An integer of `kept` + a few bits, what is below the upper ones about a half; or one of another kind.
inline uint64_t integer(Random& r, int width, int kept) {
    const uint64_t x = r.next() >> r.below(64), top = 1ull << (kept - 1);
    uint64_t y = x;
    switch (r.below(6)) {
    case 0: y = uint64_t(r.between(-40, 40)); break;
    case 1: y = (1ull << r.below(64)) + uint64_t(r.between(-3, 3)); break;
    case 2: y = x << r.below(64); break;
    case 3: y = 0 - x; break;
    case 4: {
        const int up = r.between(1, 64 - kept);
        y = ((top | (r.next() & (top - 1))) << up | 1ull << (up - 1)) + uint64_t(r.between(-1, 1));
        if (r.below(2)) y = 0 - y;
        break;
    }
    }
    return width == 32 ? r.next() << 32 | uint32_t(y) : y;  // what is above a word does not count
}

// A number about an integer and a half, or a quarter of a unit from one.
inline double about_half(Random& r) {
    const int64_t whole = int64_t(integer(r, 64, 53)) >> r.between(0, 63);
    return double(whole) + 0.25 * double(r.between(-2, 2));
}

inline Tuple operands(Random& r, int kind, int detail) {
    Tuple t{any(r), any(r), any(r)};
    const uint64_t sign = sign_of(r);
    if (r.below(16) == 0) t = {special(r), special(r), special(r)};
    else switch (kind) {
    case OF_ADD:
    case OF_SUB:
    case OF_TEST:
    case OF_MIN:
    case OF_MAX:
        switch (r.below(6)) {
        case 0: t.b = near(r, t.a ^ sign); break;  // cancellation, equality
        case 1: t.b = compose(sign, exponent_of(t.a) + r.between(-56, 56), fraction(r)); break;
        case 2: t.b = near(r, compose(sign, exponent_of(t.a) - 53, 0)); break;  // half a unit in the last place
        case 3: t.b = compose(sign, exponent_of(t.a) + r.between(-2, 2), r.next()); break;
        }
        if (r.below(2)) t = {t.b, t.a, t.c};
        break;
    case OF_MUL:
    case OF_FMA:
        switch (r.below(6)) {
        case 0: {  // a product of 54 bits or one less or more
            const int bits = r.between(1, 51);
            t.a = compose(sign_of(r), exponent(r), fraction(r) & ~0ull << bits);
            t.b = compose(sign_of(r), exponent(r), fraction(r) & ~0ull << (52 - bits + r.between(-1, 1)));
            break;
        }
        case 1: t.b = compose(sign, 1023 - exponent_of(t.a) + r.between(-55, 3), fraction(r)); break;  // subnormal
        case 2: t.b = compose(sign, 3069 - exponent_of(t.a) + r.between(-3, 2), fraction(r)); break;  // overflow
        case 3:
            t.a = compose(sign, r.between(800, 1250), fraction(r));
            t.b = compose(sign_of(r), r.between(800, 1250), fraction(r));
            break;
        }
        if (kind == OF_MUL) break;
        switch (r.below(6)) {
        case 0: t.c = near(r, bits_of(number(t.a) * number(t.b)) ^ (r.below(4) ? SIGN : 0)); break;
        case 1: t.c = compose(sign_of(r), exponent_of(t.a) + exponent_of(t.b) - 1023 + r.between(-110, 60), fraction(r)); break;
        case 2: t.c = compose(sign_of(r), exponent_of(t.a) + exponent_of(t.b) - 1023 + r.between(-3, 3), r.next()); break;
        case 3: t.c = compose(sign_of(r), r.between(0, 1), fraction(r)); break;
        case 4: {  // the exact rest of a product
            const double product = number(t.a) * number(t.b);
            t.c = near(r, bits_of(std::fma(-number(t.a), number(t.b), product)));
            if (r.below(2)) t.c = bits_of(-product);
            break;
        }
        }
        break;
    case OF_FROM_INTEGER: t.b = integer(r, detail & ~1, (detail & ~1) == 64 ? 53 : 30); break;
    case OF_INTEGER_TO_SINGLE: t.b = integer(r, 64, 24); break;
    case OF_TO_SINGLE:
        switch (r.below(4)) {
        case 0: t.b = compose(sign, r.between(868, 900), fraction(r)); break;  // subnormal
        case 1: t.b = near(r, bits_of(double(binary32::number(binary32::any(r))))); break;
        case 2: t.b = compose(sign, r.between(896, 1151), r.next() << 29 | 1ull << r.between(0, 28)); break;
        }
        break;
    case OF_TO_INTEGER:
    case OF_INTEGRAL:
        switch (r.below(4)) {
        case 0: t.b = near(r, bits_of(about_half(r))); break;
        case 1: t.b = bits_of(about_half(r)); break;
        case 2: t.b = compose(sign, r.between(1018, 1090), fraction(r)); break;
        }
        break;
    }
    if (kind == OF_FROM_SINGLE || kind == OF_SINGLE_TO_INTEGER) {
        uint32_t b = binary32::any(r);
        if (kind == OF_SINGLE_TO_INTEGER && r.below(2))
            b = r.below(2) ? binary32::bits_of(float(about_half(r))) + uint32_t(r.between(-1, 1))
                           : binary32::compose(r.below(2), r.between(122, 194), binary32::fraction(r));
        t.b = r.next() << 32 | b;
    }
    return t;
}

inline uint64_t to_integer(double x, int detail) {
    const int bits = detail & ~1;
    const bool has_sign = detail & 1;
    const uint64_t greatest = ~0ull >> (64 - bits + has_sign), lowest = has_sign ? 1ull << (bits - 1) : 0;
    if (std::isnan(x)) return 0;
    const double integral = std::nearbyint(x);
    if (integral >= std::ldexp(1.0, bits - has_sign)) return greatest;
    if (has_sign ? integral < -std::ldexp(1.0, bits - 1) : integral < 0) return lowest;
    const uint64_t result = has_sign ? uint64_t(int64_t(integral)) : uint64_t(integral);
    return bits == 32 ? uint32_t(result) : result;
}

// The result in the rounding direction that the host is in.
inline uint64_t result(int kind, int detail, const Tuple& t) {
    const double a = number(t.a), b = number(t.b), c = number(t.c);
    switch (kind) {
    case OF_ADD: return pattern(a + b);
    case OF_SUB: return pattern(a - b);
    case OF_MUL: return pattern(a * b);
    case OF_FMA: return pattern(std::fma(a, b, c));
    case OF_TEST: return (float_judge::relation(a, b) & detail) != 0;
    case OF_MIN: return float_judge::choose<double>(t.a, t.b, false, NAN_RESULT);
    case OF_MAX: return float_judge::choose<double>(t.a, t.b, true, NAN_RESULT);
    case OF_INTEGRAL: return pattern(std::nearbyint(b));
    case OF_TO_SINGLE: return binary32::pattern(float(b));
    case OF_TO_INTEGER: return to_integer(b, detail);
    case OF_FROM_SINGLE: return pattern(double(binary32::number(uint32_t(t.b))));
    case OF_SINGLE_TO_INTEGER: return to_integer(double(binary32::number(uint32_t(t.b))), detail);
    case OF_FROM_INTEGER:
        switch (detail) {
        case 32: return bits_of(double(uint32_t(t.b)));
        case 33: return bits_of(double(int32_t(t.b)));
        case 64: return bits_of(double(t.b));
        case 65: return bits_of(double(int64_t(t.b)));
        }
        break;
    case OF_INTEGER_TO_SINGLE: return binary32::bits_of(detail & 1 ? float(int64_t(t.b)) : float(t.b));
    }
    __builtin_trap();
}

}  // namespace binary64
