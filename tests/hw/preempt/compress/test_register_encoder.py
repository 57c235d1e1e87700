# amaranth: UnusedElaboratable=no
"""Register encoder and decoders: hardware against model, and no lane that counts lost on the way through both."""

import numpy as np
import pytest
from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.encodings import Encoding, decode, encode, encoded_words, encodings_of
from caesura.hw.preempt.compress.group_decoder import GroupDecoder
from caesura.hw.preempt.compress.lane_decoder import lane_values
from caesura.hw.preempt.compress.register_encoder import RegisterEncoder, by_lane
from support.hw.register_samples import counted_lanes, registers, shared_upper_bits
from support.hw.simulation import component
from support.hw.stream_bench import get, put, simulate, steady
from support.selection import quick

TINY, WIDE = preset("tiny"), preset("gtx480")
GEOMETRIES = {"8x8": TINY, "8x4": TINY.replace(lanes=4), "16x16": TINY.replace(warp_size=16, lanes=16),
              "16x4": TINY.replace(warp_size=16, lanes=4), "32x32": WIDE, "32x16": WIDE.replace(lanes=16),
              "32x8": WIDE.replace(lanes=8), "32x4": WIDE.replace(lanes=4)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.4)]
CASES = quick(EVERY, [("8x8", 0.0)])
COUNT = 120


def samples(rng, count, size):
    """Return registers of every encoding, and of none by a lane or two, with the lanes that count."""
    values = registers(rng, count, size, int(rng.choice([8, 16, 32])))
    near = rng.random(count) < 0.4
    values[near] = shared_upper_bits(rng, int(near.sum()), size)
    return values, counted_lanes(rng, count, size)


def feeder(dut, g, values, counted, raw, rng, stall):
    async def source(ctx):
        for k, (row, lanes) in enumerate(zip(values.tolist(), counted.tolist(), strict=True)):
            for beat in range(g.beats):
                part = slice(beat * g.lanes, (beat + 1) * g.lanes)
                await put(ctx, dut.input, {"words": row[part], "raw": int(raw[k]), "tag": k & 255,
                                           "counted": lanes >> beat * g.lanes & (1 << g.lanes) - 1}, rng, stall)
    return source


@pytest.mark.parametrize("name, stall", CASES)
def test_the_encoder_gives_what_its_model_says(name, stall):
    g, rng = GEOMETRIES[name], np.random.default_rng(7)
    dut, (values, counted) = component(RegisterEncoder, g, tag=8), samples(rng, COUNT, g.warp_size)
    raw = rng.random(COUNT) < 0.05
    codes, words = dut.compute(values, counted)
    codes[raw], words[raw] = Encoding.RANDOM, values[raw]
    assert len(set(codes)) >= len(encodings_of(g.warp_size, g.lanes)) // 2
    seen = []

    async def sink(ctx):
        for k, code in enumerate(codes):
            beats = g.beats if Encoding(code).by_lane else 1
            got = []
            for beat in range(beats):
                out = await get(ctx, dut.output, rng, stall)
                got += [out.shared] * (beat == 0 and Encoding.DEAD < out.code < Encoding.RANDOM)
                got += [out.words[n] for n in range(out.count)]
                assert (out.code, out.tag, out.first, out.last) == (code, k & 255, beat == 0, beat == beats - 1)
            assert got == words[k, :encoded_words(code, g.warp_size)].tolist(), (k, Encoding(code))
            seen.append(k)
        await ctx.tick().repeat(g.beats)  # beats that nobody needs
        assert not ctx.get(dut.busy)

    simulate(dut, feeder(dut, g, values, counted, raw, rng, stall), sink, watches=[steady(dut.output)])
    assert len(seen) == COUNT


@pytest.mark.parametrize("choice", [
    (Encoding.UNIFORM_16, Encoding.STRIDED_16, Encoding.RANDOM),
    pytest.param((Encoding.LOW_8, Encoding.LOW_20, Encoding.RANDOM), marks=pytest.mark.full)])
def test_a_choice_is_kept_to(choice):
    g, rng = GEOMETRIES["32x16"], np.random.default_rng(9)
    dut, (values, counted) = component(RegisterEncoder, g, tag=8, choice=choice), samples(rng, COUNT, g.warp_size)
    codes, _ = dut.compute(values, counted)
    assert set(codes) == set(choice)
    seen = []

    async def sink(ctx):
        while len(seen) < COUNT:
            out = await get(ctx, dut.output)
            if out.last:
                seen.append(out.code)

    simulate(dut, feeder(dut, g, values, counted, np.zeros(COUNT, bool), rng, 0.0), sink)
    assert seen == codes.tolist()


@pytest.mark.parametrize("name", ["8x8", "32x32"])
def test_a_register_a_cycle_two_cycles_late(name):
    g, rng = GEOMETRIES[name], np.random.default_rng(1)
    dut, (values, counted) = component(RegisterEncoder, g, tag=8), samples(rng, 60, g.warp_size)
    when = []

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for cycle in range(70):
            if ctx.get(dut.output.valid):
                when.append((cycle, ctx.get(dut.output.payload.tag)))
            await ctx.tick()

    simulate(dut, feeder(dut, g, values, counted, np.zeros(60, bool), rng, 0.0), sink)
    assert when == [(k + dut.LATENCY, k) for k in range(60)]


class Both(wiring.Component):
    """An encoder, and behind it the decoder of what it gives out."""

    input: stream.Interface
    output: stream.Interface

    def __init__(self, g):
        self.geometry, self.encoder, self.decoder = g, RegisterEncoder(g, tag=8), GroupDecoder(g, tag=8)
        super().__init__({"input": self.encoder.signature.members["input"],
                          "output": self.decoder.signature.members["output"]})

    def elaborate(self, platform):
        m = Module()
        m.submodules.encoder, m.submodules.decoder = self.encoder, self.decoder
        wiring.connect(m, wiring.flipped(self.input), self.encoder.input)
        encoded, grouped, groups, out = self.encoder.output, self.decoder.input, self.decoder.output, self.output
        kept, shared, beat = Signal(32), Signal(32), Signal(4)
        lanewise = by_lane(encoded.payload.code)
        words = Value.cast(encoded.payload.words)
        m.d.comb += [
            shared.eq(Mux(encoded.payload.first, encoded.payload.shared, kept)),
            grouped.valid.eq(encoded.valid & ~lanewise),
            Value.cast(grouped.payload.words).eq(words[:len(Value.cast(grouped.payload.words))]),
            grouped.payload.code.eq(encoded.payload.code), grouped.payload.tag.eq(encoded.payload.tag),
            encoded.ready.eq(Mux(lanewise, out.ready & ~groups.valid, grouped.ready)),
            out.valid.eq(groups.valid | encoded.valid & lanewise), groups.ready.eq(out.ready),
            out.payload.eq(groups.payload),
        ]
        with m.If(~groups.valid):
            m.d.comb += [
                Value.cast(out.payload.words).eq(lane_values(
                    m, self.geometry, encoded.payload.code, shared, words[:32 * self.geometry.lanes])),
                out.payload.beat.eq(beat), out.payload.last.eq(encoded.payload.last), out.payload.dead.eq(0),
                out.payload.tag.eq(encoded.payload.tag)]
            with m.If(encoded.valid & encoded.ready & lanewise):
                m.d.sync += [kept.eq(shared), beat.eq(Mux(encoded.payload.last, 0, beat + 1))]
        return m


@pytest.mark.parametrize("name, stall", CASES)
def test_what_counts_comes_back(name, stall):
    g, rng = GEOMETRIES[name], np.random.default_rng(8)
    dut, (values, counted) = component(Both, g), samples(rng, COUNT, g.warp_size)
    model = dut.decoder.compute(*dut.encoder.compute(values, counted))
    seen = []

    async def sink(ctx):
        for k in range(COUNT):
            got = []
            for beat in range(g.beats):
                out = await get(ctx, dut.output, rng, stall)
                assert (out.beat, out.last, out.dead, out.tag) == (beat, beat == g.beats - 1, 0, k & 255)
                got += list(out.words)
            assert got == model[k].tolist()
            assert all(got[n] == values[k, n] for n in range(g.warp_size) if counted[k] >> n & 1)
            seen.append(k)

    simulate(dut, feeder(dut, g, values, counted, np.zeros(COUNT, bool), rng, stall), sink,
             watches=[steady(dut.output)])
    assert len(seen) == COUNT


@pytest.mark.parametrize("name", ["8x4", "32x32"])
def test_a_dead_register_comes_out_as_zeros(name):
    g = GEOMETRIES[name]
    dut, seen = component(GroupDecoder, g, tag=8), []

    async def bench(ctx):
        ctx.set(dut.output.ready, 1)
        ctx.set(dut.input.payload, {"words": [7] * len(dut.input.payload.words), "code": Encoding.DEAD, "tag": 3})
        ctx.set(dut.input.valid, 1)
        for _ in range(g.beats):
            out, = await ctx.tick().sample(dut.output.payload).until(dut.output.valid)
            seen.append((list(out.words), out.beat, out.last, out.dead, out.tag))

    simulate(dut, bench)
    assert seen == [([0] * g.lanes, beat, beat == g.beats - 1, 1, 3) for beat in range(g.beats)]


def lossless(g, count, seed):
    """Encode and decode registers in the model; return how often each encoding was taken."""
    rng, found = np.random.default_rng(seed), np.zeros(16, int)
    while count:
        batch = min(count, 1 << 17)
        values, counted = samples(rng, batch, g.warp_size)
        codes, words = encode(values, counted, g.lanes)
        lanes = (counted[:, None] >> np.arange(g.warp_size) & 1).astype(bool)
        assert ((decode(codes, words, g.lanes) == values) | ~lanes).all()
        found += np.bincount(codes, minlength=16)
        count -= batch
    return found


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8x8", "8x4", "16x4"]))
def test_the_model_loses_nothing(name):
    g = GEOMETRIES[name]
    found = lossless(g, 20_000, 3)
    assert all(found[each] > 10 for each in encodings_of(g.warp_size, g.lanes))


@pytest.mark.full
def test_the_model_loses_none_of_three_million_registers():
    assert lossless(WIDE, 3_000_000, 4).sum() == 3_000_000


@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_shortest_that_fits_is_taken(name):
    g, rng = GEOMETRIES[name], np.random.default_rng(5)
    size, known = g.warp_size, encodings_of(g.warp_size, g.lanes)
    lengths = [encoded_words(each, size) for each in known]
    assert lengths == sorted(lengths) and known[-1] == Encoding.RANDOM
    for encoding in known:
        words = rng.integers(1 << 28, 1 << 32, (50, size), np.uint32)
        codes, _ = encode(decode(np.full(50, encoding), words, g.lanes), (1 << size) - 1, g.lanes)
        assert all(encoded_words(code, size) <= encoded_words(encoding, size) for code in codes)
        assert (codes == encoding).mean() > 0.8
