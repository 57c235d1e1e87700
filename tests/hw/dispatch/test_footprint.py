"""The footprint of a TB: hardware against its own model."""

import random

import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.footprint import Footprint, compute


@pytest.mark.parametrize("name", ["tiny", "gtx480", "ecp5"])
def test_hardware_equals_model(name):
    g = preset(name)
    dut = Footprint(g)
    rng = random.Random(name)
    seen = {True: 0, False: 0}

    async def bench(ctx):
        for _ in range(600):
            grid = tuple(rng.choice([1, 2, 65535, 0] if rng.random() < 0.1 else [1, 3]) for _ in range(3))
            threads = rng.randint(0, min(2047, g.max_block_threads + 40))
            warps = -(-threads // g.warp_size) + rng.choice([0, 0, 0, 0, 1, -1])
            values = {"threads": threads, "warps": max(0, warps), "registers": rng.randint(0, g.regs_per_thread + 2),
                      "shared_bytes": rng.choice([0, 4, g.shared_bytes, g.shared_bytes + 4,
                                                  rng.randint(0, g.shared_bytes)])}
            expected = compute(g, grid, **values)
            ctx.set(dut.kernel, dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True)) | values)
            assert ctx.get(dut.fits) == (expected is not None), (grid, values)
            if expected:
                assert (ctx.get(dut.size.rows), ctx.get(dut.size.lines)) == expected
            seen[expected is not None] += 1

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(seen.values()) > 50


@pytest.mark.parametrize("changes", [
    {"grid": (0, 1, 1)}, {"grid": (1, 0, 1)}, {"grid": (1, 1, 0)}, {"threads": 0, "warps": 0},
    {"threads": 25, "warps": 3}, {"threads": 40, "warps": 5}, {"registers": 0}, {"registers": 17},
    {"shared_bytes": 1025}, {"threads": 8, "warps": 2}])
def test_what_can_never_fit_is_told_apart(changes):
    possible = {"grid": (1, 1, 1), "threads": 32, "registers": 16, "warps": 4, "shared_bytes": 1024}
    assert compute(preset("tiny"), **possible) == (16, 8)
    assert compute(preset("tiny"), **possible | changes) is None
