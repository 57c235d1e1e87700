"""A unit for global and local accesses and atomics with a memory behind it, and a model of bytes."""

from collections import Counter, deque
from dataclasses import replace

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AtomicOp, Size, Space
from caesura.hw.core.memory.load_store import LoadStore
from support.core.memory_ops import (
    Access,
    PortMemory,
    RegisterWrites,
    drive,
    load_value,
    perform,
    random_access,
    store_bytes,
)

from ..hw.simulation import Simulator, component
from ..selection import quick

__all__ = ["CHECKED", "GEOMETRIES", "LOCAL_BYTES", "RATED", "RATES", "REGION", "TINY", "WHOLE", "Bench", "accesses",
           "consecutive"]

TINY = preset("tiny")
GEOMETRIES = {
    "tiny": TINY,
    "tiny, 4-byte bus, 4 lanes": TINY.replace(lanes=4, bus_bytes=4, bytes_per_cycle=4.0),
    "tiny, 16-byte bus": TINY.replace(bus_bytes=16, bytes_per_cycle=16.0),
    "8 of 32 lanes": preset("ecp5").replace(warps=4, registers=64),
    "32 lanes, 16-byte bus": preset("gtx480").replace(warps=4, registers=64, load_queue=8),
    "32 lanes, 128-byte bus": preset("gtx480").replace(warps=4, registers=64, load_queue=8, bus_bytes=128,
                                                       bytes_per_cycle=128.0),
}
CHECKED = quick(GEOMETRIES, ("tiny", "8 of 32 lanes"))
RATED = ["tiny", "tiny, 4-byte bus, 4 lanes", "8 of 32 lanes"]
"""Geometries whose latencies are checked."""
RATES = quick(RATED, RATED[::2])
"""Geometries whose rates are checked."""
WHOLE = {8: Size.B128, 32: Size.B32}
"""By threads of a warp, the size of which a coalesced access is one segment."""
REGION = 2048
"""Bytes each warp accesses; regions of different warps do not overlap. That after the last warp's is for atomics."""
LOCAL_BYTES = 44
"""Local memory of each thread; it lies in no window."""


class Bench:
    """A LoadStore with a memory behind it; remembers everything that must come out."""

    def __init__(self, g, latency=5, busy=lambda: False, fails=lambda address: False, refuses=lambda address: False):
        self.g, self.unit = g, component(LoadStore, g)
        self.local_base = (g.warps + 3) * REGION
        size = self.local_base + g.warps * g.warp_size * LOCAL_BYTES + 128
        self.memory = PortMemory(g, size, latency, busy, fails, refuses)
        self.fails, self.refuses, self.busy = fails, refuses, busy
        self.memory.bytes[:] = np.random.default_rng(1).integers(0, 256, len(self.memory.bytes), np.uint8)
        self.model = self.memory.bytes.copy()
        self.windows = [(REGION, REGION * (g.warps + 2))]
        self.writes = RegisterWrites(g)
        self.credits = g.unit_queue
        self.loads, self.stores, self.atomics = deque(), deque(), deque()
        self.expected_faults, self.faults = Counter(), Counter()
        self.cycle, self.done_cycles, self.write_cycles = 0, [], []
        self.lanes, self.errors = {}, {}
        self.performed, self.trace_cycles = [], []

    def expect(self, access):
        """Apply a load or store to the model; what it must write and report is remembered.

        Of an atomic the lanes that must be performed are remembered, segment by segment.
        """
        values = [[None] * self.g.warp_size for _ in range(access.size.registers)]
        failed, atomic, lanes, errors = False, access.function is not None, [], []
        local = access.space is Space.LOCAL
        beyond = [lane for lane in access.lanes if access.address[lane] + access.size.bytes > LOCAL_BYTES]
        segments = []
        if access.misaligned:
            self._fault(access, Fault.MISALIGNED, access.misaligned[0])
        elif local and beyond:
            self._fault(access, Fault.LOCAL_BOUND, beyond[0])
        else:
            access = self.translated(access)
            segments = access.segments()
        for segment in segments:
            address = access.address[segment[0]]
            if not local and not any(base <= address < end for base, end in self.windows):
                self._fault(access, Fault.GLOBAL_WINDOW, segment[0])
                break
            refused = self.refuses(address) and not self.fails(address)
            if self.fails(address) or (refused and (atomic or access.store)):
                if not atomic and not failed:
                    self._fault(access, Fault.BUS_ERROR, segment[0])
                if atomic and refused and not failed:
                    lanes.append((segment, True))
                elif atomic and not failed:
                    errors.append((segment[0], True))
                failed = failed or not atomic or self.fails(address)
            elif access.store:
                store_bytes(self.model, access, segment)
            elif atomic and not failed:
                lanes.append((segment, False))
            elif not failed:
                for lane in segment:
                    for k, value in enumerate(load_value(self.model, access.address[lane], access.size)):
                        values[k][lane] = value
        if atomic:
            self.lanes[access.warp, access.pc] = [(lane, refused, number == 0) for segment, refused in lanes
                                                  for number, lane in enumerate(segment)]
            self.errors[access.warp, access.pc] = errors
        (self.atomics if atomic else self.stores if access.store else self.loads).append((access, values))

    def translated(self, access):
        """Local offsets become global addresses (docs/sm.md, Constants, parameters and local memory)."""
        if access.space is not Space.LOCAL:
            return access
        size = self.g.warp_size
        base = self.local_base + access.block_warp * LOCAL_BYTES * size
        return replace(access, address=[base + offset // 4 * 4 * size + 4 * lane + offset % 4
                                        for lane, offset in enumerate(access.address)])

    def trace(self, trace):
        """A lane of an atomic was performed: it must be the next of its instruction, and find what is there."""
        access, values = next((a, v) for a, v in self.atomics if a.warp == trace.warp and a.pc == trace.pc)
        lane, refused, first = self.lanes[access.warp, access.pc].pop(0)
        assert lane == trace.lane
        start = access.address[lane] // 128 * 128
        if refused and first:
            self.kept, self.leader = self.model[start:start + 128].copy(), lane
        before = self.model.copy() if refused else None
        old = perform(self.model, access, lane)
        assert trace.old == old
        if before is not None and (access.function is AtomicOp.FADD or (self.model != before).any()):
            # only then is there a write that can fail
            self.errors[access.warp, access.pc].append((self.leader, False))
        for k in range(access.size.registers):
            values[k][lane] = old >> 32 * k & 0xFFFF_FFFF
        left = self.lanes[access.warp, access.pc]
        if refused and (not left or left[0][2]):
            self.model[start:start + 128] = self.kept
        self.performed.append((access.pc, lane))
        self.trace_cycles.append(self.cycle)

    def _fault(self, access, kind, lane):
        self.expected_faults[kind, access.warp, access.pc, access.address[lane]] += 1

    def may_issue(self, access):
        """The front end's rule: a warp has loads, stores or one atomic outstanding."""
        queues = {"load": self.loads, "store": self.stores, "atomic": self.atomics}
        mine = "atomic" if access.function is not None else "store" if access.store else "load"
        busy = [a.warp for name, queue in queues.items() if name != mine or mine == "atomic" for a, _ in queue]
        return self.credits and access.warp not in busy and len(self.loads) < 12

    async def monitor(self, ctx):
        unit = self.unit
        write, completion, held = unit.access.write, unit.completion, None
        while True:
            ready = not self.busy()
            ctx.set(write.ready, ready)
            *_, room, valid, bits, load, store, atomic, fault, trace = await ctx.tick().sample(
                completion.room, write.valid, write.payload.as_value(), completion.load.as_value(),
                completion.store.as_value(), completion.atomic.as_value(), unit.fault, unit.trace_atomic)
            self.cycle += 1
            self.credits += room
            if fault.valid:
                self.faults[Fault(fault.kind), fault.warp, fault.pc, fault.address] += 1
            if trace.valid:
                self.trace(trace)
            for port, bits_, queue in ((completion.load, load, self.loads), (completion.store, store, self.stores),
                                       (completion.atomic, atomic, self.atomics)):
                done = port.shape().from_bits(bits_)
                if done.valid:
                    access, values = queue.popleft()
                    assert done.warp == access.warp
                    self.done_cycles.append(self.cycle)
                    errors = sorted(self.errors.pop((access.warp, access.pc), []), key=lambda error: error[1])
                    if errors:  # of several that fail, one is reported: refusals come later than what cannot be read
                        seen = [lane for lane, *_ in errors
                                if self.faults[Fault.BUS_ERROR, access.warp, access.pc, access.address[lane]]]
                        self._fault(access, Fault.BUS_ERROR, (seen or [errors[0][0]])[0])
                    mine = [fault for fault in self.expected_faults if fault[1:3] == (access.warp, access.pc)]
                    assert all(self.faults[fault] == self.expected_faults[fault] for fault in mine), "fault after done"
                    assert not self.lanes.pop((access.warp, access.pc), None), "lanes not performed"
                    if not access.store and access.returns:
                        assert self.writes.pop(access) == values
                    if queue is self.atomics:
                        assert all((self.memory.bytes[self.translated(access).address[lane]:][:access.size.bytes]
                                    == self.model[access.address[lane]:][:access.size.bytes]).all()
                                   for lane in access.lanes if not any(a.function for a, _ in queue)
                                   ), "done before it was written"
            assert held is None or (valid and bits == held), "a write changed while it waited"
            held = bits if valid and not ready else None
            if valid and ready:
                self.write_cycles.append(self.cycle)
                self.writes.take(write.payload.shape().from_bits(bits))

    def run(self, accesses, gap=lambda: 0, limit=40_000):
        """Send the accesses, and wait until all are complete and compared."""
        async def driver(ctx):
            for w, (base, end) in enumerate(self.windows):
                for kernel in range(self.g.kernel_slots):
                    ctx.set(self.unit.kernels[kernel].windows[w], {"base": base, "end": end})
                    ctx.set(self.unit.kernels[kernel].local_bytes, LOCAL_BYTES)
            for tb in range(self.g.tb_slots):
                ctx.set(self.unit.tbs[tb].local_base, self.local_base if tb == 0 else 0x1000_0000)
            for access in accesses:
                while not self.may_issue(access):
                    await ctx.tick()
                self.credits -= 1
                for _ in range(gap()):
                    await ctx.tick()
                self.expect(access)
                await drive(ctx, self.unit, self.g, access)
            while self.loads or self.stores or self.atomics:
                await ctx.tick()
            await ctx.tick().repeat(3)

        async def deadline(ctx):
            for _ in range(limit):
                await ctx.tick()
            raise AssertionError(f"not finished in {limit} cycles")

        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(driver)
        simulator.add_testbench(self.monitor, background=True)
        simulator.add_testbench(self.memory.reader(self.unit.read_port), background=True)
        simulator.add_testbench(self.memory.writer(self.unit.write_port), background=True)
        simulator.add_testbench(self.memory.reader(self.unit.atomic_read_port), background=True)
        simulator.add_testbench(self.memory.writer(self.unit.atomic_write_port), background=True)
        simulator.add_testbench(deadline, background=True)
        simulator.run()
        assert self.faults == self.expected_faults
        assert not self.writes.registers
        assert (self.memory.bytes == self.model).all()
        assert self.credits == self.g.unit_queue


def accesses(rng, g, count, odd=0.0, outside=0.0):
    """Random accesses, each warp in its own region or (`outside`) reaching beyond the window."""
    for number in range(count):
        warp = rng.randrange(g.warps)
        first, end = REGION * (warp + 1), REGION * (warp + 2)
        if rng.random() < outside and warp == 0:
            first = 0
        yield random_access(rng, g, warp, number % 16 * 4, number + 1, first, end, odd)


def consecutive(g, number, store=False, size=Size.B32):
    """A fully coalesced access of one of the warps."""
    warp = number % g.warps
    start = REGION * (warp + 1) + number // g.warps * 128 % (REGION // 2)
    data = np.arange(4 * g.warp_size, dtype=np.uint32).reshape(4, -1) + number
    return Access(warp, size, store, (1 << g.warp_size) - 1,
                  [start + size.bytes * lane for lane in range(g.warp_size)], data, number % 16 * 4, number + 1)
