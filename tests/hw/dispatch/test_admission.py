"""Admission among TBs that come and go: each gets the first place that fits."""

import random
from collections import deque

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.room import first_fit
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.hw.dispatch.admission import Admission
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"2 TBs": preset("tiny").replace(kernel_slots=2),
              "5 TBs": preset("tiny").replace(warps=11, tb_slots=5, kernel_slots=3, registers=128)}
SEARCH = 24
"""Upper bound of the cycles that a search for room takes."""


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
        """Return the rows of registers and lines of shared memory of a TB."""
        info = self.kernels[kernel]
        return -(-info["registers"] * info["warps"] // 4), -(-info["shared_bytes"] // 128)

    def entry(self, kernel, entries):
        """Return the lowest entry of a kernel that is not taken, None if all are."""
        taken = {entry for owner, entry in entries.values() if owner == kernel}
        return next((k for k in range(self.g.tb_slots) if k not in taken), None)

    def region(self, kernel, entry):
        """Return the address of the local memory of a kernel's entry."""
        info = self.kernels[kernel]
        return info["local_base"] + entry * local_region_bytes(self.g, info["warps"], info["local_bytes"])

    def place(self, kernel, resident):
        """Return the place of a TB among others: slot, rows, lines, warp slots; None if there is no room."""
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
        """Return the next TB of a kernel."""
        number = self.next[kernel]
        return {"kernel": kernel, "launch_id": number, "ctaid_x": 3 * number, "ctaid_y": kernel, "ctaid_z": 7,
                "local_base": 0, "entry": 0}

    def offer(self, ctx, request, eligible):
        """Offer a TB as the grid walker does, of an eligible kernel, another kernel each time."""
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
        # a TB that leaves has ended, or was saved and may come back
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
        """Check a row that comes into the TB table: its place is the first that fits now, or fitted some cycles ago."""
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
        """Check that no other TB has any part of a place."""
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
