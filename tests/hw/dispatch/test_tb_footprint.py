"""The condition of a kernel start (`hw.arch.footprint`) and the hardware's, at the limits of each size."""

import itertools

import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.footprint import tb_footprint
from caesura.hw.arch.geometry import PRESETS, preset
from caesura.hw.dispatch.footprint import Footprint

GEOMETRIES = [*PRESETS.values(), preset("tiny").replace(registers=32), preset("gtx980").replace(registers=512)]


@pytest.mark.parametrize("g", GEOMETRIES, ids=lambda g: f"{g.name}-{g.registers}")
def test_hardware_decides_the_same_at_every_limit(g):
    dut = Footprint(g)
    blocks = [(threads, warps) for count in (1, 2, g.max_block_warps - 1, g.max_block_warps, g.max_block_warps + 1)
              for threads in ((count - 1) * g.warp_size, (count - 1) * g.warp_size + 1, count * g.warp_size)
              for warps in (count - 1, count, count + 1) if threads < 2048 and warps < 64]
    fill = g.registers // g.max_block_warps
    registers = {0, 1, g.regs_per_thread, g.regs_per_thread + 1, min(fill, 127), min(fill + 1, 127)}
    shared = (0, 1, g.shared_bytes, g.shared_bytes + 1)
    cases = [((1, 1, 1), *block, r, s) for block, r, s in itertools.product(blocks, sorted(registers), shared)]
    cases += [((x, y, z), g.warp_size, 1, 1, 0) for x, y, z in itertools.product((0, 1), (0, 1), (0, 1))]
    seen = {True: 0, False: 0}

    async def bench(ctx):
        for grid, threads, warps, count, shared_bytes in cases:
            sizes = {"threads": threads, "warps": warps, "registers": count, "shared_bytes": shared_bytes}
            expected = tb_footprint(g, grid, **sizes)
            ctx.set(dut.kernel, dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True)) | sizes)
            assert ctx.get(dut.fits) == (expected is not None), (grid, sizes)
            if expected:
                assert (ctx.get(dut.size.rows), ctx.get(dut.size.lines)) == expected
            seen[expected is not None] += 1

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(seen.values()) > 20
