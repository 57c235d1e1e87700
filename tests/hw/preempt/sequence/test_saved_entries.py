"""Saved entries: those committed and not yet demoted, with the generation of their preempt and their length."""

import random

from caesura.hw.arch.context import State
from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.sequence.saved_entries import SavedEntries
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

G = preset("tiny").replace(warps=12, tb_slots=6, kernel_slots=3)


def test_an_entry_is_saved_from_complete_to_demoted():
    dut, rng = component(SavedEntries, G), random.Random(1)

    async def bench(ctx):
        saved = {k: {} for k in range(G.kernel_slots)}
        for generation in range(400):
            kernel, entry, saving = rng.randrange(G.kernel_slots), rng.randrange(G.tb_slots), rng.getrandbits(1)
            state, error, valid = rng.choice([State.COMPLETE, State.DEMOTED]), rng.random() < 0.3, rng.random() < 0.8
            start = 1 << rng.randrange(G.kernel_slots) if rng.random() < 0.02 else 0
            for signal, what in ((dut.kernel, kernel), (dut.generation, generation << 16 | 5), (dut.saving, saving),
                                 (dut.start, start), (dut.event, {"valid": valid, "entry": entry, "state": state,
                                                                  "error": error})):
                ctx.set(signal, what)
            await ctx.tick()
            if valid and not error and saving and state == State.COMPLETE:
                saved[kernel][entry] = generation << 16 | 5
            elif valid and not error and state == State.DEMOTED:
                saved[kernel].pop(entry, None)
            for k in range(G.kernel_slots):
                if start >> k & 1:
                    saved[k].clear()
            ctx.set(dut.event.valid, 0)
            ctx.set(dut.start, 0)
            for k in range(G.kernel_slots):
                ctx.set(dut.kernel, k)
                assert ctx.get(dut.saved) == sum(1 << n for n in saved[k])
                for n, expected in saved[k].items():
                    ctx.set(dut.select, n)
                    assert ctx.get(dut.listed) == expected

    simulate(dut, bench)


def test_the_length_of_a_stream_is_that_of_the_last_save_or_of_its_adoption():
    dut, rng = component(SavedEntries, G), random.Random(2)

    async def bench(ctx):
        known = {}
        for _ in range(400):
            kernel, entry, saving = rng.randrange(G.kernel_slots), rng.randrange(G.tb_slots), rng.random() < 0.8
            data, metadata, warps = 4 * rng.getrandbits(16), 4 * rng.getrandbits(10), rng.randint(1, G.max_block_warps)
            valid, ended, arrived = rng.random() < 0.8, rng.random() < 0.2, rng.random() < 0.1
            ctx.set(dut.kernel, kernel)
            ctx.set(dut.saving, saving)
            ctx.set(dut.tally, {"valid": valid, "ended": ended, "tb": rng.randrange(G.tb_slots), "entry": entry,
                                "data_bytes": data, "metadata_bytes": metadata, "warps": warps})
            ctx.set(dut.arrived, arrived)
            ctx.set(dut.select, found := rng.randrange(G.tb_slots))
            ctx.set(dut.found_extent, {"words": 7, "warps": 2})
            await ctx.tick()
            if arrived:
                known[kernel, found] = {"words": 7, "warps": 2}
            elif saving and valid and not ended:
                known[kernel, entry] = {"words": (data + metadata) // 4, "warps": warps}
            ctx.set(dut.tally.valid, 0)
            ctx.set(dut.arrived, 0)
            for (k, n), expected in known.items():
                ctx.set(dut.kernel, k)
                ctx.set(dut.select, n)
                ctx.set(dut.ahead, rng.randrange(G.tb_slots))
                assert value(ctx.get(dut.listed_extent)) == expected
                ctx.set(dut.select, rng.randrange(G.tb_slots))
                ctx.set(dut.ahead, n)
                assert value(ctx.get(dut.extent)) == expected

    simulate(dut, bench)
