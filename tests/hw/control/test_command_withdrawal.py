"""Aborts, withdrawn resumes and hastened preempts at the command processor."""

import pytest

from caesura.hw.arch.commands import Command
from caesura.hw.arch.image.context import Mechanism
from support.hw.command_driver import ABORTED, NONE, PREEMPTED, PREEMPTING, RESUMING, RUNNING, drive


def test_a_preempt_of_a_kernel_that_is_resuming_withdraws_the_resume():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0b010)
        assert not ctx.get(dut.engine.withdraw)
        await driver.command(Command.PREEMPT, 1, mechanism=Mechanism.LIVE)
        assert ctx.get(dut.engine.withdraw) and driver.state(1) == PREEMPTING
        await driver.result(left=1)
        await driver.ends("resumed")
        assert driver.errors(1) == ABORTED and driver.state(1) == PREEMPTING and not ctx.get(dut.engine.withdraw)
        await driver.takes(1, 0, mechanism=Mechanism.LIVE)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        assert driver.state(1) == PREEMPTED and driver.errors(1) == NONE

    drive(scenario)


def test_what_a_withdrawn_pass_left_behind_gets_another_at_once():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0)  # nothing is left on the SM that could make room
        await driver.command(Command.PREEMPT, 1, mechanism=Mechanism.LIVE)
        await driver.command(Command.ABORT, 1)
        assert ctx.get(dut.engine.withdraw) and driver.state(1) == RESUMING
        await driver.result(left=1)
        assert not driver.events()
        await ctx.tick()
        await driver.takes(1, 1, again=0)
        await driver.result()
        await driver.ends("resumed")
        assert driver.state(1) == RUNNING and driver.errors(1) == NONE

    drive(scenario)


def test_an_aborted_eviction_resumes_the_kernel():
    """The kernel was preempted before, and is not any more."""
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.saved, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)
        await driver.command(Command.ABORT, 1)
        await driver.result()
        await driver.ends("preempted")
        assert driver.errors(1) == ABORTED and driver.state(1) == RESUMING
        await driver.takes(1, 1, again=0)
        await driver.result()
        await driver.ends("resumed")
        assert driver.errors(1) == NONE and driver.state(1) == RUNNING

    drive(scenario)


@pytest.mark.parametrize("saved", (0, 1))
@pytest.mark.parametrize("when", ("waiting", "under way", "with its end"))
def test_an_aborted_preempt_resumes_what_it_saved(saved, when):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        ctx.set(dut.dispatch.launching, {"valid": when == "waiting", "kernel": 1})
        await driver.command(Command.PREEMPT, 1, gang=1)
        ctx.set(dut.engine.saved, saved << 1)
        if when == "waiting":
            await ctx.tick()
            ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
            await driver.ends("preempted")
            ctx.set(dut.registers.command.valid, 0)
            ctx.set(dut.dispatch.launching.valid, 0)
        else:
            await driver.takes(1, 0)
            if when == "with its end":
                ctx.set(dut.dispatch.present, 0)
                await driver.result()
                await driver.command(Command.ABORT, 1)
            else:
                await driver.command(Command.ABORT, 1)
                for _ in range(3):
                    assert ctx.get(dut.engine.withdraw) and driver.state(1) == PREEMPTING and not driver.events()
                    await ctx.tick()
                await driver.result()
            await driver.ends("preempted")
        assert driver.errors(1) == ABORTED and not ctx.get(dut.engine.withdraw)
        assert driver.state(1) == (RESUMING if saved else RUNNING)
        if saved:
            await driver.takes(1, 1, again=0, gang=1)
            await driver.result()
            await driver.ends("resumed")
            assert driver.errors(1) == NONE
        assert driver.state(1) == RUNNING

    drive(scenario)


@pytest.mark.parametrize("held", (0, 1))
def test_an_aborted_resume_leaves_saved_what_has_no_room(held):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        if not held:
            await driver.result(left=1)
            await ctx.tick()
            ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
            await driver.ends("resumed")
            ctx.set(dut.registers.command.valid, 0)
        else:
            await driver.command(Command.ABORT, 1)
            assert ctx.get(dut.engine.withdraw) and driver.state(1) == RESUMING
            await driver.result(left=1)
            await driver.ends("resumed")
        assert driver.state(1) == PREEMPTED and driver.errors(1) == ABORTED
        await driver.command(Command.RESUME, 1)
        await driver.takes(1, 1, again=0)  # although the last pass found no room

    drive(scenario)


def test_a_preempt_is_hastened_before_and_after_the_engine_has_it():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        assert not ctx.get(dut.engine.hasten)
        await driver.command(Command.HASTEN, 1)
        assert ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        assert not ctx.get(dut.engine.hasten)
        await driver.bring(2, RUNNING)
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 2})
        await driver.command(Command.PREEMPT, 2)
        await driver.command(Command.HASTEN, 2)
        assert not ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.launching.valid, 0)
        await driver.takes(2, 0)
        assert ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        ctx.set(dut.dispatch.present, 0b100)
        await driver.command(Command.PREEMPT, 2)
        await driver.takes(2, 0)
        assert not ctx.get(dut.engine.hasten), "the next preempt has its patience"

    drive(scenario)
