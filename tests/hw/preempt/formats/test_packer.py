# amaranth: UnusedElaboratable=no
"""The packer: no word lost, none invented, no bubble."""

import random

import pytest
from amaranth.hdl import Module

from caesura.hw.lib.stream_queue import StreamQueue
from caesura.hw.preempt.formats.packer import Packer
from caesura.hw.preempt.formats.unpacker import Unpacker
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate
from support.selection import quick


def groups_of(chunks, size):
    """What a packer has to give for `chunks` of (words, skip, flush): (words or None, flush)."""
    groups, open_words = [], []
    for words, skip, flush in chunks:
        open_words += [None if skip else word for word in words]
        while len(open_words) >= size and not (flush and len(open_words) == size):
            groups.append((open_words[:size], False))
            del open_words[:size]
        if flush:
            groups.append((open_words, True))
            open_words = []
    return groups


@pytest.mark.parametrize("size, most", quick(
    [(1, 4), (2, 4), (4, 4), (8, 4), (8, 8), (32, 4), (32, 32)], [(2, 4), (4, 4), (8, 8)]))
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_packer_keeps_every_word_in_order(size, most, stall):
    rng = random.Random(size)
    counts = [rng.choice([rng.randint(0, most), most]) for _ in range(100)]
    chunks = [([rng.getrandbits(32) for _ in range(count)], rng.random() < 0.1, rng.random() < 0.2)
              for count in counts] + [([], False, True)]
    expected, seen = groups_of(chunks, size), []
    dut = component(Packer, size, tag=8, words_in=most)
    source = put_all(dut.chunk, [{"words": words + [0] * (most - len(words)), "count": len(words), "skip": skip,
                                  "flush": flush, "tag": number & 255}
                                 for number, (words, skip, flush) in enumerate(chunks)], rng, stall)

    async def sink(ctx):
        tags = iter(number & 255 for number, (_, _, flush) in enumerate(chunks) if flush)
        for words, flush in expected:
            group = await get(ctx, dut.beat, rng, stall)
            assert group.flush == flush and (not flush or group.tag == next(tags))
            assert [group.words[k] if group.strobe >> k & 1 else None for k in range(size)] == (
                words + [None] * (size - len(words)))
            seen.append(words)

    simulate(dut, source, sink)
    assert len(seen) == len(expected)


@pytest.mark.parametrize("ahead", [False, True], ids=["", "ahead"])
@pytest.mark.parametrize("size, most", quick(
    [(1, 4), (2, 4), (4, 4), (8, 8), (32, 32)], [(2, 4), (4, 4)]))
def test_packer_and_unpacker_pass_a_group_a_cycle(size, most, ahead):
    m = Module()
    m.submodules.packer = packer = Packer(size, words_in=most)
    m.submodules.unpacker = unpacker = Unpacker(size, most, ahead=ahead)
    m.d.comb += [unpacker.beat.valid.eq(packer.beat.valid), packer.beat.ready.eq(unpacker.beat.ready),
                 unpacker.beat.payload.words.eq(packer.beat.payload.words), unpacker.beat.payload.count.eq(size),
                 unpacker.take.eq(unpacker.level)]
    taken = []

    async def bench(ctx):
        ctx.set(packer.chunk.payload, {"count": most - 1})
        ctx.set(packer.chunk.valid, 1)
        for cycle in range(80):
            await ctx.tick()
            taken.append((cycle, ctx.get(unpacker.level)))

    simulate(m, bench)
    rate = sum(level for cycle, level in taken if cycle >= 20) / 60
    assert rate == pytest.approx(min(size, most - 1), abs=size / 30)


@pytest.mark.parametrize("size", [0, 3, 64])
@pytest.mark.parametrize("block", [Packer, Unpacker])
def test_odd_sizes_are_refused(block, size):
    with pytest.raises(ValueError, match=str(size)):
        block(size)
    with pytest.raises(ValueError, match="depth"):
        StreamQueue(8, 0)
