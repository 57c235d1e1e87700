// Records for `sim/trace/changes.py`: every change of what warps, kernels, preemption engines and queues do, and counts of
// bus traffic, instructions and thread blocks (TBs) at regular intervals.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#pragma pack(push, 1)
struct Event {
    uint64_t cycle, value;
    uint32_t launch;
    uint8_t kind, slot, kernel, warp, unit, pad[3];
};
struct Sample {
    uint64_t cycle, read[8], written[8], instructions, tbs, unit;
};
#pragma pack(pop)
static_assert(sizeof(Event) == 28 && sizeof(Sample) == 160, "must equal sim.trace.changes.EVENT and SAMPLE");

// UNITS: SMs, and one more if something else uses the bus. FLIGHTS: kernels that queues can have in flight.
template <unsigned UNITS, unsigned QUEUES, unsigned FLIGHTS> class Timeline {
public:
    // Kinds whose value is recorded when it changes, then those recorded when they happen.
    enum Kind : uint8_t { VALID, ACTIVE, WAITING, STOPPED, STATES, DRAINING, OF_SM, INIT = OF_SM, PREEMPT, RESUME,
                          DROPPED, STARTED, DISPATCHED, CODE, COMMAND, QUEUE, DOORBELL, FLIGHT };

    uint64_t interval = 0;  // cycles; 0: nothing is recorded
    std::vector<Event> events;
    std::vector<Sample> samples;
    uint64_t instructions[UNITS] = {};

    void start(uint64_t every) {
        if (!interval) *this = Timeline{};
        interval = every;
    }
    // One of the first kinds, of an SM.
    void watch(uint64_t cycle, unsigned sm, Kind kind, uint64_t value) { watch(last_[sm][kind], cycle, sm, kind, value); }
    void watch_queue(uint64_t cycle, unsigned queue, uint64_t state, uint64_t written) {
        watch(queues_[queue][0], cycle, queue, QUEUE, state);
        watch(queues_[queue][1], cycle, queue, DOORBELL, written);
    }
    void watch_flight(uint64_t cycle, unsigned flight, uint64_t state) {
        watch(flights_[flight], cycle, flight, FLIGHT, state);
    }
    void happens(uint64_t cycle, unsigned unit, Kind kind, unsigned kernel = 0, unsigned slot = 0, unsigned warp = 0,
                 uint32_t launch = 0, uint64_t value = 0) {
        events.push_back({cycle, value, launch, kind, uint8_t(slot), uint8_t(kernel), uint8_t(warp), uint8_t(unit), {}});
    }
    template <class Axi> void sample(uint64_t cycle, const Axi& axi, unsigned unit, unsigned tbs) {
        Sample s{cycle, {}, {}, instructions[unit], tbs, unit};
        std::copy_n(axi.unit_read_bytes[unit], Axi::IDS, s.read);
        std::copy_n(axi.unit_written_bytes[unit], Axi::IDS, s.written);
        samples.push_back(s);
    }

private:
    std::array<std::array<uint64_t, OF_SM>, UNITS> last_{};
    std::array<std::array<uint64_t, 2>, QUEUES + 1> queues_{};
    std::array<uint64_t, FLIGHTS + 1> flights_{};

    void watch(uint64_t& last, uint64_t cycle, unsigned unit, Kind kind, uint64_t value) {
        if (last == value) return;
        last = value;
        events.push_back({cycle, value, 0, kind, 0, 0, 0, uint8_t(unit), {}});
    }
};
