// Operations that round in the direction that the host is in. The host's arithmetic is IEEE 754; compiled without
// contraction of expressions, each of these rounds once. Zero is converted apart: ways to convert vectors of integers
// subtract equal numbers, which is -0 when rounding down.
#pragma once
#include <cmath>

#include "bits.h"

namespace rounded {

#define CASE(name, expression) \
    case name: each<W>(out, a, b, c, [](auto a, auto b, auto c) { (void)a, (void)b, (void)c; return expression; }); break;

template <class Word>
inline void binary32(int nearest, Word* out, const Word* a, const Word* b, const Word* c) {
    switch (nearest) {
        CASE(AluOp::FADD_RN, pattern(number(a) + number(b)))
        CASE(AluOp::FSUB_RN, pattern(number(a) - number(b)))
        CASE(AluOp::FMUL_RN, pattern(number(a) * number(b)))
        CASE(AluOp::FFMA_RN, pattern(__builtin_fmaf(number(a), number(b), number(c))))
        CASE(AluOp::I2F_S_RN, b ? pattern(float(int32_t(b))) : 0)
        CASE(AluOp::I2F_U_RN, b ? pattern(float(b)) : 0)
    }
}

template <class Word>
inline void binary64(int nearest, Word* out, const Word* a, const Word* b, const Word* c) {
    switch (nearest) {
        CASE(F64Op::DADD_RN, pattern(number(a) + number(b)))
        CASE(F64Op::DSUB_RN, pattern(number(a) - number(b)))
        CASE(F64Op::DMUL_RN, pattern(number(a) * number(b)))
        CASE(F64Op::DFMA_RN, pattern(__builtin_fma(number(a), number(b), number(c))))
        CASE(F64Op::D2F_RN, u64(pattern(float(number(b)))))
        CASE(F64Op::L2D_S_RN, b ? pattern(double(int64_t(b))) : 0)
        CASE(F64Op::L2D_U_RN, b ? pattern(double(b)) : 0)
        CASE(F64Op::L2F_S_RN, b ? u64(pattern(float(int64_t(b)))) : 0)
        CASE(F64Op::L2F_U_RN, b ? u64(pattern(float(b))) : 0)
    }
}

#undef CASE

}  // namespace rounded
