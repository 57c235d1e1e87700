"""Valid and dirty bits against a model, and what no sequence of writes and clears may do."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.core.execute.valid_dirty import ValidDirty
from support.hw.simulation import Simulator
from support.selection import quick


def run(dut, bench):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("warps", quick([1, 6, 48], [6]))
def test_bits_follow_the_model_under_random_writes_and_clears_and_cleans(warps, in_place):
    dut, rng = ValidDirty(preset("tiny").replace(warps=warps, in_place=in_place)), random.Random(warps)
    valid, dirty = [0] * warps, [0] * warps
    lately = list(range(min(warps, 3)))  # a few warps, so that bits meet

    async def bench(ctx):
        loaded = 0
        for _ in range(400):
            load, target, mask = rng.random() < 0.3, rng.choice(lately), rng.getrandbits(64)
            writer, cleared, reader = (rng.choice(lately) for _ in range(3))
            register, clean = rng.randrange(64), rng.choice((0, 0, 0, 0, 0, 0, rng.getrandbits(warps)))
            write, clear = rng.random() < 0.7, rng.random() < 0.1
            clear &= not (write and cleared == writer)
            clean &= ~(write << writer)
            load &= not (clear and cleared == target) and not clean >> target & 1
            ctx.set(dut.load.valid, load)
            ctx.set(dut.load.payload, {"warp": target, "valid": mask})
            ctx.set(dut.write, {"valid": write, "warp": writer, "register": register})
            ctx.set(dut.clean, clean)
            ctx.set(dut.clear, {"valid": clear, "warp": cleared})
            for port in (dut.read_warp, dut.save_warp, dut.flags_select):
                ctx.set(port, reader)
            assert ctx.get(dut.write_valid) == valid[writer] >> register & 1
            assert ctx.get(dut.read_row) == ctx.get(dut.save_row) == ctx.get(dut.flags_valid) == valid[reader]
            assert ctx.get(dut.flags_dirty) == dirty[reader]
            assert dirty[reader] & ~valid[reader] == 0
            if write:
                valid[writer] |= 1 << register
                dirty[writer] |= 1 << register
            if in_place:
                assert ctx.get(dut.load.ready) == (not write)
                if load and not write:
                    valid[target] = dirty[target] = mask
                    loaded += 1
            dirty[:] = [0 if clean >> warp & 1 else bits for warp, bits in enumerate(dirty)]
            if clear:
                valid[cleared] = dirty[cleared] = 0
            if rng.random() < 0.05:
                lately[rng.randrange(len(lately))] = rng.randrange(warps)
            await ctx.tick()
        assert loaded > 10 or not in_place

    run(dut, bench)
    assert any(valid) and any(dirty) and valid != dirty


def test_one_clear_forgets_all_registers_of_a_warp_and_of_no_other():
    dut = ValidDirty(preset("tiny"))

    async def bench(ctx):
        for warp in range(4):
            for register in range(64):
                ctx.set(dut.write, {"valid": 1, "warp": warp, "register": register})
                await ctx.tick()
        ctx.set(dut.write, {"valid": 0})
        ctx.set(dut.clear, {"valid": 1, "warp": 2})
        await ctx.tick()
        ctx.set(dut.clear, {"valid": 0})
        for warp in range(4):
            ctx.set(dut.flags_select, warp)
            expected = 0 if warp == 2 else (1 << 64) - 1
            assert ctx.get(dut.flags_valid) == ctx.get(dut.flags_dirty) == expected
        ctx.set(dut.write, {"valid": 1, "warp": 2, "register": 9})
        await ctx.tick()
        ctx.set(dut.flags_select, 2)
        assert ctx.get(dut.flags_valid) == ctx.get(dut.flags_dirty) == 1 << 9

    run(dut, bench)


def test_all_warps_become_clean_at_once_and_what_is_written_next_is_dirty():
    dut = ValidDirty(preset("tiny"))

    async def bench(ctx):
        for warp in range(4):
            for register in (3, 5):
                ctx.set(dut.write, {"valid": 1, "warp": warp, "register": register})
                await ctx.tick()
        ctx.set(dut.write, {"valid": 0})
        ctx.set(dut.clean, 0b0111)
        await ctx.tick()
        ctx.set(dut.clean, 0)
        ctx.set(dut.write, {"valid": 1, "warp": 1, "register": 5})
        await ctx.tick()
        ctx.set(dut.write, {"valid": 0})
        for warp, dirty in enumerate((0, 1 << 5, 0, 0b101000)):
            ctx.set(dut.flags_select, warp)
            assert ctx.get(dut.flags_valid) == 0b101000 and ctx.get(dut.flags_dirty) == dirty

    run(dut, bench)
