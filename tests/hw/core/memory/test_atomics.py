"""What an atomic does to a word: lane, model and Python's integers agree; operations on one word follow each other."""

import random

import numpy as np
import pytest

from caesura.hw.arch.isa.opcodes import AtomicOp
from caesura.hw.core.memory.atomics import AtomicLane, AtomicPipeline
from support.core.memory_ops import atomic_value
from support.hw.simulation import Simulator, component
from support.selection import quick

NARROW_ONLY = (AtomicOp.FADD, AtomicOp.INC, AtomicOp.DEC)
KINDS = [(op, wide) for op in AtomicOp for wide in (False, True) if not (wide and op in NARROW_ONLY)]
EDGES = [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFFE, 1 << 32, 1 << 63, (1 << 63) - 1, (1 << 64) - 1]
REALS = [0x0000_0000, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001, 0x0000_0001, 0x8000_0001,
         0x7F7F_FFFF, 0xFF7F_FFFF, 0x3F80_0000, 0xBF80_0000, 0x0080_0000, 0x3380_0000, 0x3380_0001]


def operands(op, count, seed=0):
    """Edge values against each other, equal and neighbouring ones, and random ones of any magnitude."""
    rng = random.Random(f"{op} {seed}")
    edges = REALS if op is AtomicOp.FADD else EDGES
    tuples = [(old, b, rng.choice(edges)) for old in edges for b in edges]
    while len(tuples) < count:
        bits = rng.choice([2, 31, 32, 33, 64])
        old, c = rng.getrandbits(bits), rng.getrandbits(64)
        if op is AtomicOp.FADD:
            old = rng.getrandbits(32)
            b = rng.choice([rng.getrandbits(32), old ^ 1 << 31, (old ^ rng.getrandbits(25)) & 0xFFFF_FFFF])
        else:
            b = rng.choice([old, old + 1, old ^ 1 << 63, old ^ 1 << 31, rng.getrandbits(bits)]) & (1 << 64) - 1
        tuples.append((old, b, c))
    return tuples


@pytest.mark.parametrize(("op", "wide"), KINDS, ids=lambda value: getattr(value, "name", str(value)))
def test_model_agrees_with_python(op, wide):
    tuples = operands(op, 4000)
    old, b, c = (np.array(column, np.uint64) for column in zip(*tuples, strict=True))
    got = AtomicLane.compute(op, wide, old, b, c)
    assert [int(value) for value in got] == [atomic_value(op, wide, *values) for values in tuples]


@pytest.mark.parametrize("op, wide", quick(KINDS, [*KINDS[:3], (AtomicOp.FADD, False), (AtomicOp.MIN_S, True)]),
                         ids=lambda value: getattr(value, "name", str(value)))
def test_lane_agrees_with_the_model_at_one_operation_a_cycle(op, wide):
    """With gaps, in which it must keep what is on its way."""
    rng = random.Random(5)
    tuples = operands(op, 300, seed=1)
    expected = AtomicLane.compute(op, wide, *(np.array(column, np.uint64) for column in zip(*tuples, strict=True)))
    lane, latency = component(AtomicLane), AtomicLane.FLOAT_LATENCY if op is AtomicOp.FADD else 1
    results = []

    async def driver(ctx):
        waiting = list(tuples)
        sent, pending = [], []
        for cycle in range(3 * len(tuples)):
            if len(results) == len(tuples):
                break
            go = bool(waiting) and rng.random() < 0.8
            ctx.set(lane.valid, go)
            ctx.set(lane.function, op if go else rng.choice(list(AtomicOp)))
            ctx.set(lane.wide, wide if go else rng.getrandbits(1))
            for name, value in zip(("old", "b", "c"), waiting[0] if go else [rng.getrandbits(64)] * 3, strict=True):
                ctx.set(getattr(lane, name), value)
            if go:
                sent.append(waiting.pop(0))
                pending.append((cycle + latency, sent[-1][0]))
            await ctx.tick()
            if pending and pending[0][0] == cycle + 1:
                _, old = pending.pop(0)
                result = ctx.get(lane.real if op is AtomicOp.FADD else lane.integer)
                results.append(result)
                if op is not AtomicOp.FADD:
                    assert ctx.get(lane.changed) == (result != old & ((1 << 64) - 1 if wide else 0xFFFF_FFFF))

    simulator = Simulator(lane)
    simulator.add_clock(1e-6)
    simulator.add_testbench(driver)
    simulator.run()
    assert results == [int(value) for value in expected]


@pytest.mark.parametrize(("op", "gap"), [(AtomicOp.ADD, 3), (AtomicOp.FADD, 2 + AtomicLane.FLOAT_LATENCY)])
def test_operations_on_one_word_see_each_other_and_others_flow(op, gap):
    pipeline = AtomicPipeline(2, 1)
    one = 0x3F80_0000 if op is AtomicOp.FADD else 1
    memory = [0, 0, 0, 0]
    taken: list[tuple[int, int]] = []

    async def driver(ctx):
        places, cycle = [0, 1, 2, 3, 0, 0, 0, 1, 1, 2], 0
        while places or ctx.get(pipeline.busy):
            ctx.set(pipeline.op, {"function": op, "b": one, "place": places[0] if places else 0})
            go = bool(places) and not ctx.get(pipeline.holds)
            ctx.set(pipeline.op.valid, go)
            if go:
                taken.append((cycle, places.pop(0)))
            if ctx.get(pipeline.read.valid):
                ctx.set(pipeline.old, memory[ctx.get(pipeline.read.place)])
            if ctx.get(pipeline.result.valid):
                place, value = ctx.get(pipeline.result.place), ctx.get(pipeline.result.data)
                await ctx.tick()
                memory[place] = value
            else:
                await ctx.tick()
            cycle += 1

    simulator = Simulator(pipeline)
    simulator.add_clock(1e-6)
    simulator.add_testbench(driver)
    simulator.run()
    total = [4, 3, 2, 1]
    assert memory == ([int(np.float32(n).view(np.uint32)) for n in total] if op is AtomicOp.FADD else total)
    cycles = [cycle for cycle, _ in taken]
    assert cycles[:4] == [0, 1, 2, 3] and cycles[6] - cycles[5] == cycles[5] - cycles[4] == gap
