// A machine under Verilator. An SM is one object; a device is its uncore and an object of one class for each of its SMs,
// whose ports are copied to and fro until nothing changes any more.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <verilated.h>
#include <verilated_save.h>
#ifdef WITH_VCD
#include <verilated_vcd_c.h>
#endif

#include "Vtop.h"
#ifdef SM_APART
#include "Vsm.h"
#include "device_ports.h"
#include "team.h"
#endif

class Model {
public:
    explicit Model(VerilatedContext* context) : top_(std::make_unique<Vtop>(context)) {
#ifdef SM_APART
        for (unsigned k = 0; k < SM_COUNT; ++k) {
            contexts_.push_back(std::make_unique<VerilatedContext>());  // SMs may run in different threads
            contexts_[k]->randReset(0);
#ifdef WITH_VCD
            contexts_[k]->traceEverOn(true);
#endif
            sms_.push_back(std::make_unique<Vsm>(contexts_[k].get(), ("sm_" + std::to_string(k)).c_str()));
        }
#endif
        low();
    }
    ~Model() {
        top_->final();
#ifdef SM_APART
        for (auto& sm : sms_) sm->final();
#endif
    }

    // Calls `look(k, sm)` for each SM whose ports can be seen.
    template <class Look> void each_sm(Look look) const {
#ifdef SM_APART
        for (unsigned k = 0; k < SM_COUNT; ++k) look(k, *sms_[k]);
#elif SM_COUNT == 1
        look(0u, *top_);
#else
        (void)look;
#endif
    }

    // The ports to the outside: the registers, the interrupt, memory.
    Vtop* operator->() const { return top_.get(); }

#ifdef SM_APART
    // The first half of a cycle, in which inputs have their effect.
    void low() {
        top_->clk = 0;
        top_->eval();
        team_.run(SM_COUNT, [this](unsigned k) {
            to_sm[k](*top_, *sms_[k]);
            sms_[k]->clk = 0;
            sms_[k]->eval();
        });
        for (bool changed = true; changed;) {
            if (!collect()) return;
            top_->eval();
            changed = false;
            for (unsigned k = 0; k < SM_COUNT; ++k) {
                if (!to_sm[k](*top_, *sms_[k])) continue;
                sms_[k]->eval();
                changed = true;
            }
        }
    }
    // The second half, with the edge of the clock.
    void high() {
        top_->clk = 1;
        top_->eval();
        team_.run(SM_COUNT, [this](unsigned k) {
            sms_[k]->clk = 1;
            sms_[k]->eval();
        });
        if (collect()) top_->eval();
    }
    // So many threads evaluate the SMs.
    void set_threads(unsigned threads) { team_.set_size(std::min(threads, unsigned{SM_COUNT})); }
    bool draining() const {
        for (auto& sm : sms_)
            if (sm->trace_engine_draining) return true;
        return false;
    }
#else
    void low() {
        top_->clk = 0;
        top_->eval();
    }
    void high() {
        top_->clk = 1;
        top_->eval();
    }
    void set_threads(unsigned) {}
#if SM_COUNT == 1
    bool draining() const { return top_->trace_engine_draining; }
#else
    bool draining() const { return false; }
#endif
#endif

    template <class Archive> void save(Archive& to) {
        to << *top_;
#ifdef SM_APART
        for (auto& sm : sms_) to << *sm;
#endif
        to.flush();
    }
    template <class Archive> void load(Archive& from) {
        from >> *top_;
#ifdef SM_APART
        for (auto& sm : sms_) from >> *sm;
#endif
    }

#ifdef WITH_VCD
    void trace(VerilatedVcdC* to) {
        top_->trace(to, 99);
#ifdef SM_APART
        for (auto& sm : sms_) sm->trace(to, 99);
#endif
    }
#endif

private:
    std::unique_ptr<Vtop> top_;
#ifdef SM_APART
    std::vector<std::unique_ptr<VerilatedContext>> contexts_;
    std::vector<std::unique_ptr<Vsm>> sms_;
    Team team_;

    // What the SMs show the uncore; whether anything has changed.
    bool collect() {
        bool changed = false;
        for (unsigned k = 0; k < SM_COUNT; ++k) changed |= from_sm[k](*top_, *sms_[k]);
        return changed;
    }
#endif
};
