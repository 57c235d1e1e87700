"""Thread blocks that yield are the same on both engines, at any cycle."""

import functools
import random

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from support.programs.yields import expected, images, order
from support.selection import quick
from support.sim.engines import EnginePair
from support.sim.launch import Bench, argument_words

TINY = preset("tiny")
kernels = functools.cache(images)


class Prepared:
    """Two kernels whose TBs wait for each other, on both engines."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        warps = rng.choice([4, 6])
        g = TINY.replace(tb_slots=rng.randint(2, 5), warps=warps, watches=rng.randint(1, 3))
        self.pair = EnginePair(g, 1 << 17, trace=True)
        self.sizes = [rng.randint(2, g.tb_slots), rng.randint(2, g.tb_slots)]
        self.after = order(rng, *self.sizes)
        work, total = rng.randint(1, 60), sum(self.sizes)
        self.benches = [Bench(transport) for transport in self.pair.transports]
        for bench in self.benches:
            self.done, out = bench.allocate(128 * total), bench.allocate(64 * total)
            for slot, (first, count) in enumerate(((0, self.sizes[0]), (self.sizes[0], self.sizes[1]))):
                names = bench.store(np.array(self.after[first:first + count], np.int32).tobytes())
                bench.load(slot, kernels()["graph"], (count,), (16,), argument_words(
                    kernels()["graph"], names, self.done + 128 * first, out + 64 * first, 128, work))
            bench.start(0)
            bench.start(1)

    def each(self, do):
        expected, got = (do(bench) for bench in self.benches)
        assert expected == got
        return expected

    def finish(self):
        """Run to the end in strides, with preempts and calls between."""
        rng = self.rng
        for _ in range(2000):
            states = [self.benches[0].state(slot) for slot in (0, 1)]
            if all(state is KernelState.FINISHED for state in states):
                return
            cycles, slot = rng.choice((1, 2, rng.randrange(3, 40), rng.randrange(40, 300))), rng.randrange(2)
            if states[slot] is KernelState.PREEMPTED:
                self.each(lambda bench: bench.resume(slot))  # noqa: B023
            elif states[slot] is KernelState.RUNNING and rng.random() < 0.05:
                mechanism = rng.choice(list(Mechanism))
                self.each(lambda bench: bench.preempt(slot, mechanism))  # noqa: B023
            elif rng.random() < 0.1:
                begin = self.done + rng.randrange(128 * sum(self.sizes))
                self.each(lambda bench: bench.set("notify_begin", begin))  # noqa: B023
                self.each(lambda bench: bench.set("notify_end", begin + 200))  # noqa: B023
            self.pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
            self.pair.check()
            if rng.random() < 0.05:
                self.pair.exchange()
        raise TimeoutError(f"{states} after 2000 strides")


@pytest.mark.parametrize("seed", quick(range(40), [1, 2]))
def test_both_engines_let_the_same_leave_and_come_back(seed):
    run = Prepared(seed)
    run.finish()
    flags, _ = expected(run.after, run.sizes[0], 16)
    for transport in run.pair.transports:
        found = np.frombuffer(transport.read_memory(run.done, 128 * len(flags)), np.uint32)[::32]
        assert found.tolist() == flags
    if seed < 3:
        assert run.each(lambda bench: bench.get("kernel[0].yields") + bench.get("kernel[1].yields"))
