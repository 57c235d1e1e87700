"""Global loads and stores against a byte-array model, with back-pressure, faults and bus errors."""

import random
from collections import Counter, deque

import numpy as np
import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import Size
from caesura.hw.core.load_store import LoadStore
from caesura.sim.testing.memory_ops import (
    Access,
    PortMemory,
    RegisterWrites,
    drive,
    load_value,
    random_access,
    store_bytes,
)

TINY = preset("tiny")
GEOMETRIES = {
    "tiny": TINY,
    "tiny, 4-byte bus, 4 lanes": TINY.replace(lanes=4, bus_bytes=4, bytes_per_cycle=4.0),
    "tiny, 16-byte bus": TINY.replace(bus_bytes=16, bytes_per_cycle=16.0),
    "8 of 32 lanes": preset("ecp5").replace(warps=4, registers=64),
    "32 lanes, 16-byte bus": preset("gtx480").replace(warps=4, registers=64, load_queue=8),
}
RATED = ["tiny", "tiny, 4-byte bus, 4 lanes", "8 of 32 lanes"]
"""Geometries whose rates and latencies are checked."""
REGION = 2048
"""Bytes each warp accesses; regions of different warps do not overlap."""


class Bench:
    """A LoadStore with a memory behind it; remembers everything that must come out."""

    def __init__(self, g, latency=5, busy=lambda: False, fails=lambda address: False):
        self.g, self.unit = g, LoadStore(g)
        self.memory = PortMemory(g, (g.warps + 2) * REGION, latency, busy, fails)
        self.fails, self.busy = fails, busy
        self.memory.bytes[:] = np.random.default_rng(1).integers(0, 256, len(self.memory.bytes), np.uint8)
        self.model = self.memory.bytes.copy()
        self.windows = [(REGION, REGION * (g.warps + 1))]
        self.writes = RegisterWrites(g)
        self.credits = g.unit_queue
        self.loads, self.stores = deque(), deque()
        self.expected_faults, self.faults = Counter(), Counter()
        self.cycle, self.done_cycles, self.write_cycles = 0, [], []

    def expect(self, access):
        """Apply an access to the model; what it must write and report is remembered."""
        values = [[None] * self.g.warp_size for _ in range(access.size.registers)]
        failed = False
        if access.misaligned:
            self._fault(access, Fault.MISALIGNED, access.misaligned[0])
            segments = []
        else:
            segments = access.segments()
        for lanes in segments:
            address = access.address[lanes[0]]
            if not any(base <= address < end for base, end in self.windows):
                self._fault(access, Fault.GLOBAL_WINDOW, lanes[0])
                break
            if self.fails(address):
                if not failed:
                    self._fault(access, Fault.BUS_ERROR, lanes[0])
                failed = True
            elif access.store:
                store_bytes(self.model, access, lanes)
            elif not failed:
                for lane in lanes:
                    for k, value in enumerate(load_value(self.model, access.address[lane], access.size)):
                        values[k][lane] = value
        (self.stores if access.store else self.loads).append((access, values))

    def _fault(self, access, kind, lane):
        self.expected_faults[kind, access.warp, access.pc, access.address[lane]] += 1

    def may_issue(self, access):
        """The front end's rule: a warp has loads or stores outstanding, not both."""
        others = self.loads if access.store else self.stores
        return self.credits and all(a.warp != access.warp for a, _ in others) and len(self.loads) < 12

    async def monitor(self, ctx):
        unit = self.unit
        write, held = unit.write, None
        while True:
            ready = not self.busy()
            ctx.set(write.ready, ready)
            *_, room, valid, bits, load, store, fault = await ctx.tick().sample(
                unit.room, write.valid, write.payload.as_value(), unit.load_done.as_value(),
                unit.store_done.as_value(), unit.fault)
            self.cycle += 1
            self.credits += room
            if fault.valid:
                self.faults[Fault(fault.kind), fault.warp, fault.pc, fault.address] += 1
            for port, bits_, queue in ((unit.load_done, load, self.loads), (unit.store_done, store, self.stores)):
                done = port.shape().from_bits(bits_)
                if done.valid:
                    access, values = queue.popleft()
                    assert done.warp == access.warp
                    self.done_cycles.append(self.cycle)
                    mine = [fault for fault in self.expected_faults if fault[1:3] == (access.warp, access.pc)]
                    assert all(self.faults[fault] == self.expected_faults[fault] for fault in mine), "fault after done"
                    if not access.store:
                        assert self.writes.pop(access) == values
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
            for access in accesses:
                while not self.may_issue(access):
                    await ctx.tick()
                self.credits -= 1
                for _ in range(gap()):
                    await ctx.tick()
                self.expect(access)
                await drive(ctx, self.unit, self.g, access)
            while self.loads or self.stores:
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


@pytest.mark.parametrize("name", GEOMETRIES)
def test_random_accesses_match_the_model(name):
    """The first cycles with back-pressure everywhere, then none."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(7)
    bench = Bench(g, latency=7, busy=lambda: slow.random() < 0.3 and bench.cycle < 300)
    bench.run(list(accesses(rng, g, 320 // g.warp_size)), gap=lambda: slow.choice([0, 0, 3]))
    assert not bench.faults


@pytest.mark.parametrize("name", GEOMETRIES)
def test_faults_and_bus_errors_release_everything_and_are_reported(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    slow = random.Random(5)
    bench = Bench(g, latency=3, busy=lambda: slow.random() < 0.2,
                  fails=lambda address: address // 128 % 7 == 3)
    bench.run(list(accesses(rng, g, 480 // g.warp_size, odd=0.3, outside=0.7)))
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.GLOBAL_WINDOW, Fault.BUS_ERROR}


@pytest.mark.parametrize("name", RATED)
def test_loads_of_different_warps_overlap_at_the_rate_of_the_bus(name):
    g = GEOMETRIES[name].replace(unit_queue=8, load_queue=16)
    bench = Bench(g, latency=40)
    bench.run([consecutive(g, number) for number in range(12)])
    cycles = bench.memory.read_cycles
    assert bench.memory.most_outstanding >= 40 // g.burst_beats
    assert len(cycles) >= 0.98 * (cycles[-1] - cycles[0] + 1)


@pytest.mark.parametrize("name", RATED)
def test_stores_send_a_beat_a_cycle(name):
    g = GEOMETRIES[name].replace(unit_queue=8, load_queue=16)
    bench = Bench(g, latency=20)
    bench.run([consecutive(g, number, store=True) for number in range(12)])
    cycles = bench.memory.write_cycles
    assert len(cycles) == 12 * g.warp_size * 4 // g.bus_bytes
    assert len(cycles) >= 0.98 * (cycles[-1] - cycles[0] + 1)


def test_a_coalesced_access_is_one_burst_of_its_segment():
    bench = Bench(TINY)
    bench.run([consecutive(TINY, 0)])
    assert bench.memory.read_bursts == [REGION]


@pytest.mark.parametrize("name", RATED)
def test_latency_of_a_single_load(name):
    """2 cycles to the request, and 2 from the last bus beat to the first register write."""
    g = GEOMETRIES[name]
    bench = Bench(g, latency=0)
    bench.run([consecutive(g, 0)])
    assert bench.write_cycles[0] - bench.memory.read_cycles[-1] == 2
    assert bench.done_cycles[0] - bench.write_cycles[-1] == 1


def test_of_lanes_that_store_to_one_byte_the_highest_wins():
    g = TINY
    access = consecutive(g, 0, store=True, size=Size.U8)
    access.address = [REGION + 5] * g.warp_size
    access.mask = 0b0110_1101
    bench = Bench(g)
    bench.run([access])
    assert bench.memory.bytes[REGION + 5] == access.data[0][6]


def test_windows_are_those_of_the_kernel():
    """An access allowed by another kernel's window is refused."""
    bench = Bench(TINY)
    bench.windows = [(REGION, REGION + 128), (2 * REGION, 2 * REGION + 128)]
    inside, outside = consecutive(TINY, 0), consecutive(TINY, 4)
    bench.run([inside, outside])
    assert list(bench.faults) == [(Fault.GLOBAL_WINDOW, 0, outside.pc, REGION + 128)]
