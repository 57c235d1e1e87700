// Counts of `sim/trace/counts.py`: what an SM did in each cycle, as a whole and for each kernel that it had.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#pragma pack(push, 1)
struct Counted {
    uint64_t code, cycles, busy_cycles, tb_cycles, warp_cycles, active_cycles, instructions, lanes;
    uint64_t states[8], lookups[2], misses[2];
    uint32_t sm, slot;
};
#pragma pack(pop)
static_assert(sizeof(Counted) == 168, "must equal sim.trace.counts.COUNTED");

// Of one SM. Kernels are told apart by their slot and the address of their code.
template <unsigned KERNELS> class Statistics {
public:
    static constexpr uint32_t WHOLE = 255;  // slot of the counts of the SM as a whole

    explicit Statistics(unsigned sm = 0) : sm_(sm), whole_(empty(WHOLE)) {
        for (unsigned k = 0; k < KERNELS; ++k) kernels_[k] = empty(k);
    }

    // A kernel slot is described: what was counted of it is of another kernel.
    void described(unsigned slot, uint64_t code) {
        if (kernels_[slot].cycles) ended_.push_back(kernels_[slot]);
        kernels_[slot] = empty(slot);
        kernels_[slot].code = code;
    }
    // From the next cycle on, a warp slot holds a warp of a kernel.
    void entered(unsigned warp, unsigned kernel) {
        for (auto& owned : owned_) owned &= ~(uint64_t(1) << warp);
        owned_[kernel] |= uint64_t(1) << warp;
    }
    void retired(unsigned kernel, uint32_t mask) {
        for (Counted* count : {&whole_, &kernels_[kernel]}) {
            ++count->instructions;
            count->lanes += __builtin_popcount(mask);
        }
    }
    void lookup(unsigned cache, bool missed) {
        ++whole_.lookups[cache];
        whole_.misses[cache] += missed;
    }
    // A cycle; `states` are vectors of warps, or null.
    void passed(uint64_t valid, uint64_t active, unsigned tbs, const uint64_t* states) {
        whole_.tb_cycles += tbs;
        ++whole_.cycles;
        add(whole_, valid, active, states);
        for (unsigned k = 0; k < KERNELS; ++k) {
            const uint64_t mine = owned_[k] & valid;
            if (!mine) continue;
            ++kernels_[k].cycles;
            add(kernels_[k], mine, active & mine, states);
        }
    }
    // Everything since the start.
    std::vector<Counted> taken() const {
        std::vector<Counted> all{whole_};
        all.insert(all.end(), ended_.begin(), ended_.end());
        for (const Counted& count : kernels_)
            if (count.cycles) all.push_back(count);
        return all;
    }

private:
    uint32_t sm_;
    Counted whole_;
    std::array<Counted, KERNELS> kernels_;
    std::array<uint64_t, KERNELS> owned_{};
    std::vector<Counted> ended_;

    Counted empty(uint32_t slot) const {
        Counted count{};
        count.sm = sm_;
        count.slot = slot;
        return count;
    }
    static void add(Counted& count, uint64_t valid, uint64_t active, const uint64_t* states) {
        count.busy_cycles += valid != 0;
        count.warp_cycles += __builtin_popcountll(valid);
        count.active_cycles += __builtin_popcountll(active);
        for (unsigned k = 0; states && k < 8; ++k) count.states[k] += __builtin_popcountll(states[k] & valid);
    }
};
