"""TB selection: the tables of `hw.arch.proactive`, of TBs that start, age, end and are saved at random."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.proactive import (
    ARRIVED,
    WAITING,
    Case,
    Choice,
    Situation,
    case_of,
    choose,
    cycles_left,
    switch_cycles,
)
from caesura.hw.dispatch.tb_selection import TbSelection
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/dispatch", "sim/events")

G = preset("tiny").replace(tb_slots=5, warps=8, proactive=True, kernel_slots=3)
SETTLES = 40 * G.kernel_slots + 3 * G.kernel_slots * (2 * G.tb_slots + 1)
"""Cycles after which all means and choices follow from inputs that do not change."""


class Machine:
    """The inputs of the block, and its right choices."""

    def __init__(self, rng):
        self.rng = rng
        self.rows = [None] * G.tb_slots  # kernel, entry, started, successor, based
        self.ages = [(0, 0)] * G.tb_slots
        self.profiles = [(0, 0)] * G.kernel_slots
        self.usual = [20_000] * G.kernel_slots
        self.sizes = [(rng.randint(1, 20), rng.randint(0, 8)) for _ in range(G.kernel_slots)]
        self.victims = 0
        self.due = 0
        self.counts = dict.fromkeys([case.name for case in Case] + ["bases", "bases_wasted"], 0)

    def situation(self, t):
        kernel, _, _, successor, based = self.rows[t]
        tbs, cycles = self.profiles[kernel]
        mean = cycles // tbs if tbs else self.usual[kernel] or None
        there = sum(row is not None and row[2] and row[0] == kernel for row in self.rows)
        return Situation(cycles_left(mean, self.ages[t][0]), self.due, switch_cycles(G, there, *self.sizes[kernel]),
                         self.ages[t][1], successor, based)

    def vectors(self):
        """The entries to be saved as bases, and those that drain, by kernel."""
        found = {"checkpoint": [0] * G.kernel_slots, "drain": [0] * G.kernel_slots}
        for t, row in enumerate(self.rows):
            if row is None or not row[2]:
                continue
            if self.victims >> row[0] & 1 and choose(WAITING, self.situation(t)) is Choice.CHECKPOINT:
                found["checkpoint"][row[0]] |= 1 << row[1]
            if choose(ARRIVED, self.situation(t)) is Choice.DRAIN:
                found["drain"][row[0]] |= 1 << row[1]
        return found


def drive(ctx, dut, machine):
    for t, row in enumerate(machine.rows):
        ctx.set(dut.resident[t], {"valid": 0} if row is None else {
            "valid": 1, "started": row[2], "kernel": row[0], "entry": row[1]})
        ctx.set(dut.ages[t], {"cycles": machine.ages[t][0], "instructions": machine.ages[t][1], "whole": 1})
    for k in range(G.kernel_slots):
        tbs, cycles = machine.profiles[k]
        ctx.set(dut.profiles[k], {"tbs": tbs, "cycles": cycles, "instructions": 0})
        ctx.set(dut.usual[k], machine.usual[k])
        ctx.set(dut.footprints[k], dict(zip(("rows", "lines"), machine.sizes[k], strict=True)))
    ctx.set(dut.port.victims, machine.victims)
    ctx.set(dut.port.due, machine.due)


def near(rng):
    """A number of cycles near those that decide."""
    return rng.choice((0, rng.randrange(100), rng.randrange(1000), rng.randrange(10_000)))


@pytest.mark.parametrize("seed, rounds", quick([(seed, 40) for seed in range(12)], [(0, 25), (1, 25)]))
def test_it_decides_as_the_tables_say(seed, rounds):
    rng, dut = random.Random(seed), component(TbSelection, G)
    machine, chosen = Machine(rng), set()

    async def pulse(ctx, port, what):
        ctx.set(port, what)
        await ctx.tick()
        ctx.set(port, {"valid": 0} if isinstance(what, dict) else 0)

    async def change(ctx):
        """Let something happen to a TB or a kernel."""
        t, k = rng.randrange(G.tb_slots), rng.randrange(G.kernel_slots)
        row = machine.rows[t]
        match rng.randrange(7):
            case 0 | 1 if row is None:
                free = [e for e in range(G.context_entries)
                        if all(r is None or r[:2] != [k, e] for r in machine.rows)]
                machine.rows[t], machine.ages[t] = [k, rng.choice(free), 0, False, False], (near(rng), near(rng))
                drive(ctx, dut, machine)
                await pulse(ctx, dut.start, {"valid": 1, "tb": t})
                machine.rows[t][2:] = [1, bool(machine.victims >> k & 1), False]
            case 2 if row is not None:
                machine.counts["bases_wasted"] += row[4] and machine.victims >> row[0] & 1
                await pulse(ctx, dut.remove, 1 << t)
                machine.rows[t] = None
            case 3:
                machine.victims = rng.getrandbits(G.kernel_slots) | rng.getrandbits(G.kernel_slots)
                machine.due = near(rng)
                drive(ctx, dut, machine)
                for each in machine.rows:
                    if each is not None and machine.victims >> each[0] & 1:
                        each[3:] = [False, False]
                await pulse(ctx, dut.port.announced, machine.victims)
            case 4:
                machine.profiles[k] = rng.choice((
                    (0, 0), (rng.randrange(5), 10 * near(rng)), (rng.getrandbits(18), rng.getrandbits(32))))
                machine.usual[k] = rng.choice((near(rng), 20_000))
                await pulse(ctx, dut.clear, 1 << k)
            case 5:
                there = {r[1] for r in machine.rows if r is not None and r[0] == k and r[2]}
                saved = {e for e in there if rng.random() < 0.5}
                for each in machine.rows:
                    if each is not None and each[0] == k and each[1] in saved:
                        each[4] = True
                machine.counts["bases"] += len(saved)
                ctx.set(dut.port.bases_kernel, k)
                await pulse(ctx, dut.port.bases_saved, sum(1 << e for e in saved))
            case 6 if machine.victims >> k & 1:
                for i, each in enumerate(machine.rows):
                    if each is not None and each[0] == k and each[2]:
                        machine.counts[case_of(machine.situation(i)).name] += 1
                await pulse(ctx, dut.port.arrived, 1 << k)
                machine.victims &= ~(1 << k)
        machine.ages = [(near(rng), near(rng)) if rng.random() < 0.3 else age for age in machine.ages]

    async def bench(ctx):
        for _ in range(rounds):
            await change(ctx)
            drive(ctx, dut, machine)
            await ctx.tick().repeat(SETTLES)
            expected = machine.vectors()
            for name, by_kernel in expected.items():
                # A kernel shows no bases while it is decided upon: look for a whole round.
                shown = [0] * G.kernel_slots
                for _ in range(G.kernel_slots * (2 * G.tb_slots + 1)):
                    shown = [a | ctx.get(getattr(dut.port, name)[k]) for k, a in enumerate(shown)]
                    assert all(not ctx.get(getattr(dut.port, name)[k]) & ~by_kernel[k] for k in range(G.kernel_slots))
                    await ctx.tick()
                assert shown == by_kernel, name
                chosen.add((name, any(by_kernel)))
        counts = value(ctx.get(dut.counts))
        assert {name.removeprefix("case_").upper() if name.startswith("case") else name: count
                for name, count in counts.items()} == {
                    name.upper() if name in Case.__members__ else name: count
                    for name, count in machine.counts.items()}

    simulate(dut, bench)
    assert len(chosen) >= 3, "it had something to choose"


def test_all_bases_of_a_kernel_are_asked_for_at_once_and_soon():
    """Within two looks at the TB slots after the announcement; before that none of them."""
    rng, dut = random.Random(1), component(TbSelection, G)
    machine = Machine(rng)

    async def bench(ctx):
        machine.rows = [[1, t, 1, False, False] for t in range(G.tb_slots)]
        machine.usual = [0, 50_000, 0]
        drive(ctx, dut, machine)
        for wait in range(30):
            await ctx.tick().repeat(100 + wait)
            ctx.set(dut.port.victims, 2)
            ctx.set(dut.port.announced, 2)
            await ctx.tick()
            ctx.set(dut.port.announced, 0)
            cycles = 1
            while not (asked := ctx.get(dut.port.checkpoint[1])):
                await ctx.tick()
                cycles += 1
            assert asked == (1 << G.tb_slots) - 1 and cycles <= 2 * G.tb_slots + 2
            ctx.set(dut.port.victims, 0)

    simulate(dut, bench)
