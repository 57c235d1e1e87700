"""Barriers of the front end: they complete, are held while a preempt is pending, and report faults."""

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.words import Instruction
from support.core.control_flow import ReferenceWarp
from support.core.kept_benches import FrontEndBench

make = Instruction.make
TINY = preset("tiny")


def test_a_full_barrier_is_held_while_pending_and_released_after_a_restore():
    program = [make("bar.pp.3", live=0b1010), make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        await bench.launch(ctx, 0, 0, (0, 1))
        await bench.stopped(ctx, (0, 1))
        for _ in range(30):
            await bench.cycle(ctx)
        for slot in (0, 1):
            bench.check_view(ctx, slot, live_vector=True)
        saved = [bench.warps[slot] for slot in (0, 1)]
        await bench.free(ctx, (0, 1))
        ctx.set(bench.dut.stop.pending, 0)
        for index, (slot, warp) in enumerate(zip((3, 0), saved, strict=True)):
            assert warp.waiting
            await bench.place(ctx, 1, 0, slot, index, warp)
        for _ in range(30):
            await bench.cycle(ctx)
        assert ctx.get(bench.dut.stop.stopped) == ctx.get(bench.dut.stop.exited) == 0  # not started: not released
        await bench.start(ctx, 1)
        await bench.exited(ctx, (0, 3), 100)

    bench.run(test)


def mixed_tb(bench):
    """Return a coroutine function that starts TB 0 with one warp of each kernel, in slots 1, 2, ..."""
    async def start(ctx):
        for index, program in enumerate(bench.programs):
            warp = ReferenceWarp(bench.g, program, ("mixed", index), (1 << bench.g.warp_size) - 1)
            await bench.place(ctx, 0, index, 1 + index, index, warp)
        await bench.start(ctx, 0)
    return start


def test_an_exit_completes_a_barrier():
    bench = FrontEndBench(TINY, [[make("bar.pp.2", live=0), make("exit")], [make("nop")] * 20 + [make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        await mixed_tb(bench)(ctx)
        await bench.exited(ctx, (1, 2), 300)
        assert [slot for _, slot, pc in bench.retired] == [1, 2, 1]

    bench.run(test)


def test_a_divergent_barrier_faults():
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=3, reconv=4, guard=0), make("nop"),
               make("bar.pp.1", live=0), make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (1,))
        await bench.wait(ctx, lambda: bench.faults, 200)
        assert bench.faults == [(Fault.BARRIER_DIVERGENT, 1, 3)]

    bench.run(test)


def test_different_barriers_are_a_mismatch_reported_once():
    bench = FrontEndBench(TINY, [[make("bar.pp.0", live=0), make("exit")],
                                 [make("nop"), make("bar.pp.5", live=0), make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        await mixed_tb(bench)(ctx)
        await bench.wait(ctx, lambda: bench.faults, 200)
        for _ in range(50):
            await bench.cycle(ctx)
        assert bench.faults == [(Fault.BARRIER_MISMATCH, 1, 0)]
        await bench.pulse(ctx, "kill", 0b110)
        await bench.exited(ctx, (1, 2), 50)

    bench.run(test)
