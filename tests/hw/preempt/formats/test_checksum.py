"""The checksum against zlib's."""

import random
import zlib

import pytest

from caesura.hw.preempt.formats.checksum import Checksum
from support.hw.simulation import component
from support.hw.stream_bench import simulate


@pytest.mark.parametrize("words", [1, 2, 4])
def test_it_is_that_of_zlib_from_the_last_start_on(words):
    dut, rng = component(Checksum, words), random.Random(words)

    async def bench(ctx):
        seen = b""
        for _ in range(200):
            start, valid, data = rng.random() < 0.1, rng.random() < 0.8, rng.randbytes(4 * words)
            ctx.set(dut.start, start)
            ctx.set(dut.valid, valid)
            ctx.set(dut.data, int.from_bytes(data, "little"))
            await ctx.tick()
            seen = (b"" if start else seen) + (data if valid else b"")
            assert ctx.get(dut.crc) == zlib.crc32(seen)

    simulate(dut, bench)
