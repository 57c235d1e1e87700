"""The SIMT stack against a small model of Lin et al.'s stack."""

import random

import pytest

from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.core.front_end.simt_stack import SimtStack, StackCommand
from support.hw.simulation import Simulator, component
from support.selection import quick


class Model:
    """SIMT stack of one warp: a list of [pc, mask, reconv], bottom first, and the live lanes."""

    def __init__(self, limit):
        self.limit = limit
        self.live = 0
        self.stack = []

    @property
    def active(self):
        return self.stack[-1][1] & self.live

    def init(self, live):
        self.live, self.stack = live, []

    def push(self, pc, mask, reconv):
        if len(self.stack) < self.limit:
            self.stack.append([pc, mask, reconv])

    def settle(self):
        while self.stack:
            pc, mask, reconv = self.stack[-1]
            if mask & self.live and (pc != reconv or reconv == PC_NONE):
                break
            self.stack.pop()

    def jump(self, pc, live):
        self.live = live
        if self.stack:
            self.stack[-1][0] = pc
        self.settle()

    def diverge(self, taken, target, reconv):
        """Return whether it overflowed."""
        pc, mask, top_reconv = self.stack[-1]
        rest, fall = self.active & ~taken, pc + 1
        pushed = [[p, m, reconv] for p, m in ((fall, rest), (target, taken)) if p != reconv]
        reuse = top_reconv == reconv
        if len(self.stack) - reuse + len(pushed) > self.limit:
            return True
        if reuse:
            self.stack.pop()
        else:
            self.stack[-1][0] = reconv
        self.stack += pushed
        self.settle()
        return False


class Bench:
    """Drives one command at a time and compares every warp's stack with its model."""

    def __init__(self, g):
        self.g = g
        self.dut = component(SimtStack, g)
        self.models = [Model(g.stack_depth) for _ in range(g.warps)]

    async def command(self, ctx, warp, kind, expected_overflow=None, **fields):
        """Give a command; return (cycles until not busy, emptied vector)."""
        dut = self.dut
        ctx.set(dut.work.warp, warp)
        ctx.set(dut.work.kind, kind)
        ctx.set(dut.work.command, {"pc": 0, "mask": 0, "reconv": 0, "live": 0} | fields)
        if expected_overflow is not None:
            assert ctx.get(dut.work.overflow) == expected_overflow
        emptied = ctx.get(dut.emptied)
        await ctx.tick()
        ctx.set(dut.work.kind, StackCommand.NONE)
        ctx.set(dut.work.warp, (warp + 1) % self.g.warps)  # must not matter while busy
        cycles = 1
        while ctx.get(dut.busy):
            assert ctx.get(dut.settling) == 1 << warp
            emptied |= ctx.get(dut.emptied)
            await ctx.tick()
            cycles += 1
            assert cycles < 2 * self.g.stack_depth + 4
        return cycles, emptied

    def check(self, ctx, warp):
        """Compare views and top of `warp` with its model."""
        model, dut = self.models[warp], self.dut
        ctx.set(dut.work.warp, warp)
        for port, entry in enumerate((0, 0)):
            ctx.set(dut.view_select[port], {"warp": warp, "entry": entry})
        assert ctx.get(dut.view[0].depth) == ctx.get(dut.view[1].depth) == len(model.stack)
        assert ctx.get(dut.view[0].live) == model.live
        for number, (pc, mask, reconv) in enumerate(model.stack):
            port = number % 2
            ctx.set(dut.view_select[port], {"warp": warp, "entry": number})
            view = dut.view[port]
            assert (ctx.get(view.pc), ctx.get(view.mask), ctx.get(view.reconv)) == (pc, mask & model.live, reconv)
        if model.stack:
            top = (ctx.get(dut.work.top.pc), ctx.get(dut.work.top.mask), ctx.get(dut.work.top.reconv))
            pc, _, reconv = model.stack[-1]
            assert top == (pc, model.active, reconv)
            for warp_port, port in ((dut.fetch.warp, dut.fetch.pc), (dut.waiter_warp, dut.waiter_pc)):
                ctx.set(warp_port, warp)
                assert ctx.get(port) == pc
            ctx.set(dut.fetch.decode_warp, warp)
            assert ctx.get(dut.fetch.decode_reconv) == reconv

    async def start(self, ctx, warp, live, entries):
        model = self.models[warp]
        model.init(live)
        await self.command(ctx, warp, StackCommand.INIT, live=live)
        for pc, mask, reconv in entries:
            model.push(pc, mask, reconv)
            await self.command(ctx, warp, StackCommand.PUSH, pc=pc, mask=mask, reconv=reconv)

    async def jump(self, ctx, warp, pc, live):
        model = self.models[warp]
        model.jump(pc, live)
        cycles, emptied = await self.command(ctx, warp, StackCommand.JUMP, pc=pc, live=live)
        assert emptied == (0 if live else 1 << warp)
        return cycles

    async def diverge(self, ctx, warp, taken, target, reconv):
        overflow = self.models[warp].diverge(taken, target, reconv)
        cycles, emptied = await self.command(ctx, warp, StackCommand.DIVERGE, expected_overflow=overflow, pc=target,
                                             mask=taken, reconv=reconv)
        assert emptied == 0
        return cycles

    def run(self, testbench):
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        simulator.run()


def proper_subset(rng, mask):
    """A non-empty part of `mask` that leaves something, or 0 if there is none."""
    bits = [b for b in range(32) if mask >> b & 1]
    if len(bits) < 2:
        return 0
    return sum(1 << b for b in rng.sample(bits, rng.choice((rng.randrange(1, len(bits)), len(bits) - 1))))


@pytest.mark.parametrize("name, changes, seed, steps", quick(
    [("tiny", {}, 1, 150), ("tiny", {}, 1, 450), ("tiny", {"stack_depth": 3}, 2, 450), ("gtx480", {"warps": 8}, 3, 450),
     ("ecp5", {"stack_depth": 5}, 4, 450)], [("tiny", {}, 1, 150)]))
def test_random_commands_match_the_model(name, changes, seed, steps):
    g = preset(name).replace(**changes)
    rng = random.Random(seed)
    bench = Bench(g)
    full = (1 << g.warp_size) - 1
    seen = {"overflow": 0, "deep": 0, "popped": 0, "exits": 0}

    async def testbench(ctx):
        for _ in range(steps):
            warp = rng.randrange(g.warps)
            model = bench.models[warp]
            if not model.stack:
                live = rng.getrandbits(g.warp_size) or 1
                entries = [(rng.randrange(40), rng.choice((full, live)), PC_NONE)]
                entries += [(rng.randrange(40), full, 40 + n) for n in range(rng.randrange(g.stack_depth))]
                await bench.start(ctx, warp, live, entries)
                continue
            before = len(model.stack)
            taken = proper_subset(rng, model.active)
            reconvs = [entry[2] for entry in model.stack] + [rng.randrange(40), PC_NONE]
            choice = rng.random()
            if taken and choice < 0.6:
                reconv = rng.choice(reconvs)
                targets = [rng.randrange(40)] + ([reconv] if reconv != PC_NONE else [])
                before_stack = [list(entry) for entry in model.stack]
                await bench.diverge(ctx, warp, taken, rng.choice(targets), reconv)
                seen["overflow"] += model.stack == before_stack
            elif choice < 0.7:
                lanes = rng.choice((model.active, taken, model.live if rng.random() < 0.3 else 0))
                seen["exits"] += bool(lanes)
                await bench.jump(ctx, warp, model.stack[-1][0] + 1, model.live & ~lanes)
            else:
                pc = rng.choice((model.stack[-1][0] + 1, model.stack[-1][2], rng.randrange(40)))
                if pc == PC_NONE:
                    pc = 7
                await bench.jump(ctx, warp, pc, model.live)
            seen["deep"] = max(seen["deep"], len(model.stack))
            seen["popped"] += len(model.stack) < before
            bench.check(ctx, warp)
            bench.check(ctx, rng.randrange(g.warps))

    bench.run(testbench)
    assert seen["deep"] == g.stack_depth and seen["overflow"] and seen["popped"] > 20 and seen["exits"] > 10


def test_a_divergent_loop_does_not_grow_the_stack_and_takes_one_cycle_a_turn():
    g = preset("tiny")
    bench = Bench(g)

    async def testbench(ctx):
        await bench.start(ctx, 1, 0xFF, [(10, 0xFF, PC_NONE)])
        mask = 0xFF
        while mask & mask - 1:
            mask &= mask - 1  # one more lane leaves at the loop's end, which is where all meet again
            assert await bench.diverge(ctx, 1, mask, 5, 11) == 1
            bench.check(ctx, 1)
            assert len(bench.models[1].stack) == 2
            assert await bench.jump(ctx, 1, 10, 0xFF) == 1
        assert await bench.jump(ctx, 1, 11, 0xFF) == 2
        bench.check(ctx, 1)
        assert bench.models[1].stack == [[11, 0xFF, PC_NONE]]

    bench.run(testbench)


def test_if_else_takes_one_extra_cycle():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.start(ctx, 0, 0xFF, [(10, 0xFF, PC_NONE)])
        assert await bench.diverge(ctx, 0, 0x0F, 20, 30) == 2
        bench.check(ctx, 0)
        assert await bench.jump(ctx, 0, 30, 0xFF) == 2
        bench.check(ctx, 0)
        assert bench.models[0].stack[-1] == [11, 0xF0, 30]

    bench.run(testbench)


def test_entries_emptied_by_exits_are_popped_when_revealed():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        entries = [(50, 0xFF, PC_NONE), (40, 0x0F, 50), (30, 0x03, 40), (20, 0x01, 30)]
        await bench.start(ctx, 0, 0xFF, entries)
        bench.models[0].live = 0xFF
        assert await bench.jump(ctx, 0, 21, 0xF0) == 4  # lanes of the upper three entries are gone
        bench.check(ctx, 0)
        assert bench.models[0].stack == [[50, 0xFF, PC_NONE]]

    bench.run(testbench)


def test_live_lanes_that_run_off_the_bottom_go_where_no_code_is():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.start(ctx, 2, 0xFF, [(4, 0xFF, 5)])
        _, emptied = await bench.command(ctx, 2, StackCommand.JUMP, pc=5, live=0xFF)
        assert emptied == 0
        ctx.set(bench.dut.fetch.warp, 2)
        assert ctx.get(bench.dut.fetch.pc) == PC_NONE

    bench.run(testbench)


def test_skip_moves_another_warp_in_the_cycle_of_a_command():
    bench = Bench(preset("tiny"))

    async def testbench(ctx):
        await bench.start(ctx, 0, 0xFF, [(1, 0xFF, PC_NONE)])
        await bench.start(ctx, 3, 0xFF, [(9, 0xFF, PC_NONE)])
        ctx.set(bench.dut.fetch.skip, {"valid": 1, "warp": 3, "pc": 10})
        await bench.jump(ctx, 0, 2, 0xFF)
        ctx.set(bench.dut.fetch.skip.valid, 0)
        bench.models[3].stack[-1][0] = 10
        bench.check(ctx, 0)
        bench.check(ctx, 3)

    bench.run(testbench)


def test_a_push_beyond_the_depth_is_ignored():
    g = preset("tiny").replace(stack_depth=3)
    bench = Bench(g)

    async def testbench(ctx):
        await bench.start(ctx, 0, 0xFF, [(n, 0xFF >> n, 90 + n) for n in range(5)])
        bench.check(ctx, 0)
        assert len(bench.models[0].stack) == 3

    bench.run(testbench)
