"""TB-level compressor and decompressor: hardware against model, and the way through both."""

import numpy as np
import pytest
from amaranth.lib import data

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.arch.image.encodings import Encoding, encode, encoded_words
from caesura.hw.arch.image.tb_history import FOLLOWED_WORDS, RegisterHistory
from caesura.hw.preempt.compress.tb_compressor import TbCompressor, TbDecompressor
from support.hw.register_samples import registers
from support.hw.simulation import component
from support.hw.stream_bench import get, put, simulate, steady
from support.selection import quick

TINY, WIDE = preset("tiny"), preset("gtx480")
GEOMETRIES = {"8x8": TINY, "16x4": TINY.replace(warp_size=16, lanes=4), "32x32": WIDE, "32x8": WIDE.replace(lanes=8)}
TAG = data.StructLayout({"register": range(MAX_REGISTERS), "opens": 1})
CASES = quick([(name, stall) for name in GEOMETRIES for stall in (0.0, 0.4)],
              [("16x4", 0.0)])
TBS = 6


class Register:
    """A register of a record: as it was encoded by itself, and as it stands in the image."""

    def __init__(self, register, opens, code, words):
        self.tag = {"register": register, "opens": opens}
        self.code, self.words = Encoding(code), words
        self.saved_code, self.saved = self.code, words


def samples(g, rng):
    """Return the registers of a few TBs, record by record, as the model compresses them; some warps have some of their
    registers only, some go on as they did, some do not."""
    found, follows = [], 0
    for _ in range(TBS):
        history, count = RegisterHistory(g.warp_size), int(rng.integers(1, 12))
        values = registers(rng, count, g.warp_size, int(rng.choice([8, 16, 32])))
        moves = rng.integers(0, 1 << 32, count, np.uint32) * rng.integers(0, 2, count, np.uint32)
        opens = 1
        for warp in range(int(rng.integers(1, 7))):
            fresh = registers(rng, count, g.warp_size, 8)
            for r in range(count):
                steps = (values[r, 1:2] - values[r, :1]) * np.uint32(g.warp_size)
                moved = values[r] + (moves[r:r + 1] if r % 3 else steps)
                values[r] = moved if warp and rng.random() < 0.8 else fresh[r] if rng.random() < 0.3 else values[r]
                if rng.random() < 0.1:  # another encoding, the first word as expected
                    values[r] = moved[0]
            codes, words = encode(values, (1 << g.warp_size) - 1, g.lanes)
            for r in range(count):
                if rng.random() < 0.2:
                    continue
                each = Register(5 * r % MAX_REGISTERS, opens, codes[r],
                                words[r, :encoded_words(codes[r], g.warp_size)].tolist())
                register, opens = each.tag["register"], 0
                if history.follows(register, codes[r], words[r]):
                    each.saved_code, each.saved = Encoding.FOLLOWS, []
                    follows += 1
                history.keep(register, codes[r], words[r])
                found.append(each)
    assert follows > len(found) // 10
    return found


def beats(g, each):
    """Return the beats of an encoded register, the word that its lanes share apart."""
    words = list(each.words)
    shared = words.pop(0) if Encoding.DEAD < each.code < Encoding.RANDOM else 0
    parts = g.beats if each.code.by_lane else 1
    size = len(words) // parts
    return [{"words": words[n * size:(n + 1) * size], "count": size, "shared": shared, "code": each.code,
             "first": int(n == 0), "last": int(n == parts - 1), "tag": each.tag} for n in range(parts)]


@pytest.mark.parametrize("enable", [1, 0])
@pytest.mark.parametrize("name, stall", CASES)
def test_the_compressor_leaves_out_what_its_model_leaves_out(name, stall, enable):
    g, rng = GEOMETRIES[name], np.random.default_rng(3)
    dut, of_all = component(TbCompressor, g, tag=TAG), samples(GEOMETRIES[name], np.random.default_rng(11))
    seen = []

    async def source(ctx):
        ctx.set(dut.enable, enable)
        for each in of_all:
            for beat in beats(g, each):
                await put(ctx, dut.input, beat, rng, stall)

    async def sink(ctx):
        for each in of_all:
            follows = enable and each.saved_code == Encoding.FOLLOWS
            for beat in beats(g, each):
                out = await get(ctx, dut.output, rng, stall)
                got = [out.words[k] for k in range(out.count)]
                assert (out.first, out.last, out.tag.register) == (beat["first"], beat["last"], each.tag["register"])
                assert out.code == (Encoding.FOLLOWS if follows else each.code)
                assert got == ([] if follows else beat["words"])
                assert out.shared == beat["shared"]
            seen.append(each)
        await ctx.tick()
        assert not ctx.get(dut.busy)

    simulate(dut, source, sink, watches=[steady(dut.output)])
    assert len(seen) == len(of_all)


@pytest.mark.parametrize("name, stall", CASES)
def test_the_decompressor_gives_everything_back(name, stall):
    g, rng = GEOMETRIES[name], np.random.default_rng(4)
    grouped, opens = [], 0
    for each in samples(g, np.random.default_rng(12)):  # those by lane do not come here
        opens |= each.tag["opens"]
        if not each.code.by_lane:
            each.tag["opens"], opens = opens, 0
            grouped.append(each)
    dut, seen = component(TbDecompressor, g, tag=TAG), []

    async def source(ctx):
        for each in grouped:
            noise = rng.integers(0, 1 << 32, 8).tolist()
            words = (each.saved + noise)[:len(dut.input.payload.words)]
            await put(ctx, dut.input, {"words": words, "code": each.saved_code, "tag": each.tag}, rng, stall)

    async def sink(ctx):
        for each in grouped:
            out = await get(ctx, dut.output, rng, stall)
            assert (out.code, out.tag.register) == (each.code, each.tag["register"])
            assert [out.words[k] for k in range(len(each.words))] == each.words
            seen.append(each)

    simulate(dut, source, sink, watches=[steady(dut.output)])
    assert len(seen) == len(grouped)


@pytest.mark.parametrize("block", [TbCompressor, TbDecompressor])
def test_a_register_a_cycle_one_cycle_late(block):
    dut, when = component(block, WIDE, tag=TAG), []

    async def source(ctx):
        if block is TbCompressor:
            ctx.set(dut.enable, 1)
        for k in range(20):
            last = {"first": 1, "last": 1, "count": 1} if block is TbCompressor else {}
            await put(ctx, dut.input, {"code": Encoding.UNIFORM_32, "words": [k], **last,
                                       "tag": {"register": 9, "opens": k == 0}})

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for now in range(30):
            if ctx.get(dut.output.valid):
                out = ctx.get(dut.output.payload)
                when.append((now, out.code))
            await ctx.tick()

    simulate(dut, source, sink)
    assert [now for now, _ in when] == [k + dut.LATENCY for k in range(20)]
    if block is TbCompressor:  # the same register every cycle: what is kept is there in the next
        assert [code for _, code in when] == [Encoding.UNIFORM_32] * 2 + [Encoding.FOLLOWS] * 18


def test_nothing_of_one_tb_is_seen_by_the_next():
    history = RegisterHistory(32)
    history.keep(3, Encoding.UNIFORM_32, np.array([7], np.uint32))
    assert history.follows(3, Encoding.UNIFORM_32, np.array([7], np.uint32))
    assert not RegisterHistory(32).follows(3, Encoding.UNIFORM_32, np.array([7], np.uint32))


def test_the_model_moves_on_as_the_paper_s_patterns_do():
    """Global and local, uniform and strided registers of a TB of eight warps (Lin et al. Fig. 9)."""
    lanes = np.arange(32, dtype=np.uint32)
    patterns = {
        "global uniform": (lambda w: lanes * 0 + 5, 1), "global strided": (lambda w: 100 + 4 * (32 * w + lanes), 2),
        "local uniform": (lambda w: lanes * 0 + 9 * w, 2), "local strided": (lambda w: 64 * w + lanes, 4),
        "two groups": (lambda w: 2 * w + lanes // 16, 4), "random": (lambda w: (lanes * 2654435761 + w) ** 2, None)}
    for name, (value, words) in patterns.items():
        history, left = RegisterHistory(32), 0
        for warp in range(8):
            codes, row = encode(value(np.uint32(warp)).astype(np.uint32)[None], 0xFFFF_FFFF, 32)
            if not history.follows(1, codes[0], row[0]):
                left += encoded_words(codes[0], 32)
            history.keep(1, codes[0], row[0])
        assert words is None or left == words, name
        assert words is not None or left > 100


def test_a_register_of_too_many_words_is_never_followed():
    history = RegisterHistory(32)
    words = np.arange(8, dtype=np.uint32)
    history.keep(0, Encoding.STRIDED_8, words)
    assert encoded_words(Encoding.STRIDED_8, 32) > FOLLOWED_WORDS and history.next_of(0) is None
