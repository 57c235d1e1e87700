"""The state writer: predicates, uniform registers and stack entries in order, several a cycle where they may be."""

import random

import pytest

from caesura.hw.arch.geometry import PC_NONE, PREDICATES, UNIFORMS, preset
from caesura.hw.arch.image.context import STACK_ENTRY, Reconvergence, to_words
from caesura.hw.arch.image.image_writer import stack_words
from caesura.hw.preempt.restore.state_writer import StateWriter
from support.hw.scalars import written_uniforms
from support.hw.simulation import component
from support.hw.stacks import random_stack
from support.hw.stream_bench import get, put_all, simulate, steady, value

G = preset("tiny")


class State:
    """The state of a warp: its job, its words, and what has to be written."""

    def __init__(self, rng, predicates, uniforms, depth, plain=False):
        def chosen(which, of):
            return sorted(rng.sample(range(of), which)) if isinstance(which, int) else which

        warp, full = rng.randrange(G.warps), (1 << G.warp_size) - 1
        self.predicates = [{"warp": warp, "predicate": p, "value": rng.randint(0, full)}
                           for p in chosen(predicates, PREDICATES)]
        self.uniforms = [{"warp": warp, "register": u, "value": rng.getrandbits(32)}
                         for u in chosen(uniforms, UNIFORMS)]
        live = rng.choice([full, rng.randint(0, full)])
        stack = random_stack(rng, depth, live) if not plain else [(k, live, PC_NONE) for k in range(depth)]
        self.stack = [{"warp": warp, "pc": pc, "mask": mask, "reconv": reconv} for pc, mask, reconv in stack]
        self.job = {"warp": warp, "predicates": sum(1 << each["predicate"] for each in self.predicates),
                    "uniforms": sum(1 << each["register"] for each in self.uniforms), "depth": depth,
                    "live": live, "bank": rng.getrandbits(1)}
        words = [each["value"] for each in self.predicates + self.uniforms]
        words += stack_words(stack, live)
        self.count = len(words)
        self.chunks = [{"words": (words[at:at + 4] + [rng.getrandbits(32)] * 3)[:4], "count": len(words[at:at + 4])}
                       for at in range(0, len(words), 4)]


def run(states, rng, stall, words_stall=None):
    """Give the states to a writer; return the cycles from the first write to the last."""
    dut, scalars, times = component(StateWriter, G), {"predicate": [], "uniform": []}, []
    pushes = [push for state in states for push in state.stack]

    async def watch(ctx):
        port = dut.restore_predicate
        ports = port.valid & port.ready, port.payload, dut.restore_uniform, dut.stack_push.valid & dut.stack_push.ready
        cycle = 0
        async for _, _, taken, predicate, uniform, pushed in ctx.tick().sample(*ports):
            cycle += 1
            times.extend([cycle] * bool(taken | uniform.valid | pushed))
            scalars["predicate"] += [value(predicate)] * taken
            scalars["uniform"] += [{"warp": uniform.warp, "register": register, "value": word}
                                   for register, word in written_uniforms(uniform).items()]

    async def predicates(ctx):
        for _ in range(sum(len(state.predicates) for state in states)):
            await get(ctx, dut.restore_predicate, rng, stall)

    async def sink(ctx):
        for number, push in enumerate(pushes):
            assert value(await get(ctx, dut.stack_push, rng, stall)) == push
            assert bool(ctx.get(dut.pending)) == (number < len(pushes) - 1)

    simulate(dut, put_all(dut.job, [state.job for state in states], rng, stall),
             put_all(dut.words, [chunk for state in states for chunk in state.chunks], rng,
                     stall if words_stall is None else words_stall), sink, predicates,
             watches=[steady(dut.stack_push), steady(dut.restore_predicate), watch])
    assert scalars == {name: [each for state in states for each in getattr(state, name + "s")] for name in scalars}
    return times[-1] - times[0] + 1


def test_the_state_of_many_warps_comes_back():
    rng = random.Random(0)
    sizes = [(0, 0, 1), (7, 32, G.stack_depth), (1, 0, 1), (0, 1, 1), (1, 1, 2), *(
        (rng.randint(0, 7), rng.randint(0, 32), rng.randint(1, G.stack_depth)) for _ in range(12))]
    run([State(rng, *size) for size in rng.sample(sizes, len(sizes))], rng, 0.3)
    run([State(rng, *size) for size in rng.sample(sizes, len(sizes))], rng, 0.1, words_stall=0.8)


def test_below_the_bottom_entry_there_is_none():
    """An image may say that its reconvergence PC is that of the entry below, or its PC: the warp before has no part."""
    rng = random.Random(1)
    states = []
    for kind in (Reconvergence.BELOW, Reconvergence.SAME) * 2:
        states.append(State(rng, 0, 0, 2))
        hostile = State(rng, 0, 0, 1)
        word, = to_words(STACK_ENTRY, pc=9, whole=1, reconv=kind)
        hostile.chunks = [{"words": [word, 1, 2, 3], "count": 1}]
        hostile.stack = [{**hostile.stack[0], "pc": 9, "mask": hostile.job["live"], "reconv": PC_NONE}]
        states.append(hostile)
    run(states, rng, 0.3)


@pytest.mark.parametrize("predicates, uniforms, depth, cycles", [
    (0, [], 1, 1), (0, [], 4, 4), (1, [], 1, 1), (0, [3], 1, 1), (1, [2], 1, 1), (3, [], 2, 4), (0, range(6), 1, 3),
    (0, range(1, 7), 1, 4), (0, range(0, 12, 2), 1, 6), (1, range(5), 1, 3), (2, range(5), 3, 6),
    (1, range(32), 2, 17)])
def test_what_follows_one_another_in_four_words_is_written_together(predicates, uniforms, depth, cycles):
    states = [State(random.Random(k), predicates, uniforms, depth, plain=True) for k in range(6)]
    words = sum(state.count for state in states)
    assert run(states, None, 0.0) <= max(len(states) * cycles, words // 4 + 2) + len(states)
    assert run(states[:1], None, 0.0) == cycles
