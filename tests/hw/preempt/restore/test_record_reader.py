"""The record reader: what makes a record bad."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import CCB_RECORD, VERSION, State, entry_crc, to_words
from caesura.hw.preempt.restore.record_reader import RecordReader
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

G = preset("tiny").replace(tb_slots=5, warps=8)
KERNEL = {"grid_x": 7, "grid_y": 5, "grid_z": 3, "code_base": 0x1234_5600, "const_base": 0x8000_0040}
GOOD = {"state": State.COMPLETE, "version": VERSION, "zero": 0, "launched": 50, "completed": 47,
        "next_x": 1, "next_y": 2, "next_z": 1, "saved": 0b10011, "sides": 0b10001, "generations": 0x8765_4321,
        "geometry_hash": G.hash, "generation": 0xFFFF_0000,
        "exhausted": 0, "zeros": 0, **KERNEL}
END = {"exhausted": 1, "next_x": 0, "next_y": 0, "next_z": 3}
LIMITS = {"as it is": {}, "at the end": END, "nothing saved": {"saved": 0, "sides": 0, "completed": 50},
          "all saved": {"saved": 31, "completed": 45}, "all on side 0": {"sides": 0},
          "all on side 1": {"sides": 0b10011}, "the last TB": {"next_x": 6, "next_y": 4, "next_z": 2},
          "none launched": {"launched": 0, "completed": 0, "saved": 0, "sides": 0, "next_x": 0, "next_y": 0,
                            "next_z": 0}}
WRONG = {"demoted": {"state": State.DEMOTED}, "free": {"state": State.FREE}, "version": {"version": VERSION - 1},
         "a reserved bit": {"zero": 1}, "the last reserved bit": {"zeros": 1 << 30},
         "another machine": {"geometry_hash": 0}, "one more launched": {"launched": 51},
         "one more completed": {"completed": 48}, "one more saved": {"saved": 0b10111},
         "more completed than launched": {"launched": 1, "completed": 0xFFFF_FFFE},
         "an entry that is not": {"saved": 0b100011}, "the last entry that is not": {"saved": 1 << 31 | 3},
         "a side of none": {"sides": 0b10101}, "the last side": {"sides": 1 << 31 | 1},
         "x": {"next_x": 7}, "y": {"next_y": 5}, "z": {"next_z": 3}, "x far out": {"next_x": 1 << 31},
         "not at the end": {"exhausted": 1}, "before the end": {**END, "next_z": 2},
         "behind the end": {**END, "next_x": 1},
         **{f"another {name}": {name: number + 1} for name, number in KERNEL.items()}}


async def judge(ctx, dut, words, rng, kernel=KERNEL):
    """Give the buffer a record, with pauses; return whether it is bad, and what it says."""
    ctx.set(dut.kernel, kernel)
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)
    for row in range(4):
        assert not ctx.get(dut.full)
        while rng.random() < 0.4:
            ctx.set(dut.level, rng.randrange(4))
            ctx.set(dut.words, [rng.getrandbits(32) for _ in range(4)])
            assert not ctx.get(dut.take)
            await ctx.tick()
        ctx.set(dut.level, 4)
        ctx.set(dut.words, words[4 * row:4 * row + 4])
        assert ctx.get(dut.take) == 4
        await ctx.tick()
    assert ctx.get(dut.full) and not ctx.get(dut.take)
    return ctx.get(dut.bad), value(ctx.get(dut.record))


def words_of(**changes):
    words = to_words(CCB_RECORD, **{**GOOD, **changes})
    words[1] = entry_crc(words)
    return words


@pytest.mark.parametrize("cases, expected", [(LIMITS, False), (WRONG, True)], ids=["just allowed", "wrong"])
def test_what_is_believed(cases, expected):
    dut, rng = component(RecordReader, G), random.Random(1)

    async def bench(ctx):
        for name, changes in cases.items():
            words = words_of(**changes)
            bad, record = await judge(ctx, dut, words, rng)
            assert bad == expected, name
            assert record == {**GOOD, **changes, "crc": words[1]}

    simulate(dut, bench)


def test_a_machine_without_checkpoints_has_one_side():
    g = G.replace(checkpoints=False, in_place=False)
    dut, rng = component(RecordReader, g), random.Random(3)

    async def bench(ctx):
        for sides in (0, 0b10001):
            bad, _ = await judge(ctx, dut, words_of(geometry_hash=g.hash, sides=sides), rng)
            assert bad == bool(sides)

    simulate(dut, bench)


def test_a_kernel_has_the_entries_that_it_says():
    """0 stands for as many as there are TB slots, and nobody has more than there are."""
    g = G.replace(entries=8)
    dut, rng = component(RecordReader, g), random.Random(4)

    async def bench(ctx):
        for entries in (0, 1, 5, 6, 8, 63):
            for index in range(10):
                words = words_of(saved=1 << index, sides=0, launched=48)
                bad, _ = await judge(ctx, dut, words, rng, KERNEL | {"entries": entries})
                assert bad == (index >= min(entries or 5, 8)), (entries, index)

    simulate(dut, bench)


def test_no_bit_can_change():
    dut, rng = component(RecordReader, G), random.Random(2)

    async def bench(ctx):
        for bit in range(0, 512):
            words = words_of()
            words[bit // 32] ^= 1 << bit % 32
            assert (await judge(ctx, dut, words, rng))[0], bit

    simulate(dut, bench, cycles=40000)
