"""The sealer: beats as they came, and the checksums of what they are."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.encodings import row_words
from caesura.hw.preempt.save.sealer import Sealer
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import put, simulate, steady, value

TINY = preset("tiny")
GEOMETRIES = {"bus of 4": TINY.replace(bus_bytes=4, bytes_per_cycle=4), "bus of 8": TINY,
              "bus of 16": TINY.replace(bus_bytes=16),
              "bus of 128": with_bus(128)}

REGISTERS = 30
ROW_WORDS = row_words(REGISTERS)


def beats(g, words, strobes, tag):
    """Beats as a packer makes them of a unit's words."""
    n = g.bus_words
    padding = [0] * (-len(words) % n)
    words, strobes = words + padding, strobes + padding
    return [{"words": words[k:k + n], "strobe": sum(bit << j for j, bit in enumerate(strobes[k:k + n])),
             "flush": k + n == len(words), "tag": tag if k + n == len(words) else {"final": 0, "closed": 0}}
            for k in range(0, len(words), n)]


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_checksums_of_streams_and_entries(name, stall):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {stall}")
    dut = component(Sealer, g)
    units = []  # beats, words before the table, checksum expected
    for records, before, ended in ((1, 8, 0), (3, 61, 0), (2, 30, 1), (4, 127, 0), (1, 9, 0)):
        stream = [rng.getrandbits(32) for _ in range(before + ROW_WORDS * records)]
        crc, _ = context.stream_crcs(g, stream, records, REGISTERS)
        units.append((beats(g, stream, [1] * len(stream), {"final": 0, "closed": ended}), before, crc, "stream"))
        if not ended:
            entry = [rng.getrandbits(32), 0, *(rng.getrandbits(32) for _ in range(14))]
            units.append((beats(g, entry, [0, 0] + [1] * 14, {"final": 1, "closed": 1}), before,
                          context.entry_crc(entry), "entry"))
    expected = [{**beat, "tag": beat["tag"]["final"]} for unit, *_ in units for beat in unit]

    async def source(ctx):
        for unit, before, crc, kind in units:
            for k, beat in enumerate(unit):
                table = kind == "entry" or (k + 1) * g.bus_words > before
                ctx.set(dut.bounded, table or k * g.bus_words + 4 > before and rng.random() < 0.5)
                ctx.set(dut.stream_words, before if ctx.get(dut.bounded) else rng.getrandbits(20))
                await put(ctx, dut.input, beat, rng, stall)
            if kind == "stream" and not unit[-1]["tag"]["closed"]:
                assert ctx.get(dut.stream_crc) == crc

    async def sink(ctx):
        crcs = iter([crc for *_, crc, kind in units if kind == "entry"])
        for beat in expected:
            while rng.random() < stall:
                await ctx.tick()
            ctx.set(dut.output.ready, 1)
            payload, crc = await ctx.tick().sample(dut.output.payload, dut.entry_crc).until(dut.output.valid)
            ctx.set(dut.output.ready, 0)
            assert value(payload) == beat
            assert not beat["tag"] or crc == next(crcs)
        assert not list(crcs)

    simulate(dut, source, sink, watches=[steady(dut.output)])
