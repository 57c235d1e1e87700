"""Generations of warp slots against numbers: none comes again while an access of a forgotten warp may have it."""

import random

from caesura.hw.arch.geometry import preset
from caesura.hw.core.front_end.generations import WarpGenerations
from caesura.hw.interfaces.payloads import GENERATION_BITS
from support.hw.stream_bench import simulate

COUNT = 1 << GENERATION_BITS


def test_no_generation_comes_again_while_accesses_of_it_are_left():
    g, rng = preset("ecp5"), random.Random(3)
    dut, unable = WarpGenerations(g), []

    async def bench(ctx):
        current, left, lingering = [0] * g.warps, [set() for _ in range(g.warps)], False
        for _ in range(2000):
            ctx.set(dut.lingering, lingering)
            if not lingering:
                left = [set() for _ in range(g.warps)]
            able = [len(used) < COUNT - 1 for used in left]
            assert ctx.get(dut.able) == sum(a << w for w, a in enumerate(able))
            unable.append(able.count(False))
            now = [sum((ctx.get(plane) >> w & 1) << bit for bit, plane in enumerate(dut.generations))
                   for w in range(g.warps)]
            assert now == current and not any(number in used for number, used in zip(now, left, strict=True))
            forget = [w for w in range(g.warps) if able[w] and rng.random() < 0.1]
            ctx.set(dut.forget, sum(1 << w for w in forget))
            for w in forget:
                left[w].add(current[w])
                current[w] = (current[w] + 1) % COUNT
            await ctx.tick()
            # what was forgotten shows one cycle later, and may be gone by then
            lingering = (lingering or bool(forget)) and rng.random() < 0.97

    simulate(dut, bench)
    assert sum(unable) > 100
