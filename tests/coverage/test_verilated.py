"""What runs in Amaranth's simulator runs on exported SystemVerilog too: the same in all cycles, and counted."""

import random

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.preempt.formats.packer import Packer
from support.coverage.verilated import COUNTED, Design, DifferenceError, Simulator
from support.hw.stream_bench import get, put, value


def packed(dut) -> list:
    """Return what a packer gives out for random chunks, and in which cycle."""
    seen, cycle = [], [0]
    rng, other = random.Random(3), random.Random(4)

    async def chunks(ctx):
        for k in range(40):
            words = [rng.getrandbits(32) for _ in range(4)]
            await put(ctx, dut.chunk, {"words": words, "count": rng.randint(0, 4), "skip": rng.random() < 0.1,
                                       "flush": rng.random() < 0.3 or k == 39, "tag": k}, rng, 0.3)

    async def beats(ctx):
        while not seen or seen[-1][1]["tag"] != 39 or not seen[-1][1]["flush"]:
            beat = await get(ctx, dut.beat, other, 0.4)
            seen.append((cycle[0], value(beat), ctx.get(Cat(dut.beat.valid, dut.chunk.ready))))

    async def count(ctx):
        async for _ in ctx.tick():
            cycle[0] += 1

    run = Simulator(dut)
    run.add_clock(1e-6)
    run.add_testbench(chunks)
    run.add_testbench(beats)
    run.add_testbench(count, background=True)
    run.run(limit=2000e-6)
    return seen


class Shifted(wiring.Component):
    """A word moved twice, as it is where a field follows another one that may not be there."""

    word: In(96)
    first: In(1)
    second: In(1)
    moved: Out(32)

    def elaborate(self, _):
        m = Module()
        m.d.sync += Signal().eq(1)  # a clock
        m.d.comb += self.moved.eq(self.word >> Mux(self.first, 32, 0) >> Mux(self.second, 32, 0))
        return m


def moving(dut):
    """Return the testbench of `Shifted`."""
    async def testbench(ctx):
        ctx.set(dut.word, 0x3_00000002_00000001)
        for first, second, result in ((0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 3)):
            ctx.set(dut.first, first)
            ctx.set(dut.second, second)
            assert ctx.get(dut.moved) == result
            await ctx.tick()
    return testbench


@pytest.mark.full
def test_two_shifts_in_a_row_are_as_long_as_both():
    """The sum of both distances has a bit more than each: Verilator 5.048 and 5.050 get that wrong by themselves."""
    dut = Shifted()
    run(dut, moving(dut))


def run(dut, testbench, limit: float = 100.0):
    simulator = Simulator(dut)
    simulator.add_clock(1.0)
    simulator.add_testbench(testbench)
    simulator.run(limit)


def test_a_block_is_the_same_in_both_and_counted():
    dut = Packer(4, tag=8)
    first = packed(dut)
    counted = COUNTED[id(dut)].counted.total()
    assert len(first) > 20 and counted
    assert packed(dut) == first, "a run begins with initial values"
    assert COUNTED[id(dut)].counted.total() == 2 * counted


def test_a_difference_is_told_with_port_and_cycle():
    dut = Shifted()
    design = COUNTED.setdefault(id(dut), Design(dut))
    before, design.text = design.text, design.text.replace("6'h20 : 6'h00", "6'h10 : 6'h00", 1)
    assert design.text != before
    with pytest.raises(DifferenceError, match=r"cycle [12]: moved is 0x\w+ in SystemVerilog, 0x2 in Amaranth's"):
        run(dut, moving(dut))


def test_what_is_no_component_runs_in_amaranths_simulator_alone():
    m = Module()
    m.submodules.shifted = dut = Shifted()
    run(m, moving(dut))
    assert id(m) not in COUNTED


def test_a_run_that_does_not_end_is_ended():
    dut = Packer(4, tag=8)

    async def wait(ctx):
        await ctx.tick().until(dut.beat.valid)

    with pytest.raises(TimeoutError, match=r"not finished after 100\.0 s"):
        run(dut, wait)
