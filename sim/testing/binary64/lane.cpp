// Streams operands through a verilated F64Lane and compares every result with the host's.
#include <memory>

#include "Vtop.h"
#include "judge.h"

using namespace binary64;

namespace {

struct Operation {
    int32_t code, kind, detail, mode;
};

struct Flight {
    int operation = -1;
    Tuple tuple;
    uint64_t expected;
};

struct Difference {
    int32_t operation;
    uint64_t a, b, c, expected, got;
};

}  // namespace

// Runs `cycles` cycles and returns the number of differences; the first stands in `first`. With several operations
// each cycle takes one of them, in one cycle of `gap` (if not 0) none. With a `stride`, operand b of cycle k is
// ``seed + k * stride``, of 32 bits.
extern "C" uint64_t stream(const Operation* operations, int number, uint64_t seed, uint64_t cycles, int gap, int stride,
                           Difference* first) {
    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vtop>(context.get());
    Random random(seed);
    auto flights = std::make_unique<Flight[]>(LATENCY);
    uint64_t differences = 0;
    top->clk = 0;
    top->eval();
    for (uint64_t cycle = 0; cycle < cycles + LATENCY; ++cycle) {
        Flight& flight = flights[cycle % LATENCY];
        if (flight.operation >= 0) {
            const uint64_t got = operations[flight.operation].kind == OF_TEST ? top->tested : top->result;
            const Tuple& t = flight.tuple;
            if (got != flight.expected && !differences++)
                *first = {flight.operation, t.a, t.b, t.c, flight.expected, got};
        }
        const bool valid = cycle < cycles && !(gap && random.below(uint32_t(gap)) == 0);
        const int chosen = number > 1 ? int(random.below(uint32_t(number))) : 0;
        const Operation& op = operations[chosen];
        flight.operation = valid ? chosen : -1;
        flight.tuple = {random.next(), random.next(), random.next()};
        if (valid) {
            if (stride) flight.tuple.b = random.next() << 32 | uint32_t(seed + cycle * uint64_t(stride));
            else flight.tuple = operands(random, op.kind, op.detail);
            const binary32::Direction direction(op.mode);
            flight.expected = result(op.kind, op.detail, flight.tuple);
        }
        top->valid = valid;
        top->function = uint8_t(op.code);
        top->a = flight.tuple.a, top->b = flight.tuple.b, top->c = flight.tuple.c;
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }
    top->final();
    return differences;
}
