// The cycle loop around a verilated SM: register bus, memory, trace, snapshots; C functions for ctypes.
// SM_BUS_BYTES, SM_WARPS, SM_LANES, SM_BEATS and SM_COUNT come from the geometry; WITH_VCD selects the build with
// waveforms. A device of several SMs has no trace ports.
#include <cstdint>
#include <memory>
#include <string>

#include "axi_memory.h"
#include "beat_digest.h"
#include "model.h"
#include "timeline.h"
#include "trace.h"

namespace {

// Serialises a model into memory, as VerilatedSave does into a file.
class Saver final : public VerilatedSerialize {
public:
    explicit Saver(std::vector<uint8_t>& to) : to_(to) { m_isOpen = true; }
    void flush() override {
        to_.insert(to_.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }

private:
    std::vector<uint8_t>& to_;
};

class Loader final : public VerilatedDeserialize {
public:
    explicit Loader(const std::vector<uint8_t>& from) : next_(from.data()), end_(from.data() + from.size()) {
        m_isOpen = true;
        m_endp = m_bufp;
    }
    void fill() override {
        const size_t left = m_endp - m_cp;
        std::memmove(m_bufp, m_cp, left);
        const size_t more = std::min<size_t>(bufferSize() - left, end_ - next_);
        std::memcpy(m_bufp + left, next_, more);
        next_ += more;
        m_cp = m_bufp;
        m_endp = m_bufp + left + more;
    }

private:
    const uint8_t *next_, *end_;
};

using Axi = AxiMemory<SM_BUS_BYTES>;
using Tracer = Trace<SM_WARPS, SM_LANES, SM_BEATS>;

struct Snapshot {
    std::vector<uint8_t> model;
    Axi axi;
    BeatDigest beats;
    Tracer trace;
    Timeline timeline;
    uint64_t cycle;
    size_t bytes() const {
        return model.size() + sizeof *this + trace.records.size() * sizeof(Record)
               + timeline.events.size() * sizeof(Event) + timeline.samples.size() * sizeof(Sample);
    }
};

class Simulation {
public:
    explicit Simulation(uint64_t memory_bytes) : axi(memory_bytes), top_(prepared(context_)) {}
    ~Simulation() { close_vcd(); }

    Axi axi;
    BeatDigest beats;
    Tracer trace;
    Timeline timeline;
    uint64_t cycle = 0;
    std::string error;

    void step() {
        const uint64_t before = regular_bytes();
        const auto& s = axi.drive();
        top_->axi_awready = s.awready;
        top_->axi_wready = s.wready;
        top_->axi_arready = s.arready;
        top_->axi_rvalid = s.rvalid;
        top_->axi_rid = s.rid;
        top_->axi_rresp = s.rresp;
        top_->axi_rlast = s.rlast;
        std::memcpy(&top_->axi_rdata, s.rdata.data(), SM_BUS_BYTES);
        top_->axi_bvalid = s.bvalid;
        top_->axi_bid = s.bid;
        top_->axi_bresp = s.bresp;
        top_.low();
        dump(0);
        if (trace.enabled) sample_trace();
        if (timeline.interval) sample_timeline();
        const auto m = master();
        if (beats.enabled) beats.sample(cycle, m, s);
        axi.sample(m);
        if (top_.draining()) axi.drain_bytes += regular_bytes() - before;
        top_.high();
        dump(1);
        ++cycle;
    }

    // Moved by all but the preemption unit.
    uint64_t regular_bytes() const {
        return axi.read_bytes[0] + axi.read_bytes[1] + axi.read_bytes[2] + axi.read_bytes[3]
               + axi.written_bytes[0] + axi.written_bytes[1];
    }

    bool interrupt() const { return top_->__SYM__interrupt; }  // Verilator takes the plain name for a keyword

    void write_register(uint32_t address, uint32_t value) {
        top_->address = address;
        top_->write_data = value;
        top_->write = 1;
        step();
        top_->write = 0;
    }

    uint32_t read_register(uint32_t address) {
        top_->address = address;
        wants_read(true);
        step();
        wants_read(false);
        return top_->read_data;
    }

    // What `read_register` would return, without time passing.
    uint32_t peek_register(uint32_t address) {
        std::vector<uint8_t> model;
        Saver saver(model);
        top_.save(saver);
        top_->address = address;
        wants_read(true);
        top_.low();
        top_.high();
        wants_read(false);
        const uint32_t value = top_->read_data;
        Loader loader(model);
        top_.load(loader);
        return value;
    }

    Snapshot* snapshot() {
        auto* result = new Snapshot{{}, axi, beats, trace, timeline, cycle};
        Saver saver(result->model);
        top_.save(saver);
        return result;
    }

    void restore(const Snapshot& snapshot) {
        axi = snapshot.axi;
        beats = snapshot.beats;
        trace = snapshot.trace;
        timeline = snapshot.timeline;
        cycle = snapshot.cycle;
        Loader loader(snapshot.model);
        top_.load(loader);
    }

    void set_threads(unsigned threads) { top_.set_threads(threads); }

    void start_timeline(uint64_t interval) {
        if (interval && !timeline.interval) timeline.sample(cycle, axi, tbs());
        timeline.interval = interval;
    }
    void close_timeline() { timeline.sample(cycle, axi, tbs()); }

    void open_vcd(const char* path) {
        close_vcd();
#ifdef WITH_VCD
        vcd_ = std::make_unique<VerilatedVcdC>();
        top_.trace(vcd_.get());
        vcd_->open(path);
#else
        (void)path;
#endif
    }

    void close_vcd() {
#ifdef WITH_VCD
        if (vcd_) vcd_->close();
        vcd_.reset();
#endif
    }

private:
    VerilatedContext context_;
    Model top_;

    static VerilatedContext* prepared(VerilatedContext& context) {
        context.randReset(0);
#ifdef WITH_VCD
        context.traceEverOn(true);
#endif
        return &context;
    }

#ifdef WITH_VCD
    std::unique_ptr<VerilatedVcdC> vcd_;
    void dump(unsigned phase) {
        if (vcd_) vcd_->dump(2 * cycle + phase);
    }
#else
    void dump(unsigned) {}
#endif

    // Of a device: others write registers in the cycles in which we do not.
    void wants_read(bool wants) {
#if SM_COUNT > 1
        top_->read = wants;
#else
        (void)wants;
#endif
    }

    MasterSignals<SM_BUS_BYTES> master() const {
        MasterSignals<SM_BUS_BYTES> m;
        m.awvalid = top_->axi_awvalid;
        m.wvalid = top_->axi_wvalid;
        m.arvalid = top_->axi_arvalid;
        m.rready = top_->axi_rready;
        m.bready = top_->axi_bready;
        m.aw = {top_->axi_awid, top_->axi_awaddr, top_->axi_awlen, top_->axi_awsize, top_->axi_awburst};
        m.ar = {top_->axi_arid, top_->axi_araddr, top_->axi_arlen, top_->axi_arsize, top_->axi_arburst};
        std::memcpy(m.w.data.data(), &top_->axi_wdata, SM_BUS_BYTES);
        std::memcpy(m.w.strobe.data(), &top_->axi_wstrb, m.w.strobe.size());
        m.w.last = top_->axi_wlast;
        return m;
    }

#if SM_COUNT > 1
    uint64_t tbs() const { return 0; }
    void sample_trace() {}
    void sample_timeline() {}
#else
    uint64_t tbs() const { return top_->trace_tbs; }

    void sample_trace() {
        const auto& t = *top_.operator->();
        if (t.trace_retire_valid)
            trace.retire(cycle, t.trace_retire_slot, t.trace_retire_kernel, t.trace_retire_block_warp,
                         t.trace_retire_launch, t.trace_retire_pc, t.trace_retire_mask, t.trace_retire_op);
        if (t.trace_write_valid)
            trace.write(cycle, t.trace_write_slot, t.trace_write_register, t.trace_write_beat, t.trace_write_last,
                        t.trace_write_mask, &t.trace_write_data);
        if (t.trace_predicate_valid)
            trace.predicate(cycle, t.trace_predicate_slot, t.trace_predicate_predicate, t.trace_predicate_beat,
                            t.trace_predicate_last, t.trace_predicate_mask, t.trace_predicate_value);
        if (t.trace_uniform_valid)
            trace.uniform(cycle, t.trace_uniform_slot, t.trace_uniform_register, t.trace_uniform_value);
        if (t.trace_atomic_global_valid)
            trace.atomic(cycle, false, t.trace_atomic_global_slot, t.trace_atomic_global_pc,
                         t.trace_atomic_global_lane, t.trace_atomic_global_old);
        if (t.trace_atomic_shared_valid)
            trace.atomic(cycle, true, t.trace_atomic_shared_slot, t.trace_atomic_shared_pc,
                         t.trace_atomic_shared_lane, t.trace_atomic_shared_old);
    }

    void sample_timeline() {
        const auto& t = *top_.operator->();
        if (cycle % timeline.interval == 0) timeline.sample(cycle, axi, t.trace_tbs);
        timeline.instructions += t.trace_retire_valid;
        if (t.trace_init_valid)
            timeline.happens(cycle, Timeline::INIT, t.trace_init_kernel, t.trace_init_slot, t.trace_init_block_warp,
                             t.trace_init_launch);
        timeline.watch(cycle, Timeline::VALID, t.trace_warps_valid);
        timeline.watch(cycle, Timeline::ACTIVE, t.trace_warps_active);
        timeline.watch(cycle, Timeline::WAITING, t.trace_warps_waiting);
        timeline.watch(cycle, Timeline::STOPPED, t.trace_warps_stopped);
        timeline.watch(cycle, Timeline::STATES, t.trace_states);
        timeline.watch(cycle, Timeline::DRAINING, t.trace_engine_draining);
        if (t.trace_engine_taken)
            timeline.happens(cycle, t.trace_engine_resume ? Timeline::RESUME : Timeline::PREEMPT,
                             t.trace_engine_kernel);
        if (t.trace_engine_dropped) timeline.happens(cycle, Timeline::DROPPED);
        if (t.trace_engine_started) timeline.happens(cycle, Timeline::STARTED);
    }
#endif
};

// Runs `body`; a protocol error ends the simulation's advance and is kept for `caesura_error`.
template <class Body> void guarded(Simulation* sim, Body body) {
    if (!sim->error.empty()) return;
    try {
        body();
    } catch (const ProtocolError& e) {
        sim->error = e.what();
    }
}

}  // namespace

extern "C" {

Simulation* caesura_new(uint64_t memory_bytes) { return new Simulation(memory_bytes); }
void caesura_delete(Simulation* sim) { delete sim; }
const char* caesura_error(Simulation* sim) { return sim->error.c_str(); }

void caesura_timing(Simulation* sim, uint64_t latency, uint64_t rate, uint64_t requests) {
    sim->axi.latency = latency;
    sim->axi.rate = rate;
    sim->axi.requests = requests;
}
void caesura_error_range(Simulation* sim, uint64_t start, uint64_t end, int reads, int writes) {
    sim->axi.errors.push_back({start, end, reads != 0, writes != 0});
}
void caesura_clear_errors(Simulation* sim) { sim->axi.errors.clear(); }
void caesura_traffic(Simulation* sim, uint64_t* to) {
    std::copy(sim->axi.read_bytes, sim->axi.read_bytes + Axi::IDS, to);
    std::copy(sim->axi.written_bytes, sim->axi.written_bytes + Axi::IDS, to + Axi::IDS);
    to[2 * Axi::IDS] = sim->axi.drain_bytes;
}

void caesura_threads(Simulation* sim, unsigned threads) { sim->set_threads(threads); }
uint64_t caesura_cycle(Simulation* sim) { return sim->cycle; }
void caesura_advance(Simulation* sim, uint64_t cycles) {
    guarded(sim, [&] {
        while (cycles--) sim->step();
    });
}
uint64_t caesura_wait(Simulation* sim, uint64_t cycles) {
    const uint64_t start = sim->cycle;
    guarded(sim, [&] {
        while (sim->cycle - start < cycles && !sim->interrupt()) sim->step();
    });
    return sim->cycle - start;
}

void caesura_write_register(Simulation* sim, uint32_t address, uint32_t value) {
    guarded(sim, [&] { sim->write_register(address, value); });
}
uint32_t caesura_read_register(Simulation* sim, uint32_t address) {
    uint32_t value = 0;
    guarded(sim, [&] { value = sim->read_register(address); });
    return value;
}
uint32_t caesura_peek_register(Simulation* sim, uint32_t address) { return sim->peek_register(address); }
void caesura_read_memory(Simulation* sim, uint64_t address, uint8_t* to, uint64_t size) {
    sim->axi.memory.read(address, to, size);
}
void caesura_write_memory(Simulation* sim, uint64_t address, const uint8_t* from, uint64_t size) {
    sim->axi.memory.write(address, from, size);
}

void caesura_digest_beats(Simulation* sim) { sim->beats.start(sim->cycle); }
void caesura_beat_digest(Simulation* sim, uint64_t* to) {
    std::copy(sim->beats.lanes, sim->beats.lanes + 2, to);
}

void caesura_trace(Simulation* sim, int enabled) { sim->trace.enabled = enabled; }
uint64_t caesura_trace_count(Simulation* sim) { return sim->trace.records.size(); }
void caesura_take_trace(Simulation* sim, Record* to) {
    std::copy(sim->trace.records.begin(), sim->trace.records.end(), to);
    sim->trace.records.clear();
}

void caesura_timeline(Simulation* sim, uint64_t interval) { sim->start_timeline(interval); }
void caesura_timeline_end(Simulation* sim, uint64_t* counts) {
    sim->close_timeline();
    counts[0] = sim->timeline.events.size();
    counts[1] = sim->timeline.samples.size();
}
void caesura_take_timeline(Simulation* sim, Event* events, Sample* samples) {
    Timeline& t = sim->timeline;
    std::copy(t.events.begin(), t.events.end(), events);
    std::copy(t.samples.begin(), t.samples.end(), samples);
    t.events.clear();
    t.samples.clear();
}

Snapshot* caesura_snapshot(Simulation* sim) { return sim->snapshot(); }
void caesura_restore(Simulation* sim, const Snapshot* snapshot) {
    sim->restore(*snapshot);
    sim->error.clear();
}
uint64_t caesura_snapshot_bytes(const Snapshot* snapshot) { return snapshot->bytes(); }
void caesura_snapshot_delete(Snapshot* snapshot) { delete snapshot; }

void caesura_open_vcd(Simulation* sim, const char* path) { sim->open_vcd(path); }
void caesura_close_vcd(Simulation* sim) { sim->close_vcd(); }

}  // extern "C"
