"""The engine queue against a model, with commands, refusals and want of room at random: each output, in each cycle."""

import functools
import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.control import memory_refusals
from caesura.hw.control.engine_queue import EngineQueue
from support.hw.lockstep import lockstep, number
from support.hw.options import nested
from support.hw.stream_bench import simulate
from support.models.engine_queue_model import FLAGS, EngineQueueModel
from support.selection import quick

TINY = preset("tiny").replace(kernel_slots=3)
GEOMETRIES = {"plain": TINY.replace(in_place=False, grace=False), "in place": TINY,
              "yields": TINY.replace(in_place=False, watches=3, entries=5),
              "both": TINY.replace(watches=3, entries=5, tb_slots=3)}
PAUSE, TRIES, REST = 6, 3, 20
"""What `memory_refusals` says, in this test."""
WHOLE = ("plain", 0), ("both", 0)
"""Worlds in which everything happens."""
SHORT = ("plain", 0, 900), ("both", 0, 200)
"""Worlds in which the queue says all that it can."""
VECTORS = ("preempts", "resumes", "adopts", "launching", "graceful", "first")
REQUESTS = {"preempts": "preempt_pending", "resumes": "resume_pending", "adopts": "adopt_pending",
            "graceful": "grace_active", "first": "first_pass"}
"""Vectors of the model that are members of the kernel slots' ports."""
YIELDS = ("leave_taken", "leave_ended", "leave_pausing", "wake_taken", "wake_lacks_room")
"""Outputs that are members of the port `yields`."""
SAID = ("command_taken", "command_owner", "eviction_owner", "yield_owner", "returns_waiting", "given_up", "stuck",
        *YIELDS)
"""Outputs that each say something at times."""


def bits(kernels):
    return sum(1 << k for k in kernels)


class World:
    """What comes to an engine queue: long phases in which some things happen often, others never."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.change()

    def change(self):
        rng = self.rng
        self.odds = {name: rng.choice((0, 0.02, 0.3)) for name in (
            *VECTORS, "room", "wakes", "leave", "evict", "hopeless", "write")}
        self.odds["first"] = self.odds["room"] = rng.choice((0, 0, 0.01, 0.05))
        self.refuses, self.left, self.ready = (rng.choice(odds) for odds in ((0, 0.5, 1), (0, 0.5, 1), (0.5, 1)))

    def some(self, name):
        return {k for k in range(self.g.kernel_slots) if self.rng.random() < self.odds[name]}

    def cycle(self, hand):
        """Return the inputs of a cycle in which the engine has this command."""
        g, rng = self.g, self.rng
        if rng.random() < 0.01:
            self.change()
        now = {name: self.some(name) for name in (*VECTORS, "wakes", "hopeless")}
        for k in range(g.kernel_slots):  # the state of a kernel lets it want one thing at a time
            for other in rng.sample(("preempts", "resumes", "adopts", "wakes"), 3):
                now[other].discard(k)
        entries = [rng.getrandbits(g.context_entries) for _ in range(2 * g.kernel_slots)]
        resumes = hand is not None and hand["resume"]
        now |= {"room": int(rng.random() < self.odds["room"]), "engine_ready": int(rng.random() < self.ready),
                "grace_left": [number(rng, 32) for _ in range(g.kernel_slots)],
                "evict": rng.getrandbits(g.tb_slots) if rng.random() < self.odds["evict"] else 0,
                "evictable": rng.getrandbits(g.tb_slots),
                "owners": [rng.randrange(g.kernel_slots) for _ in range(g.tb_slots)],
                "leave": (rng.randrange(g.kernel_slots), rng.randrange(g.context_entries))
                if rng.random() < self.odds["leave"] else None,
                "ready": [ready or 1 for ready in entries[:g.kernel_slots]], "stays": entries[g.kernel_slots:],
                "ended": {"tbs_left": int(bool(resumes) and rng.random() < self.left),
                          "refused": int(rng.random() < self.refuses)}
                if hand is not None and rng.random() < 0.3 else None,
                "write": self.write() if rng.random() < self.odds["write"] else None}
        return now

    def write(self):
        rng, g = self.rng, self.g
        flags = {name: rng.getrandbits(1) for name in FLAGS}
        room = {"newcomer": rng.getrandbits(4), "newcomer_tbs": rng.getrandbits(6)} if g.in_place else {}
        return rng.randrange(g.kernel_slots), {
            **flags, **room, "mechanism": rng.randrange(4), "patience": rng.getrandbits(32),
            "spared": rng.choice((0, rng.getrandbits(g.context_entries))), "grace": rng.getrandbits(32)}


def inputs(dut, g, now):
    """Return the inputs of a cycle by the names of `lockstep`."""
    kernel, parameters = now["write"] or (0, {"grace": 0})
    given = {f"slots.{k}.{port}": int(k in now[name]) for name, port in REQUESTS.items() for k in range(g.kernel_slots)}
    given |= {
        "launching": bits(now["launching"]), "room_freed": now["room"], "engine.ready": now["engine_ready"],
        "ended": {"valid": int(now["ended"] is not None), **(now["ended"] or {})},
        "options": nested(dut.options.shape(), {
            "valid": int(now["write"] is not None), "kernel": kernel, **parameters}),
        **{f"slots.{k}.grace_left": left for k, left in enumerate(now["grace_left"])}}
    if g.in_place:
        given |= {"evict": now["evict"], "staying.evictable": now["evictable"], "hopeless": bits(now["hopeless"]),
                  **{f"staying.rows.{t}.what.kernel": owner for t, owner in enumerate(now["owners"])}}
    if g.watches:
        given |= {"running": bits(now["wakes"]), "yields.leave": dict(zip(("valid", "kernel", "entry"), (
            1, *now["leave"]) if now["leave"] else (0, 0, 0), strict=True))}
        given |= {f"yields.{port}.{k}": now[name][k] for name, port in (
            ("ready", "wake_entries"), ("stays", "resume_excluded")) for k in range(g.kernel_slots)}
    return given


def outputs(dut, expected):
    """Return what a model says by the names of `lockstep`."""
    own = dut.engine.payload.shape().members
    payload = expected["payload"] or {}
    wanted = {f"engine.payload.{name}" if name in own else f"engine.payload.options.{name}": shown
              for name, shown in payload.items()}
    wanted["engine.valid"] = expected["engine_valid"]
    for k in range(dut.geometry.kernel_slots):
        taken = k in expected["command_taken"] and not payload["resume"]
        wanted |= {f"slots.{k}.held": int(k in expected["command_owner"]), f"slots.{k}.preempt_taken": int(taken)}
    return wanted | {f"yields.{name}" if name in YIELDS else name: bits(shown) if isinstance(shown, set) else shown
                     for name, shown in expected.items() if name not in ("payload", "engine_valid", "command_taken")}


def run(dut, world, model, cycles, seen):
    """Yield inputs and outputs; the first cycles write what commands are carried out with."""
    g = world.g
    for k in range(g.kernel_slots):
        now = {**world.cycle(None), **{name: set() for name in VECTORS}, "wakes": set(), "leave": None, "evict": 0,
               "room": 0, "engine_ready": 0, "write": (k, world.write()[1])}
        yield inputs(dut, g, now), {}
        model.step(now)
    for _ in range(cycles):
        now = world.cycle(model.hand)
        expected = model.outputs(now)
        yield inputs(dut, g, now), outputs(dut, expected)
        for name in seen:
            seen[name] += bool(expected[name])
        model.step(now)


@pytest.mark.parametrize("name, seed, cycles", quick(
    [*((name, seed, 2000) for name in GEOMETRIES for seed in range(12)), ("both", 12, 20_000), *SHORT], SHORT))
def test_every_output_in_every_cycle(name, seed, cycles, monkeypatch):
    """Turns, pauses, retries and ends; a world of its own for each seed."""
    monkeypatch.setattr(memory_refusals, "AGAIN_CYCLES", PAUSE)
    monkeypatch.setattr(memory_refusals, "TRIES", TRIES)
    monkeypatch.setattr(memory_refusals, "REST_CYCLES", REST)
    g, rng = GEOMETRIES[name], random.Random(f"{name} {seed}")
    dut, model, world = EngineQueue(g), EngineQueueModel(g, PAUSE, TRIES, REST), World(g, rng)
    seen = {name: 0 for name in SAID if name in ("command_taken", *(YIELDS if g.watches else ()))
            or hasattr(dut, name) and (name != "eviction_owner" or g.in_place)}
    lockstep(dut, run(dut, world, model, cycles, seen))
    assert all(seen.values()) or cycles < 2000 or (name, seed) not in WHOLE, seen


def woken(dut, ctx, kernels):
    """TBs of these kernels are to come back."""
    ctx.set(dut.running, kernels)
    for k in range(dut.geometry.kernel_slots):
        ctx.set(dut.yields.wake_entries[k], kernels >> k & 1)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("one, other", [*itertools.permutations(range(3), 2)])
def test_one_that_memory_has_refused_is_not_held_back_by_one_that_lacks_room(one, other, left):
    """Its TB may be parked in the room that the other lacks, and only another pass starts it (outages of seeds 1328,
    1331 and 1483 of `test_yield_at_random` waited for ever)."""
    g = GEOMETRIES["both"]
    dut = EngineQueue(g)
    wakes = functools.partial(woken, dut)

    async def pass_(ctx, kernel, left=0, refused=0):
        """Have the engine take the pass of a kernel that is offered, and end it."""
        ctx.set(dut.engine.ready, 1)
        while not ctx.get(dut.engine.valid):
            await ctx.tick()
        assert (ctx.get(dut.engine.payload.kernel), ctx.get(dut.engine.payload.yields)) == (kernel, 1)
        await ctx.tick()
        ctx.set(dut.engine.ready, 0)
        ctx.set(dut.ended, {"valid": 1, "tbs_left": left, "refused": refused})
        await ctx.tick()
        ctx.set(dut.ended, {"valid": 0, "tbs_left": 0, "refused": 0})

    async def bench(ctx):
        wakes(ctx, 1 << one)
        await pass_(ctx, one, refused=1)
        wakes(ctx, 1 << one | 1 << other)
        await pass_(ctx, other, left=1)
        await pass_(ctx, one, left=left)  # after its pause
        await ctx.tick().repeat(20)
        assert not ctx.get(dut.engine.valid), "now it is held back"
        ctx.set(dut.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.room_freed, 0)
        await pass_(ctx, other)  # nor is this held back by the other, if that lacks room too
        await pass_(ctx, one)

    simulate(dut, bench)


@pytest.mark.parametrize("idle", range(4))
def test_a_resume_that_lacks_room_gets_the_next(idle):
    """A TB that waits for another kernel leaves and comes back: it must not take each room that the other could have
    (outages of seeds 1092 and 1137 of `test_yield_at_random` ended in that)."""
    g = GEOMETRIES["yields"]
    dut = EngineQueue(g)
    wakes = functools.partial(woken, dut)
    taken = []

    async def pass_(ctx, left):
        """Have the engine take what is offered, and end it; a TB leaves then."""
        ctx.set(dut.engine.ready, 1)
        while not ctx.get(dut.engine.valid):
            await ctx.tick()
        taken.append((ctx.get(dut.engine.payload.kernel), bool(ctx.get(dut.engine.payload.yields))))
        await ctx.tick()
        ctx.set(dut.engine.ready, 0)
        ctx.set(dut.ended, {"valid": 1, "tbs_left": left, "refused": 0})
        await ctx.tick()
        ctx.set(dut.ended, {"valid": 0, "tbs_left": 0, "refused": 0})
        for _ in range(idle):  # whose turn it is must not depend on how long the engine takes
            await ctx.tick()
        ctx.set(dut.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.room_freed, 0)

    async def bench(ctx):
        wakes(ctx, 0b001)
        ctx.set(dut.slots[1].resume_pending, 1)
        await pass_(ctx, left=0)  # a TB of kernel 0 has come back
        await pass_(ctx, left=1)  # so kernel 1 has no room
        await pass_(ctx, left=1)  # it has less than is needed
        await pass_(ctx, left=0)
        ctx.set(dut.slots[1].resume_pending, 0)
        await pass_(ctx, left=0)
        assert taken == [(0, True), (1, False), (1, False), (1, False), (0, True)]

    simulate(dut, bench)
