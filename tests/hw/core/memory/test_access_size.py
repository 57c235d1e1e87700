"""What an access size means, and which beats of a segment it touches: all of it against plain arithmetic."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size
from caesura.hw.core.memory.access_size import extra_bytes, extra_registers, extract, misaligned, replicate, strobe
from caesura.hw.core.memory.touched_beats import touched_beats
from support.hw.simulation import Simulator

BYTES = {Size.U8: 1, Size.S8: 1, Size.U16: 2, Size.S16: 2, Size.B32: 4, Size.B64: 8, Size.B128: 16}
SIGNED = Size.S8, Size.S16


def combinational(m, bench):
    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_every_size_has_its_bytes_registers_and_alignment():
    m, size, address = Module(), Signal(3), Signal(32)
    outputs = {"bytes": Signal(4), "registers": Signal(2), "misaligned": Signal()}
    m.d.comb += [outputs["bytes"].eq(extra_bytes(size)), outputs["registers"].eq(extra_registers(size)),
                 outputs["misaligned"].eq(misaligned(address, size))]

    async def bench(ctx):
        assert set(BYTES) == set(Size)
        for each, count in BYTES.items():
            ctx.set(size, each)
            assert ctx.get(outputs["bytes"]) == count - 1
            assert ctx.get(outputs["registers"]) == max(1, count // 4) - 1
            for at in (*range(32), 0xFFFF_FFFF, 0x8000_0000):
                ctx.set(address, at)
                assert ctx.get(outputs["misaligned"]) == (at % count != 0)

    combinational(m, bench)


def test_a_part_of_a_word_is_extracted_and_stored_where_it_belongs():
    m, size, low, word, out, bus, bytes_ = Module(), Signal(3), Signal(2), Signal(32), Signal(32), Signal(32), Signal(4)
    m.d.comb += [out.eq(extract(word, low, size)), bus.eq(replicate(word, size)), bytes_.eq(strobe(low, size))]
    rng = random.Random(1)

    async def bench(ctx):
        for each, count in BYTES.items():
            ctx.set(size, each)
            for at in range(0, 4, min(4, count)):
                for number in (0, 0xFFFF_FFFF, 0x8080_8080, 0x7F7F_7F7F, rng.getrandbits(32)):
                    ctx.set(low, at)
                    ctx.set(word, number)
                    width = 8 * min(4, count)
                    part = number >> 8 * at & (1 << width) - 1
                    if each in SIGNED and part >> width - 1:
                        part |= 0xFFFF_FFFF & -1 << width
                    assert ctx.get(out) == part
                    assert ctx.get(bytes_) == (1 << min(4, count)) - 1 << at
                    assert ctx.get(bus) >> 8 * at & (1 << width) - 1 == number & (1 << width) - 1

    combinational(m, bench)


@pytest.mark.parametrize("bus", [4, 8, 16, 32])
def test_first_and_last_beat_that_a_lane_touches(bus):
    g = preset("tiny").replace(bus_bytes=bus, bytes_per_cycle=bus)
    m, rng = Module(), random.Random(bus)
    segment = Signal(data.StructLayout({"mask": g.warp_size, "size": Size,
                                        "offset": data.ArrayLayout(7, g.warp_size)}))
    first, last = touched_beats(m, g, segment)

    async def bench(ctx):
        for _ in range(60):
            size = rng.choice(list(BYTES))
            count = BYTES[size]
            offsets = [count * rng.randrange(128 // count) for _ in range(g.warp_size)]
            mask = rng.choice([1 << rng.randrange(g.warp_size), rng.randint(1, (1 << g.warp_size) - 1)])
            ctx.set(segment, {"mask": mask, "size": size, "offset": offsets})
            touched = [at for k, at in enumerate(offsets) if mask >> k & 1]
            assert ctx.get(first) == min(touched) // bus
            assert ctx.get(last) == (max(touched) + count - 1) // bus

    combinational(m, bench)
