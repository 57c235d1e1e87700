"""Preemption of the front end: which warps stop, where, and what is shown of them."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.words import Instruction
from support.core.kept_benches import POINT, WIDE, FrontEndBench
from support.programs.random_control_flow import random_program
from support.selection import quick

make = Instruction.make
TINY = preset("tiny")


@pytest.mark.full
@pytest.mark.parametrize(("mechanism", "g", "seed"), [
    ("stop_now", TINY, 2), ("pending", TINY, 8), ("pending", WIDE, 8), ("stop_now", WIDE, 2)])
def test_preempted_again_and_again_with_the_slots_used_in_between(mechanism, g, seed):
    rng = random.Random(seed)
    other = [make("iadd", d=1, a=2, b=3), make("bar.pp.7", live=0), make("exit")]
    bench = FrontEndBench(g, [random_program(g, seed, size=30), other], seed=seed)
    count = min(4, g.warps - 1)
    depths, routines, tb = [], [], 0
    routine = min(ins.get("target") for ins in bench.programs[0] if ins.op.name == "call")

    async def test(ctx):
        nonlocal tb
        bench.set_up(ctx)
        slots = list(range(count))
        await bench.launch(ctx, 0, 0, slots, last_lanes=g.warp_size - 1)
        for _ in range(8):
            for _ in range(rng.randrange(1, 45)):
                await bench.cycle(ctx)
            ctx.set(getattr(bench.dut.stop, mechanism), 1 << tb)
            await bench.stopped(ctx, slots)
            before = len(bench.retired)
            for _ in range(12):
                await bench.cycle(ctx)
            assert len(bench.retired) == before
            assert bench.done(ctx, slots, "stopped", "exited")
            for slot in slots:
                bench.check_view(ctx, slot, live_vector=mechanism == "pending")
                depths.append(len(bench.warps[slot].stack))
                routines.append(bench.warps[slot].live and bench.warps[slot].pc >= routine)
            saved = [bench.warps[slot] for slot in slots]
            await bench.free(ctx, slots)
            if not any(warp.live for warp in saved):
                break
            await bench.launch(ctx, 1 - tb, 1, range(2), key=("other",))
            await bench.exited(ctx, range(2))
            await bench.free(ctx, range(2))
            ctx.set(getattr(bench.dut.stop, mechanism), 0)
            tb = 1 - tb
            slots = rng.sample(range(g.warps), len(slots))
            for index, (slot, warp) in enumerate(zip(slots, saved, strict=True)):
                await bench.place(ctx, tb, 0, slot, index, warp)
            await bench.start(ctx, tb)
        else:
            await bench.exited(ctx, slots)
        assert not bench.faults

    bench.run(test)
    assert max(depths) > 2 and len(depths) > 12 and any(routines)


@pytest.mark.parametrize("times", quick([1, 2], [1]))
def test_warps_continue_where_they_are_when_the_preempt_is_cancelled(times):
    """Preemptions of both mechanisms in turn, each with every length."""
    bench = FrontEndBench(TINY, [random_program(TINY, 21, size=12)], seed=3)
    rng = random.Random(3)
    slots = range(TINY.warps)
    lengths = [(mechanism, cycles) for mechanism in ("pending", "stop_now") for cycles in (1, 2, 5, 40)] * times
    rng.shuffle(lengths)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 1, 0, slots)
        for mechanism, cycles in lengths:
            for _ in range(rng.randrange(30)):
                await bench.cycle(ctx)
            assert not bench.done(ctx, slots, "exited")
            ctx.set(getattr(bench.dut.stop, mechanism), 0b10)
            for _ in range(cycles):
                await bench.cycle(ctx)
            ctx.set(getattr(bench.dut.stop, mechanism), 0)
        await bench.exited(ctx, slots)
        assert not bench.faults

    bench.run(test)


@pytest.mark.full
def test_warps_stopped_between_points_are_told_from_those_at_a_point():
    add, add_again = make("iadd", d=1, a=1, b=1), make("iadd", d=1, a=1, b=1)
    programs = [[add, add_again, *POINT, make("bra", target=0, reconv=5)],
                [add, add_again, make("bar.pp.3", live=0b10), add, make("bra", target=0, reconv=5)]]
    bench = FrontEndBench(TINY, programs, seed=5)
    half = TINY.warps // 2
    rng, slots, kinds = random.Random(7), range(TINY.warps), []

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, slots[:half])
        await bench.launch(ctx, 1, 1, slots[half:])
        view = bench.dut.state.save.window.view
        for patience in [*range(14)] * 2:
            for _ in range(rng.randrange(40)):
                await bench.cycle(ctx)
            begin = len(bench.retired)
            ctx.set(bench.dut.stop.pending, 0b11)
            for _ in range(patience):
                await bench.cycle(ctx)
            ctx.set(bench.dut.stop.stop_now, 0b11)
            await bench.stopped(ctx, slots)
            for slot in slots:
                ctx.set(bench.dut.state.save.window.select, {"warp": slot, "entry": 0})
                last = [pc for _, who, pc in bench.retired[begin:] if who == slot][-1:]
                names, waiting = [programs[slot // half][pc].op.name for pc in last], ctx.get(view.waiting)
                at_point = waiting or names == ["pp.div"]
                assert ctx.get(view.between) == (not at_point)
                kinds.append("barrier" if waiting else "armed" if names == ["pp"] else bool(at_point))
            ctx.set(bench.dut.stop.pending, 0)
            ctx.set(bench.dut.stop.stop_now, 0)
            await bench.cycle(ctx)
        assert not bench.faults

    bench.run(test)
    assert {True, False, "barrier", "armed"} <= set(kinds)


def test_only_warps_of_the_tbs_that_are_to_stop_do():
    loop = [make("iadd", d=1, a=1, b=1), *POINT, make("bra", target=0, reconv=4)]
    bench = FrontEndBench(TINY, [loop, loop], seed=1)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0, 1))
        await bench.launch(ctx, 1, 1, (2, 3))
        ctx.set(bench.dut.stop.pending, 0b10)
        await bench.stopped(ctx, (2, 3), 200)
        before = len(bench.retired)
        for _ in range(100):
            await bench.cycle(ctx)
        assert {slot for _, slot, _ in bench.retired[before:]} == {0, 1}
        assert ctx.get(bench.dut.stop.stopped) == 0b1100

    bench.run(test)


def test_the_second_live_vector_counts_when_the_stack_is_divergent():
    program = [*POINT, make("setp.ne", pd=0, a=1, b=1), make("bra", target=6, reconv=7, guard=0), *POINT,
               make("nop"), *POINT, make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.wait(ctx, lambda: any(pc == 3 for *_, pc in bench.retired))
        assert len(bench.warps[0].stack) == 3
        for vector in (0b111, 0b11):  # in the branch; after it
            ctx.set(bench.dut.stop.pending, 1)
            await bench.stopped(ctx, (0,))
            bench.check_view(ctx, 0, live_vector=True)
            assert ctx.get(bench.dut.state.save.window.view.live_vector) == vector
            ctx.set(bench.dut.stop.pending, 0)
            await bench.cycle(ctx)
            assert not bench.done(ctx, (0,), "stopped")

    bench.run(test)


def test_a_warp_whose_point_stands_where_lanes_meet_has_stopped_once_its_stack_is_popped():
    """The bench compares the stack in the first cycle in which the warp has stopped."""
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=4, reconv=6, guard=0), make("nop"),
               make("bra", target=6, reconv=6), *POINT, make("exit")]
    bench = FrontEndBench(TINY, [program], smooth=True)

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.stopped(ctx, (0,), 200)
        await bench.cycle(ctx)
        assert bench.retired[-1][2] == 5 and bench.warps[0].pc == 2 and len(bench.warps[0].stack) == 2

    bench.run(test)


def test_a_warp_that_is_to_stop_at_once_has_stopped_once_its_stack_is_popped():
    """Both sides of a branch within a branch exit: two entries are popped, the warp stops after the first."""
    program = [make("setp.ne", pd=0, a=1, b=1), make("setp.ne", pd=1, a=1, b=1),
               make("bra", target=6, reconv=10, guard=0), make("nop"), make("nop"), make("bra", target=10, reconv=10),
               make("bra", target=8, reconv=9, guard=1), make("exit"), make("exit"), make("nop"), make("exit")]
    bench = FrontEndBench(TINY, [program], smooth=True)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,), key=("nested",))
        await bench.wait(ctx, lambda: bench.retired and bench.retired[-1][2] == 7, 200)
        ctx.set(bench.dut.stop.stop_now, 1)
        await bench.stopped(ctx, (0,), 20)
        await bench.cycle(ctx)
        assert bench.retired[-2][2] == 8 and bench.warps[0].pc == 3 and len(bench.warps[0].stack) == 2

    bench.run(test)
