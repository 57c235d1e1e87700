"""Running on over branches: next to all ways that control may take, and the pictures of small graphs."""

import random

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler.flashback.blocks import Block as FlashbackBlock
from caesura.software.compiler.flashback.blocks import Effect, FlashbackError, Instruction, Register, RegisterClass
from caesura.software.compiler.flashback.costs import Costs, Objective
from caesura.software.compiler.flashback.defer import Deferral, Deferrals
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.program import CodeBlock, Program, loop_depths
from caesura.software.kernels import KERNELS

R = [Register(RegisterClass.VECTOR, k) for k in range(6)]
COSTS = Costs()


def random_flow(rng):
    """A program of blocks with whatever is live: only what the decision looks at."""
    blocks = []
    lengths = [rng.randrange(4) for _ in range(rng.randrange(1, 6))]
    starts = [sum(lengths[:number]) + number for number in range(len(lengths))]
    for start, length in zip(starts, lengths, strict=True):
        ops = tuple(Instruction("op", cycles=rng.choice((1, 2, 30)),
                                effect=rng.choice((Effect.COMPUTE, Effect.COMPUTE, Effect.COMPUTE, Effect.LIMIT)))
                    for _ in range(length))
        live = tuple(frozenset(rng.sample(R, rng.randrange(7))) for _ in range(length + 1))
        after = tuple(rng.sample(starts, min(len(starts), rng.randrange(3))))
        blocks.append(CodeBlock(start, length + 1, FlashbackBlock(ops, live), after))
    return Program("random", "", tuple(blocks), 0, COSTS, (), str)


def cycles(instruction):
    return instruction.cycles


def best(flow, objective, start, index, left, running=cycles):
    """The definition, written down: stop, or go on by one instruction, with the best done after it."""
    block = flow.at(start).block
    size = sum(map(COSTS.size, block.live[index]))
    stop = Deferral(start + index, size, COSTS.preemption_cycles(size, 0))
    if not left:
        return stop
    if index < len(block.instructions):
        if block.instructions[index].effect is Effect.LIMIT:
            return stop
        later = best(flow, objective, start, index + 1, left - 1, running)
        later = later._replace(latency=later.latency + running(block.instructions[index]))
    elif flow.at(start).successors:
        later = max((best(flow, objective, to, 0, left - 1, running) for to in flow.at(start).successors),
                    key=lambda one: one.rank(objective))
    else:
        return stop
    return min(stop, later, key=lambda one: one.rank(objective))


@pytest.mark.parametrize("running", [cycles, lambda instruction: 12 + 2 * instruction.cycles], ids=["cycles", "slower"])
@pytest.mark.parametrize("objective", Objective)
def test_decision_is_the_best_of_all_ways_to_go_on(objective, running):
    further = 0
    for seed in range(120):
        flow = random_flow(random.Random(seed))
        found = Deferrals(flow, objective, 7, running)
        for code in flow.blocks:
            for index in range(len(code.block.instructions) + 1):
                got, right = found.at(code.start, index), best(flow, objective, code.start, index, 7, running)
                assert got.rank(objective) == right.rank(objective), (seed, code.start, index)
                further += got.stop >= code.start + code.words or got.stop < code.start
    assert further > 20, "some run on into another block"


def test_no_window_means_no_deferral():
    flow = random_flow(random.Random(3))
    found = Deferrals(flow, Objective.SIZE, 0)
    assert all(found.at(code.start, k).stop == code.start + k
               for code in flow.blocks for k in range(len(code.block.instructions) + 1))


@pytest.mark.parametrize("name", ["hotspot", "kmeans", "mergesort", "bfs"])
@pytest.mark.parametrize("objective", Objective)
def test_the_combination_is_at_most_both(name, objective):
    """And CKPT's point is the least of its block, so at most what is live."""
    found = flashback(program(KERNELS[name].image(), PRESETS["gtx480"]), objective)
    crossed = 0
    for fact in found.instructions:
        both = ((fact.bytes, fact.latency), (fact.deferred_bytes, fact.deferred_latency))
        combined = fact.combined_bytes, fact.combined_latency
        if objective is Objective.LATENCY:
            both, combined = tuple(pair[::-1] for pair in both), combined[::-1]
        assert combined == min(both) and fact.checkpoint_bytes <= fact.live_bytes
        assert fact.deferred_bytes <= fact.live_bytes or objective is Objective.LATENCY
        crossed += not any(code.start <= fact.pc and fact.deferred < code.start + code.words
                           for code in found.program.blocks if code.start <= fact.pc < code.start + code.words)
    assert crossed > 0, "some run on over a branch"


def test_depth_of_loops():
    assert loop_depths({0: [1], 1: [2], 2: [2, 3], 3: [1, 4], 4: []}) == {0: 0, 1: 1, 2: 2, 3: 1, 4: 0}
    assert loop_depths({0: [1, 2], 1: [2], 2: [1]}) == {0: 0, 1: 1, 2: 1}, "entered at two places"
    assert loop_depths({0: [0]}) == {0: 1}


def test_a_program_whose_flow_leads_nowhere_is_refused():
    code = CodeBlock(0, 1, FlashbackBlock((), (frozenset(),)), (5,))
    with pytest.raises(FlashbackError, match="k: the block at 0 goes on where no block is: \\[5\\]"):
        Program("k", "", (code,), 0, COSTS, (), str)
    with pytest.raises(FlashbackError, match="two blocks at one address"):
        Program("k", "", (code, code), 0, COSTS, (), str)
