"""Global accesses whose warps are forgotten: no request, no write, no completion and no fault of them, and the next
warps in their slots are served as if nobody had been there, while late answers come in."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from caesura.hw.arch.isa.opcodes import AtomicOp, Size, Space
from caesura.hw.core.memory.load_store import LoadStore
from support.core.forget_bench import REGION, Generations, Issued, Reports, SlowReader, SlowWriter
from support.core.load_store_bench import GEOMETRIES
from support.core.memory_ops import Access, random_access, random_atomic
from support.hw.simulation import Simulator, component
from support.selection import quick

CHECKED = quick(GEOMETRIES, ("tiny", "8 of 32 lanes"))


class Bench:
    """A LoadStore; warps issue, are forgotten and go on."""

    def __init__(self, g, rng, count, failing=0.15, stalled=False):
        self.g, self.rng, self.count, self.failing, self.stalled = g, rng, count, failing, stalled
        self.unit = component(LoadStore, g)
        self.memory = np.random.default_rng(1).integers(0, 256, (count + 1) * REGION, np.uint8)
        self.model, self.original = self.memory.copy(), self.memory.copy()
        self.accesses, self.live = [], {(warp, kind): [] for warp in range(g.warps) for kind in ("load", "store",
                                                                                                 "atomic")}
        self.expected, self.generations = {}, Generations(g)
        self.credits, self.forgotten, self.reports = g.unit_queue, 0, Reports()
        unit, owner = self.unit, lambda address: self.accesses[address // REGION]
        self.ports = [SlowReader(g, unit.read_port, self.memory, owner, rng),
                      SlowReader(g, unit.atomic_read_port, self.memory, owner, rng),
                      SlowWriter(g, unit.write_port, self.memory, owner, rng, begun=True),
                      SlowWriter(g, unit.atomic_write_port, self.memory, owner, rng, begun=False)]
        self.beats, self.late, self.now, self.times = [], Counter(), 0, {}

    def issue(self):
        """Choose a warp that may issue, and an access of it."""
        g, rng, warp, number = self.g, self.rng, self.rng.randrange(self.g.warps), len(self.accesses)
        make = rng.choice([random_access, random_access, random_atomic])
        access = make(rng, g, warp, number % 16 * 4, number, number * REGION, (number + 1) * REGION)
        access.base = number % g.registers
        issued = Issued(access, fails=rng.random() < self.failing)
        others = [kind for kind in ("load", "store", "atomic") if kind != issued.kind or kind == "atomic"]
        if not self.credits or any(self.live[warp, kind] for kind in others) or len(self.live[warp, issued.kind]) > 12:
            return
        self.put(issued)

    def put(self, issued):
        """Queue the beats of an access."""
        g, access, warp = self.g, issued.access, issued.access.warp
        self.credits -= 1
        self.accesses.append(issued)
        self.live[warp, issued.kind].append(issued)
        self.expected[issued] = issued.expect(self.model)
        for beat in range(g.beats):
            part = slice(beat * g.lanes, (beat + 1) * g.lanes)
            self.beats.append({
                "warp": warp, "base": access.base, "pc": access.pc, "d": access.d, "size": access.size,
                "store": access.store, "beat": beat, "last": beat == g.beats - 1,
                "atomic": access.function is not None, "function": access.function or 0, "space": Space.GLOBAL,
                "writes_d": not access.store and access.returns, "mask": access.mask >> part.start & (1 << g.lanes) - 1,
                "address": access.address[part], "data": [[int(word) for word in row[part]] for row in access.data]})

    def forget(self, ctx):
        """Forget some warps, as in the cycle in which their slots are freed."""
        lingering, chosen = bool(ctx.get(self.unit.completion.lingering)), []
        for warp in range(self.g.warps):
            busy = [kind for kind in ("load", "store", "atomic") if self.live[warp, kind]]
            if busy and self.rng.random() < 0.5 and self.generations.able(warp, lingering):
                chosen.append(warp)
        for warp in chosen:
            self.generations.forget(warp)
        return chosen

    def lose(self, chosen):
        """From the next cycle on these warps' accesses have been forgotten."""
        for issued in self.accesses[-64:]:
            issued.just_forgotten = False
        for (warp, _), queue in self.live.items():
            if warp in chosen:
                for issued in queue:
                    issued.forgotten = issued.just_forgotten = True
                    self.times[issued] = self.now
                    self.forgotten += 1
                queue.clear()

    def sample(self, ctx):
        """Check everything that comes out in this cycle."""
        unit = self.unit
        write, completion = unit.access.write, unit.completion
        self.credits += ctx.get(completion.room)
        if ctx.get(write.valid) and ctx.get(write.ready):
            beat = ctx.get(write.payload)
            mine = [issued for kind in ("load", "atomic") for issued in self.live[beat.warp, kind]
                    if issued.access.base == beat.base]
            assert len(mine) == 1, "a register of nobody is written"
            values = mine[0].written.setdefault(beat.register - mine[0].access.d, {})
            values.update({beat.beat * self.g.lanes + i: beat.data[i] for i in range(self.g.lanes)
                           if beat.mask >> i & 1})
        for kind in ("load", "store", "atomic"):
            done = ctx.get(getattr(completion, kind))
            if done.valid:
                assert self.live[done.warp, kind], "an access of nobody is complete"
                issued = self.live[done.warp, kind].pop(0)
                written = {k: values for k, values in issued.written.items() if values}
                assert written == self.expected[issued]
                assert issued.faults == issued.fails
                part = slice(issued.access.pc * REGION, (issued.access.pc + 1) * REGION)
                assert (self.memory[part] == self.model[part]).all()
        self.now += 1
        lane = ctx.get(unit.trace_atomic)
        if lane.valid:  # at most two are on their way when the warp is forgotten
            issued = self.accesses[lane.pc]
            assert not issued.forgotten or self.now - self.times[issued] <= 2, "a forgotten atomic is performed"
        fault = ctx.get(unit.fault)
        if fault.valid:
            self.reports.take(fault, self.accesses)
        owed = {issued for port in self.ports for issued in port.owes if issued.forgotten}
        assert not owed or ctx.get(completion.lingering), "something lingers unseen"
        self.late.update(issued.kind for issued in owed)

    def begin(self, ctx):
        for kernel in range(self.g.kernel_slots):
            ctx.set(self.unit.kernels[kernel].windows[0], {"base": 0, "end": len(self.memory)})

    async def stuck(self, ctx):
        """Memory answers nothing, and takes nothing if `stalled`; once no place is left all warps are forgotten."""
        unit = self.unit
        self.begin(ctx)
        for port in self.ports:
            port.frozen, port.stalled = True, self.stalled
        waited = 0
        while waited < 100:
            waited = 0 if self.credits else waited + 1
            if not self.beats:
                self.issue()
            await self.cycle(ctx, [])
        await self.cycle(ctx, self.forget_all())
        for _ in range(2 * self.g.unit_queue + 4):
            await self.cycle(ctx, [])
        assert self.credits == self.g.unit_queue
        assert not ctx.get(unit.read_port.request.valid) and not ctx.get(unit.atomic_read_port.request.valid)

    def forget_all(self):
        """Forget every warp."""
        for warp in range(self.g.warps):
            self.generations.forget(warp)
        return list(range(self.g.warps))

    async def cycle(self, ctx, chosen):
        """Pass a cycle, in which the chosen warps are forgotten."""
        unit, completion, op = self.unit, self.unit.completion, self.unit.access.op
        ctx.set(op.valid, bool(self.beats))
        if self.beats:
            ctx.set(op.payload, self.beats[0])
        ctx.set(unit.access.write.ready, self.rng.random() < 0.6)
        for port in self.ports:
            port.drive(ctx)
        ctx.set(completion.forget, bool(chosen))
        if self.beats:
            assert ctx.get(op.ready), "an operation was refused within its credit"
            self.beats.pop(0)
        for port in self.ports:
            port.sample(ctx)
        self.sample(ctx)
        await ctx.tick()
        self.lose(chosen)
        for plane, vector in zip(completion.generations, self.generations.planes(), strict=True):
            ctx.set(plane, vector)

    async def run(self, ctx):
        unit, rng = self.unit, self.rng
        self.begin(ctx)
        completion, idle, cycle, quiet = unit.completion, 0, 0, None
        while idle < 20:
            cycle += 1
            assert cycle < 60_000, "not finished"
            if cycle % 64 == 0:
                ending = len(self.accesses) == self.count
                for port in self.ports:
                    port.frozen, port.stalled = (rng.random() < 0.4 and not ending for _ in range(2))
            if not self.beats and len(self.accesses) < self.count:
                self.issue()
            chosen = self.forget(ctx) if not self.beats and rng.random() < 0.04 else []
            if not ctx.get(completion.lingering):
                quiet = self.memory.copy() if quiet is None else quiet
                for number, issued in enumerate(self.accesses):
                    part = slice(number * REGION, (number + 1) * REGION)
                    assert not issued.forgotten or cycle % 50 or (self.memory[part] == quiet[part]).all()
            else:
                quiet = None
            await self.cycle(ctx, chosen)
            busy = self.beats or any(self.live.values()) or len(self.accesses) < self.count
            idle = 0 if busy or ctx.get(completion.lingering) else idle + 1
        assert self.credits == self.g.unit_queue
        for number, issued in enumerate(self.accesses):
            part = slice(number * REGION, (number + 1) * REGION)
            if issued.forgotten:  # each byte is what it was, or what the access makes of it
                assert ((self.memory[part] == self.original[part]) | (self.memory[part] == self.model[part])).all()


@pytest.mark.parametrize("name, failing, seed, share", quick(
    [*itertools.product(GEOMETRIES, (0.15, 0.6), range(1, 8), [1]), ("tiny", 0.6, 1, 0.125)],
    [("tiny", 0.6, 1, 0.125)]))
def test_nothing_comes_of_forgotten_accesses(name, failing, seed, share):
    g = GEOMETRIES[name]
    count = int(share * (320 if g.burst_beats > 1 else 640))  # an access that is one beat fails less often
    bench = Bench(g, random.Random(f"{name} {failing} {seed}"), count, failing)
    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench.run)
    simulator.run()
    assert bench.forgotten > 40 * share and min(bench.late[kind] for kind in ("load", "store", "atomic")) > 20 * share
    assert set(bench.reports.kinds) == {"load", "store", "atomic"}


@pytest.mark.parametrize("seed, name", quick(
    [(seed, name) for seed in range(4) for name in GEOMETRIES],
    [(0, "tiny"), (1, "tiny"), (1, "8 of 32 lanes")]))
def test_places_are_free_at_once_though_memory_takes_nothing(name, seed):
    g = GEOMETRIES[name]
    bench = Bench(g, random.Random(f"{name} {seed}"), 100, stalled=seed % 2 == 1)
    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench.stuck)
    simulator.run()


@pytest.mark.parametrize("function", [None, AtomicOp.ADD], ids=["store", "atomic"])
def test_an_error_is_reported_though_one_of_a_forgotten_access_was(function):
    """Of an access of many segments the first fails and is reported, then its warp is forgotten."""
    g = GEOMETRIES["tiny"]
    bench = Bench(g, random.Random(1), 2)

    def scattered(number):
        return Access(0, Size.B32, function is None, (1 << g.warp_size) - 1,
                      [number * REGION + 128 * lane for lane in range(g.warp_size)],
                      np.zeros((4, g.warp_size), np.uint32), 0, number, base=number, function=function)

    async def process(ctx):
        bench.begin(ctx)
        bench.put(Issued(scattered(0), fails=True))
        while not bench.accesses[0].faults:
            await bench.cycle(ctx, [])
        bench.generations.forget(0)
        await bench.cycle(ctx, [0])
        bench.put(Issued(scattered(1), fails=True))
        for _ in range(400):
            await bench.cycle(ctx, [])
        assert not any(bench.live.values()) and bench.accesses[1].faults == 1

    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
