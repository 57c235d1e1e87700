// Streams operands through a verilated FloatUnit of LANES lanes and compares every result with the host's.
#include <memory>

#include "Vtop.h"
#include "judge.h"

using namespace binary32;

namespace {

struct Operation {
    int32_t code, kind, detail, mode;
};

struct Beat {
    int operation = -1;
    Tuple tuple[LANES];
    uint32_t expected[LANES];
};

struct Difference {
    int32_t operation;
    uint32_t a, b, c, expected, got;
};

void make(Beat& beat, const Operation& op, Random& random) {
    for (Tuple& tuple : beat.tuple) tuple = operands(random, op.kind);
    const Direction direction(op.mode);
    for (int lane = 0; lane < LANES; ++lane) beat.expected[lane] = result(op.kind, op.detail, beat.tuple[lane]);
}

}  // namespace

// Runs `cycles` cycles and returns the number of differences; the first stands in `first`. With several operations
// each cycle takes one of them, in one cycle of `gap` (if not 0) none.
extern "C" uint64_t stream(const Operation* operations, int number, uint64_t seed, uint64_t cycles, int gap,
                           Difference* first) {
    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vtop>(context.get());
    Random random(seed);
    auto flight = std::make_unique<Beat[]>(LATENCY);
    uint64_t differences = 0;
    top->clk = 0;
    top->eval();
    for (uint64_t cycle = 0; cycle < cycles + LATENCY; ++cycle) {
        Beat& beat = flight[cycle % LATENCY];
        if (beat.operation >= 0) {
            const Operation& op = operations[beat.operation];
            for (int lane = 0; lane < LANES; ++lane) {
                const uint32_t got = op.kind == KIND_TEST ? uint32_t(top->predicate) >> lane & 1 : top->result[lane];
                if (got == beat.expected[lane]) continue;
                const Tuple& t = beat.tuple[lane];
                if (!differences++) *first = {beat.operation, t.a, t.b, t.c, beat.expected[lane], got};
            }
        }
        const bool valid = cycle < cycles && !(gap && random.below(uint32_t(gap)) == 0);
        const int chosen = number > 1 ? int(random.below(uint32_t(number))) : 0;
        beat.operation = valid ? chosen : -1;
        top->valid = valid;
        top->op = uint8_t(operations[chosen].code);
        if (valid) make(beat, operations[chosen], random);
        for (int lane = 0; lane < LANES; ++lane) {
            const Tuple t = valid ? beat.tuple[lane] : Tuple{random.word(), random.word(), random.word()};
            top->a[lane] = t.a, top->b[lane] = t.b, top->c[lane] = t.c;
        }
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }
    top->final();
    return differences;
}
