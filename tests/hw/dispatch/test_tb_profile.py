"""The TB profile: what a plain model counts of TBs that start, run, end, are saved and killed at random."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.tb_profile import MOST, TbProfile
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/dispatch", "sim/events")

G = preset("tiny").replace(tb_slots=4, warps=8)
WARPS = {t: 0b11 << 2 * t for t in range(G.tb_slots)}


class Model:
    """TBs by slot: kernel, cycles, instructions, whole; None where none is. Profiles by kernel."""

    def __init__(self, most=MOST):
        self.tbs = [None] * G.tb_slots
        self.profiles = [[0, 0, 0] for _ in range(G.kernel_slots)]

    def end(self, t, counts):
        kernel, cycles, instructions, whole = self.tbs[t]
        self.tbs[t] = None
        if counts and whole:
            self.add(kernel, cycles, instructions)

    def add(self, kernel, cycles, instructions):
        profile = self.profiles[kernel]
        full = profile[1] + cycles > MOST or profile[2] + instructions > MOST
        profile[:] = [(profile[0] >> full) + 1, min((profile[1] >> full) + cycles, MOST),
                      min((profile[2] >> full) + instructions, MOST)]


@pytest.mark.parametrize("seed, cycles", quick(itertools.product(range(4), (600, 1200)), [(0, 600)]))
def test_it_counts_what_a_plain_model_does(seed, cycles):
    rng, dut, model = random.Random(seed), component(TbProfile, G), Model()
    added = 0

    async def bench(ctx):
        nonlocal added
        rows, issued = [{"valid": 0} for _ in range(G.tb_slots)], [0] * G.tb_slots
        for now in range(cycles):
            events = {"start": {"valid": 0}, "remove": 0, "ended": 0, "issued": 0, "clear": 0}
            t = rng.randrange(G.tb_slots)
            tb, before = model.tbs[t], None
            if tb is None and not rows[t]["valid"] and rng.random() < 0.3:
                rows[t] = {"valid": 1, "started": 0, "kernel": rng.randrange(G.kernel_slots), "warps": WARPS[t]}
            elif tb is None and rows[t]["valid"] and rng.random() < 0.5:
                events["start"], events["fresh"] = {"valid": 1, "tb": t}, rng.getrandbits(1)
                before = t
            elif tb is not None and now - issued[t] > 2 and rng.random() < 0.2:  # a TB ends later than its warps
                events["remove"], events["ended"] = 1 << t, int(rng.random() < 0.7)
            running = [k for k in range(G.tb_slots) if model.tbs[k] is not None and not events["remove"] >> k & 1]
            if running and rng.random() < 0.6:
                issuer = rng.choice(running)
                events["issued"], events["issuer"] = 1, 2 * issuer + rng.getrandbits(1)
                issued[issuer] = now
            for name, payload in events.items():
                ctx.set(getattr(dut, name), payload)
            for k, row in enumerate(rows):
                ctx.set(dut.resident[k], row)
            await ctx.tick()
            for k, each in enumerate(model.tbs):
                if each is not None and not events["remove"] >> k & 1:
                    each[1] += 1
            if events["issued"]:
                model.tbs[events["issuer"] // 2][2] += 1
            if events["remove"]:
                added += bool(events["ended"] and model.tbs[t][3])
                model.end(t, events["ended"])
                rows[t] = {"valid": 0}
            if before is not None:
                model.tbs[t] = [rows[t]["kernel"], 0, 0, events["fresh"]]
                rows[t] = {**rows[t], "started": 1}
        for name in ("start", "remove", "ended", "issued"):
            ctx.set(getattr(dut, name), {"valid": 0} if name == "start" else 0)
        for k in range(G.tb_slots):  # nothing runs on
            ctx.set(dut.resident[k], {**rows[k], "started": 0})
        await ctx.tick().repeat(3)
        for k, tb in enumerate(model.tbs):
            if tb is not None:
                assert value(ctx.get(dut.ages[k])) == {"cycles": tb[1], "instructions": tb[2], "whole": tb[3]}
        profiles = [[*value(ctx.get(dut.profiles[k])).values()] for k in range(G.kernel_slots)]
        assert profiles == model.profiles and added > 10
        ctx.set(dut.clear, 0b10)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        profiles = [[*value(ctx.get(dut.profiles[k])).values()] for k in range(G.kernel_slots)]
        assert profiles == [*model.profiles[:1], [0, 0, 0], *model.profiles[2:]]

    simulate(dut, bench)


@pytest.mark.parametrize("cycles, instructions, tbs", [
    (1 << 31, 5, 5), ((1 << 32) - 4, 9, 4), (7, (1 << 32) - 2, 4), ((1 << 32) - 1, (1 << 32) - 1, 3)])
def test_sums_that_do_not_fit_are_halved(cycles, instructions, tbs):
    dut, model = component(TbProfile, G), Model()

    async def bench(ctx):
        for _ in range(tbs):
            ctx.set(dut.resident[0], {"valid": 1, "started": 0, "kernel": 2, "warps": 3})
            ctx.set(dut.start, {"valid": 1, "tb": 0})
            ctx.set(dut.fresh, 1)
            await ctx.tick()
            ctx.set(dut.start, {"valid": 0})
            ctx.set(dut.ages[0], {"cycles": cycles, "instructions": instructions, "whole": 1})
            ctx.set(dut.remove, 1)
            ctx.set(dut.ended, 1)
            await ctx.tick()
            ctx.set(dut.remove, 0)
            model.add(2, cycles, instructions)
            await ctx.tick().repeat(2)
            assert [*value(ctx.get(dut.profiles[2])).values()] == model.profiles[2]

    simulate(dut, bench)


def test_a_tb_that_runs_for_ever_stays_at_the_most():
    dut = component(TbProfile, G)

    async def bench(ctx):
        ctx.set(dut.resident[1], {"valid": 1, "started": 1, "kernel": 0, "warps": 0b1100})
        ctx.set(dut.ages[1], {"cycles": MOST - 2, "instructions": MOST - 1, "whole": 1})
        ctx.set(dut.issued, 1)
        ctx.set(dut.issuer, 3)
        await ctx.tick().repeat(6)
        assert value(ctx.get(dut.ages[1])) == {"cycles": MOST, "instructions": MOST, "whole": 1}
        assert value(ctx.get(dut.ages[0])) == {"cycles": 0, "instructions": 0, "whole": 0}

    simulate(dut, bench)
