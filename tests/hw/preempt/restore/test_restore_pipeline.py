"""The restore pipeline: streams made by the rules of the format become warps, registers and lines; bad ones do not.
Those of a base and of its increment become one TB."""

import random

import pytest

from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.image.context import WARP_HEADER, to_words
from caesura.hw.arch.image.encodings import Encoding, encoded_words
from caesura.hw.preempt.restore.pipeline import RestorePipeline
from support.hw.options import nested
from support.hw.preempt.restore_bench import GEOMETRIES, Bench, Image, accepted_of
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")
EVERY = [(name, *case) for name in GEOMETRIES for case in (
    ("any", 0, 0), ("least", 1, 1), ("most", 3, 0), ("any", -1, 1))]
CASES = quick(EVERY, [EVERY[k] for k in (1, 3, 11)])
"""Sizes of what is saved, lines of shared memory (-1: all), and whether dead registers are scrambled."""


@pytest.mark.parametrize("name, worst, lines, scramble", CASES)
def test_a_stream_becomes_what_it_was(name, worst, lines, scramble):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {worst} {lines}")
    registers = {"least": 1, "most": min(9, g.regs_per_thread)}.get(worst, min(57, g.regs_per_thread))
    accepted = accepted_of(g, registers, g.shared_lines if lines < 0 else lines, scramble)
    bench = Bench(g, rng, 0.2)

    async def scenario(ctx):
        for warps in (None, accepted["warps"]):
            image = Image(g, rng, accepted, worst, warps)
            assert not await bench.restore(ctx, image)
            bench.check(image)

    bench.run(accepted, scenario)


@pytest.mark.parametrize("name, of_base, worst, lines, scramble", [
    ("8x8", "any", "any", 3, 0), ("8x8", "any", "most", 0, 1),
    pytest.param("16x4", "any", "any", 3, 1, marks=pytest.mark.full),
    ("bus of 128", "most", "least", -1, 1)])
def test_a_base_and_its_increment_become_one_tb(name, of_base, worst, lines, scramble):
    """Registers and lines come from the increment, and from the base where the increment has none.

    All else comes from the increment. A whole TB after it is restored as usual.
    """
    g, rng = GEOMETRIES[name], random.Random(f"{name} {of_base} {worst} {lines}")
    accepted = accepted_of(g, min(12, g.regs_per_thread), g.shared_lines if lines < 0 else lines, scramble)
    bench, every = Bench(g, rng, 0.2), accepted["warps"]

    async def scenario(ctx):
        images = [Image(g, rng, accepted, worst, warps, Image(g, rng, accepted, of_base, every))
                  for warps in (None, every)]
        for image in (*images, Image(g, rng, accepted, "any")):
            assert not await bench.restore(ctx, image)
            bench.check(image)

    bench.run(accepted, scenario)


def test_an_increment_begins_when_its_base_is_done():
    """All of the base may be written long before its checksum comes: what is written until its end is clean."""
    g, rng = GEOMETRIES["8x8"], random.Random(9)
    accepted, bench = accepted_of(g, 5, 3), Bench(g, rng, 0.2)

    async def scenario(ctx):
        for _ in range(6):
            base = Image(g, rng, accepted, "least", accepted["warps"])
            image = Image(g, rng, accepted, "any", accepted["warps"], base)
            assert not await bench.restore(ctx, image)
            bench.check(image)

    bench.run(accepted, scenario)


def test_the_registers_of_one_warp_and_those_of_the_next_share_a_slow_write_port():
    """A row of one warp is complete while a beat of the other is offered; that beat must not change (`steady`)."""
    g, rng = GEOMETRIES["16x4"], random.Random(16)
    accepted = accepted_of(g, 6, 0)
    bench = Bench(g, rng, 0.8)

    async def scenario(ctx):
        for _ in range(4):
            image = Image(g, rng, accepted, "most", accepted["warps"])
            assert not await bench.restore(ctx, image)
            bench.check(image)

    bench.run(accepted, scenario)


@pytest.mark.parametrize("predicates, uniforms, depth, codes, cycles", [
    ([], [], 1, {}, 2), ([0], [], 1, {}, 2), ([1], [3, 4], 1, {}, 2), ([], [0], 2, {}, 3), ([1], [3, 4, 5], 1, {}, 3),
    ([], [], 1, {0: Encoding.RANDOM}, 4), ([], [], 1, {0: Encoding.RANDOM, 3: Encoding.RANDOM}, 6),
    ([], [], 1, {0: Encoding.LOW_16, 3: Encoding.LOW_4}, 4), ([], [], 1, {0: Encoding.LOW_24}, 4),
    ([], [], 1, {0: Encoding.UNIFORM_8}, 3),
    ([2], [7], 1, {0: Encoding.STRIDED_8, 1: Encoding.RANDOM, 2: Encoding.UNIFORM_8}, 5)])
def test_a_record_takes_the_cycles_of_its_words(predicates, uniforms, depth, codes, cycles):
    """A TB also takes a cycle for each row of the table and one more; the next TB begins in the cycle after."""
    g, rng = GEOMETRIES["8x8"], random.Random(0)
    accepted, dut, ends = accepted_of(g, 5, 0), component(RestorePipeline, g), []
    images = []
    for _ in range(3):
        image = Image(g, rng, accepted, "least", accepted["warps"])
        image.skip = 0
        for warp in image.warps.values():
            warp.launched = warp.live = 255
            warp.stack = [(1, 255, PC_NONE)] * depth
            warp.predicates, warp.uniforms, warp.before = dict.fromkeys(predicates, 1), dict.fromkeys(uniforms, 1), {}
            warp.codes = codes
            warp.words = {r: [0] * encoded_words(code, g.warp_size) for r, code in codes.items()}
        images.append(image)

    async def bench(ctx):
        ctx.set(dut.accepted, nested(dut.accepted.shape(), accepted))
        for port in (dut.warp_init, dut.stack_push, dut.restore_write, dut.restore_predicate, dut.row):
            ctx.set(port.ready, 1)
        ctx.set(dut.crc.valid, 1)
        words = [word for image in images for word in image.stream(rng)]
        jobs, taken, total = list(images), 0, len(words)
        for cycle in range(1000):
            ctx.set(dut.job.valid, bool(jobs))
            if jobs:
                ctx.set(dut.job.payload, jobs[0].job(total // 3))
            level = min(5, total - taken)
            ctx.set(dut.words, (words[taken:taken + 5] + [0] * 5)[:5])
            ctx.set(dut.level, level)
            if jobs and ctx.get(dut.job.ready):
                ends.append(cycle)
                jobs.pop(0)
            _, _, take = await ctx.tick().sample(dut.take)
            taken += take
            if taken == total:
                break

    simulate(dut, bench)
    warps = accepted["warps"]
    assert [after - before for before, after in zip(ends, ends[1:], strict=False)] == [warps * (cycles + 1) + 1] * 2


def test_a_stream_that_ends_with_a_stack_entry():
    """Nothing follows the state of the last record. The stream is bad only if its last word is missing."""
    g, rng = GEOMETRIES["8x8"], random.Random(5)
    accepted, bench = accepted_of(g, 5, 0), Bench(g, rng, 0.3, slow=True)

    async def scenario(ctx):
        for number in range(60):
            image = Image(g, rng, accepted, "least", accepted["warps"])
            for warp in image.warps.values():
                warp.predicates = dict.fromkeys(range(number % 6), 7)
                warp.stack = [(9, warp.live, PC_NONE)]
            image.tail = -(number % 3 == 2)
            await bench.restore_cut(ctx, image)

    bench.run(accepted, scenario)


@pytest.mark.parametrize("name", ["8x8", "16x4"])
def test_a_header_is_believed_when_it_has_come(name):
    """The last record has two words and comes late. Until then its place looks like the header of a longer record.

    The stream is bad if one or both of the two words are missing.
    """
    g, rng = GEOMETRIES[name], random.Random(11)
    stale = to_words(WARP_HEADER, exited=1, uniforms=1)[0]
    accepted, bench = accepted_of(g, 5, 0), Bench(g, rng, 0.3, slow=True, stale=stale)

    async def scenario(ctx):
        for number in range(30):
            image = Image(g, rng, accepted, "least", accepted["warps"])
            for warp in image.warps.values():
                warp.live = warp.launched
                warp.stack = [(9, warp.live, PC_NONE)]
            image.tail = -(number % 5 % 3)
            await bench.restore_cut(ctx, image)

    bench.run(accepted, scenario)


def test_the_first_record_has_nothing_to_repeat():
    """The TB before has no part in it."""
    g, rng = GEOMETRIES["8x8"], random.Random(6)
    accepted, bench = accepted_of(g, 5, 0), Bench(g, rng, 0.3)

    async def scenario(ctx):
        for repeats in (0, 1):
            image = Image(g, rng, accepted, "most" if not repeats else "least", accepted["warps"])
            next(iter(image.warps.values())).changed = {"repeats": repeats}
            assert not await bench.restore(ctx, image)
            bench.check(image)

    bench.run(accepted, scenario)


FAULTS = {
    "too short": lambda image, warp: setattr(image, "tail", -1),
    "much too short": lambda image, warp: setattr(image, "tail", -90),
    "too long": lambda image, warp: setattr(image, "tail", 1),
    "much too long": lambda image, warp: setattr(image, "tail", 50),
    "another warp": lambda image, warp: setattr(warp, "changed", {"warp": 7}),
    "a warp twice": lambda image, warp: setattr(warp, "changed", {"warp": next(iter(image.warps))}),
    "no stack": lambda image, warp: setattr(warp, "changed", {"depth": 0}),
    "a deep stack": lambda image, warp: setattr(warp, "changed", {"depth": 9}),
    "a register too many": lambda image, warp: (
        warp.codes.update({5: Encoding.UNIFORM_8}) or warp.words.update({5: [0]})),
    "a strange encoding": lambda image, warp: warp.codes.update({0: 10}) or warp.words.update({0: []}),
    "it follows nothing": lambda image, warp: (
        next(iter(image.warps.values())).codes.pop(0, None), warp.codes.update({0: Encoding.FOLLOWS}),
        warp.words.update({0: []})),
    "another table": lambda image, warp: setattr(image, "flip", 1 << 17),
    "another stream": lambda image, warp: setattr(image, "read_crc", image.crc ^ 1 << 31),
    "a line too many": lambda image, warp: setattr(image, "extra_lines", 1 << 3),
}
FAULTS_OF_BASES = ("too short", "too long", "no stack", "a strange encoding", "another table", "another stream")
FAULTS_OF_INCREMENTS = {"a warp that its base has not": lambda image, warp: image.base.warps.popitem()} | {
    name: FAULTS[name] for name in ("much too short", "a warp twice", "it follows nothing", "a line too many")}


@pytest.mark.parametrize("of, spoils", [
    pytest.param("whole", [*FAULTS.values(), None], marks=pytest.mark.full),
    ("base", [FAULTS[name] for name in FAULTS_OF_BASES]),
    ("increment", FAULTS_OF_INCREMENTS.values())], ids=["whole", "base", "increment"])
def test_a_stream_that_makes_no_sense_is_skipped_and_the_next_is_not(of, spoils):
    g, rng = GEOMETRIES["8x8"], random.Random(1)
    accepted, bench = accepted_of(g, 5, 3), Bench(g, rng, 0.6)

    async def scenario(ctx):
        for spoil in spoils:
            base = Image(g, rng, accepted, "any", accepted["warps"]) if of != "whole" else None
            image = Image(g, rng, accepted, "any", accepted["warps"], base)
            bad = base if of == "base" else image
            if spoil:
                spoil(bad, list(bad.warps.values())[1])
            failed_at = None if spoil else len(image.stream(rng)) // 2
            assert await bench.restore(ctx, image, failed_at)
            assert not base or bench.bads == [of == "base", 1]
            await ctx.tick().repeat(20)
            bench.forget()
            good = Image(g, rng, accepted, "any")
            assert not await bench.restore(ctx, good)
            bench.check(good)

    bench.run(accepted, scenario)


@pytest.mark.parametrize("spoil", ["follows", "repeats"])
def test_a_machine_without_the_tb_compressor_refuses_what_needs_it(spoil):
    g, rng = GEOMETRIES["8x8"].replace(tb_compressor=False), random.Random(2)
    accepted, bench = accepted_of(g, 5, 0), Bench(g, rng, 0.3)

    async def scenario(ctx):
        for spoiled in (True, False):
            image = Image(g, rng, accepted, "least", accepted["warps"])
            first, second, *_ = image.warps.values()
            first.codes, first.words = {0: Encoding.UNIFORM_8}, {0: [5]}
            if spoiled and spoil == "follows":
                second.codes, second.words = {0: Encoding.FOLLOWS}, {0: []}
            elif spoiled:
                second.changed = {"repeats": 1}
            assert await bench.restore(ctx, image) == spoiled
            await ctx.tick().repeat(20)
            bench.forget()

    bench.run(accepted, scenario)
