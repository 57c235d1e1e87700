"""A `SharedMemory` beside a byte-array model, and accesses for it."""

from collections import Counter, deque

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AtomicOp, Size
from caesura.hw.core.memory.shared_memory import SharedMemory
from support.core.memory_ops import Access, RegisterWrites, drive, load_value, perform, random_access, store_bytes
from support.hw.simulation import Simulator, component

TINY = preset("tiny")
GEOMETRIES = {
    "tiny": TINY,
    "tiny, 4 lanes": TINY.replace(lanes=4),
    "8 of 32 lanes": preset("ecp5").replace(warps=4, registers=64, shared_bytes=5 * 1024),
    "32 lanes": preset("gtx480").replace(warps=4, registers=64, shared_bytes=5 * 1024),
}
LINE = 128


class Bench:
    """A SharedMemory and its model. TB 0 has lines 1 to 5, TB 1 lines 6 and 7; the model is absolute."""

    TBS = {0: (LINE, 5 * LINE - 20), 1: (6 * LINE, 2 * LINE)}

    def __init__(self, g, busy=lambda: False):
        self.g, self.unit, self.busy = g, component(SharedMemory, g), busy
        self.model = np.zeros(g.shared_bytes, np.uint8)
        self.valid = self.dirty = 0
        self.writes = RegisterWrites(g)
        self.credits = g.unit_queue
        self.outstanding = deque()
        self.expected_faults, self.faults = Counter(), Counter()
        self.traced, self.trace_cycles = deque(), []
        self.cycle, self.op_cycles, self.write_cycles, self.done_cycles = 0, [], [], []

    def expect(self, access):
        """Apply an access to the model; remember the writes and the fault that it must cause."""
        base, size = self.TBS[access.tb]
        values = [[None] * self.g.warp_size for _ in range(access.size.registers)]
        beyond = [lane for lane in access.lanes if access.address[lane] + access.size.bytes > size]
        if access.misaligned:
            self._fault(access, Fault.MISALIGNED, access.misaligned[0])
        elif beyond:
            self._fault(access, Fault.SHARED_BOUND, beyond[0])
        elif access.store or access.function is not None:
            if access.store:
                store_bytes(self.model, access, access.lanes, base)
            for lane in access.lanes:
                if not access.store:
                    old = perform(self.model, access, lane, base)
                    self.traced.append((access.warp, access.pc, lane, old))
                    for k in range(access.size.registers):
                        values[k][lane] = old >> 32 * k & 0xFFFF_FFFF
                self.valid |= 1 << (base + access.address[lane]) // LINE
                self.dirty |= 1 << (base + access.address[lane]) // LINE
        else:
            for lane in access.lanes:
                for k, value in enumerate(load_value(self.model, base + access.address[lane], access.size)):
                    values[k][lane] = value
        self.outstanding.append((access, values))

    def _fault(self, access, kind, lane):
        self.expected_faults[kind, access.warp, access.pc, access.address[lane]] += 1

    def expect_clear(self, first, count):
        """Make lines of the model invalid: they read as zeros."""
        self.model[first * LINE:(first + count) * LINE] = 0
        self.valid &= ~((1 << count) - 1 << first)
        self.dirty &= ~((1 << count) - 1 << first)

    async def monitor(self, ctx):
        unit, write, held = self.unit, self.unit.access.write, None
        completion = unit.completion
        while True:
            ready = not self.busy()
            ctx.set(write.ready, ready)
            *_, op, room, valid, bits, done, fault, trace = await ctx.tick().sample(
                unit.access.op.valid, completion.room, write.valid, write.payload.as_value(), completion.shared,
                unit.fault, unit.trace_atomic)
            self.cycle += 1
            self.credits += room
            if trace.valid:
                assert (trace.warp, trace.pc, trace.lane, trace.old) == self.traced.popleft()
                self.trace_cycles.append(self.cycle)
            if op:
                self.op_cycles.append(self.cycle)
            if fault.valid:
                self.faults[Fault(fault.kind), fault.warp, fault.pc, fault.address] += 1
            if done.valid:
                access, values = self.outstanding.popleft()
                assert done.warp == access.warp
                self.done_cycles.append(self.cycle)
                mine = [fault for fault in self.expected_faults if fault[2] == access.pc]
                assert all(self.faults[fault] == self.expected_faults[fault] for fault in mine), "fault after done"
                if not access.store and access.returns:
                    assert self.writes.pop(access) == values
            assert held is None or (valid and bits == held), "a write changed while it waited"
            held = bits if valid and not ready else None
            if valid and ready:
                self.write_cycles.append(self.cycle)
                self.writes.take(write.payload.shape().from_bits(bits))

    async def send(self, ctx, access):
        """Send one access when there is credit."""
        while not self.credits:
            await ctx.tick()
        self.credits -= 1
        self.expect(access)
        await drive(ctx, self.unit, self.g, access)

    async def send_all(self, ctx, rng, accesses):
        """Send accesses; after every twelfth wait until all are done, then clear lines."""
        for number, access in enumerate(accesses):
            await self.send(ctx, access)
            if number % 12 == 11:
                await self.settle(ctx)
                first = rng.randrange(8)
                await self.clear(ctx, first, rng.randrange(9 - first))

    async def settle(self, ctx):
        """Wait until everything sent is done, then compare lines."""
        while self.outstanding:
            await ctx.tick()
        await ctx.tick()
        assert ctx.get(self.unit.state.valid) == self.valid
        assert ctx.get(self.unit.state.dirty) == self.dirty

    async def clear(self, ctx, first, count):
        """Make lines invalid and clean."""
        ctx.set(self.unit.clear, {"valid": 1, "first": first, "count": count})
        await ctx.tick()
        ctx.set(self.unit.clear.valid, 0)
        self.expect_clear(first, count)

    async def clean(self, ctx, first, count):
        """Make lines clean."""
        ctx.set(self.unit.state.clean, {"valid": 1, "first": first, "count": count})
        await ctx.tick()
        ctx.set(self.unit.state.clean.valid, 0)
        self.dirty &= ~((1 << count) - 1 << first)

    async def row(self, ctx, row, data=None):
        """Read a row, or write it if there is data."""
        unit, (low, high) = self.unit, (row * 4 * self.g.lanes, (row + 1) * 4 * self.g.lanes)
        ctx.set(unit.state.row.payload, {"row": row, "write": data is not None,
                                         "data": [0] * self.g.lanes if data is None else [int(word) for word in data]})
        ctx.set(unit.state.row.valid, 1)
        taken = 0
        while not taken:
            *_, taken = await ctx.tick().sample(unit.state.row.ready)
        ctx.set(unit.state.row.valid, 0)
        assert ctx.get(unit.state.row_data.valid) == (data is None)
        if data is not None:
            self.model[low:high] = np.array(data, np.uint32).view(np.uint8)
            self.valid |= 1 << low // LINE
            self.dirty |= 1 << low // LINE
            return None
        return [ctx.get(unit.state.row_data.data[b]) for b in range(self.g.lanes)]

    def run(self, script, limit=20_000, beside=None):
        """Run `script(ctx)` to its end, `beside` at the same time; what was sent must have completed as expected."""
        async def driver(ctx):
            for tb, (base, size) in self.TBS.items():
                ctx.set(self.unit.tbs[tb].shared_base, base)
                ctx.set(self.unit.tbs[tb].shared_bytes, size)
            await script(ctx)
            await self.settle(ctx)

        async def deadline(ctx):
            for _ in range(limit):
                await ctx.tick()
            raise AssertionError(f"not finished in {limit} cycles")

        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(driver)
        if beside is not None:
            simulator.add_testbench(beside)
        simulator.add_testbench(self.monitor, background=True)
        simulator.add_testbench(deadline, background=True)
        simulator.run()
        assert self.faults == self.expected_faults
        assert not self.traced, "lanes of atomics not performed"
        assert not self.writes.registers and self.credits == self.g.unit_queue


def accesses(rng, g, count, odd=0.0, beyond=0):
    """Yield random accesses of both TBs, up to `beyond` bytes past the allocation."""
    for number in range(count):
        tb = rng.randrange(2)
        access = random_access(rng, g, rng.randrange(g.warps), number % 16 * 4, number + 1, 0,
                               Bench.TBS[tb][1] + beyond, odd)
        access.tb = tb
        yield access


def strided(g, number, words, store=False, size=Size.B32, start=0):
    """Return an access of all lanes, `words` words apart."""
    data = np.arange(4 * g.warp_size, dtype=np.uint32).reshape(4, -1) + 1000 * number
    return Access(number % g.warps, size, store, (1 << g.warp_size) - 1,
                  [start + 4 * words * lane for lane in range(g.warp_size)], data, number % 16 * 4, number + 1)


def atomic(g, number, words, function=AtomicOp.ADD, size=Size.B32, returns=True):
    """Return an atomic of all lanes, `words` words apart; operands are ones."""
    access = strided(g, number, words, size=size)
    access.function, access.returns = function, returns
    access.data = np.full((4, g.warp_size), 0x3F80_0000 if function is AtomicOp.FADD else 1, np.uint32)
    return access
