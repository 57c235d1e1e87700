"""What is left in a queue of what was there at some time, against a list."""

import random

from caesura.hw.core.memory.generation import Backlog
from support.hw.stream_bench import simulate


def test_the_backlog_is_what_was_there_and_has_not_left():
    depth, rng = 5, random.Random(2)
    dut, seen = Backlog(depth), {"full": 0, "marked again": 0, "ended": 0}

    async def bench(ctx):
        queue, marked = [], []
        for number in range(3000):
            enters = len(queue) < depth and rng.random() < (0.7 if number // 200 % 2 else 0.3)
            leaves = bool(queue) and rng.random() < 0.5
            mark = rng.random() < 0.04
            for port, value in ((dut.enter, enters), (dut.leave, leaves), (dut.mark, mark)):
                ctx.set(port, value)
            assert ctx.get(dut.pending) == bool(marked)
            seen["full"] += mark and len(queue) == depth
            seen["marked again"] += mark and bool(marked)
            if leaves:
                gone = queue.pop(0)
                seen["ended"] += marked == [gone]
                marked = [each for each in marked if each != gone]
            if enters:
                queue.append(number)
            if mark:
                marked = list(queue)
            await ctx.tick()

    simulate(dut, bench)
    assert min(seen.values()) > 3
