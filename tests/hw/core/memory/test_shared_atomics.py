"""Atomics on shared memory against a byte-array model: their order, their rate, and lines between them."""

import random

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import AtomicOp, Size
from support.core.memory_ops import random_atomic
from support.core.shared_memory_bench import GEOMETRIES, LINE, TINY, Bench, accesses, atomic, strided
from support.selection import quick


def atomics(rng, g, count, odd=0.0, beyond=0):
    """Yield loads, stores and atomics, also of 64 bits."""
    for access in accesses(rng, g, count, odd, beyond):
        if rng.random() < 0.6:
            end = Bench.TBS[access.tb][1] + beyond
            few = rng.random() < 0.5
            atomic = random_atomic(rng, g, access.warp, access.d, access.pc, 0, 128 if few else end // 8 * 8, odd)
            atomic.tb = access.tb
            yield atomic
        else:
            yield access


@pytest.mark.parametrize("name", quick(GEOMETRIES, ("tiny, 4 lanes", "32 lanes")))
def test_atomics_among_loads_and_stores_match_the_model(name):
    """The write port has back-pressure. Lines that are cleared in between read as zeros, and become valid and dirty."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < 0.3 and bench.cycle % 2000 < 1000)

    sent = atomics(rng, g, max(25, 480 // g.warp_size), odd=0.1, beyond=60)
    bench.run(lambda ctx: bench.send_all(ctx, rng, sent))
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.SHARED_BOUND}
    assert len(bench.trace_cycles) > 80


@pytest.mark.parametrize(("function", "words", "cycles"), [
    (AtomicOp.ADD, 1, 1), (AtomicOp.ADD, 2, 1), (AtomicOp.ADD, 0, 3), (AtomicOp.FADD, 1, 1), (AtomicOp.FADD, 0, 7)])
def test_rate_of_the_lanes_of_an_atomic(function, words, cycles):
    bench = Bench(TINY)

    async def script(ctx):
        await bench.send(ctx, strided(TINY, 0, 2, store=True))
        await bench.settle(ctx)
        await bench.send(ctx, atomic(TINY, 1, words, function))
    bench.run(script)
    assert np.diff(bench.trace_cycles).tolist() == [cycles] * (TINY.warp_size - 1)


@pytest.mark.parametrize("function", [AtomicOp.ADD, AtomicOp.FADD])
@pytest.mark.parametrize("returns", [True, False])
def test_what_follows_an_atomic_sees_it(function, returns):
    """A load, a store and a row read of the same word right behind it."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)
    row = LINE // (4 * g.lanes)

    async def script(ctx):
        for number in range(3):
            await bench.send(ctx, atomic(g, number, 0, function, returns=returns))
            await bench.send(ctx, strided(g, number, 0))
        await bench.send(ctx, atomic(g, 1, 0, function, returns=returns))
        await bench.send(ctx, strided(g, 2, 1, store=True))
        await bench.send(ctx, strided(g, 3, 1))
        await bench.send(ctx, atomic(g, 1, 1, function, returns=returns))
        expected = bench.model[LINE:][:4 * g.lanes].view(np.uint32).tolist()
        while bench.outstanding:
            await ctx.tick()
        assert await bench.row(ctx, row) == expected, "an atomic was complete before its lanes were written"
    bench.run(script)


@pytest.mark.parametrize("function", [AtomicOp.ADD, AtomicOp.FADD])
def test_a_line_is_zeroed_though_an_atomic_before_is_still_writing(function):
    """A store to a line that a former owner left comes right behind an atomic on the line before."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)
    starts = range(0, 2 * LINE, 4 * g.warp_size)

    async def script(ctx):
        for start in starts:
            await bench.send(ctx, strided(g, 1, 1, store=True, start=start))
        await bench.settle(ctx)
        await bench.clear(ctx, 2, 1)
        await bench.send(ctx, atomic(g, 2, 1, function))
        one = strided(g, 3, 1, store=True, start=LINE)
        one.mask = 1
        await bench.send(ctx, one)
        for start in starts:
            await bench.send(ctx, strided(g, 4, 1, start=start))
            await bench.settle(ctx)
    bench.run(script)


@pytest.mark.parametrize("size", [Size.B32, Size.B64])
def test_sums_of_reals_and_other_atomics_follow_each_other(size):
    """They access adjacent words, in turn and in both orders. Results of the two kinds come at different times."""
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)

    async def script(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True, size=Size.B128))
        for number in range(6):
            real, other = atomic(g, number, 1, AtomicOp.FADD), atomic(g, number + 1, size.registers, size=size)
            other.address = [address + 4 * g.warp_size for address in other.address]
            for access in (real, other):
                await bench.send(ctx, access)
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 0, 1, start=start))
    bench.run(script)
