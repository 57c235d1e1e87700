"""The control unit as a whole: a preempt and a resume, between a bus, a front end and an engine that the test plays."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE, preset
from support.hw.control_bench import MAP, ControlBench, Kernel
from support.hw.stream_bench import put_all
from support.selection import quick

G = preset("tiny").replace(warps=8, tb_slots=3, kernel_slots=3)
SEEDS = quick(range(3), range(1))


async def preempt(bench, ctx, k):
    """Preempt kernel `k` and let the engine save its TBs; return their (launch id, ctaid)."""
    assert await bench.command(ctx, Command.PREEMPT, k, mechanism=1) == CommandError.NONE
    while not (rows := bench.rows(ctx, k)):
        await ctx.tick()
    for _ in range(80):
        await ctx.tick()
    rows = bench.rows(ctx, k)
    assert all(row.started for row in rows.values())
    assert await bench.state(ctx, k) == KernelState.PREEMPTING
    saved = []
    for tb, row in rows.items():
        ctx.set(bench.engine.claim, ctx.get(bench.engine.claim) | 1 << tb)
        saved.append((row.launch_id, row.ctaid_x, row.ctaid_y, row.ctaid_z))
        await bench.release(ctx, tb)
        ctx.set(bench.engine.claim, 0)
    await bench.result(ctx)
    await bench.until(ctx, "event", "preempted", 1)
    await bench.write(ctx, "event", MAP["event"].pack(preempted=1))
    return saved


async def restore(bench, ctx, k, saved):
    """Bring TBs back as the engine does; their warps exit when the front end says so."""
    kernel, engine = bench.kernels[k], bench.engine
    for launch, x, y, z in saved:
        place = await bench.admit(ctx, {"kernel": k, "launch_id": launch, "ctaid_x": x, "ctaid_y": y, "ctaid_z": z})
        row = bench.rows(ctx, k)[place.tb]
        assert (row.launch_id, row.ctaid_x, row.ctaid_y, row.ctaid_z) == (launch, x, y, z) and not row.started
        assert (row.base, row.first_line) == (place.base, place.first_line)
        warps = -(-kernel.threads // G.warp_size)
        slots = place.slots[:warps]
        assert sum(1 << s for s in slots) == row.warps
        await put_all(engine.launch.warp_init, [
            {"warp": s, "tb": place.tb, "kernel": k, "block_warp": i, "base": place.base + i * kernel.registers,
             "registers": kernel.registers, "launched": mask, "live": mask}
            for i, s in enumerate(slots) if (mask := (1 << min(8, kernel.threads - 8 * i)) - 1)])(ctx)
        await put_all(engine.launch.stack_push, [
            {"warp": s, "pc": 0, "mask": (1 << min(8, kernel.threads - 8 * i)) - 1, "reconv": PC_NONE}
            for i, s in enumerate(slots)])(ctx)
        ctx.set(engine.launch.start, {"valid": 1, "tb": place.tb})
        await ctx.tick()
        ctx.set(engine.launch.start.valid, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_preempted_kernel_gives_way_and_ends_after_its_resume(seed):
    bench = ControlBench(G, seed, duration=(20, 60))
    first = Kernel(grid=(9, 1, 1), threads=20, registers=5, shared_bytes=260)
    second = Kernel(grid=(5, 1, 1), threads=24, registers=16, shared_bytes=1024)
    other = Kernel(grid=(30, 1, 1), threads=8, registers=4)

    async def main(bench, ctx):
        await bench.launch(ctx, 0, first)
        await bench.launch(ctx, 2, other)
        bench.stuck.add(0)
        for _ in range(random.Random(seed).randint(20, 80)):
            await ctx.tick()
        saved = await preempt(bench, ctx, 0)
        assert saved and await bench.state(ctx, 0) == KernelState.PREEMPTED and not bench.rows(ctx, 0)
        assert not await bench.read(ctx, "status", "busy")
        launched = await bench.read(ctx, "kernel[0].launched")
        assert await bench.read(ctx, "kernel[0].completed") == launched - len(saved)
        assert await bench.command(ctx, Command.START, 0) == CommandError.NOT_RUNNING

        await bench.launch(ctx, 1, second)
        await bench.finish(ctx, 1)
        assert await bench.read(ctx, "kernel[0].launched") == launched

        before = len(bench.started)
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NONE
        bench.stuck.clear()
        await restore(bench, ctx, 0, saved)
        assert await bench.state(ctx, 0) == KernelState.RESUMING
        assert [s[1] for s in bench.started[before:] if s[0] == 0] == [s[0] for s in saved]
        for _ in range(50):
            await ctx.tick()
        assert await bench.read(ctx, "kernel[0].launched") == launched, "no fresh TB before the resume has ended"
        await bench.result(ctx)
        await bench.finish(ctx, 0, 2)
        assert await bench.read(ctx, "event") == MAP["event"].pack(resumed=1)
        for k, kernel in ((0, first), (2, other)):
            assert await bench.state(ctx, k) == KernelState.FINISHED
            assert await bench.read(ctx, f"kernel[{k}].completed") == kernel.tbs
        assert await bench.read(ctx, "status") == 0

    bench.run(main)
    ids = [s[1] for s in bench.started if s[0] == 0]
    assert sorted(set(ids)) == list(range(9)) and len(ids) > 9
    assert bench.invalidates == 4


def test_tbs_of_other_kernels_go_on_during_a_preempt():
    bench = ControlBench(G, 5, duration=(5, 15))

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(3, 1, 1)))
        bench.stuck.add(0)
        await bench.launch(ctx, 1, Kernel(grid=(40, 1, 1)))
        await bench.until(ctx, "kernel[0].launched", "value", 2)
        assert await bench.command(ctx, Command.PREEMPT, 0) == CommandError.NONE
        done = await bench.read(ctx, "kernel[1].completed")
        for _ in range(200):
            await ctx.tick()
        assert await bench.read(ctx, "kernel[1].completed") > done + 3
        assert await bench.read(ctx, "kernel[0].launched") == 2

    bench.run(main)


def test_a_kernel_whose_tbs_all_end_during_the_drain_is_finished():
    bench = ControlBench(G, duration=(30, 40))

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(2, 1, 1)))
        await bench.until(ctx, "kernel[0].launched", "value", 2)
        for _ in range(12):
            await ctx.tick()
        assert await bench.command(ctx, Command.PREEMPT, 0) == CommandError.NONE
        ctx.set(bench.engine.claim, 0b111)
        for _ in range(100):
            await ctx.tick()
        assert len(bench.rows(ctx)) == 2, "claimed TBs stay although their warps have exited"
        ctx.set(bench.engine.claim, 0)
        await bench.result(ctx)
        await bench.finish(ctx, 0, clear=False)
        assert await bench.read(ctx, "event") == MAP["event"].pack(finished=1, preempted=1)
        assert await bench.state(ctx, 0) == KernelState.FINISHED
        assert await bench.read(ctx, "kernel[0].completed") == 2

    bench.run(main)


def test_the_end_of_the_last_tb_after_the_result_still_finishes_the_kernel():
    bench = ControlBench(G, duration=(30, 30))

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel())
        await bench.until(ctx, "kernel[0].launched", "value", 1)
        assert await bench.command(ctx, Command.PREEMPT, 0) == CommandError.NONE
        await bench.result(ctx)
        assert await bench.state(ctx, 0) == KernelState.PREEMPTING
        await bench.finish(ctx, 0)
        assert await bench.state(ctx, 0) == KernelState.FINISHED

    bench.run(main)


def test_a_preempt_or_resume_that_ends_badly_leaves_the_kernel_as_it_was():
    bench = ControlBench(G)

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(4, 1, 1)))
        bench.stuck.add(0)
        assert await bench.command(ctx, Command.PREEMPT, 0) == CommandError.NONE
        for _ in range(30):
            await ctx.tick()
        await bench.result(ctx, CommandError.AREA_TOO_SMALL)
        await bench.until(ctx, "event", "preempted", 1)
        assert await bench.read(ctx, "kernel[0].state", "error") == CommandError.AREA_TOO_SMALL
        assert await bench.state(ctx, 0) == KernelState.RUNNING
        await bench.until(ctx, "kernel[0].launched", "value", G.tb_slots)
        saved = await preempt(bench, ctx, 0)
        ctx.set(bench.engine.kept, 0b001)
        assert len(saved) == 3 and await bench.state(ctx, 0) == KernelState.PREEMPTED
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NONE
        await bench.result(ctx, CommandError.BAD_IMAGE)
        await bench.until(ctx, "event", "resumed", 1)
        assert await bench.read(ctx, "kernel[0].state", "error") == CommandError.BAD_IMAGE
        assert await bench.state(ctx, 0) == KernelState.PREEMPTED

    bench.run(main)


def test_the_engine_gets_a_preempt_only_when_no_tb_is_half_launched():
    for wait in (0, 1, 5, 9, 14, 20):
        bench = ControlBench(G, wait, init_ready=0.4)

        async def main(bench, ctx, wait=wait):
            ctx.set(bench.engine.command.ready, 0)
            await bench.describe(ctx, 0, Kernel(grid=(2, 1, 1), threads=32))
            await bench.write(ctx, "command", MAP["command"].pack(op=Command.START, kernel=0))
            bench.stuck.add(0)
            for _ in range(wait):
                await ctx.tick()
            await bench.write(ctx, "command", MAP["command"].pack(
                op=Command.PREEMPT, kernel=0, mechanism=1, scramble=1))
            while not ctx.get(bench.engine.command.valid):
                await ctx.tick()
            assert all(row.started for row in bench.rows(ctx).values())
            tbs = len(bench.rows(ctx))
            assert ctx.get(bench.engine.command.payload.options.mechanism) == 1
            assert ctx.get(bench.engine.command.payload.options.scramble) == 1
            for _ in range(60):
                await ctx.tick()
            assert len(bench.rows(ctx)) == tbs == await bench.read(ctx, "kernel[0].launched")

        bench.run(main)


def test_a_restored_tb_waits_for_room_and_goes_before_fresh_ones():
    bench = ControlBench(G, duration=(150, 150))

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(1, 1, 1), threads=32, shared_bytes=1024))
        bench.stuck.add(0)
        await bench.until(ctx, "status", "resident", 1)
        saved = await preempt(bench, ctx, 0)
        await bench.launch(ctx, 1, Kernel(grid=(4, 1, 1), shared_bytes=512))
        await bench.until(ctx, "kernel[1].launched", "value", 2)
        bench.stuck.clear()
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NONE
        await restore(bench, ctx, 0, saved)
        assert await bench.read(ctx, "kernel[1].launched") == 2, "fresh TBs waited"
        await bench.result(ctx)
        await bench.finish(ctx, 0, 1)

    bench.run(main)


@pytest.mark.parametrize("delay", quick(range(10), range(0, 10, 2)))
def test_a_tb_that_is_given_room_while_its_kernel_is_killed_does_not_stay(delay):
    bench = ControlBench(G)

    async def main(bench, ctx):
        engine = bench.engine
        await bench.launch(ctx, 0, Kernel(threads=32, registers=5, shared_bytes=512))
        bench.stuck.add(0)
        await bench.until(ctx, "status", "resident", 1)
        (launch, x, y, z), = await preempt(bench, ctx, 0)
        ctx.set(engine.kept, 1)
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NONE
        ctx.set(engine.admit.payload, {"kernel": 0, "launch_id": launch, "ctaid_x": x, "ctaid_y": y, "ctaid_z": z})
        ctx.set(engine.admit.valid, 1)
        await ctx.tick().until(engine.admit.ready)
        ctx.set(engine.admit.valid, 0)
        for _ in range(delay):
            await ctx.tick()
        bench.released = (1 << G.warps) - 1  # slots of warps that were never started
        await bench.write(ctx, "command", MAP["command"].pack(op=Command.KILL, kernel=0))
        ctx.set(engine.flushing, 1)
        await bench.result(ctx)
        ctx.set(engine.flushing, 0)
        await bench.until(ctx, "event", "killed", 1)
        assert await bench.state(ctx, 0) == KernelState.IDLE
        for _ in range(60):
            await ctx.tick()
        assert not bench.rows(ctx) and await bench.read(ctx, "status", "resident") == 0

    bench.run(main)


def test_a_plan_that_a_preempt_did_not_wait_for_is_forgotten_with_it():
    """The next preempt has its own plan: without a newcomer everything stays."""
    bench = ControlBench(G)

    async def main(bench, ctx):
        engine = bench.engine
        await bench.launch(ctx, 0, Kernel(grid=(3, 1, 1), threads=8, registers=8, shared_bytes=256))
        bench.stuck.add(0)
        await bench.until(ctx, "status", "resident", 3)
        await bench.describe(ctx, 1, Kernel(threads=64, registers=8, shared_bytes=1024))

        async def ask(tbs):
            ctx.set(engine.plan_request, {"valid": 1, "newcomer": 1, "tbs": tbs, "chosen": 0b111})
            await ctx.tick()
            ctx.set(engine.plan_request.valid, 0)
            assert not ctx.get(engine.plan.done)

        async def planned():
            while not ctx.get(engine.plan.done):
                await ctx.tick()
            return ctx.get(engine.plan.keep_registers), ctx.get(engine.plan.keep_lines)

        await ask(1)
        assert await planned() == (0, 0), "the newcomer needs all there is"
        for cycles in (1, 2, 5, 20, 40):
            await ask(1)
            await ctx.tick().repeat(cycles)
            await bench.result(ctx)  # withdrawn, or its kernel is killed
            await ctx.tick().repeat(2)
            await ask(0)
            assert await planned() == (0b111, 0b111)

    bench.run(main)
