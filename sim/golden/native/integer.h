// Integer operations of a lane; N lanes at once, or one for the uniform data path.
#pragma once
#include "bits.h"

namespace integer {

inline u32 least(u32 a, u32 most) { return a < most ? a : most; }
inline u32 sext8(u32 b) { return u32(int32_t(int8_t(b))); }
inline u32 sext16(u32 b) { return u32(int32_t(int16_t(b))); }

inline u32 reversed(u32 b) {
    b = b >> 1 & 0x55555555u | (b & 0x55555555u) << 1;
    b = b >> 2 & 0x33333333u | (b & 0x33333333u) << 2;
    b = b >> 4 & 0x0f0f0f0fu | (b & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(b);
}

inline u32 field(u32 a, u32 b) {
    const u32 first = least(b & 255, 63), length = least(b >> 8 & 255, 63);
    return u32(u64(a) >> first & ((1ull << length) - 1));
}

inline u32 signed_field(u32 a, u32 b) {
    const u32 first = least(b & 255, 32), length = least(b >> 8 & 255, 32);
    if (length == 0) return 0;
    const int64_t moved = int64_t(int32_t(a)) >> first;
    return u32(int64_t(u64(moved) << (64 - length)) >> (64 - length));
}

inline u32 inserted(u32 a, u32 b, u32 c) {
    const u32 first = least(b & 255, 32), length = least(b >> 8 & 255, 32);
    const u32 mask = u32(((1ull << length) - 1) << first);
    return (c & ~mask) | (u32(u64(a) << first) & mask);
}

inline u32 permuted(u32 a, u32 b, u32 c) {
    const u64 both = u64(b) << 32 | a;
    u32 result = 0;
    for (int place = 0; place < 4; ++place) {
        const u32 choice = c >> 4 * place & 15;
        const u32 byte = u32(both >> 8 * (choice & 7)) & 255;
        result |= (choice & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * place;
    }
    return result;
}

// Writes a value for each lane; false if it is not an integer operation with a register result.
template <int N>
inline bool value(int op, u32* out, const u32* a, const u32* b, const u32* c) {
#define CASE(name, expression) \
    case AluOp::name: each<N>(out, a, b, c, [](u32 a, u32 b, u32 c) -> u32 { (void)a, (void)c; return expression; }); break;
    switch (op) {
        CASE(MOV, b)
        CASE(IADD, a + b)
        CASE(ISUB, a - b)
        CASE(IRSUB, b - a)
        CASE(IMUL_LO, a * b)
        CASE(IMUL_HI_S, u32(int64_t(int32_t(a)) * int32_t(b) >> 32))
        CASE(IMUL_HI_U, u32(u64(a) * b >> 32))
        CASE(IMAD_LO, a * b + c)
        CASE(AND, a & b)
        CASE(OR, a | b)
        CASE(XOR, a ^ b)
        CASE(NOT, ~b)
        CASE(SHL, b > 31 ? 0 : a << (b & 31))
        CASE(SHR_U, b > 31 ? 0 : a >> (b & 31))
        CASE(SHR_S, u32(int32_t(a) >> least(b, 31)))
        CASE(SHF_L, u32((u64(b) << 32 | a) << (c & 31) >> 32))
        CASE(SHF_R, u32((u64(b) << 32 | a) >> (c & 31)))
        CASE(IMIN_S, int32_t(a) < int32_t(b) ? a : b)
        CASE(IMIN_U, a < b ? a : b)
        CASE(IMAX_S, int32_t(a) < int32_t(b) ? b : a)
        CASE(IMAX_U, a < b ? b : a)
        CASE(IABS, b >> 31 ? 0u - b : b)
        CASE(SEXT_8, sext8(b))
        CASE(SEXT_16, sext16(b))
        CASE(BREV, reversed(b))
        CASE(BFE_U, field(a, b))
        CASE(BFE_S, signed_field(a, b))
        CASE(BFI, inserted(a, b, c))
        CASE(PRMT, permuted(a, b, c))
        CASE(CLZ, b ? u32(__builtin_clz(b)) : 32)
        CASE(POPC, u32(__builtin_popcount(b)))
        default: return false;
    }
#undef CASE
    return true;
}

// A bit for each lane for which a comparison holds.
template <int N>
inline u32 test(int op, const u32* a, const u32* b) {
#define CASE(name, expression) \
    case AluOp::name: return those<N>(a, b, [](u32 a, u32 b) { return expression; });
    switch (op) {
        CASE(SETP_EQ, a == b)
        CASE(SETP_NE, a != b)
        CASE(SETP_LT_S, int32_t(a) < int32_t(b))
        CASE(SETP_LE_S, int32_t(a) <= int32_t(b))
        CASE(SETP_GT_S, int32_t(a) > int32_t(b))
        CASE(SETP_GE_S, int32_t(a) >= int32_t(b))
        CASE(SETP_LT_U, a < b)
        CASE(SETP_LE_U, a <= b)
        CASE(SETP_GT_U, a > b)
        CASE(SETP_GE_U, a >= b)
    }
#undef CASE
    __builtin_unreachable();
}

}  // namespace integer
