"""Global and local accesses and atomics against a byte-array model, with back-pressure, faults and bus errors."""

import random
from collections import Counter, deque
from dataclasses import replace

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import AtomicOp, Size, Space
from caesura.hw.core.memory.load_store import LoadStore
from caesura.sim.testing.memory_ops import (
    Access,
    PortMemory,
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
    "tiny, 4-byte bus, 4 lanes": TINY.replace(lanes=4, bus_bytes=4, bytes_per_cycle=4.0),
    "tiny, 16-byte bus": TINY.replace(bus_bytes=16, bytes_per_cycle=16.0),
    "8 of 32 lanes": preset("ecp5").replace(warps=4, registers=64),
    "32 lanes, 16-byte bus": preset("gtx480").replace(warps=4, registers=64, load_queue=8),
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
        """Local offsets become global addresses (docs/architecture.md, Constant and local memory)."""
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


@pytest.mark.parametrize("name", CHECKED)
def test_random_accesses_match_the_model(name):
    """The first cycles with back-pressure everywhere, then none."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(7)
    bench = Bench(g, latency=7, busy=lambda: slow.random() < 0.3 and bench.cycle < 300)
    bench.run(list(accesses(rng, g, 320 // g.warp_size)), gap=lambda: slow.choice([0, 0, 3]))
    assert not bench.faults


@pytest.mark.parametrize("name", CHECKED)
def test_faults_and_bus_errors_release_everything_and_are_reported(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    slow = random.Random(5)
    bench = Bench(g, latency=3, busy=lambda: slow.random() < 0.2,
                  fails=lambda address: address // 128 % 7 == 3)
    bench.run(list(accesses(rng, g, max(15, 320 // g.warp_size), odd=0.3, outside=0.7)))
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.GLOBAL_WINDOW, Fault.BUS_ERROR}


@pytest.mark.parametrize("name", RATES)
def test_loads_of_different_warps_overlap_at_the_rate_of_the_bus(name):
    g = GEOMETRIES[name]
    bench = Bench(g, latency=40)
    bench.run([consecutive(g, number, size=WHOLE[g.warp_size]) for number in range(12)])
    cycles = bench.memory.read_cycles
    assert bench.memory.most_outstanding >= 40 // g.burst_beats
    assert len(cycles) >= 0.98 * (cycles[-1] - cycles[0] + 1)


@pytest.mark.parametrize("name", RATES)
def test_stores_send_a_beat_a_cycle(name):
    g = GEOMETRIES[name]
    bench = Bench(g, latency=20)
    bench.run([consecutive(g, number, store=True, size=WHOLE[g.warp_size]) for number in range(12)])
    cycles = bench.memory.write_cycles
    assert len(cycles) == 12 * 128 // g.bus_bytes
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


def mixed(rng, g, count, odd=0.0, outside=0.0):
    """Loads, stores, local accesses, and atomics on few common segments and on each warp's own."""
    for access in accesses(rng, g, count, odd, outside):
        kind, own = rng.random(), (REGION * (access.warp + 1), REGION * (access.warp + 2))
        if kind < 0.5:
            first, end = rng.choice([(REGION * (g.warps + 1), REGION * (g.warps + 1) + 5 * 128), own])
            end += rng.random() < outside and 3 * REGION
            yield random_atomic(rng, g, access.warp, access.d, access.pc, first, min(end, REGION * (g.warps + 3)), odd)
        elif kind < 0.75:
            yield local(rng, g, access.warp, access.pc, rng.choice([odd, 0.0]), outside)
        else:
            yield access


def local(rng, g, warp, pc, odd=0.0, beyond=0.0):
    """A local access of 8 to 32 bits; with these probabilities some offsets are misaligned or beyond the end."""
    end = LOCAL_BYTES + (8 if rng.random() < beyond else 0)
    access = random_access(rng, g, warp, pc % 16 * 4, pc, 0, end, odd)
    while access.size.bytes > 4:
        access = random_access(rng, g, warp, pc % 16 * 4, pc, 0, end, odd)
    access.space, access.block_warp = Space.LOCAL, warp
    return access


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["tiny"]))
def test_atomics_are_performed_once_in_one_order(name):
    """Among loads, stores and local accesses of all warps; every value is that of a replay in the order traced."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(11)
    bench = Bench(g, latency=7, busy=lambda: slow.random() < 0.3 and bench.cycle < 1500)
    bench.run(list(mixed(rng, g, 320 // g.warp_size)), gap=lambda: slow.choice([0, 0, 3]))
    assert not bench.faults and len(bench.performed) > 60
    assert len(set(bench.performed)) == len(bench.performed)


@pytest.mark.parametrize("name", CHECKED)
def test_faults_of_atomics_and_local_accesses(name):
    """Segments that cannot be read, or only not written, windows, alignment and the bound of local memory."""
    g, rng, slow = GEOMETRIES[name], random.Random(f"{name}, again"), random.Random(5)
    bench = Bench(g, latency=3, busy=lambda: slow.random() < 0.2,
                  fails=lambda address: address // 128 % 7 == 3, refuses=lambda address: address // 128 % 7 == 5)
    bench.run(list(mixed(rng, g, 560 // g.warp_size, odd=0.25, outside=0.5)))
    assert {kind for kind, *_ in bench.faults} == {
        Fault.MISALIGNED, Fault.GLOBAL_WINDOW, Fault.BUS_ERROR, Fault.LOCAL_BOUND}
    assert len(bench.performed) > 20


def counter(g, number, function=AtomicOp.ADD, stride=0):
    """An atomic of all lanes of one of the warps, `stride` bytes apart."""
    access = consecutive(g, number)
    access.function = function
    access.address = [REGION + stride * lane for lane in range(g.warp_size)]
    access.data = np.full((4, g.warp_size), 0x3F80_0000 if function is AtomicOp.FADD else 1, np.uint32)
    return access


@pytest.mark.parametrize("function", [AtomicOp.INC, AtomicOp.ADD])
def test_counters_hand_out_every_ticket_once(function):
    """Atomics of all warps on one word: each value is found by exactly one lane."""
    g, found = TINY, []
    bench = Bench(g)
    bench.memory.bytes[:] = bench.model[:] = 0
    perform_ = bench.trace

    def note(trace):
        found.append(trace.old)
        perform_(trace)
    bench.trace = note
    batch = [counter(g, number, function) for number in range(8)]
    for access in batch:
        access.data[0][:] = 500 if function is AtomicOp.INC else 1
    bench.run(batch)
    assert sorted(found) == list(range(8 * g.warp_size))


def test_segments_of_different_addresses_are_in_flight_together_and_equal_ones_not():
    spans = []
    for g, stride, count in (TINY, 0, 3), (GEOMETRIES["8 of 32 lanes"], 32, 1):
        bench = Bench(g, latency=60)
        bench.run([counter(g, number, stride=stride) for number in range(count)])
        spans.append((bench.trace_cycles[-1] - bench.trace_cycles[0], len(bench.memory.read_bursts)))
    (one, bursts_of_one), (many, bursts_of_many) = spans
    assert bursts_of_one == 3 and one > 2 * 120
    assert bursts_of_many == 8 and many < 2 * 120 + 60


@pytest.mark.parametrize(("function", "stride", "cycles"), [
    (AtomicOp.ADD, 0, 3), (AtomicOp.FADD, 0, 7), (AtomicOp.ADD, 4, 1), (AtomicOp.FADD, 4, 1)])
def test_rate_of_the_lanes_of_a_segment(function, stride, cycles):
    bench = Bench(TINY)
    bench.memory.bytes[:] = bench.model[:] = 0
    bench.run([counter(TINY, 0, function, stride)])
    assert np.diff(bench.trace_cycles).tolist() == [cycles] * (TINY.warp_size - 1)


def test_only_what_changes_is_written():
    """A compare-and-swap that fails, or a maximum that is not exceeded, cannot overwrite anybody's store."""
    access = counter(TINY, 0, AtomicOp.CAS, stride=4)
    access.data[0][:] = 5
    bench = Bench(TINY)
    bench.memory.bytes[:] = bench.model[:] = 0
    bench.memory.bytes[REGION + 8] = bench.model[REGION + 8] = 5
    strobes = []
    writer = bench.memory.writer(bench.unit.atomic_write_port)

    async def watch(ctx):
        port = bench.unit.atomic_write_port
        async for *_, valid, ready, strobe in ctx.tick().sample(port.beat.valid, port.beat.ready,
                                                                port.beat.payload.strobe):
            if valid and ready:
                strobes.append(strobe)
    simulator_run = Simulator.run

    def run(simulator):
        simulator.add_testbench(watch, background=True)
        simulator_run(simulator)
    assert writer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulator, "run", run)
        bench.run([access])
    assert strobes == [0x0F]
    assert bench.memory.bytes[REGION + 8] == 1


@pytest.mark.parametrize("name", ["tiny", "8 of 32 lanes"])
def test_latency_of_a_single_atomic(name):
    """4 cycles from the last bus beat to the first lane, and 3 from the last lane's to the first register write."""
    g = GEOMETRIES[name]
    bench = Bench(g, latency=0)
    bench.run([counter(g, 0, stride=0)])
    assert bench.trace_cycles[0] - bench.memory.read_cycles[-1] == 4
    assert bench.write_cycles[0] - bench.trace_cycles[-1] == 3


def test_an_error_of_any_beat_of_a_segment_counts():
    """Only the first of the beats that are read answers with an error."""
    bench = Bench(TINY, fails=lambda address: address == REGION)
    bench.run([counter(TINY, 0, stride=4), counter(TINY, 1)])
    assert len(bench.memory.read_cycles) == TINY.warp_size * 4 // TINY.bus_bytes + 1 and not bench.performed
    assert list(bench.faults.values()) == [1, 1]


def test_faults_of_atomics_wait_for_those_of_loads():
    """Atomics that cannot be read, or not be written, and a failing load some cycles behind each."""
    count, width = 56, 28
    bench = Bench(TINY, latency=3, fails=lambda address: address // 128 * 128 in (REGION, 2 * REGION),
                  refuses=lambda address: address // 128 * 128 == REGION + 128)
    batch, gaps = [], []
    for number in range(count):
        atomic, load = counter(TINY, 0), consecutive(TINY, 1)
        atomic.mask, load.mask = 1, 1
        atomic.pc, load.pc = 2 * number + 1, 2 * number + 2
        atomic.address[0] += number // width * 128
        batch += [atomic, load]
        gaps += [0, number % width]
    gap = iter(gaps)
    bench.run(batch, gap=lambda: next(gap))
    assert bench.faults.total() == 2 * count and len(bench.performed) == count - width


def test_an_atomic_is_complete_when_its_write_is_acknowledged():
    bench = Bench(TINY, latency=50)
    bench.run([counter(TINY, 0), counter(TINY, 0, AtomicOp.FADD)])
    written, complete = bench.memory.write_cycles, bench.done_cycles
    assert len(written) == len(complete) == 2
    assert all(done - write > bench.memory.latency for write, done in zip(written, complete, strict=True))


def test_beats_wait_while_a_refused_atomic_is_passed_over():
    """It stands between two segments that are read; the beats of the second are there when those of the first end."""
    g = GEOMETRIES["8 of 32 lanes"]
    assert g.atomic_queue == 4
    bench = Bench(g, latency=10)
    first, refused, second = (counter(g, number, stride=4) for number in range(3))
    refused.address[0] += 1
    second.address = [address + 128 for address in second.address]
    bench.run([first, refused, second])
    gaps = np.diff(bench.memory.read_cycles).tolist()
    assert sorted(gaps) == [1] * (len(gaps) - 1) + [2], "the second segment did not wait"
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED} and len(bench.performed) == 2 * g.warp_size
