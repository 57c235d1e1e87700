// Loads, stores and atomics. What faults is left to the numpy model: nothing has happened then.
#pragma once
#include "floating.h"
#include "state.h"

namespace memory {

// Lanes' addresses, checked; those of lanes that do not execute are those of one that does.
struct Access {
    Lanes<u32> address;
    uint8_t* base;
};

inline int bytes_of(int size) {
    static const int bytes[] = SIZE_BYTES;
    return bytes[size];
}

inline bool in_windows(const Kernel& kernel, const Lanes<u32>& address) {
    u32 outside = 0;
    if (kernel.windows == 1) {
        const u32 first = kernel.window[0][0], size = kernel.window[0][1] - first;
        for (int k = 0; k < W; ++k) outside |= address[k] - first >= size;
        return !outside;
    }
    for (int k = 0; k < W; ++k) {
        u32 inside = 0;
        for (u32 w = 0; w < kernel.windows; ++w)
            inside |= address[k] >= kernel.window[w][0] && address[k] < kernel.window[w][1];
        outside |= !inside;
    }
    return !outside;
}

// All accesses end at `bound` or before.
inline bool below(const Lanes<u32>& address, u32 bytes, u64 bound) {
    if (bound < bytes) return false;
    const u64 last = bound - bytes;
    u32 beyond = 0;
    if (last >= 0xffffffffu) return true;
    for (int k = 0; k < W; ++k) beyond |= address[k] > u32(last);
    return !beyond;
}

// Addresses where the space places an access of `bytes`; false if a lane may not do it.
inline bool locate(const Machine& m, const Warp& w, const Operation& op, u32 mask, u32 bytes, Access& access) {
    Lanes<u32> room;
    const u32* base = operand(w, op, op.from_a, op.a, room);
    Lanes<u32>& address = access.address;
    for (int k = 0; k < W; ++k) address[k] = base[k] + op.imm;
    if (mask != FULL) {
        const u32 some = address[__builtin_ctz(mask)];
        for (int k = 0; k < W; ++k) address[k] = mask >> k & 1 ? address[k] : some;
    }
    u32 odd = 0;
    for (int k = 0; k < W; ++k) odd |= address[k] & (bytes - 1);
    if (odd) return false;
    Block& block = block_of(m, w);
    const Kernel& kernel = kernel_of(m, block);
    access.base = reinterpret_cast<uint8_t*>(m.memory);
    switch (op.space) {
        case Space::GLOBAL: return in_windows(kernel, address) && below(address, bytes, m.memory_bytes);
        case Space::SHARED:
            access.base = reinterpret_cast<uint8_t*>(block.shared);
            return below(address, bytes, kernel.shared_bytes);
        case Space::LOCAL: {
            if (!below(address, bytes, kernel.local_bytes)) return false;
            const u32 first = block.local_base + w.index * kernel.local_bytes * W;
            for (int k = 0; k < W; ++k) address[k] = first + (address[k] & ~3u) * W + 4 * k + (address[k] & 3);
            if (mask != FULL) {
                const u32 some = address[__builtin_ctz(mask)];
                for (int k = 0; k < W; ++k) address[k] = mask >> k & 1 ? address[k] : some;
            }
            return below(address, bytes, m.memory_bytes);
        }
        default: {
            const bool parameter = op.space == Space::PARAMETER;
            if (!below(address, bytes, parameter ? kernel.param_bytes : kernel.const_bytes)) return false;
            for (int k = 0; k < W; ++k) address[k] += parameter ? kernel.param_base : kernel.const_base;
            return below(address, bytes, m.memory_bytes);
        }
    }
}

template <class Unit>
inline Unit get(const uint8_t* base, u32 address) {
    Unit value;
    std::memcpy(&value, base + (address & ~u32(sizeof(Unit) - 1)), sizeof value);
    return value;
}

template <class Unit>
inline void put(uint8_t* base, u32 address, Unit value) {
    std::memcpy(base + (address & ~u32(sizeof(Unit) - 1)), &value, sizeof value);
}

// Each lane's word is behind that of the lane before.
inline bool consecutive(const Lanes<u32>& address) {
    u32 different = 0;
    for (int k = 0; k < W; ++k) different |= address[k] ^ (address[0] + 4 * k);
    return !different;
}

template <class Unit>
inline void load_words(const Access& access, Lanes<u32>& out, u32 offset = 0) {
    for (int k = 0; k < W; ++k) out[k] = u32(int32_t(get<Unit>(access.base, access.address[k] + offset)));
}

inline bool load(Machine& m, Warp& w, const Operation& op, u32 mask) {
    Access access;
    if (!locate(m, w, op, mask, u32(bytes_of(op.size)), access)) return false;
    Lanes<u32> out;
    switch (op.size) {
        case Size::U8: load_words<uint8_t>(access, out); break;
        case Size::S8: load_words<int8_t>(access, out); break;
        case Size::U16: load_words<uint16_t>(access, out); break;
        case Size::S16: load_words<int16_t>(access, out); break;
        case Size::B32:
            if (mask == FULL && access.address[0] % 4 == 0 && consecutive(access.address)) {
                std::memcpy(out.lane, access.base + access.address[0], sizeof out);
                break;
            }
            [[fallthrough]];
        default:
            for (u32 k = 0; k < op.registers; ++k) {
                load_words<u32>(access, out, 4 * k);
                write_register(m, w, mask, op.d + int(k), out.lane);
            }
            return true;
    }
    write_register(m, w, mask, op.d, out.lane);
    return true;
}

inline void mark_written(const Block& block, u32 address) {
    const u32 line = address / SEGMENT_BYTES;
    const u64 bit = 1ull << line % 64;
    reinterpret_cast<u64*>(block.lines)[line / 64] |= bit;
    reinterpret_cast<u64*>(block.dirty_lines)[line / 64] |= bit;
}

inline void mark_written(const Block& block, const Access& access) {
    u32 before = ~0u;
    for (int k = 0; k < W; ++k) {
        const u32 line = access.address[k] / SEGMENT_BYTES;
        if (line != before) mark_written(block, access.address[k]);
        before = line;
    }
}

// Memory was written there: what watches the segment fires (`Watches`).
inline void wrote(Machine& m, u32 address) {
    u32* words = reinterpret_cast<u32*>(m.watches);
    if (!words[0]) return;
    u32 *segments = words + 1, *fired = segments + m.watch_rows;
    for (u32 row = 0; row < m.watch_rows; ++row) {
        if (segments[row] != address / SEGMENT_BYTES || fired[row]) continue;
        fired[row] = 1;
        m.woken |= row >= m.table_first && row < m.table_end;
    }
}

template <class Unit>
inline void store_words(const Access& access, u32 mask, const u32* words, u32 offset = 0) {
    for (u32 left = mask & FULL; left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        put<Unit>(access.base, access.address[k] + offset, Unit(words[k]));
    }
}

inline bool store(Machine& m, Warp& w, const Operation& op, u32 mask) {
    Access access;
    const int bytes = bytes_of(op.size);
    if (!locate(m, w, op, mask, u32(bytes), access)) return false;
    if (op.space == Space::SHARED) mark_written(block_of(m, w), access);
    if (bytes == 1) {
        store_words<uint8_t>(access, mask, row(w, op.d));
    } else if (bytes == 2) {
        store_words<uint16_t>(access, mask, row(w, op.d));
    } else if (bytes == 4 && mask == FULL && access.address[0] % 4 == 0 && consecutive(access.address)) {
        std::memcpy(access.base + access.address[0], row(w, op.d), sizeof(u32) * W);
    } else {
        for (u32 k = 0; k < op.registers; ++k) store_words<u32>(access, mask, row(w, op.d + int(k)), 4 * k);
    }
    if (op.space != Space::SHARED)
        for (u32 left = mask & FULL; left; left &= left - 1) wrote(m, access.address[__builtin_ctz(left)]);
    return true;
}

inline bool load_uniform(Machine& m, Warp& w, const Operation& op) {
    const u32 offset = op.imm + (op.from_a == Source::UNIFORM ? uniform(w, op.a) : 0);
    const Kernel& kernel = kernel_of(m, block_of(m, w));
    const bool parameter = op.space == Space::PARAMETER;
    const u32 address = offset + (parameter ? kernel.param_base : kernel.const_base);
    if (offset % 4 || u64(offset) + 4 > (parameter ? kernel.param_bytes : kernel.const_bytes) || u64(address) + 4 > m.memory_bytes) return false;
    write_uniform(m, w, op.d, get<u32>(reinterpret_cast<uint8_t*>(m.memory), address));
    return true;
}

template <class Word, class Signed>
inline Word changed(int function, Word old, Word b, Word c) {
    switch (function) {
        case AtomicOp::ADD: return old + b;
        case AtomicOp::MIN_S: return Signed(old) < Signed(b) ? old : b;
        case AtomicOp::MIN_U: return old < b ? old : b;
        case AtomicOp::MAX_S: return Signed(old) < Signed(b) ? b : old;
        case AtomicOp::MAX_U: return old < b ? b : old;
        case AtomicOp::AND: return old & b;
        case AtomicOp::OR: return old | b;
        case AtomicOp::XOR: return old ^ b;
        case AtomicOp::EXCH: return b;
        case AtomicOp::CAS: return old == b ? c : old;
        case AtomicOp::FADD: return pattern(number(u32(old)) + number(u32(b)));
        case AtomicOp::INC: return old >= b ? 0 : old + 1;
        case AtomicOp::DEC: return old == 0 || old > b ? b : old - 1;
    }
    __builtin_unreachable();
}

// Lanes in the order in which they change memory: by segment from the lowest lane, in each in ascending order.
inline int in_order(const Access& access, u32 mask, int* order) {
    int count = 0;
    for (u32 left = mask; left;) {
        const u32 segment = access.address[__builtin_ctz(left)] / SEGMENT_BYTES;
        for (u32 rest = left; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            if (access.address[lane] / SEGMENT_BYTES != segment) continue;
            order[count++] = lane;
            left &= ~(1u << lane);
        }
    }
    return count;
}

template <class Word, class Signed>
inline void change(Machine& m, Warp& w, const Operation& op, u32 mask, const Access& access) {
    Lanes<u64> b, c, old{};
    const int source = sizeof(Word) == 8 ? Source::PAIR : Source::REGISTER;
    wide_operand(w, op, source, op.b, b);
    wide_operand(w, op, op.from_c == Source::NONE ? int(Source::NONE) : source, op.c, c);
    int order[W];
    const int count = in_order(access, mask & FULL, order);
    for (int n = 0; n < count; ++n) {
        const int k = order[n];
        const Word before = get<Word>(access.base, access.address[k]);
        old[k] = before;
        const Word after = changed<Word, Signed>(op.code, before, Word(b[k]), Word(c[k]));
        put<Word>(access.base, access.address[k], after);
        if (op.space != Space::SHARED && after != before) wrote(m, access.address[k]);
        if (!m.trace) continue;
        Record* r = record(m, w, ATOMIC, op.space == Space::SHARED, 1u << k);
        r->data[0] = u32(old[k]), r->data[1] = u32(old[k] >> 32);
    }
    if (!op.returns) return;
    for (u32 half = 0; half < sizeof(Word) / 4; ++half) {
        Lanes<u32> out;
        for (int k = 0; k < W; ++k) out[k] = u32(old[k] >> 32 * half);
        write_register(m, w, mask, op.d + int(half), out.lane);
    }
}

inline bool atomic(Machine& m, Warp& w, const Operation& op, u32 mask) {
    Access access;
    if (m.ordered || !locate(m, w, op, mask, op.wide ? 8 : 4, access)) return false;
    if (op.space == Space::SHARED) mark_written(block_of(m, w), access);
    if (op.wide) change<u64, int64_t>(m, w, op, mask, access);
    else change<u32, int32_t>(m, w, op, mask, access);
    return true;
}

}  // namespace memory
