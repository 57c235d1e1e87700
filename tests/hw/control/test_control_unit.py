"""The control unit as a whole: launches, commands and registers, between a bus, a front end and an engine."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import IDENTIFICATION
from support.hw.control_bench import MAP, ControlBench, Kernel
from support.selection import quick

G = preset("tiny").replace(warps=8, tb_slots=3, kernel_slots=3)
SEEDS = quick(range(3), range(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_tb_of_concurrent_kernels_is_launched_and_completed_once(seed):
    rng = random.Random(seed)
    bench = ControlBench(G, seed)
    work = {k: Kernel(grid=(rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 3)), threads=rng.randint(1, 40),
                      registers=rng.randint(1, 8), shared_bytes=4 * rng.randint(0, 160)) for k in range(3)}

    async def main(bench, ctx):
        for k, kernel in work.items():
            await bench.launch(ctx, k, kernel)
            assert await bench.state(ctx, k) in (KernelState.RUNNING, KernelState.FINISHED)
        await bench.finish(ctx, *work)
        for k, kernel in work.items():
            assert await bench.state(ctx, k) == KernelState.FINISHED
            for name in ("launched", "completed"):
                assert await bench.read(ctx, f"kernel[{k}].{name}") == kernel.tbs
        assert await bench.read(ctx, "status") == 0 and not bench.rows(ctx)
        assert not any(bench.warps) and not ctx.get(bench.dut.host.interrupt)

    bench.run(main)
    for k, kernel in work.items():
        assert [s[1] for s in bench.started if s[0] == k] == list(range(kernel.tbs))
        for _, launch, (x, y, z), *_ in (s for s in bench.started if s[0] == k):
            assert (x, y, z) == (launch % kernel.grid[0], launch // kernel.grid[0] % kernel.grid[1],
                                 launch // kernel.grid[0] // kernel.grid[1])
    assert bench.invalidates == 3


def test_resources_of_residents_never_overlap_and_the_sm_fills_up():
    bench = ControlBench(G, 1, duration=(10, 60))
    most = {"tbs": 0, "lines": 0}

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(8, 1, 1), threads=16, registers=6, shared_bytes=300))
        await bench.launch(ctx, 1, Kernel(grid=(8, 1, 1), threads=8, registers=9, shared_bytes=128))
        while await bench.read(ctx, "event", "finished") != 0b11:
            rows = bench.rows(ctx).values()
            most["tbs"] = max(most["tbs"], len(rows))
            for name, size in (("base", lambda r: r.warps.bit_count() * (6, 9)[r.kernel]), ("first_line", None)):
                spans = sorted((getattr(r, name), getattr(r, name) + (size(r) if size else r.lines)) for r in rows)
                assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
            slots = [r.warps for r in rows]
            assert sum(slots) == sum(1 << i for i in range(G.warps) if any(s >> i & 1 for s in slots))
            assert await bench.read(ctx, "status", "resident") <= G.tb_slots

    bench.run(main)
    assert most["tbs"] == G.tb_slots


@pytest.mark.full
def test_a_large_sm_fills_with_one_kernel():
    g = preset("gtx480")
    bench = ControlBench(g, 2, duration=(230, 260), init_ready=1.0)

    async def main(bench, ctx):
        await bench.launch(ctx, 0, Kernel(grid=(7, 1, 1), threads=250, registers=20, shared_bytes=2000))
        await bench.until(ctx, "status", "warps", 48)
        assert await bench.read(ctx, "status", "resident") == 6
        cycle = await bench.read(ctx, "cycle_low")
        assert cycle < 6 * (3 * 8 + 8) + 30, "three cycles a warp and a few a TB"
        await bench.finish(ctx, 0)

    bench.run(main, cycles=1500)
    assert len(bench.started) == 7


def test_a_kernel_that_can_never_fit_is_refused():
    bench = ControlBench(G)
    too_large = [Kernel(threads=0, warps=0), Kernel(threads=72), Kernel(grid=(0, 1, 1)), Kernel(registers=17),
                 Kernel(registers=0), Kernel(threads=48, registers=11), Kernel(shared_bytes=1028),
                 Kernel(threads=9, warps=1)]

    async def main(bench, ctx):
        for kernel in too_large:
            await bench.describe(ctx, 1, kernel)
            assert await bench.command(ctx, Command.START, 1) == CommandError.TOO_LARGE, kernel
            assert await bench.state(ctx, 1) == KernelState.IDLE and ctx.get(bench.dut.host.interrupt)
        assert bench.invalidates == 0 and not bench.started
        await bench.launch(ctx, 1, Kernel(threads=64, registers=8, shared_bytes=1024))
        await bench.finish(ctx, 1)

    bench.run(main)


def test_commands_in_the_wrong_state_are_refused():
    bench = ControlBench(G, duration=(200, 200))

    async def main(bench, ctx):
        for command, error in [((0, 0), CommandError.UNKNOWN), ((max(Command) + 1, 0), CommandError.UNKNOWN),
                               ((Command.START, 3), CommandError.UNKNOWN),
                               ((Command.PREEMPT, 0), CommandError.NOT_RUNNING),
                               ((Command.RESUME, 0), CommandError.NOT_RUNNING)]:
            assert await bench.command(ctx, *command) == error
        await bench.launch(ctx, 0, Kernel())
        assert await bench.command(ctx, Command.START, 0) == CommandError.BUSY
        assert await bench.command(ctx, Command.RESUME, 0) == CommandError.NOT_RUNNING
        assert await bench.command(ctx, Command.PREEMPT, 0, mechanism=max(Mechanism) + 1) == CommandError.UNKNOWN
        await bench.launch(ctx, 1, Kernel())
        assert await bench.command(ctx, Command.PREEMPT, 0) == CommandError.NONE
        for op in (Command.PREEMPT, Command.RESUME):
            assert await bench.command(ctx, op, 0) == CommandError.BUSY
        assert await bench.command(ctx, Command.PREEMPT, 1) == CommandError.NONE, "it waits for its turn"
        assert await bench.command(ctx, Command.START, 0) == CommandError.BUSY
        assert await bench.read(ctx, "status", "busy")

    bench.run(main)


def test_identification_counters_and_parameters():
    bench = ControlBench(G)

    async def main(bench, ctx):
        dut = bench.dut
        assert await bench.read(ctx, "id") == IDENTIFICATION == 0x43414553
        assert await bench.read(ctx, "geometry_hash") == G.hash
        ctx.set(dut.core.stop.issued, 1)
        for _ in range(5):
            await ctx.tick()
        ctx.set(dut.core.stop.issued, 0)
        assert await bench.read(ctx, "retired") == 5
        before, cycle = ctx.get(dut.cycle), await bench.read(ctx, "cycle_low")
        assert cycle == before
        ctx.set(bench.engine.counters.save_cycles, 1234)
        ctx.set(bench.engine.counters.restore_bytes, 4321)
        assert await bench.read(ctx, "save_cycles") == 1234 and await bench.read(ctx, "restore_bytes") == 4321
        await bench.write(ctx, "kernel[2].param_bytes", 0xABCC)
        assert ctx.get(dut.kernels[2].param_bytes) == await bench.read(ctx, "kernel[2].param_bytes") == 0xABCC
        await bench.write(ctx, "kernel[1].code_base", 0x1280)
        assert ctx.get(dut.kernels[1].code_base) == ctx.get(bench.engine.kernels[1].code_base) == 0x1280

    bench.run(main)


def test_inspect_shows_a_warp_and_nothing_beyond_the_geometry():
    bench = ControlBench(G.replace(warps=6))

    async def main(bench, ctx):
        bench.stuck.add(1)
        await bench.launch(ctx, 1, Kernel(grid=(2, 1, 1)))
        await bench.until(ctx, "status", "resident", 2)
        view = {"valid": 1, "tb": 1, "kernel": 1, "block_warp": 3, "live": 0x3F, "waiting": 1, "barrier": 9,
                "depth": 2, "pc": 0x123, "mask": 0x21, "parked": 1}
        ctx.set(bench.dut.inspect.view, view)
        await bench.write(ctx, "inspect", MAP["inspect"].pack(warp=5, entry=1))
        assert ctx.get(bench.dut.inspect.select) == bench.dut.inspect.select.shape().const({"warp": 5, "entry": 1})
        state = {"valid": 1, "waiting": 1, "parked": 1, "kernel": 1, "warp": 3, "depth": 2, "barrier": 9}
        assert await bench.read(ctx, "inspect_state") == MAP["inspect_state"].pack(**state)
        expected = {"inspect_tb": 1, "inspect_pc": 0x123, "inspect_mask": 0x21, "inspect_live": 0x3F}
        for path, value in expected.items():
            assert await bench.read(ctx, path) == value
        await bench.write(ctx, "inspect", MAP["inspect"].pack(warp=6))
        for path in ("inspect_state", *expected):
            assert await bench.read(ctx, path) == 0
        await bench.write(ctx, "inspect", MAP["inspect"].pack(warp=5, entry=8))
        assert await bench.read(ctx, "inspect_pc") == 0 and await bench.read(ctx, "inspect_live") == 0x3F

    bench.run(main)
