// The cycle loop around a verilated SM: register bus, memory, trace, snapshots; C functions for ctypes.
// SM_BUS_BYTES, SM_WARPS, SM_LANES, SM_BEATS, SM_KERNELS, SM_COUNT, SM_QUEUES and SM_FLIGHTS come from the geometry;
// WITH_VCD selects the build with waveforms, SM_OBSERVED is set if SMs show what each warp does. A device in one piece shows nothing of its
// SMs.
#include <cstdint>
#include <memory>
#include <string>

#include "axi_memory.h"
#include "beat_digest.h"
#include "model.h"
#include "statistics.h"
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

// SMs, and behind them the queue processor.
constexpr unsigned UNITS = SM_COUNT + (SM_QUEUES > 0);
constexpr unsigned power_of_two(unsigned least) {
    unsigned found = 1;
    while (found < least) found *= 2;
    return found;
}
constexpr uint32_t COMMAND = 0x010, STATUS = 0x014, KERNEL = 0x1000, KERNEL_BYTES = 0x200;  // hw/arch/registers.rdl

using Axi = AxiMemory<SM_BUS_BYTES, power_of_two(UNITS)>;
using Tracer = Trace<SM_WARPS, SM_LANES, SM_BEATS>;
using Events = Timeline<UNITS, SM_QUEUES, SM_FLIGHTS>;
using Counts = Statistics<SM_KERNELS>;

struct Snapshot {
    std::vector<uint8_t> model;
    Axi axi;
    BeatDigest beats;
    std::vector<Tracer> traces;
    Events timeline;
    std::vector<Counts> counts;
    uint64_t cycle;
    size_t bytes() const {
        size_t records = 0;
        for (const auto& trace : traces) records += trace.records.size();
        return model.size() + sizeof *this + traces.size() * sizeof(Tracer) + records * sizeof(Record)
               + counts.size() * sizeof(Counts) + timeline.events.size() * sizeof(Event)
               + timeline.samples.size() * sizeof(Sample);
    }
};

class Simulation {
public:
    explicit Simulation(uint64_t memory_bytes) : axi(memory_bytes), top_(prepared(context_)) {}
    ~Simulation() { close_vcd(); }

    Axi axi;
    BeatDigest beats;
    bool tracing = false;
    std::vector<Tracer> traces;  // of each SM, once there was something to trace
    Events timeline;
    std::vector<Counts> counts;  // of each SM while they are counted
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
        if (tracing) sample_trace();
        if (timeline.interval) sample_timeline();
        if (!counts.empty()) count();
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
        if (timeline.interval && address == COMMAND)
            timeline.happens(cycle - 1, 0, Events::COMMAND, 0, peek_register(STATUS) >> 4 & 15, 0, 0, value);
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
        auto* result = new Snapshot{{}, axi, beats, traces, timeline, counts, cycle};
        Saver saver(result->model);
        top_.save(saver);
        return result;
    }

    void restore(const Snapshot& snapshot) {
        axi = snapshot.axi;
        beats = snapshot.beats;
        traces = snapshot.traces;
        timeline = snapshot.timeline;
        counts = snapshot.counts;
        cycle = snapshot.cycle;
        Loader loader(snapshot.model);
        top_.load(loader);
    }

    void set_threads(unsigned threads) { top_.set_threads(threads); }

    void start_trace() {
        for (unsigned k = traces.size(); k < SM_COUNT; ++k) traces.emplace_back(k);
        tracing = true;
    }
    void start_timeline(uint64_t interval) {
        const bool starts = interval && !timeline.interval;
        timeline.start(interval);
        if (starts) sample_units();
    }
    void sample_units() {
        unsigned tbs[UNITS] = {};
        top_.each_sm([&](unsigned k, const auto& sm) { tbs[k] = sm.trace_tbs; });
        for (unsigned k = 0; k < UNITS; ++k) timeline.sample(cycle, axi, k, tbs[k]);
    }
    void start_counts() {
        for (unsigned k = 0; k < SM_COUNT; ++k) counts.emplace_back(k);
    }

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

    void sample_trace() {
        top_.each_sm([this](unsigned k, const auto& sm) { sample_trace(traces[k], sm); });
    }

    template <class Sm> void sample_trace(Tracer& trace, const Sm& t) {
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

    // The kernel slot whose code address is written in this cycle, SM_KERNELS if none is.
    template <class Sm> static unsigned described(const Sm& t) {
        const uint32_t slot = (t.address - KERNEL) / KERNEL_BYTES;
        return t.write && t.address >= KERNEL && (t.address - KERNEL) % KERNEL_BYTES == 0 && slot < SM_KERNELS
            ? slot : SM_KERNELS;
    }

    void sample_timeline() {
        if (cycle % timeline.interval == 0) sample_units();
        top_.each_sm([this](unsigned k, const auto& sm) { sample_timeline(k, sm); });
#ifdef SM_APART
        each_queue(*top_.operator->(), [this](unsigned queue, uint64_t state, uint64_t written) {
            timeline.watch_queue(cycle, queue, state, written);
        });
        each_flight(*top_.operator->(), [this](unsigned flight, uint64_t state) {
            timeline.watch_flight(cycle, flight, state);
        });
#endif
    }

    template <class Sm> void sample_timeline(unsigned k, const Sm& t) {
        timeline.instructions[k] += t.trace_retire_valid;
        if (const unsigned slot = described(t); slot < SM_KERNELS)
            timeline.happens(cycle, k, Events::CODE, slot, 0, 0, 0, t.write_data);
#ifdef SM_APART
        if (is_granted(t))
            timeline.happens(cycle, k, Events::DISPATCHED, granted_kernel(t), 0, 0, granted_launch(t));
#endif
        if (t.trace_init_valid)
            timeline.happens(cycle, k, Events::INIT, t.trace_init_kernel, t.trace_init_slot, t.trace_init_block_warp,
                             t.trace_init_launch);
        timeline.watch(cycle, k, Events::VALID, t.trace_warps_valid);
        timeline.watch(cycle, k, Events::ACTIVE, t.trace_warps_active);
        timeline.watch(cycle, k, Events::WAITING, t.trace_warps_waiting);
        timeline.watch(cycle, k, Events::STOPPED, t.trace_warps_stopped);
        timeline.watch(cycle, k, Events::STATES, t.trace_states);
        timeline.watch(cycle, k, Events::DRAINING, t.trace_engine_draining);
        if (t.trace_engine_taken)
            timeline.happens(cycle, k, t.trace_engine_resume ? Events::RESUME : Events::PREEMPT, t.trace_engine_kernel);
        if (t.trace_engine_dropped) timeline.happens(cycle, k, Events::DROPPED);
        if (t.trace_engine_started) timeline.happens(cycle, k, Events::STARTED);
    }

    void count() {
        top_.each_sm([this](unsigned k, const auto& sm) { count(counts[k], sm); });
    }

    template <class Sm> void count(Counts& counts, const Sm& t) {
#ifdef SM_OBSERVED
        const uint64_t states[] = {t.observation_issued, t.observation_passed_over, t.observation_issue,
                                   t.observation_scoreboard, t.observation_memory, t.observation_fetch,
                                   t.observation_barrier, t.observation_stopped};
        if (t.observation_icache_valid) counts.lookup(0, t.observation_icache_missed);
        if (t.observation_constants_valid) counts.lookup(1, t.observation_constants_missed);
#else
        const uint64_t* states = nullptr;
#endif
        counts.passed(t.trace_warps_valid, t.trace_warps_active, t.trace_tbs, states);
        if (t.trace_retire_valid) counts.retired(t.trace_retire_kernel, t.trace_retire_mask);
        if (t.trace_init_valid) counts.entered(t.trace_init_slot, t.trace_init_kernel);
        if (const unsigned slot = described(t); slot < SM_KERNELS) counts.described(slot, t.write_data);
    }
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
// Of an SM, or of the queues.
void caesura_unit_traffic(Simulation* sim, unsigned unit, uint64_t* to) {
    std::copy_n(sim->axi.unit_read_bytes[unit], Axi::IDS, to);
    std::copy_n(sim->axi.unit_written_bytes[unit], Axi::IDS, to + Axi::IDS);
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

void caesura_trace(Simulation* sim, int enabled) {
    if (enabled) sim->start_trace();
    sim->tracing = enabled;
}
uint64_t caesura_trace_count(Simulation* sim) {
    uint64_t count = 0;
    for (const auto& trace : sim->traces) count += trace.records.size();
    return count;
}
void caesura_take_trace(Simulation* sim, Record* to) {
    for (auto& trace : sim->traces) {
        to = std::copy(trace.records.begin(), trace.records.end(), to);
        trace.records.clear();
    }
}

void caesura_timeline(Simulation* sim, uint64_t interval) { sim->start_timeline(interval); }
void caesura_timeline_end(Simulation* sim, uint64_t* counts) {
    sim->sample_units();
    counts[0] = sim->timeline.events.size();
    counts[1] = sim->timeline.samples.size();
}
void caesura_take_timeline(Simulation* sim, Event* events, Sample* samples) {
    Events& t = sim->timeline;
    std::copy(t.events.begin(), t.events.end(), events);
    std::copy(t.samples.begin(), t.samples.end(), samples);
    t.events.clear();
    t.samples.clear();
}

void caesura_count(Simulation* sim, int enabled) {
    if (!enabled) sim->counts.clear();
    else if (sim->counts.empty()) sim->start_counts();
}
// Copies as many counts as there is room for; returns how many there are.
uint64_t caesura_counted(Simulation* sim, Counted* to, uint64_t room) {
    uint64_t number = 0;
    for (const auto& counts : sim->counts)
        for (const Counted& count : counts.taken())
            if (number++ < room) *to++ = count;
    return number;
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
