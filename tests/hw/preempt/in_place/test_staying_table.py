"""The staying table against a model of its rows: who has which range, from the save of a TB to its start."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.interfaces.staying import Phase
from caesura.hw.preempt.in_place.staying_masks import StayingMasks
from caesura.hw.preempt.in_place.staying_table import StayingTable
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

G = preset("tiny").replace(warps=12, tb_slots=5, kernel_slots=3)


class Rows:
    """What the table is to hold, and what it says in a cycle."""

    def __init__(self, g, rng):
        self.g, self.rng, self.rows = g, rng, {}

    def of(self, *phases):
        return [s for s, row in self.rows.items() if row["phase"] in phases]

    def next(self):
        return min(set(range(self.g.tb_slots)) - set(self.rows), default=0)

    def what(self):
        g, rng = self.g, self.rng
        taken = {(row["what"]["kernel"], row["what"]["entry"]) for row in self.rows.values()}
        kernel, entry = rng.choice([(k, e) for k in range(g.kernel_slots) for e in range(g.tb_slots)
                                    if (k, e) not in taken])
        registers, lines = rng.choice(((1, 0), (0, 1), (1, 1)))
        return {"kernel": kernel, "entry": entry, "registers": registers, "lines": lines,
                "base": rng.randrange(g.registers), "first_line": rng.randrange(g.shared_lines),
                "mechanism": rng.randrange(4), "scramble": rng.getrandbits(1)}

    def entries(self, name, kernel, *phases):
        rows = (self.rows[s]["what"] for s in self.of(*phases))
        return sum({1 << what["entry"] for what in rows if what[name] and kernel in (None, what["kernel"])})

    def check(self, ctx, dut):
        """What it says of itself."""
        g, report = self.g, dut.report
        assert ctx.get(dut.row_free) == (len(self.rows) < g.tb_slots) and (
            not ctx.get(dut.row_free) or ctx.get(dut.free_row) == self.next())
        assert ctx.get(report.evictable) == sum(1 << s for s in self.of(Phase.STAYS))
        for name, reserved in (("registers", dut.reserved_registers), ("lines", dut.reserved_lines)):
            assert ctx.get(reserved) == self.entries(name, None, Phase.RESERVED)
            for k in range(g.kernel_slots):
                assert ctx.get(report[name][k]) == self.entries(name, k, Phase.STAYS, Phase.LENT)
        for s in range(g.tb_slots):
            row = self.rows.get(s)
            assert ctx.get(report.rows[s].phase) == (row["phase"] if row else Phase.FREE)
            if row:
                ctx.set(dut.row_select, s)
                shown = value(ctx.get(dut.row))
                assert shown == row
        for k in range(g.kernel_slots):
            mine = [s for s in self.of(Phase.STAYS) if self.rows[s]["what"]["kernel"] == k]
            ctx.set(dut.kernel, k)
            assert ctx.get(dut.rows_stay) == bool(mine) and (not mine or ctx.get(dut.first_row) == min(mine))
            for s in mine:
                ctx.set(dut.entry, self.rows[s]["what"]["entry"])
                assert ctx.get(dut.row_found) == s


@pytest.mark.parametrize("seed", quick(range(3), [1]))
def test_rows_follow_their_tbs_and_ranges_their_rows(seed):
    dut, rng = component(StayingTable, G), random.Random(seed)
    slots = G.tb_slots
    events = (dut.row_reserve.valid, dut.warp_remembered.valid, dut.tb_released.valid, dut.command_done,
              dut.row_lent.valid, dut.tb_started.valid,
              dut.tb_returned.valid, dut.row_evicted, dut.kernel_discarded)

    async def bench(ctx):
        model, done = Rows(G, rng), dict.fromkeys(("tb_released", "tb_started", "tb_returned", "evicted", "drop",
                                                   "settle"), 0)
        rows = model.rows
        for _ in range(500):
            tb, ops = rng.randrange(slots), rng.sample(
                ("reserve", "warp", "tb_released", "settle", "admitted", "tb_started", "tb_returned", "evicted",
                 "drop"), 9)
            moves, released = [], 0
            for op in ops:  # the first that can be
                under_way = [rows[s]["tb"] for s in model.of(Phase.RESERVED)]
                if op == "reserve" and len(rows) < slots and tb not in under_way:
                    what = model.what()
                    ctx.set(dut.row_reserve, {"valid": 1, "tb": tb, "what": what})
                    rows[model.next()] = {"phase": Phase.RESERVED, "tb": tb, "live_warps": 0, "what": what}
                elif op == "warp" and model.of(Phase.RESERVED):
                    s, warp = rng.choice(model.of(Phase.RESERVED)), rng.randrange(G.max_block_warps)
                    ctx.set(dut.warp_remembered, {"valid": 1, "row": s, "warp": warp})
                    rows[s]["live_warps"] |= 1 << warp
                elif op == "tb_released" and rng.random() < 0.7:
                    ctx.set(dut.tb_released, {"valid": 1, "tb": tb})
                    for s in model.of(Phase.RESERVED):
                        if rows[s]["tb"] == tb:
                            moves.append((rows[s]["what"], tb, slots + s))
                            rows[s]["phase"] = Phase.STAYS
                            done[op] += 1
                elif op == "settle" and rng.random() < 0.2:
                    ctx.set(dut.command_done, 1)
                    for s in model.of(Phase.RESERVED):
                        del rows[s]
                        done[op] += 1
                elif op == "admitted" and model.of(Phase.STAYS) and tb not in [
                        rows[s]["tb"] for s in model.of(Phase.LENT)]:
                    s = rng.choice(model.of(Phase.STAYS))
                    ctx.set(dut.kernel, rows[s]["what"]["kernel"])
                    ctx.set(dut.entry, rows[s]["what"]["entry"])
                    ctx.set(dut.row_lent, {"valid": 1, "tb": tb})
                    rows[s] |= {"phase": Phase.LENT, "tb": tb}
                elif op in ("tb_started", "tb_returned") and rng.random() < 0.5:
                    ctx.set(getattr(dut, op), {"valid": 1, "tb": tb})
                    for s in model.of(Phase.LENT):
                        if rows[s]["tb"] != tb:
                            continue
                        done[op] += 1
                        if op == "tb_returned":
                            rows[s]["phase"] = Phase.STAYS
                        else:
                            moves.append((rows.pop(s)["what"], slots + s, tb))
                elif op == "evicted" and model.of(Phase.STAYS) and rng.random() < 0.4:
                    s = rng.choice(model.of(Phase.STAYS))
                    ctx.set(dut.row_select, s)
                    ctx.set(dut.row_evicted, 1)
                    del rows[s]
                    released, done[op] = 1 << slots + s, done[op] + 1
                elif op == "drop" and rng.random() < 0.05:
                    kernel = rng.randrange(G.kernel_slots)
                    ctx.set(dut.kernel_discarded, 1 << kernel)
                    for s in [s for s in rows if rows[s]["what"]["kernel"] == kernel]:
                        del rows[s]
                        released, done[op] = released | 1 << slots + s, done[op] + 1
                else:
                    continue
                break
            assert ctx.get(dut.report.release) == released
            for name in ("registers", "lines"):
                move, expected = ctx.get(dut.report[f"move_{name}"]), [each for each in moves if each[0][name]]
                assert move.valid == len(expected) <= 1
                assert not expected or (move.owner, move.to) == expected[0][1:]
            await ctx.tick()
            for signal in events:
                ctx.set(signal, 0)
            model.check(ctx, dut)
        assert all(count >= 3 for count in done.values()), done

    simulate(dut, bench)


def test_masks_are_those_that_were_written_last():
    dut, rng = component(StayingMasks, G), random.Random(1)

    async def bench(ctx):
        known = {}
        for _ in range(200):
            of = {"row": rng.randrange(G.tb_slots), "warp": rng.randrange(G.max_block_warps)}
            mask, valid = rng.getrandbits(64), rng.random() < 0.7
            ctx.set(dut.write, {"valid": valid, "of": of, "mask": mask})
            await ctx.tick()
            if valid:
                known[of["row"], of["warp"]] = mask
            for (row, warp), expected in known.items():
                ctx.set(dut.select, {"row": row, "warp": warp})
                assert ctx.get(dut.mask) == expected

    simulate(dut, bench)
