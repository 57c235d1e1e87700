"""Loads of constants and parameters, divergent, uniform and faulting, against the bytes; the passes and fills."""

import random
from collections import Counter, deque

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size, Space
from caesura.hw.core.memory.constant_unit import HIT_LATENCY, ConstantUnit
from support.core.memory_ops import Access, PortMemory, RegisterWrites, load_value, random_access
from support.hw.simulation import Simulator, component
from support.selection import quick

TINY = preset("tiny")
GEOMETRIES = {
    "tiny": TINY,
    "tiny, 4 lanes": TINY.replace(lanes=4, f64_lanes=1, sfu_lanes=1, exchange_lanes=4),
    "8 of 32 lanes": preset("ecp5").replace(warps=4, registers=64),
    "16 bytes a beat": preset("gtx480").replace(warps=4, registers=64, constant_lines=4),
    "4 bytes a beat": TINY.replace(bus_bytes=4, bytes_per_cycle=4.0),
    "a line a beat": preset("gtx480").replace(warps=4, registers=64, constant_lines=4, bus_bytes=128,
                                              bytes_per_cycle=128.0),
}
BANKS = {0: (0x180, 1000), 1: (0x1000, 0x2000)}
"""Address and bytes of the constant bank of each kernel."""
PARAMETERS = {0: (0x2A50, 1236), 1: (0xC10, 260)}
"""The same of its parameters: not at the begin of a line."""


class Bench:
    """A `ConstantUnit` over a memory, and what its loads must give."""

    def __init__(self, g, seed=0, busy=lambda: False, fails=lambda address: False, latency=10):
        self.g, self.unit, self.busy, self.fails = g, component(ConstantUnit, g), busy, fails
        self.memory = PortMemory(g, 1 << 14, latency, fails=fails)
        self.memory.bytes[:] = np.random.default_rng(seed).integers(0, 256, 1 << 14)
        self.writes = RegisterWrites(g)
        self.uniforms, self.expected_uniforms = deque(), deque()
        self.credits = g.unit_queue
        self.loads = []
        self.faults, self.expected_faults = Counter(), Counter()
        self.cycle, self.op_cycles, self.write_cycles = 0, [], []

    def expect(self, access, uniform=False, parameter=False):
        """Note what a load must write and report."""
        base, size = (PARAMETERS if parameter else BANKS)[access.kernel]
        values = [[None] * self.g.warp_size for _ in range(access.size.registers)]
        beyond = [lane for lane in access.lanes if access.address[lane] + access.size.bytes > size]
        failing = [lane for lane in access.lanes if self.fails((base + access.address[lane]) // 128 * 128)]
        if access.misaligned:
            fault = Fault.MISALIGNED, access.address[access.misaligned[0]]
        elif beyond:
            fault = Fault.PARAM_BOUND if parameter else Fault.CONSTANT_BOUND, access.address[beyond[0]]
        elif failing:
            fault = Fault.BUS_ERROR, base + access.address[failing[0]]
        else:
            fault = None
            for lane in access.lanes:
                for k, value in enumerate(load_value(self.memory.bytes, base + access.address[lane], access.size)):
                    values[k][lane] = value
        if fault:
            self.expected_faults[fault[0], access.warp, access.pc, fault[1]] += 1
        if uniform:
            value = 0 if fault else values[0][access.lanes[0]]
            self.expected_uniforms.append((access.warp, access.d, not fault, value))
        else:
            self.loads.append((access, values, fault))

    async def monitor(self, ctx):
        unit, write, uniform, held = self.unit, self.unit.access.write, self.unit.uniform, None
        ready, take = not self.busy(), not self.busy()
        ctx.set(write.ready, ready)
        ctx.set(uniform.ready, take)
        async for *_, op, room, valid, bits, reported, fault, given, payload in ctx.tick().sample(
                unit.access.op.valid, unit.completion.room, write.valid, write.payload.as_value(), unit.fault.valid,
                unit.fault.as_value(), uniform.valid, uniform.payload.as_value()):
            self.cycle += 1
            self.credits += room
            if op:
                self.op_cycles.append(self.cycle)
            if reported:
                fault = unit.fault.shape().from_bits(fault)
                self.faults[Fault(fault.kind), fault.warp, fault.pc, fault.address] += 1
            if given and take:
                payload = uniform.payload.shape().from_bits(payload)
                self.uniforms.append((payload.warp, payload.register, bool(payload.keep),
                                      payload.data if payload.keep else 0))
            assert held is None or (valid and bits == held), "a write changed while it waited"
            held = bits if valid and not ready else None
            if valid:
                self.write_cycles.append(self.cycle)
            if valid and ready:
                self.writes.take(write.payload.shape().from_bits(bits))
            ready, take = not self.busy(), not self.busy()
            ctx.set(write.ready, ready)
            ctx.set(uniform.ready, take)

    async def send(self, ctx, access, uniform=False, parameter=False):
        """Send one load when there is room."""
        g, unit = self.g, self.unit
        while not self.credits:
            await ctx.tick()
        self.credits -= 1
        self.expect(access, uniform, parameter)
        mask, address = access.mask, access.address
        if uniform:  # one beat of all lanes
            mask, address = (1 << g.warp_size) - 1, [address[access.lanes[0]]] * g.warp_size
        for beat in [g.beats - 1] if uniform else range(g.beats):
            low = beat * g.lanes
            ctx.set(unit.access.op.payload, {
                "warp": access.warp, "kernel": access.kernel, "base": access.base, "pc": access.pc, "d": access.d,
                "size": access.size, "space": Space.PARAMETER if parameter else Space.CONSTANT, "writes_u": uniform,
                "beat": beat, "last": beat == g.beats - 1,
                "mask": mask >> low & (1 << g.lanes) - 1, "address": address[low:low + g.lanes]})
            ctx.set(unit.access.op.valid, 1)
            *_, ready = await ctx.tick().sample(unit.access.op.ready)
            ctx.set(unit.access.op.valid, 0)
            assert ready, "the unit refused an operation within its credit"

    async def settle(self, ctx):
        """Wait for everything sent, and compare it."""
        for access, values, fault in self.loads:
            keys = [(access.warp, access.d + k) for k in range(access.size.registers)]
            while not all(self.writes.released.get(key) for key in keys):
                await ctx.tick()
            written = self.writes.pop(access)
            if fault is None:
                assert written == values
            elif fault[0] != Fault.BUS_ERROR:
                assert all(value is None for row in written for value in row)
        while len(self.uniforms) < len(self.expected_uniforms):
            await ctx.tick()
        assert list(self.uniforms) == list(self.expected_uniforms)
        assert self.faults == self.expected_faults
        assert not self.writes.released and self.credits == self.g.unit_queue
        self.loads.clear()

    def run(self, test, cycles=30_000):
        """Simulate `test(ctx)`, which must end within `cycles`."""
        async def main(ctx):
            for kernel, (base, size) in BANKS.items():
                ctx.set(self.unit.kernels[kernel].const_base, base)
                ctx.set(self.unit.kernels[kernel].const_bytes, size)
            for kernel, (base, size) in PARAMETERS.items():
                ctx.set(self.unit.kernels[kernel].param_base, base)
                ctx.set(self.unit.kernels[kernel].param_bytes, size)
            await test(ctx)
            self.ended = True

        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(main)
        for process in (self.monitor, self.memory.reader(self.unit.read_port)):
            simulator.add_testbench(process, background=True)
        simulator.run(cycles * 1e-6)
        assert self.ended


def load(g, addresses, size=Size.B32, warp=0, d=4, mask=None, kernel=0, pc=7):
    """A load of the given offsets."""
    lanes = [addresses] * g.warp_size if isinstance(addresses, int) else addresses
    mask = (1 << g.warp_size) - 1 if mask is None else mask
    return Access(warp, size, False, mask, lanes, np.zeros((4, g.warp_size), np.uint32), d, pc, kernel=kernel)


@pytest.mark.parametrize("seed, name", quick(
    [(seed, name) for seed in range(2) for name in GEOMETRIES],
    [(0, "16 bytes a beat"), (1, "4 bytes a beat")]))
def test_random_loads_give_the_bytes_of_the_bank(name, seed):
    g, rng = GEOMETRIES[name], random.Random(seed)
    stalls = random.Random(seed + 1)
    bench = Bench(g, seed, busy=lambda: stalls.random() < 0.3,
                  fails=lambda address: seed == 1 and address in (0x200, 0x1800))

    async def test(ctx):
        for pc in range(50 if g.warp_size == 8 else 25):
            kernel, parameter = rng.randrange(2), rng.random() < 0.4 if pc % 25 not in (4, 9) else pc % 25 == 9
            size = (PARAMETERS if parameter else BANKS)[kernel][1]
            while (access := random_access(rng, g, pc % g.warps, 4 * (pc // g.warps % 4), pc, 0,
                                           size, odd=0.05)).store:
                pass
            access.kernel = kernel
            if pc % 25 in (4, 9) or rng.random() < 0.15:
                access.address[access.lanes[0]] = -(-size // 16) * 16 + 16 * rng.randrange(3)
            uniform = rng.random() < 0.2
            if uniform:
                access.size, access.mask = Size.B32, 1 << rng.randrange(g.warp_size)
            if (access.warp, access.d) in [(a.warp, a.d) for a, *_ in bench.loads]:
                await bench.settle(ctx)
            await bench.send(ctx, access, uniform, parameter)
            if rng.random() < 0.1:
                ctx.set(bench.unit.invalidate, 1)
                await ctx.tick()
                ctx.set(bench.unit.invalidate, 0)
        await bench.settle(ctx)

    bench.run(test)
    kinds = {fault[0] for fault in bench.faults}
    assert {Fault.MISALIGNED, Fault.CONSTANT_BOUND, Fault.PARAM_BOUND} <= kinds
    assert (Fault.BUS_ERROR in kinds) == (seed == 1)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_hit_takes_its_latency_and_a_pass_an_address(name):
    g = GEOMETRIES[name]
    bench = Bench(g)

    async def test(ctx):
        await bench.send(ctx, load(g, 64))
        await bench.settle(ctx)
        for addresses, passes in ((72, 1), ([64 + 4 * (lane % 2) for lane in range(g.warp_size)], 2),
                                  ([64 + 4 * (lane % 8) for lane in range(g.warp_size)], min(8, g.lanes))):
            bench.write_cycles.clear()
            bench.op_cycles.clear()
            await bench.send(ctx, load(g, addresses))
            await bench.settle(ctx)
            first, last = bench.write_cycles[0], bench.write_cycles[-1]
            assert first - bench.op_cycles[-1] == HIT_LATENCY + passes - 1
            assert last - first == passes * (g.beats - 1)
            assert len(bench.write_cycles) == g.beats

    bench.run(test)
    assert bench.memory.read_bursts == [BANKS[0][0]]


def test_lines_are_kept_replaced_and_forgotten():
    bench = Bench(TINY)
    lines = TINY.constant_lines

    async def test(ctx):
        async def bursts(offset, kernel=1):
            bench.memory.read_bursts.clear()
            await bench.send(ctx, load(TINY, offset, kernel=kernel))
            await bench.settle(ctx)
            return bench.memory.read_bursts.copy()

        base = BANKS[1][0]
        for number in range(lines):
            assert await bursts(128 * number) == [base + 128 * number]
        for number in range(lines):
            assert await bursts(128 * number + 12) == []
        assert await bursts(128 * lines) == [base + 128 * lines], "another line of the same place"
        assert await bursts(0) == [base] and await bursts(128) == []
        assert await bursts(0, kernel=0) == [BANKS[0][0]], "the bank of another kernel"
        bench.memory.bytes[base + 128:base + 256] ^= 0xFF
        ctx.set(bench.unit.invalidate, 1)
        await ctx.tick()
        ctx.set(bench.unit.invalidate, 0)
        assert await bursts(128) == [base + 128]

    bench.run(test)


@pytest.mark.parametrize("wait", quick(range(1, 40, 3), range(1, 40, 6)))
def test_an_invalidation_reaches_the_fill_under_way(wait):
    bench = Bench(TINY)
    base = BANKS[1][0]

    async def test(ctx):
        await bench.send(ctx, load(TINY, 4, kernel=1))
        access, *_ = bench.loads.pop()   # what it gets was there before or after the change
        await ctx.tick().repeat(wait)
        bench.memory.bytes[base:base + 128] ^= 0xFF
        ctx.set(bench.unit.invalidate, 1)
        await ctx.tick()
        ctx.set(bench.unit.invalidate, 0)
        while not bench.writes.released.get((access.warp, access.d)):
            await ctx.tick()
        bench.writes.pop(access)
        for offset in range(0, 128, 16):
            await bench.send(ctx, load(TINY, offset, Size.B128, kernel=1))
            await bench.settle(ctx)

    bench.run(test)


def test_a_failed_line_is_reported_once_an_instruction_and_fetched_again():
    broken = {0x1080}
    bench = Bench(TINY, fails=lambda address: address in broken)
    spread = [128 - 16 + 4 * lane for lane in range(TINY.warp_size)]  # half of the lanes in the second line

    async def test(ctx):
        await bench.send(ctx, load(TINY, spread, Size.B32, kernel=1, pc=3))
        await bench.settle(ctx)
        assert bench.faults == {(Fault.BUS_ERROR, 0, 3, 0x1080): 1}
        broken.clear()
        await bench.send(ctx, load(TINY, spread, Size.B32, kernel=1, pc=4))
        await bench.settle(ctx)

    bench.run(test)


@pytest.mark.parametrize("offset, size, kind", [
    (1000, Size.U8, Fault.CONSTANT_BOUND), (999, Size.U8, None), (998, Size.U16, None), (996, Size.B32, None),
    (997, Size.B32, Fault.MISALIGNED), (996, Size.B64, Fault.MISALIGNED), (992, Size.B128, Fault.CONSTANT_BOUND),
    (0xFFFF_FFFC, Size.B32, Fault.CONSTANT_BOUND), (0x1_0000, Size.B32, Fault.CONSTANT_BOUND)])
def test_the_bank_ends_with_its_last_byte(offset, size, kind):
    bench = Bench(TINY)

    async def test(ctx):
        await bench.send(ctx, load(TINY, offset, size))
        await bench.settle(ctx)

    bench.run(test)
    assert [fault[0] for fault in bench.faults] == ([] if kind is None else [kind])
