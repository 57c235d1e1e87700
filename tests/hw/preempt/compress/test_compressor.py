# amaranth: UnusedElaboratable=no
"""Compressor and decompressor: hardware against model, and nothing lost on the way through both."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.patterns import Pattern, encoded_words, pattern_group
from caesura.hw.preempt.compress.compressor import Compressor
from caesura.hw.preempt.compress.decompressor import Decompressor
from support.hw.register_samples import launched_lanes, registers
from support.hw.simulation import Simulator, component
from support.selection import quick

TINY = preset("tiny")
WIDE = preset("gtx480")
GEOMETRIES = {"8x8": TINY, "8x4": TINY.replace(lanes=4), "16x16": TINY.replace(warp_size=16, lanes=16),
              "16x4": TINY.replace(warp_size=16, lanes=4), "32x32": WIDE, "32x16": WIDE.replace(lanes=16),
              "32x8": WIDE.replace(lanes=8), "32x4": WIDE.replace(lanes=4)}
QUICK = "8x8", "16x4"
EVERY = [(name, pag, stall) for name, g in GEOMETRIES.items() for pag in (8, 16, 32) if pag <= g.warp_size
         for stall in (0.0, 0.4) if stall or g.beats > 1 or pag == g.warp_size]
CASES = quick(EVERY, [(name, pag, stall) for name, pag, stall in EVERY if name in QUICK and stall and pag == 8])
COUNT = 40


def simulate(dut, *benches):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run(limit=40000e-6)


def feeder(dut, g, pag, values, launched, raw, rng, stall):
    """Return a bench that puts registers into `dut.input`, and what it does `stall` of the time is nothing."""
    async def source(ctx):
        ctx.set(dut.pag, pag)
        for k, (row, lanes) in enumerate(zip(values.tolist(), launched.tolist(), strict=True)):
            for beat in range(g.beats):
                while rng.random() < stall:
                    await ctx.tick()
                part = slice(beat * g.lanes, (beat + 1) * g.lanes)
                ctx.set(dut.input.payload, {"words": row[part], "raw": int(raw[k]), "tag": k & 255,
                                            "launched": lanes >> beat * g.lanes & (1 << g.lanes) - 1})
                ctx.set(dut.input.valid, 1)
                await ctx.tick().until(dut.input.ready)
                ctx.set(dut.input.valid, 0)
    return source


@pytest.mark.parametrize("name, pag, stall", CASES)
def test_compressor_gives_what_its_model_says(name, pag, stall):
    g, rng = GEOMETRIES[name], np.random.default_rng(pag)
    dut = component(Compressor, g, tag=8)
    values, launched = registers(rng, COUNT, g.warp_size, pag), launched_lanes(rng, COUNT, g.warp_size)
    raw = rng.random(COUNT) < 0.1
    codes, words = dut.compute(values, launched, pag)
    codes[raw], words[raw] = Pattern.RANDOM, values[raw]
    assert set(codes) == {Pattern.UNIFORM, Pattern.STRIDED, Pattern.RANDOM}
    seen = []

    async def sink(ctx):
        for k, code in enumerate(codes):
            beats = g.beats if code == Pattern.RANDOM else 1
            got = []
            for beat in range(beats):
                while rng.random() < stall:
                    await ctx.tick()
                ctx.set(dut.output.ready, 1)
                out, = await ctx.tick().sample(dut.output.payload).until(dut.output.valid)
                ctx.set(dut.output.ready, 0)
                got += [out.words[n] for n in range(out.count)]
                assert (out.code, out.tag, out.last) == (code, k & 255, beat == beats - 1)
            assert got == words[k, :encoded_words(code, pag, g.warp_size)].tolist()
            seen.append(k)

    simulate(dut, feeder(dut, g, pag, values, launched, raw, rng, stall), sink)
    assert len(seen) == COUNT


@pytest.mark.parametrize("name", ["8x8", "32x32"])
def test_a_register_a_cycle_two_cycles_late(name):
    g, rng = GEOMETRIES[name], np.random.default_rng(1)
    dut = component(Compressor, g, tag=8)
    values = registers(rng, 60, g.warp_size, 8)
    when = []

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for cycle in range(70):
            if ctx.get(dut.output.valid):
                when.append((cycle, ctx.get(dut.output.payload.tag)))
            await ctx.tick()

    full = np.full(60, (1 << g.warp_size) - 1)
    simulate(dut, feeder(dut, g, 8, values, full, np.zeros(60, bool), rng, 0.0), sink)
    assert when == [(k + dut.LATENCY, k) for k in range(60)]


class Both(wiring.Component):
    """A compressor and a decompressor in a row."""

    pag: Signal
    input: stream.Interface
    output: stream.Interface

    def __init__(self, g):
        self.compressor, self.decompressor = Compressor(g, tag=8), Decompressor(g, tag=8)
        parts = self.compressor.signature.members, self.decompressor.signature.members
        super().__init__({"pag": parts[0]["pag"], "input": parts[0]["input"], "output": parts[1]["output"]})

    def elaborate(self, platform):
        m = Module()
        m.submodules.compressor, m.submodules.decompressor = self.compressor, self.decompressor
        wiring.connect(m, wiring.flipped(self.input), self.compressor.input)
        wiring.connect(m, self.compressor.output, self.decompressor.input)
        wiring.connect(m, self.decompressor.output, wiring.flipped(self.output))
        m.d.comb += [self.compressor.pag.eq(self.pag), self.decompressor.pag.eq(self.pag)]
        return m


@pytest.mark.parametrize("name, pag, stall", CASES)
def test_what_was_launched_comes_back(name, pag, stall):
    g, rng = GEOMETRIES[name], np.random.default_rng(pag + 1)
    dut = component(Both, g)
    values, launched = registers(rng, COUNT, g.warp_size, pag), launched_lanes(rng, COUNT, g.warp_size)
    codes, words = dut.compressor.compute(values, launched, pag)
    model = dut.decompressor.compute(codes, words, pag)
    seen = []

    async def sink(ctx):
        for k in range(COUNT):
            got = []
            for beat in range(g.beats):
                while rng.random() < stall:
                    await ctx.tick()
                ctx.set(dut.output.ready, 1)
                out, = await ctx.tick().sample(dut.output.payload).until(dut.output.valid)
                ctx.set(dut.output.ready, 0)
                assert (out.beat, out.last, out.dead, out.tag) == (beat, beat == g.beats - 1, 0, k & 255)
                got += list(out.words)
            assert got == model[k].tolist()
            assert all(got[n] == values[k, n] for n in range(g.warp_size) if launched[k] >> n & 1)
            seen.append(k)

    simulate(dut, feeder(dut, g, pag, values, launched, np.zeros(COUNT, bool), rng, stall), sink)
    assert len(seen) == COUNT


@pytest.mark.parametrize("name", ["8x4", "32x32"])
def test_dead_register_comes_out_as_zeros(name):
    g = GEOMETRIES[name]
    dut, seen = Decompressor(g, tag=8), []

    async def bench(ctx):
        ctx.set(dut.pag, 8)
        ctx.set(dut.output.ready, 1)
        ctx.set(dut.input.payload, {"words": [7] * len(dut.input.payload.words), "code": Pattern.DEAD, "tag": 3})
        ctx.set(dut.input.valid, 1)
        for _ in range(g.beats):
            out, = await ctx.tick().sample(dut.output.payload).until(dut.output.valid)
            seen.append((list(out.words), out.beat, out.last, out.dead, out.tag))

    simulate(dut, bench)
    assert seen == [([0] * g.lanes, beat, beat == g.beats - 1, 1, 3) for beat in range(g.beats)]


@pytest.mark.parametrize("block_x, pag", [(32, 32), (96, 32), (16, 16), (48, 16), (8, 8), (24, 8), (1024, 32), (7, 32),
                                          (1, 32), (33, 32), (20, 32)])
def test_group_is_the_largest_that_divides_the_block(block_x, pag):
    assert pattern_group(block_x, 32) == pag
    assert pattern_group(block_x, 16) == min(pag, 16) and pattern_group(block_x, 8) == 8


def lossless(g, pag, count, seed):
    """Compress and decompress `count` registers in the model; return how many of each pattern there were."""
    rng, compressor = np.random.default_rng(seed), Compressor(g)
    found = np.zeros(4, int)
    while count:
        batch = min(count, 1 << 18)
        values, launched = registers(rng, batch, g.warp_size, pag), launched_lanes(rng, batch, g.warp_size)
        codes, words = compressor.compute(values, launched, pag)
        back = Decompressor(g).compute(codes, words, pag)
        lanes = (launched[:, None] >> np.arange(g.warp_size) & 1).astype(bool)
        assert ((back == values) | ~lanes).all()
        found += np.bincount(codes, minlength=4)
        count -= batch
    return found


@pytest.mark.parametrize("warp, pag", [(8, 8), (16, 8), (16, 16), (32, 8), (32, 16), (32, 32)])
def test_model_loses_nothing(warp, pag):
    found = lossless(TINY.replace(warp_size=warp, lanes=8), pag, 20_000, pag)
    assert found[Pattern.DEAD] == 0 and (np.delete(found, Pattern.DEAD) > 1000).all()


@pytest.mark.full
@pytest.mark.parametrize("pag", [8, 16, 32])
def test_model_loses_none_of_ten_million_registers(pag):
    assert lossless(WIDE, pag, 3_400_000, 100 + pag).sum() == 3_400_000
