"""The command processor beside a model, and with any commands in any order."""

import itertools
import random

import pytest

from caesura.hw.arch.commands import BUSY_STATES, Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.control.command_processor import CommandProcessor
from support.hw.command_driver import FINISHED, IDLE, KILLING, NONE, RUNNING, G, drive
from support.hw.lockstep import lockstep
from support.hw.simulation import component
from support.models.command_processor_inputs import World, inputs
from support.models.command_processor_model import CommandProcessorModel
from support.selection import quick

MODELS = {"tiny": G, "plain": G.replace(in_place=False, grace=False, checkpoints=False, restart=False, traps=False)}


@pytest.mark.parametrize("name, cycles", quick(
    [("tiny", 300), ("tiny", 15_000), ("plain", 4000)], [("tiny", 300)]))
def test_every_output_in_every_cycle(name, cycles):
    g, rng = MODELS[name], random.Random(name)
    model = CommandProcessorModel(g)
    world = World(g, rng, model)

    def run():
        for _ in range(cycles):
            now = world.cycle()
            yield inputs(g, now), model.cycle(now)

    lockstep(component(CommandProcessor, g), run())


@pytest.mark.parametrize("seed, cycles", quick(itertools.product(range(4), (600, 6000)), [(0, 600)]))
def test_any_commands_in_any_order_end_and_leave_each_kernel_in_one_place(seed, cycles):
    """The dispatcher and the engine of the test count the launched, saved and ended TBs of each kernel."""
    rng = random.Random(seed)

    async def scenario(ctx, dut, driver):
        slots = range(G.kernel_slots)
        here, away, launched = [0] * 3, [0] * 3, [0] * 3  # TBs of each kernel on the SM, saved, begun
        hand, answer_at, ended, room = None, 0, {k: 0 for k in slots}, 6
        busy_since = {}
        for now in range(cycles):
            states = [driver.state(k) for k in slots]
            for k in slots:
                if states[k] not in BUSY_STATES:
                    busy_since[k] = now
                assert now - busy_since.get(k, now) < 900, f"{states[k]!r} does not end"
            leaves = 0
            eligible, kill = ctx.get(dut.dispatch.eligible), ctx.get(dut.dispatch.kill)
            for k in slots:
                if eligible >> k & 1 and launched[k] < 10 and sum(here) < room and rng.random() < 0.2:
                    here[k], launched[k] = here[k] + 1, launched[k] + 1
                claimed = hand is not None and hand.kernel == k and not hand.resume
                if here[k] and (kill >> k & 1 or not claimed and rng.random() < 0.02):
                    here[k], leaves = here[k] - 1, 1
                    ended[k] += 1
            result = {"valid": 0}
            if hand is not None and now >= answer_at:
                k, error = hand.kernel, NONE
                if ctx.get(dut.engine.cancel):
                    error = CommandError.BUS_ERROR
                elif hand.resume:
                    while away[k] and sum(here) < room and not ctx.get(dut.engine.withdraw):
                        here[k], away[k] = here[k] + 1, away[k] - 1
                elif ctx.get(dut.engine.withdraw):
                    moves = rng.randint(0, here[k])
                    here[k], away[k], leaves = here[k] - moves, away[k] + moves, leaves | bool(moves)
                else:
                    leaves |= here[k] > 0
                    here[k], away[k] = 0, away[k] + here[k]
                result, hand = {"valid": 1, "error": error, "left": away[k] > 0 and hand.resume}, None
            ctx.set(dut.engine.result, result)
            ctx.set(dut.dispatch.present, sum((here[k] > 0) << k for k in slots))
            ctx.set(dut.engine.saved, sum((away[k] > 0) << k for k in slots))
            ctx.set(dut.dispatch.done, sum((launched[k] == 10 and not here[k] and not away[k]) << k for k in slots))
            ctx.set(dut.dispatch.room_freed, leaves)
            k, op = rng.randrange(3), rng.choice(list(Command))
            wanted = rng.random() < 0.05
            ctx.set(dut.registers.command, {"valid": wanted, "op": op, "kernel": k})
            accepted = wanted and not ctx.get(dut.events.refused)
            if accepted and op == Command.START:
                here[k] = away[k] = launched[k] = 0
            if ctx.get(dut.engine.command.valid):
                hand, answer_at = ctx.get(dut.engine.command.payload), now + rng.randint(2, 30)
                assert not kill >> hand.kernel & 1
            killed = ctx.get(dut.events.killed)
            await ctx.tick()
            for k in slots:
                state = driver.state(k)
                if state == IDLE and killed and states[k] == KILLING:
                    assert not here[k]
                    away[k] = 0
                if state == FINISHED:
                    assert not here[k] and not away[k]
                if state == RUNNING:
                    assert not away[k], "a saved TB is forgotten"

    drive(scenario)
