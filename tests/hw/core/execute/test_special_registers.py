"""Thread indices by reciprocal multiplication are exact for every block shape; ballots reach operand b."""

import numpy as np
import pytest
from amaranth.hdl import Module

from caesura.hw.arch.geometry import MAX_BLOCK_THREADS, preset
from caesura.hw.arch.isa.opcodes import AluOp, Special
from caesura.hw.core.execute.operands import OperandCollector
from caesura.hw.core.execute.special_registers import RECIPROCAL_BITS, ScalarSource, ThreadIndex
from support.hw.simulation import Simulator
from support.selection import quick


def test_division_is_exact_for_every_thread_of_every_width():
    linear = np.arange(MAX_BLOCK_THREADS)
    for n in range(1, MAX_BLOCK_THREADS + 1):
        height = MAX_BLOCK_THREADS // n
        x, y, z = ThreadIndex.compute(linear[:n * height], n, height)
        assert (x == linear[:n * height] % n).all() and (y == linear[:n * height] // n).all() and not z.any()


def test_three_dimensional_blocks():
    rng = np.random.default_rng(5)
    for _ in range(300):
        x = int(rng.integers(1, 33))
        y = int(rng.integers(1, 1 + MAX_BLOCK_THREADS // x))
        linear = np.arange(MAX_BLOCK_THREADS)
        got = ThreadIndex.compute(linear, x, y)
        for value, expected in zip(got, (linear % x, linear // x % y, linear // (x * y)), strict=True):
            assert (value == expected).all()


def test_both_words_of_the_clock():
    dut = ScalarSource(preset("ecp5"))

    async def bench(ctx):
        ctx.set(dut.cycle, 0x1234_5678_9ABC_DEF0)
        for special, expected in ((Special.CLOCK, 0x9ABC_DEF0), (Special.CLOCK_HIGH, 0x1234_5678)):
            ctx.set(dut.operation, {"alu": AluOp.S2R, "imm": special})
            await ctx.delay(1e-9)
            assert ctx.get(dut.value) == expected

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()


def test_hardware_matches_model_at_a_beat_a_cycle():
    g = preset("ecp5").replace(warps=32)
    dut, rng = ThreadIndex(g), np.random.default_rng(2)
    beats = []

    async def bench(ctx):
        shapes = [(1024, 1), (1, 1024), (1, 1), (7, 5)]
        for k, (x, y) in enumerate(shapes):
            ctx.set(dut.kernels[k], {"block_x": x, "block_y": y, "reciprocal_x": -(-(1 << RECIPROCAL_BITS) // x),
                                     "reciprocal_y": -(-(1 << RECIPROCAL_BITS) // y)})
        for cycle in range(120 + dut.LATENCY):
            warp, beat, kernel = (int(rng.integers(n)) for n in (32, g.beats, 4))
            special = Special(int(rng.choice([0, 4, 5, 6])))
            enable = bool(rng.random() < 0.8)
            ctx.set(dut.operation, {"alu": AluOp.S2R, "imm": special, "block_warp": warp, "beat": beat,
                                    "kernel": kernel})
            ctx.set(dut.enable, enable)
            linear = warp * g.warp_size + beat * g.lanes + np.arange(g.lanes)
            values = ThreadIndex.compute(linear, *shapes[kernel])
            expected = linear % g.warp_size if special == Special.LANEID else values[special - Special.TID_X]
            beats.append(expected if enable else beats[-1] if beats else np.zeros(g.lanes))
            if cycle >= dut.LATENCY and beats[cycle - dut.LATENCY].any():
                assert ctx.get(dut.selected)
                assert [int(x) for x in ctx.get(dut.result)] == beats[cycle - dut.LATENCY].tolist()
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("g", quick(
    [preset("tiny"), preset("ecp5"), preset("gtx480")], [preset("gtx480")]), ids=lambda g: g.name)
def test_ballot_is_the_lanes_of_the_whole_warp_in_every_beat(g):
    rng = np.random.default_rng(3)
    program = [tuple(int(x) for x in rng.integers(0, 1 << g.warp_size, 2)) for _ in range(20)]
    m, collector, scalars = Module(), OperandCollector(g), ScalarSource(g)
    m.submodules += [collector, scalars]
    m.d.comb += [scalars.operation.eq(collector.arriving), collector.immediate.eq(scalars.value),
                 collector.output.ready.eq(1)]

    async def feed(ctx):
        for mask, pa in program:
            ctx.set(collector.issue.payload, {
                "op": {"alu": AluOp.BALLOT, "reads_pa": 1, "writes_d": 1}, "mask": mask, "pa": pa})
            ctx.set(collector.issue.valid, 1)
            await ctx.tick().until(collector.issue.ready)
            ctx.set(collector.issue.valid, 0)
            if rng.random() < 0.5:
                await ctx.tick().repeat(int(rng.integers(1, 5)))

    async def check(ctx):
        for mask, pa in program:
            for beat in range(g.beats):
                output, = await ctx.tick().sample(collector.output.payload).until(collector.output.valid)
                assert output.operation.beat == beat
                assert [int(x) for x in output.operands[1]] == [mask & pa] * g.lanes

    sim = Simulator(m)
    sim.add_clock(1e-6)
    sim.add_testbench(feed)
    sim.add_testbench(check)
    sim.run()
