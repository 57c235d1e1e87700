// A running hash over the accepted beats of all AXI channels, each with the cycle it was accepted in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "axi_memory.h"

// Two lanes of 64 bits. Each step is a bijection of the word and of the lane: two runs that differ in one word do not
// meet again while all that follows is the same.
class BeatDigest {
public:
    bool enabled = false;
    uint64_t lanes[2] = {};

    // Cycles count from here, so that what was before leaves no mark.
    void start(uint64_t cycle) {
        enabled = true;
        start_ = cycle;
        lanes[0] = 0x243F6A8885A308D3;  // a lane of zeros would not notice words of zeros
        lanes[1] = 0x13198A2E03707344;
    }

    template <unsigned WIDTH>
    void sample(uint64_t cycle, const MasterSignals<WIDTH>& m, const SlaveSignals<WIDTH>& s) {
        if (m.awvalid && s.awready) begin(cycle, AW), add(m.aw);
        if (m.wvalid && s.wready) begin(cycle, W), add(m.w.strobe, m.w.last), add(m.w.data);
        if (m.arvalid && s.arready) begin(cycle, AR), add(m.ar);
        if (s.rvalid && m.rready) begin(cycle, R), add(answer(s.rid, s.rresp) << 1 | s.rlast), add(s.rdata);
        if (s.bvalid && m.bready) begin(cycle, B), add(answer(s.bid, s.bresp));
    }

private:
    enum Channel : uint64_t { AW, W, AR, R, B, CHANNELS = 8 };
    uint64_t start_ = 0;

    static uint64_t rotated(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }
    static uint64_t answer(uint32_t id, uint32_t response) { return uint64_t(id) << 2 | response; }

    void begin(uint64_t cycle, Channel channel) { add((cycle - start_) * CHANNELS + channel); }
    void add(const Request& r) {
        add(r.address);
        add(uint64_t(r.id) << 32 | r.length << 16 | r.size << 8 | r.burst);
    }
    // The strobes of the first 32 bytes share a word with the last flag.
    template <size_t BYTES> void add(const std::array<uint8_t, BYTES>& strobe, bool last) {
        uint64_t first = 0;
        std::memcpy(&first, strobe.data(), std::min<size_t>(4, BYTES));
        add(first << 1 | last);
        if (BYTES > 4) add(strobe);
    }
    template <size_t WIDTH> void add(const std::array<uint8_t, WIDTH>& data) {
        for (size_t at = 0; at < WIDTH; at += sizeof(uint64_t)) {
            uint64_t word = 0;
            std::memcpy(&word, data.data() + at, std::min(sizeof word, WIDTH - at));
            add(word);
        }
    }
    void add(uint64_t word) {
        lanes[0] = rotated(lanes[0] ^ word * 0x9E3779B97F4A7C15, 31) * 0xC2B2AE3D27D4EB4F;
        lanes[1] = rotated(lanes[1] + word * 0xD6E8FEB86659FD93, 27) * 0xA0761D6478BD642F;
    }
};
