"""How the command processor passes each preempt, resume, adoption and kill to the engine, and how each ends."""

import pytest

from caesura.hw.arch.commands import Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from support.hw.command_driver import (
    ADOPTING,
    FINISHED,
    IDLE,
    KILLING,
    NONE,
    NOT_RUNNING,
    PREEMPTED,
    PREEMPTING,
    RESUMING,
    RUNNING,
    drive,
)


@pytest.mark.parametrize("error", [NONE, CommandError.BUS_ERROR])
@pytest.mark.parametrize("saved", [0, 1])
def test_after_a_checkpoint_a_kernel_runs_on_unless_tbs_of_it_were_saved_before(saved, error):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        if saved:  # a part of it, before
            ctx.set(dut.registers.spared, 0b10)
            await driver.command(Command.PREEMPT, 1)
            await driver.takes(1, 0, checkpoint=0)
            ctx.set(dut.engine.saved, 0b010)
            await driver.result()
            await driver.ends("preempted")
            assert driver.state(1) == PREEMPTED
        await driver.command(Command.PREEMPT, 1, checkpoint=1)
        await driver.takes(1, 0, checkpoint=1, incremental=0)
        assert driver.state(1) == PREEMPTING and not ctx.get(dut.dispatch.eligible)
        await driver.result(error)
        await driver.ends("preempted")
        assert driver.state(1) == (PREEMPTED if saved else RUNNING) and driver.errors(1) == error
        assert ctx.get(dut.dispatch.eligible) == (0 if saved else 0b010)

    drive(scenario)


def test_the_engine_gets_the_command_once_no_tb_is_half_launched():
    async def scenario(ctx, dut, driver):
        await driver.bring(2, RUNNING)
        wanted = {"mechanism": Mechanism.LIVE, "scramble": 1, "gang": 1, "restart": 1, "incremental": 1}
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 2})
        ctx.set(dut.registers.patience, 0x8000_1234)
        ctx.set(dut.registers.spared, 0b01)
        await driver.command(Command.PREEMPT, 2, **wanted)
        ctx.set(dut.registers.patience, 7)  # written later: not this command's
        ctx.set(dut.registers.spared, 0b10)
        for _ in range(5):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 1})
        await driver.takes(2, 0, **wanted, patience=0x8000_1234, spared=0b01)
        await driver.result()
        await driver.ends("preempted")  # though a TB is left
        await driver.command(Command.RESUME, 2, gang=1)
        await driver.takes(2, 1, again=0, gang=1, scramble=0)

    drive(scenario)


def test_a_preempt_ends_when_its_tbs_have_left():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.dispatch.present, 0b011)
        await driver.result()
        for _ in range(4):
            assert not driver.events() and ctx.get(dut.status.busy) and driver.state(1) == PREEMPTING
            await ctx.tick()
        ctx.set(dut.dispatch.present, 0b001)
        await driver.ends("preempted")
        assert driver.state(1) == PREEMPTED and not ctx.get(dut.status.busy)

    drive(scenario)


@pytest.mark.parametrize("error, saved, done, state", [
    (NONE, 1, 0, PREEMPTED), (NONE, 0, 0, PREEMPTED), (NONE, 0, 1, FINISHED),
    (CommandError.BUS_ERROR, 0, 0, RUNNING), (CommandError.BUS_ERROR, 1, 0, PREEMPTED),
    (CommandError.AREA_TOO_SMALL, 0, 0, RUNNING)])
def test_how_a_preempt_ends(error, saved, done, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.engine.saved, saved << 1)
        ctx.set(dut.dispatch.done, done << 1)
        ctx.set(dut.dispatch.present, 0b010 if error else 0)
        await driver.result(error)
        assert ctx.get(dut.events.finished) == (1 << 1 if state == FINISHED else 0)
        await driver.ends("preempted")
        assert driver.state(1) == state and driver.errors(1) == error and not ctx.get(dut.status.busy)

    drive(scenario)


@pytest.mark.parametrize("error, saved, left, state", [
    (NONE, 0, 0, RUNNING), (CommandError.BAD_IMAGE, 1, 1, PREEMPTED), (CommandError.BUS_ERROR, 0, 0, RUNNING)])
def test_how_a_resume_ends(error, saved, left, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.engine.saved, saved << 1)
        await driver.result(error, left)
        await driver.ends("resumed")
        assert driver.state(1) == state and driver.errors(1) == error and not ctx.get(dut.status.busy)
        assert ctx.get(dut.dispatch.eligible) == (2 if state == RUNNING else 0)
        for _ in range(3):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()

    drive(scenario)


@pytest.mark.parametrize("error, state", [(NONE, PREEMPTED), (CommandError.BAD_IMAGE, IDLE),
                                          (CommandError.BUS_ERROR, IDLE)])
def test_how_an_adoption_ends(error, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, ADOPTING)
        assert not ctx.get(dut.dispatch.eligible)
        await driver.result(error)
        await driver.ends("adopted")
        assert (driver.state(1), driver.errors(1)) == (state, error) and not ctx.get(dut.status.busy)
        await driver.command(Command.START, 1, NOT_RUNNING if state == PREEMPTED else NONE)

    drive(scenario)


def test_an_adoption_waits_for_its_turn_and_a_kill_takes_it_back():
    async def scenario(ctx, dut, driver):
        await driver.bring(0, PREEMPTING)
        await driver.command(Command.ADOPT, 1)
        await driver.command(Command.ADOPT, 2)
        await driver.command(Command.KILL, 2)
        ctx.set(dut.dispatch.present, 0)
        ctx.set(dut.engine.saved, 1)
        assert not ctx.get(dut.engine.command.valid) and driver.state(2) in (KILLING, IDLE)
        await driver.result()
        await driver.ends("preempted")
        await driver.takes(1, 0, adopt=1)
        await driver.command(Command.KILL, 1)
        assert ctx.get(dut.engine.cancel)
        await driver.result()
        await ctx.tick().repeat(2)
        assert [driver.state(k) for k in range(3)] == [PREEMPTED, IDLE, IDLE] and not ctx.get(dut.engine.command.valid)

    drive(scenario)


def test_a_resume_without_room_is_tried_again_when_a_tb_has_left():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        await driver.command(Command.START, 2)
        assert ctx.get(dut.dispatch.eligible) == 0, "a fresh TB would take the room"
        await driver.result(left=1)
        for _ in range(5):
            assert not ctx.get(dut.engine.command.valid) and driver.state(1) == RESUMING and not driver.events()
            await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.takes(1, 1, again=1)
        for _ in range(3):  # one leaves while the pass is under way: it may have been too late for it
            await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.result(left=1)
        await ctx.tick()
        await driver.takes(1, 1, again=1)
        await driver.result()
        await driver.ends("resumed")
        assert driver.state(1) == RUNNING and ctx.get(dut.dispatch.eligible) == 0b110

    drive(scenario)


def test_a_preempt_comes_through_while_a_resume_waits_for_its_room():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        await driver.command(Command.START, 2)
        ctx.set(dut.dispatch.present, 0b100)
        await driver.command(Command.PREEMPT, 2)
        assert not ctx.get(dut.engine.command.valid)
        await driver.result(left=1)
        await ctx.tick()
        await driver.takes(2, 0)
        ctx.set(dut.dispatch.room_freed, 1)
        ctx.set(dut.dispatch.present, 0)
        ctx.set(dut.engine.saved, 0b110)
        await driver.result()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.ends("preempted")
        await driver.takes(1, 1, again=1)
        await driver.result()
        await driver.ends("resumed")
        assert [driver.state(k) for k in range(3)] == [IDLE, RUNNING, PREEMPTED]

    drive(scenario)


@pytest.mark.parametrize("state", [RUNNING, PREEMPTING, PREEMPTED, RESUMING])
def test_a_killed_kernel_is_idle_when_nothing_of_it_is_left(state):
    async def scenario(ctx, dut, driver):
        held = state in (PREEMPTING, RESUMING)
        await driver.bring(1, state)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 1})
        ctx.set(dut.dispatch.accesses_outstanding, 1)
        await driver.command(Command.KILL, 1)

        async def waits(cancel, discard):
            for _ in range(3):
                assert not driver.events() and driver.state(1) == KILLING and ctx.get(dut.dispatch.kill) == 0b010
                assert (ctx.get(dut.engine.cancel), ctx.get(dut.dispatch.discard)) == (cancel, discard << 1)
                assert not ctx.get(dut.engine.command.valid) and not ctx.get(dut.dispatch.eligible)
                await ctx.tick()

        await waits(held, 0)
        ctx.set(dut.dispatch.launching.valid, 0)
        await waits(held, not held)
        ctx.set(dut.engine.flushing, held)
        await waits(held, 1)
        ctx.set(dut.dispatch.present, 0b100)
        await waits(held, 1)
        ctx.set(dut.dispatch.accesses_outstanding, 0)
        if held:
            await waits(1, 1)
            ctx.set(dut.engine.flushing, 0)
            await driver.result(CommandError.BUS_ERROR, 1)
            await ctx.tick()
        await driver.ends("killed")
        assert driver.state(1) == IDLE and not ctx.get(dut.status.busy) and not ctx.get(dut.engine.cancel)
        await driver.command(Command.START, 1)

    drive(scenario)
