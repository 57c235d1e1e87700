"""Where a range fits so that the fewest leave, and plans of many such, against `arch.room`."""

import random

import pytest

from caesura.hw.arch.room import Range, cheapest_fit, make_room
from caesura.hw.dispatch.cheapest_fit import CheapestFit
from caesura.hw.dispatch.room_planner import RangePlanner
from support.hw.lockstep import lockstep
from support.hw.simulation import Simulator, component
from support.models.range_models import CheapestSearch
from support.selection import quick


def random_ranges(rng, capacity, most):
    """Ranges that do not overlap, with holes, each by an owner of its own, of whom some can leave."""
    ranges, at = [], 0
    for owner in rng.sample(range(most), rng.randint(0, most)):
        at += rng.choice((0, 0, rng.randint(0, 1 + capacity // 6)))
        size = rng.randint(1, 1 + capacity // most)
        if at + size > capacity:
            break
        ranges.append((owner, Range(at, size, owner if rng.random() < 0.7 else None)))
        at += size
    return ranges


def run(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("capacity, most", quick([(16, 4), (37, 6), (256, 16)], [(16, 4), (37, 6)]))
def test_the_place_is_the_one_that_the_model_finds(capacity, most):
    rng = random.Random(capacity)
    dut = CheapestFit(capacity, most)

    async def bench(ctx):
        fitted = left = 0
        for _ in range(200):
            ranges = [each for _, each in random_ranges(rng, capacity, most)]
            rows = rng.sample(range(most), len(ranges))
            for k in range(most):
                each = ranges[rows.index(k)] if k in rows else Range(rng.randrange(capacity), 1)
                ctx.set(dut.occupied[k], {"valid": k in rows, "movable": each.owner is not None,
                                       "start": each.start, "size": each.size})
            size = rng.choice((0, 1, rng.randint(1, capacity), rng.randint(1, 1 + capacity // 3)))
            ctx.set(dut.request, {"valid": 1, "size": size})
            await ctx.tick()
            ctx.set(dut.request.valid, 0)
            cycles = 1
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
                assert cycles <= most + 2
            expected = cheapest_fit(capacity, ranges, size)
            assert ctx.get(dut.fits) == (expected is not None)
            if expected is not None:
                leave = ctx.get(dut.leave)
                assert ctx.get(dut.start) == expected.start
                assert {ranges[rows.index(k)].owner for k in range(most) if leave >> k & 1} == expected.owners
                fitted, left = fitted + 1, left + bool(expected.owners)
        assert fitted > 50 and left > 5

    run(dut, bench)


@pytest.mark.parametrize("capacity, owners", quick([(20, 4), (64, 8)], [(20, 4)]))
def test_a_plan_makes_the_room_that_the_model_makes(capacity, owners):
    rng = random.Random(owners)
    dut = RangePlanner(capacity, owners, owners, 4)

    async def bench(ctx):
        assert ctx.get(dut.done)
        whole = some = 0
        for _ in range(150):
            ranges = random_ranges(rng, capacity, owners)
            movable = sum(1 << owner for owner, each in ranges if each.owner is not None)
            for k in range(owners):
                owner, each = ranges[k] if k < len(ranges) else (0, Range(0, 1))
                ctx.set(dut.table[k], {"valid": k < len(ranges), "owner": owner, "start": each.start,
                                       "size": each.size})
            ctx.set(dut.movable, movable)
            if rng.random() < 0.5:  # one that is dropped
                ctx.set(dut.request, {"valid": 1, "size": rng.randint(0, capacity), "count": rng.randint(0, 4)})
                await ctx.tick()
                ctx.set(dut.request.valid, 0)
                for _ in range(rng.randint(0, 3 * owners)):
                    await ctx.tick()
            size, count = rng.choice((0, 1, rng.randint(1, 1 + capacity // 3))), rng.randint(0, 4)
            ctx.set(dut.request, {"valid": 1, "size": size, "count": count})
            await ctx.tick()
            ctx.set(dut.request.valid, 0)
            ctx.set(dut.movable, rng.getrandbits(owners))
            for k in range(owners):  # what happens meanwhile does not count
                ctx.set(dut.table[k].valid, rng.getrandbits(1))
            cycles = 1
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
                assert cycles <= 3 + (count + 1) * (owners + 8)
            placed, gone = make_room(capacity, [each for _, each in ranges], size, count)
            assert ctx.get(dut.placed) == placed
            assert ctx.get(dut.leave) == sum(1 << owner for owner in gone)
            whole, some = whole + (placed == count), some + bool(gone)
        assert whole > 30 and some > 5

    run(dut, bench)


def searches(rng, capacity, most, cycles):
    """Yield searches among ranges and junk, some of which are dropped."""
    model, taken, left = CheapestSearch(capacity), [], 0
    for _ in range(cycles):
        request = {"valid": int(left == 0), "size": rng.choice([0, 1, rng.randint(1, capacity), rng.randint(
            1, 1 + capacity // 3)])}
        if not left:
            left = rng.choice([most + 3, most + 6, rng.randint(1, most + 3)])
            junk = [{"valid": 0, "movable": rng.getrandbits(1), "start": rng.randint(0, capacity // 2),
                     "size": rng.randint(0, capacity // 2)} for _ in range(most)]
            ranges = [{"valid": 1, "movable": int(each.owner is not None), "start": each.start, "size": each.size}
                      for _, each in random_ranges(rng, capacity, most)]
            taken = rng.sample(ranges + junk[len(ranges):], most)
        left -= 1
        yield {"occupied": taken, "request": request}, {
            "done": model.done, "fits": model.fits, "start": model.start, "leave": sum(1 << k for k in model.places)}
        model.step(request["size"] if request["valid"] else None, taken, [bool(row["movable"]) for row in taken])


@pytest.mark.parametrize("capacity, most", quick([(16, 4), (37, 6)], [(16, 4)]))
def test_a_search_is_a_models_in_every_cycle(capacity, most):
    dut = component(CheapestFit, capacity, most)
    lockstep(dut, searches(random.Random(most), capacity, most, 600))
