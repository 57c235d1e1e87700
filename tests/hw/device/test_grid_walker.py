"""The grid walker: order of the TBs, turns of the kernels."""

import functools
import itertools

from caesura.hw.arch.geometry import preset
from caesura.hw.device.grid_walker import GridWalker
from support.hw.stream_bench import simulate

G = preset("tiny").replace(kernel_slots=3)


def run(bench):
    dut = GridWalker(G)
    simulate(dut, functools.partial(bench, dut))


async def begin(dut, ctx, grids):
    for k, (x, y, z) in grids.items():
        for name, value in (("grid_x", x), ("grid_y", y), ("grid_z", z)):
            ctx.set(dut.kernels[k][name], value)
    vector = sum(1 << k for k in grids)
    ctx.set(dut.start, vector)
    await ctx.tick()
    ctx.set(dut.start, 0)
    ctx.set(dut.request, vector)


async def take(dut, ctx):
    """Advance by the TB offered; return (kernel, launch id, x, y, z)."""
    tb = ctx.get(dut.next)
    ctx.set(dut.advance, {"valid": 1, "kernel": tb.kernel})
    await ctx.tick()
    ctx.set(dut.advance.valid, 0)
    return tb.kernel, tb.launch_id, tb.ctaid_x, tb.ctaid_y, tb.ctaid_z


def test_x_is_fastest_and_the_launch_id_linear():
    async def bench(dut, ctx):
        for grid in ((3, 2, 4), (1, 1, 1), (1, 5, 1), (7, 1, 2)):
            ctx.set(dut.request, 0)
            await begin(dut, ctx, {1: grid})
            order = itertools.product(*(range(n) for n in reversed(grid)))
            for i, (z, y, x) in enumerate(order):
                assert ctx.get(dut.valid) and not ctx.get(dut.exhausted) & 2
                assert ctx.get(dut.launched[1]) == i
                assert await take(dut, ctx) == (1, i, x, y, z)
            assert not ctx.get(dut.valid) and ctx.get(dut.exhausted) & 2
            assert ctx.get(dut.launched[1]) == grid[0] * grid[1] * grid[2]

    run(bench)


def test_kernels_take_turns_and_those_that_may_not_are_skipped():
    async def bench(dut, ctx):
        await begin(dut, ctx, {0: (2, 1, 1), 1: (4, 1, 1), 2: (3, 1, 1)})
        kernels = [(await take(dut, ctx))[0] for _ in range(6)]
        assert sorted(kernels[:3]) == [0, 1, 2] and kernels[3:] == kernels[:3]
        ctx.set(dut.request, 0b010)
        assert (await take(dut, ctx))[0] == 1
        ctx.set(dut.request, 0b111)
        assert (await take(dut, ctx))[:2] == (2, 2)
        assert (await take(dut, ctx))[:2] == (1, 3)
        assert not ctx.get(dut.valid) and ctx.get(dut.exhausted) == 0b111

    run(bench)


def test_nothing_is_offered_without_a_request():
    async def bench(dut, ctx):
        await begin(dut, ctx, {0: (2, 1, 1)})
        ctx.set(dut.request, 0)
        assert not ctx.get(dut.valid)

    run(bench)
