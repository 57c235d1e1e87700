"""Traps: warps that are stopped in the preemption routines of their kernel, and come back from there."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.words import Instruction
from support.core.kept_benches import WIDE, FrontEndBench
from support.programs.random_control_flow import random_program
from support.selection import quick

make = Instruction.make
TINY = preset("tiny")
POINTS = "pp", "pp.div", "exit"


def with_routines(program, runs_on=()):
    """Return a program with vectors and routines, each of which saves registers of its own, and where they begin; at
    addresses that `runs_on` has a warp runs on. Every second routine stands in its vector."""
    base, bodies, vectors = len(program), [], []
    for pc in range(base):
        point = [make("pp", live=2 * pc), make("pp.div", live=2 * pc + 1)]
        rest = [make("iadd", d=1, a=2, b=3), make("bra", target=pc, reconv=PC_NONE)]
        branch = make("bra", target=5 * base + len(bodies), reconv=PC_NONE)
        if pc in runs_on:
            vectors += [make("bra", target=pc, reconv=PC_NONE), *[make("trap")] * 3]
        elif pc % 2:
            vectors += point + rest
        else:
            vectors += [branch, *[make("trap")] * 3]
            bodies += point + rest
    return [*program, *vectors, *bodies], base


def stops_itself(instruction):
    return instruction.op.name in POINTS or instruction.op.barrier is not None


@pytest.mark.parametrize("g, seed, size", quick(
    [(TINY, 2, 10), (TINY, 2, 30), (TINY, 5, 30), (WIDE, 3, 30)], [(TINY, 2, 10)]))
def test_stopped_in_routines_again_and_again(g, seed, size):
    """Each warp stops in the routine of the instruction before which it stood, comes back, and gets on: also one whose
    preempt is withdrawn, one that is moved to another slot, and one that runs on to where a routine stops it."""
    rng = random.Random(seed)
    program = random_program(g, seed, size=size)
    runs_on = set(rng.sample(range(len(program)), len(program) // 4))
    code, base = with_routines(program, runs_on)
    bench = FrontEndBench(g, [code], seed=seed, trap_bases=[base])
    slots, kinds, depths = list(range(min(4, g.warps))), [], []

    async def test(ctx):
        nonlocal slots
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, slots, last_lanes=g.warp_size - 1)
        for turn in range(60):
            for _ in range(rng.choice((0, 1, rng.randrange(60)))):
                await bench.cycle(ctx)
            ctx.set(bench.dut.stop.pending, 1)
            ctx.set(bench.dut.stop.trap, 1)
            if turn % 3 == 2:  # withdrawn
                for _ in range(rng.randrange(30)):
                    await bench.cycle(ctx)
            else:
                await bench.stopped(ctx, slots)
                for slot in slots:
                    warp = bench.warps[slot]
                    bench.check_view(ctx, slot, live_vector=True)
                    if warp.live and not warp.waiting:
                        kinds.append(warp.routine)
                        depths.append(len(warp.stack) - warp.routine)
                        if warp.routine:
                            assert code[warp.pc - 1].op.name == "pp.div"
                            pc = code[warp.pc + 1].get("target")
                            assert warp.stack[-2][0] == pc and not stops_itself(code[pc]) and pc not in runs_on
                            assert warp.live_vector == 2 * pc + (len(warp.stack) > 2)
            if turn % 3 == 1:
                saved = [bench.warps[slot] for slot in slots]
                await bench.free(ctx, slots)
            ctx.set(bench.dut.stop.pending, 0)
            ctx.set(bench.dut.stop.trap, 0)
            if turn % 3 == 1:
                slots = rng.sample(range(g.warps), len(slots))
                for index, (slot, warp) in enumerate(zip(slots, saved, strict=True)):
                    await bench.place(ctx, 0, 0, slot, index, warp)
                await bench.start(ctx, 0)
            if not any(warp.live for warp in bench.warps.values()):
                break
        await bench.exited(ctx, slots)
        assert not bench.faults

    bench.run(test)
    assert any(kinds) and max(depths) > 1 and min(depths) == 1


def test_each_preempt_lets_every_warp_execute_an_instruction_of_its_own():
    """Preempts without a cycle between them: a warp that comes back from a routine retires what it was stopped at."""
    code, base = with_routines([make("iadd", d=1, a=1, b=2)] * 6 + [make("exit")])
    bench = FrontEndBench(TINY, [code], seed=4, trap_bases=[base])
    slots = range(TINY.warps)

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        ctx.set(bench.dut.stop.trap, 1)
        await bench.launch(ctx, 0, 0, slots)
        stops = 0
        while not bench.done(ctx, slots, "exited"):
            await bench.stopped(ctx, slots)
            stops += 1
            assert stops < 10
            for level in (0, 1):
                ctx.set(bench.dut.stop.pending, level)
                ctx.set(bench.dut.stop.trap, level)
                await bench.cycle(ctx)
        assert stops == 7  # before each of the six, and at their end
        assert [pc for _, warp, pc in bench.retired if warp == 1 and pc < base] == [0, 1, 2, 3, 4, 5, 6]

    bench.run(test)


def test_a_full_stack_is_not_trapped():
    """A warp whose stack has no room goes on until it has: to the point here."""
    program = [make("iadd", d=1, a=1, b=2), make("iadd", d=1, a=1, b=2), make("pp", live=3), make("pp.div", live=7),
               make("iadd", d=1, a=1, b=2), make("exit")]
    code, base = with_routines(program)
    bench = FrontEndBench(TINY, [code], seed=6, trap_bases=[base])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 1, 0, [1])
        await bench.exited(ctx, [1])
        warp = bench.warps[1]
        await bench.free(ctx, [1])
        warp.live, warp.retired = warp.launched, 0
        warp.stack = [[5, warp.launched, PC_NONE], *([5, warp.launched, 5] for _ in range(TINY.stack_depth - 2)),
                      [0, warp.launched, 5]]
        ctx.set(bench.dut.stop.pending, 1)
        ctx.set(bench.dut.stop.trap, 1)
        await bench.place(ctx, 0, 0, 0, 0, warp)
        await bench.start(ctx, 0)
        await bench.stopped(ctx, [0])
        assert (warp.pc, len(warp.stack), warp.live_vector) == (4, TINY.stack_depth, 7)

    bench.run(test)


def test_what_cannot_be_fetched_faults_rather_than_being_trapped():
    code, base = with_routines([make("bra", target=5 * 4 + 2 * 4, reconv=PC_NONE), *[make("nop")] * 2, make("exit")])
    bench = FrontEndBench(TINY, [code], seed=7, trap_bases=[base])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, [0])
        await bench.wait(ctx, lambda: bench.faults)
        assert bench.faults == [(Fault.FETCH_BOUND, 0, len(code))]

    bench.run(test)
