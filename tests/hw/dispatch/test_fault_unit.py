"""The fault unit: whom a report ends, what is recorded of the first, against a model of each cycle."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_BITS, preset
from caesura.hw.dispatch.faults import FaultUnit
from caesura.hw.interfaces.payloads import FAULT_SOURCES
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"tiny": preset("tiny"), "6 TBs": preset("tiny").replace(warps=12, tb_slots=6, kernel_slots=3)}


class Model:
    """What is known of the TBs; a report counts in the cycle after it came."""

    def __init__(self, g):
        self.killed, self.forsaken, self.count, self.record = set(), set(), 0, {}
        self.faults, self.block_warps = [0] * g.kernel_slots, {}

    def judge(self, reports, rows):
        """Return the TBs that are struck, and the record of the first report that strikes one."""
        struck, record = [], None
        for source in FAULT_SOURCES:
            report = reports[source]
            for tb, row in enumerate(rows):
                if report["valid"] and row["valid"] and row["warps"] >> report["warp"] & 1 and tb not in self.killed:
                    struck += [tb] * (tb not in struck)
                    record = record or {**{name: report[name] for name in ("kind", "pc", "address")},
                                        "kernel": row["kernel"], "tb": row["launch_id"],
                                        "warp": self.block_warps[report["warp"]]}
        return struck, record


@pytest.mark.parametrize("rate, name", quick(
    [(rate, name) for rate in (0.1, 0.6) for name in GEOMETRIES], [(0.6, "tiny")]))
def test_reports_of_every_source(name, rate):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {rate}")
    dut, model = component(FaultUnit, g), Model(g)
    each, kills = g.warps // g.tb_slots, 0

    def some_row(tb):
        """A TB that has some of the warp slots from ``each * tb`` on."""
        warps = sum(1 << each * tb + k for k in range(rng.randint(1, each)))
        return {"valid": 1, "started": rng.getrandbits(1), "warps": warps, "kernel": rng.randrange(g.kernel_slots),
                "launch_id": rng.getrandbits(32)}

    def some_report():
        return {"valid": rng.random() < rate, "kind": rng.choice(list(Fault)[1:]), "warp": rng.randrange(g.warps),
                "pc": rng.getrandbits(PC_BITS), "address": rng.getrandbits(32)}

    async def bench(ctx):
        for slot in range(g.warps):
            model.block_warps[slot] = rng.randrange(g.max_block_warps)
            ctx.set(dut.init, {"valid": 1, "warp": slot, "block_warp": model.block_warps[slot]})
            await ctx.tick()
        ctx.set(dut.init.valid, 0)
        nonlocal kills
        rows, before, struck_before = [some_row(tb) for tb in range(g.tb_slots)], None, []
        for _ in range(160):
            reports = {source: some_report() for source in FAULT_SOURCES}
            pending, clear = rng.getrandbits(1), rng.random() < 0.3
            leaving = {tb for tb in model.killed if rng.random() < 0.3 and tb not in struck_before}
            start = rng.getrandbits(g.kernel_slots) if rng.random() < 0.1 else 0
            for tb, row in enumerate(rows):
                ctx.set(dut.resident[tb], row)
            for source, report in reports.items():
                ctx.set(dut.reports[source], report)
            kill = rng.getrandbits(g.kernel_slots) if rng.random() < 0.3 else 0
            claim = rng.getrandbits(g.tb_slots) & rng.getrandbits(g.tb_slots)
            condemned = {tb for tb, row in enumerate(rows) if row["valid"] and row["started"]
                         and kill >> row["kernel"] & 1 and not claim >> tb & 1}
            for signal, what in ((dut.kill_kernels, kill), (dut.claim, claim), (dut.event.pending, pending),
                                 (dut.event.clear, clear), (dut.start, start),
                                 (dut.remove, sum(1 << tb for tb in leaving))):
                ctx.set(signal, what)
            struck, record = model.judge(before, rows) if before else ([], None)
            assert ctx.get(dut.event.set) == bool(struck)
            assert ctx.get(dut.kill) == sum(rows[tb]["warps"] for tb in model.killed)
            assert ctx.get(dut.forsaken) == sum(1 << tb for tb in model.forsaken)
            assert ctx.get(dut.count) == model.count
            assert [ctx.get(dut.faults[k]) for k in range(g.kernel_slots)] == model.faults
            if model.record:
                assert value(ctx.get(dut.record)) == model.record
            await ctx.tick()
            if record and (not pending or clear):
                model.record = record
            model.count += len(struck)
            for k in range(g.kernel_slots):
                model.faults[k] += sum(rows[tb]["kernel"] == k for tb in struck)
                if start >> k & 1:
                    model.faults[k] = 0
            model.killed = (model.killed | set(struck) | condemned) - leaving
            model.forsaken = (model.forsaken | condemned) - leaving
            kills += len(condemned - leaving)
            rows = [{**row, "valid": 0} if tb in leaving else row if row["valid"] else
                    rng.choice([row, some_row(tb)]) for tb, row in enumerate(rows)]
            before, struck_before = reports, struck

    simulate(dut, bench)
    assert model.count > 5 and kills > 3
