// Records for `sim/timeline.py`: every change of what warps, kernels and the preemption engine do, and counts of
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
    uint8_t kind, slot, kernel, warp;
};
struct Sample {
    uint64_t cycle, read[8], written[8], instructions, tbs;
};
#pragma pack(pop)
static_assert(sizeof(Event) == 24 && sizeof(Sample) == 152, "must equal sim.timeline.EVENT and SAMPLE");

class Timeline {
public:
    // Kinds whose value is recorded when it changes, then those recorded when they happen.
    enum Kind : uint8_t { VALID, ACTIVE, WAITING, STOPPED, STATES, DRAINING, WATCHED, INIT = WATCHED, PREEMPT, RESUME,
                          DROPPED, STARTED };

    uint64_t interval = 0;  // cycles; 0: nothing is recorded
    std::vector<Event> events;
    std::vector<Sample> samples;

    void watch(uint64_t cycle, Kind kind, uint64_t value) {
        if (last_[kind] == value) return;
        last_[kind] = value;
        events.push_back({cycle, value, 0, kind, 0, 0, 0});
    }
    void happens(uint64_t cycle, Kind kind, unsigned kernel = 0, unsigned slot = 0, unsigned warp = 0,
                 uint32_t launch = 0) {
        events.push_back({cycle, 0, launch, kind, uint8_t(slot), uint8_t(kernel), uint8_t(warp)});
    }
    template <class Axi> void sample(uint64_t cycle, const Axi& axi, unsigned tbs) {
        Sample s{cycle, {}, {}, instructions, tbs};
        std::copy(axi.read_bytes, axi.read_bytes + Axi::IDS, s.read);
        std::copy(axi.written_bytes, axi.written_bytes + Axi::IDS, s.written);
        samples.push_back(s);
    }
    uint64_t instructions = 0;

private:
    std::array<uint64_t, WATCHED> last_{};
};
