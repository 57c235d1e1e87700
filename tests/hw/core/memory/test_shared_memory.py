"""Shared loads, stores, lines and rows against a byte-array model."""

import random
from itertools import count

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import AtomicOp, Size
from support.core.shared_memory_bench import GEOMETRIES, LINE, TINY, Bench, accesses, atomic, strided
from support.selection import quick


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8 of 32 lanes"]))
def test_random_accesses_clears_and_faults_match_the_model(name):
    """The write port has back-pressure. A fault has no effect but its report."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < 0.3)

    sent = accesses(rng, g, max(25, 480 // g.warp_size), odd=0.1, beyond=8)
    bench.run(lambda ctx: bench.send_all(ctx, rng, sent))
    assert {kind for kind, *_ in bench.faults} == {Fault.MISALIGNED, Fault.SHARED_BOUND}


@pytest.mark.parametrize(("name", "stall"), [("tiny", 0.0), ("tiny, 4 lanes", 0.0), ("8 of 32 lanes", 0.0),
                                             ("tiny", 0.6), ("tiny, 4 lanes", 0.6)])
def test_rows_are_saved_and_restored_while_other_lines_are_used(name, stall):
    """Rows of lines 0 and 7 are written and read while TB 0 runs on lines 1 to 5; its results are held back or not."""
    g, rng, slow = GEOMETRIES[name], random.Random(name), random.Random(3)
    bench = Bench(g, busy=lambda: slow.random() < stall)
    per_line = LINE // (4 * g.lanes)
    last_line = 7

    async def script(ctx):
        for access in [strided(g, n, 1, store=True, start=n * 4 * g.warp_size) for n in range(4)]:
            await bench.send(ctx, access)
        for line in (0, last_line):
            for row in range(line * per_line, (line + 1) * per_line):
                assert await bench.row(ctx, row) == [0] * g.lanes, "an invalid line must read as zeros"
                await bench.row(ctx, row, [rng.getrandbits(32) for _ in range(g.lanes)])
                await bench.send(ctx, strided(g, row % 8, 1))
                expected = bench.model[row * 4 * g.lanes:(row + 1) * 4 * g.lanes].view(np.uint32).tolist()
                assert await bench.row(ctx, row) == expected
        await bench.settle(ctx)
        await bench.clean(ctx, last_line, 1)
        await bench.settle(ctx)
        assert bench.valid >> last_line & 1 and not bench.dirty >> last_line & 1 and bench.dirty & 1
        await bench.row(ctx, last_line * per_line, [5] * g.lanes)
        await bench.settle(ctx)
        assert bench.dirty >> last_line & 1
        await bench.clear(ctx, 0, 1)
        assert await bench.row(ctx, 0) == [0] * g.lanes
    bench.run(script)


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["tiny", "tiny, 4 lanes", "8 of 32 lanes"]))
def test_the_first_store_to_a_line_zeroes_what_a_former_owner_left(name):
    g = GEOMETRIES[name]
    bench = Bench(g)

    async def script(ctx):
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 1, 1, store=True, start=start))
        await bench.settle(ctx)
        await bench.clear(ctx, 1, 1)
        one = strided(g, 2, 1, store=True, size=Size.U8)
        one.mask = 1
        await bench.send(ctx, one)
        for start in range(0, LINE, 4 * g.warp_size):
            await bench.send(ctx, strided(g, 3, 1, start=start))
            await bench.settle(ctx)
    bench.run(script)
    assert bench.model[LINE:2 * LINE].any() and bench.model[LINE + 1:2 * LINE].sum() == 0


def test_of_lanes_that_store_to_one_byte_the_highest_wins():
    bench = Bench(TINY)
    access = strided(TINY, 1, 0, store=True, size=Size.U16, start=6)
    access.mask = 0b0101_1010

    async def script(ctx):
        await bench.send(ctx, access)
        await bench.send(ctx, strided(TINY, 2, 0, size=Size.U16, start=6))
    bench.run(script)
    assert bench.model[LINE + 6:LINE + 8].view(np.uint16)[0] == access.data[0][6]


@pytest.mark.parametrize("name", quick(GEOMETRIES, ("tiny", "8 of 32 lanes")))
def test_passes_and_latency_of_strided_loads(name):
    """A stride of 2 words makes 2 passes, an odd one or the same word 1; the first write comes 3 cycles later."""
    g = GEOMETRIES[name].replace(unit_queue=4)
    bench = Bench(g)
    bench.TBS = {0: (0, g.shared_bytes), 1: (0, 0)}

    async def script(ctx):
        for words, passes in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4)]:
            first = len(bench.op_cycles), len(bench.write_cycles), len(bench.done_cycles)
            for number in range(6):
                await bench.send(ctx, strided(g, number, words))
            await bench.settle(ctx)
            ops, writes, done = (cycles[since:] for cycles, since in zip(
                (bench.op_cycles, bench.write_cycles, bench.done_cycles), first, strict=True))
            assert done[-1] - done[1] == 4 * g.beats * passes
            assert writes[0] - ops[g.beats - 1] == 2 + passes
    bench.run(script)


def test_stores_to_dirty_lines_flow_one_a_cycle():
    g = TINY.replace(unit_queue=4)
    bench = Bench(g)

    async def script(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True))
        await bench.settle(ctx)
        for number in range(10):
            await bench.send(ctx, strided(g, number, 1, store=True))
    bench.run(script)
    assert bench.done_cycles[-1] - bench.done_cycles[1] == 9


@pytest.mark.parametrize(("function", "most"), [(None, 3), (AtomicOp.ADD, 5), (AtomicOp.FADD, 9)])
def test_rows_do_not_wait_for_running_tbs(function, most):
    """Loads or atomics wait all the time. Rows are read and written among them, and neither changes the other."""
    g, rng = TINY.replace(unit_queue=4), random.Random(5)
    bench = Bench(g)
    per_line = LINE // (4 * g.lanes)
    rows, finished = [0, per_line - 1, 7 * per_line, 8 * per_line - 1], []

    async def feed(ctx):
        await bench.send(ctx, strided(g, 0, 1, store=True))
        for number in count():
            if finished:
                break
            await bench.send(ctx, strided(g, number, g.lanes) if function is None else atomic(g, number, 0, function))

    async def script(ctx):
        kept, waits = {}, []
        while bench.credits:
            await ctx.tick()
        for number in range(24):
            row = rows[number] if number < len(rows) else rng.choice(rows)
            data = [rng.getrandbits(32) for _ in range(g.lanes)] if row not in kept or number % 3 == 0 else None
            before = bench.cycle
            found = await bench.row(ctx, row, data)
            waits.append(bench.cycle - before)
            assert bench.credits < g.unit_queue, "nothing waited"
            assert data is not None or found == kept[row]
            kept[row] = data or kept[row]
            for _ in range(rng.randrange(1, 5)):
                await ctx.tick()
        finished.append(True)
        assert max(waits) <= most, waits
    bench.run(script, beside=feed)


def test_rows_and_operations_take_turns():
    """A row is offered all the time and operations wait all the time: each of them transfers every other cycle."""
    g = TINY.replace(unit_queue=4)
    bench, rows = Bench(g), []

    async def offer(ctx):
        ctx.set(bench.unit.state.row.valid, 1)
        for _ in range(60):
            *_, taken = await ctx.tick().sample(bench.unit.state.row.ready)
            if taken:
                rows.append(bench.cycle)
        ctx.set(bench.unit.state.row.valid, 0)

    async def script(ctx):
        for number in range(10):
            await bench.send(ctx, strided(g, number, 1))
        await bench.settle(ctx)
    bench.run(script, beside=offer)
    assert np.diff(rows).tolist() == [2] * 29
    assert np.diff(bench.done_cycles).tolist() == [2] * 9
