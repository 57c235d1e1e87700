"""The watch table against a plain model: a write wakes those that watch its segment, and no others."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.watch_table import WatchTable
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

G = preset("tiny").replace(kernel_slots=3, watches=3, entries=6)
SEGMENT_BITS = len(component(WatchTable, G).written.segment)


def neighbours(rng):
    """Segments of which each differs from the first in one bit."""
    base = rng.getrandbits(SEGMENT_BITS)
    return [base, *(base ^ 1 << bit for bit in rng.sample(range(SEGMENT_BITS), 4))]


class Model:
    """Residents by TB slot: None, or (segment, has fired); rows: None, or (kernel, entry, segment)."""

    def __init__(self, residents):
        self.residents = residents
        self.watched, self.fired = [None] * G.tb_slots, [False] * G.tb_slots
        self.rows = [None] * G.watches

    def fires(self, t, hit):
        return self.fired[t] or self.watched[t] is not None and hit(self.watched[t])

    def wakes(self, hit):
        return [sum(1 << entry for entry in {row[1] for row in self.rows if row and row[0] == k and hit(row[2])})
                for k in range(G.kernel_slots)]

    def step(self, hit, watch, cancel, clear, leave, away):
        chosen = next((i for i, row in enumerate(self.rows) if row is None), None)
        for i, row in enumerate(self.rows):
            if row and (hit(row[2]) or not away[row[0]] >> row[1] & 1):
                self.rows[i] = None
        if leave is not None and chosen is not None:
            self.rows[chosen] = (*self.residents[leave], self.watched[leave])
        for t in range(G.tb_slots):
            mine, fired = watch is not None and watch[0] == t, self.fires(t, hit)
            other = mine and self.watched[t] is not None and self.watched[t] != watch[1]
            if mine and self.watched[t] is None:
                self.watched[t] = watch[1]
            self.fired[t] = fired or other or cancel == t
            if clear >> t & 1:
                self.watched[t], self.fired[t] = None, False


async def place(ctx, dut, residents):
    """TBs of these kernels and entries are on the SM, each with warp slots of its own."""
    each = G.warps // G.tb_slots
    for t, (kernel, entry) in enumerate(residents):
        ctx.set(dut.resident[t], {"valid": 1, "kernel": kernel, "entry": entry, "warps": (1 << each) - 1 << each * t})
    return each


@pytest.mark.parametrize("seed", quick(range(3), [0]))
def test_who_is_woken(seed):
    dut, rng = component(WatchTable, G), random.Random(seed)
    residents = [(rng.randrange(G.kernel_slots), entry) for entry in rng.sample(range(G.context_entries), G.tb_slots)]

    async def bench(ctx):
        each, model, woken = await place(ctx, dut, residents), Model(residents), 0
        near = neighbours(rng)
        for _ in range(1000):
            if rng.random() < 0.03:
                near = neighbours(rng)
            written = rng.choice(near) if rng.random() < 0.2 else None
            noticed = sorted(rng.choices(near, k=2)) if rng.random() < 0.1 else None
            watch = (rng.randrange(G.tb_slots), rng.choice(near)) if rng.random() < 0.4 else None
            cancel = rng.randrange(G.tb_slots) if rng.random() < 0.05 else None
            clear = rng.getrandbits(G.tb_slots) if rng.random() < 0.05 else 0
            away = [(rng.getrandbits(G.context_entries) if rng.random() < 0.02 else ~0) & (1 << G.context_entries) - 1
                    for _ in range(G.kernel_slots)]

            def hit(segment, written=written, noticed=noticed):
                return segment == written or noticed is not None and noticed[0] <= segment <= noticed[1]

            may = [t for t in range(G.tb_slots) if model.watched[t] is not None and not model.fires(t, hit)]
            leave = rng.choice(may) if may and rng.random() < 0.7 else None
            ctx.set(dut.written, {"valid": written is not None, "segment": written or 0})
            ctx.set(dut.noticed, {"valid": noticed is not None, "first": noticed[0], "last": noticed[1]}
                    if noticed else {"valid": 0})
            ctx.set(dut.watch, {"valid": watch is not None, "warp": watch[0] * each + rng.randrange(each),
                                "segment": watch[1]} if watch else {"valid": 0})
            ctx.set(dut.cancel, 0 if cancel is None else 1 << cancel * each + rng.randrange(each))
            ctx.set(dut.tbs.clear, clear)
            ctx.set(dut.tbs.leave, {"valid": leave is not None, "tb": leave or 0})
            for k in range(G.kernel_slots):
                ctx.set(dut.tbs.away[k], away[k])
            assert ctx.get(dut.tbs.set) == sum(1 << t for t, each_ in enumerate(model.watched) if each_ is not None)
            assert ctx.get(dut.tbs.fired) == sum(1 << t for t in range(G.tb_slots) if model.fires(t, hit))
            assert ctx.get(dut.tbs.full) == all(model.rows)
            found = [ctx.get(dut.tbs.wakes[k]) for k in range(G.kernel_slots)]
            assert found == model.wakes(hit)
            woken += any(found)
            await ctx.tick()
            model.step(hit, watch, cancel, clear, leave, away)
        assert woken >= 5

    simulate(dut, bench)


def test_a_write_to_another_segment_wakes_nobody():
    """One TB waits on the SM and one away, each for a segment of its own; writes to every segment that differs in a bit
    leave both alone, as do the host's to all but these two."""
    dut, mine, theirs = component(WatchTable, G), 0x0AA_AAAA, 0x155_5555

    async def bench(ctx):
        each = await place(ctx, dut, [(0, 0), (1, 1)])
        for k in range(G.kernel_slots):
            ctx.set(dut.tbs.away[k], (1 << G.context_entries) - 1)
        for t, segment in ((0, mine), (1, theirs)):
            ctx.set(dut.watch, {"valid": 1, "warp": each * t, "segment": segment})
            await ctx.tick()
        ctx.set(dut.watch.valid, 0)
        ctx.set(dut.tbs.leave, {"valid": 1, "tb": 1})
        ctx.set(dut.tbs.clear, 0b10)
        await ctx.tick()
        ctx.set(dut.tbs.leave.valid, 0)
        ctx.set(dut.tbs.clear, 0)

        def woken():
            return bool(ctx.get(dut.tbs.fired)), [ctx.get(dut.tbs.wakes[k]) for k in range(G.kernel_slots)]

        for near in (mine, theirs):
            for bit in range(len(dut.written.segment)):
                ctx.set(dut.written, {"valid": 1, "segment": near ^ 1 << bit})
                assert woken() == (False, [0, 0, 0])
                await ctx.tick()
        ctx.set(dut.written, {"valid": 0, "segment": theirs})  # no write
        assert woken() == (False, [0, 0, 0])
        for first, last in ((0, mine - 1), (mine + 1, theirs - 1), (theirs + 1, (1 << 25) - 1)):
            ctx.set(dut.noticed, {"valid": 1, "first": first, "last": last})
            assert woken() == (False, [0, 0, 0])
            await ctx.tick()
        ctx.set(dut.noticed.valid, 0)
        ctx.set(dut.written, {"valid": 1, "segment": theirs})
        assert woken() == (False, [0, 0b10, 0])
        ctx.set(dut.written.segment, mine)
        assert woken() == (True, [0, 0, 0])

    assert G.tb_slots == 2
    simulate(dut, bench)
