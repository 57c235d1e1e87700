"""The yield unit against a model, with thread blocks (TBs) that come, wait, leave and are called at random: each
output, in each cycle."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.yield_unit import YieldUnit
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

TINY = preset("tiny")
GEOMETRIES = {"2 TBs": TINY.replace(kernel_slots=2, watches=2, entries=3),
              "5 TBs": TINY.replace(kernel_slots=3, tb_slots=5, warps=6, watches=2, entries=7)}
KERNELS = ("running", "resuming", "keeping", "forget", "start", "woken")
BITS = ("wanted", "fresh", "launched", "full", "taken", "ended")


def bits(numbers):
    return sum(1 << number for number in numbers)


class Model:
    """What the unit remembers, as sets: of TB slots, or of entries of each kernel."""

    def __init__(self, g):
        self.g, kernels = g, range(g.kernel_slots)
        self.going, self.refused = set(), set()
        self.away, self.ready, self.turn, self.stays = ([set() for _ in kernels] for _ in range(4))
        self.tried, self.yields = [-1] * g.kernel_slots, [0] * g.kernel_slots

    def willing(self, now):
        rows = now["rows"]
        return {t for t in now["waits"] - now["fired"] - self.refused
                if now["wanted"] and rows[t][0] in (now["running"] | now["resuming"]) - now["keeping"]}

    def next(self, k):
        later = {entry for entry in self.ready[k] if entry > self.tried[k]}
        return {min(later or self.ready[k])} if self.ready[k] else set()

    def gone(self, now):
        return now["remove"] & self.going

    def outputs(self, now):
        willing, gone = self.willing(now), self.gone(now)
        leave = min(willing) if willing and not self.going else None
        hold = willing | self.going
        watches = gone & now["set"] - now["fired"]
        return {"hold": hold, "clear": now["waits"] - hold | now["insert"], "leave": leave,
                "watch_leaves": min(watches) if watches else None}

    def step(self, now):
        g, rows, gone, willing = self.g, now["rows"], self.gone(now), self.willing(now)
        clear, watches = self.outputs(now)["clear"], self.outputs(now)["watch_leaves"]
        fired, watched = gone & now["fired"], watches is not None and not now["full"]
        for k in range(g.kernel_slots):
            new = {rows[t][1] for t in gone if rows[t][0] == k}
            come = self.turn[k] if now["launched"] or not now["fresh"] else set()
            end = now["back"][k] | (set(range(g.context_entries)) if k in now["forget"] else set())
            if k in now["woken"]:
                self.tried[k] = min(self.next(k), default=-1)
            self.ready[k] = ((self.ready[k] | now["wakes"][k] | come) & self.away[k]) - end | (new if fired else set())
            self.turn[k] = self.turn[k] - come - end | (set() if fired or watched else new)
            self.away[k] = self.away[k] - end | new
            if k in now["forget"]:
                self.ready[k], self.turn[k], self.away[k] = set(), set(), set()
            self.stays[k] = self.stays[k] - now["back"][k] | new if k in now["resuming"] else set()
            self.yields[k] = 0 if k in now["start"] else self.yields[k] + bool(new)
        failed = self.going - gone if now["ended"] else set()
        self.refused = (self.refused | failed) - clear
        if now["taken"]:
            self.going = {min(willing)}
        elif gone or now["ended"]:
            self.going = set()


class World:
    """TBs in slots, of which each has an entry that no other of its kernel has, here or away."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.rows, self.waiting = {}, set()
        self.change()

    def change(self):
        rng = self.rng
        self.odds = {name: rng.choice((0, 0.1, 0.9)) for name in (*KERNELS, *BITS)}
        self.odds |= {"forget": rng.choice((0, 0, 0.05)), "start": 0.01, "running": rng.choice((0.1, 1, 1))}
        self.odds |= {"ended": 0.2, "taken": rng.choice((0.1, 1))}

    def cycle(self, model):
        g, rng = self.g, self.rng
        if rng.random() < 0.02:
            self.change()
        now = {name: {k for k in range(g.kernel_slots) if rng.random() < self.odds[name]} for name in KERNELS}
        now |= {name: int(rng.random() < self.odds[name]) for name in BITS}
        now["forget"] |= now["start"]
        now["woken"] = {k for k in now["woken"] if model.ready[k]}
        self.waiting |= {t for t in self.rows if rng.random() < 0.2}
        now["waits"] = {t for t in self.waiting if t in self.rows}
        now["rows"] = {t: self.rows.get(t, (0, 0)) for t in range(g.tb_slots)}
        for name in ("fired", "set"):
            now[name] = {t for t in self.rows if rng.random() < 0.3}
        now["wakes"] = [{e for e in model.away[k] if rng.random() < 0.1} for k in range(g.kernel_slots)]
        now["back"] = [{e for e in range(g.context_entries) if (k, e) in self.rows.values() and e in model.away[k]}
                       for k in range(g.kernel_slots)]
        leaves = {t for t in self.rows if rng.random() < (0.2 if t in model.going else 0.02)} - now["waits"]
        leaves |= {t for t in model.going if rng.random() < 0.2}
        now["remove"] = {rng.choice(sorted(leaves))} if leaves else set()
        now["insert"] = self.insert(model, now)
        now["taken"] &= int(bool(model.willing(now)) and not model.going)
        now["ended"] &= int(bool(model.going))
        return now

    def insert(self, model, now):
        """A fresh TB, or one that is away."""
        g, rng = self.g, self.rng
        free = [t for t in range(g.tb_slots) if t not in self.rows]
        entries = [(k, e) for k in range(g.kernel_slots) for e in range(g.context_entries)
                   if (k, e) not in self.rows.values()]
        if not free or not entries or rng.random() < 0.7:
            return set()
        self.coming = rng.choice(free), rng.choice(entries)
        return {self.coming[0]}

    def step(self, now, released):
        self.waiting -= released
        for t in now["remove"]:
            del self.rows[t]
            self.waiting.discard(t)
        if now["insert"]:
            slot, row = self.coming
            self.rows[slot] = row
            self.waiting.discard(slot)


def apply(ctx, dut, g, now):
    for name in (*KERNELS, "waits", "fired", "set", "insert", "remove"):
        ctx.set(getattr(dut, name), bits(now[name]))
    for name in BITS:
        ctx.set(getattr(dut, name), now[name])
    for k in range(g.kernel_slots):
        ctx.set(dut.wakes[k], bits(now["wakes"][k]))
        ctx.set(dut.back[k], bits(now["back"][k]))
    for t, (kernel, entry) in now["rows"].items():
        ctx.set(dut.resident[t].kernel, kernel)
        ctx.set(dut.resident[t].entry, entry)


@pytest.mark.parametrize("name, seed", quick([(name, seed) for name in GEOMETRIES for seed in range(10)],
                                             [("2 TBs", 0)]))
def test_every_output_in_every_cycle(name, seed):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {seed}")
    dut, model, world = component(YieldUnit, g), Model(g), World(g, rng)
    seen = dict.fromkeys(("leave", "watch_leaves", "away", "ready", "stays", "next", "refused", "turn", "keeping"), 0)

    async def bench(ctx):
        for cycle in range(6000):
            if cycle >= 1500 and all(seen.values()):
                break
            now = world.cycle(model)
            apply(ctx, dut, g, now)
            found = model.outputs(now)
            for what in ("hold", "clear"):
                assert ctx.get(getattr(dut, what)) == bits(found[what]), (cycle, what)
            leave, watch = ctx.get(dut.leave), ctx.get(dut.watch_leaves)
            assert leave.valid == (found["leave"] is not None), cycle
            if leave.valid:
                assert (leave.kernel, leave.entry) == now["rows"][found["leave"]], cycle
            assert watch.valid == (found["watch_leaves"] is not None), cycle
            assert not watch.valid or watch.tb == found["watch_leaves"], cycle
            for k in range(g.kernel_slots):
                for what in ("away", "ready", "stays"):
                    assert ctx.get(getattr(dut, what)[k]) == bits(getattr(model, what)[k]), (cycle, what, k)
                    seen[what] += bool(getattr(model, what)[k])
                assert ctx.get(dut.next[k]) == bits(model.next(k)), (cycle, k)
                assert ctx.get(dut.yields[k]) == model.yields[k], (cycle, k)
                seen["next"] += model.next(k) != {min(model.ready[k], default=-1)}
                seen["turn"] += bool(model.turn[k])
            seen["leave"], seen["watch_leaves"] = seen["leave"] + leave.valid, seen["watch_leaves"] + watch.valid
            seen["refused"] += bool(model.refused)
            seen["keeping"] += bool(now["waits"] and now["keeping"])
            await ctx.tick()
            world.step(now, found["clear"] & now["waits"])
            model.step(now)

    simulate(dut, bench)
    assert all(seen.values()), seen
