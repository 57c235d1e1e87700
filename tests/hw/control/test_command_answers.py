"""Each command in each state: the command processor accepts it, or refuses it with an error."""

import itertools

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from support.hw.command_driver import (
    ABORTED,
    ADOPTING,
    ANSWERS,
    FITTING,
    IDLE,
    KILLING,
    NONE,
    NOT_RUNNING,
    PREEMPTED,
    PREEMPTING,
    RESUMING,
    RUNNING,
    G,
    drive,
)

AFTER = {Command.START: RUNNING, Command.PREEMPT: PREEMPTING, Command.RESUME: RESUMING, Command.KILL: KILLING,
         Command.ADOPT: ADOPTING, Command.RELEASE: KILLING}


@pytest.mark.parametrize("op, state", [*itertools.product(ANSWERS, KernelState)])
def test_each_command_in_each_state(op, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, state)
        ctx.set(dut.dispatch.present, 0b010)  # TBs of it run, so that a preempt has something to save
        ctx.set(dut.engine.in_memory, 0b010 if op is Command.RELEASE else 0)
        error = ANSWERS[op][state]
        await driver.command(op, 1, error)
        assert ctx.get(dut.status.error) == error
        assert driver.state(1) == (state if error else AFTER.get(op, state))
        assert driver.state(0) == driver.state(2) == IDLE
        await ctx.tick().repeat(3)
        assert ctx.get(dut.status.error) == error, "it stays until the next command"

    drive(scenario)


def test_what_does_not_exist_or_fit_is_refused():
    async def scenario(ctx, dut, driver):
        for op in Command:
            await driver.command(op, 3, CommandError.UNKNOWN)
        for op in (0, *range(max(Command) + 1, 16)):
            await driver.command(op, 0, CommandError.UNKNOWN)
        for name, size in (("grid_x", 0), ("threads", 17), ("registers", G.regs_per_thread + 1), ("registers", 0),
                           ("shared_bytes", G.shared_bytes + 1), ("warps", 1)):
            ctx.set(dut.kernels[0][name], size)
            for op in (Command.START, Command.ADOPT):
                await driver.command(op, 0, CommandError.TOO_LARGE)
            ctx.set(dut.kernels[0][name], FITTING[name])
        for name, multiple in (("param_base", 16), ("const_base", 128)):
            for base in (multiple // 2, 3 * multiple - 1, 1, 0xFFFF_FFFF):
                ctx.set(dut.kernels[0][name], base)
                for op in (Command.START, Command.ADOPT):
                    await driver.command(op, 0, CommandError.MISPLACED)
            ctx.set(dut.kernels[0][name], 5 * multiple)
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, mechanism=max(Mechanism) + 1)
        await driver.command(Command.PREEMPT, 7, CommandError.UNKNOWN)
        assert [driver.state(k) for k in range(3)] == [RUNNING, IDLE, IDLE]

    drive(scenario)


@pytest.mark.parametrize("others", [0, 0xFFFF_FFFF])
def test_a_grid_is_refused_only_if_it_is_empty(others):
    """A size of 0, or of any one bit, in each slot, whatever the grids of other slots are."""
    async def scenario(ctx, dut, driver):
        for kernel, (name, width) in itertools.product(range(3), (("grid_x", 32), ("grid_y", 16), ("grid_z", 16))):
            for k in range(3):
                ctx.set(dut.kernels[k][name], others & (1 << width) - 1)
            for size in (0, *(1 << bit for bit in range(width))):
                ctx.set(dut.kernels[kernel][name], size)
                for op in (Command.START, Command.ADOPT):
                    ctx.set(dut.registers.command, {"valid": 1, "op": op, "kernel": kernel})
                    assert ctx.get(dut.events.refused) == (size == 0)
            for k in range(3):
                ctx.set(dut.kernels[k][name], FITTING[name])

    drive(scenario)


def test_each_error_of_a_preempt_is_told_of_its_kernel():
    """It counts more than that the preempt was withdrawn."""
    async def scenario(ctx, dut, driver):
        for kernel in range(3):
            await driver.command(Command.START, kernel)
            for error, withdrawn in itertools.product(CommandError, (False, True)):
                ctx.set(dut.dispatch.present, 1 << kernel)
                await driver.command(Command.PREEMPT, kernel)
                await driver.takes(kernel, 0)
                if withdrawn:
                    await driver.command(Command.ABORT, kernel)
                ctx.set(dut.dispatch.present, 0)
                await driver.result(error)
                await driver.ends("preempted")
                assert driver.errors(kernel) == (error or (ABORTED if withdrawn else NONE))

    drive(scenario)


def test_a_mechanism_that_the_machine_has_not_is_refused():
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, mechanism=Mechanism.LIVE_TB)
        assert driver.state(0) == RUNNING

    drive(scenario, G.replace(tb_compressor=False))


@pytest.mark.parametrize(("checkpoints", "fields"), [
    (False, {"checkpoint": 1}), (False, {"incremental": 1}), (True, {"checkpoint": 1, "restart": 1})])
def test_a_checkpoint_that_the_machine_cannot_is_refused(checkpoints, fields):
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, 0)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, **fields)
        assert driver.state(0) == RUNNING
        await driver.command(Command.PREEMPT, 0)

    drive(scenario, G.replace(checkpoints=checkpoints, in_place=checkpoints))


def test_a_restart_that_the_machine_cannot_is_refused():
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, restart=1)
        await driver.command(Command.PREEMPT, 0)

    drive(scenario, G.replace(restart=False))


def test_a_preempted_kernel_of_which_nothing_runs_cannot_be_preempted():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.in_memory, 0b010)
        await driver.command(Command.PREEMPT, 1, NOT_RUNNING)
        ctx.set(dut.dispatch.present, 0b101)
        await driver.command(Command.PREEMPT, 1, NOT_RUNNING)
        ctx.set(dut.dispatch.present, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)

    drive(scenario)


@pytest.mark.parametrize("fields, taken", [({}, True), ({"checkpoint": 1}, False), ({"in_place": 1}, False)])
@pytest.mark.parametrize("error", [NONE, CommandError.BUS_ERROR])
def test_but_for_one_whose_record_is_to_be_written(fields, taken, error):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        ctx.set(dut.dispatch.present, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)
        ctx.set(dut.engine.saved, 0b010)
        ctx.set(dut.dispatch.present, 0)
        await driver.result(error)
        await driver.ends("preempted")
        assert (driver.state(1), driver.errors(1)) == (PREEMPTED, error)
        await driver.command(Command.PREEMPT, 1, NONE if taken else NOT_RUNNING, **fields)
        if taken:
            await driver.takes(1, 0)
            await driver.result()
            await driver.ends("preempted")
            assert (driver.state(1), driver.errors(1)) == (PREEMPTED, NONE)
            ctx.set(dut.engine.in_memory, 0b010)
            await driver.command(Command.PREEMPT, 1, NOT_RUNNING)

    drive(scenario, G.replace(in_place=True, checkpoints=True))


def test_a_slot_is_released_only_if_memory_holds_all_of_the_kernel():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.in_memory, 0b101)  # of others
        assert ctx.get(dut.status.recorded) == 0
        await driver.command(Command.RELEASE, 1, CommandError.NOT_IN_MEMORY)
        assert driver.state(1) == PREEMPTED
        ctx.set(dut.engine.in_memory, 0b111)
        assert ctx.get(dut.status.recorded) == 0b010
        await driver.command(Command.RELEASE, 1)
        assert driver.state(1) == KILLING and ctx.get(dut.dispatch.kill) == 0b010
        await driver.ends("killed")
        assert driver.state(1) == IDLE

    drive(scenario)
