"""The encoding table: rows come back as codes and vectors, what is strange is seen, the checksum is the format's."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import CHUNK_WORDS, MAX_REGISTERS, preset
from caesura.hw.arch.image.context import stream_crcs
from caesura.hw.arch.image.encodings import Encoding, encoded_words, row_of
from caesura.hw.arch.image.tb_history import FOLLOWED_WORDS, known_encodings
from caesura.hw.preempt.restore.encoding_table import EncodingTable
from support.hw.simulation import component
from support.hw.stream_bench import simulate

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "8x4": TINY.replace(lanes=4), "32x32": preset("gtx480"),
              "without": TINY.replace(tb_compressor=False)}


def vector(codes, kinds):
    return sum(1 << r for r, code in enumerate(codes) if code in kinds)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_rows_are_shown_and_checked(name):
    """Tables of kernels with few and with many registers, one after the other."""
    g = GEOMETRIES[name]
    dut, rng = component(EncodingTable, g), random.Random(name)
    known = {Encoding.DEAD, *known_encodings(g)}
    lanewise = {each for each in known if each.by_lane}
    grouped = known - lanewise - {Encoding.DEAD}

    async def bench(ctx):
        for registers, count in itertools.product((1, MAX_REGISTERS, 16, 33, 8, 32), (min(g.max_block_warps, 9), 1, 2)):
            table = [[rng.choice(sorted(known)) for _ in range(registers)] for _ in range(count)]
            for record, codes in enumerate(table):
                words = row_of(codes)
                for part, at in enumerate(range(0, len(words), CHUNK_WORDS)):
                    chunk = words[at:at + CHUNK_WORDS]
                    ctx.set(dut.record, record)
                    ctx.set(dut.part, part)
                    ctx.set(dut.words, chunk + [0] * (CHUNK_WORDS - len(chunk)))
                    ctx.set(dut.write, 1)
                    await ctx.tick()
                    ctx.set(dut.write, 0)
                    await ctx.tick().repeat(rng.randint(1, 3))
            stream = [word for codes in table for word in row_of(codes)]
            assert ctx.get(dut.crc) == stream_crcs(g, stream, count, registers)[1]
            for record, codes in enumerate(table):
                ctx.set(dut.record, record)
                assert ctx.get(dut.codes) == sum(code << 4 * r for r, code in enumerate(codes))
                assert ctx.get(dut.by_lane) == vector(codes, lanewise)
                assert ctx.get(dut.saved) == vector(codes, lanewise | grouped)
                assert ctx.get(dut.follows) == vector(codes, {Encoding.FOLLOWS})
                few = {each for each in grouped if 0 < encoded_words(each, g.warp_size) <= FOLLOWED_WORDS}
                assert ctx.get(dut.followed) == (vector(codes, few) if g.tb_compressor else 0)
                assert ctx.get(dut.group_words) == sum(encoded_words(code, g.warp_size) for code in codes if code.group)
                assert not ctx.get(dut.strange)

    simulate(dut, bench)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_code_that_the_machine_does_not_use_is_strange(name):
    g = GEOMETRIES[name]
    dut, rng = component(EncodingTable, g), random.Random(1)
    strange = set(range(16)) - {Encoding.DEAD, *known_encodings(g)}
    assert (Encoding.FOLLOWS in strange) is not g.tb_compressor

    async def bench(ctx):
        ctx.set(dut.write, 1)
        for code in range(16):
            codes = [Encoding.RANDOM] * 32
            codes[rng.randrange(32)] = code
            ctx.set(dut.words, row_of(codes))
            await ctx.tick()
            assert ctx.get(dut.strange) == (code in strange), code

    simulate(dut, bench)
