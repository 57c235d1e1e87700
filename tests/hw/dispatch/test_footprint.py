"""The footprint of a TB: hardware against its model, at random and at the limits of each size."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import PRESETS, preset
from caesura.hw.arch.tb_footprint import tb_footprint
from caesura.hw.dispatch.footprint import Footprint
from support.hw.simulation import Simulator
from support.selection import quick

GEOMETRIES = [*PRESETS.values(), preset("tiny").replace(registers=32), preset("gtx980").replace(registers=512)]


def check(g, cases):
    """Compare hardware and model in each case (grid, sizes); returns how many can be started and how many not."""
    dut, seen = Footprint(g), {True: 0, False: 0}

    async def bench(ctx):
        for grid, sizes in cases:
            expected = tb_footprint(g, grid, **sizes)
            ctx.set(dut.kernel, dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True)) | sizes)
            assert ctx.get(dut.fits) == (expected is not None), (grid, sizes)
            if expected:
                assert (ctx.get(dut.size.rows), ctx.get(dut.size.lines)) == expected
            seen[expected is not None] += 1

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    return seen[True], seen[False]


def random_case(g, rng):
    grid = tuple(rng.choice([1, 2, 65535, 0] if rng.random() < 0.1 else [1, 3]) for _ in range(3))
    threads = rng.randint(0, min(2047, g.max_block_threads + 40))
    warps = -(-threads // g.warp_size) + rng.choice([0, 0, 0, 0, 1, -1])
    return grid, {"threads": threads, "warps": max(0, warps), "registers": rng.randint(0, g.regs_per_thread + 2),
                  "shared_bytes": rng.choice([0, 4, g.shared_bytes, g.shared_bytes + 4,
                                              rng.randint(0, g.shared_bytes)])}


@pytest.mark.parametrize("name", ["tiny", "gtx480", "ecp5"])
def test_hardware_equals_model(name):
    g, rng = preset(name), random.Random(name)
    assert min(check(g, [random_case(g, rng) for _ in range(600)])) > 50


@pytest.mark.parametrize("g", quick(GEOMETRIES, [*GEOMETRIES][:3]), ids=lambda g: f"{g.name}-{g.registers}")
def test_hardware_decides_the_same_at_every_limit(g):
    blocks = [(threads, warps) for count in (1, 2, g.max_block_warps - 1, g.max_block_warps, g.max_block_warps + 1)
              for threads in ((count - 1) * g.warp_size, (count - 1) * g.warp_size + 1, count * g.warp_size)
              for warps in (count - 1, count, count + 1) if threads < 2048 and warps < 64]
    fill = g.registers // g.max_block_warps
    registers = {0, 1, g.regs_per_thread, g.regs_per_thread + 1, min(fill, 127), min(fill + 1, 127)}
    shared = (0, 1, g.shared_bytes, g.shared_bytes + 1)
    cases = [((1, 1, 1), {"threads": threads, "warps": warps, "registers": r, "shared_bytes": s})
             for (threads, warps), r, s in itertools.product(blocks, sorted(registers), shared)]
    one = {"threads": g.warp_size, "warps": 1, "registers": 1, "shared_bytes": 0}
    cases += [(grid, one) for grid in itertools.product((0, 1), repeat=3)]
    assert min(check(g, cases)) > 20


@pytest.mark.parametrize("changes", [
    {"grid": (0, 1, 1)}, {"grid": (1, 0, 1)}, {"grid": (1, 1, 0)}, {"threads": 0, "warps": 0},
    {"threads": 25, "warps": 3}, {"threads": 40, "warps": 5}, {"registers": 0}, {"registers": 17},
    {"shared_bytes": 1025}, {"threads": 8, "warps": 2}])
def test_what_can_never_fit_is_told_apart(changes):
    possible = {"grid": (1, 1, 1), "threads": 32, "registers": 16, "warps": 4, "shared_bytes": 1024}
    assert tb_footprint(preset("tiny"), **possible) == (16, 8)
    assert tb_footprint(preset("tiny"), **possible | changes) is None
