"""The command sequencer: what is noted of a command, the check of the save area, and who is told to begin."""

import random

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import MAX_BLOCK_THREADS, preset
from caesura.hw.arch.image.context import Mechanism, area_bound
from caesura.hw.arch.image.encodings import row_words
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from caesura.hw.preempt.sequence.sequencer import FLUSH_CYCLES, Sequencer
from support.hw.options import flat, nested
from support.hw.simulation import component
from support.hw.stream_bench import put, simulate, value

GEOMETRIES = {"tiny": preset("tiny"), "ecp5 with 8 kernels": preset("ecp5").replace(kernel_slots=8)}


def some_kernel(g, rng, spare):
    """A kernel whose save areas have `spare` bytes more than they need."""
    registers = rng.choice([1, g.regs_per_thread, rng.randint(1, g.regs_per_thread)])
    warps = rng.choice([1, g.max_block_warps, rng.randint(1, g.max_block_warps)])
    shared = rng.choice([0, 1, 127, 128, 129, g.shared_bytes - 1, g.shared_bytes, rng.randint(1, g.shared_bytes)])
    return {"registers": registers, "warps": warps, "shared_bytes": shared, "ccb_base": 128 * rng.getrandbits(25),
            "area_bytes": area_bound(g, warps, registers, shared) + spare,
            **({"trap_base": rng.choice([0, 1, 40, 1 << 24])} if g.traps else {}),
            "block_x": rng.choice([1, 8, 16, 24, 32, 33, 48, MAX_BLOCK_THREADS])}


def accepted_of(g, kernel, command):
    same = ("kernel", "again", "adopt", "mechanism", "scramble", "gang", "restart", "checkpoint", "incremental",
            "grace_used", "spared", "in_place", "evict", *(("newcomer", "newcomer_tbs") if g.in_place else ()))
    return {**{name: kernel[name] for name in ("registers", "warps", "ccb_base", "area_bytes")},
            **{name: command[name] for name in same},
            **({"trap": command["trap"] and kernel["trap_base"] != 0} if g.traps else {}),
            "lines": -(-kernel["shared_bytes"] // 128), "row_words": row_words(kernel["registers"])}


def settle(ctx, dut, settled):
    """Say whether nothing is outstanding in memory, and no admission."""
    ctx.set(dut.save.settled, settled)
    ctx.set(dut.restore.settled, settled)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_commands_one_after_the_other(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(Sequencer, g)
    errors = CommandError.NONE, CommandError.BUS_ERROR, CommandError.BAD_IMAGE

    async def command(ctx, generation):
        """Run a command; return the generation after it."""
        spare = rng.choice([-128, 0, 0, 128, 4096])
        kernel, number, error = some_kernel(g, rng, spare), rng.randrange(g.kernel_slots), rng.choice(errors)
        left, cancelled = rng.getrandbits(1), rng.random() < 0.3
        for slot in range(g.kernel_slots):
            ctx.set(dut.kernels[slot], kernel if slot == number else some_kernel(g, rng, 0))
        wanted = {"resume": rng.getrandbits(1), "adopt": 0, "kernel": number, "mechanism": rng.choice(list(Mechanism)),
                  "scramble": rng.getrandbits(1), "gang": rng.getrandbits(1), "again": rng.getrandbits(1),
                  "patience": rng.choice([0, 1, 1000, UNLIMITED_PATIENCE]), "grace_used": rng.getrandbits(32),
                  "restart": rng.random() < 0.3, "checkpoint": rng.random() < 0.3, "incremental": rng.getrandbits(1),
                  "spared": rng.choice([0, 0, 1, 2]), "in_place": rng.getrandbits(1) * g.in_place, "evict": 0,
                  "trap": rng.getrandbits(1) * g.traps}
        if g.in_place:
            wanted |= {"newcomer": rng.getrandbits(4), "newcomer_tbs": rng.getrandbits(6)}
            ctx.set(dut.book.rows_stay, wanted["in_place"])  # nothing of it is to be evicted
        resume = wanted["resume"]
        small = not resume and spare < 0
        assert ctx.get(dut.command.ready) and not ctx.get(dut.result.valid)
        await put(ctx, dut.command, nested(dut.command.payload.shape(), wanted))
        # The cycle after the command was taken.
        accepted = flat(value(ctx.get(dut.state.accepted)))
        assert {name: accepted[name] for name in accepted if name not in ("generation", "allocated")} == (
            accepted_of(g, kernel, wanted))
        assert ctx.get(dut.state.clear) and ctx.get(dut.restore.resume.begin) == resume == ctx.get(dut.state.resume)
        stops = not resume and (wanted["mechanism"] == Mechanism.OCCUPIED or not wanted["patience"]
                                or wanted["restart"])
        for cycle in range(1 if resume else 2):
            if cycle:
                await ctx.tick()
            assert not ctx.get(dut.command.ready) and not ctx.get(dut.result.valid)
            assert ctx.get(dut.save.stop_pending) == (not resume)
            assert ctx.get(dut.save.stop_now) == stops
            assert not ctx.get(dut.state.saving)
        assert ctx.get(dut.save.preempt.begin) == (not resume and not small)
        await ctx.tick()
        generation = (generation + (not resume and not small)) & 0xFFFF
        if not small:
            assert ctx.get(dut.state.accepted.generation) == generation
            assert ctx.get(dut.state.accepted.allocated) == (1 << kernel["registers"]) - 1
            steps = dut.save.preempt, dut.restore.resume
            other, done = (step.done for step in (steps if resume else steps[::-1]))
            ctx.set(other, {"valid": 1, "error": CommandError.BAD_IMAGE})  # not at work: it is not heard
            for _ in range(rng.randint(0, 4)):
                assert (ctx.get(dut.state.saving), ctx.get(dut.state.resuming)) == (not resume, resume)
                assert not ctx.get(dut.state.clear) and not any(ctx.get(step.begin) for step in steps)
                await ctx.tick()
            ctx.set(other.valid, 0)
            ctx.set(done, {"valid": 1, "error": error, "left": left and resume})
            ctx.set(dut.intervention.cancel, cancelled)  # it may come with the end
            await ctx.tick()
            ctx.set(done.valid, 0)
            if cancelled:
                await flush(ctx)
            elif not resume and error == CommandError.NONE and not wanted["checkpoint"]:
                error = await (record if rng.random() < 0.7 else spared)(ctx)
        assert not ctx.get(dut.state.saving) and not ctx.get(dut.state.resuming)
        assert not ctx.get(dut.book.check_begin) and not ctx.get(dut.save.record_write)
        result = ctx.get(dut.result)
        assert result.valid
        if small or not cancelled:
            assert result.error == (CommandError.AREA_TOO_SMALL if small else error)
            assert result.left == (left and resume and not small)
        await ctx.tick()
        assert ctx.get(dut.save.stop_pending) == ctx.get(dut.save.stop_now) == ctx.get(dut.result.valid) == 0
        return generation

    async def spared(ctx):
        """A preempt that ended well, but others of the kernel are on the SM: there is no record."""
        for _ in range(rng.randint(0, 3)):
            assert not ctx.get(dut.book.check_begin) and not ctx.get(dut.result.valid)
            await ctx.tick()
        ctx.set(dut.save.unspared_left, 1)
        assert not ctx.get(dut.book.check_begin)
        await ctx.tick()
        ctx.set(dut.save.unspared_left, 0)
        assert not ctx.get(dut.save.record_write)
        return CommandError.NONE

    async def record(ctx):
        """A preempt that ended well: once its TBs have left the record is written; return how that ends."""
        ctx.set(dut.save.kernel_left, 0)
        for wait, signal in ((dut.save.kernel_left, dut.book.check_begin),
                             (dut.book.check_done, dut.save.record_write)):
            for _ in range(rng.randint(0, 3)):
                assert not ctx.get(signal) and not ctx.get(dut.result.valid)
                await ctx.tick()
            ctx.set(wait, 1)
            assert ctx.get(signal)
            await ctx.tick()
            ctx.set(wait, 0)
        ctx.set(dut.save.record_busy, 1)
        settle(ctx, dut, 1)
        await ctx.tick().repeat(rng.randint(1, 4))
        ctx.set(dut.save.record_busy, 0)
        settle(ctx, dut, 0)
        await ctx.tick().repeat(rng.randint(1, 4))
        assert not ctx.get(dut.result.valid) and not ctx.get(dut.save.record_write)
        failed = rng.random() < 0.3
        ctx.set(dut.save.write_error, failed)
        assert not ctx.get(dut.book.record_written)
        settle(ctx, dut, 1)
        assert ctx.get(dut.book.record_written) == (not failed)
        await ctx.tick()
        ctx.set(dut.save.write_error, 0)
        settle(ctx, dut, 0)
        return CommandError.BUS_ERROR if failed else CommandError.NONE

    async def flush(ctx):
        """What was begun is held in reset until memory has answered, and the core."""
        settled = rng.choice((1, 5, FLUSH_CYCLES, 2 * FLUSH_CYCLES))
        for cycle in range(1, max(settled, FLUSH_CYCLES) + 1):
            settle(ctx, dut, cycle >= settled)
            assert ctx.get(dut.state.flush) and not ctx.get(dut.result.valid)
            await ctx.tick()
            assert not ctx.get(dut.save.stop_pending) and not ctx.get(dut.save.stop_now)
        settle(ctx, dut, 0)
        ctx.set(dut.intervention.cancel, 0)
        assert not ctx.get(dut.state.flush)

    async def bench(ctx):
        generation = ctx.get(dut.state.accepted.generation)
        for _ in range(60):
            generation = await command(ctx, generation)

    simulate(dut, bench)


def test_a_save_area_of_one_byte_too_few_is_refused():
    """The bound is that of the format, for the least and the most that a kernel can have, and between."""
    g, rng = GEOMETRIES["tiny"], random.Random(9)
    dut = component(Sequencer, g)
    sizes = [(warps, rng.randint(1, g.regs_per_thread), rng.randint(0, g.shared_bytes))
             for warps in range(1, g.max_block_warps + 1) for _ in range(12)]

    async def bench(ctx):
        for warps, registers, shared in ((1, 1, 0), (1, 1, 1), (g.max_block_warps, g.regs_per_thread, g.shared_bytes),
                                         *sizes):
            bound = area_bound(g, warps, registers, shared)
            for area in (bound - 1, bound):
                ctx.set(dut.kernels[0], {"warps": warps, "registers": registers, "shared_bytes": shared,
                                         "area_bytes": area, "block_x": 8})
                await put(ctx, dut.command, {"options": {"mechanism": Mechanism.LIVE}})
                await ctx.tick()
                assert ctx.get(dut.save.preempt.begin) == (area == bound)
                await ctx.tick()
                if area == bound:
                    ctx.set(dut.save.preempt.done, {"valid": 1, "error": CommandError.BUS_ERROR})
                    await ctx.tick()
                    ctx.set(dut.save.preempt.done.valid, 0)
                assert ctx.get(dut.result.valid)
                await ctx.tick()

    simulate(dut, bench)


async def preempt(ctx, dut, **wanted):
    """Begin a preempt whose save area is large enough; it is the cycle after it was taken."""
    ctx.set(dut.kernels[0], {"registers": 4, "warps": 1, "area_bytes": 1 << 20, "block_x": 8})
    await put(ctx, dut.command, nested(dut.command.payload.shape(), wanted))


async def end(ctx, dut):
    """Let the command end, and see that nothing is left of it."""
    while not ctx.get(dut.state.saving) and not ctx.get(dut.state.resuming):
        await ctx.tick()
    done = dut.save.preempt.done if ctx.get(dut.state.saving) else dut.restore.resume.done
    ctx.set(done, {"valid": 1, "error": CommandError.BUS_ERROR})
    await ctx.tick()
    ctx.set(done.valid, 0)
    await ctx.tick()
    assert ctx.get(dut.save.stop_pending) == ctx.get(dut.save.stop_now) == 0


@pytest.mark.parametrize("mechanism", [Mechanism.LIVE, Mechanism.LIVE_CP], ids=lambda m: m.name)
def test_stop_now_rises_after_as_many_cycles_of_draining_as_the_patience_has(mechanism):
    dut, rng = component(Sequencer, GEOMETRIES["tiny"]), random.Random(mechanism)

    async def bench(ctx):
        for patience in (1, 2, 3, 7, 64, UNLIMITED_PATIENCE, 5, UNLIMITED_PATIENCE - 1,
                         *(1 << k for k in range(8, 32))):
            await preempt(ctx, dut, mechanism=mechanism, patience=patience)
            drained = 0
            for _ in range(200):
                assert ctx.get(dut.save.stop_pending) and ctx.get(dut.save.stop_now) == (drained >= patience)
                draining = rng.getrandbits(1)
                ctx.set(dut.save.draining, draining)
                await ctx.tick()
                drained += draining
            ctx.set(dut.save.draining, 0)
            await end(ctx, dut)

    simulate(dut, bench)


def test_an_upgrade_takes_the_patience_of_the_preempt_in_hand_and_of_no_other_command():
    dut, rng = component(Sequencer, GEOMETRIES["tiny"]), random.Random(5)

    async def hasten(ctx):
        ctx.set(dut.intervention.hasten, 1)
        await ctx.tick()
        ctx.set(dut.intervention.hasten, 0)

    async def bench(ctx):
        await hasten(ctx)
        assert not ctx.get(dut.save.stop_now)
        for _ in range(6):
            await preempt(ctx, dut, mechanism=Mechanism.LIVE, patience=UNLIMITED_PATIENCE)
            for _ in range(rng.randrange(4)):
                assert not ctx.get(dut.save.stop_now)
                await ctx.tick()
            await hasten(ctx)
            for _ in range(5):
                assert ctx.get(dut.save.stop_pending) and ctx.get(dut.save.stop_now)
                await ctx.tick()
            await end(ctx, dut)
            await preempt(ctx, dut, resume=1)
            await hasten(ctx)
            assert not ctx.get(dut.save.stop_pending) and not ctx.get(dut.save.stop_now)
            await end(ctx, dut)
        await preempt(ctx, dut, mechanism=Mechanism.LIVE, patience=UNLIMITED_PATIENCE)
        while not ctx.get(dut.state.saving):
            await ctx.tick()
        ctx.set(dut.save.preempt.done.valid, 1)
        await ctx.tick()
        ctx.set(dut.save.preempt.done.valid, 0)
        assert ctx.get(dut.result.valid)
        await hasten(ctx)  # in its last cycle
        assert not ctx.get(dut.save.stop_now)

    simulate(dut, bench)


@pytest.mark.parametrize("failed", (0, 1))
def test_the_record_of_a_kernel_that_has_no_entry_is_void_before_it_is_resumed(failed):
    dut = component(Sequencer, GEOMETRIES["tiny"])

    async def bench(ctx):
        for saved, stands in ((1, 1), (1, 0), (0, 0), (0, 1)):
            ctx.set(dut.book.any_saved, saved)
            ctx.set(dut.book.record_stands, stands)
            await put(ctx, dut.command, {"resume": 1})
            first = stands and not saved
            assert (ctx.get(dut.save.record_void), ctx.get(dut.restore.resume.begin)) == (first, not first)
            await ctx.tick()
            if first:
                assert not ctx.get(dut.state.resuming)
                ctx.set(dut.save.record_busy, 1)
                await ctx.tick().repeat(3)
                ctx.set(dut.save.record_busy, 0)
                await ctx.tick().repeat(3)
                assert not ctx.get(dut.book.record_voided)
                settle(ctx, dut, 1)
                ctx.set(dut.save.write_error, failed)
                assert ctx.get(dut.book.record_voided) == ctx.get(dut.restore.resume.begin) == (not failed)
                await ctx.tick()
            if first and failed:
                assert ctx.get(dut.result.valid) and ctx.get(dut.result.error) == CommandError.BUS_ERROR
                assert not ctx.get(dut.result.left)
                return
            assert ctx.get(dut.state.resuming)
            await end(ctx, dut)

    simulate(dut, bench)


@pytest.mark.parametrize("error", (CommandError.NONE, CommandError.BAD_IMAGE))
@pytest.mark.parametrize("generation", (0, 1, 5))
def test_generations_go_on_above_that_of_an_adopted_record(error, generation):
    dut = component(Sequencer, GEOMETRIES["tiny"])

    async def bench(ctx):
        for _ in range(3):
            await preempt(ctx, dut)
            await end(ctx, dut)
        await put(ctx, dut.command, {"adopt": 1})
        assert ctx.get(dut.restore.adopt.begin) and not ctx.get(dut.save.stop_pending)
        await ctx.tick()
        assert ctx.get(dut.state.adopting) and not ctx.get(dut.restore.adopt.begin)
        ctx.set(dut.restore.record_generation, generation)
        await ctx.tick().repeat(3)
        ctx.set(dut.restore.adopted.valid, error == CommandError.NONE)
        ctx.set(dut.restore.adopt.done, {"valid": 1, "error": error})
        await ctx.tick()
        ctx.set(dut.restore.adopted.valid, 0)
        ctx.set(dut.restore.adopt.done.valid, 0)
        assert ctx.get(dut.result.valid) and ctx.get(dut.result.error) == error
        assert ctx.get(dut.state.accepted.generation) == max(3, generation if error == CommandError.NONE else 0)

    simulate(dut, bench)


async def evicts(ctx, dut, row, rng, error=CommandError.NONE):
    """See that a row of the staying table is evicted as it says itself, beginning in this cycle; let it end."""
    assert ctx.get(dut.book.row_select) == row
    what = {"mechanism": rng.choice([Mechanism.LIVE, Mechanism.LIVE_CP]), "scramble": rng.getrandbits(1)}
    ctx.set(dut.book.row.what, what)
    await ctx.tick()
    accepted = flat(value(ctx.get(dut.state.accepted)))
    assert {name: accepted[name] for name in what} == what and accepted["evict"]
    assert not (accepted["restart"] or accepted["checkpoint"] or accepted["incremental"])
    assert ctx.get(dut.save.evict.begin) and not ctx.get(dut.state.evicting)
    await ctx.tick()
    for _ in range(rng.randint(0, 3)):
        assert ctx.get(dut.state.evicting) and not ctx.get(dut.save.evict.begin) and not ctx.get(dut.result.valid)
        await ctx.tick()
    ctx.set(dut.save.evict.done, {"valid": 1, "error": error})
    await ctx.tick()
    ctx.set(dut.save.evict.done.valid, 0)
    assert not ctx.get(dut.state.evicting)


@pytest.mark.parametrize("error", (CommandError.NONE, CommandError.BUS_ERROR))
def test_a_row_is_evicted_when_that_is_commanded(error):
    dut, rng = component(Sequencer, GEOMETRIES["tiny"]), random.Random(error)

    async def bench(ctx):
        ctx.set(dut.book.rows_stay, 1)  # others do: the command is about this one
        ctx.set(dut.book.first_row, 1)
        for _ in range(4):
            await preempt(ctx, dut, evict=1, staying=1, restart=1, incremental=1)
            assert ctx.get(dut.state.clear) and not ctx.get(dut.save.stop_pending) and not ctx.get(dut.save.stop_now)
            await ctx.tick()
            await evicts(ctx, dut, 1, rng, error)
            if error == CommandError.NONE:  # its kernel has others on the SM: there is no record
                await ctx.tick()
            result = ctx.get(dut.result)
            assert result.valid and result.error == error and not result.left
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("stop", ("none", "withdraw", "cancel"))
def test_a_preempt_that_leaves_nothing_in_place_evicts_all_that_stays(stop):
    dut, rng = component(Sequencer, GEOMETRIES["tiny"]), random.Random(stop)

    async def bench(ctx):
        await preempt(ctx, dut, mechanism=Mechanism.LIVE, patience=UNLIMITED_PATIENCE)
        ctx.set(dut.book.rows_stay, 1)
        ctx.set(dut.book.first_row, 1)
        while not ctx.get(dut.state.saving):
            await ctx.tick()
        ctx.set(dut.save.preempt.done.valid, 1)
        await ctx.tick()
        ctx.set(dut.save.preempt.done.valid, 0)
        await evicts(ctx, dut, 1, rng)
        ctx.set(dut.book.first_row, 0)
        await ctx.tick()
        await evicts(ctx, dut, 0, rng)
        ctx.set(dut.book.rows_stay, 0)
        if stop != "none":
            ctx.set(getattr(dut.intervention, stop), 1)
        await ctx.tick()
        if stop == "none":
            assert not ctx.get(dut.book.check_begin)
            ctx.set(dut.save.kernel_left, 1)  # it waits for its record
            assert ctx.get(dut.book.check_begin) and ctx.get(dut.save.stop_pending)
        else:
            assert ctx.get(dut.state.flush) == (stop == "cancel") and ctx.get(dut.result.valid) == (stop == "withdraw")

    simulate(dut, bench)


def test_an_eviction_can_be_cancelled():
    dut = component(Sequencer, GEOMETRIES["tiny"])

    async def bench(ctx):
        await preempt(ctx, dut, evict=1)
        while not ctx.get(dut.state.evicting):
            await ctx.tick()
        ctx.set(dut.intervention.cancel, 1)
        await ctx.tick()
        assert ctx.get(dut.state.flush) and not ctx.get(dut.state.evicting) and not ctx.get(dut.result.valid)

    simulate(dut, bench)
