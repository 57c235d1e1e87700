"""Packer: chunks of every size under every handshake; no word lost, none invented, none out of place."""

import random

import cocotb

from caesura.hw.preempt.formats.packer import Packer
from caesura.sim.cocotb import Bench, Scoreboard, parameters


def block(size: int = 4, most: int = 4, **_: int) -> Packer:
    """Return the block."""
    return Packer(size, tag=8, words_in=most)


def chunks_of(rng: random.Random, most: int, count: int) -> list[dict]:
    """Return chunks, the last of which ends a unit."""
    chunks = []
    for number in range(count):
        words = [rng.getrandbits(32) for _ in range(rng.choice([rng.randint(0, most), most]))]
        chunks.append({"words": words, "count": len(words), "skip": int(rng.random() < 0.1),
                       "flush": int(rng.random() < 0.2), "tag": number & 255})
    chunks[-1]["flush"] = 1
    return chunks


def groups_of(chunks: list[dict], size: int) -> list[tuple]:
    """Return the groups that must come: words, None where one is left out; the tag of a flush, else None."""
    groups: list[tuple] = []
    waiting: list = []
    for chunk in chunks:
        waiting += [None if chunk["skip"] else word for word in chunk["words"]]
        while len(waiting) >= size and not (chunk["flush"] and len(waiting) == size):
            groups.append((waiting[:size], None))
            del waiting[:size]
        if chunk["flush"]:
            groups.append((waiting + [None] * (size - len(waiting)), chunk["tag"]))
            waiting = []
    return groups


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def keeps_every_word_in_its_place(dut):
    """The groups are those of a list of words cut by hand, whatever either side waits for."""
    given = parameters()
    component, bench = block(**given), await Bench.start(dut, block(**given))
    size = component.words_out
    for stall_in, stall_out in ((0.0, 0.0), (0.5, 0.1), (0.1, 0.6)):
        chunks, board = chunks_of(bench.rng, component.words_in, given.get("count", 200)), Scoreboard("groups")
        board.expect(groups_of(chunks, size))
        sink = bench.sink(bench.beat, lambda beat, board=board: board.receive((
            [word if beat.strobe >> k & 1 else None for k, word in enumerate(beat.words)],
            beat.tag if beat.flush else None)), stall_out)
        source = bench.source(bench.chunk, stall_in)
        source.send(*chunks)
        await board.complete()
        await bench.cycles(3)
        board.check()
        source.stop()
        sink.stop()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_piece_leaves_in_every_cycle(dut):
    """Pieces of no more words than a group has come and go one a cycle while neither side waits."""
    given = parameters()
    component, bench = block(**given), await Bench.start(dut, block(**given))
    most = min(component.words_in, component.words_out)
    chunks = [{"words": [number] * most, "count": bench.rng.randint(1, most), "skip": 0, "flush": 1,
               "tag": number & 255} for number in range(given.get("count", 200))]
    tags: list[int] = []
    bench.sink(bench.beat, lambda beat: tags.append(beat.tag))
    source = bench.source(bench.chunk)
    source.send(*chunks)
    await bench.cycles(len(chunks) + 5)
    assert tags == [chunk["tag"] for chunk in chunks], f"{len(tags)} of {len(chunks)} pieces have left"
