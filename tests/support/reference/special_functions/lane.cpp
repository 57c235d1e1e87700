// A verilated SpecialFunctionLane that takes an operand a cycle, and a judge of its results: the host's binary64
// functions, whose own errors (below 2**-51) do not matter to results of 24 bits.
#include <cmath>
#include <cstdint>
#include <memory>

#include "../float_judge/operands.h"
#include "Vtop.h"

namespace {

using float_judge::bit_cast;

// Largest errors, and the operands of each; results of another class than the exact ones.
struct Errors {
    double ulps, ulps_from_1, absolute, absolute_below_1, relative;
    uint32_t ulps_at, ulps_from_1_at, absolute_at, absolute_below_1_at, relative_at;
    uint32_t wrong_at;
    uint64_t wrong;
};

double exact(int op, double x) {
    switch (op) {
        case OP_RCP: case OP_RCP64H: return 1 / x;
        case OP_RSQ: case OP_RSQ64H: return x == 0 ? 1 / x : 1 / std::sqrt(x);
        case OP_SQRT: return std::sqrt(x);
        case OP_EX2: return std::exp2(x);
        case OP_LG2: return std::log2(x);
        case OP_SIN: return std::sin(x);
        default: return std::cos(x);
    }
}

void worse(double& most, uint32_t& at, double error, uint32_t operand) {
    if (error > most) most = error, at = operand;
}

}  // namespace

extern "C" void stream(int op, uint64_t count, const uint32_t* operands, uint32_t* results) {
    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vtop>(context.get());
    top->clk = 0;
    top->eval();
    for (uint64_t cycle = 0; cycle < count + LATENCY; ++cycle) {
        if (cycle >= LATENCY) results[cycle - LATENCY] = top->result;
        top->enable = cycle < count;
        top->op = uint8_t(op);
        top->b = cycle < count ? operands[cycle] : 0;
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }
    top->final();
}

// Binary32 results, of which a number beyond all finite ones counts as 2**128.
extern "C" void judge(int op, uint64_t count, const uint32_t* operands, const uint32_t* results, Errors* found) {
    constexpr double beyond = 0x1p128;
    for (uint64_t k = 0; k < count; ++k) {
        const double y = exact(op, double(bit_cast<float>(operands[k])));
        const double got = bit_cast<float>(results[k]);
        const bool same = std::isnan(y) ? results[k] == 0x7fffffff
                          : std::isinf(y) || y == 0 ? bit_cast<uint64_t>(got) == bit_cast<uint64_t>(y)
                                                    : !std::isnan(got) && std::signbit(got) == std::signbit(y);
        if (!same) {
            // next to a multiple of half a turn the sign is lost in the absolute error
            const bool angle = op == OP_SIN || op == OP_COS;
            if (angle && y != 0 && std::fabs(y) < 0x1p-23 && std::fabs(got) < 0x1p-23) {
                worse(found->absolute, found->absolute_at, std::fabs(got - y), operands[k]);
                continue;
            }
            if (!found->wrong++) found->wrong_at = operands[k];
            continue;
        }
        if (std::isnan(y) || std::isinf(y) || y == 0) continue;
        const double reached = std::isinf(got) ? std::copysign(beyond, y) : got;
        const double aim = std::fabs(y) > beyond ? std::copysign(beyond, y) : y;
        const double error = std::fabs(reached - aim);
        const int exponent = int(bit_cast<uint64_t>(aim) >> 52 & 2047) - 1023;
        const double ulps = std::ldexp(error, 23 - (exponent < -126 ? -126 : exponent > 127 ? 127 : exponent));
        worse(found->ulps, found->ulps_at, ulps, operands[k]);
        worse(found->absolute, found->absolute_at, error, operands[k]);
        if (std::fabs(y) < 1) worse(found->absolute_below_1, found->absolute_below_1_at, error, operands[k]);
        else worse(found->ulps_from_1, found->ulps_from_1_at, ulps, operands[k]);
    }
}

// High words of binary64 numbers: subnormal operands count as zero, subnormal results are zero.
extern "C" void judge_wide(int op, uint64_t count, const uint32_t* operands, const uint32_t* results, Errors* found) {
    for (uint64_t k = 0; k < count; ++k) {
        double x = bit_cast<double>(uint64_t(operands[k]) << 32);
        if (std::fabs(x) < 0x1p-1022) x = std::copysign(0.0, x);
        double y = exact(op, x);
        const double got = bit_cast<double>(uint64_t(results[k]) << 32);
        const bool tiny = std::fabs(y) < 0x1p-1022;
        if (tiny) y = std::copysign(0.0, y);
        const bool same = std::isnan(y) ? results[k] == 0x7fffffff
                          : std::isinf(y) || y == 0 ? bit_cast<uint64_t>(got) == bit_cast<uint64_t>(y)
                                                    : !std::isnan(got) && std::signbit(got) == std::signbit(y);
        if (!same) {
            if (!found->wrong++) found->wrong_at = operands[k];
            continue;
        }
        if (std::isnan(y) || std::isinf(y) || y == 0) continue;
        worse(found->relative, found->relative_at, std::fabs(got - y) / std::fabs(y), operands[k]);
    }
}
