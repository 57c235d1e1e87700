"""The record writer: the words of each warp as it stops, the bitmap of lines, and lists of what is to be fetched."""

import random

import pytest

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.image_writer import stack_words
from support.hw.preempt.record_bench import GEOMETRIES, TINY, Bench
from support.hw.scalars import pair_sizes
from support.hw.stream_bench import put
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")
EVERY = [(name, *case) for name in GEOMETRIES for case in (
    (Mechanism.OCCUPIED, 0, None, 0b10), (Mechanism.LIVE, 0, 1, 0b11), (Mechanism.LIVE_CP, 0, 0, 0),
    (Mechanism.LIVE_CP, 1, 2, 0b01), (Mechanism.LIVE, 0, 2, 0b11))]
CASES = quick(EVERY, [EVERY[k] for k in (1, 5, 9)])
"""Mechanism, whether dead registers are scrambled, sizes, and a bit for each of two TBs, set if its increment is saved.

Sizes are any (None), the least (0), the most (1), or any with 65 lines (2). With the last some uniform registers have a
bit of the liveness vector, and others have none."""


@pytest.mark.parametrize("name, mechanism, scramble, worst, increments", CASES)
def test_every_warp_has_a_record_and_every_line_a_bit(name, mechanism, scramble, worst, increments):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {mechanism} {scramble}")
    lines = {None: g.shared_lines // 2, 0: 1, 1: 0, 2: min(65, g.shared_lines // 2)}[worst]
    bench = Bench(g, rng, mechanism, scramble, lines, {None: 7, 0: 1, 1: g.regs_per_thread, 2: 20}[worst], worst)
    slots = rng.sample(range(g.warps), g.warps)
    half = len(slots) // 2
    targets = [bench.target(0, slots[:half], 0, increments & 1),
               bench.target(1, slots[half:], g.shared_lines // 2, increments >> 1)]

    async def warps(ctx):
        """Warps stop one after the other, one of them exits instead; the TBs are saved in the other order."""
        exits, stopped = slots[0] if half > 1 else None, 0
        for slot in rng.sample(slots, len(slots)):
            await ctx.tick().repeat(rng.choice([1, 90]))
            stopped |= 0 if slot == exits else 1 << slot
            bench.state(ctx, stopped, 1 << exits if exits is not None else 0)

    async def source(ctx):
        for tb in (1, 0):
            await put(ctx, bench.dut.target, targets[tb])
        while len(bench.closes) < 2:
            await ctx.tick()
        assert ctx.get(bench.dut.idle)

    bench.run(warps, source)
    bench.check(targets[1], 0)
    bench.check(targets[0], 1)
    bench.nothing_left()


STAYING = [(name, mechanism, scramble, stays) for name in GEOMETRIES for mechanism, scramble in (
    (Mechanism.OCCUPIED, 0), (Mechanism.LIVE, 1), (Mechanism.LIVE_CP, 0)) for stays in ((1, 1), (1, 0), (0, 1))]


@pytest.mark.parametrize("name, mechanism, scramble, stays", quick(STAYING, STAYING[::4]))
def test_what_stays_is_in_no_record_until_it_is_evicted(name, mechanism, scramble, stays):
    """Save a TB that leaves something on the SM, then evict what another has left."""
    g, rng = GEOMETRIES[name].replace(in_place=True), random.Random(f"{name} {mechanism} {stays}")
    bench = Bench(g, rng, mechanism, scramble, min(40, g.shared_lines // 2), 9)
    slots = rng.sample(range(g.warps), g.warps)
    first = bench.target(0, slots, 0, stays=stays)
    second = bench.evicted(1, rng.sample(range(g.max_block_warps), g.max_block_warps - 1), g.shared_lines // 2, stays)

    async def source(ctx):
        bench.state(ctx, (1 << g.warps) - 1, 0)
        await put(ctx, bench.dut.target, first)
        while not bench.closes:
            await ctx.tick()
        bench.state(ctx, 0, rng.getrandbits(g.warps))  # whoever is in the warp slots now
        await put(ctx, bench.dut.target, second)
        while len(bench.closes) < 2:
            await ctx.tick()
        bench.state(ctx, 0, 0)

    bench.run(source)
    bench.check(first, 0)
    bench.check_evicted(second, 1)
    bench.nothing_left()


@pytest.mark.parametrize("name, seed", quick(
    [(name, seed) for name in GEOMETRIES for seed in range(8)], [("bus of 8", seed) for seed in range(3)]))
@pytest.mark.parametrize("restart", [0, 1])
def test_uniform_registers_of_the_warp_before_are_repeated(name, seed, restart):
    """Lines are any. With a restart every warp is saved as it was launched, also one that has exited."""
    g, rng = GEOMETRIES[name], random.Random(f"{name} {seed} {restart}")
    mechanism = rng.choice((Mechanism.LIVE_TB, Mechanism.OCCUPIED)) if restart else Mechanism.LIVE_TB
    lines, registers = rng.choice((g.shared_lines, rng.randint(0, g.shared_lines))), rng.randint(1, g.regs_per_thread)
    bench = Bench(g, rng, mechanism, not restart and seed % 3 == 2, lines, registers, restart=restart)
    slots = rng.sample(range(g.warps), g.warps)
    first = rng.randint(0, g.shared_lines - lines)
    targets = [bench.target(0, slots, first, seed & 1), bench.target(1, slots, 0, seed >> 1 & 1)]
    gone = 1 << slots[0]

    async def source(ctx):
        bench.state(ctx, (1 << g.warps) - 1 & ~gone, gone)
        for number, target in enumerate(targets):
            await put(ctx, bench.dut.target, target)
            while len(bench.closes) <= number:
                await ctx.tick()

    bench.run(source)
    for number, target in enumerate(targets):
        bench.check(target, number)
    bench.nothing_left()


def test_a_tb_of_which_nothing_is_left_is_closed_without_an_entry():
    g, rng = TINY, random.Random(9)
    bench = Bench(g, rng, Mechanism.LIVE, 0, 3, 5, worst=1)
    targets = [bench.target(0, [2, 0], 0), bench.target(1, [1, 3], 4, 1)]

    async def end(ctx):
        dut = bench.dut
        bench.state(ctx, 0b0100, 0)
        await put(ctx, dut.target, targets[0])
        await ctx.tick().until(dut.warps_awaited)
        while not bench.pieces:
            await ctx.tick()
        assert ctx.get(dut.warps_awaited) and not ctx.get(dut.idle)
        bench.state(ctx, 0b0100, 0b0101)
        await put(ctx, dut.target, targets[1])
        assert len(bench.closes) == 1
        await ctx.tick().repeat(4)
        assert ctx.get(dut.warps_awaited)
        bench.state(ctx, 0b0100, 0b1111)
        await ctx.tick().until(dut.idle)
        assert not ctx.get(dut.warps_awaited)
        await ctx.tick().repeat(20)

    bench.run(end)
    bench.check(targets[0], 0, ended=True)
    bench.check(targets[1], 1, ended=True)
    bench.nothing_left()


def cycles_of(head, predicates, pairs, entries):
    """Return the cycles of a warp's record, from the words of each pair of uniform registers and each stack entry.

    A cycle passes four words: a predicate, a pair and a stack entry. The header is in the first cycle. The first pair
    can come with the last predicate, the first stack entry with the last pair.
    """
    cycles, pairs, entries = 0, list(pairs), list(entries)
    while entries:
        words = head * (cycles == 0) + (predicates > 0)
        pair = bool(pairs) and predicates <= 1 and words + pairs[0] <= 4
        words += pair and pairs[0]
        entry = predicates <= 1 and not pairs[pair:] and words + entries[0] <= 4
        predicates = max(0, predicates - 1)
        del pairs[:pair]
        del entries[:entry]
        cycles += 1
    return cycles


def test_the_cycles_of_a_state_are_fewer_than_its_parts():
    assert cycles_of(1, 0, [], [1, 1, 3]) == 3 and cycles_of(1, 2, [], [3, 2]) == 3
    assert cycles_of(3, 1, [1], [3]) == 2
    assert cycles_of(2, 1, [2, 2, 1], [1]) == 4 and cycles_of(2, 1, [1], [1]) == 2 and cycles_of(1, 1, [1], [1]) == 1
    assert cycles_of(1, 0, [2], [1]) == 1 and cycles_of(2, 0, [2, 2], [1]) == 2 and cycles_of(1, 1, [1] * 4, [1]) == 4


@pytest.mark.parametrize("predicates, uniforms", [
    (0, []), (0, [1]), (1, []), (1, [2]), (2, []), (0, [4, 5]), (0, [5, 6]), (2, [0, 1, 2, 3, 31]),
    (1, range(0, 12, 2)), (1, range(12)), (7, range(32))])
def test_a_warp_takes_two_cycles_and_those_of_its_record(predicates, uniforms):
    g, rng = TINY, random.Random(2)
    bench = Bench(g, rng, Mechanism.OCCUPIED, 0, 0, 4, 1)
    target, took = bench.target(0, [0, 1, 2, 3], 0), []
    for warp in bench.warps:
        warp.predicates = dict(list(warp.predicates.items())[:predicates])
        warp.uniforms = {register: rng.getrandbits(32) for register in uniforms}
        del warp.stack[rng.randint(1, 3):]

    async def end(ctx):
        bench.state(ctx, 0b1111, 0)
        await put(ctx, bench.dut.target, target)
        seen = 0
        for cycle in range(1000):
            if len(bench.pieces) > seen:
                seen = len(bench.pieces)
                took.append(cycle)
            if len(bench.closes):
                break
            await ctx.tick()

    bench.run(end, stall=0.0)
    for slot in (1, 2, 3):
        warp = bench.warps[slot]
        view = warp.view
        head = 1 + (view["live"] != view["launched"]) + bool(uniforms)
        entries = [len(stack_words(warp.stack[:k + 1], view["live"])) - len(stack_words(warp.stack[:k], view["live"]))
                   for k in range(len(warp.stack))]
        assert took[slot] - took[slot - 1] == 2 + cycles_of(head, predicates, pair_sizes(uniforms), entries)
    bench.check(target, 0)
    bench.nothing_left()


def test_the_stack_of_the_warp_before_has_no_part():
    """Each bottom entry reconverges where the top of the warp before goes on, which is not below it."""
    g, rng = TINY, random.Random(3)
    bench = Bench(g, rng, Mechanism.OCCUPIED, 0, 0, 4, 0)
    target = bench.target(0, [0, 1, 2, 3], 0)
    for warp in bench.warps:
        warp.stack = [(5, warp.view["live"], 5), (5, warp.view["live"], 5)]

    async def end(ctx):
        bench.state(ctx, 0b1111, 0)
        await put(ctx, bench.dut.target, target)
        while not bench.closes:
            await ctx.tick()

    bench.run(end)
    bench.check(target, 0)
    bench.nothing_left()
