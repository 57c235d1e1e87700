"""What memory refuses the engine and what finds no room are remembered apart: each is tried again, and ends."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, TRIES, MemoryRefusals
from support.hw.command_driver import G, drive
from support.hw.simulation import component
from support.hw.stream_bench import simulate

YIELDS = G.replace(watches=3, entries=6)
BUS_ERROR, BAD_IMAGE = CommandError.BUS_ERROR, CommandError.BAD_IMAGE


def test_a_pause_and_an_end():
    dut = component(MemoryRefusals, G)

    async def refuse(ctx, vector):
        ctx.set(dut.refused, vector)
        given_up = ctx.get(dut.given_up)
        await ctx.tick()
        ctx.set(dut.refused, 0)
        assert ctx.get(dut.pausing) & vector == vector
        return given_up

    async def pause(ctx):
        cycles = 0
        while ctx.get(dut.pausing):
            await ctx.tick()
            cycles += 1
        return cycles

    async def bench(ctx):
        for _ in range(2):  # the end makes it begin anew
            for n in range(TRIES):
                assert await refuse(ctx, 0b010) == (0b010 if n == TRIES - 1 else 0)
                assert await pause(ctx) == AGAIN_CYCLES
        for n in range(2 * TRIES):  # never so many in a row
            assert not await refuse(ctx, 0b001)
            await pause(ctx)
            if n % (TRIES - 1) == TRIES - 2:
                done = (dut.done, dut.forget)[n > TRIES]
                ctx.set(done, 0b001)
                await ctx.tick()
                ctx.set(done, 0)
        await refuse(ctx, 0b001)
        await ctx.tick().repeat(100)
        await refuse(ctx, 0b100)
        assert ctx.get(dut.pausing) == 0b101 and await pause(ctx) == AGAIN_CYCLES

    simulate(dut, bench, cycles=20_000)


async def _wakes(ctx, dut, driver, kernel=0):
    """A kernel runs, and a TB of it that is away is to come back; the engine is asked to, and takes it."""
    if driver.state(kernel) == KernelState.IDLE:
        await driver.command(Command.START, kernel)
    ctx.set(dut.yields.wake_entries[kernel], 0b10)
    await driver.takes(kernel, 1, yields=1, spared=0b111101)


def _idle(ctx, dut):
    return not ctx.get(dut.engine.command.valid)


def test_a_wake_that_memory_refuses_is_tried_again_though_nobody_leaves():
    """The SM is empty, so no TB will ever leave it; meanwhile others are launched."""
    async def scenario(ctx, dut, driver):
        await _wakes(ctx, dut, driver)
        await driver.command(Command.START, 1)
        assert not ctx.get(dut.dispatch.eligible), "fresh TBs wait for those that come back"
        for n in range(3):
            await driver.result(BUS_ERROR, left=1)
            await ctx.tick()
            cycles = 0
            while _idle(ctx, dut):
                assert ctx.get(dut.dispatch.eligible) == 0b011 and not ctx.get(dut.yields.wake_lacks_room)
                await ctx.tick()
                cycles += 1
            assert cycles == AGAIN_CYCLES, f"retry {n}"
            await driver.takes(0, 1, yields=1)
        await driver.result()
        ctx.set(dut.yields.wake_entries[0], 0)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.dispatch.eligible) == 0b011 and driver.errors(0) == CommandError.NONE

    drive(scenario, YIELDS)


def test_a_wake_that_finds_no_room_waits_until_a_tb_leaves():
    async def scenario(ctx, dut, driver):
        await _wakes(ctx, dut, driver)
        await driver.result(left=1)
        for _ in range(2 * AGAIN_CYCLES):
            await ctx.tick()
            assert _idle(ctx, dut) and ctx.get(dut.yields.wake_lacks_room) and not ctx.get(dut.dispatch.eligible)
        ctx.set(dut.dispatch.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.takes(0, 1, yields=1)

    drive(scenario, YIELDS)


def test_a_wake_that_memory_always_refuses_ends():
    """After so many tries the kernel is preempted, with the error, and holds up no other."""
    async def scenario(ctx, dut, driver):
        ctx.set(dut.engine.saved, 0b001)
        await _wakes(ctx, dut, driver)
        await driver.command(Command.START, 1)
        for n in range(TRIES):
            await driver.result(BUS_ERROR, left=1)
            if n < TRIES - 1:
                await driver.ends()
                assert driver.state(0) == KernelState.RUNNING
                while _idle(ctx, dut):
                    await ctx.tick()
                await driver.takes(0, 1, yields=1)
        await driver.ends("resumed")
        assert (driver.state(0), driver.errors(0)) == (KernelState.PREEMPTED, BUS_ERROR)
        assert ctx.get(dut.dispatch.eligible) == 0b010
        await driver.command(Command.RESUME, 0)
        await driver.takes(0, 1, yields=0, again=0)

    drive(scenario, YIELDS)


@pytest.mark.parametrize("how", ["started again", "resumed"])
def test_refusals_are_forgotten_with(how):
    async def scenario(ctx, dut, driver):
        ctx.set(dut.engine.saved, 0b001)
        for _ in range(2):  # so often in all, but not in a row
            await _wakes(ctx, dut, driver)
            for n in range(TRIES - 1):
                await driver.result(BUS_ERROR, left=1)
                await driver.ends()
                if n < TRIES - 2:
                    while _idle(ctx, dut):
                        await ctx.tick()
                    await driver.takes(0, 1, yields=1)
            ctx.set(dut.yields.wake_entries[0], 0)
            if how == "started again":
                await driver.command(Command.KILL)
                await ctx.tick().repeat(2)
            else:
                ctx.set(dut.dispatch.present, 1)
                await driver.command(Command.PREEMPT)
                await driver.takes(0, 0)
                ctx.set(dut.dispatch.present, 0)
                await driver.result()
                await ctx.tick()
                await driver.command(Command.RESUME)
                await driver.takes(0, 1, yields=0)
                await driver.result()
                await ctx.tick()
                assert driver.state(0) == KernelState.RUNNING
        assert driver.errors(0) == CommandError.NONE

    drive(scenario, YIELDS)


def test_kernels_pause_by_themselves():
    async def scenario(ctx, dut, driver):
        await _wakes(ctx, dut, driver)
        await driver.result(BUS_ERROR, left=1)
        await ctx.tick()
        await _wakes(ctx, dut, driver, 1)
        await driver.result()
        await ctx.tick()
        ctx.set(dut.yields.wake_entries[1], 0)
        while _idle(ctx, dut):
            await ctx.tick()
        await driver.takes(0, 1, yields=1)

    drive(scenario, YIELDS)


@pytest.mark.parametrize("how", ["withdrawn", "killed", "failed"])
def test_what_a_pass_leaves_that_has_not_looked_for_room_does_not_make_the_next_one_wait(how):
    async def scenario(ctx, dut, driver):
        await driver.bring(0, KernelState.RESUMING)
        if how == "withdrawn":
            await driver.command(Command.ABORT)
        if how == "killed":
            await driver.command(Command.KILL)
        await driver.result(BUS_ERROR if how == "failed" else CommandError.NONE, left=1)
        await ctx.tick().repeat(3)
        if how == "killed":
            ctx.set(dut.engine.saved, 0)
            await _wakes(ctx, dut, driver)
        else:
            assert driver.state(0) == KernelState.PREEMPTED
            await driver.command(Command.RESUME)
            await driver.takes(0, 1)

    drive(scenario, YIELDS)


def test_a_bad_image_ends_at_once():
    async def scenario(ctx, dut, driver):
        ctx.set(dut.engine.saved, 0b001)
        await _wakes(ctx, dut, driver)
        await driver.result(BAD_IMAGE, left=1)
        await driver.ends("resumed")
        assert (driver.state(0), driver.errors(0)) == (KernelState.PREEMPTED, BAD_IMAGE)

    drive(scenario, YIELDS)


@pytest.mark.parametrize("refused", [True, False])
def test_a_save_of_a_yielding_tb_that_memory_refuses_lets_others_go_first(refused):
    """The TB is offered again and again; a resume of another kernel has its turn all the same."""
    async def scenario(ctx, dut, driver):
        await driver.bring(1, KernelState.PREEMPTED)
        await driver.command(Command.START, 0)
        ctx.set(dut.yields.leave, {"valid": 1, "kernel": 0, "entry": 2})
        await driver.takes(0, 0, yields=1, spared=0b111011)
        await driver.command(Command.RESUME, 1)
        await driver.result(BUS_ERROR if refused else CommandError.NONE)
        assert ctx.get(dut.yields.leave_ended)
        await ctx.tick()
        assert ctx.get(dut.yields.leave_pausing) == (0b001 if refused else 0)
        if not refused:
            return
        ctx.set(dut.yields.leave.valid, 0)  # as the yield unit sees to
        await driver.takes(1, 1, yields=0)
        await driver.result()
        cycles = 2
        while ctx.get(dut.yields.leave_pausing):
            await ctx.tick()
            cycles += 1
        assert cycles == AGAIN_CYCLES and driver.state(0) == KernelState.RUNNING

    drive(scenario, YIELDS)


def test_a_yielding_tb_that_memory_never_saves_ends_in_an_error():
    """It stays on the SM and runs on; a save that ends well begins the count anew."""
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, 0)
        ctx.set(dut.dispatch.present, 0b001)
        for n in range(2 * TRIES):
            while ctx.get(dut.yields.leave_pausing):
                await ctx.tick()
            assert driver.state(0) == KernelState.RUNNING
            ctx.set(dut.yields.leave, {"valid": 1, "kernel": 0, "entry": 1})
            await driver.takes(0, 0, yields=1)
            ctx.set(dut.yields.leave.valid, 0)
            await driver.result(CommandError.NONE if n == TRIES - 1 else BUS_ERROR)
            await driver.ends(*(["resumed"] if n == 2 * TRIES - 1 else []))
        assert (driver.state(0), driver.errors(0)) == (KernelState.PREEMPTED, BUS_ERROR)
        await driver.command(Command.RESUME, 0)
        await driver.takes(0, 1, yields=0, again=0)
        await driver.result()
        await driver.ends("resumed")
        assert driver.state(0) == KernelState.RUNNING and driver.errors(0) == CommandError.NONE

    drive(scenario, YIELDS)


def _stays(ctx, dut, owners):
    """Something of TBs of these kernels stays on the SM, a row each."""
    for row, kernel in enumerate(owners):
        ctx.set(dut.engine.staying.rows[row].what.kernel, kernel)
    ctx.set(dut.engine.staying.evictable, (1 << len(owners)) - 1)


def test_evictions_pause_by_kernel_and_end_a_resume_that_finds_no_other_room():
    """A resume waits for the room that evictions of two kernels make; memory always refuses that of the first."""
    async def scenario(ctx, dut, driver):
        await driver.bring(2, KernelState.RESUMING)
        await driver.command(Command.START, 0)
        _stays(ctx, dut, [0, 1])
        ctx.set(dut.dispatch.evict, 0b11)
        await driver.result(left=1)
        await ctx.tick()
        await driver.takes(0, 0, evict=1, staying=0)
        await driver.result(BUS_ERROR)
        await ctx.tick()
        await driver.takes(1, 0, evict=1, staying=1)  # the other one does not wait for it
        await driver.result()
        ctx.set(dut.dispatch.evict, 0b01)
        await ctx.tick()
        for _ in range(TRIES - 1):
            assert driver.state(2) == KernelState.RESUMING and not ctx.get(dut.dispatch.eligible)
            while _idle(ctx, dut):
                await ctx.tick()
            await driver.takes(0, 0, evict=1, staying=0)
            await driver.result(BUS_ERROR)
            assert not driver.events() and not ctx.get(dut.dispatch.stuck)
            await ctx.tick()
        assert ctx.get(dut.dispatch.stuck) == 0b001
        ctx.set(dut.dispatch.evict, 0)
        await driver.takes(2, 1, again=1)  # it looks for room elsewhere
        await driver.result(left=1)
        await ctx.tick()
        for _ in range(3 * AGAIN_CYCLES):  # some TB on the SM may make room
            assert _idle(ctx, dut) and driver.state(2) == KernelState.RESUMING
            await ctx.tick()
        ctx.set(dut.dispatch.hopeless, 0b100)
        await driver.ends("resumed")
        assert (driver.state(2), driver.errors(2)) == (KernelState.PREEMPTED, BUS_ERROR)
        assert ctx.get(dut.dispatch.eligible) == 0b001, "fresh TBs of others are launched where they find room"
        await driver.command(Command.RESUME, 2)
        assert not ctx.get(dut.dispatch.stuck)
        await driver.takes(2, 1, again=0)

    assert G.in_place
    drive(scenario)
