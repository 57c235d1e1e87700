"""The evict sequencer: a row of the staying table goes to the save pipeline; done when its head is acknowledged."""

import random

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import State
from caesura.hw.preempt.in_place.evict_sequencer import EvictSequencer
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, value

G = preset("tiny")
HEADS = {"well": ({"state": State.BASE}, 0, True), "a failed head": ({"state": State.BASE, "error": 1}, 0, False),
         "another head": ({"state": State.COMPLETE}, 0, False), "a failed write": ({"state": State.BASE}, 1, False),
         "no head": (None, 0, False)}


@pytest.mark.parametrize("name", HEADS)
def test_how_an_eviction_ends(name):
    head, write_error, evicted = HEADS[name]
    dut, rng = component(EvictSequencer, G), random.Random(name)

    async def once(ctx):
        what = {"kernel": 1, "entry": rng.randrange(G.tb_slots), "base": rng.randrange(G.registers), "first_line": 1,
                "registers": rng.getrandbits(1), "lines": rng.getrandbits(1)}
        row, side, crc = {"what": what, "live_warps": rng.randrange(16)}, rng.getrandbits(1), rng.getrandbits(32)
        number = rng.randrange(G.tb_slots)
        for port, bits in ((dut.number, number), (dut.row, row), (dut.side, side), (dut.crc, crc), (dut.save_idle, 0),
                           (dut.commit_idle, 0), (dut.write_error, 0)):
            ctx.set(port, bits)
        await ctx.tick()
        assert not ctx.get(dut.target.valid)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        target = value(await get(ctx, dut.target, rng, 0.5))
        assert {name: target["row"][name] for name in ("entry", "base", "first_line", "kernel")} == {
            name: what[name] for name in ("entry", "base", "first_line", "kernel")}
        assert (target["side"], target["base_crc"], target["staying"], target["evict"]) == (1 - side, crc, number, 1)
        assert (target["registers"], target["lines"], target["row"]["warps"]) == (
            what["registers"], what["lines"], row["live_warps"])
        for save, commit in ((0, 0), (1, 0), (0, 1)):
            ctx.set(dut.save_idle, save)
            ctx.set(dut.commit_idle, commit)
            ctx.set(dut.head_event, {"valid": 1, **head} if head and commit else {})
            assert not ctx.get(dut.done.valid)
            await ctx.tick()
        ctx.set(dut.head_event, {})
        ctx.set(dut.write_error, write_error)
        ctx.set(dut.save_idle, 1)
        assert ctx.get(dut.done.valid) and ctx.get(dut.row_evicted) == evicted
        assert ctx.get(dut.done.error) == (CommandError.NONE if evicted else CommandError.BUS_ERROR)
        await ctx.tick()
        assert not ctx.get(dut.done.valid) and not ctx.get(dut.target.valid)

    async def bench(ctx):
        for _ in range(6):
            await once(ctx)

    simulate(dut, bench)
