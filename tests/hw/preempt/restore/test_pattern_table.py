"""The pattern table: rows come back as vectors, and have the checksum of zlib."""

import random
import zlib

from caesura.hw.arch.context import Pattern
from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.preempt.restore.pattern_table import PatternTable
from support.hw.simulation import component
from support.hw.stream_bench import simulate

G = preset("tiny")


def test_rows_are_shown_as_vectors_and_checked():
    dut, rng = component(PatternTable, G), random.Random(0)

    async def bench(ctx):
        for count in (1, G.max_block_warps, 2):
            rows = [[rng.choice(list(Pattern)) for _ in range(MAX_REGISTERS)] for _ in range(count)]
            numbers = [sum(code << 2 * r for r, code in enumerate(row)) for row in rows]
            for record, number in enumerate(numbers):
                ctx.set(dut.record, record)
                ctx.set(dut.row, [number >> 32 * k & 0xFFFF_FFFF for k in range(4)])
                ctx.set(dut.write, 1)
                await ctx.tick()
                ctx.set(dut.write, 0)
                await ctx.tick().repeat(rng.randint(1, 3))
            assert ctx.get(dut.crc) == zlib.crc32(b"".join(number.to_bytes(16, "little") for number in numbers))
            for record, row in enumerate(rows):
                ctx.set(dut.record, record)
                for name, kinds in (("uniform", {Pattern.UNIFORM}), ("strided", {Pattern.STRIDED}),
                                    ("saved", {Pattern.UNIFORM, Pattern.STRIDED, Pattern.RANDOM})):
                    assert ctx.get(getattr(dut, name)) == sum(1 << r for r, code in enumerate(row) if code in kinds)

    simulate(dut, bench)
