// A simulated board: its shell and its machine, whose ports are copied to and fro until nothing changes any more, and the
// host's end of its line. C functions for ctypes. DIVISOR: cycles of a bit.
#include <cstdint>
#include <cstring>
#include <deque>

#include "Vmachine.h"
#include "Vtop.h"
#include "verilated.h"

namespace {

template <class T> inline bool differs(T& to, const T& from) {
    if (std::memcmp(&to, &from, sizeof to) == 0) return false;
    std::memcpy(&to, &from, sizeof to);
    return true;
}
#include "board_ports.h"

class Simulation {
public:
    explicit Simulation(bool pins)
        : pins_(pins), top_(&context_, "shell"), machine_(&machine_context_, "machine") {
        top_.rx = 1;
        top_.direct = !pins;
        top_.sent_ready = 1;
    }
    ~Simulation() {
        top_.final();
        machine_.final();
    }

    std::deque<uint8_t> to_board, from_board;
    uint64_t cycle = 0;

    void step() {
        pins_ ? drive_pin() : drive_bytes();
        clock(0);
        const bool taken = !pins_ && top_.received_valid && top_.received_ready;
        if (!pins_ && top_.sent_valid) from_board.push_back(top_.sent_payload);
        if (pins_) sample_pin();
        clock(1);
        if (taken) to_board.pop_front();
        ++cycle;
    }

private:
    // Both see the edge with what they were shown before it; then they are shown what has changed.
    void clock(bool level) {
        top_.clk = machine_.clk = level;
        top_.eval();
        machine_.eval();
        while (shown_to_machine() | from_machine(top_, machine_)) {
            top_.eval();
            machine_.eval();
        }
    }
    bool shown_to_machine() {
        const bool changed = machine_.rst != top_.reset;
        machine_.rst = top_.reset;
        return to_machine(top_, machine_) | changed;
    }
    void drive_bytes() {
        top_.received_valid = !to_board.empty();
        if (top_.received_valid) top_.received_payload = to_board.front();
    }
    // Start bit, eight bits, stop bit; each for DIVISOR cycles.
    void drive_pin() {
        if (!out_left_ && !to_board.empty()) {
            out_bits_ = 1u << 9 | uint32_t(to_board.front()) << 1;
            to_board.pop_front();
            out_left_ = 10 * DIVISOR;
        }
        if (!out_left_) {
            top_.rx = 1;
            return;
        }
        top_.rx = out_bits_ >> (10 - (out_left_ + DIVISOR - 1) / DIVISOR) & 1;
        --out_left_;
    }
    void sample_pin() {
        if (!in_left_) {
            if (!top_.tx) in_left_ = 10 * DIVISOR, in_bits_ = 0;
            else return;
        }
        --in_left_;
        const unsigned at = 10 * DIVISOR - 1 - in_left_;
        if (at % DIVISOR == DIVISOR / 2) in_bits_ |= uint32_t(top_.tx) << at / DIVISOR;
        if (!in_left_ && in_bits_ >> 9 & 1) from_board.push_back(in_bits_ >> 1 & 0xFF);
    }

    bool pins_;
    unsigned out_left_ = 0, in_left_ = 0;
    uint32_t out_bits_ = 0, in_bits_ = 0;
    VerilatedContext context_, machine_context_;
    Vtop top_;
    Vmachine machine_;
};

Simulation& of(void* handle) { return *static_cast<Simulation*>(handle); }

}  // namespace

extern "C" {
void* board_new(int pins) { return new Simulation(pins); }
void board_delete(void* handle) { delete &of(handle); }
uint64_t board_cycle(void* handle) { return of(handle).cycle; }
uint64_t board_waiting(void* handle) { return of(handle).from_board.size(); }
void board_send(void* handle, const uint8_t* data, uint64_t size) {
    of(handle).to_board.insert(of(handle).to_board.end(), data, data + size);
}
// Let time pass until `size` bytes have come, for `cycles` cycles at most.
void board_run(void* handle, uint64_t size, uint64_t cycles) {
    auto& board = of(handle);
    for (; cycles && board.from_board.size() < size; --cycles) board.step();
}
uint64_t board_take(void* handle, uint8_t* data, uint64_t size) {
    auto& from = of(handle).from_board;
    uint64_t taken = 0;
    for (; taken < size && !from.empty(); from.pop_front()) data[taken++] = from.front();
    return taken;
}
void board_drop(void* handle) { of(handle).from_board.clear(); }
}
