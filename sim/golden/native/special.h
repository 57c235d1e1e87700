// Special functions: the integer arithmetic of `hw.core.units.sfu.model`, one lane at a time.
#pragma once
#include "bits.h"

namespace special {

constexpr int PLACE_BITS = INDEX_BITS + T_BITS;
constexpr int64_t WIDE_INFINITY = 0x7ff00000;

inline bool is_wide(int op) { return op == SfuOp::RCP64H || op == SfuOp::RSQ64H; }
inline int64_t within(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

// Row of the coefficients that an operation uses, in the order of `tables.FUNCTIONS`.
inline int row_of(int op) {
    static const int rows[] = SFU_ROWS;
    return rows[op];
}

struct Operand {
    bool negative, zero, infinite, nan;
    int64_t biased, exponent, fraction;

    Operand(int op, u32 word) : negative(word >> 31) {
        const int64_t magnitude = word & MAGNITUDE;
        if (is_wide(op)) {
            biased = magnitude >> 20;
            exponent = biased - 1023;
            fraction = (magnitude & 0xfffff) << 3;
            zero = biased == 0;
        } else {
            biased = magnitude >> 23;
            const int64_t normal = bits_as<int32_t>(float(magnitude & 0x7fffff));
            zero = magnitude == 0;
            exponent = biased == 0 ? (normal >> 23) - 276 : biased - 127;
            fraction = (biased == 0 ? normal : magnitude) & 0x7fffff;
        }
        const int64_t infinity = is_wide(op) ? WIDE_INFINITY : INFINITY_BITS;
        infinite = magnitude == infinity;
        nan = magnitude > infinity;
    }
};

inline int64_t interpolate(const int64_t* coefficients, int op, int64_t place) {
    const int64_t* c = coefficients + row_of(op) * 3 * (1 << INDEX_BITS) + (place >> T_BITS);
    const int64_t t = place & ((1 << T_BITS) - 1), square = t * t >> T_BITS;
    return c[0] + (c[1 << INDEX_BITS] * t >> (C1_BITS + T_BITS - VALUE_BITS)) +
           (c[2 << INDEX_BITS] * square >> (C2_BITS + T_BITS - VALUE_BITS));
}

// Normalises and rounds `value * 2**exponent` to nearest, ties up; the value is not negative.
inline int64_t packed(bool wide, int64_t value, int64_t exponent) {
    if (value == 0) return 0;
    const int64_t top = 63 - __builtin_clzll(u64(value));
    const int64_t kept = value << (top < 37 ? 37 - top : 0) >> 13;
    const int64_t biased = exponent + top - VALUE_BITS + (wide ? 1023 : 127);
    if (wide) {
        const int64_t bits = ((biased - 1) * (1 << 20)) + (((kept >> 3) + 1) >> 1);
        return bits < 1 << 20 ? 0 : bits;
    }
    const int64_t rounded = ((kept >> within(1 - biased, 0, 31)) + 1) >> 1;
    const int64_t bits = (((biased > 1 ? biased : 1) - 1) << 23) + rounded;
    return bits < int64_t(INFINITY_BITS) ? bits : int64_t(INFINITY_BITS);
}

// The result of an operand that is no matter of interpolation; -1 if there is none.
inline int64_t exceptional(int op, const Operand& x, u32 word) {
    const int64_t infinity = is_wide(op) ? WIDE_INFINITY : INFINITY_BITS, sign = x.negative ? SIGN : 0;
    const bool root = op == SfuOp::RSQ || op == SfuOp::RSQ64H || op == SfuOp::SQRT || op == SfuOp::LG2;
    if (x.nan || (root && x.negative && !x.zero)) return NAN_BITS;
    switch (op) {
        case SfuOp::RCP: case SfuOp::RCP64H: case SfuOp::RSQ: case SfuOp::RSQ64H:
            return x.zero ? sign | infinity : x.infinite ? sign : -1;
        case SfuOp::SQRT: return x.zero ? sign : x.infinite ? infinity : -1;
        case SfuOp::LG2: return x.zero ? SIGN | infinity : x.infinite ? infinity : -1;
        case SfuOp::EX2: return x.exponent < LARGE_POWER ? -1 : x.negative ? 0 : infinity;
        default:
            if (x.infinite) return NAN_BITS;
            return op == SfuOp::SIN && x.biased < 127 + SMALL_SINE ? int64_t(word) : -1;
    }
}

inline u32 evaluate(const Machine& m, int op, u32 word) {
    const Operand x(op, word);
    const int64_t known = exceptional(op, x, word);
    if (known >= 0) return u32(known);
    const int64_t* coefficients = reinterpret_cast<const int64_t*>(m.coefficients);
    const int64_t significand = x.fraction | 1 << 23;
    bool negative = x.negative;
    int64_t exponent = 0, place;
    switch (op) {
        case SfuOp::SIN: case SfuOp::COS: {
            const u64 product = u64(significand) * reinterpret_cast<const u64*>(m.angles)[x.biased];
            const int quadrant = int((product >> FRACTION_BITS) + (op == SfuOp::COS)) & 3;
            place = int64_t(product >> (FRACTION_BITS - PLACE_BITS));
            place = (quadrant & 1 ? ~place : place) & ((1 << PLACE_BITS) - 1);
            negative = (quadrant > 1) != (x.negative && op == SfuOp::SIN);
            break;
        }
        case SfuOp::EX2: {
            const int64_t shifted = (significand << (LARGE_POWER + 1)) >> within(LARGE_POWER - 1 - x.exponent, 0, 63);
            const int64_t power = x.negative ? -shifted : shifted;
            exponent = power >> PLACE_BITS;
            place = power & ((1 << PLACE_BITS) - 1);
            negative = false;
            break;
        }
        case SfuOp::SQRT: case SfuOp::RSQ: case SfuOp::RSQ64H: {
            const int64_t half = x.exponent >> 1;
            exponent = op == SfuOp::SQRT ? half : -half;
            place = (x.exponent & 1) << 24 | x.fraction << 1;
            break;
        }
        default:
            exponent = -x.exponent;
            place = x.fraction << 2;
    }
    int64_t value = interpolate(coefficients, op, place);
    if (op == SfuOp::LG2) {
        value += x.exponent * (int64_t(1) << VALUE_BITS);
        exponent = 0;
        negative = value < 0;
        value = negative ? -value : value;
    }
    return (negative ? SIGN : 0) | u32(packed(is_wide(op), value, exponent));
}

}  // namespace special
