"""Grace: a preempt is kept from the engine while its TBs may run to their end, and who else may do what meanwhile."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.registers import UNLIMITED_GRACE
from caesura.hw.control.kernel_slot import KernelSlot
from support.hw.command_driver import G, drive
from support.hw.simulation import component
from support.hw.stream_bench import simulate


async def preempt(ctx, dut, driver, grace, kernel=1, state=KernelState.RUNNING, **fields):
    """A kernel in `state` is preempted with so much grace; a register that is written later is not this preempt's."""
    await driver.bring(kernel, state)
    ctx.set(dut.dispatch.running[kernel], 0b10)
    ctx.set(dut.registers.grace, grace)
    await driver.command(Command.PREEMPT, kernel, **fields)
    ctx.set(dut.registers.grace, 3)
    assert driver.state(kernel) == KernelState.PREEMPTING and not ctx.get(dut.dispatch.eligible)


def leave(ctx, dut, kernel):
    """No TB of the kernel is on the SM, nor of any other."""
    ctx.set(dut.dispatch.present, 0)
    ctx.set(dut.dispatch.running[kernel], 0)


async def offered(ctx, dut):
    """Wait until the engine is offered something."""
    for _ in range(100):
        if ctx.get(dut.engine.command.valid):
            return
        await ctx.tick()
    raise AssertionError("the engine is offered nothing")


@pytest.mark.parametrize("grace", [0, 1, 2, 9])
def test_the_engine_gets_the_preempt_after_as_many_cycles_as_the_grace_has(grace):
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, grace)
        for _ in range(grace):
            assert not ctx.get(dut.engine.command.valid) and ctx.get(dut.status.busy)
            await ctx.tick()
        await driver.takes(1, 0, grace_used=grace)

    drive(scenario)


@pytest.mark.parametrize("grace", [7, UNLIMITED_GRACE])
@pytest.mark.parametrize("done", [0, 1])
def test_it_gets_it_at_once_when_no_tb_is_left(grace, done):
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, grace)
        await ctx.tick().repeat(4)
        assert not ctx.get(dut.engine.command.valid)
        leave(ctx, dut, 1)
        ctx.set(dut.dispatch.done, done << 1)
        await ctx.tick()
        await driver.takes(1, 0, grace_used=4)
        await driver.result()
        assert ctx.get(dut.events.finished) == done << 1
        await driver.ends("preempted")
        assert driver.state(1) == (KernelState.FINISHED if done else KernelState.PREEMPTED)

    drive(scenario)


def test_a_tb_that_is_half_launched_has_grace_too():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, KernelState.RUNNING)
        leave(ctx, dut, 1)
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 1})
        ctx.set(dut.registers.grace, 50)
        await driver.command(Command.PREEMPT, 1)
        await ctx.tick().repeat(4)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.dispatch.running[1], 0b01)
        ctx.set(dut.dispatch.launching.valid, 0)
        for _ in range(46):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()
        await driver.takes(1, 0, grace_used=50)

    drive(scenario)


def test_grace_without_end_ends_with_hasten():
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, UNLIMITED_GRACE)
        await ctx.tick().repeat(300)
        assert not ctx.get(dut.engine.command.valid)
        await driver.command(Command.HASTEN, 1)
        await ctx.tick()
        await driver.takes(1, 0, grace_used=301)
        assert ctx.get(dut.engine.hasten)

    drive(scenario)


@pytest.mark.parametrize("saved, again", [(0, 0), (0, 7), (1, 0)])
def test_abort_takes_the_preempt_back(saved, again):
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, UNLIMITED_GRACE)
        ctx.set(dut.engine.saved, saved << 1)
        await ctx.tick().repeat(5)
        ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
        assert driver.events() == {"preempted"}
        await ctx.tick()
        ctx.set(dut.registers.command.valid, 0)
        assert driver.state(1) == (KernelState.RESUMING if saved else KernelState.RUNNING)
        assert driver.errors(1) == CommandError.ABORTED
        assert ctx.get(dut.engine.command.valid) == saved
        if saved:
            await driver.takes(1, 1)
        else:
            ctx.set(dut.registers.grace, again)  # the next one has its own
            await driver.command(Command.PREEMPT, 1)
            for _ in range(again):
                await ctx.tick()
            await driver.takes(1, 0, grace_used=again)

    drive(scenario)


def test_kill_ends_it():
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, 1000)
        await ctx.tick().repeat(5)
        await driver.command(Command.KILL, 1)
        assert ctx.get(dut.dispatch.kill) == 0b010 and not ctx.get(dut.engine.command.valid)
        leave(ctx, dut, 1)
        await driver.ends("killed")
        for _ in range(1000):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()
        ctx.set(dut.registers.grace, 0)
        await driver.bring(1, KernelState.PREEMPTING)

    drive(scenario)


def test_others_have_the_engine_and_the_room_meanwhile():
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, 40)
        await driver.command(Command.START, 0)
        assert ctx.get(dut.dispatch.eligible) == 0b001
        ctx.set(dut.dispatch.present, 0b011)
        ctx.set(dut.registers.grace, 0)
        await driver.command(Command.PREEMPT, 0)
        await driver.takes(0, 0, grace_used=0)
        await ctx.tick().repeat(60)
        assert not ctx.get(dut.engine.command.valid), "the engine has one at a time"
        ctx.set(dut.dispatch.present, 0b010)
        await driver.result()
        await driver.ends("preempted")
        await driver.takes(1, 0, grace_used=40)

    drive(scenario)


def test_two_kernels_have_grace_at_a_time():
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, 40)
        await driver.command(Command.START, 2)
        ctx.set(dut.dispatch.present, 0b110)
        ctx.set(dut.dispatch.running[2], 0b11)
        ctx.set(dut.registers.grace, 5)
        await driver.command(Command.PREEMPT, 2)
        await ctx.tick().repeat(5)
        await driver.takes(2, 0, grace_used=5)
        ctx.set(dut.dispatch.present, 0b010)
        await driver.result()
        await driver.ends("preempted")
        await offered(ctx, dut)
        await driver.takes(1, 0, grace_used=40)

    drive(scenario)


def test_tbs_that_a_withdrawn_resume_brings_back_have_grace():
    async def scenario(ctx, dut, driver):
        await preempt(ctx, dut, driver, 30, state=KernelState.RESUMING)
        assert ctx.get(dut.engine.withdraw)
        leave(ctx, dut, 1)  # nothing is back yet, but it comes
        await ctx.tick().repeat(10)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.dispatch.running[1], 0b01)
        await driver.result(left=1)
        await driver.ends("resumed")
        assert driver.state(1) == KernelState.PREEMPTING
        await offered(ctx, dut)
        await driver.takes(1, 0, grace_used=30)

    drive(scenario)


def test_a_machine_without_grace_refuses_it():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, KernelState.RUNNING)
        for grace in (1, 1 << 31, UNLIMITED_GRACE):
            ctx.set(dut.registers.grace, grace)
            await driver.command(Command.PREEMPT, 1, CommandError.UNKNOWN)
        await driver.command(Command.START, 0)  # of other commands the register means nothing
        ctx.set(dut.registers.grace, 0)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)

    drive(scenario, G.replace(grace=False))


def test_nobody_waits_for_tbs_that_are_spared_or_have_never_been_started():
    async def scenario(ctx, dut, driver):
        for entries, spared in ((0b01, 0b01), (0b10, 0b10), (0b00, 0b00)):
            await driver.bring(1, KernelState.RUNNING)  # a TB is present in any case
            ctx.set(dut.dispatch.running[1], entries)
            ctx.set(dut.registers.spared, spared)
            ctx.set(dut.registers.grace, UNLIMITED_GRACE)
            await driver.command(Command.PREEMPT, 1)
            ctx.set(dut.registers.spared, 0)
            await ctx.tick()
            await driver.takes(1, 0, grace_used=0, spared=spared)
            await driver.command(Command.KILL, 1)
            leave(ctx, dut, 1)
            await driver.result()
            for _ in range(5):
                await ctx.tick()

    drive(scenario)


def test_a_kernel_whose_spared_tbs_end_has_finished_if_nothing_is_saved():
    async def scenario(ctx, dut, driver):
        for present, done_later in ((1, 1), (0, 0)):
            await driver.bring(1, KernelState.RUNNING)
            ctx.set(dut.registers.spared, 0b01)
            await driver.command(Command.PREEMPT, 1)
            await driver.takes(1, 0, spared=0b01)
            ctx.set(dut.dispatch.present, present << 1)
            await driver.result()
            await driver.ends("preempted")
            assert driver.state(1) == KernelState.PREEMPTED
            ctx.set(dut.dispatch.done, 0b010)
            await ctx.tick()
            assert driver.state(1) == (KernelState.FINISHED if done_later else KernelState.PREEMPTED)
            ctx.set(dut.dispatch.done, 0)
            if not done_later:
                return
            leave(ctx, dut, 1)

    drive(scenario)


@pytest.mark.parametrize("ended", ("before", "after"))
def test_it_has_finished_too_if_a_resume_of_it_was_taken_back_meanwhile(ended):
    """The spared TBs end before or after the abort of a resume that waits behind the command of another kernel."""
    async def scenario(ctx, dut, driver):
        await driver.bring(1, KernelState.RUNNING)
        ctx.set(dut.registers.spared, 0b01)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0, spared=0b01)
        await driver.result()
        await driver.ends("preempted")
        await driver.command(Command.START, 0)
        await driver.command(Command.PREEMPT, 0)
        await driver.takes(0, 0)
        await driver.command(Command.RESUME, 1)
        if ended == "before":
            ctx.set(dut.dispatch.present, 0)
            ctx.set(dut.dispatch.done, 0b010)
            await ctx.tick().repeat(3)
        assert driver.state(1) == KernelState.RESUMING
        ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
        await driver.ends("resumed")
        ctx.set(dut.registers.command.valid, 0)
        assert driver.state(1) == KernelState.PREEMPTED and driver.errors(1) == CommandError.ABORTED
        if ended == "after":
            await ctx.tick().repeat(3)
            assert driver.state(1) == KernelState.PREEMPTED
            ctx.set(dut.dispatch.present, 0)
            ctx.set(dut.dispatch.done, 0b010)
        await ctx.tick()
        assert driver.state(1) == KernelState.FINISHED

    drive(scenario)


@pytest.mark.parametrize("grace", [UNLIMITED_GRACE - 1, UNLIMITED_GRACE])
def test_grace_without_end_outlasts_its_counter(grace):
    slot = component(KernelSlot, G)

    async def bench(ctx):
        ctx.set(slot.running, 1)
        ctx.set(slot.grace, grace)
        ctx.set(slot.commands.preempt, 1)
        await ctx.tick()
        ctx.set(slot.commands.preempt, 0)
        assert ctx.get(slot.engine.grace_active)
        ctx.set(slot.engine.grace_left, 3)  # so long after
        await ctx.tick().repeat(3)
        assert ctx.get(slot.engine.grace_active) == (grace == UNLIMITED_GRACE)

    simulate(slot, bench)
