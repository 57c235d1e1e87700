"""Shared loads, stores, atomics, lines and rows against a byte-array model."""

import random
from collections import Counter, deque
from itertools import count

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AtomicOp, Size
from caesura.hw.core.memory.shared_memory import SharedMemory
from support.core.memory_ops import (
    Access,
    RegisterWrites,
    drive,
    load_value,
    perform,
    random_access,
    random_atomic,
    store_bytes,
)
from support.hw.simulation import Simulator, component
from support.selection import quick

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
        """Apply an access to the model; what it must write and report is remembered."""
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
        """Lines become invalid: they read as zeros."""
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
    """Random accesses of both TBs; `beyond` bytes past the allocation may be touched."""
    for number in range(count):
        tb = rng.randrange(2)
        access = random_access(rng, g, rng.randrange(g.warps), number % 16 * 4, number + 1, 0,
                               Bench.TBS[tb][1] + beyond, odd)
        access.tb = tb
        yield access


def strided(g, number, words, store=False, size=Size.B32, start=0):
    """An access of all lanes, `words` words apart."""
    data = np.arange(4 * g.warp_size, dtype=np.uint32).reshape(4, -1) + 1000 * number
    return Access(number % g.warps, size, store, (1 << g.warp_size) - 1,
                  [start + 4 * words * lane for lane in range(g.warp_size)], data, number % 16 * 4, number + 1)


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8 of 32 lanes"]))
def test_random_accesses_clears_and_faults_match_the_model(name):
    """With back-pressure on the write port; faults have no effect but their report."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < 0.3)

    async def script(ctx):
        for number, access in enumerate(accesses(rng, g, max(25, 480 // g.warp_size), odd=0.1, beyond=8)):
            await bench.send(ctx, access)
            if number % 12 == 11:
                await bench.settle(ctx)
                first = rng.randrange(8)
                await bench.clear(ctx, first, rng.randrange(9 - first))
    bench.run(script)
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.SHARED_BOUND}


@pytest.mark.parametrize(("name", "stall"), [("tiny", 0.0), ("tiny, 4 lanes", 0.0), ("8 of 32 lanes", 0.0),
                                             ("tiny", 0.6), ("tiny, 4 lanes", 0.6)])
def test_rows_are_saved_and_restored_while_other_lines_are_used(name, stall):
    """Rows of line 0 and 7 are written and read while TB 0 runs on lines 1 to 5, its results held back or not."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < stall)
    per_line = LINE // (4 * g.lanes)
    last_line = 7

    async def script(ctx):
        for access in [strided(g, n, 1, store=True, start=n * 4 * g.warp_size) for n in range(4)]:
            await bench.send(ctx, access)
        for line in (0, last_line):
            for row in range(line * per_line, (line + 1) * per_line):
                assert await bench.row(ctx, row) == [0] * g.lanes, "an invalid line must read as zeros"
                await bench.row(ctx, row, [rng.getrandbits(32) for _ in range(g.lanes)])
                await bench.send(ctx, strided(g, row % 8, 1))
                expected = bench.model[row * 4 * g.lanes:(row + 1) * 4 * g.lanes].view(np.uint32).tolist()
                assert await bench.row(ctx, row) == expected
        await bench.settle(ctx)
        await bench.clean(ctx, last_line, 1)
        await bench.settle(ctx)
        assert bench.valid >> last_line & 1 and not bench.dirty >> last_line & 1 and bench.dirty & 1
        await bench.row(ctx, last_line * per_line, [5] * g.lanes)
        await bench.settle(ctx)
        assert bench.dirty >> last_line & 1
        await bench.clear(ctx, 0, 1)
        assert await bench.row(ctx, 0) == [0] * g.lanes
    bench.run(script)


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["tiny", "tiny, 4 lanes", "8 of 32 lanes"]))
def test_the_first_store_to_a_line_zeroes_what_a_former_owner_left(name):
    g = GEOMETRIES[name]
    bench = Bench(g)

    async def script(ctx):
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 1, 1, store=True, start=start))
        await bench.settle(ctx)
        await bench.clear(ctx, 1, 1)
        one = strided(g, 2, 1, store=True, size=Size.U8)
        one.mask = 1
        await bench.send(ctx, one)
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 3, 1, start=start))
            await bench.settle(ctx)
    bench.run(script)
    assert bench.model[LINE:2 * LINE].any() and bench.model[LINE + 1:2 * LINE].sum() == 0


def test_of_lanes_that_store_to_one_byte_the_highest_wins():
    bench = Bench(TINY)
    access = strided(TINY, 1, 0, store=True, size=Size.U16, start=6)
    access.mask = 0b0101_1010

    async def script(ctx):
        await bench.send(ctx, access)
        await bench.send(ctx, strided(TINY, 2, 0, size=Size.U16, start=6))
    bench.run(script)
    assert bench.model[LINE + 6:LINE + 8].view(np.uint16)[0] == access.data[0][6]


@pytest.mark.parametrize("name", quick(GEOMETRIES, ("tiny", "8 of 32 lanes")))
def test_passes_and_latency_of_strided_loads(name):
    """A stride of 2 words makes 2 passes, an odd one or the same word 1; the first write comes 3 cycles later."""
    g = GEOMETRIES[name].replace(unit_queue=4)
    bench = Bench(g)
    bench.TBS = {0: (0, g.shared_bytes), 1: (0, 0)}

    async def script(ctx):
        for words, passes in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4)]:
            first = len(bench.op_cycles), len(bench.write_cycles), len(bench.done_cycles)
            for number in range(6):
                await bench.send(ctx, strided(g, number, words))
            await bench.settle(ctx)
            ops, writes, done = (cycles[since:] for cycles, since in zip(
                (bench.op_cycles, bench.write_cycles, bench.done_cycles), first, strict=True))
            assert done[-1] - done[1] == 4 * g.beats * passes
            assert writes[0] - ops[g.beats - 1] == 2 + passes
    bench.run(script)


def test_stores_to_dirty_lines_flow_one_a_cycle():
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)

    async def script(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True))
        await bench.settle(ctx)
        for number in range(10):
            await bench.send(ctx, strided(g, number, 1, store=True))
    bench.run(script)
    assert bench.done_cycles[-1] - bench.done_cycles[1] == 9


def atomics(rng, g, count, odd=0.0, beyond=0):
    """Loads, stores and atomics; 64-bit ones too."""
    for access in accesses(rng, g, count, odd, beyond):
        if rng.random() < 0.6:
            end = Bench.TBS[access.tb][1] + beyond
            few = rng.random() < 0.5
            atomic = random_atomic(rng, g, access.warp, access.d, access.pc, 0, 128 if few else end // 8 * 8, odd)
            atomic.tb = access.tb
            yield atomic
        else:
            yield access


@pytest.mark.parametrize("name", quick(GEOMETRIES, ("tiny, 4 lanes", "32 lanes")))
def test_atomics_among_loads_and_stores_match_the_model(name):
    """Under back-pressure; lines lost in between read as zeros and become valid and dirty."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < 0.3 and bench.cycle % 2000 < 1000)

    async def script(ctx):
        for number, access in enumerate(atomics(rng, g, max(25, 480 // g.warp_size), odd=0.1, beyond=60)):
            await bench.send(ctx, access)
            if number % 12 == 11:
                await bench.settle(ctx)
                first = rng.randrange(8)
                await bench.clear(ctx, first, rng.randrange(9 - first))
    bench.run(script)
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.SHARED_BOUND}
    assert len(bench.trace_cycles) > 80


def atomic(g, number, words, function=AtomicOp.ADD, size=Size.B32, returns=True):
    """An atomic of all lanes, `words` words apart; operands are ones."""
    access = strided(g, number, words, size=size)
    access.function, access.returns = function, returns
    access.data = np.full((4, g.warp_size), 0x3F80_0000 if function is AtomicOp.FADD else 1, np.uint32)
    return access


@pytest.mark.parametrize(("function", "words", "cycles"), [
    (AtomicOp.ADD, 1, 1), (AtomicOp.ADD, 2, 1), (AtomicOp.ADD, 0, 3), (AtomicOp.FADD, 1, 1), (AtomicOp.FADD, 0, 7)])
def test_rate_of_the_lanes_of_an_atomic(function, words, cycles):
    bench = Bench(TINY)

    async def script(ctx):
        await bench.send(ctx, strided(TINY, 0, 2, store=True))
        await bench.settle(ctx)
        await bench.send(ctx, atomic(TINY, 1, words, function))
    bench.run(script)
    assert np.diff(bench.trace_cycles).tolist() == [cycles] * (TINY.warp_size - 1)


@pytest.mark.parametrize("function", [AtomicOp.ADD, AtomicOp.FADD])
@pytest.mark.parametrize("returns", [True, False])
def test_what_follows_an_atomic_sees_it(function, returns):
    """A load, a store and a row read of the same word right behind it."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)
    row = LINE // (4 * g.lanes)

    async def script(ctx):
        for number in range(3):
            await bench.send(ctx, atomic(g, number, 0, function, returns=returns))
            await bench.send(ctx, strided(g, number, 0))
        await bench.send(ctx, atomic(g, 1, 0, function, returns=returns))
        await bench.send(ctx, strided(g, 2, 1, store=True))
        await bench.send(ctx, strided(g, 3, 1))
        await bench.send(ctx, atomic(g, 1, 1, function, returns=returns))
        expected = bench.model[LINE:][:4 * g.lanes].view(np.uint32).tolist()
        while bench.outstanding:
            await ctx.tick()
        assert await bench.row(ctx, row) == expected, "an atomic was complete before its lanes were written"
    bench.run(script)


@pytest.mark.parametrize("function", [AtomicOp.ADD, AtomicOp.FADD])
def test_a_line_is_zeroed_though_an_atomic_before_is_still_writing(function):
    """A store to a line that a former owner left comes right behind an atomic on the line before."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)
    starts = range(0, 2 * LINE, 4 * g.warp_size)

    async def script(ctx):
        for start in starts:
            await bench.send(ctx, strided(g, 1, 1, store=True, start=start))
        await bench.settle(ctx)
        await bench.clear(ctx, 2, 1)
        await bench.send(ctx, atomic(g, 2, 1, function))
        one = strided(g, 3, 1, store=True, start=LINE)
        one.mask = 1
        await bench.send(ctx, one)
        for start in starts:
            await bench.send(ctx, strided(g, 4, 1, start=start))
            await bench.settle(ctx)
    bench.run(script)


@pytest.mark.parametrize("size", [Size.B32, Size.B64])
def test_sums_of_reals_and_other_atomics_follow_each_other(size):
    """On words next to each other, in turn and in both orders: results of the two kinds come at different times."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)

    async def script(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True, size=Size.B128))
        for number in range(6):
            real, other = atomic(g, number, 1, AtomicOp.FADD), atomic(g, number + 1, size.registers, size=size)
            other.address = [address + 4 * g.warp_size for address in other.address]
            for access in (real, other):
                await bench.send(ctx, access)
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 0, 1, start=start))
    bench.run(script)


@pytest.mark.parametrize(("function", "most"), [(None, 3), (AtomicOp.ADD, 5), (AtomicOp.FADD, 9)])
def test_rows_do_not_wait_for_running_tbs(function, most):
    """Loads or atomics wait all the time; rows come and go among them, and neither changes the other."""
    g, rng = TINY.replace(unit_queue=4), random.Random(5)
    bench = Bench(g)
    per_line = LINE // (4 * g.lanes)
    rows, finished = [0, per_line - 1, 7 * per_line, 8 * per_line - 1], []

    async def feed(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True))
        for number in count():
            if finished:
                break
            await bench.send(ctx, strided(g, number, g.lanes) if function is None else atomic(g, number, 0, function))

    async def script(ctx):
        kept, waits = {}, []
        while bench.credits:
            await ctx.tick()
        for number in range(24):
            row = rows[number] if number < len(rows) else rng.choice(rows)
            data = [rng.getrandbits(32) for _ in range(g.lanes)] if row not in kept or number % 3 == 0 else None
            before = bench.cycle
            found = await bench.row(ctx, row, data)
            waits.append(bench.cycle - before)
            assert bench.credits < g.unit_queue, "nothing waited"
            assert data is not None or found == kept[row]
            kept[row] = data or kept[row]
            for _ in range(rng.randrange(1, 5)):
                await ctx.tick()
        finished.append(True)
        assert max(waits) <= most, waits
    bench.run(script, beside=feed)


def test_rows_and_operations_take_turns():
    """A row is offered all the time and operations wait all the time: each of them transfers every other cycle."""
    g = TINY.replace(unit_queue=4)
    bench, rows = Bench(g), []

    async def offer(ctx):
        ctx.set(bench.unit.state.row.valid, 1)
        for _ in range(60):
            *_, taken = await ctx.tick().sample(bench.unit.state.row.ready)
            if taken:
                rows.append(bench.cycle)
        ctx.set(bench.unit.state.row.valid, 0)

    async def script(ctx):
        for number in range(10):
            await bench.send(ctx, strided(g, number, 1))
        await bench.settle(ctx)
    bench.run(script, beside=offer)
    assert np.diff(rows).tolist() == [2] * 29
    assert np.diff(bench.done_cycles).tolist() == [2] * 9
