"""Who has to leave for a newcomer, of registers and of shared memory, against `arch.room`; asked again at any time."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.room import Range, make_room
from caesura.hw.arch.tb_footprint import tb_footprint
from caesura.hw.dispatch.room_planner import RoomPlanner
from support.hw.lockstep import lockstep, noise, number
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
            self.kernels.append({
                "grid_x": 1, "grid_y": 1, "grid_z": 1, "threads": warps * g.warp_size, "warps": warps,
                "registers": rng.randint(1, 10), "shared_bytes": rng.choice((0, rng.randint(1, g.shared_bytes // 2)))})
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
            for name, value in sizes.items():
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

    def footprint(self, slot):
        """Return rows and lines of a TB of the kernel in a slot, None if none fits, or there is no such slot."""
        if slot >= self.g.kernel_slots:
            return None
        sizes = dict(self.kernels[slot])
        return tb_footprint(self.g, tuple(sizes.pop(f"grid_{name}") for name in "xyz"), **sizes)

    def rooms(self, request):
        """Return a function of how many TBs: for how many there is room, of registers and of shared memory, and who has
        to leave for them."""
        g, footprint = self.g, self.footprint(request["newcomer"])
        movable = request["chosen"] | self.evictable << g.tb_slots
        ranges = [[Range(at, size, owner if movable >> owner & 1 else None) for owner, at, size in filter(None, rows)]
                  for rows in self.tables]
        return lambda tbs: [make_room((g.register_rows, g.shared_lines)[k], ranges[k], footprint[k], tbs)
                            for k in range(2)]

    def plan(self, request):
        """Return of which TBs registers, and shared memory, can stay."""
        g, full = self.g, (1 << self.g.tb_slots) - 1
        if self.footprint(request["newcomer"]) is None:
            return full, full
        rooms = self.rooms(request)
        tbs = min(placed for placed, _ in rooms(min(request["tbs"], g.tb_slots)))
        return tuple(full & ~sum(1 << owner for owner in gone) for _, gone in rooms(tbs))

    def length(self, request):
        """Return after how many cycles the plan is there: a search a TB, twice if there is not room for as many of
        both."""
        g, search = self.g, 3 * self.g.tb_slots + 4
        tbs = 0 if self.footprint(request["newcomer"]) is None else min(request["tbs"], g.tb_slots)
        placed = [placed for placed, _ in self.rooms(request)(tbs)] if tbs else [0, 0]
        cycles = 2 + max(each * search + (1 if each == tbs else search - 1) for each in placed)
        return cycles if placed[0] == placed[1] else cycles + min(placed) * search + 3


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


class Varied(Scene):
    """Kernels that say anything, often all but right, and tables that are full of small ranges or nearly empty."""

    def __init__(self, g, rng):
        super().__init__(g, rng)
        for sizes in self.kernels:
            sizes |= {f"grid_{name}": number(rng, bits) or 1 for name, bits in (("x", 32), ("y", 16), ("z", 16))}
            sizes["threads"] -= rng.choice([0, rng.randrange(g.warp_size)])
            if rng.random() < 0.3:
                sizes["registers"] = rng.randint(1, g.regs_per_thread)
            if rng.random() < 0.3:
                sizes["shared_bytes"] = rng.randint(1, g.shared_bytes)
            if rng.random() < 0.3:
                name, bits = rng.choice(tuple(WIDTHS.items()))
                sizes[name] = rng.choice((0, sizes[name] ^ 1 << rng.randrange(bits)))
        self.most = rng.choice((2, 2, 4, 8))
        self.tables = [self._table(capacity, range(2 * g.tb_slots)) for capacity in (g.register_rows, g.shared_lines)]

    def _table(self, capacity, slots):
        rng, most = self.rng, getattr(self, "most", 2)
        at, rows = rng.choice((0, rng.randrange(capacity))), [None for _ in slots]
        for owner, row in zip(rng.sample(slots, len(slots)), rng.sample(slots, len(slots)), strict=True):
            at += rng.choice((0, 0, 1, rng.randrange(1 + capacity // 4)))
            size = rng.randint(1, capacity // most)
            if at + size <= capacity:
                rows[row] = owner, at, size
                at += size
        return rows

    def request(self):
        g, rng = self.g, self.rng
        return {"valid": 1, "newcomer": rng.choice((rng.randrange(g.kernel_slots), number(rng, 4))),
                "tbs": rng.choice((rng.randint(1, g.tb_slots), number(rng, 6))),
                "chosen": number(rng, g.tb_slots) | rng.getrandbits(g.tb_slots)}


WIDTHS = {"grid_x": 32, "grid_y": 16, "grid_z": 16, "threads": 11, "registers": 7, "warps": 6, "shared_bytes": 20}
"""Bits of what a descriptor says of the sizes of a kernel."""


def requests(dut, rng, cycles):
    """Yield requests, of which some are dropped, with descriptors that hold in their cycle alone."""
    g, wait, left, plan = dut.geometry, 0, 0, None
    for _ in range(cycles):
        given = {f"kernels.{k}": noise(rng, dut.kernels[k].shape()) for k in range(g.kernel_slots)} if (
            rng.random() < 0.1) else {}
        given["request"] = noise(rng, dut.request.shape()) | {"valid": 0}
        asks = wait == 0
        if asks:
            scene = Varied(g, rng)
            given |= {f"kernels.{k}": noise(rng, dut.kernels[k].shape()) | sizes
                      for k, sizes in enumerate(scene.kernels)}
            given |= {"request": scene.request(), "evictable": scene.evictable}
            for name, rows in zip(("registers", "lines"), scene.tables, strict=True):
                given[name] = [noise(rng, dut.lines[0].shape()) | {"valid": 0} if row is None else
                               dict(zip(("valid", "owner", "start", "size"), (1, *row), strict=True)) for row in rows]
        told = {"plan.done": int(left == 0)}
        if left == 0 and plan is not None:
            told |= {"plan.keep_registers": plan[0], "plan.keep_lines": plan[1]}
        yield given, told
        left -= left > 0
        wait -= 1
        if asks:
            plan, left = scene.plan(given["request"]), scene.length(given["request"])
            wait = rng.choice((0, 1, rng.randint(0, left), left, left + 1, left + 3))


@pytest.mark.parametrize("name, cycles", quick(
    [*((name, 12000) for name in GEOMETRIES), ("three", 300)], [("three", 300)]))
def test_every_plan_is_there_when_a_model_has_it(name, cycles):
    dut = component(RoomPlanner, GEOMETRIES[name])
    lockstep(dut, requests(dut, random.Random(name), cycles))
