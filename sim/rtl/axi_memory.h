// The memory behind an SM: an AXI4 slave with latency and bandwidth. `sim/memory.py` defines its behaviour;
// the two agree cycle for cycle. Everything here is copyable: a copy is a snapshot, and pages are shared until
// one side writes them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct ProtocolError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Bytes from address 0, in pages that are copied when written while shared. Unwritten pages take no room.
class Memory {
public:
    static constexpr uint64_t PAGE = 4096;
    explicit Memory(uint64_t size) : size_(size), pages_((size + PAGE - 1) / PAGE, zero_page()) {}
    uint64_t size() const { return size_; }

    void read(uint64_t address, uint8_t* to, uint64_t count) const {
        for (uint64_t n; count; address += n, to += n, count -= n) {
            n = std::min(count, PAGE - address % PAGE);
            std::memcpy(to, pages_[address / PAGE]->data() + address % PAGE, n);
        }
    }
    void write(uint64_t address, const uint8_t* from, uint64_t count) {
        for (uint64_t n; count; address += n, from += n, count -= n) {
            n = std::min(count, PAGE - address % PAGE);
            std::memcpy(own(address), from, n);
        }
    }
    void write_byte(uint64_t address, uint8_t value) { *own(address) = value; }

private:
    using Page = std::array<uint8_t, PAGE>;
    static std::shared_ptr<Page> zero_page() { return std::make_shared<Page>(Page{}); }
    uint8_t* own(uint64_t address) {
        auto& page = pages_[address / PAGE];
        if (page.use_count() > 1) page = std::make_shared<Page>(*page);
        return page->data() + address % PAGE;
    }
    uint64_t size_;
    std::vector<std::shared_ptr<Page>> pages_;
};

struct Request {
    uint32_t id, address, length, size, burst;
    bool operator!=(const Request& o) const { return id != o.id || address != o.address || length != o.length; }
};

template <unsigned WIDTH> struct WriteBeat {
    std::array<uint8_t, WIDTH> data;
    std::array<uint8_t, (WIDTH + 7) / 8> strobe;  // a bit a byte
    bool last;
    bool operator!=(const WriteBeat& o) const { return data != o.data || strobe != o.strobe || last != o.last; }
};

// What the master drives in a cycle.
template <unsigned WIDTH> struct MasterSignals {
    bool awvalid, wvalid, arvalid, rready, bready;
    Request aw, ar;
    WriteBeat<WIDTH> w;
};

// What the slave drives in a cycle.
template <unsigned WIDTH> struct SlaveSignals {
    bool awready, wready, arready, rvalid, rlast, bvalid;
    uint32_t rid, rresp, bid, bresp;
    std::array<uint8_t, WIDTH> rdata;
};

// UNITS, a power of two: masters that count apart, by the part of the id above IDS.
template <unsigned WIDTH, unsigned UNITS = 1> class AxiMemory {
public:
    static constexpr unsigned IDS = 8, WRITE_BEATS = 16, FRACTION_BITS = 16;
    struct ErrorRange {
        uint64_t start, end;
        bool reads, writes;
    };

    Memory memory;
    std::vector<ErrorRange> errors;
    uint64_t read_bytes[IDS] = {}, written_bytes[IDS] = {};
    uint64_t unit_read_bytes[UNITS][IDS] = {}, unit_written_bytes[UNITS][IDS] = {};
    uint64_t drain_bytes = 0;  // of those, regular traffic in cycles that count as drain
    uint64_t rate = uint64_t(WIDTH) << FRACTION_BITS, latency = 1, requests = 64;

    explicit AxiMemory(uint64_t size) : memory(size) {}

    const SlaveSignals<WIDTH>& drive() {
        constexpr uint64_t cost = uint64_t(WIDTH) << FRACTION_BITS;
        if (tokens_ < cost) tokens_ += rate;
        const bool affordable = tokens_ >= cost;
        const bool due = !s_.rvalid && !reads_.empty() && reads_.front().ready_at <= now_;
        const bool room = affordable && beats_.size() < WRITE_BEATS;
        const bool grant_write = room && (!due || (write_waits_ && write_turn_));
        if (affordable && due && write_waits_) write_turn_ = !write_turn_;
        if (affordable && due && !grant_write) {
            tokens_ -= cost;
            offer_read(reads_.front());
        }
        s_.awready = writes_.size() + acks_.size() < requests;
        s_.arready = reads_.size() < requests;
        s_.wready = grant_write;
        if (!s_.bvalid && !acks_.empty() && acks_.front().ready_at <= now_) {
            s_.bvalid = true;
            s_.bid = acks_.front().id;
            s_.bresp = acks_.front().response;
        }
        return s_;
    }

    void sample(const MasterSignals<WIDTH>& m) {
        held_ar_.check("ar", m.arvalid, m.ar, s_.arready, now_);
        held_aw_.check("aw", m.awvalid, m.aw, s_.awready, now_);
        held_w_.check("w", m.wvalid, m.w, s_.wready, now_);
        if (s_.rvalid && m.rready) step_read();
        if (s_.bvalid && m.bready) {
            acks_.pop_front();
            s_.bvalid = false;
        }
        if (m.arvalid && s_.arready) reads_.push_back(request("ar", m.ar));
        if (m.awvalid && s_.awready) writes_.push_back(request("aw", m.aw));
        if (m.wvalid && s_.wready) {
            tokens_ -= uint64_t(WIDTH) << FRACTION_BITS;
            beats_.push_back(m.w);
        }
        write_waits_ = m.wvalid;
        for (; !beats_.empty() && !writes_.empty(); beats_.pop_front()) apply(beats_.front());
        ++now_;
    }

private:
    struct Burst {
        uint32_t id;
        uint64_t address;
        uint32_t beats;
        uint64_t ready_at;
        uint32_t response;
    };
    // Checks that a channel's payload stays until it is taken.
    template <class Payload> struct Held {
        bool waits = false;
        Payload payload{};
        void check(const char* channel, bool valid, const Payload& now, bool ready, uint64_t cycle) {
            if (waits && (!valid || payload != now))
                throw ProtocolError("cycle " + std::to_string(cycle) + ": " + channel
                                    + " was withdrawn or changed before it was taken");
            waits = valid && !ready;
            if (waits) payload = now;
        }
    };

    uint64_t now_ = 0, tokens_ = 0;
    std::deque<Burst> reads_, writes_, acks_;
    std::deque<WriteBeat<WIDTH>> beats_;
    bool write_waits_ = false, write_turn_ = false;
    Held<Request> held_ar_, held_aw_;
    Held<WriteBeat<WIDTH>> held_w_;
    SlaveSignals<WIDTH> s_{};

    uint32_t response(uint64_t address, bool write) const {
        if (address + WIDTH > memory.size()) return 3;
        for (const ErrorRange& e : errors)
            if ((write ? e.writes : e.reads) && address < e.end && address + WIDTH > e.start) return 2;
        return 0;
    }

    void offer_read(const Burst& burst) {
        s_.rvalid = true;
        s_.rid = burst.id;
        s_.rlast = burst.beats == 1;
        s_.rresp = response(burst.address, false);
        s_.rdata.fill(0);
        if (!s_.rresp) memory.read(burst.address, s_.rdata.data(), WIDTH);
        read_bytes[burst.id % IDS] += WIDTH;
        unit_read_bytes[burst.id / IDS % UNITS][burst.id % IDS] += WIDTH;
    }

    Burst request(const char* channel, const Request& r) const {
        const uint64_t beats = r.length + 1;
        if (r.burst != 1 || 1u << r.size != WIDTH || r.address % WIDTH)
            throw ProtocolError("cycle " + std::to_string(now_) + ": " + channel
                                + " is not an aligned INCR burst of full width");
        if (r.address / 4096 != (r.address + beats * WIDTH - 1) / 4096) {
            char where[16];
            std::snprintf(where, sizeof where, "%#x", r.address);
            throw ProtocolError("cycle " + std::to_string(now_) + ": " + channel + " burst at " + where
                                + " crosses a 4 KB boundary");
        }
        return {r.id, r.address, uint32_t(beats), now_ + latency, 0};
    }

    void step_read() {
        Burst& burst = reads_.front();
        burst.address += WIDTH;
        if (!--burst.beats) reads_.pop_front();
        s_.rvalid = false;
    }

    void apply(const WriteBeat<WIDTH>& beat) {
        Burst& burst = writes_.front();
        const uint32_t answer = response(burst.address, true);
        burst.response = std::max(burst.response, answer);
        for (unsigned k = 0; k < WIDTH && !answer; ++k)
            if (beat.strobe[k / 8] >> k % 8 & 1) memory.write_byte(burst.address + k, beat.data[k]);
        written_bytes[burst.id % IDS] += WIDTH;
        unit_written_bytes[burst.id / IDS % UNITS][burst.id % IDS] += WIDTH;
        burst.address += WIDTH;
        if (beat.last != (--burst.beats == 0))
            throw ProtocolError("cycle " + std::to_string(now_) + ": wlast does not mark the last beat of the burst");
        if (!burst.beats) {
            burst.ready_at = now_ + latency;
            acks_.push_back(burst);
            writes_.pop_front();
        }
    }
};
