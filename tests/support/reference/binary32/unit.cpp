// A verilated FloatUnit, all lanes in every cycle.
#include "../float_judge/stream.h"
#include "judge.h"

namespace {

using float_judge::Operation;

struct Unit {
    using Word = uint32_t;
    using Tuple = binary32::Tuple;
    using Random = binary32::Random;
    static constexpr int LANES = UNIT_LANES;

    Tuple operands(Random& random, const Operation* op, uint64_t) const {
        return op ? binary32::operands(random, op->kind) : Tuple{random.word(), random.word(), random.word()};
    }
    Word expected(const Operation& op, const Tuple& t) const { return binary32::result(op.kind, op.detail, t); }
    void drive(Vtop& top, const Operation& op, int lane, const Tuple& t) const {
        top.op = uint8_t(op.code);
        top.a[lane] = t.a, top.b[lane] = t.b, top.c[lane] = t.c;
    }
    Word got(const Vtop& top, const Operation& op, int lane) const {
        return op.kind == KIND_TEST ? uint32_t(top.predicate) >> lane & 1 : top.result[lane];
    }
};

}  // namespace

extern "C" uint64_t stream(const Operation* operations, int number, uint64_t seed, uint64_t cycles, int gap,
                           float_judge::Difference<uint32_t>* first) {
    return float_judge::stream(Unit{}, operations, number, seed, cycles, gap, first);
}
