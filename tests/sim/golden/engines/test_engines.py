"""The compiled engine and the numpy model are equal at any cycle: state, trace, faults, preemption."""

import random

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.workloads.random_native import random_program
from support.selection import quick
from support.sim.engines import EnginePair
from support.sim.launch import Bench, argument_words

GEOMETRIES = {
    "tiny": preset("tiny"),
    "one block": preset("tiny").replace(tb_slots=1, windows=1),
    "16 lanes": preset("tiny").replace(warp_size=16, lanes=16, registers=256, stack_depth=16),
    "ecp5": preset("ecp5"),
    "gtx980": preset("gtx980"),
}
CYCLES = 100_000


class Prepared:
    """A random program on both engines, running."""

    def __init__(self, g, seed, trace=True, **options):
        self.pair = EnginePair(g, trace=trace)
        program = random_program(g, seed, registers=min(16, g.regs_per_thread), **options)
        self.benches = [Bench(transport) for transport in self.pair.transports]
        for bench in self.benches:
            output = bench.allocate(program.output_bytes)
            words = argument_words(program.image, output, bench.store(program.inputs))
            bench.load(0, program.image, program.grid, program.block, words)
            bench.start(0)

    @property
    def state(self):
        return self.benches[0].state(0)

    def each(self, do):
        expected, got = (do(bench) for bench in self.benches)
        assert expected == got
        return expected

    def finish(self, rng):
        """Run to the end in strides of random length, comparing after each."""
        strides = 0
        while self.state is not KernelState.FINISHED:
            cycles = rng.choice((1, 2, rng.randrange(3, 40), rng.randrange(40, 1000)))
            self.pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
            self.pair.check()
            strides += 1
            assert strides < CYCLES
        return strides


@pytest.mark.parametrize("seed", quick(range(60), [1]))
@pytest.mark.parametrize("name", GEOMETRIES)
def test_state_and_trace_of_random_programs_are_equal_wherever_one_stops(name, seed):
    run = Prepared(GEOMETRIES[name], seed, statements=15 + 15 * (seed % 3), racing=seed % 2 == 1)
    assert run.finish(random.Random(seed)) > 5


@pytest.mark.parametrize("seed", quick(range(2, 30), [2]))
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("name", quick(["tiny", "ecp5"], ["ecp5"]))
def test_a_kernel_preempted_by_one_engine_is_resumed_by_the_other(name, mechanism, seed):
    rng = random.Random(seed)
    run = Prepared(GEOMETRIES[name], seed, statements=20)
    saved = 0
    while run.state is KernelState.RUNNING:
        cycles = rng.randrange(1, 400)
        run.pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
        if run.state is KernelState.RUNNING:
            run.each(lambda bench: bench.preempt(0, mechanism, scramble=True))
            run.pair.check()
        if run.state is KernelState.PREEMPTED:
            saved += 1
            run.pair.exchange()
            run.each(lambda bench: bench.resume(0, scramble=True))
        run.pair.check()
    assert run.state is KernelState.FINISHED and saved > 1
