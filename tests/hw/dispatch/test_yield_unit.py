"""The yield unit against a model, with thread blocks (TBs) that come, wait, leave and are called at random: each
output, in each cycle."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.yield_unit import YieldUnit
from support.hw.lockstep import lockstep
from support.hw.simulation import component
from support.selection import quick

TINY = preset("tiny")
GEOMETRIES = {"2 TBs": TINY.replace(kernel_slots=2, watches=2, entries=3),
              "5 TBs": TINY.replace(kernel_slots=3, tb_slots=5, warps=6, watches=2, entries=7)}
KERNELS = ("running", "resuming", "leave_pausing", "forget", "start", "wake_taken")
SLOTS = ("waits", "fired", "set", "insert", "remove")
BITS = ("room_wanted", "fresh_pending", "fresh_launched", "full", "leave_taken", "leave_ended")
PORTS = {**{name: f"watches.{name}" for name in ("fired", "set", "full", "wakes", "away", "clear")}, "back": "started",
         **{name: f"leaves.{name}" for name in ("leave_pausing", "leave_taken", "leave_ended", "wake_taken")}}
"""Where what the model knows is in the ports of the block, if elsewhere."""


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
                if now["room_wanted"] and rows[t][0] in (now["running"] | now["resuming"]) - now["leave_pausing"]}

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
            come = self.turn[k] if now["fresh_launched"] or not now["fresh_pending"] else set()
            end = now["back"][k] | (set(range(g.context_entries)) if k in now["forget"] else set())
            if k in now["wake_taken"]:
                self.tried[k] = min(self.next(k), default=-1)
            self.ready[k] = ((self.ready[k] | now["wakes"][k] | come) & self.away[k]) - end | (new if fired else set())
            self.turn[k] = self.turn[k] - come - end | (set() if fired or watched else new)
            self.away[k] = self.away[k] - end | new
            if k in now["forget"]:
                self.ready[k], self.turn[k], self.away[k] = set(), set(), set()
            self.stays[k] = self.stays[k] - now["back"][k] | new if k in now["resuming"] else set()
            self.yields[k] = 0 if k in now["start"] else self.yields[k] + bool(new)
        failed = self.going - gone if now["leave_ended"] else set()
        self.refused = (self.refused | failed) - clear
        if now["leave_taken"]:
            self.going = {min(willing)} if willing else set()
        elif gone or now["leave_ended"]:
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
        self.odds |= {"leave_ended": 0.2, "leave_taken": rng.choice((0.1, 1))}

    def cycle(self, model):
        g, rng = self.g, self.rng
        if rng.random() < 0.02:
            self.change()
        now = {name: {k for k in range(g.kernel_slots) if rng.random() < self.odds[name]} for name in KERNELS}
        now |= {name: int(rng.random() < self.odds[name]) for name in BITS}
        now["forget"] |= now["start"]
        now["wake_taken"] = {k for k in now["wake_taken"] if model.ready[k]}
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
        now["leave_taken"] &= int(bool(model.willing(now)) and not model.going)
        now["leave_ended"] &= int(bool(model.going))
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


class Anything:
    """Inputs that say nothing of what has been: TBs wait, leave and come back as it happens."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.change()

    def change(self):
        rng = self.rng
        self.odds = {name: rng.choice((0, 0.03, 0.3)) for name in (
            *KERNELS, *SLOTS, *BITS, "wakes", "back", "rows")}
        self.odds |= {"running": rng.choice((0.2, 0.9)), "room_wanted": rng.choice((0.2, 1)),
                      "fresh_pending": rng.choice((0, 0.9)),
                      "waits": rng.choice((0.2, 0.9)), "remove": rng.choice((0.1, 0.5)), "set": rng.choice((0, 0.5)),
                      "leave_taken": rng.choice((0.1, 0.5)), "wake_taken": rng.choice((0, 0.1, 0.9)),
                      "fresh_launched": rng.choice((0.03, 0.3)), "wakes": rng.choice((0, 0.01, 0.3)),
                      "back": rng.choice((0, 0.01, 0.3)), "forget": rng.choice((0, 0, 0.02)),
                      "start": rng.choice((0, 0.01))}
        if rng.random() < 0.3:  # TBs gather
            self.odds |= dict.fromkeys(("fired", "leave_pausing", "forget", "start", "back", "wakes", "full"), 0)
            self.odds |= dict.fromkeys(("running", "room_wanted", "fresh_pending", "waits", "rows"), 1)
            self.odds |= dict.fromkeys(("leave_taken", "remove", "set"), 0.5)
            self.odds |= dict.fromkeys(("leave_ended", "fresh_launched"), 0.03)
        self.rows = {t: self.row() for t in range(self.g.tb_slots)}

    def row(self):
        return self.rng.randrange(self.g.kernel_slots), self.rng.randrange(self.g.context_entries)

    def cycle(self, model):
        g, rng = self.g, self.rng
        if rng.random() < 0.01:
            self.change()

        def some(name, count):
            return {number for number in range(count) if rng.random() < self.odds[name]}

        self.rows = {t: self.row() if rng.random() < self.odds["rows"] else row for t, row in self.rows.items()}
        now = {name: some(name, g.kernel_slots) for name in KERNELS} | {name: some(name, g.tb_slots) for name in SLOTS}
        now |= {name: int(rng.random() < self.odds[name]) for name in BITS} | {"rows": self.rows}
        now |= {name: [some(name, g.context_entries) for _ in range(g.kernel_slots)] for name in ("wakes", "back")}
        return now

    def step(self, now, released):
        pass


def inputs(now):
    given = {PORTS.get(name, name): bits(now[name]) for name in (*KERNELS, *SLOTS)}
    given |= {PORTS.get(name, name): now[name] for name in BITS}
    given |= {f"{PORTS[name]}.{k}": bits(entries) for name in ("wakes", "back") for k, entries in enumerate(now[name])}
    for t, (kernel, entry) in now["rows"].items():
        given |= {f"resident.{t}.kernel": kernel, f"resident.{t}.entry": entry}
    return given


def outputs(model, now):
    """Return what the unit gives; a number says something only of a TB that there is."""
    found = model.outputs(now)
    leave, watch = found["leave"], found["watch_leaves"]
    wanted = {"hold": bits(found["hold"]), "watches.clear": bits(found["clear"]),
              "leaves.leave.valid": int(leave is not None), "watches.leave.valid": int(watch is not None)}
    if leave is not None:
        wanted |= dict(zip(("leaves.leave.kernel", "leaves.leave.entry"), now["rows"][leave], strict=True))
    if watch is not None:
        wanted["watches.leave.tb"] = watch
    for k in range(model.g.kernel_slots):
        wanted |= {f"watches.away.{k}": bits(model.away[k]), f"ready.{k}": bits(model.ready[k]),
                   f"leaves.resume_excluded.{k}": bits(model.stays[k]),
                   f"leaves.wake_entries.{k}": bits(model.next(k)), f"yields.{k}": model.yields[k]}
    return wanted


def run(dut, world, model, seen, cycles, least):
    """Yield inputs and outputs, until something has come of each of what is to be `seen`, `least` so often."""
    for cycle in range(cycles):
        if cycle >= least and all(seen.values()):
            break
        now = world.cycle(model)
        yield inputs(now), outputs(model, now)
        found = model.outputs(now)
        for name in ("leave", "watch_leaves"):
            seen[name] += found[name] is not None
        for k in range(model.g.kernel_slots):
            for name in ("away", "ready", "stays", "turn"):
                seen[name] += bool(getattr(model, name)[k])
            seen["next"] += model.next(k) not in (set(), {min(model.ready[k], default=-1)})
        seen["refused"] += bool(model.refused)
        seen["leave_pausing"] += bool(now["waits"] and now["leave_pausing"])
        world.step(now, found["clear"] & now["waits"])
        model.step(now)


WORLDS = {"plausible": World, "anything": Anything}


@pytest.mark.parametrize("name, kind, seed", quick(
    [*((name, "plausible", seed) for name in GEOMETRIES for seed in range(10)), ("5 TBs", "anything", 0)],
    [("2 TBs", "plausible", 0)]))
def test_every_output_in_every_cycle(name, kind, seed):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {seed}")
    dut, model, world = component(YieldUnit, g), Model(g), WORLDS[kind](g, rng)
    seen = dict.fromkeys(("leave", "watch_leaves", "away", "ready", "stays", "next", "refused", "turn",
                          "leave_pausing"), 0)
    lockstep(dut, run(dut, world, model, seen, 20_000, 1500 if kind == "plausible" else 20_000))
    assert all(seen.values()), seen
