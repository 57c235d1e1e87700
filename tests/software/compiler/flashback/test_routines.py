"""The routines of every plan bring a warp back, whatever its program: every register is scrambled in between."""

import dataclasses
import functools
import random
from collections import Counter

import numpy as np
import pytest

from caesura.software.compiler.flashback import routines
from caesura.software.compiler.flashback.backup import add_backups
from caesura.software.compiler.flashback.blocks import Block, Effect
from caesura.software.compiler.flashback.costs import Costs, Objective
from caesura.software.compiler.flashback.derivations import How, Walk
from caesura.software.compiler.flashback.routines import Action, Step
from caesura.software.compiler.flashback.search import Search, Technique
from support.selection import quick
from support.software.flashback_machine import (
    LANES,
    PREDICATE,
    SCALAR,
    VECTOR,
    Operation,
    Program,
    Runner,
    Warp,
    described,
    random_program,
    registers,
    same_end,
)

COSTS = Costs(lanes=LANES)
EVERYTHING = [*registers(VECTOR, 5), *registers(PREDICATE, 2), *registers(SCALAR, 6)]


def runner_of(program: Program, block: Block, objective: Objective, backups: bool = True) -> Runner:
    """Return a program with the routines of its plans."""
    search = Search(block, COSTS)
    plans = [search.plan(at, objective) for at in range(len(block.instructions) + 1)]
    copies: dict = {}
    for copy in add_backups(search, plans, objective, registers(SCALAR, 6)[::-1]) if backups else ():
        copies.setdefault(copy.before, []).append((block.register_of[copy.value], copy.place))
    return Runner(program, block, [search.routines(plan) for plan in plans], copies)


def wrong(program: Program, runner: Runner, seed: int, stops: int | None = None, once: bool = False) -> str:
    """Return what goes wrong if a program is stopped before each dynamic instruction, or before some, and again and
    again (but for `once`); empty if nothing does."""
    rng = np.random.default_rng(seed)
    start = Warp(EVERYTHING, rng, rng.random(LANES) < 0.7)
    undisturbed = start.copy()
    runner.run(undisturbed)
    length = (len(program.operations) + 1) * program.rounds
    points = range(length) if stops is None else rng.integers(0, length, stops)
    for stop, share in [*((int(point), 0.0) for point in points), *([] if once else [(-1, 1.0), (-1, 0.4)])]:
        warp = start.copy()
        found = runner.run(warp, rng, stop, share)
        if found or not same_end(program, warp, undisturbed):
            return found or "the end"
    return ""


def campaign(first: int, count: int, stops: int | None = None) -> Counter:
    """Try random programs; return how often each kind of step was in a routine."""
    used: Counter = Counter()
    for seed in range(first, first + count):
        rng = random.Random(seed)
        program = random_program(rng)
        objective = rng.choice(list(Objective))
        runner = runner_of(program, program.block, objective)
        assert not wrong(program, runner, seed, stops), (seed, objective)
        used["backup"] += len(runner.copies)
        for pair in runner.routines:
            used.update(step.action.value for step in pair.resume)
            used["revert first"] += any(step.action is Action.REVERT for step in pair.preemption)
    return used


@pytest.mark.parametrize("count", quick([500, 80], [80]))
def test_random_programs_are_brought_back(count):
    """And all that a routine can do is done in some of them."""
    used = campaign(0, count)
    assert min(used[kind] for kind in ("load", "execute", "revert", "revert first", "backup")) > count // 125, used


@pytest.mark.full
@pytest.mark.timeout(20000)
def test_a_hundred_thousand_random_programs_are_brought_back():
    campaign(1000, 100_000, stops=3)


def without_guard(instruction):
    return dataclasses.replace(instruction, guard=None, uses=instruction.sources())


def without_mask(instruction):
    """As if all lanes did it: the guard is no operand either."""
    return dataclasses.replace(instruction, guard=None)


def without_old_destination(instruction):
    return dataclasses.replace(instruction, partial=False)


def load_past_a_store(instruction):
    return dataclasses.replace(instruction, effect=Effect.COMPUTE) if instruction.effect is Effect.READ else instruction


def shift_reversible(instruction):
    (reg, *rest), sources = instruction.defs or (None,), instruction.origin.sources
    same = instruction.opcode == "shl" and sources[0] == reg and reg != instruction.guard
    return dataclasses.replace(instruction, recovers=reg) if same and not rest else instruction


def clock_again(instruction):
    return dataclasses.replace(instruction, effect=Effect.COMPUTE) if instruction.opcode == "clock" else instruction


@pytest.mark.parametrize("fault", [
    without_guard, without_mask, without_old_destination,
    pytest.param(load_past_a_store, marks=pytest.mark.full), clock_again])
def test_what_an_analysis_must_not_forget_is_noticed(fault):
    """Plans for the program as the fault sees it; its true liveness."""
    assert any(fails(seed, fault) for seed in range(600))


@pytest.mark.full
def test_a_shift_that_loses_bits_is_noticed(monkeypatch):
    from support.software import flashback_machine
    monkeypatch.setitem(flashback_machine.REVERSED, ("shl", 0), lambda d, n: d >> (n & np.uint32(31)))
    assert any(fails(seed, shift_reversible) for seed in range(600))


def test_lanes_that_wait_elsewhere_are_noticed():
    assert any(fails(seed, lambda instruction: instruction, frozenset()) for seed in range(600))


def fails(seed, fault, elsewhere=None) -> bool:
    rng = random.Random(seed)
    program = random_program(rng)
    instructions = [fault(described(op)) for op in program.operations]
    seen = program.elsewhere if elsewhere is None else elsewhere
    block = Block(tuple(instructions), program.block.live, seen)
    return bool(wrong(program, runner_of(program, block, Objective.SIZE, backups=False), seed))


def test_a_demand_that_is_dropped_is_noticed(monkeypatch):
    whole = Walk.sources_of
    monkeypatch.setattr(Walk, "sources_of", lambda self, value: whole(self, value)[:-1])
    assert any(fails(seed, lambda instruction: instruction) for seed in range(200))


def test_a_dead_register_that_is_read_is_noticed(monkeypatch):
    """What still is in its register, but was not needed when the warp was brought back the last time."""
    honest = Walk.__init__

    def greedy(self, block, at, *rest):
        honest(self, block, at, *rest)
        for value, index in enumerate(block.defined):
            if index < at <= block.overwritten[value]:
                self.how.setdefault(value, How.LOAD)

    def store_all(block, at, saved, backups):
        return [Step(Action.STORE, value, block.register_of[value]) for value in saved]
    monkeypatch.setattr(Walk, "__init__", greedy)
    monkeypatch.setattr(Walk, "_revert_for", lambda self, value: None)
    monkeypatch.setattr(routines, "_preemption", store_all)
    monkeypatch.setattr(Search, "plan", functools.partialmethod(Search.plan, technique=Technique.RELAXED))
    (x, y, d, *_) = registers(VECTOR, 3)
    program = Program([Operation("mul", (x,), (d, d)), Operation("and", (y,), (x, 240)),
                       Operation("and", (x,), (x, 7))],
                      frozenset({x, y}))
    runner = runner_of(program, program.block, Objective.SIZE, backups=False)
    assert [step.register for step in runner.routines[3].preemption] == [d]
    assert not wrong(program, runner, 0, once=True)
    assert wrong(program, runner, 0)
