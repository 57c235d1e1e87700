"""In-place preempts at any time, beside all others: nothing is lost, and nobody waits for ever."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_native import random_program
from support.programs.guests import (
    Guest,
    bench_of,
    evicted,
    machine,
)
from support.selection import quick
from support.sim.launch import Bench

SMALL = preset("tiny").replace(name="small", in_place=True)


class Prepared:
    """A random program on a fresh golden model, and a kernel that takes the place of what stays."""

    def __init__(self, seed):
        self.program = random_program(SMALL, seed, statements=8)
        self.transport = GoldenTransport(SMALL, 1 << 20, seed=seed)
        self.bench = Bench(self.transport)
        self.output = self.bench.allocate(self.program.output_bytes)
        self.loaded = self.bench.load(0, self.program.image, self.program.grid, self.program.block,
                                      (self.output, self.bench.store(self.program.inputs)))
        self.bench.start(0)

    def result(self):
        return self.transport.read_memory(self.output, self.program.output_bytes)


@pytest.mark.parametrize("seed, scramble", quick(
    [(seed, scramble) for seed in (0, *range(4, 12)) for scramble in (False, True)],
    [(0, False), (9, True), (11, True)]))
def test_random_programs_with_random_preempts_in_place(seed, scramble):
    """Any of in-place preempt, with and without a newcomer, which then comes or not, evictions, checkpoints, whole and
    incremental preempts, with any mechanism, again and again: the result is the same."""
    whole = Prepared(seed)
    whole.bench.finish(0)
    run, rng, kept = Prepared(seed), random.Random(seed), 0
    bench, others = run.bench, []
    for _ in range(30):
        run.transport.advance(rng.randint(1, 14))
        if bench.state(0) is not KernelState.RUNNING:
            break
        mechanism, number = rng.choice(list(Mechanism)), rng.randrange(6)
        if number == 0:
            bench.checkpoint(0, mechanism, scramble)
            continue
        if number == 1:
            bench.preempt(0, mechanism, scramble, incremental=rng.random() < 0.5)
        else:
            other = Guest(bench, 1, rng.randint(1, 3), rng.randint(1, 2), rng.randint(6, 16), rng.randint(2, 4), 1)
            bench.preempt(0, mechanism, scramble, in_place=True, newcomer=(1, rng.randint(0, 2)))
            kept += len(machine(bench).stays())
            if rng.random() < 0.7:
                bench.start(1)
                others.append(other)
                if rng.random() < 0.7:
                    bench.finish(1)
        if bench.state(0) is KernelState.PREEMPTED:
            if machine(bench).stays() and rng.random() < 0.3:
                bench.preempt(0, rng.choice(list(Mechanism)), scramble)
            bench.command(Command.RESUME, 0, scramble=scramble)
        if others:
            bench.finish(1)
            others.pop().check()
        if bench.state(0) is KernelState.RESUMING:
            bench.transport.advance(1)
        bench.set("event", resumed=1)
    bench.finish(0)
    assert bench.fault() is None and run.result() == whole.result()
    assert kept and evicted(bench)[0], (kept, evicted(bench))


@pytest.mark.parametrize("seed", quick(range(6), [0]))
def test_three_kernels_that_fight_for_room_all_end(seed):
    """They are preempted in place and not, for one another, and resumed at random; then each is resumed once."""
    rng, bench = random.Random(seed), bench_of()
    guests = [Guest(bench, slot, rng.randint(3, 5), rng.randint(1, 3), rng.randint(6, 16), rng.randint(2, 6), 9)
              for slot in range(3)]
    scramble = bool(seed & 1)
    for guest in guests:
        bench.start(guest.slot)
    for _ in range(80):
        bench.transport.advance(rng.choice((1, 3, 10, 40)))
        slot = rng.randrange(3)
        in_place = rng.random() < 0.7
        bench.set("newcomer", kernel=rng.randrange(3), tbs=rng.randint(0, 4))
        bench.set("spared", rng.choice((0, 0, rng.getrandbits(4))))
        state = bench.state(slot)
        if state is KernelState.PREEMPTED:
            bench.command(rng.choice((Command.RESUME, Command.RESUME, Command.PREEMPT)), slot,
                          rng.choice(list(Mechanism)), scramble)
        elif state in (KernelState.RUNNING, KernelState.RESUMING):
            bench.command(Command.PREEMPT, slot, rng.choice(list(Mechanism)), scramble, in_place=in_place)
        elif state is KernelState.PREEMPTING and rng.random() < 0.1:
            bench.command(Command.ABORT, slot)
    for _ in range(400):
        states = [bench.state(slot) for slot in range(3)]
        for slot in range(3):
            if states[slot] is KernelState.PREEMPTED:
                bench.command(Command.RESUME, slot, scramble=scramble)
        bench.transport.advance(100)
    assert [bench.state(slot) for slot in range(3)] == [KernelState.FINISHED] * 3
    for guest in guests:
        guest.check()
    assert evicted(bench)[0] and not machine(bench).stays() and not bench.fields("status")["resident"]
