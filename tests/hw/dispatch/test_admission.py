"""Admission among TBs that come and go: where each one lies, and who waits for whom."""

import random
from collections import deque

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.room import first_fit
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.hw.dispatch.admission import Admission
from support.hw.lockstep import lockstep, noise, number
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.models.admission_model import Admission as Model
from support.selection import quick

GEOMETRIES = {"2 TBs": preset("tiny").replace(kernel_slots=2),
              "5 TBs": preset("tiny").replace(warps=11, tb_slots=5, kernel_slots=3, registers=128)}
SEARCH = 24
"""Cycles that a search for room can take, and more."""


class Bench:
    """The kernels, the TB table and the grid walker around an `Admission`."""

    def __init__(self, g, seed, pace):
        self.g, self.rng, self.pace, self.dut = g, random.Random(seed), pace, component(Admission, g)
        rng = self.rng
        self.kernels = []
        for k in range(g.kernel_slots):
            warps = rng.randint(1, min(g.max_block_warps, g.warps // 2))
            registers, shared = rng.randint(1, g.regs_per_thread), rng.choice([0, rng.randint(1, g.shared_bytes // 2)])
            self.kernels.append({
                "registers": min(registers, g.registers // 2 // warps), "warps": warps, "shared_bytes": shared,
                "threads": warps * g.warp_size - rng.randrange(g.warp_size), "local_base": 0x10000 * (k + 1),
                "local_bytes": rng.choice([0, 16, 36])})
        self.rows, self.next, self.entries = {}, [0] * g.kernel_slots, {}
        self.past = deque(maxlen=SEARCH)
        self.saved, self.offered, self.waiting = [], None, None
        self.inserted = self.answers = self.restores = 0

    def size(self, kernel):
        """Rows of registers and lines of shared memory."""
        info = self.kernels[kernel]
        return -(-info["registers"] * info["warps"] // 4), -(-info["shared_bytes"] // 128)

    def entry(self, kernel, entries):
        """The lowest entry of a kernel that is not among those taken, None if all are."""
        taken = {entry for owner, entry in entries.values() if owner == kernel}
        return next((k for k in range(self.g.tb_slots) if k not in taken), None)

    def region(self, kernel, entry):
        """Where the local memory of an entry of a kernel lies."""
        info = self.kernels[kernel]
        return info["local_base"] + entry * local_region_bytes(self.g, info["warps"], info["local_bytes"])

    def place(self, kernel, resident):
        """Where a TB goes among others: slot, rows, lines, warp slots; None if there is no room."""
        g, info = self.g, self.kernels[kernel]
        free = [tb for tb in range(g.tb_slots) if tb not in resident]
        taken = {slot for row in resident.values() for slot in row["slots"]}
        slots = [slot for slot in range(g.warps) if slot not in taken][:info["warps"]]
        rows, lines = self.size(kernel)
        at = [first_fit(capacity, [row[what] for row in resident.values() if row[what][1]], size) if size else 0
              for capacity, what, size in ((g.register_rows, "rows", rows), (g.shared_lines, "lines", lines))]
        if not free or len(slots) < info["warps"] or None in at:
            return None
        return {"tb": free[0], "rows": (at[0], rows), "lines": (at[1], lines), "slots": slots, "kernel": kernel}

    def fresh(self, kernel):
        """The next TB of a kernel."""
        number = self.next[kernel]
        return {"kernel": kernel, "launch_id": number, "ctaid_x": 3 * number, "ctaid_y": kernel, "ctaid_z": 7,
                "local_base": 0, "entry": 0}

    def offer(self, ctx, request, eligible):
        """The grid walker offers a TB of a kernel that may, another one each time."""
        kernels = [k for k in range(self.g.kernel_slots) if request >> k & 1]
        kernel = kernels[sum(self.next) % len(kernels)] if kernels else 0
        assert request & ~eligible == 0
        ctx.set(self.dut.grid.next, self.fresh(kernel))
        ctx.set(self.dut.grid.next_valid, bool(kernels))

    async def cycle(self, ctx, eligible, leaves):
        dut, rng = self.dut, self.rng
        self.past.append((dict(self.rows), dict(self.entries)))
        for tb in filter(None, (*self.saved, self.offered, self.waiting)):  # no fresh TB of a kernel that is preempted
            eligible &= ~(1 << tb["kernel"])
        ctx.set(dut.eligible, eligible)
        ctx.set(dut.room.occupied, sum(1 << tb for tb in self.rows))
        taken = [slot for row in self.rows.values() for slot in row["slots"]]
        ctx.set(dut.room.warps_taken, sum(1 << slot for slot in taken))
        ctx.set(dut.room.warp_count, len(taken))
        leaver = rng.choice(list(self.rows)) if self.rows and leaves else None
        # what leaves has ended, or was saved and may come back
        saved = leaver is not None and len(self.saved) < 2 and rng.random() < 0.4
        ctx.set(dut.remove, 0 if leaver is None else 1 << leaver)
        ended = leaver is not None and not saved
        ctx.set(dut.ended, {"valid": ended, **({name: self.rows[leaver][name] for name in ("kernel", "entry")}
                                               if ended else {})})
        self.offer(ctx, ctx.get(dut.grid.request), eligible)
        if self.saved and self.offered is None and self.waiting is None and rng.random() < self.pace / 4:
            self.offered = self.saved.pop(0)
        ctx.set(dut.admit.valid, self.offered is not None)
        if self.offered is not None:
            ctx.set(dut.admit.payload, self.offered)
        ctx.set(dut.fresh.ready, rng.random() < 0.3)
        _, _, insert, advance, clear, admitted, fresh, launched, taken, launching = await ctx.tick().sample(
            dut.room.insert, dut.grid.advance, dut.clear_lines, dut.admitted, dut.fresh.payload,
            dut.fresh.valid & dut.fresh.ready, dut.admit.valid & dut.admit.ready, dut.launching)
        if admitted.valid:
            self.answer(value(admitted))
        if launched:
            self.launch(value(fresh))
            assert launching.valid and launching.kernel == fresh.kernel
        if insert.valid:
            self.insert(value(insert), value(advance), value(clear))
        else:
            assert not advance.valid and not clear.valid
        if taken:
            self.waiting, self.offered = self.offered, None
        if leaver is not None:
            row = self.rows.pop(leaver)
            if saved:
                self.saved.append(row["admission"] | {"local_base": row["local_base"], "entry": row["entry"]})
            else:
                del self.entries[row["key"]]

    def insert(self, insert, advance, clear):
        """A row comes into the TB table: the place is the first that fits, perhaps before a TB left a moment ago."""
        restored = self.waiting is not None
        kernel = insert["row"]["kernel"]
        admission = self.waiting if restored else self.fresh(kernel)
        row = insert["row"]
        rows, lines = self.size(kernel)
        place = {"tb": insert["tb"], "rows": (row["base"] // 4, rows), "lines": (row["first_line"], lines),
                 "slots": [slot for slot in range(self.g.warps) if row["warps"] >> slot & 1], "kernel": kernel}
        first = list(filter(None, (self.place(kernel, resident) for resident, _ in self.past)))
        assert all(any(place[what] == each[what] for each in first) for what in ("tb", "rows", "lines"))
        left = len({frozenset(resident) for resident, _ in self.past}) > 1
        assert left or any(place["slots"] == each["slots"] for each in first)
        self.no_overlap(place)
        assert row["base"] % 4 == 0 and row["lines"] == lines
        assert insert["warps"] == len(place["slots"]) and insert["shared_bytes"] == self.kernels[kernel]["shared_bytes"]
        local, entry = row["local_base"], row["entry"]
        assert local == self.region(kernel, entry)
        if restored:
            assert (local, entry) == (admission["local_base"], admission["entry"])
        else:
            assert entry in {self.entry(kernel, entries) for _, entries in self.past}
            assert (kernel, entry) not in self.entries.values()
        names = "kernel", "launch_id", "ctaid_x", "ctaid_y", "ctaid_z"
        assert {name: row[name] for name in names} == {name: admission[name] for name in names}
        assert advance == {"valid": not restored, "kernel": advance["kernel"] if restored else kernel}
        assert clear["valid"] == (place["lines"][1] != 0)
        assert not clear["valid"] or (clear["first"], clear["count"]) == place["lines"]
        if not restored:
            self.next[kernel] += 1
        key = kernel, admission["launch_id"]
        self.rows[place["tb"]] = {**place, "admission": admission, "local_base": local, "entry": entry, "key": key}
        self.last = place
        self.inserted += 1
        self.restores += restored
        self.entries[key] = (kernel, entry)

    def no_overlap(self, place):
        """What a TB gets belongs to no other."""
        assert place["tb"] not in self.rows
        for other in self.rows.values():
            assert not set(place["slots"]) & set(other["slots"])
            for what in ("rows", "lines"):
                (start, size), (at, length) = place[what], other[what]
                assert not size or not length or start + size <= at or at + length <= start

    def answer(self, admitted):
        assert not admitted["bad"] and self.waiting is not None
        if admitted["full"]:
            assert any(self.place(self.waiting["kernel"], rows) is None for rows, _ in self.past)
            self.saved.append(self.waiting)
            self.waiting = None
            return
        place, self.waiting = self.last, None
        assert (admitted["tb"], admitted["base"]) == (place["tb"], 4 * place["rows"][0])
        assert admitted["first_line"] == place["lines"][0]
        assert sorted(admitted["slots"][:len(place["slots"])]) == place["slots"]
        self.answers += 1

    def launch(self, fresh):
        info, place = self.kernels[fresh["kernel"]], self.last
        assert (fresh["tb"], fresh["base"], fresh["kernel"]) == (place["tb"], 4 * place["rows"][0], place["kernel"])
        assert sorted(fresh["slots"][:len(place["slots"])]) == place["slots"]
        assert all(fresh[name] == info[name] for name in ("registers", "warps", "threads"))

    def run(self, cycles, leave):
        dut, g, rng = self.dut, self.g, self.rng

        async def bench(ctx):
            for k, info in enumerate(self.kernels):
                ctx.set(dut.kernels[k], info)
                rows, lines = self.size(k)
                ctx.set(dut.footprints[k], {"rows": rows, "lines": lines})
            eligible = every = (1 << g.kernel_slots) - 1
            for _ in range(cycles):
                await self.cycle(ctx, eligible, rng.random() < leave)
                if rng.random() < 0.02:
                    eligible = rng.choice([every, every, rng.getrandbits(g.kernel_slots)])
            # Nothing leaves any more: all that fits comes in.
            for _ in range(40 * g.tb_slots):
                await self.cycle(ctx, every, False)
            if self.waiting is not None:
                pytest.fail("a restored TB gets no answer")
            else:
                assert all(self.place(k, self.rows) is None for k in range(g.kernel_slots))
                assert ctx.get(dut.grid.request) == 0

        simulate(dut, bench)


@pytest.mark.parametrize("name, seed, leave", quick(
    [(name, seed, leave) for name in GEOMETRIES for seed, leave in ((0, 0.03), (1, 0.1))],
    [("2 TBs", 0, 0.03), ("5 TBs", 1, 0.1)]))
def test_every_tb_gets_the_first_place_that_fits(name, seed, leave):
    bench = Bench(GEOMETRIES[name], f"{name} {seed}", 1.0)
    bench.run(300, leave)
    assert bench.inserted > 4 and bench.restores == bench.answers


def test_a_restored_tb_whose_local_memory_is_not_that_of_its_entry_is_refused():
    g = GEOMETRIES["2 TBs"]
    dut = component(Admission, g)

    async def bench(ctx):
        ctx.set(dut.kernels[1], {"registers": 4, "warps": 1, "threads": 8, "local_base": 0x1000, "local_bytes": 16})
        ctx.set(dut.footprints[1], {"rows": 1, "lines": 0})
        for entry, address, bad in ((0, 0x1000, 0), (0, 0x1040, 1), (1, 0x1080, 0), (0, 0x1080, 1), (1, 0x1100, 1),
                                    (0, 0, 1)):
            ctx.set(dut.admit.payload, {"kernel": 1, "local_base": address, "entry": entry})
            ctx.set(dut.admit.valid, 1)
            await ctx.tick().until(dut.admit.ready)
            ctx.set(dut.admit.valid, 0)
            for _ in range(40):
                assert not (ctx.get(dut.room.insert.valid) and bad)
                if ctx.get(dut.admitted.valid):
                    break
                await ctx.tick()
            assert ctx.get(dut.admitted.valid) and ctx.get(dut.admitted.bad) == bad
            await ctx.tick()

    simulate(dut, bench)


def test_a_restored_tb_without_room_is_told_so_unless_a_tb_leaves_meanwhile():
    g = GEOMETRIES["2 TBs"]
    dut = component(Admission, g)

    async def bench(ctx):
        ctx.set(dut.kernels[1], {"registers": 4, "warps": 1, "threads": 8})
        ctx.set(dut.footprints[1], {"rows": 1, "lines": 0})
        answers = []
        for leaves in (None, *range(5)):  # cycles after the offer at which a TB leaves
            ctx.set(dut.room.occupied, 3)
            ctx.set(dut.admit.payload, {"kernel": 1})
            ctx.set(dut.admit.valid, 1)
            await ctx.tick().until(dut.admit.ready)
            ctx.set(dut.admit.valid, 0)
            for now in range(30):
                ctx.set(dut.remove, now == leaves)
                if ctx.get(dut.admitted.valid):
                    break
                await ctx.tick()
                if now == leaves:
                    ctx.set(dut.room.occupied, 2)
            answer = ctx.get(dut.admitted)
            assert answer.valid and not answer.bad
            answers.append(answer.full)
            await ctx.tick()
            ctx.set(dut.remove, 0)
            await ctx.tick()
            assert ctx.get(dut.admit.ready), "the next is not taken"
        assert answers[0] and answers[-1] and not all(answers[1:])

    simulate(dut, bench)


def test_a_kernel_that_begins_is_looked_at_though_the_one_before_found_no_room():
    """And nothing leaves the SM in between."""
    g = GEOMETRIES["2 TBs"]
    dut = component(Admission, g)

    async def bench(ctx):
        for rows in (g.register_rows, 1):  # too many beside the other kernel's, then few
            ctx.set(dut.kernels[1], {"registers": 4, "warps": 1, "threads": 8})
            ctx.set(dut.footprints[1], {"rows": rows, "lines": 0})
            ctx.set(dut.start, 2)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.eligible, 2)
            assert ctx.get(dut.grid.request) == 2
            ctx.set(dut.grid.next, {"kernel": 1})
            ctx.set(dut.fresh.ready, 1)
            entered = False
            for _ in range(40):
                ctx.set(dut.grid.next_valid, ctx.get(dut.grid.request) == 2)
                entered |= bool(ctx.get(dut.room.insert.valid))
                await ctx.tick()
            assert entered == (rows == 1)
            assert entered or ctx.get(dut.grid.request) == 0, "it waits until something leaves"
            ctx.set(dut.eligible, 0)  # killed

    async def beside(ctx):
        ctx.set(dut.room.occupied, 1)
        ctx.set(dut.room.warps_taken, 1)
        ctx.set(dut.room.warp_count, 1)
        ctx.set(dut.kernels[0], {"registers": 4, "warps": 1, "threads": 8})
        ctx.set(dut.footprints[0], {"rows": 1, "lines": 0})
        ctx.set(dut.admit.payload, {"kernel": 0})
        ctx.set(dut.admit.valid, 1)
        await ctx.tick().until(dut.admit.ready)
        ctx.set(dut.admit.valid, 0)
        await ctx.tick().until(dut.admitted.valid)
        await bench(ctx)

    simulate(dut, beside)


@pytest.mark.parametrize("when", range(5))
def test_a_kernel_that_begins_while_another_finds_no_room_is_looked_at(when):
    """In whatever cycle of the other's attempt: one that was blocked before begins anew, and is not blocked."""
    g = GEOMETRIES["2 TBs"]
    dut = component(Admission, g)

    async def offered(ctx, kernel, cycles, begins=None):
        """Offer a TB of a kernel, and begin kernel 1 anew in a cycle."""
        ctx.set(dut.eligible, 1 << kernel)
        ctx.set(dut.grid.next, {"kernel": kernel})
        ctx.set(dut.grid.next_valid, 1)
        for cycle in range(cycles):
            if ctx.get(dut.launching.valid):
                ctx.set(dut.grid.next_valid, 0)
            ctx.set(dut.start, 2 if cycle == begins else 0)
            await ctx.tick()
        ctx.set(dut.start, 0)

    async def bench(ctx):
        for kernel, rows in ((0, 1), (1, g.register_rows)):
            ctx.set(dut.kernels[kernel], {"registers": 4, "warps": 1, "threads": 8})
            ctx.set(dut.footprints[kernel], {"rows": rows, "lines": 0})
        ctx.set(dut.fresh.ready, 1)
        await offered(ctx, 0, 20)
        for port in (dut.room.occupied, dut.room.warps_taken, dut.room.warp_count):
            ctx.set(port, 1)
        await offered(ctx, 1, 20)
        ctx.set(dut.eligible, 2)
        assert ctx.get(dut.grid.request) == 0, "it needs all rows, and one is taken"
        ctx.set(dut.room.occupied, 3)  # no slot is left for another TB of kernel 0
        await offered(ctx, 0, 8, when)
        ctx.set(dut.eligible, 2)
        assert ctx.get(dut.grid.request) == 2

    simulate(dut, bench)


class Staying:
    """An SM of which every row of registers is taken: by TBs that run, and by what stays of preempted ones."""

    def __init__(self, ctx, dut, g):
        self.ctx, self.dut, self.g = ctx, dut, g
        self.occupied = 0
        for k in range(g.kernel_slots):
            ctx.set(dut.kernels[k], {"registers": 4, "warps": 1, "threads": 8, "shared_bytes": 0})
            ctx.set(dut.footprints[k], {"rows": g.register_rows // 2, "lines": 0})

    async def fill(self, owners):
        """TBs of these kernels come, and leave again; their registers stay."""
        ctx, dut, g = self.ctx, self.dut, self.g
        for row, kernel in enumerate(owners):
            await self.restored(kernel, entry=row)
            slot = ctx.get(dut.admitted.tb)
            ctx.set(dut.staying.move_registers, {"valid": 1, "owner": slot, "to": g.tb_slots + row})
            ctx.set(dut.staying.rows[row].what, {"kernel": kernel, "entry": row})
            await ctx.tick()
            ctx.set(dut.staying.move_registers.valid, 0)
        ctx.set(dut.staying.evictable, (1 << len(owners)) - 1)

    async def restored(self, kernel, entry=0):
        """Ask for room for a restored TB; return whether it is told that there is none."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.admit.payload, {"kernel": kernel, "entry": entry})
        ctx.set(dut.admit.valid, 1)
        await ctx.tick().until(dut.admit.ready)
        ctx.set(dut.admit.valid, 0)
        await self.until(dut.admitted.valid)
        return ctx.get(dut.admitted.full)

    async def fresh(self, kernel):
        """Offer a fresh TB until its kernel is not asked for any more."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.eligible, 1 << kernel)
        ctx.set(dut.grid.next, {"kernel": kernel})
        ctx.set(dut.grid.next_valid, 1)
        await self.until(~dut.grid.request.bit_select(kernel, 1))
        ctx.set(dut.grid.next_valid, 0)

    async def until(self, condition):
        for _ in range(200):
            if self.ctx.get(condition):
                return
            await self.ctx.tick()
        raise TimeoutError


@pytest.mark.parametrize("how", ["restored", "fresh"])
def test_what_is_stuck_is_in_no_plan_and_who_needs_it_alone_is_hopeless(how):
    """Rows 0 and 1 are of kernels 0 and 1; kernel 1 or 2 wants the room of one of them."""
    g = preset("tiny").replace(kernel_slots=3)
    dut = component(Admission, g)

    async def bench(ctx):
        sm = Staying(ctx, dut, g)

        async def asks():
            if how == "fresh":
                await sm.fresh(2)
            else:
                assert await sm.restored(2, entry=1)
            await ctx.tick().repeat(2)
            return ctx.get(dut.evict), ctx.get(dut.hopeless)

        async def stuck(kernels):
            ctx.set(dut.stuck, kernels)
            await ctx.tick()
            await ctx.tick()
            assert not ctx.get(dut.evict) and not ctx.get(dut.hopeless), "all try again"
            assert not ctx.get(dut.eligible) or ctx.get(dut.grid.request) == 0b100

        await sm.fill([0, 1])
        assert await asks() == (0b01, 0)
        await stuck(0b001)
        assert await asks() == (0b10, 0), "the other row makes room too"
        await stuck(0b011)
        assert await asks() == (0, 0b100)
        await stuck(0b010)
        assert await asks() == (0b01, 0)
        await stuck(0b011)
        ctx.set(dut.room.occupied, 0b10)  # one that runs may make room yet
        assert await asks() == (0, 0)
        ctx.set(dut.room.occupied, 0)
        ctx.set(dut.remove, 0b10)
        await ctx.tick()
        ctx.set(dut.remove, 0)
        assert await asks() == (0, 0b100)
        ctx.set(dut.remove, 0b01)  # it is not, any more, once something leaves
        await ctx.tick()
        ctx.set(dut.remove, 0)
        assert not ctx.get(dut.hopeless)
        assert await asks() == (0, 0b100)
        ctx.set(dut.footprints[0].rows, 0)  # or comes in
        assert not await sm.restored(0, entry=0) and not ctx.get(dut.hopeless)

    simulate(dut, bench)


PORTS = {**{name: f"room.{name}" for name in ("occupied", "warps_taken", "warp_count")},
         **{name: f"grid.{name}" for name in ("next_valid", "next")}}
"""Inputs that are members of a port."""


class Machine:
    """What is around an `Admission`: kernels, TBs that run, that are saved, what stays of them. It asks the model."""

    def __init__(self, dut, rng, kinds):
        self.dut, self.g, self.rng, self.model = dut, dut.geometry, rng, Model(dut.geometry)
        kernels = range(self.g.kernel_slots)
        self.kernels, self.footprints = [None for _ in kernels], [None for _ in kernels]
        for k in kernels:
            self.describe(k)
        self.rows, self.saved, self.staying = {}, [], [None] * self.g.tb_slots
        """TBs by slot, saved ones, and which of these has left something in each row of the staying table."""
        self.junk = {}  # where nothing is valid
        self.kept = [0] * self.g.tb_slots  # kernels of these rows
        self.back = []  # what stays and is its TB's again
        self.offered, self.waiting, self.entered, self.dying = None, None, None, None
        self.stuck, self.left, self.kinds = 0, 0, kinds

    def describe(self, k):
        """Kernel `k` becomes another, often one of whose TBs many fit, or that needs the room of a few of those."""
        g, rng = self.g, self.rng
        units = g.warps, g.register_rows, g.shared_lines
        if rng.random() < 0.7:
            warps, rows, lines = (rng.randint(*(max(1, most // part) for part in parts)) for most, parts in zip(
                units, ((9, 5), (5, 2), (4, 2)) if k == 0 else ((9, 5), (16, 8), (8, 8)), strict=True))
        else:
            warps, rows, lines = (rng.randint(1, max(1, most // rng.choice((1, 2, 5, 5, 8)))) for most in units)
        self.kernels[k] = noise(rng, self.dut.kernels[0].shape()) | {
            "warps": warps, "local_bytes": rng.choice([0, number(rng, 16)])}
        if g.spare_entries:
            self.kernels[k]["entries"] = rng.choice([0, *range(g.tb_slots, g.context_entries + 1)])
        self.footprints[k] = {"rows": rows, "lines": rng.choice([0, lines, lines, lines])}

    def theme(self):
        """For a while TBs leave, are saved and come back, and what stays of them is evicted, often or seldom; or what
        stays fills the SM, and TBs want room of which nothing is there; or all that can be there is; or no more than
        stays is, and it is stuck."""
        rng, every = self.rng, (1 << self.g.kernel_slots) - 1
        self.kind = rng.choice(self.kinds)
        self.left, self.last = (600, 0.2) if self.kind == "packed" else (100, rng.choice((0.05, 0.3, 1)))
        self.leaves, self.saves, self.keeps, self.restores, self.evicts, self.starts = (
            rng.choice(choices) for choices in {
                "usual": ((0, 0.02, 0.1, 0.3), (0, 0.5, 0.9), (0.3, 0.9), (0.02, 0.3), (0, 0.05, 0.3), (0.2, 0.9)),
                "fills": ((0.05, 0.1, 0.2), (0.95,), (0.95,), (0, 0.5), (0, 0.02, 0.1), (0.9,)),
                "stuck": ((0.3,), (0.95,), (0.95,), (0, 0.5), (0,), (0.9,)),
                "packed": ((0.1,), (1,), (1,), (0,), (0.1,), (0.9,))}[self.kind])
        self.eligible = rng.choice([every, every, every, number(rng, self.g.kernel_slots)])
        self.stuck = rng.choice([0, 0, self.stuck, number(rng, self.g.kernel_slots), every])
        if self.kind == "stuck":
            self.last, self.stuck = 1, every
        if rng.random() < 0.3:
            self.dying = rng.randrange(self.g.kernel_slots)

    def cycle(self):
        """Return the inputs of a cycle."""
        g, rng, dut = self.g, self.rng, self.dut
        if rng.random() < 0.1 or not self.junk:
            move = dut.staying.move_lines
            self.junk = {name: noise(rng, port.shape()) | {"valid": 0} for name, port in (
                ("ended", dut.ended), ("adopted", dut.adopted), ("move_registers", move), ("move_lines", move))}
            self.junk |= {name: noise(rng, dut.grid.next.shape()) for name in ("next", "admit.payload")}
            self.junk["next"]["kernel"] = rng.randrange(g.kernel_slots)
        given = {name: dict(each) for name, each in self.junk.items()}
        given |= {"start": 0, "remove": 0, "release": 0, "next_valid": 0}
        if rng.random() < (0.02 if self.kind == "usual" else 0.04):
            self.stuck ^= 1 << rng.randrange(g.kernel_slots)
        given["eligible"] = self.eligible & ~(0 if self.dying is None else 1 << self.dying)
        self._ends(given)
        self._leaves(given)
        given |= {"kernels": list(self.kernels), "footprints": list(self.footprints),
                  "occupied": sum(1 << tb for tb in self.rows), "stuck": self.stuck, "rows": list(self.kept),
                  "warps_taken": sum(row["warps"] for row in self.rows.values()),
                  "warp_count": sum(row["warps"].bit_count() for row in self.rows.values()),
                  "evictable": sum(1 << r for r, tb in enumerate(self.staying) if tb and not tb["lent"]),
                  "fresh.ready": int(rng.random() < self.starts)}
        if g.has_uncore:
            given["grant"] = noise(rng, dut.grant.shape()) | {"valid": int(rng.random() < self.starts),
                                                              "none": int(rng.random() < 0.3)}
        self._offers(given)
        return given

    def _offers(self, given):
        """A saved TB, now and then with local memory that is not its own, and a fresh one of a kernel that is asked
        for."""
        rng = self.rng
        able = [tb for tb in self.saved if self.kind == "usual" or tb["row"] is None]
        if self.offered is None and able and rng.random() < self.restores:
            self.offered = rng.choice(able)
            self.saved.remove(self.offered)
            self.offered["lent"] = True
            wrong = rng.choice([0, 0, 0, 1 << rng.randrange(32)])
            self.payload = {name: self.offered[name] for name, _ in self.dut.grid.next.shape()}
            self.payload["local_base"] ^= wrong
        given["admit.valid"] = int(self.offered is not None and self.waiting is None)
        if given["admit.valid"]:
            given["admit.payload"] = dict(self.payload)
        wanted = [k for k in range(self.g.kernel_slots) if self.model.request(given) >> k & 1]
        if wanted and self.model.state == "idle":
            given["next_valid"] = int(rng.random() < 0.8)
        if given["next_valid"]:
            given["next"] = noise(rng, self.dut.grid.next.shape()) | {"kernel": rng.choice(wanted)}

    def _tbs(self, kernel):
        return [each for each in (*self.rows.values(), *self.saved, self.offered, self.waiting)
                if each and each["kernel"] == kernel]

    def _leaves(self, given):
        """A TB ends or is saved, or what stays of one is evicted, or belongs to it again."""
        rng, g = self.rng, self.g
        for what, name in self.back:
            given[f"move_{name}"] = what
        moving, self.back = bool(self.back), []
        stay = [r for r, tb in enumerate(self.staying) if tb and not tb["lent"]]
        wanted = [r for r in stay if self.model.evict >> r & 1]
        over = [r for r in stay if self.kept[r] == self.dying]
        if rng.random() < (self.evicts if wanted else 0.2 if over else self.evicts / 4) and stay:
            r = rng.choice(wanted or over or stay)
            given["release"] = 1 << g.tb_slots + r
            self.staying[r].update(registers=0, lines=0, row=None)
            self.staying[r] = None
        ready = [tb for tb, row in self.rows.items() if row is not self.entered]
        stays = None not in self.staying
        full = self.kind != "usual" and stays and len(self.rows) < g.tb_slots  # then TBs come in
        over = [tb for tb in ready if self.rows[tb]["kernel"] == self.dying]
        often = max(self.leaves * (self.last if full else 1), 0.1 if over else 0)
        if moving or not ready or rng.random() >= often:
            return
        slot = rng.choice(over or ready)
        tb = self.rows[slot]
        large = self.kind != "usual" and tb["kernel"] == 0
        ends = (tb["kernel"] == self.dying or large or self.kind == "packed" and stays
                or rng.random() >= self.saves)
        if ends and given["ended"]["valid"]:
            return
        given["remove"] = 1 << slot
        if ends:
            given["ended"] = {"valid": 1, "kernel": tb["kernel"], "entry": tb["entry"]}
            return
        tb |= {"registers": 0, "lines": 0, "lent": False, "row": None}
        free = [r for r, each in enumerate(self.staying) if each is None and not given["release"]]
        if free and rng.random() < self.keeps:
            r = rng.choice(free)
            for name in rng.choice((("registers",), ("lines",), *[("registers", "lines")] * 4)):
                given[f"move_{name}"] = {"valid": 1, "owner": slot, "to": g.tb_slots + r}
                tb[name] = 1
            self.staying[r], self.kept[r], tb["row"] = tb, tb["kernel"], r
            tb["lent"] = True  # its row can be evicted from the cycle after
        self.saved.append(tb)

    def _ends(self, given):
        """A saved TB is forgotten; a kernel of which nothing is left begins anew or is taken over from memory."""
        k, rng = self.dying, self.rng
        many = self.kind == "packed" or len(self.saved) > 7
        away = [tb for tb in self.saved if tb["row"] is None and (tb["kernel"] == k or many)]
        if away and rng.random() < 0.3:
            gone = away[0]
            self.saved.remove(gone)
            given["ended"] = {"valid": 1, "kernel": gone["kernel"], "entry": gone["entry"]}
            return
        if k is None and rng.random() < 0.05:
            k = rng.randrange(self.g.kernel_slots)
        idle = self.model.state == "idle" or self.model.current["kernel"] != k
        if k is not None and not self._tbs(k) and idle:
            given["eligible"] &= ~(1 << k)
            self.dying = None
            self.describe(k)
            if rng.random() < 0.7:
                given["start"] = 1 << k
                return
            entries = number(rng, self.g.context_entries)
            given["adopted"] |= {"valid": 1, "kernel": k, "saved": entries}
            for entry in range(self.g.context_entries):
                if entries >> entry & 1:
                    info, size = self.kernels[k], local_region_bytes(
                        self.g, self.kernels[k]["warps"], self.kernels[k]["local_bytes"])
                    self.saved.append(noise(rng, self.dut.grid.next.shape()) | {
                        "kernel": k, "entry": entry, "registers": 0, "lines": 0, "lent": False, "row": None,
                        "local_base": (info["local_base"] + entry * size) % (1 << 32)})

    def follow(self, given, told):
        """What the block has told comes to pass."""
        model = self.model
        if given["remove"]:
            del self.rows[given["remove"].bit_length() - 1]
        for tb in self.staying:
            if tb and tb["lent"] and any(tb is each for each in self.saved):
                tb["lent"] = False
        if told["room.insert.valid"]:
            own = "room.insert.row."
            row = {name.removeprefix(own): value for name, value in told.items() if name.startswith(own)}
            self.entered = self.rows[told["room.insert.tb"]] = row
        if told["fresh.valid"] and given["fresh.ready"]:
            self.entered = None
        if told["admitted.valid"]:
            tb, self.waiting = self.waiting, None
            if told["admitted.full"] or told["admitted.bad"]:
                tb["lent"] = False
                self.saved.append(tb)
            else:
                if tb["row"] is not None:
                    self.back = [({"valid": 1, "owner": self.g.tb_slots + tb["row"], "to": told["admitted.tb"]}, name)
                                 for name in ("registers", "lines") if tb[name]]
                    self.staying[tb["row"]] = None
                self.entered = None
        if given["admit.valid"] and told["admit.ready"]:
            self.waiting, self.offered = self.offered, None
        model.step(given)

    def run(self, cycles):
        """Yield inputs, those that change, and outputs."""
        staying, before = ("release", "evictable", "move_registers", "move_lines"), {}
        for _ in range(cycles):
            if self.left == 0:
                self.theme()
            self.left -= 1
            given = self.cycle()
            told = self.model.outputs(given)
            inputs = {PORTS.get(name, name): value for name, value in given.items() if name not in (
                "kernels", "footprints", "rows", *staying)}
            for name in ("kernels", "footprints"):
                inputs |= {f"{name}.{k}": value for k, value in enumerate(given[name])}
            inputs |= {f"staying.rows.{r}.what.kernel": kernel for r, kernel in enumerate(given["rows"])}
            inputs |= {f"staying.{name}": given[name] for name in staying}
            yield {name: value for name, value in inputs.items() if before.get(name) != value}, told
            before = inputs
            self.follow(given, told)


KINDS = ("usual", "fills", "stuck", "packed")
DEVICE = preset("tiny").replace(sms=2, warps=8, tb_slots=3, kernel_slots=3, entries=7, watches=2)
MODELLED = {"5 TBs": (GEOMETRIES["5 TBs"], ("usual", "usual", "fills", "stuck")),
            "packed": (GEOMETRIES["5 TBs"], ("packed",)), "of a device": (DEVICE, KINDS)}


@pytest.mark.parametrize("name, cycles", quick(
    [("5 TBs", 150), ("5 TBs", 12000), ("packed", 12000), ("of a device", 3000)], [("5 TBs", 150)]))
def test_all_is_as_of_a_model(name, cycles):
    g, kinds = MODELLED[name]
    dut = component(Admission, g)
    lockstep(dut, Machine(dut, random.Random(name), kinds).run(cycles))
