"""The allocation table against a model: first fit, no overlap, release by owner."""

import random

import pytest

from caesura.hw.arch.room import first_fit
from caesura.hw.dispatch.allocator import AllocationTable
from support.hw.lockstep import lockstep
from support.hw.simulation import Simulator, component
from support.models.range_models import RangeTable
from support.selection import quick


def test_first_fit_takes_the_lowest_hole():
    assert first_fit(10, [], 10) == 0
    assert first_fit(10, [], 11) is None
    assert first_fit(10, [(0, 2), (5, 2)], 3) == 2
    assert first_fit(10, [(0, 2), (5, 2)], 4) is None
    assert first_fit(10, [(3, 7)], 3) == 0
    assert first_fit(10, [(0, 10)], 0) == 0


@pytest.mark.parametrize("capacity, owners, entries", [(0, 1, 1), (1, 0, 1), (1, 1, -1)])
def test_sizes_below_one_are_refused(capacity, owners, entries):
    with pytest.raises(ValueError, match="must be 1 or more, not (0|-1)"):
        AllocationTable(capacity, owners, entries)


@pytest.mark.parametrize("capacity, owners", quick([(16, 2), (256, 8), (13, 5)], [(16, 2), (13, 5)]))
def test_random_traffic_matches_first_fit_within_the_latency(capacity, owners):
    rng = random.Random(capacity)
    dut = AllocationTable(capacity, owners, 2 * owners)

    async def bench(ctx):
        ranges = {}
        searched = failed = 0
        for _ in range(400):
            if ranges and (rng.random() < 0.45 or len(ranges) == owners):
                owner = rng.choice(list(ranges))
                del ranges[owner]
                ctx.set(dut.release, 1 << owner)
                await ctx.tick()
                ctx.set(dut.release, 0)
                continue
            size = rng.choice([0, 1, rng.randint(1, capacity), rng.randint(1, 1 + capacity // 4)])
            expected = first_fit(capacity, [r for r in ranges.values() if r[1]], size)
            ctx.set(dut.request, {"valid": 1, "size": size})
            await ctx.tick()
            ctx.set(dut.request.valid, 0)
            cycles = 1
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
                assert cycles <= 2 * owners + 2
            searched += 1
            assert ctx.get(dut.fits) == (expected is not None)
            if expected is None:
                failed += 1
                continue
            assert ctx.get(dut.start) == expected
            owner = rng.choice([o for o in range(owners) if o not in ranges])
            ctx.set(dut.insert, {"valid": 1, "owner": owner, "start": expected, "size": size})
            await ctx.tick()
            ctx.set(dut.insert.valid, 0)
            ranges[owner] = (expected, size)
            rows = [ctx.get(dut.table[i]) for i in range(2 * owners)]
            held = sorted((r.owner, r.start, r.size) for r in rows if r.valid)
            assert held == sorted((o, *r) for o, r in ranges.items() if r[1])
        assert searched > 100 and failed > 3

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_new_request_drops_a_search_that_runs():
    dut = AllocationTable(16, 4, 8)

    async def bench(ctx):
        for owner, start in enumerate((0, 4, 8)):
            ctx.set(dut.insert, {"valid": 1, "owner": owner, "start": start, "size": 3})
            await ctx.tick()
        ctx.set(dut.insert.valid, 0)
        ctx.set(dut.request, {"valid": 1, "size": 5})
        await ctx.tick()
        await ctx.tick()
        ctx.set(dut.request, {"valid": 1, "size": 1})
        await ctx.tick()
        ctx.set(dut.request.valid, 0)
        for _ in range(4):
            await ctx.tick()
        assert ctx.get(dut.done) and ctx.get(dut.fits) and ctx.get(dut.start) == 3

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_range_becomes_anothers_though_its_owner_lets_go_in_that_cycle():
    dut = AllocationTable(16, 4, 8)

    async def bench(ctx):
        for owner, start, size in ((0, 0, 3), (1, 4, 5)):
            ctx.set(dut.insert, {"valid": 1, "owner": owner, "start": start, "size": size})
            await ctx.tick()
        ctx.set(dut.insert.valid, 0)
        ctx.set(dut.move, {"valid": 1, "owner": 1, "to": 3})
        ctx.set(dut.release, 0b11)
        await ctx.tick()
        ctx.set(dut.move.valid, 0)
        ctx.set(dut.release, 0b10)
        await ctx.tick()
        rows = [ctx.get(dut.table[k]) for k in range(8)]
        assert [(row.owner, row.start, row.size) for row in rows if row.valid] == [(3, 4, 5)]
        ctx.set(dut.release, 0b1000)
        await ctx.tick()
        assert not any(ctx.get(dut.table[k]).valid for k in range(8))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def traffic(rng, capacity, owners, entries, cycles):
    """Yield ranges that come and go, all entries of the table full or none, and searches at any time."""
    model = RangeTable(capacity, entries)
    for cycle in range(cycles):
        start = rng.randint(0, capacity)
        size = rng.choice([rng.randint(0, capacity - start), min(1, capacity - start)])
        filling = cycle // 60 % 2
        given = {
            "insert": {"valid": int(rng.random() < (0.8 if filling else 0.3)), "owner": rng.randrange(owners),
                       "start": start, "size": size},
            "release": 1 << rng.randrange(owners) if rng.random() < (0.04 if filling else 0.4) else 0,
            "move": {"valid": int(rng.random() < 0.1), "owner": rng.randrange(owners), "to": rng.randrange(owners)},
            "request": {"valid": int(rng.random() < 0.2), "size": rng.choice([0, 1, 2, rng.randint(0, capacity)])}}
        yield given, {"done": model.done, "fits": model.fits, "start": model.start, "table": list(model.rows)}
        request, insert = given["request"], given["insert"]
        model.step(request["size"] if request["valid"] else None, insert if insert["valid"] else None,
                   given["release"], given["move"])


@pytest.mark.parametrize("capacity, owners, entries", quick([(16, 2, 4), (13, 5, 10)], [(16, 2, 4)]))
def test_the_table_is_a_models_in_every_cycle(capacity, owners, entries):
    dut = component(AllocationTable, capacity, owners, entries)
    lockstep(dut, traffic(random.Random(capacity), capacity, owners, entries, 700))
