"""The counters of a preempt and a resume, against sums over every cycle."""

import random

from amaranth.hdl import Shape

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import State
from caesura.hw.preempt.save.closer import save_tally
from caesura.hw.preempt.sequence.counters import PreemptCounters
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

G = preset("tiny")
SAVED = {"data_bytes": "save_data_bytes", "metadata_bytes": "save_metadata_bytes", "registers": "save_registers",
         "lines": "save_lines", "warps": "save_warps"}
HEAD_BYTES, BODY_BYTES = 8, 56
WIDTHS = {name: Shape.cast(field.shape).width for name, field in save_tally(G)}
WORD = 1 << 32


def some_cycle(rng):
    """What happens in a cycle."""
    tally = {"valid": rng.random() < 0.2, "ended": rng.getrandbits(1), **{
        name: rng.getrandbits(WIDTHS[name]) for name in SAVED}}
    event = {"valid": rng.random() < 0.2, "state": rng.choice(list(State)[:4]), "error": rng.getrandbits(1)}
    return {"tally": tally, "head_event": event, **{name: rng.random() < 0.2 for name in (
        "claim_dropped", "tb_committed", "draining", "tb_started", "instruction_issued", "read_valid")},
            "read_words": rng.getrandbits(20)}


def saved(cycles):
    """Counters of a preempt, from what happened in the cycles since it was taken."""
    tallies = [c["tally"] for _, c in cycles if c["tally"]["valid"]]
    totals = {counter: sum(tally[name] for tally in tallies) for name, counter in SAVED.items()}
    heads = [c for _, c in cycles if c["head_event"]["valid"] and c["head_event"]["state"] != State.DEMOTED]
    totals["save_metadata_bytes"] += (BODY_BYTES * sum(not tally["ended"] for tally in tallies)
                                      + HEAD_BYTES * len(heads))
    totals = {name: total % WORD for name, total in totals.items()}
    return {**totals, "save_tbs": sum(c["tb_committed"] for _, c in cycles),
            "drain_cycles": sum(c["draining"] for _, c in cycles),
            "save_cycles": max((at for at, c in cycles if c["claim_dropped"]), default=0)}


def resumed(cycles):
    starts = [at for at, c in cycles if c["tb_started"]]
    issued = [at for at, c in cycles if c["instruction_issued"] and starts and at > starts[0]]
    return {"restore_cycles": max(starts, default=0), "restore_bytes": 4 * sum(
        c["read_words"] for _, c in cycles if c["read_valid"]) % WORD,
        "resume_cycles": issued[0] if issued else cycles[-1][0] + 1}


def run(resume, lengths, quiet=()):
    """Run commands of so many cycles each, one after the other; events named `quiet` do not happen."""
    dut, rng = component(PreemptCounters, G), random.Random(str(lengths))

    async def cycle(ctx, what):
        for name in quiet:
            what[name] = 0
        for name, field in what.items():
            ctx.set(getattr(dut, name), field)
        await ctx.tick()

    async def bench(ctx):
        begin = dut.begin_restore if resume else dut.begin_save
        for length in lengths:
            ctx.set(dut.saving, 0)
            await cycle(ctx, some_cycle(rng) | {"tb_committed": 0})  # the command is taken
            ctx.set(begin, 1)
            grace = rng.getrandbits(32)
            await cycle(ctx, some_cycle(rng) | {"tb_committed": 0, "grace_used": grace})
            ctx.set(dut.grace_used, ~grace)
            ctx.set(begin, 0)
            ctx.set(dut.saving, not resume)
            happened = []
            for at in range(2, length + 2):
                what = some_cycle(rng)
                happened.append((at, what))
                await cycle(ctx, what)
            counters, expected = value(ctx.get(dut.counters)), (resumed if resume else saved)(happened)
            assert {name: counters[name] for name in expected} == expected
            assert resume or counters["grace_cycles"] == grace

    simulate(dut, bench)


def test_a_preempt_counts_from_its_command_on():
    run(False, [1, 2, 40, 3, 25])


def test_a_preempt_that_drops_nothing_took_no_time():
    run(False, [20, 5], quiet=("claim_dropped", "tb_committed"))


def test_a_resume_counts_until_the_first_instruction_after_a_start():
    run(True, [1, 2, 30, 3, 25])


def test_a_resume_that_never_issues_counts_on():
    run(True, [20], quiet=("instruction_issued",))


def test_a_resume_leaves_the_counters_of_the_preempt_alone():
    dut = component(PreemptCounters, G)

    async def bench(ctx):
        ctx.set(dut.begin_save, 1)
        await ctx.tick()
        ctx.set(dut.begin_save, 0)
        ctx.set(dut.saving, 1)
        ctx.set(dut.tally, {"valid": 1, "data_bytes": 11, "metadata_bytes": 22, "registers": 3, "lines": 4, "warps": 5})
        ctx.set(dut.claim_dropped, 1)
        ctx.set(dut.tb_committed, 1)
        await ctx.tick()
        for signal in (dut.tally.valid, dut.claim_dropped, dut.saving):
            ctx.set(signal, 0)
        before = value(ctx.get(dut.counters))
        ctx.set(dut.begin_restore, 1)
        await ctx.tick()
        ctx.set(dut.begin_restore, 0)
        ctx.set(dut.head_event, {"valid": 1, "state": State.COMPLETE})
        await ctx.tick().repeat(3)
        after = value(ctx.get(dut.counters))
        assert (before["save_tbs"], before["save_cycles"], before["save_metadata_bytes"]) == (1, 2, 22 + BODY_BYTES)
        assert {n: v for n, v in after.items() if n[:2] != "re"} == {n: v for n, v in before.items() if n[:2] != "re"}

    simulate(dut, bench)


def test_evictions_are_counted_apart_from_the_preempt():
    dut, rng = component(PreemptCounters, G), random.Random(7)

    async def bench(ctx):
        tbs = evicted_bytes = 0
        for _ in range(12):
            tally = {"valid": 1, **{name: rng.getrandbits(WIDTHS[name]) for name in ("data_bytes", "metadata_bytes")},
                     "registers": 3, "lines": 4, "warps": 5}
            succeeds, evicts = rng.getrandbits(1), rng.random() < 0.7
            before = value(ctx.get(dut.counters))
            ctx.set(dut.evicting, evicts)
            ctx.set(dut.tally, tally)
            await ctx.tick()
            ctx.set(dut.tally.valid, 0)
            ctx.set(dut.row_evicted, succeeds and evicts)
            await ctx.tick()
            ctx.set(dut.row_evicted, 0)
            ctx.set(dut.evicting, 0)
            after = value(ctx.get(dut.counters))
            if succeeds and evicts:
                tbs, evicted_bytes = tbs + 1, (evicted_bytes + tally["data_bytes"] + tally["metadata_bytes"]
                                               + HEAD_BYTES + BODY_BYTES) % WORD
            assert (after["evicted_tbs"], after["evicted_bytes"]) == (tbs, evicted_bytes)
            assert after["save_registers"] - before["save_registers"] == (0 if evicts else 3)
        assert tbs

    simulate(dut, bench)
