// Streams operands through a verilated pipeline and compares every result with the host's. LATENCY comes from the
// Python side.
#pragma once
#include <cstdint>
#include <memory>

#include "Vtop.h"
#include "direction.h"

namespace float_judge {

// What an operation is to the judge; Python has the same structure.
struct Operation {
    int32_t code, kind, detail, mode;
};

template <class Word>
struct Difference {
    int32_t operation;
    Word a, b, c, expected, got;
};

// Runs `cycles` cycles and returns the number of differences; the first stands in `first`. With several operations
// each cycle takes one of them, in one cycle of `gap` (if not 0) none.
//
// A `Unit` drives and judges LANES lanes, which do the same operation:
//   Tuple operands(Random&, const Operation* op, uint64_t cycle)  operands of a lane, noise if `op` is null
//   Word expected(const Operation&, const Tuple&)                 in the rounding direction that the host is in
//   void drive(Vtop&, const Operation&, int lane, const Tuple&)
//   Word got(const Vtop&, const Operation&, int lane)
template <class Unit>
uint64_t stream(const Unit& unit, const Operation* operations, int number, uint64_t seed, uint64_t cycles, int gap,
                Difference<typename Unit::Word>* first) {
    using Word = typename Unit::Word;
    using Tuple = typename Unit::Tuple;
    struct Beat {
        int operation = -1;
        Tuple tuple[Unit::LANES];
        Word expected[Unit::LANES];
    };
    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vtop>(context.get());
    typename Unit::Random random(seed);
    auto flight = std::make_unique<Beat[]>(LATENCY);
    uint64_t differences = 0;
    top->clk = 0;
    top->eval();
    for (uint64_t cycle = 0; cycle < cycles + LATENCY; ++cycle) {
        Beat& beat = flight[cycle % LATENCY];
        for (int lane = 0; beat.operation >= 0 && lane < Unit::LANES; ++lane) {
            const Word got = unit.got(*top, operations[beat.operation], lane);
            if (got == beat.expected[lane]) continue;
            const Tuple& t = beat.tuple[lane];
            if (!differences++) *first = {beat.operation, t.a, t.b, t.c, beat.expected[lane], got};
        }
        const bool valid = cycle < cycles && !(gap && random.below(uint32_t(gap)) == 0);
        const int chosen = number > 1 ? int(random.below(uint32_t(number))) : 0;
        const Operation& op = operations[chosen];
        beat.operation = valid ? chosen : -1;
        for (Tuple& tuple : beat.tuple) tuple = unit.operands(random, valid ? &op : nullptr, cycle);
        if (valid) {
            const Direction direction(op.mode);
            for (int lane = 0; lane < Unit::LANES; ++lane) beat.expected[lane] = unit.expected(op, beat.tuple[lane]);
        }
        top->valid = valid;
        for (int lane = 0; lane < Unit::LANES; ++lane) unit.drive(*top, op, lane, beat.tuple[lane]);
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }
    top->final();
    return differences;
}

}  // namespace float_judge
