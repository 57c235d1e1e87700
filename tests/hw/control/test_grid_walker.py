"""The grid walker: order of the TBs, turns of the kernels."""

import copy
import functools
import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.control.grid_walker import GridWalker
from caesura.hw.interfaces.preemption import adoption
from support.hw.lockstep import lockstep, noise
from support.hw.stream_bench import simulate
from support.selection import quick

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
    ctx.set(dut.fresh.request, vector)


async def take(dut, ctx):
    """Advance by the TB offered; return (kernel, launch id, x, y, z)."""
    tb = ctx.get(dut.fresh.next)
    ctx.set(dut.fresh.advance, {"valid": 1, "kernel": tb.kernel})
    await ctx.tick()
    ctx.set(dut.fresh.advance.valid, 0)
    return tb.kernel, tb.launch_id, tb.ctaid_x, tb.ctaid_y, tb.ctaid_z


def test_x_is_fastest_and_the_launch_id_linear():
    async def bench(dut, ctx):
        for grid in ((3, 2, 4), (1, 1, 1), (1, 5, 1), (7, 1, 2)):
            ctx.set(dut.fresh.request, 0)
            await begin(dut, ctx, {1: grid})
            order = itertools.product(*(range(n) for n in reversed(grid)))
            for i, (z, y, x) in enumerate(order):
                assert ctx.get(dut.fresh.next_valid) and not ctx.get(dut.exhausted) & 2
                assert ctx.get(dut.launched[1]) == i
                assert await take(dut, ctx) == (1, i, x, y, z)
            assert not ctx.get(dut.fresh.next_valid) and ctx.get(dut.exhausted) & 2
            assert ctx.get(dut.launched[1]) == grid[0] * grid[1] * grid[2]

    run(bench)


def test_kernels_take_turns_and_those_that_may_not_are_skipped():
    async def bench(dut, ctx):
        await begin(dut, ctx, {0: (2, 1, 1), 1: (4, 1, 1), 2: (3, 1, 1)})
        kernels = [(await take(dut, ctx))[0] for _ in range(6)]
        assert sorted(kernels[:3]) == [0, 1, 2] and kernels[3:] == kernels[:3]
        ctx.set(dut.fresh.request, 0b010)
        assert (await take(dut, ctx))[0] == 1
        ctx.set(dut.fresh.request, 0b111)
        assert (await take(dut, ctx))[:2] == (2, 2)
        assert (await take(dut, ctx))[:2] == (1, 3)
        assert not ctx.get(dut.fresh.next_valid) and ctx.get(dut.exhausted) == 0b111

    run(bench)


def test_nothing_is_offered_without_a_request():
    async def bench(dut, ctx):
        await begin(dut, ctx, {0: (2, 1, 1)})
        ctx.set(dut.fresh.request, 0)
        assert not ctx.get(dut.fresh.next_valid)

    run(bench)


class Walk:
    """Where a kernel is in its grid."""

    def __init__(self):
        self.place, self.launched, self.exhausted = [0, 0, 0], 0, 0

    def adopt(self, progress):
        self.place = [progress[f"next_{axis}"] for axis in "xyz"]
        self.launched, self.exhausted = progress["launched"], progress["exhausted"]

    def step(self, grid):
        self.launched = (self.launched + 1) % (1 << 32)
        for axis, size in enumerate(grid):
            if self.place[axis] + 1 != size:
                self.place[axis] = (self.place[axis] + 1) % (1 << (16 if axis else 32))
                return
            self.place[axis] = 0 if axis < 2 else size % (1 << 16)
        self.exhausted = 1


def at_an_end(rng, grid):
    """Return coordinates, of which each is often the last of its axis."""
    return {f"next_{axis}": size - 1 if rng.random() < 0.7 else rng.randrange(size)
            for axis, size in zip("xyz", grid, strict=True)}


def walks(dut, rng, cycles):
    """Yield any inputs, with kernels that are often at the end of a row, a plane or their grid."""
    g = dut.geometry
    kernels, last = range(g.kernel_slots), 0
    walks = [Walk() for _ in kernels]
    given, grids = None, [[1, 1, 1]] * g.kernel_slots
    descriptors = [noise(rng, dut.kernels[0].shape()) for _ in kernels]
    for _ in range(cycles):
        k = rng.choice(kernels)
        if rng.random() < 0.2:
            grids[k] = [rng.choice([1, 2, 3, rng.getrandbits(width) or 1, (1 << width) - 1]) for width in (32, 16, 16)]
        if rng.random() < 0.1:
            descriptors[k] = noise(rng, dut.kernels[0].shape())
        for descriptor, grid in zip(descriptors, grids, strict=True):
            descriptor |= dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))
        start = sum(1 << each for each in kernels if rng.random() < 0.02)
        adopted = noise(rng, adoption(g)) | {"valid": rng.random() < 0.3, "kernel": rng.choice(kernels)}
        adopted["progress"] |= at_an_end(rng, grids[adopted["kernel"]])
        advance = {"valid": rng.random() < 0.8, "kernel": rng.choice(kernels)}
        request = rng.getrandbits(g.kernel_slots)
        turn = [each % g.kernel_slots for each in range(last + 1, last + 1 + g.kernel_slots)]
        ready = [each for each in turn if request >> each & 1 and not walks[each].exhausted]
        outputs = {"fresh.next_valid": bool(ready), "launched": [walk.launched for walk in walks],
                   "exhausted": sum(walk.exhausted << each for each, walk in enumerate(walks)),
                   "places": [dict(zip("xyz", walk.place, strict=True)) for walk in walks]}
        if ready:
            walk = walks[ready[0]]
            x, y, z = walk.place
            outputs["fresh.next"] = {name: 0 for name, _ in dut.fresh.next.shape()} | {
                "kernel": ready[0], "launch_id": walk.launched, "ctaid_x": x, "ctaid_y": y, "ctaid_z": z}
        changed = {} if given == descriptors else {"kernels": descriptors}
        given = copy.deepcopy(descriptors)
        yield changed | {"start": start, "adopted": adopted, "fresh.request": request,
                         "fresh.advance": advance}, outputs
        for each, walk in enumerate(walks):
            if start >> each & 1:
                walk.__init__()
            elif adopted["valid"] and adopted["kernel"] == each:
                walk.adopt(adopted["progress"])
            elif advance["valid"] and advance["kernel"] == each:
                walk.step(grids[each])
        if advance["valid"]:
            last = advance["kernel"]


@pytest.mark.parametrize("slots", quick([1, 2, 3], [2]))
def test_any_inputs_give_what_a_model_gives(slots):
    g = G.replace(kernel_slots=slots)
    dut = GridWalker(g)
    lockstep(dut, walks(dut, random.Random(slots), 400))
