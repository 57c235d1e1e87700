"""The banked register file: every beat keeps its place, masks hold, and the save port gives way."""

import random

import pytest

from caesura.hw.arch.geometry import REGISTER_BANKS, preset
from caesura.hw.core.execute.register_file import RegisterFile
from support.hw.simulation import Simulator
from support.selection import quick

GEOMETRIES = [preset("tiny"), preset("ecp5").replace(registers=32)]


@pytest.mark.parametrize("g", quick(GEOMETRIES, GEOMETRIES[:1]), ids=lambda g: g.name)
def test_random_reads_saves_and_masked_writes(g):
    dut, rng = RegisterFile(g), random.Random(g.lanes)
    store = {(r, b): [0] * g.lanes for r in range(g.registers) for b in range(g.beats)}
    held = [None] * REGISTER_BANKS  # what each bank's output must show

    async def bench(ctx):
        saved, transfers = None, 0
        for _ in range(300):
            hold = rng.random() < 0.2
            used = [not hold and rng.random() < 0.5 for _ in range(REGISTER_BANKS)]
            wanted = [rng.randrange(0, g.registers, REGISTER_BANKS) + k for k in range(REGISTER_BANKS)]
            beat = rng.randrange(g.beats)
            for k, register in enumerate(wanted):
                row = register // REGISTER_BANKS * g.beats + beat
                ctx.set(dut.reads[k], {"valid": used[k], "row": row})
            ctx.set(dut.hold, hold)
            for k, words in enumerate(held):
                assert words is None or [int(x) for x in ctx.get(dut.data[k])] == words
            assert ctx.get(dut.save_data.valid) == (saved is not None)
            if saved is not None:
                assert [int(x) for x in ctx.get(dut.save_data.data)] == saved
            base, register, masked = 4 * rng.randrange(g.registers // 4), rng.randrange(64), rng.random() < 0.2
            ctx.set(dut.save_read.payload, {"base": base, "register": register, "beat": beat})
            ctx.set(dut.save_read.valid, asked := rng.random() < 0.6)
            ctx.set(dut.save_masked, masked)
            physical = (base + register) % g.registers
            ready = ctx.get(dut.save_read.ready)
            assert ready == (not hold and not used[physical % REGISTER_BANKS])
            saved = ([0] * g.lanes if masked else list(store[physical, beat])) if asked and ready else None
            transfers += saved is not None
            if saved is not None:
                held[physical % REGISTER_BANKS] = list(store[physical, beat])
            for k, register in enumerate(wanted):
                if used[k]:
                    held[k] = list(store[register, beat])
            target, mask = (rng.randrange(g.registers), rng.randrange(g.beats)), rng.getrandbits(g.lanes)
            words, valid = [rng.getrandbits(32) for _ in range(g.lanes)], rng.random() < 0.8
            ctx.set(dut.write, {"valid": valid, "register": target[0], "beat": target[1], "mask": mask, "data": words})
            if valid:
                store[target] = [new if mask >> k & 1 else old
                                 for k, (new, old) in enumerate(zip(words, store[target], strict=True))]
            await ctx.tick()
        assert transfers > 50

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
