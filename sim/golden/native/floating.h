// Floating-point operations: binary32 of the lanes, binary64 of the f64 unit.
#pragma once
#include "arithmetic.h"
#include "directed.h"

namespace floating {

inline double integral(int mode, double x) {
    return mode == 0 ? __builtin_rint(x) : mode == 1 ? __builtin_trunc(x)
         : mode == 2 ? __builtin_floor(x) : __builtin_ceil(x);
}

inline float integral(int mode, float x) {
    return mode == 0 ? __builtin_rintf(x) : mode == 1 ? __builtin_truncf(x)
         : mode == 2 ? __builtin_floorf(x) : __builtin_ceilf(x);
}

// Clamped to [low, high], whose limits are exact; what is not a number is 0.
inline u32 to_word(double x, double low, double high) {
    if (x != x) return 0;
    return u32(int64_t(x < low ? low : x > high ? high : x));
}

inline u64 to_long(double x, bool is_signed) {
    if (is_signed) {
        if (x >= -0x1p63 && x < 0x1p63) return u64(int64_t(x));
        return x < 0 ? SIGN64 : x > 0 ? MAGNITUDE64 : 0;
    }
    if (x >= 0 && x < 0x1p64) return u64(x);
    return x > 0 ? ~0ull : 0;
}

// Numbers as integers in their order, -0 just below +0.
inline int32_t order(u32 x) { return int32_t(x) < 0 ? int32_t(~(x & MAGNITUDE)) : int32_t(x); }
inline int64_t order(u64 x) { return int64_t(x) < 0 ? int64_t(~(x & MAGNITUDE64)) : int64_t(x); }

template <class Word>
inline Word choose(Word a, Word b, bool smaller) {
    const Word chosen = is_nan(a) ? b : is_nan(b) ? a : (order(a) < order(b)) == smaller ? a : b;
    return is_nan(chosen) ? Word(sizeof(Word) == 4 ? NAN_BITS : NAN64) : chosen;
}

inline u32 saturated(u32 b) { return b & SIGN || is_nan(b) ? 0 : b < ONE ? b : ONE; }
inline u32 flushed(u32 b) { return is_nan(b) ? NAN_BITS : (b & INFINITY_BITS) == 0 ? b & SIGN : b; }

template <int MODE>
inline u32 f2i(bool is_signed, u32 b) {
    const double x = integral(MODE, double(number(b)));
    return is_signed ? to_word(x, -0x1p31, 0x1p31 - 1) : to_word(x, 0, 0x1p32 - 1);
}

#define ROUNDED(stem) case stem##_RN: case stem##_RZ: case stem##_RM: case stem##_RP
#define EVERY(stem, f) \
    case stem##_RN: each<W>(out, a, b, c, f<0>); break; case stem##_RZ: each<W>(out, a, b, c, f<1>); break; \
    case stem##_RM: each<W>(out, a, b, c, f<2>); break; case stem##_RP: each<W>(out, a, b, c, f<3>); break;
#define CASE(name, expression) \
    case name: each<W>(out, a, b, c, [](auto a, auto b, auto c) { (void)a, (void)c; return expression; }); break;

template <int MODE> inline u32 to_signed(u32, u32 b, u32) { return f2i<MODE>(true, b); }
template <int MODE> inline u32 to_unsigned(u32, u32 b, u32) { return f2i<MODE>(false, b); }
template <int MODE> inline u32 to_integral(u32, u32 b, u32) { return pattern(integral(MODE, number(b))); }

// Writes a value for each lane.
inline void value32(int op, u32* out, const u32* a, const u32* b, const u32* c) {
    switch (op) {
        ROUNDED(AluOp::FADD): ROUNDED(AluOp::FSUB): ROUNDED(AluOp::FMUL): ROUNDED(AluOp::FFMA):
        ROUNDED(AluOp::I2F_S): ROUNDED(AluOp::I2F_U): {
            const bool convert = op >= AluOp::I2F_S_RN;
            const int mode = (op - (convert ? AluOp::I2F_S_RN : AluOp::FADD_RN)) & 3;
            if (mode == 0) rounded::binary32(op, out, a, b, c);
            else directed32(op - mode, Direction(mode - 1), out, a, b, c);
            break;
        }
        EVERY(AluOp::F2I_S, to_signed)
        EVERY(AluOp::F2I_U, to_unsigned)
        EVERY(AluOp::FRND, to_integral)
        CASE(AluOp::FMIN, choose(a, b, true))
        CASE(AluOp::FMAX, choose(a, b, false))
        CASE(AluOp::FNEG, b ^ SIGN)
        CASE(AluOp::FABS, b & MAGNITUDE)
        CASE(AluOp::FSAT, saturated(b))
        CASE(AluOp::FFTZ, flushed(b))
    }
}

template <int MODE> inline u64 d2i_s(u64, u64 b, u64) { return to_word(integral(MODE, number(b)), -0x1p31, 0x1p31 - 1); }
template <int MODE> inline u64 d2i_u(u64, u64 b, u64) { return to_word(integral(MODE, number(b)), 0, 0x1p32 - 1); }
template <int MODE> inline u64 d2l_s(u64, u64 b, u64) { return to_long(integral(MODE, number(b)), true); }
template <int MODE> inline u64 d2l_u(u64, u64 b, u64) { return to_long(integral(MODE, number(b)), false); }
template <int MODE> inline u64 f2l_s(u64, u64 b, u64) { return to_long(integral(MODE, double(number(u32(b)))), true); }
template <int MODE> inline u64 f2l_u(u64, u64 b, u64) { return to_long(integral(MODE, double(number(u32(b)))), false); }
template <int MODE> inline u64 to_integral64(u64, u64 b, u64) { return pattern(integral(MODE, number(b))); }

inline void value64(int op, u64* out, const u64* a, const u64* b, const u64* c) {
    switch (op) {
        ROUNDED(F64Op::DADD): ROUNDED(F64Op::DSUB): ROUNDED(F64Op::DMUL): ROUNDED(F64Op::DFMA): ROUNDED(F64Op::D2F):
        ROUNDED(F64Op::L2D_S): ROUNDED(F64Op::L2D_U): ROUNDED(F64Op::L2F_S): ROUNDED(F64Op::L2F_U): {
            const int mode = op & 3;
            if (mode == 0) rounded::binary64(op, out, a, b, c);
            else directed64(op - mode, Direction(mode - 1), out, a, b, c);
            break;
        }
        EVERY(F64Op::DRND, to_integral64)
        EVERY(F64Op::D2I_S, d2i_s)
        EVERY(F64Op::D2I_U, d2i_u)
        EVERY(F64Op::D2L_S, d2l_s)
        EVERY(F64Op::D2L_U, d2l_u)
        EVERY(F64Op::F2L_S, f2l_s)
        EVERY(F64Op::F2L_U, f2l_u)
        CASE(F64Op::F2D, pattern(double(number(u32(b)))))
        CASE(F64Op::I2D_S, pattern(double(int32_t(u32(b)))))
        CASE(F64Op::I2D_U, pattern(double(u32(b))))
        CASE(F64Op::DMIN, choose(a, b, true))
        CASE(F64Op::DMAX, choose(a, b, false))
    }
}

static_assert(AluOp::FADD_RN % 4 == 0 && AluOp::FFMA_RP == AluOp::FADD_RN + 15 && F64Op::DADD_RN % 4 == 0 &&
              AluOp::I2F_U_RP == AluOp::I2F_S_RN + 7 && F64Op::L2F_U_RP == 63, "rounding directions are the low bits");

#undef CASE
#undef EVERY
#undef ROUNDED

// A bit for each lane for which a comparison holds; `relation` counts from FSETP_EQ or DSETP_EQ.
template <class Word>
inline u32 test(int relation, const Word* a, const Word* b) {
#define CASE(name, ordered, unordered) \
    case AluOp::name - AluOp::FSETP_EQ: \
        return those<W>(a, b, [](Word x, Word y) { \
            const auto a = number(x), b = number(y); \
            (void)a, (void)b; \
            return is_nan(x) || is_nan(y) ? unordered : (ordered); \
        });
    switch (relation) {
        CASE(FSETP_EQ, a == b, false)
        CASE(FSETP_NE, a != b, false)
        CASE(FSETP_LT, a < b, false)
        CASE(FSETP_LE, a <= b, false)
        CASE(FSETP_GT, a > b, false)
        CASE(FSETP_GE, a >= b, false)
        CASE(FSETP_EQU, a == b, true)
        CASE(FSETP_NEU, a != b, true)
        CASE(FSETP_LTU, a < b, true)
        CASE(FSETP_LEU, a <= b, true)
        CASE(FSETP_GTU, a > b, true)
        CASE(FSETP_GEU, a >= b, true)
        CASE(FSETP_NUM, true, false)
        CASE(FSETP_NAN, false, true)
    }
#undef CASE
    __builtin_unreachable();
}

static_assert(AluOp::FSETP_NAN - AluOp::FSETP_EQ == F64Op::DSETP_NAN - F64Op::DSETP_EQ, "comparisons in one order");

}  // namespace floating
