"""Parts of the launch path by themselves: warp slots, stream priority, completion, TB table, failed preempts."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.completion import Completion
from caesura.hw.dispatch.tb_table import TbTable
from caesura.hw.dispatch.warp_slots import WarpSlots
from caesura.hw.lib.stream_priority import StreamPriority
from support.hw.stream_bench import put_all, simulate
from support.hw.stream_bench import value as numbers

G = preset("tiny").replace(warps=6, tb_slots=3, kernel_slots=3)


@pytest.mark.parametrize("name", ["tiny", "gtx480"])
def test_the_lowest_free_warp_slots_are_collected_one_a_cycle(name):
    g = preset(name)
    dut, rng = WarpSlots(g), random.Random(1)

    async def bench(ctx):
        for _ in range(20):
            taken = rng.getrandbits(g.warps)
            free = [s for s in range(g.warps) if not taken >> s & 1]
            count = rng.randint(0, min(len(free), g.max_block_warps))
            ctx.set(dut.occupied, taken)
            ctx.set(dut.pick, {"valid": 1, "count": count})
            await ctx.tick()
            ctx.set(dut.pick.valid, 0)
            for _ in range(count):
                assert not ctx.get(dut.done)
                await ctx.tick()
            assert ctx.get(dut.done)
            assert [ctx.get(dut.slots[k]) for k in range(count)] == free[:count]
            assert ctx.get(dut.mask) == sum(1 << s for s in free[:count])

    simulate(dut, bench)


def test_priority_merges_two_streams_without_loss_or_change_of_an_offer():
    dut, rng = StreamPriority(8), random.Random(2)
    sent = {"first": list(range(0, 100)), "second": list(range(100, 200))}
    received = []

    async def sink(ctx):
        offered = None
        for _ in range(3000):
            ctx.set(dut.merged.ready, rng.random() < 0.4)
            _, _, valid, ready, value = await ctx.tick().sample(dut.merged.valid, dut.merged.ready, dut.merged.payload)
            assert offered is None or (valid and value == offered), "an offer was withdrawn"
            offered = value if valid and not ready else None
            if valid and ready:
                received.append(value)
            if len(received) == 200:
                break

    simulate(dut, put_all(dut.first, sent["first"], rng, 0.6), put_all(dut.second, sent["second"], rng, 0.3), sink)
    assert [v for v in received if v < 100] == sent["first"]
    assert [v for v in received if v >= 100] == sent["second"]


def test_a_release_goes_before_an_end_and_only_ends_are_counted():
    dut = Completion(G)

    async def bench(ctx):
        for t, warps in enumerate((0b000011, 0b001100, 0b110000)):
            ctx.set(dut.resident[t], {"valid": 1, "started": t != 2, "kernel": t % 2, "warps": warps})
        ctx.set(dut.exited, 0b110001)
        for _ in range(3):
            assert ctx.get(dut.remove) == 0, "one warp runs, one TB has not started"
            await ctx.tick()
        ctx.set(dut.exited, 0b111101)
        ctx.set(dut.claim, 0b010)
        for _ in range(3):
            assert ctx.get(dut.remove) == 0, "claimed"
            await ctx.tick()
        ctx.set(dut.claim, 0)
        await ctx.tick()
        ctx.set(dut.release, {"valid": 1, "tb": 0})
        assert ctx.get(dut.remove) == 0b001 and ctx.get(dut.free) == 0b000011
        await ctx.tick()
        ctx.set(dut.release.valid, 0)
        ctx.set(dut.resident[0].valid, 0)
        assert ctx.get(dut.remove) == 0b010 and ctx.get(dut.free) == 0b001100
        assert ctx.get(dut.completed[1]) == 0
        await ctx.tick()
        ctx.set(dut.resident[1].valid, 0)
        assert ctx.get(dut.remove) == 0 and ctx.get(dut.completed[1]) == 1
        assert ctx.get(dut.completed[0]) == 0
        ctx.set(dut.start, 0b010)
        await ctx.tick()
        assert ctx.get(dut.completed[1]) == 0

    simulate(dut, bench)


def test_the_table_counts_what_is_resident():
    dut = TbTable(G)

    async def bench(ctx):
        row = {"kernel": 2, "launch_id": 7, "warps": 0b10110, "first_line": 3, "lines": 2}
        ctx.set(dut.room.insert, {"valid": 1, "tb": 1, "row": row, "warps": 3, "shared_bytes": 200})
        await ctx.tick()
        ctx.set(dut.room.insert.valid, 0)
        assert (ctx.get(dut.tb_count), ctx.get(dut.room.warp_count), ctx.get(dut.room.occupied)) == (1, 3, 0b010)
        assert ctx.get(dut.present) == 0b100 and ctx.get(dut.room.warps_taken) == 0b10110
        tb = ctx.get(dut.tbs[1])
        assert (tb.kernel, tb.launch_id, tb.shared_base, tb.shared_bytes) == (2, 7, 384, 200)
        assert not ctx.get(dut.resident[1].started)
        ctx.set(dut.start, {"valid": 1, "tb": 1})
        await ctx.tick()
        ctx.set(dut.start.valid, 0)
        assert ctx.get(dut.resident[1].started)
        ctx.set(dut.remove, 0b010)
        ctx.set(dut.room.insert, {"valid": 1, "tb": 0, "row": {"warps": 1}, "warps": 1})
        await ctx.tick()
        assert (ctx.get(dut.tb_count), ctx.get(dut.room.warp_count), ctx.get(dut.room.occupied)) == (1, 1, 0b001)
        assert ctx.get(dut.room.warps_taken) == 1 and ctx.get(dut.present) == 0b001

    simulate(dut, bench)


@pytest.mark.parametrize("g", [G, preset("ecp5")], ids=["tiny", "ecp5"])
def test_every_tb_that_is_over_leaves_once(g):
    """TBs of which warps exit, that are claimed, released, ended or killed meanwhile, in every order."""
    dut, rng = Completion(g), random.Random(g.name)
    each = g.warps // g.tb_slots

    async def bench(ctx):
        rows, exited, claim, late, losable, forsaken, lost = {}, 0, 0, {}, 0, set(), 0
        completed = [0] * g.kernel_slots
        for _ in range(150):
            for tb in range(g.tb_slots):
                if tb not in rows and rng.random() < 0.2:
                    warps = sum(1 << each * tb + k for k in range(rng.randint(1, each)))
                    rows[tb] = {"valid": 1, "started": 0, "kernel": rng.randrange(g.kernel_slots), "warps": warps,
                                "entry": rng.randrange(g.tb_slots)}
                    exited &= ~warps
                    losable &= ~warps
                    claim &= ~(1 << tb)
                elif tb in rows and rng.random() < 0.3:
                    rows[tb]["started"] = 1
                ctx.set(dut.resident[tb], rows.get(tb, {"valid": 0}))
            running = sum(row["warps"] for row in rows.values() if row["started"])
            exited |= running & rng.getrandbits(g.warps) & rng.getrandbits(g.warps)
            losable |= running & rng.getrandbits(g.warps) & rng.getrandbits(g.warps)
            forsaken |= {tb for tb, row in rows.items() if row["started"] and not claim >> tb & 1
                         and rng.random() < 0.05}
            claimed = [tb for tb in rows if claim >> tb & 1]
            release = rng.choice(claimed) if claimed and rng.random() < 0.2 else None
            claim |= sum(1 << tb for tb, row in rows.items() if row["warps"] & ~exited and rng.random() < 0.05)
            for signal, what in ((dut.exited, exited), (dut.losable, losable),
                                 (dut.forsaken, sum(1 << tb for tb in forsaken)), (dut.claim, claim),
                                 (dut.release, {"valid": release is not None, "tb": release or 0})):
                ctx.set(signal, what)
            over = {tb for tb, row in rows.items() if row["started"]
                    and not row["warps"] & ~(exited | (losable if tb in forsaken else 0))}
            remove, ended = ctx.get(dut.remove), ctx.get(dut.ended)
            gone = {"kernel": ended.kernel, "entry": ended.entry}
            tbs = [tb for tb in range(g.tb_slots) if remove >> tb & 1]
            assert len(tbs) <= 1 and ctx.get(dut.free) == sum(rows[tb]["warps"] for tb in tbs)
            if release is not None:
                assert tbs == [release] and not ended.valid
            else:
                assert ended.valid == bool(tbs) and all(tb in over and not claim >> tb & 1 for tb in tbs)
                assert all({name: rows[tb][name] for name in gone} == gone for tb in tbs)
            forget = 0 if release is not None else sum(rows[tb]["warps"] & ~exited for tb in tbs if tb in forsaken)
            assert ctx.get(dut.forget) == forget
            lost += forget != 0
            late = {tb: late.get(tb, 0) + 1 for tb in over if not claim >> tb & 1 and tb not in tbs}
            assert all(cycles <= 2 * g.tb_slots + 2 for cycles in late.values()), "a TB that is over stays"
            assert [ctx.get(dut.completed[k]) for k in range(g.kernel_slots)] == completed
            await ctx.tick()
            for tb in tbs:
                completed[rows[tb]["kernel"]] += release is None and tb not in forsaken
                forsaken.discard(tb)
                del rows[tb]
            if rng.random() < 0.2 and release is None:
                claim &= rng.getrandbits(g.tb_slots)
        assert lost > 1

    simulate(dut, bench)


@pytest.mark.parametrize("g", [G, preset("ecp5")], ids=["tiny", "ecp5"])
def test_the_table_has_every_row_that_came_and_did_not_leave(g):
    dut, rng = TbTable(g), random.Random(g.name)

    async def bench(ctx):
        rows = {}
        for _ in range(60):
            free = [tb for tb in range(g.tb_slots) if tb not in rows]
            insert = rng.choice(free) if free and rng.random() < 0.5 else None
            start = rng.choice([tb for tb in rows if not rows[tb]["row"]["started"]] or [None])
            remove = rng.choice(list(rows)) if rows and rng.random() < 0.3 else None
            if insert is not None:
                taken = sum(row["row"]["warps"] for row in rows.values())
                slots = [slot for slot in range(g.warps) if not taken >> slot & 1]
                new = {"tb": insert, "shared_bytes": rng.getrandbits(20), "row": {
                    "kernel": rng.randrange(g.kernel_slots), "launch_id": rng.getrandbits(32),
                    "ctaid_x": rng.getrandbits(32), "ctaid_y": rng.getrandbits(16), "ctaid_z": rng.getrandbits(16),
                    "base": rng.randrange(g.registers), "first_line": rng.randrange(g.shared_lines),
                    "lines": rng.randrange(g.shared_lines), "local_base": rng.getrandbits(32),
                    "entry": rng.randrange(g.tb_slots),
                    "warps": sum(1 << slot for slot in slots[:rng.randint(0, 2)])}}
                new["warps"] = bin(new["row"]["warps"]).count("1")
                ctx.set(dut.room.insert, new)
            ctx.set(dut.room.insert.valid, insert is not None)
            ctx.set(dut.start, {"valid": start is not None, "tb": start or 0})
            ctx.set(dut.remove, 0 if remove is None else 1 << remove)
            await ctx.tick()
            if start is not None:
                rows[start]["row"]["started"] = 1
            if remove is not None:
                del rows[remove]
            if insert is not None:
                rows[insert] = {**new, "row": {**new["row"], "valid": 1, "started": 0}}
            assert ctx.get(dut.room.occupied) == sum(1 << tb for tb in rows)
            assert ctx.get(dut.present) == sum({1 << row["row"]["kernel"] for row in rows.values()})
            assert ctx.get(dut.room.warps_taken) == sum(row["row"]["warps"] for row in rows.values())
            assert ctx.get(dut.tb_count) == len(rows)
            assert ctx.get(dut.room.warp_count) == sum(row["warps"] for row in rows.values())
            for tb, new in rows.items():
                row = new["row"]
                assert numbers(ctx.get(dut.resident[tb])) == row
                assert numbers(ctx.get(dut.tbs[tb])) == {
                    **{name: row[name] for name in ("kernel", "launch_id", "ctaid_x", "ctaid_y", "ctaid_z",
                                                    "local_base")},
                    "shared_base": 128 * row["first_line"], "shared_bytes": new["shared_bytes"]}

    simulate(dut, bench)
