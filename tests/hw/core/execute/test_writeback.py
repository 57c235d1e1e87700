"""Who gets the register file's write port, and what becomes of a register written for the first time."""

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.core.execute.overdue import MOST_WAIT
from caesura.hw.core.execute.writeback import WriteBack
from support.hw.simulation import Simulator

G = preset("tiny")
SOURCES = ("global_write", "shared_write", "restore_write")


def beat(register, mask=0xFF, release=1, **fields):
    return {"warp": 1, "base": 16, "register": register, "beat": 0, "last": 1, "release": release, "mask": mask,
            "data": [100 * register + k for k in range(G.lanes)]} | fields


def run(bench):
    dut = WriteBack(G)

    async def process(ctx):
        ctx.set(dut.accepting, 1)
        await bench(ctx, dut)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(process)
    sim.run()


def test_alu_goes_before_loads_and_loads_before_restores():
    async def bench(ctx, dut):
        for number, name in enumerate(SOURCES):
            ctx.set(getattr(dut, name).payload, beat(number))
            ctx.set(getattr(dut, name).valid, 1)
        ctx.set(dut.result, {"valid": 1, "write": beat(9)})
        assert ctx.get(dut.write.register) == 16 + 9
        assert not any(ctx.get(getattr(dut, name).ready) for name in SOURCES)
        ctx.set(dut.result, {"valid": 0})
        for expected in ({0, 1}, {0, 1}, {2}):
            served = [k for k, name in enumerate(SOURCES) if ctx.get(getattr(dut, name).ready)]
            assert len(served) == 1 and served[0] in expected
            assert ctx.get(dut.write.register) == 16 + served[0]
            await ctx.tick()
            ctx.set(getattr(dut, SOURCES[served[0]]).valid, 0)

    run(bench)


@pytest.mark.parametrize("computing", [False, True])
def test_a_restore_waits_no_longer_than_it_may(computing):
    """While two units write in every cycle, and ALU results come whenever they may."""
    async def bench(ctx, dut):
        for number, name in enumerate(SOURCES):
            ctx.set(getattr(dut, name).payload, beat(number))
            ctx.set(getattr(dut, name).valid, 1)
        waited, longest, served, units, comes = 0, 0, 0, 0, computing
        for _ in range(400):
            ctx.set(dut.result, {"valid": comes, "write": beat(9)})
            comes = computing and not ctx.get(dut.throttle)
            taken = ctx.get(dut.restore_write.ready)
            units += sum(ctx.get(getattr(dut, name).ready) for name in SOURCES[:2])
            waited = 0 if taken else waited + 1
            longest, served = max(longest, waited), served + taken
            await ctx.tick()
        assert MOST_WAIT <= longest <= MOST_WAIT + computing and served >= 400 // (MOST_WAIT + 1 + computing)
        assert units + served >= 400 / (1 + computing) - 1 and units > 6 * served / (1 + computing)

    run(bench)


def test_two_busy_memory_units_take_turns():
    async def bench(ctx, dut):
        for number, name in enumerate(SOURCES[:2]):
            ctx.set(getattr(dut, name).payload, beat(number))
            ctx.set(getattr(dut, name).valid, 1)
        order = []
        for _ in range(8):
            order.append(ctx.get(dut.write.register) - 16)
            await ctx.tick()
        assert order in ([0, 1] * 4, [1, 0] * 4)

    run(bench)


def test_throttle_asks_for_a_bubble_every_other_instruction_while_somebody_waits():
    async def bench(ctx, dut):
        ctx.set(dut.result, {"valid": 1, "write": beat(9)})
        assert not ctx.get(dut.throttle)
        for name in SOURCES:
            ctx.set(getattr(dut, name).valid, 1)
            seen = []
            for _ in range(4):
                seen.append(ctx.get(dut.throttle))
                await ctx.tick()
            assert seen in ([0, 1, 0, 1], [1, 0, 1, 0])
            ctx.set(dut.accepting, 0)    # a busy pipeline makes no bubble, so the request stands
            await ctx.tick()
            standing = ctx.get(dut.throttle)
            await ctx.tick()
            assert ctx.get(dut.throttle) == standing
            ctx.set(dut.accepting, 1)
            ctx.set(getattr(dut, name).valid, 0)
            await ctx.tick()

    run(bench)


def test_first_write_of_an_invalid_register_fills_all_lanes_with_zeros_outside_the_mask():
    async def bench(ctx, dut):
        ctx.set(dut.global_write.payload, beat(3, mask=0b1010))
        ctx.set(dut.global_write.valid, 1)
        for valid in (0, 1):
            ctx.set(dut.flag_valid, valid)
            assert ctx.get(dut.write.mask) == (0b1010 if valid else 0xFF)
            assert [int(x) for x in ctx.get(dut.write.data)] == [0, 301, 0, 303, 0, 0, 0, 0]
        assert ctx.get(dut.trace.valid) and ctx.get(dut.trace.write.mask) == 0b1010
        assert ctx.get(dut.flag.valid) and ctx.get(dut.release.valid)

    run(bench)


def test_restores_are_not_traced_nor_released():
    async def bench(ctx, dut):
        ctx.set(dut.restore_write.payload, beat(3))
        ctx.set(dut.restore_write.valid, 1)
        assert ctx.get(dut.write.valid) and ctx.get(dut.flag.valid)
        assert not ctx.get(dut.trace.valid) and not ctx.get(dut.release.valid)

    run(bench)
