"""Entries: two living TBs never share one or its local memory, in any order of launches, ends, saves and restores."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.hw.dispatch.entry_allocator import EntryAllocator
from support.hw.control_bench import MAP, ControlBench, Kernel
from support.hw.lockstep import lockstep, noise, number
from support.hw.simulation import Simulator, component
from support.models.admission_model import Entries as Model
from support.selection import quick

G = preset("tiny").replace(warps=8, tb_slots=3, kernel_slots=3)
SPARE = G.replace(entries=7)
LIMITS = (0, 7, 5)
"""What the kernels say of their entries on a machine that has spare ones."""
SEEDS = quick(range(3), range(1))


class Entries:
    """An `EntryAllocator` driven at its ports; `living` are (kernel, entry) of each TB, `slots` those on the SM."""

    def __init__(self, ctx, dut, kernels):
        self.ctx, self.dut, self.kernels = ctx, dut, kernels
        self.g, self.living, self.slots = dut.geometry, [], {}

    def address(self, kernel, entry):
        """Where the local memory of an entry lies."""
        base, size, warps = self.kernels[kernel]
        return base + entry * local_region_bytes(G, warps, size)

    async def ask(self, kernel, entry=None, address=None):
        """Return entry and address found, None if there is none, and the cycles it took; of a restored TB its own."""
        ctx, (base, size, warps) = self.ctx, self.kernels[kernel]
        ctx.set(self.dut.request, {"valid": 1, "kernel": kernel, "restored": entry is not None, "entry": entry or 0,
                                   "address": address or 0, "warps": warps, "local_base": base, "local_bytes": size,
                                   **({"entries": LIMITS[kernel]} if self.g.spare_entries else {})})
        await ctx.tick()
        ctx.set(self.dut.request.valid, 0)
        cycles = 0
        while not ctx.get(self.dut.done):
            await ctx.tick()
            cycles += 1
            assert cycles < 30
        found = ctx.get(self.dut.entry), ctx.get(self.dut.address)
        return (found if ctx.get(self.dut.found) else None), cycles

    async def take(self):
        """What was found has its TB."""
        self.ctx.set(self.dut.take, 1)
        await self.ctx.tick()
        self.ctx.set(self.dut.take, 0)

    async def end(self, tb):
        """The TB in this slot ends."""
        kernel, entry = self.slots.pop(tb)
        self.living.remove((kernel, entry))
        self.ctx.set(self.dut.ended, {"valid": 1, "kernel": kernel, "entry": entry})
        await self.ctx.tick()
        self.ctx.set(self.dut.ended.valid, 0)

    def most(self, kernel):
        """How many entries a kernel may use."""
        return self.g.spare_entries and LIMITS[kernel] or self.g.tb_slots

    def expected(self, kernel):
        """The lowest free entry."""
        return next((k for k in range(self.most(kernel)) if (kernel, k) not in self.living), None)


@pytest.mark.parametrize("g, seed", quick(
    [(G, 0), (G, 1), (G, 2), (G, 3), (SPARE, 4), (SPARE, 5)], [(G, 0), (SPARE, 4)]))
def test_no_two_living_tbs_share_an_entry(g, seed):
    """With spare entries fresh TBs are launched while others of their kernel are away."""
    rng, dut = random.Random(seed), EntryAllocator(g)
    kernels = {0: (0x10000, 4 * rng.randint(1, 16383), rng.randint(1, 8)), 1: (0x8000_0000, 36, 3),
               2: (0x40_0080, 4 * (seed % 2), rng.randint(1, 8))}
    seen, refused = set(), set()

    async def bench(ctx):
        entries, saved = Entries(ctx, dut, kernels), []
        for _ in range(300 if g is G else 600):
            free = [t for t in range(G.tb_slots) if t not in entries.slots]
            kernel = rng.randrange(3)
            away = [tb for tb in saved if tb[0] == kernel]
            action = rng.choice(["launch", "launch", "end", "save", "restore", "restart"])
            if action == "launch" and free and (not away or g.spare_entries):
                found, _ = await entries.ask(kernel)
                if entries.expected(kernel) is None:
                    assert found is None and g.spare_entries
                    refused.add(kernel)
                    continue
                entry, address = found
                assert entry == entries.expected(kernel) and address == entries.address(kernel, entry)
                await entries.take()
                entries.slots[rng.choice(free)] = (kernel, entry)
                entries.living.append((kernel, entry))
                seen.add((kernel, entry))
            elif action == "end" and entries.slots:
                await entries.end(rng.choice(list(entries.slots)))
            elif action == "save":
                for tb in [t for t, owned in entries.slots.items() if owned[0] == kernel]:
                    saved.append(entries.slots.pop(tb))
            elif action == "restore" and free and away:
                wanted = rng.choice(away)
                at = entries.address(*wanted)
                assert (await entries.ask(*wanted, at))[0] == (wanted[1], at)
                await entries.take()
                saved.remove(wanted)
                entries.slots[rng.choice(free)] = wanted
            elif action == "restart" and not any(owner == kernel for owner, _ in entries.living):
                ctx.set(dut.start, 1 << kernel)
                await ctx.tick()
                ctx.set(dut.start, 0)
            assert len(set(entries.living)) == len(entries.living)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > 6
    if g.spare_entries:
        assert {(0, 2), (1, 3), (2, 4)} <= seen and refused >= {0, 2}
        assert not seen & {(0, 3), (2, 5)}


def test_a_restored_tb_gets_its_entry_back_wherever_it_is():
    dut = EntryAllocator(SPARE)

    async def bench(ctx):
        entries = Entries(ctx, dut, {1: (0x1000, 8, 5)})
        for entry in (6, 3, 5):
            at = entries.address(1, entry)
            assert (await entries.ask(1, entry, at))[0] == (entry, at)
            await entries.take()
        for entry in (0, 1, 2, 4):
            assert (await entries.ask(1))[0] == (entry, entries.address(1, entry))
            await entries.take()
        assert (await entries.ask(1))[0] is None

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_answers_take_a_cycle_a_bit_and_a_region_and_a_kernel_without_local_memory_none():
    dut = EntryAllocator(G)

    async def bench(ctx):
        entries = Entries(ctx, dut, {0: (0x1000, 8, 5), 1: (0x2000, 0, 5)})
        bits = (5).bit_length()
        for k in range(G.tb_slots):
            assert await entries.ask(1) == ((k, 0x2000), 0), "it has no local memory"
            await entries.take()
            assert await entries.ask(0) == ((k, entries.address(0, k)), bits + 2 + k)
            await entries.take()
        for kernel in (0, 1):
            assert (await entries.ask(kernel))[0] is None, "all are taken"
        assert (await entries.ask(0, 0, 0x1000 + 128))[0] is None, "no region begins there"
        assert (await entries.ask(0, 1, 0x1000))[0] is None, "it is that of another entry"
        assert (await entries.ask(0, 0, 0x1000))[0] == (0, 0x1000)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def searches(dut, rng, cycles):
    """Yield searches, some of which are dropped, for TBs of any size, while entries are taken and given back."""
    g, model = dut.geometry, Model(dut.geometry)
    entries, kernels = range(g.context_entries), range(g.kernel_slots)
    for cycle in range(cycles):
        filling = cycle // 80 % 2  # until all entries are taken, or none is
        request = noise(rng, dut.request.shape()) | {
            "valid": int(rng.random() < (0.7 if model.done else 0.02)), "kernel": rng.choice(kernels),
            "restored": int(rng.random() < 0.4), "entry": rng.choice(entries)}
        request["local_bytes"] *= rng.random() < 0.8
        if g.spare_entries:
            request["entries"] = rng.choice([0, *range(g.tb_slots, g.context_entries + 1)])
        size = local_region_bytes(g, request["warps"], request["local_bytes"])
        right = request["local_base"] + request["entry"] * size
        if rng.random() < 0.8:
            request["address"] = (right ^ rng.choice([0, 0, 0, 1 << rng.randrange(32)])) % (1 << 32)
        given = {
            "request": request, "take": int(model.done and model.found and rng.random() < (0.8 if filling else 0.2)),
            "ended": {"valid": int(rng.random() < (0.02 if filling else 0.4)), "kernel": rng.choice(kernels),
                      "entry": rng.choice(entries)},
            "start": number(rng, g.kernel_slots) if rng.random() < 0.01 else 0,
            "adopted": noise(rng, dut.adopted.shape()) | {"valid": int(rng.random() < 0.02),
                                                          "kernel": rng.choice(kernels)}}
        yield given, model.outputs()
        model.step(given)


@pytest.mark.parametrize("name, cycles", quick(
    [("as many as TBs", 400), ("as many as TBs", 6000), ("spare", 2000)], [("as many as TBs", 400)]))
def test_the_answers_are_those_of_a_model(name, cycles):
    g = {"as many as TBs": G, "spare": SPARE.replace(watches=2)}[name]
    dut = component(EntryAllocator, g)
    lockstep(dut, searches(dut, random.Random(name), cycles))


async def describe_local(bench, ctx, k, kernel, base, size):
    await bench.write(ctx, f"kernel[{k}].local_base", base)
    await bench.write(ctx, f"kernel[{k}].local_bytes", size)
    await bench.launch(ctx, k, kernel)


async def save(bench, ctx, k, faulting=0.2):
    """Preempt kernel `k`; return launch id, ctaid, entry and local memory of its TBs."""
    assert await bench.command(ctx, Command.PREEMPT, k, mechanism=1) == CommandError.NONE
    for _ in range(90):
        await ctx.tick()
    saved = []
    for tb, row in bench.rows(ctx, k).items():
        if bench.rng.random() < faulting and len(bench.rows(ctx, k)) > 1:   # one that faults meanwhile ends
            slot = next(s for s in range(G.warps) if row.warps >> s & 1)
            ctx.set(bench.dut.reports.constant, {"valid": 1, "kind": Fault.CONSTANT_BOUND, "warp": slot, "pc": 1,
                                               "address": 4})
            await ctx.tick()
            ctx.set(bench.dut.reports.constant.valid, 0)
            while tb in bench.rows(ctx, k):
                await ctx.tick()
            continue
        ctx.set(bench.engine.claim, 1 << tb)
        assert row.local_base == ctx.get(bench.dut.tbs[tb].local_base)
        saved.append((row.launch_id, row.ctaid_x, row.ctaid_y, row.ctaid_z, row.entry, row.local_base))
        await bench.release(ctx, tb)
        ctx.set(bench.engine.claim, 0)
    await bench.result(ctx)
    await bench.until(ctx, "event", "preempted", 1)
    await bench.write(ctx, "event", MAP["event"].pack(preempted=1))
    return saved


async def admit(bench, ctx, k, tb):
    """Ask for room for a saved TB; return the answer."""
    names = ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z", "entry", "local_base")
    return await bench.admit(ctx, {"kernel": k, **dict(zip(names, tb, strict=True))})


async def put_back(bench, ctx, k, tb):
    """Restore a saved TB as the engine does."""
    kernel, engine, place = bench.kernels[k], bench.engine, await admit(bench, ctx, k, tb)
    assert not place.bad
    lanes = [(1 << min(8, kernel.threads - 8 * i)) - 1 for i in range(-(-kernel.threads // 8))]
    for i, mask in enumerate(lanes):
        own = {"warp": place.slots[i], "tb": place.tb, "kernel": k, "block_warp": i, "launched": mask, "live": mask,
               "base": place.base + i * kernel.registers, "registers": kernel.registers}
        for port, payload in ((engine.launch.warp_init, own), (engine.launch.stack_push, {
                "warp": place.slots[i], "pc": 0, "mask": mask, "reconv": PC_NONE})):
            ctx.set(port.payload, payload)
            ctx.set(port.valid, 1)
            while not (await ctx.tick().sample(port.ready))[-1]:
                pass
            ctx.set(port.valid, 0)
    ctx.set(engine.launch.start, {"valid": 1, "tb": place.tb})
    await ctx.tick()
    ctx.set(engine.launch.start.valid, 0)


@pytest.mark.parametrize("seed", quick(range(3), []))
def test_a_tb_keeps_its_entry_through_preemption_and_gives_it_back_at_its_end(seed):
    bench = ControlBench(G, seed, duration=(10, 60))
    work = {0: (Kernel(grid=(9, 1, 1), threads=12, registers=4), 0x10000, 36),
            1: (Kernel(grid=(8, 1, 1), threads=16, registers=4), 0x20000, 132),
            2: (Kernel(grid=(9, 1, 1), threads=8, registers=4), 0, 0)}
    used = {k: set() for k in work}

    def check(ctx, saved):
        """No two TBs, on the SM or saved, have one entry; the local memory of each is that of its entry."""
        owned = [(row.kernel, row.entry, row.local_base) for row in bench.rows(ctx).values()]
        owned += [(k, *tb[-2:]) for k, tbs in saved.items() for tb in tbs]
        assert len({(k, entry) for k, entry, _ in owned}) == len(owned)
        for k, entry, address in owned:
            kernel, base, size = work[k]
            assert address == base + entry * local_region_bytes(G, -(-kernel.threads // 8), size)
            used[k].add(entry)

    async def main(bench, ctx):
        saved = {}
        for k, (kernel, base, size) in work.items():
            await describe_local(bench, ctx, k, kernel, base, size)
        for _ in range(6):
            for _ in range(bench.rng.randint(10, 60)):
                await ctx.tick()
                check(ctx, saved)
            k = bench.rng.randrange(2)
            if k in saved or await bench.state(ctx, k) != KernelState.RUNNING:
                continue
            bench.stuck.add(k)
            saved[k] = await save(bench, ctx, k)
            check(ctx, saved)
            for _ in range(bench.rng.randint(10, 80)):   # the others go on
                await ctx.tick()
                check(ctx, saved)
            assert await bench.command(ctx, Command.RESUME, k) == CommandError.NONE
            bench.rng.shuffle(saved[k])
            while saved[k]:
                tb = saved[k].pop()
                await put_back(bench, ctx, k, tb)
                assert tb[-2:] in [(row.entry, row.local_base) for row in bench.rows(ctx, k).values()]
                check(ctx, saved)
            bench.stuck.discard(k)
            await bench.result(ctx)
            await bench.until(ctx, "event", "resumed", 1)
            await bench.write(ctx, "event", MAP["event"].pack(resumed=1))
            del saved[k]
        bench.stuck.clear()
        await bench.finish(ctx, *work)

    bench.run(main)
    assert all(len(used[k]) > 1 for k in (0, 1))


def test_a_restored_tb_whose_local_memory_is_not_that_of_its_entry_is_refused():
    bench = ControlBench(G)

    async def main(bench, ctx):
        await describe_local(bench, ctx, 0, Kernel(grid=(2, 1, 1)), 0x4000, 64)
        bench.stuck.add(0)
        await bench.until(ctx, "kernel[0].launched", "value", 2)
        saved = await save(bench, ctx, 0, faulting=0)
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NONE
        for wrong in (0, 0x4000 + 4, 0x4000 + 3 * 512, 0x4000 - 512):
            place = await admit(bench, ctx, 0, (*saved[0][:-1], wrong))
            assert place.bad and not bench.rows(ctx)
        await put_back(bench, ctx, 0, saved[0])
        assert len(bench.rows(ctx)) == 1

    bench.run(main)
