// A verilated F64Lane, an operation in every cycle.
#include "../float_judge/stream.h"
#include "judge.h"

namespace {

using float_judge::Operation;

struct Lane {
    using Word = uint64_t;
    using Tuple = binary64::Tuple;
    using Random = binary64::Random;
    static constexpr int LANES = 1;
    uint64_t from;
    int stride;

    Tuple operands(Random& random, const Operation* op, uint64_t cycle) const {
        const Tuple noise{random.next(), random.next(), random.next()};
        if (!op) return noise;
        if (!stride) return binary64::operands(random, op->kind, op->detail);
        return {noise.a, random.next() << 32 | uint32_t(from + cycle * uint64_t(stride)), noise.c};
    }
    Word expected(const Operation& op, const Tuple& t) const { return binary64::result(op.kind, op.detail, t); }
    void drive(Vtop& top, const Operation& op, int, const Tuple& t) const {
        top.function = uint8_t(op.code);
        top.a = t.a, top.b = t.b, top.c = t.c;
    }
    Word got(const Vtop& top, const Operation& op, int) const { return op.kind == OF_TEST ? top.tested : top.result; }
};

}  // namespace

// With a `stride`, operand b of cycle k is ``seed + k * stride``, of 32 bits.
extern "C" uint64_t stream(const Operation* operations, int number, uint64_t seed, uint64_t cycles, int gap, int stride,
                           float_judge::Difference<uint64_t>* first) {
    return float_judge::stream(Lane{seed, stride}, operations, number, seed, cycles, gap, first);
}
