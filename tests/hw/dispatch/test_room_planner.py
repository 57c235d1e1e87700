"""Who has to leave for a newcomer, of registers and of shared memory, against `arch.room`; asked again at any time."""

import random

import pytest

from caesura.hw.arch.footprint import tb_footprint
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.room import Range, make_room
from caesura.hw.dispatch.room_planner import RoomPlanner
from support.hw.simulation import Simulator, component
from support.selection import quick

TINY = preset("tiny")
GEOMETRIES = {"two": TINY, "three": TINY.replace(tb_slots=3, warps=6, registers=128)}
LIMIT = 200
SHORT = ("two", 32, 6)
"""Six rounds of which five tell the requests apart."""


class Scene:
    """Two tables, and newcomers of all sizes."""

    def __init__(self, g, rng):
        self.g, self.rng, slots = g, rng, range(2 * g.tb_slots)
        self.kernels = []
        for _ in range(g.kernel_slots):
            warps = rng.randint(1, g.max_block_warps)
            self.kernels.append({"threads": warps * g.warp_size, "warps": warps, "registers": rng.randint(1, 10),
                                 "shared_bytes": rng.choice((0, rng.randint(1, g.shared_bytes // 2)))})
        self.tables = [self._table(capacity, slots) for capacity in (g.register_rows, g.shared_lines)]
        self.evictable = rng.getrandbits(g.tb_slots) | rng.getrandbits(g.tb_slots)

    def _table(self, capacity, slots):
        """Ranges with holes, each of an owner of its own, in rows of the table in no order."""
        rng, at, rows = self.rng, 0, [None for _ in slots]
        for owner, row in zip(rng.sample(slots, len(slots)), rng.sample(slots, len(slots)), strict=True):
            at += rng.choice((0, 0, 1))
            size = rng.randint(1, capacity // 2)
            if at + size <= capacity and rng.random() < 0.9:
                rows[row] = owner, at, size
                at += size
        return rows

    def show(self, ctx, dut):
        for kernel, sizes in zip(dut.kernels, self.kernels, strict=True):
            for name, value in {"grid_x": 1, "grid_y": 1, "grid_z": 1, **sizes}.items():
                ctx.set(kernel[name], value)
        for port, rows in zip((dut.registers, dut.lines), self.tables, strict=True):
            for entry, row in zip(port, rows, strict=True):
                owner, start, size = row or (0, 0, 1)
                ctx.set(entry, {"valid": row is not None, "owner": owner, "start": start, "size": size})
        ctx.set(dut.evictable, self.evictable)

    def request(self):
        rng, g = self.rng, self.g
        return {"valid": 1, "newcomer": rng.choice((*range(g.kernel_slots), 9)), "tbs": rng.choice((0, 1, 1, 2, 2, 40)),
                "chosen": rng.getrandbits(g.tb_slots) | rng.getrandbits(g.tb_slots)}

    def plan(self, request):
        """Return of which TBs registers, and shared memory, can stay."""
        g, slot, full = self.g, request["newcomer"], (1 << self.g.tb_slots) - 1
        footprint = tb_footprint(g, (1, 1, 1), **self.kernels[slot]) if slot < g.kernel_slots else None
        if footprint is None:
            return full, full
        movable = request["chosen"] | self.evictable << g.tb_slots
        ranges = [[Range(at, size, owner if movable >> owner & 1 else None) for owner, at, size in filter(None, rows)]
                  for rows in self.tables]

        def room(k, tbs):
            return make_room((g.register_rows, g.shared_lines)[k], ranges[k], footprint[k], tbs)

        tbs = min(room(k, min(request["tbs"], g.tb_slots))[0] for k in range(2))
        return tuple(full & ~sum(1 << owner for owner in room(k, tbs)[1]) for k in range(2))


async def planned(ctx, dut):
    """Wait for a plan; return it, and the cycles."""
    cycles = 0
    while not ctx.get(dut.plan.done):
        await ctx.tick()
        cycles += 1
        assert cycles < LIMIT
    return (ctx.get(dut.plan.keep_registers), ctx.get(dut.plan.keep_lines)), cycles


async def ask(ctx, dut, request):
    ctx.set(dut.request, request)
    await ctx.tick()
    ctx.set(dut.request.valid, 0)
    assert not ctx.get(dut.plan.done)


@pytest.mark.parametrize("name, seed, rounds", quick([*((name, name, 40) for name in GEOMETRIES), SHORT], [SHORT]))
def test_the_plan_is_that_of_the_last_request(name, seed, rounds):
    """A second request comes in each cycle of a first, and in the one in which that is done."""
    g, rng = GEOMETRIES[name], random.Random(seed)
    dut = component(RoomPlanner, g)
    seen = {"leave": 0, "apart": 0, "other": 0}

    async def once(ctx):
        scene = Scene(g, rng)
        scene.show(ctx, dut)
        first, second = scene.request(), scene.request()
        await ask(ctx, dut, first)
        plan, length = await planned(ctx, dut)
        assert plan == scene.plan(first)
        seen["leave"] += plan != ((1 << g.tb_slots) - 1,) * 2
        seen["apart"] += plan[0] != plan[1]
        seen["other"] += plan != scene.plan(second)
        for moment in range(length + 1):
            await ask(ctx, dut, first)
            for _ in range(moment):
                await ctx.tick()
            await ask(ctx, dut, second)
            assert (await planned(ctx, dut))[0] == scene.plan(second), moment

    async def bench(ctx):
        for _ in range(rounds):
            await once(ctx)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(seen.values()) > 4, seen
