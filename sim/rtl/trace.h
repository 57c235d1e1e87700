// Assembles the records of `sim/trace/retired.py` from the trace ports of the SM.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#pragma pack(push, 1)
struct Record {
    uint64_t cycle;
    uint8_t kind, kernel, warp, number, last, sm, pad[2];
    uint32_t launch, pc, mask, data[32];
};
#pragma pack(pop)
static_assert(sizeof(Record) == 156, "must equal sim.trace.retired.TRACE");

template <unsigned WARPS, unsigned LANES, unsigned BEATS> class Trace {
public:
    enum Kind : uint8_t { RETIRE, WRITE, PREDICATE, UNIFORM, ATOMIC };
    static constexpr unsigned NOP = 0x182, PP = 0x380, PP_DIV = 0x381;

    explicit Trace(unsigned sm = 0) : sm_(uint8_t(sm)) {}
    std::vector<Record> records;

    void retire(uint64_t cycle, unsigned slot, unsigned kernel, unsigned warp, uint32_t launch, uint32_t pc,
                uint32_t mask, unsigned opcode) {
        slots_[slot] = {uint8_t(kernel), uint8_t(warp), launch};
        if (opcode == NOP || opcode == PP || opcode == PP_DIV) return;
        Record record = named(cycle, RETIRE, slot);
        record.pc = pc;
        record.mask = mask;
        record.last = 1;
        records.push_back(record);
    }

    // One beat of a vector-register write; the last beat of a register completes its record.
    void write(uint64_t cycle, unsigned slot, unsigned number, unsigned beat, bool last, uint32_t mask,
               const void* data) {
        Partial& p = BEATS > 1 ? writes_[slot][number] : writes_[0][0];
        uint32_t words[LANES];
        std::memcpy(words, data, sizeof words);
        p.mask |= mask << LANES * beat;
        for (unsigned lane = 0; lane < LANES; ++lane) p.data[LANES * beat + lane] = mask >> lane & 1 ? words[lane] : 0;
        if (beat + 1 == BEATS) finish(cycle, WRITE, slot, number, last, p);
    }

    // One beat of a predicate write.
    void predicate(uint64_t cycle, unsigned slot, unsigned number, unsigned beat, bool last, uint32_t mask,
                   uint32_t value) {
        Partial& p = BEATS > 1 ? predicates_[slot][number] : predicates_[0][0];
        p.mask |= mask << LANES * beat;
        p.data[0] |= (value & mask) << LANES * beat;
        if (beat + 1 == BEATS) finish(cycle, PREDICATE, slot, number, last, p);
    }

    void uniform(uint64_t cycle, unsigned slot, unsigned number, uint32_t value) {
        Record record = named(cycle, UNIFORM, slot);
        record.number = number;
        record.mask = record.last = 1;
        record.data[0] = value;
        records.push_back(record);
    }

    // One lane of an atomic changed memory, where `old` was.
    void atomic(uint64_t cycle, bool shared, unsigned slot, uint32_t pc, unsigned lane, uint64_t old) {
        Record record = named(cycle, ATOMIC, slot);
        record.number = shared;
        record.pc = pc;
        record.mask = uint32_t(1) << lane;
        record.last = 1;
        record.data[0] = uint32_t(old);
        record.data[1] = uint32_t(old >> 32);
        records.push_back(record);
    }

private:
    struct Slot {
        uint8_t kernel, warp;
        uint32_t launch;
    };
    struct Partial {
        uint32_t mask = 0;
        std::array<uint32_t, 32> data{};
    };
    uint8_t sm_;
    std::array<Slot, WARPS> slots_{};
    static constexpr unsigned OPEN = BEATS > 1 ? WARPS : 1;  // writes of one beat are never left open
    std::array<std::array<Partial, (BEATS > 1 ? 64 : 1)>, OPEN> writes_{};
    std::array<std::array<Partial, (BEATS > 1 ? 8 : 1)>, OPEN> predicates_{};

    Record named(uint64_t cycle, Kind kind, unsigned slot) const {
        Record record{};
        record.cycle = cycle;
        record.kind = kind;
        record.sm = sm_;
        record.kernel = slots_[slot].kernel;
        record.warp = slots_[slot].warp;
        record.launch = slots_[slot].launch;
        return record;
    }

    // A write that enables no lane (a faulted load giving its registers back) leaves no record.
    void finish(uint64_t cycle, Kind kind, unsigned slot, unsigned number, bool last, Partial& p) {
        if (p.mask) {
            Record record = named(cycle, kind, slot);
            record.number = number;
            record.last = last;
            record.mask = p.mask;
            std::memcpy(record.data, p.data.data(), sizeof record.data);
            records.push_back(record);
        }
        p = Partial{};
    }
};
