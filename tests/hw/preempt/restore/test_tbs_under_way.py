"""Jobs of two banks, counted."""

import random
from collections import deque

from caesura.hw.preempt.restore.tbs_under_way import TbsUnderWay
from support.hw.stream_bench import simulate


def test_a_bank_is_pending_while_it_has_a_job_under_way():
    dut, rng, jobs, seen = TbsUnderWay(6), random.Random(0), deque(), set()

    async def bench(ctx):
        for _ in range(600):
            assert ctx.get(dut.pending) == (0 in jobs) | (1 in jobs) << 1
            seen.add((ctx.get(dut.pending), len(jobs)))
            begins, ends = len(jobs) < 6 and rng.random() < 0.5, bool(jobs) and rng.random() < 0.45
            bank = rng.getrandbits(1)
            ctx.set(dut.begins, begins)
            ctx.set(dut.begun, bank)
            ctx.set(dut.ends, ends)
            ctx.set(dut.ended, jobs[0] if ends else rng.getrandbits(1))
            if ends:
                jobs.popleft()
            if begins:
                jobs.append(bank)
            await ctx.tick()

    simulate(dut, bench)
    assert {pending for pending, _ in seen} == {0, 1, 2, 3} and max(held for _, held in seen) == 6
