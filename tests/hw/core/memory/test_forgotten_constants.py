"""Constant loads whose warps are forgotten: nothing of them is written or reported, and the next loads do not wait."""

import functools
import random

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import Size
from caesura.hw.core.memory.constant_unit import ConstantUnit
from support.core.forget_bench import Generations, Issued, SlowReader
from support.core.load_store_bench import GEOMETRIES
from support.core.memory_ops import Access, random_access
from support.hw.simulation import Simulator, component
from support.selection import quick

CHECKED = quick(GEOMETRIES, ("tiny", "8 of 32 lanes"))
BANK = 4096
"""Bytes of the constant bank, which begins at 0."""


class Bench:
    """A ConstantUnit and its loads; every line that is read is `line`'s."""

    def __init__(self, g, rng):
        self.g, self.rng, self.unit = g, rng, component(ConstantUnit, g)
        self.memory = np.random.default_rng(3).integers(0, 256, BANK, np.uint8)
        self.line = Issued(Access(0, Size.B32, False, 0, [], np.zeros((4, 0), np.uint32), 0, 0))
        self.port = SlowReader(g, self.unit.read_port, self.memory, lambda address: self.line, rng)
        self.generations, self.credits = Generations(g), g.unit_queue
        self.issued, self.beats, self.faults = 0, [], []
        self.live: dict[int, list[Issued]] = {}
        self.left: dict[Issued, int] = {}
        self.served = self.forgotten = 0
        self.lingering_needed = False

    def load(self, access, uniform=False):
        """Queue the beats of a load; its number is its `base`."""
        g, rng = self.g, self.rng
        access.base = self.issued % g.registers
        if uniform:
            access.size, access.mask = Size.B32, 1 << rng.randrange(g.warp_size)
            access.address = [address // 4 * 4 for address in access.address]
        issued = Issued(access)
        self.left[issued] = 1 if uniform else access.size.registers
        self.issued += 1
        self.credits -= 1
        self.live.setdefault(access.warp, []).append(issued)
        mask, offsets = access.mask, access.address
        if uniform:  # one beat of all lanes
            mask, offsets = (1 << g.warp_size) - 1, [access.address[access.lanes[0]]] * g.warp_size
        for beat in [g.beats - 1] if uniform else range(g.beats):
            low = beat * g.lanes
            self.beats.append({
                "warp": access.warp, "base": access.base, "pc": access.pc, "d": access.d, "size": access.size,
                "writes_u": uniform, "beat": beat, "last": beat == g.beats - 1,
                "mask": mask >> low & (1 << g.lanes) - 1, "address": offsets[low:low + g.lanes]})

    def written(self, issued):
        """One register more of a load is complete."""
        self.left[issued] -= 1
        if not self.left[issued]:
            self.live[issued.access.warp].remove(issued)
            self.served += 1
            if not self.faults:
                assert issued.written == issued.expect(self.memory)

    def sample(self, ctx):
        unit, write, uniform = self.unit, self.unit.access.write, self.unit.uniform
        self.credits += ctx.get(unit.completion.room)
        if ctx.get(write.valid) and ctx.get(write.ready):
            beat = ctx.get(write.payload)
            mine = [issued for issued in self.live.get(beat.warp, []) if issued.access.base == beat.base]
            assert len(mine) == 1, "a register of nobody is written"
            values = mine[0].written.setdefault(beat.register - mine[0].access.d, {})
            values.update({beat.beat * self.g.lanes + i: beat.data[i] for i in range(self.g.lanes)
                           if beat.mask >> i & 1})
            if beat.release:
                self.written(mine[0])
        if ctx.get(uniform.valid) and ctx.get(uniform.ready):
            given = ctx.get(uniform.payload)
            mine = [issued for issued in self.live.get(given.warp, []) if issued.access.d == given.register]
            assert mine, "a uniform register of nobody is written"
            mine[0].written = {0: {mine[0].access.lanes[0]: given.data}}
            self.written(mine[0])
        if ctx.get(unit.fault.valid):
            fault = ctx.get(unit.fault)
            assert any(issued.access.pc == fault.pc for issued in self.live.get(fault.warp, []))
            self.faults.append(Fault(fault.kind))
        assert not self.lingering_needed or ctx.get(unit.completion.lingering)

    async def cycle(self, ctx, chosen=()):
        """Pass a cycle, in which the chosen warps are forgotten."""
        unit, completion, op = self.unit, self.unit.completion, self.unit.access.op
        ctx.set(op.valid, bool(self.beats))
        if self.beats:
            ctx.set(op.payload, self.beats[0])
        for port in (unit.access.write, unit.uniform):
            ctx.set(port.ready, self.rng.random() < 0.6)
        self.port.drive(ctx)
        ctx.set(completion.forget, bool(chosen))
        if self.beats:
            assert ctx.get(op.ready), "an operation was refused within its credit"
            self.beats.pop(0)
        waiting = len(self.port.waiting)
        self.port.sample(ctx)
        self.sample(ctx)
        self.lingering_needed = bool(waiting and self.port.waiting and (chosen or self.lingering_needed))
        await ctx.tick()
        for warp in chosen:
            self.generations.forget(warp)
            self.forgotten += len(self.live.pop(warp, []))
        for plane, vector in zip(completion.generations, self.generations.planes(), strict=True):
            ctx.set(plane, vector)

    def begin(self, ctx):
        ctx.set(self.unit.kernels[0].const_bytes, BANK)

    async def random_run(self, ctx, cycles):
        self.begin(ctx)
        for number in range(cycles):
            warp = self.rng.randrange(self.g.warps)
            if number % 100 == 0:
                self.port.frozen = self.rng.random() < 0.15
            if not self.beats and self.credits and self.rng.random() < 0.3:
                uniform = self.rng.random() < 0.3
                access = random_access(self.rng, self.g, warp, 4 * (self.issued % 8), self.issued, 0, BANK)
                if not access.store and not (uniform and self.live.get(warp)) and len(self.live.get(warp, [])) < 4:
                    self.load(access, uniform)
            lingering = bool(ctx.get(self.unit.completion.lingering))
            busy = [w for w, loads in self.live.items() if loads and self.generations.able(w, lingering)]
            await self.cycle(ctx, [w for w in busy if self.rng.random() < 0.5]
                             if not self.beats and self.rng.random() < 0.02 else ())
        self.port.frozen = False
        while any(self.live.values()) or ctx.get(self.unit.completion.lingering):
            await self.cycle(ctx)
        assert self.credits == self.g.unit_queue and not self.faults

    def simulate(self, process):
        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(process)
        simulator.run(20_000e-6)


@pytest.mark.parametrize("name, seed, share", quick(
    [*((name, seed, 1) for name in GEOMETRIES for seed in range(1, 8)), ("tiny", 1, 0.2)], [("tiny", 1, 0.2)]))
def test_nothing_comes_of_forgotten_loads(name, seed, share):
    bench = Bench(GEOMETRIES[name], random.Random(f"{name} {seed}"))
    bench.simulate(functools.partial(bench.random_run, cycles=int(4500 * share)))
    assert bench.forgotten > 10 * share and bench.served > 25 * share


@pytest.mark.parametrize("wait", range(0, 40, 3))
def test_an_error_of_a_line_nobody_waits_for_is_not_said_to_the_next(wait):
    g = GEOMETRIES["tiny"]
    bench = Bench(g, random.Random(wait))

    def load(number):
        return Access(0, Size.B32, False, (1 << g.warp_size) - 1, [0] * g.warp_size,
                      np.zeros((4, g.warp_size), np.uint32), 4, number)

    async def process(ctx):
        bench.begin(ctx)
        bench.line.fails = True
        bench.load(load(0))
        for _ in range(wait + 1):
            await bench.cycle(ctx)
        await bench.cycle(ctx, [0])
        if bench.faults:
            return  # it came before the warp was forgotten
        while ctx.get(bench.unit.completion.lingering):
            await bench.cycle(ctx)
        bench.line.fails = False
        bench.load(load(1))
        while bench.live.get(0):
            await bench.cycle(ctx)
        assert not bench.faults and bench.served == 1

    bench.simulate(process)


def test_a_load_that_hits_does_not_wait_for_what_a_forgotten_one_missed():
    g = GEOMETRIES["tiny"]
    bench = Bench(g, random.Random(1))

    def load(number, offset):
        return Access(0, Size.B32, False, (1 << g.warp_size) - 1, [offset] * g.warp_size,
                      np.zeros((4, g.warp_size), np.uint32), 4, number)

    async def process(ctx):
        bench.begin(ctx)
        bench.load(load(0, 0))
        while bench.live.get(0):
            await bench.cycle(ctx)
        bench.port.frozen = True
        bench.load(load(1, 512))
        for _ in range(40):
            await bench.cycle(ctx)
        await bench.cycle(ctx, [0])
        bench.load(load(2, 0))
        for _ in range(60):
            await bench.cycle(ctx)
        assert bench.served == 2 and ctx.get(bench.unit.completion.lingering)

    bench.simulate(process)
