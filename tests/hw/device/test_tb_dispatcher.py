# amaranth: UnusedElaboratable=no
"""The TB dispatcher: every TB of a grid is given once, in order, to an SM that has room for it; and all that it says,
beside a model, in every cycle."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.device.tb_dispatcher import LeastLoaded, TakingTurns, TbDispatcher
from support.hw.lockstep import lockstep
from support.hw.simulation import Simulator
from support.models.tb_dispatcher_model import Dispatcher, happenings
from support.selection import quick

TINY = preset("tiny")
GRIDS = [(5, 1, 1), (2, 3, 2), (1, 1, 7)]


class Sms:
    """SMs that claim TBs when they have room, run them for a while, and are idle then.

    What they do is noted: `given` has the launch ids and places of each kernel in the order in which they came.
    """

    def __init__(self, dut, seed, room=3, runs=30):
        self.dut, self.g, self.rng = dut, dut.geometry, random.Random(seed)
        self.room, self.runs = room, runs
        self.running = [[] for _ in range(self.g.sms)]  # kernel and cycle of its end, of each TB
        self.claims = [None] * self.g.sms
        self.given = [[] for _ in range(self.g.kernel_slots)]
        self.on = [[0] * self.g.sms for _ in range(self.g.kernel_slots)]
        self.cycle, self.started = 0, set()

    async def start(self, ctx, kernel, grid, members):
        for i in range(self.g.sms):
            if members >> i & 1:
                ctx.set(self.dut.starts[i], 1 << kernel)
                for name, size in zip("xyz", grid, strict=True):
                    ctx.set(self.dut.grids[i][kernel][name], size)
        await self.tick(ctx)
        for i in range(self.g.sms):
            ctx.set(self.dut.starts[i], 0)
        self.started.add(kernel)

    async def tick(self, ctx):
        """A cycle: SMs see what is offered and granted, then claim."""
        g, rng = self.g, self.rng
        for i, supply in enumerate(self.dut.supplies):
            grant = ctx.get(supply.grant)
            if grant.valid:
                kernel = self.claims[i]
                assert kernel is not None, "nobody asked"
                self.claims[i] = None
                if not grant.none:
                    place = grant.place
                    self.given[kernel].append((grant.launch_id, (place.x, place.y, place.z)))
                    self.running[i].append((kernel, self.cycle + rng.randrange(self.runs)))
                    self.on[kernel][i] += 1
            self.running[i] = [tb for tb in self.running[i] if tb[1] > self.cycle]
            offered = ctx.get(supply.offered)
            kernels = [k for k in range(g.kernel_slots) if k in self.started and offered >> k & 1 and self.may(i, k)]
            if self.claims[i] is None and kernels and len(self.running[i]) < self.room and rng.random() < 0.5:
                self.claims[i] = rng.choice(kernels)
            ctx.set(supply.claim.valid, self.claims[i] is not None)
            ctx.set(supply.claim.kernel, self.claims[i] or 0)
            ctx.set(supply.warps, len(self.running[i]))
            busy = {kernel for kernel, _ in self.running[i]} | {self.claims[i]}
            ctx.set(self.dut.idle[i], sum(1 << k for k in range(g.kernel_slots) if k not in busy))
        await ctx.tick()
        self.cycle += 1

    def may(self, sm, kernel):
        return True


def run(dut, process):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def places(grid):
    return [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]


@pytest.mark.parametrize("policy", [LeastLoaded, TakingTurns])
@pytest.mark.parametrize("sms", quick([2, 3, 16], [3]))
def test_every_tb_is_given_once_and_in_order(sms, policy):
    dut = TbDispatcher(TINY.replace(sms=sms), policy)

    async def process(ctx):
        for turn in range(3):
            machine = Sms(dut, f"{sms} {turn}")
            members = (1 << sms) - 1
            for kernel, grid in enumerate(GRIDS):
                await machine.start(ctx, kernel, grid, members)
            for _ in range(2000):
                await machine.tick(ctx)
                if ctx.get(dut.supplies[0].done) & 0b111 == 0b111:
                    break
            for kernel, grid in enumerate(GRIDS):
                assert machine.given[kernel] == list(enumerate(places(grid)))
                assert ctx.get(dut.launched[kernel]) == len(places(grid)) and ctx.get(dut.members[kernel]) == members
            assert ctx.get(dut.supplies[-1].done) & 0b111 == 0b111 and not any(machine.running)

    run(dut, process)


def test_a_kernel_is_done_only_when_its_own_sms_are_idle():
    dut = TbDispatcher(TINY.replace(sms=3))

    async def process(ctx):
        machine = Sms(dut, 0, runs=1000)
        machine.may = lambda sm, kernel: sm != 1
        await machine.start(ctx, 2, (3, 1, 1), 0b101)
        while len(machine.given[2]) < 3:
            await machine.tick(ctx)
        assert ctx.get(dut.supplies[0].exhausted) >> 2 & 1 and ctx.get(dut.members[2]) == 0b101
        for busy in range(8):
            for i in range(3):
                ctx.set(dut.idle[i], 0 if busy >> i & 1 else 0b100)
            assert ctx.get(dut.supplies[1].done) >> 2 & 1 == (busy & 0b101 == 0)

    run(dut, process)


@pytest.mark.parametrize("policy", [LeastLoaded, TakingTurns])
def test_the_least_loaded_goes_first_and_equals_take_turns(policy):
    dut = TbDispatcher(TINY.replace(sms=4), policy)

    async def process(ctx):
        machine = Sms(dut, 0)
        await machine.start(ctx, 0, (100, 1, 1), 0b1111)
        warps, order = [3, 1, 0, 1], []
        for i, supply in enumerate(dut.supplies):
            ctx.set(supply.claim.valid, 1)
            ctx.set(supply.warps, warps[i])
        for _ in range(12):
            await ctx.tick()
            order += [i for i, supply in enumerate(dut.supplies) if ctx.get(supply.grant.valid)]
            for i, supply in enumerate(dut.supplies):
                ctx.set(supply.warps, warps[i])
        if policy is LeastLoaded:  # a claim that is answered is no claim in the next cycle
            assert order[0::2] == [2] * 6 and sorted(order[1::2]) == [1, 1, 1, 3, 3, 3]
        else:
            assert sorted(order[:4]) == [0, 1, 2, 3]

    run(dut, process)


def test_a_claim_without_a_tb_left_is_told_so():
    dut = TbDispatcher(TINY.replace(sms=3))

    async def process(ctx):
        machine = Sms(dut, 0)
        await machine.start(ctx, 1, (1, 1, 1), 0b111)
        for supply in dut.supplies:
            ctx.set(supply.claim.valid, 1)
            ctx.set(supply.claim.kernel, 1)
        answers = []
        for _ in range(4):
            await ctx.tick()
            for supply in dut.supplies:
                grant = ctx.get(supply.grant)
                if grant.valid:
                    answers.append(grant.none)
                    ctx.set(supply.claim.valid, 0)
        assert answers == [0, 1, 1]

    run(dut, process)


@pytest.mark.parametrize("together", [False, True])
def test_an_adopted_kernel_goes_on_behind_the_last_tb_of_all(together):
    """Its SMs say how many they launched, and which they found next: the furthest counts."""
    dut = TbDispatcher(TINY.replace(sms=3))
    grid = (4, 2, 2)
    found = [(3, (2, 0, 0), 0), (5, (1, 1, 1), 0), (1, (3, 0, 1), 0)]

    async def process(ctx):
        machine = Sms(dut, 0)
        await machine.start(ctx, 1, grid, 0b111)
        for i, (launched, (x, y, z), exhausted) in enumerate(found):
            ctx.set(dut.adopted[i], {"valid": 1, "kernel": 1, "saved": 0, "progress": {
                "launched": launched, "completed": 0, "next_x": x, "next_y": y, "next_z": z, "exhausted": exhausted}})
            if not together:
                await ctx.tick()
                ctx.set(dut.adopted[i].valid, 0)
        if together:
            await ctx.tick()
            for i in range(3):
                ctx.set(dut.adopted[i].valid, 0)
        for _ in range(5):
            await ctx.tick()
        assert ctx.get(dut.launched[1]) == 9
        place = ctx.get(dut.supplies[2].places[1])
        assert (place.x, place.y, place.z) == (1, 1, 1)
        for _ in range(300):
            await machine.tick(ctx)
        rest = places(grid)[places(grid).index((1, 1, 1)):]
        assert machine.given[1] == list(enumerate(rest, 9))

    run(dut, process)


def test_an_adopted_kernel_without_tbs_left_stays_so():
    dut = TbDispatcher(TINY.replace(sms=2))

    async def process(ctx):
        machine = Sms(dut, 0)
        await machine.start(ctx, 0, (2, 1, 1), 0b11)
        for i, (at, exhausted) in enumerate((((1, 0, 0), 0), ((0, 0, 1), 1))):
            ctx.set(dut.adopted[i], {"valid": 1, "kernel": 0, "saved": 0, "progress": {
                "launched": 1, "completed": 1, "next_x": at[0], "next_y": at[1], "next_z": at[2],
                "exhausted": exhausted}})
        await ctx.tick()
        for i in range(2):
            ctx.set(dut.adopted[i].valid, 0)
            ctx.set(dut.idle[i], 1)
        for _ in range(3):
            await ctx.tick()
        assert ctx.get(dut.supplies[0].exhausted) & 1 and ctx.get(dut.supplies[0].done) & 1
        assert not ctx.get(dut.supplies[0].offered) & 1

    run(dut, process)


@pytest.mark.parametrize("policy, sms, cycles", quick(
    [*itertools.product([LeastLoaded, TakingTurns], [2, 3, 5], [60, 1500]), (LeastLoaded, 3, 12000)],
    [(LeastLoaded, 3, 60), (TakingTurns, 3, 60)]))
def test_it_does_what_a_model_does(policy, sms, cycles):
    dut = TbDispatcher(g := TINY.replace(sms=sms), policy)
    lockstep(dut, happenings(dut, random.Random(f"{sms} {cycles}"), cycles, Dispatcher(g, policy)))
