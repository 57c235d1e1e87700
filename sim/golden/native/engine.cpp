// Executes warp instructions as `golden.machine` does, one a cycle, warps taking turns, until something is Python's.
#include "exchange.h"
#include "floating.h"
#include "integer.h"
#include "memory.h"
#include "special.h"
#include "state.h"

namespace {

u32 special_register(const Machine& m, const Warp& w, u32 number, int lane) {
    const Block& block = block_of(m, w);
    const Kernel& kernel = kernel_of(m, block);
    const u32 linear = u32(lane) + w.index * W, x = kernel.block[0], y = kernel.block[1];
    switch (number) {
        case Special::LANEID: return u32(lane);
        case Special::WARPID: return w.index;
        case Special::SMID: return m.number;
        case Special::NSMID: return m.sms;
        case Special::CLOCK: return u32(m.cycle);
        case Special::CLOCK_HIGH: return u32(m.cycle >> 32);
        case Special::TID_X: return linear % x;
        case Special::TID_Y: return linear / x % y;
        case Special::TID_Z: return linear / (x * y);
        case Special::NTID_X: case Special::NTID_Y: case Special::NTID_Z: return kernel.block[number - Special::NTID_X];
        case Special::CTAID_X: case Special::CTAID_Y: case Special::CTAID_Z: return block.ctaid[number - Special::CTAID_X];
        case Special::NCTAID_X: case Special::NCTAID_Y: case Special::NCTAID_Z:
            return kernel.grid[number - Special::NCTAID_X];
        default: return 0;
    }
}

void all(Lanes<u32>& out, u32 value) {
    for (int k = 0; k < W; ++k) out[k] = value;
}

void add_with_carry(Machine& m, Warp& w, const Operation& op, u32 mask, const u32* a, const u32* b) {
    const u32 carry = predicate(w, op.pa, op.pa_not), invert = op.code == AluOp::ISUBC ? ~0u : 0;
    Lanes<u32> out;
    u32 carries = 0;
    for (int k = 0; k < W; ++k) {
        const u64 total = u64(a[k]) + (b[k] ^ invert) + (carry >> k & 1);
        out[k] = u32(total);
        carries |= u32(total >> 32) << k;
    }
    write_register(m, w, mask, op.d, out.lane);
    write_predicate(m, w, mask, op.pd, carries);
}

void combine(Machine& m, Warp& w, const Operation& op, u32 mask) {
    const u32 a = predicate(w, op.pa, op.pa_not), b = predicate(w, op.pb, op.pb_not);
    write_predicate(m, w, mask, op.pd, op.code == AluOp::PAND ? a & b : op.code == AluOp::POR ? a | b : a ^ b);
}

// Special registers, and what reads predicates; false if it faults.
bool other_vector(Machine& m, Warp& w, const Operation& op, u32 mask, const u32* a, const u32* b) {
    Lanes<u32> out;
    switch (op.handler) {
        case Handler::CHAIN: add_with_carry(m, w, op, mask, a, b); return true;
        case Handler::LOGIC: combine(m, w, op, mask); return true;
        case Handler::SELECT: {
            const u32 chosen = predicate(w, op.pa, op.pa_not);
            for (int k = 0; k < W; ++k) out[k] = chosen >> k & 1 ? a[k] : b[k];
            break;
        }
        case Handler::BALLOT: all(out, predicate(w, op.pa, op.pa_not) & mask); break;
        default:
            for (int k = 0; k < W; ++k) out[k] = special_register(m, w, op.imm, k);
    }
    write_register(m, w, mask, op.d, out.lane);
    return true;
}

bool vector(Machine& m, Warp& w, const Operation& op, u32 mask) {
    Lanes<u32> room_a, room_b, room_c, out;
    const u32* a = operand(w, op, op.from_a, op.a, room_a);
    const u32* b = operand(w, op, op.from_b, op.b, room_b);
    const u32* c = operand(w, op, op.from_c, op.c, room_c);
    switch (op.handler) {
        case Handler::VALUE:
            if (!integer::value<W>(op.code, out.lane, a, b, c)) floating::value32(op.code, out.lane, a, b, c);
            break;
        case Handler::TEST:
            write_predicate(m, w, mask, op.pd, op.code < AluOp::FSETP_EQ
                ? integer::test<W>(op.code, a, b) : floating::test(op.code - AluOp::FSETP_EQ, a, b));
            return true;
        case Handler::SFU:
            for (int k = 0; k < W; ++k) out[k] = mask >> k & 1 ? special::evaluate(m, op.code, b[k]) : 0;
            break;
        case Handler::MATCH: exchange::match(out.lane, a, mask); break;
        case Handler::SHUFFLE: {
            const u32 found = exchange::shuffle(op.code, out.lane, a, b, c, mask);
            write_register(m, w, mask, op.d, out.lane);
            if (op.tests) write_predicate(m, w, mask, op.pd, found);
            return true;
        }
        default: return other_vector(m, w, op, mask, a, b);
    }
    write_register(m, w, mask, op.d, out.lane);
    return true;
}

void binary64(Machine& m, Warp& w, const Operation& op, u32 mask) {
    Lanes<u64> a, b, c, out;
    wide_operand(w, op, op.from_a, op.a, a);
    wide_operand(w, op, op.from_b, op.b, b);
    if (op.handler == Handler::F64_TEST)
        return write_predicate(m, w, mask, op.pd, floating::test(op.code - F64Op::DSETP_EQ, a.lane, b.lane));
    wide_operand(w, op, op.from_c, op.c, c);
    floating::value64(op.code, out.lane, a.lane, b.lane, c.lane);
    for (u32 half = 0; half < op.registers; ++half) {
        Lanes<u32> words;
        for (int k = 0; k < W; ++k) words[k] = u32(out[k] >> 32 * half);
        write_register(m, w, mask, op.d + int(half), words.lane);
    }
}

bool uniform_path(Machine& m, Warp& w, const Operation& op, u32 mask) {
    const u32 a = uniform(w, op.a), b = op.from_b == Source::IMMEDIATE ? op.imm : uniform(w, op.b);
    const u32 c = uniform(w, op.c);
    u32 value = 0;
    switch (op.handler) {
        case Handler::UNIFORM_VALUE: integer::value<1>(op.code, &value, &a, &b, &c); break;
        case Handler::UNIFORM_TEST:
            write_predicate(m, w, mask, op.pd, integer::test<1>(op.code, &a, &b) ? FULL : 0);
            return true;
        default: value = special_register(m, w, op.imm, 0);
    }
    write_uniform(m, w, op.d, value);
    return true;
}

// Executes what only changes registers and memory; false, and nothing has happened, if it faults.
bool execute(Machine& m, Warp& w, const Operation& op, u32 mask) {
    switch (op.handler) {
        case Handler::LOAD: return memory::load(m, w, op, mask);
        case Handler::STORE: return memory::store(m, w, op, mask);
        case Handler::ATOMIC: return memory::atomic(m, w, op, mask);
        case Handler::UNIFORM_LOAD: return memory::load_uniform(m, w, op);
        case Handler::F64: case Handler::F64_TEST: binary64(m, w, op, mask); return true;
        case Handler::UNIFORM_VALUE: case Handler::UNIFORM_TEST:
        case Handler::UNIFORM_SPECIAL: return uniform_path(m, w, op, mask);
        default: return vector(m, w, op, mask);
    }
}

constexpr int NEXT_PC = 0, MASK = 1, RECONVERGENCE = 2;

// Pops finished entries; false if live lanes run off the bottom.
bool settle(Warp& w) {
    while (w.depth) {
        const u32* top = w.stack[w.depth - 1];
        if (top[MASK] & w.live && (top[NEXT_PC] != top[RECONVERGENCE] || top[NEXT_PC] == u32(PC_NONE))) return true;
        --w.depth;
    }
    return !w.live;
}

bool jump(Warp& w, u32 pc) {
    w.stack[w.depth - 1][NEXT_PC] = pc;
    return settle(w);
}

// The stack has no room for a branch.
bool overflows(const Machine& m, const Warp& w, const Operation& op, u32 active, u32 taken) {
    if (!taken || taken == active) return false;
    const u32* top = w.stack[w.depth - 1];
    const u32 sides = (top[NEXT_PC] + 1 != op.reconv) + (op.target != op.reconv);
    return w.depth - (top[RECONVERGENCE] == op.reconv) + sides > m.stack_depth;
}

bool branch(Warp& w, const Operation& op, u32 active, u32 taken) {
    u32* top = w.stack[w.depth - 1];
    const u32 fall = top[NEXT_PC] + 1;
    if (!taken) return jump(w, fall);
    if (taken == active) return jump(w, op.target);
    if (top[RECONVERGENCE] == op.reconv) --w.depth;
    else top[NEXT_PC] = op.reconv;
    const u32 sides[2][2] = {{fall, active & ~taken}, {op.target, taken}};
    for (const auto& side : sides) {
        if (side[0] == op.reconv) continue;
        u32* entry = w.stack[w.depth++];
        entry[NEXT_PC] = side[0], entry[MASK] = side[1], entry[RECONVERGENCE] = op.reconv;
    }
    return settle(w);
}

void pause(Warp& w, const Operation& op, bool pending, bool routine) {
    if (op.handler == Handler::BARRIER) {
        w.waiting = 1, w.barrier = op.barrier, w.live_vector = op.live, w.yielding = 0;
    } else if (op.handler == Handler::PP && pending) {
        w.after_pp = 1, w.live_vector = op.live;
    } else if (op.handler == Handler::PP_DIV && w.after_pp) {
        if (w.depth > 1u + routine) w.live_vector = op.live;
        w.after_pp = 0, w.parked = 1;
    }
}

void make_ready(Machine& m, u32 slot) { m.ready[(m.first + m.count++) % MAX_WARPS] = slot; }

bool continues(const Warp& w) { return w.live && !w.waiting && !w.parked; }

// After a warp has stopped: the end of its thread block, or a barrier that may be full. The block that has stopped as
// a whole for a preempt needs attention.
int stopped(Machine& m, Block& block, bool pending) {
    bool alive = false, full = true, same = true, running = false, yielding = false;
    u32 barrier = ~0u;
    for (u32 k = 0; k < block.warps; ++k) {
        const Warp& w = warp_at(m, block.slots[k]);
        if (!w.live) continue;
        alive = true;
        running |= continues(w);
        full &= w.waiting != 0;
        yielding |= w.yielding != 0;
        same &= barrier == ~0u || barrier == w.barrier;
        barrier = w.barrier;
    }
    if (!alive) return Status::DONE;
    if (pending) return running ? Status::LIMIT : Status::ATTENTION;
    if (!full) return Status::LIMIT;
    if (!same || yielding) return Status::MISMATCH;
    for (u32 k = 0; k < block.warps; ++k) {
        Warp& w = warp_at(m, block.slots[k]);
        if (!w.live) continue;
        w.waiting = 0;
        make_ready(m, block.slots[k]);
    }
    return Status::LIMIT;
}

// Moves on behind an instruction; false if live lanes run off the bottom of the stack.
bool advance(Machine& m, Warp& w, const Operation& op, u32 pc, u32 active, u32 mask, bool pending, bool routine) {
    switch (op.handler) {
        case Handler::BRANCH: return branch(w, op, active, mask);
        case Handler::EXIT: w.live &= ~mask; return jump(w, pc + 1);
        case Handler::CALL: write_uniform(m, w, op.d, pc + 1); return jump(w, op.target);
        case Handler::BRU: return jump(w, uniform(w, op.d));
        case Handler::REJOIN: return jump(w, w.stack[w.depth - 1][RECONVERGENCE]);
        default: pause(w, op, pending, routine); return jump(w, pc + 1);
    }
}

// The next instruction of the first ready warp. `m.cycle` is the cycle it executes in; PYTHON and DECODE: nothing
// has happened.
int step(Machine& m) {
    const u32 slot = m.ready[m.first];
    Warp& w = warp_at(m, slot);
    Block& block = block_of(m, w);
    const Kernel& kernel = kernel_of(m, block);
    const u32 pc = w.stack[w.depth - 1][NEXT_PC], live = w.live;
    m.slot = slot, m.pc = pc;
    if (pc >= kernel.code_words || pc + 1 >= u32(PC_NONE)) return Status::PYTHON;
    const Operation& op = reinterpret_cast<const Operation*>(kernel.operations)[pc];
    if (op.handler == Handler::UNDECODED) return Status::DECODE;
    if (op.handler == Handler::PYTHON || (w.after_pp && op.handler != Handler::PP_DIV)) return Status::PYTHON;
    const bool routine = kernel.trap_base && pc >= kernel.trap_base;
    if (block.traps && !routine && !w.returned) return Status::PYTHON;  // which knows who is trapped
    const u32 active = w.stack[w.depth - 1][MASK] & live;
    const u32 mask = op.all_lanes ? live : active & predicate(w, op.guard, op.guard_not);
    if (active & ~u32(FULL)) return Status::PYTHON;
    switch (op.handler) {
        case Handler::TRAP: if (mask) return Status::PYTHON; break;
        case Handler::BARRIER: if (active != live) return Status::PYTHON; break;
        case Handler::BRU: if (uniform(w, op.d) >= u32(PC_NONE)) return Status::PYTHON; break;
        case Handler::REJOIN: if (w.stack[w.depth - 1][RECONVERGENCE] == u32(PC_NONE)) return Status::PYTHON; break;
        case Handler::BRANCH: if (overflows(m, w, op, active, mask)) return Status::PYTHON; break;
        default: break;
    }
    const u32 traced = m.trace_count;
    if (m.trace && op.recorded) record(m, w, RETIRE, 0, mask);
    if (op.handler < Handler::BRANCH && mask && !execute(m, w, op, mask)) {
        m.trace_count = traced;
        return Status::PYTHON;
    }
    m.retired += op.recorded, block.instructions += op.recorded;
    m.first = (m.first + 1) % MAX_WARPS, --m.count;
    w.returned = routine;
    if (!advance(m, w, op, pc, active, mask, block.pending, routine)) return Status::RAN_OFF;
    if (!continues(w)) return stopped(m, block, block.pending);
    make_ready(m, slot);
    return Status::LIMIT;
}

}  // namespace

// Executes at most `cycles` instructions; returns why it stopped. The cycle before the first is in `m->cycle`, which
// counts those executed.
extern "C" int run(Machine* machine, u64 cycles) {
    Machine& m = *machine;
    for (; cycles && m.count; --cycles) {
        if (m.trace && m.trace_room - m.trace_count < u32(MOST_RECORDS)) break;
        ++m.cycle;
        const int status = step(m);
        if (status == Status::PYTHON || status == Status::DECODE) --m.cycle;
        if (status != Status::LIMIT) return status;
        if (m.woken) return Status::WOKEN;
    }
    return Status::LIMIT;
}
