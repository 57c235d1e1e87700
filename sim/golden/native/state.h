// The machine's state, and how instructions write it.
#pragma once
#include "bits.h"

inline Warp& warp_at(const Machine& m, u32 slot) { return reinterpret_cast<Warp*>(m.warps)[slot]; }
inline Block& block_of(const Machine& m, const Warp& w) { return reinterpret_cast<Block*>(m.blocks)[w.block]; }
inline const Kernel& kernel_of(const Machine& m, const Block& b) {
    return reinterpret_cast<const Kernel*>(m.kernels)[b.kernel];
}
inline u32* row(const Warp& w, int number) { return reinterpret_cast<u32*>(w.registers) + number * W; }
inline u32& uniform(const Warp& w, int number) { return reinterpret_cast<u32*>(w.uniforms)[number]; }
inline u32 predicate(const Warp& w, int number, bool invert) { return w.predicates[number] ^ (invert ? FULL : 0); }

inline Record* record(Machine& m, const Warp& w, int kind, int number, u32 mask) {
    Record* r = reinterpret_cast<Record*>(m.trace) + m.trace_count++;
    const Block& block = block_of(m, w);
    *r = Record{};
    r->cycle = m.cycle, r->kind = uint8_t(kind), r->kernel = uint8_t(block.kernel), r->warp = uint8_t(w.index);
    r->reg = uint8_t(number), r->last = 1, r->launch = block.launch, r->pc = m.pc, r->mask = mask;
    return r;
}

inline void write_register(Machine& m, Warp& w, u32 mask, int number, const u32* value) {
    u32* target = row(w, number);
    w.valid |= 1ull << number, w.dirty |= 1ull << number;
    if (mask == FULL) {
        std::memcpy(target, value, sizeof(u32) * W);
    } else {
        for (int k = 0; k < W; ++k) target[k] = mask >> k & 1 ? value[k] : target[k];
    }
    if (m.trace) {
        Record* r = record(m, w, WRITE, number, mask);
        for (int k = 0; k < W; ++k) r->data[k] = mask >> k & 1 ? target[k] : 0;
    }
}

inline void write_uniform(Machine& m, Warp& w, int number, u32 value) {
    uniform(w, number) = value;
    w.uniforms_written |= 1u << number;
    if (m.trace) record(m, w, UNIFORM, number, 1)->data[0] = value;
}

inline void write_predicate(Machine& m, Warp& w, u32 mask, int number, u32 value) {
    if (number == PT) return;
    w.predicates[number] = (w.predicates[number] & ~mask) | (value & mask);
    w.written |= 1u << number;
    if (m.trace) record(m, w, PREDICATE, number, mask)->data[0] = value & mask;
}

// Operand of all lanes, where it stands or in `room`.
inline const u32* operand(const Warp& w, const Operation& op, int source, int number, Lanes<u32>& room) {
    if (source == Source::REGISTER) return row(w, number);
    const u32 value = source == Source::UNIFORM ? uniform(w, number) : source == Source::IMMEDIATE ? op.imm : 0;
    for (int k = 0; k < W; ++k) room[k] = value;
    return room.lane;
}

inline void wide_operand(const Warp& w, const Operation& op, int source, int number, Lanes<u64>& out) {
    if (source == Source::PAIR) {
        const u32 *low = row(w, number), *high = row(w, number + 1);
        for (int k = 0; k < W; ++k) out[k] = u64(high[k]) << 32 | low[k];
        return;
    }
    Lanes<u32> room;
    const u32* words = operand(w, op, source, number, room);
    for (int k = 0; k < W; ++k) out[k] = words[k];
}
