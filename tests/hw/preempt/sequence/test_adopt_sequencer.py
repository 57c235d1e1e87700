"""The adopt sequencer: the record, then all entries, those of bases if there are increments, then their generations;
and what ends it."""

import random

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import CCB_RECORD, entry_address, place_of, record_address
from caesura.hw.preempt.sequence.adopt_sequencer import AdoptSequencer
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, value

GEOMETRIES = {checkpoints: preset("tiny").replace(tb_slots=3, warps=6, checkpoints=checkpoints, in_place=checkpoints)
              for checkpoints in (True, False)} | {"spare entries": preset("tiny").replace(entries=5)}
ENDS = {"well": CommandError.NONE, "record": CommandError.BAD_IMAGE, "entries": CommandError.BAD_IMAGE,
        "generations": CommandError.BAD_IMAGE, "record cannot be read": CommandError.BUS_ERROR,
        "entries cannot be read": CommandError.BUS_ERROR}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_how_it_ends(how, name):
    g, rng = GEOMETRIES[name], random.Random(how)
    checkpoints = g.checkpoints
    dut = component(AdoptSequencer, g)

    async def wait(ctx):
        for _ in range(rng.randint(0, 4)):
            assert not ctx.get(dut.done.valid) and not ctx.get(dut.adopted.valid)
            await ctx.tick()

    async def entries(ctx, ccb, sides):
        """All entries are asked for, each on its side; then nothing is."""
        for number in range(g.context_entries):
            job = await get(ctx, dut.read_job, rng, 0.5)
            place = place_of(g, number, sides >> number & 1)
            assert (job.address, job.words, job.checked) == (entry_address(ccb, place), 16, 0)
        assert not ctx.get(dut.record_reading)
        await wait(ctx)
        assert not ctx.get(dut.read_job.valid)

    async def once(ctx):
        record = {name: rng.getrandbits(field.width) for name, field in CCB_RECORD}
        sides, increments = (record["sides"], rng.getrandbits(1)) if checkpoints else (0, 0)
        ccb, kernel = rng.randrange(1 << 24) * 128, rng.randrange(g.kernel_slots)
        ctx.set(dut.accepted, {"ccb_base": ccb, "kernel": kernel})
        for signal in (dut.record_full, dut.images_full, dut.bases_pending, dut.entries_full, dut.check_done,
                       dut.read_error,
                       dut.reads_idle):
            ctx.set(signal, 0)
        for _ in range(3):
            assert not ctx.get(dut.read_job.valid), "it was not begun"
            await ctx.tick()
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        job = await get(ctx, dut.read_job, rng, 0.5)
        assert (job.address, job.words, job.checked) == (record_address(g, ccb), 16, 0)
        await wait(ctx)
        assert ctx.get(dut.record_reading)
        ctx.set(dut.record, record)
        ctx.set(dut.record_bad, how.startswith("record"))
        ctx.set(dut.read_error, how == "record cannot be read")
        await ctx.tick()
        ctx.set(dut.record_full, 1)
        assert ctx.get(dut.entries_clear)
        await ctx.tick()
        if how.startswith("record"):
            return await end(ctx, kernel, record)
        ctx.set(dut.bases_pending, increments)
        await entries(ctx, ccb, sides)
        if increments:
            ctx.set(dut.images_full, 1)
            await entries(ctx, ccb, ~sides)
        ctx.set(dut.entries_bad, how.startswith("entries"))
        ctx.set(dut.read_error, how == "entries cannot be read")
        await ctx.tick()
        ctx.set(dut.images_full, 1)
        ctx.set(dut.entries_full, 1)
        assert ctx.get(dut.check_begin)
        await ctx.tick()
        ctx.set(dut.entries_bad, 0)
        if how.startswith("entries"):
            return await end(ctx, kernel, record)
        await wait(ctx)
        ctx.set(dut.generations, record["generations"] ^ (how == "generations"))
        ctx.set(dut.check_done, 1)
        await ctx.tick()
        return await end(ctx, kernel, record)

    async def end(ctx, kernel, record):
        assert not ctx.get(dut.read_job.valid)
        await wait(ctx)
        ctx.set(dut.reads_idle, 1)
        await ctx.tick()
        assert ctx.get(dut.done.valid) and ctx.get(dut.done.error) == ENDS[how] and not ctx.get(dut.done.left)
        adopted = value(ctx.get(dut.adopted))
        assert adopted["valid"] == (how == "well") and adopted["kernel"] == kernel
        assert adopted["saved"] == record["saved"] & (1 << g.context_entries) - 1
        assert adopted["progress"] == {name: record[name] for name in adopted["progress"]}
        await ctx.tick()
        assert not ctx.get(dut.done.valid)

    async def bench(ctx):
        for _ in range(10):
            await once(ctx)

    simulate(dut, bench)
