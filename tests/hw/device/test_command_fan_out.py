# amaranth: UnusedElaboratable=no
"""Command fan-out against the golden model of a device: every command in every pair of states."""

import itertools
import random

import pytest

from caesura.hw.arch.commands import REFUSED, Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import register_map
from caesura.hw.device.command_fan_out import CommandFanOut
from caesura.hw.device.kernel_states import STATE_ORDER
from caesura.sim.golden import device as golden
from support.hw.simulation import Simulator, component
from support.selection import quick

G = preset("tiny").replace(sms=3)
KERNEL = 2


def run(process, g=G):
    dut = component(CommandFanOut, g)

    async def testbench(ctx):
        await process(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def word(op, kernel=KERNEL, **fields):
    return register_map()["command"].pack(op=op, kernel=kernel, **fields)


async def command(ctx, dut, given, mask=0b111, accepted=None, asked=1):
    """Give a command; return what each SM is passed, None for those that are passed nothing, and the error after it.
    They accept what they are passed, unless told otherwise."""
    ctx.set(dut.mask, mask)
    ctx.set(dut.word, given)
    ctx.set(dut.valid, 1)
    ctx.set(dut.from_host, asked)
    targets = ctx.get(dut.targets)
    taken = targets if accepted is None else accepted & targets
    ctx.set(dut.accepted, taken)
    passed = [ctx.get(dut.words[i]) if targets >> i & 1 else None for i in range(G.sms)]
    assert ctx.get(dut.refused) == (asked and taken == 0)
    await ctx.tick()
    ctx.set(dut.valid, 0)
    ctx.set(dut.accepted, 0)
    return passed, CommandError(ctx.get(dut.error))


def set_states(ctx, dut, states):
    for i, state in enumerate(states):
        ctx.set(dut.states[i][KERNEL], state)


def test_both_put_states_in_the_same_order():
    assert STATE_ORDER == golden.STATE_ORDER and {*STATE_ORDER} == {*KernelState} - {KernelState.IDLE}


def set_recorded(ctx, dut, vector):
    for i in range(G.sms):
        ctx.set(dut.recorded[i], (vector >> i & 1) << KERNEL)


@pytest.mark.parametrize("op", quick(
    [op for op in Command if op not in (Command.ABORT, Command.RELEASE)], [Command.START]))
def test_a_command_goes_to_the_sms_that_can_take_it(op):
    async def process(ctx, dut):
        for states in itertools.product(KernelState, repeat=3):
            set_states(ctx, dut, states)
            for mask in (0b111, 0b101, 0b010):
                mine = [states[i] for i in range(3) if mask >> i & 1]
                whole = golden.common_state(states if op in (Command.START, Command.ADOPT) else mine)
                why = REFUSED[op].get(whole, CommandError.NONE)
                passed, error = await command(ctx, dut, word(op), mask)
                goes = [not why and mask >> i & 1 and state not in REFUSED[op] for i, state in enumerate(states)]
                assert passed == [word(op) if go else None for go in goes], states
                assert error is (why or (CommandError.NONE if any(goes) else CommandError.NOT_RUNNING))

    run(process)


@pytest.mark.full
def test_a_release_is_for_all_or_none():
    """It goes to every SM that has any of the kernel, whatever is written, if memory holds all of that."""
    async def process(ctx, dut):
        given = word(Command.RELEASE)
        for states in itertools.product(KernelState, repeat=3):
            set_states(ctx, dut, states)
            for recorded in range(8):
                whole = golden.common_state(states)
                vector = sum(1 << i for i, state in enumerate(states)
                             if recorded >> i & 1 and state is KernelState.PREEMPTED)
                set_recorded(ctx, dut, vector)
                mine = sum(1 << i for i, state in enumerate(states) if state is not KernelState.IDLE)
                why = REFUSED[Command.RELEASE].get(whole, CommandError.NONE)
                if not why and vector != mine:
                    why = CommandError.NOT_IN_MEMORY
                passed, error = await command(ctx, dut, given, 0b010)
                assert error is why, (states, recorded)
                assert passed == [given if not why and mine >> i & 1 else None for i in range(3)]

    run(process)


def test_a_start_is_for_all_or_none():
    async def process(ctx, dut):
        set_states(ctx, dut, (KernelState.IDLE, KernelState.FINISHED, KernelState.RUNNING))
        assert await command(ctx, dut, word(Command.START), 0b011) == ([None] * 3, CommandError.BUSY)
        set_states(ctx, dut, (KernelState.IDLE, KernelState.FINISHED, KernelState.IDLE))
        assert await command(ctx, dut, word(Command.START), 0b011) == (
            [word(Command.START)] * 2 + [None], CommandError.NONE)
        assert ctx.get(dut.takers[KERNEL]) == 0b011

    run(process)


@pytest.mark.parametrize(("given", "mask"), [(word(15), 7), (word(0), 7), (word(Command.START, 7), 7),
                                             (word(Command.KILL), 0)])
def test_what_is_no_command_for_anybody_is_unknown(given, mask):
    async def process(ctx, dut):
        assert await command(ctx, dut, given, mask) == ([None] * 3, CommandError.UNKNOWN)

    run(process)


def test_an_sm_that_all_refuse_is_asked_why():
    async def process(ctx, dut):
        set_states(ctx, dut, (KernelState.IDLE,) * 3)
        assert (await command(ctx, dut, word(Command.START), 0b110, accepted=0))[1] is CommandError.NONE
        assert ctx.get(dut.refusing) == 0b110 and ctx.get(dut.takers[KERNEL]) == 0
        await command(ctx, dut, word(Command.START), 0b110, accepted=0b100)
        assert ctx.get(dut.refusing) == 0 and ctx.get(dut.takers[KERNEL]) == 0b100

    run(process)


def test_of_commands_that_are_not_its_own_software_is_told_nothing():
    async def process(ctx, dut):
        set_states(ctx, dut, (KernelState.IDLE,) * 3)
        await command(ctx, dut, word(Command.START))
        assert (await command(ctx, dut, word(Command.RESUME), asked=0))[1] is CommandError.NONE
        assert (await command(ctx, dut, word(Command.START), accepted=0, asked=0))[1] is CommandError.NONE
        assert ctx.get(dut.refusing) == 0 and ctx.get(dut.takers[KERNEL]) == 0b111
        await command(ctx, dut, word(Command.START), accepted=0b010, asked=0)
        assert ctx.get(dut.takers[KERNEL]) == 0b010

    run(process)


def test_an_aborted_preempt_brings_back_what_is_saved_already():
    """With what its preempt said of how TBs come back; an SM that was preempted before it stays so."""
    async def process(ctx, dut):
        for scramble, gang in itertools.product((0, 1), repeat=2):
            set_states(ctx, dut, (KernelState.RUNNING, KernelState.RUNNING, KernelState.PREEMPTED))
            preempt = word(Command.PREEMPT, mechanism=2, scramble=scramble, gang=gang, in_place=1)
            await command(ctx, dut, preempt, accepted=0b011)
            set_states(ctx, dut, (KernelState.PREEMPTED, KernelState.PREEMPTING, KernelState.PREEMPTED))
            passed, error = await command(ctx, dut, word(Command.ABORT))
            assert passed == [word(Command.RESUME, scramble=scramble, gang=gang), word(Command.ABORT), None]
            assert error is CommandError.NONE and ctx.get(dut.takers[KERNEL]) == 0b011
            set_states(ctx, dut, (KernelState.RUNNING, KernelState.RESUMING, KernelState.PREEMPTED))
            assert (await command(ctx, dut, word(Command.ABORT)))[0] == [None, word(Command.ABORT), None]

    run(process)


def test_who_took_what_is_remembered():
    async def process(ctx, dut):
        rng = random.Random(1)
        last = {Command.PREEMPT: 0, Command.RESUME: 0}
        took = [0] * G.kernel_slots
        for _ in range(300):
            op, kernel, accepted = rng.choice(list(Command)), rng.randrange(G.kernel_slots), rng.randrange(8)
            for i in range(3):
                ctx.set(dut.states[i][kernel], rng.choice(list(KernelState)))
            passed, _ = await command(ctx, dut, word(op, kernel), accepted=accepted)
            goes = accepted & sum(1 << i for i, each in enumerate(passed) if each is not None)
            if goes and op in last:
                last[op] = goes
            if goes and op in (Command.START, Command.PREEMPT, Command.RESUME, Command.ADOPT):
                took[kernel] = goes
            assert [ctx.get(dut.takers[k]) for k in range(G.kernel_slots)] == took
            assert (ctx.get(dut.preempted), ctx.get(dut.resumed)) == (last[Command.PREEMPT], last[Command.RESUME])

    run(process)
