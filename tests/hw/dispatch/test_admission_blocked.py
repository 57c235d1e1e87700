"""Admission without room: which TBs wait, what is evicted for them, and which are hopeless."""

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.admission import Admission
from support.hw.simulation import component
from support.hw.stream_bench import simulate

TWO_TBS = preset("tiny").replace(kernel_slots=2)


def test_a_restored_tb_without_room_is_told_so_unless_a_tb_leaves_meanwhile():
    g = TWO_TBS
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
    """Nothing leaves the SM in between."""
    g = TWO_TBS
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
    """A kernel that was blocked begins anew in any cycle of the other's attempt, and is not blocked."""
    g = TWO_TBS
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
    """An SM whose rows of registers are all taken, by TBs that run and by registers of preempted ones that stay."""

    def __init__(self, ctx, dut, g):
        self.ctx, self.dut, self.g = ctx, dut, g
        self.occupied = 0
        for k in range(g.kernel_slots):
            ctx.set(dut.kernels[k], {"registers": 4, "warps": 1, "threads": 8, "shared_bytes": 0})
            ctx.set(dut.footprints[k], {"rows": g.register_rows // 2, "lines": 0})

    async def fill(self, owners):
        """Let TBs of these kernels come and leave again; their registers stay."""
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
