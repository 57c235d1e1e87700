"""The command processor: every command in every state, and how each preempt and resume ends."""

import itertools
import random

import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import Command, KernelState
from caesura.hw.device.command_processor import CommandProcessor
from support.hw.simulation import component
from support.hw.stream_bench import simulate

G = preset("tiny").replace(kernel_slots=3)
FITTING = {"grid_x": 5, "grid_y": 1, "grid_z": 2, "threads": 9, "warps": 2, "registers": 5, "shared_bytes": 129}
IDLE, RUNNING, PREEMPTING, PREEMPTED, RESUMING, FINISHED = (KernelState[name] for name in (
    "IDLE", "RUNNING", "PREEMPTING", "PREEMPTED", "RESUMING", "FINISHED"))
REFUSED = {
    Command.START: {IDLE: None, FINISHED: None, RUNNING: CommandError.BUSY, PREEMPTING: CommandError.BUSY,
                    RESUMING: CommandError.BUSY, PREEMPTED: CommandError.NOT_RUNNING},
    Command.PREEMPT: {RUNNING: None, IDLE: CommandError.NOT_RUNNING, FINISHED: CommandError.NOT_RUNNING,
                      PREEMPTED: CommandError.NOT_RUNNING, PREEMPTING: CommandError.BUSY, RESUMING: CommandError.BUSY},
    Command.RESUME: {PREEMPTED: None, IDLE: CommandError.NOT_RUNNING, FINISHED: CommandError.NOT_RUNNING,
                     RUNNING: CommandError.NOT_RUNNING, PREEMPTING: CommandError.BUSY, RESUMING: CommandError.BUSY},
}
"""Why a command is refused in each state of its kernel, None if it is not."""


class Driver:
    """A command processor between software and an engine that the test plays."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        for kernel in range(G.kernel_slots):
            for name, size in FITTING.items():
                ctx.set(dut.kernels[kernel][name], size)

    def state(self, kernel):
        return KernelState(self.ctx.get(self.dut.states[kernel]))

    async def command(self, op, kernel=0, error=None, **fields):
        """Write a command; it is accepted, or refused with `error`."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.command, {"valid": 1, "op": op, "kernel": kernel, **fields})
        accepted = error is None
        assert ctx.get(dut.refused) == (not accepted)
        assert ctx.get(dut.start) == (1 << kernel if accepted and op == Command.START else 0)
        assert ctx.get(dut.invalidate) == (accepted and op != Command.PREEMPT)
        await ctx.tick()
        ctx.set(dut.command.valid, 0)
        assert ctx.get(dut.error) == (error or CommandError.NONE)

    async def end(self, error=CommandError.NONE):
        """The engine takes what it is given, and ends it."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.engine.ready, 1)
        await ctx.tick().until(dut.engine.valid)
        ctx.set(dut.engine.ready, 0)
        assert not ctx.get(dut.engine.valid) and ctx.get(dut.busy)
        ctx.set(dut.result, {"valid": 1, "error": error})
        await ctx.tick()
        ctx.set(dut.result.valid, 0)

    async def bring(self, kernel, state):
        """Bring an idle kernel to a state."""
        ctx, dut = self.ctx, self.dut
        if state != IDLE:
            await self.command(Command.START, kernel)
            assert ctx.get(dut.eligible) == 1 << kernel and self.state(kernel) == RUNNING
            assert (ctx.get(dut.footprints[kernel].rows), ctx.get(dut.footprints[kernel].lines)) == (3, 2)
        if state == FINISHED:
            ctx.set(dut.done, 1 << kernel)
            assert ctx.get(dut.finished) == 1 << kernel
            await ctx.tick()
            ctx.set(dut.done, 0)
            assert not ctx.get(dut.finished)
        if state in (PREEMPTING, PREEMPTED, RESUMING):
            await self.command(Command.PREEMPT, kernel)
            assert ctx.get(dut.busy)
        if state in (PREEMPTED, RESUMING):
            await self.end()
            assert ctx.get(dut.preempted) and not ctx.get(dut.resumed)
            await ctx.tick()
        if state == RESUMING:
            await self.command(Command.RESUME, kernel)
        assert self.state(kernel) == state
        assert ctx.get(dut.eligible) == (1 << kernel if state == RUNNING else 0)


def drive(scenario):
    dut = component(CommandProcessor, G)

    async def bench(ctx):
        await scenario(ctx, dut, Driver(ctx, dut))

    simulate(dut, bench)


@pytest.mark.parametrize("op, state", [*itertools.product(REFUSED, KernelState)])
def test_a_command_is_accepted_in_the_right_states_only(op, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, state)
        await driver.command(op, 1, REFUSED[op][state])
        after = {Command.START: RUNNING, Command.PREEMPT: PREEMPTING, Command.RESUME: RESUMING}[op]
        assert driver.state(1) == (state if REFUSED[op][state] else after)
        assert driver.state(0) == driver.state(2) == IDLE

    drive(scenario)


def test_what_does_not_exist_or_fit_is_refused():
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, 3, CommandError.UNKNOWN)
        await driver.command(max(Command) + 1, 0, CommandError.UNKNOWN)
        for name, size in (("grid_x", 0), ("threads", 17), ("registers", G.regs_per_thread + 1), ("registers", 0),
                           ("shared_bytes", G.shared_bytes + 1), ("warps", 1)):
            ctx.set(dut.kernels[0][name], size)
            await driver.command(Command.START, 0, CommandError.TOO_LARGE)
            ctx.set(dut.kernels[0][name], FITTING[name])
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, mechanism=max(Mechanism) + 1)
        await driver.command(Command.PREEMPT, 7, CommandError.UNKNOWN)
        await driver.command(Command.START, 1)
        await driver.command(Command.PREEMPT, 0, mechanism=max(Mechanism))
        await driver.command(Command.PREEMPT, 1, CommandError.BUSY)
        assert [driver.state(k) for k in range(3)] == [PREEMPTING, RUNNING, IDLE]

    drive(scenario)


def test_the_engine_gets_the_command_once_no_tb_is_half_launched():
    async def scenario(ctx, dut, driver):
        rng = random.Random(3)
        await driver.bring(2, RUNNING)
        wanted = {"mechanism": Mechanism.LIVE, "scramble": 1, "gang": 1}
        ctx.set(dut.launching, {"valid": 1, "kernel": 2})
        await driver.command(Command.PREEMPT, 2, **wanted)
        for _ in range(5):
            assert not ctx.get(dut.engine.valid)
            await ctx.tick()
        ctx.set(dut.launching, {"valid": 1, "kernel": 1})
        for _ in range(rng.randint(1, 4)):
            payload = ctx.get(dut.engine.payload)
            assert ctx.get(dut.engine.valid) and (payload.resume, payload.kernel) == (0, 2)
            assert all(payload[name] == field for name, field in wanted.items())
            await ctx.tick()
        await driver.end()
        await ctx.tick()
        await driver.command(Command.RESUME, 2, gang=1)
        payload = ctx.get(dut.engine.payload)
        assert ctx.get(dut.engine.valid) and (payload.resume, payload.kernel, payload.gang) == (1, 2, 1)

    drive(scenario)


def test_a_preempt_ends_when_its_tbs_have_left():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.present, 0b011)
        await driver.end()
        for _ in range(4):
            assert not ctx.get(dut.preempted) and ctx.get(dut.busy) and driver.state(1) == PREEMPTING
            await ctx.tick()
        ctx.set(dut.present, 0b001)
        assert ctx.get(dut.preempted)
        await ctx.tick()
        assert driver.state(1) == PREEMPTED and not ctx.get(dut.busy) and not ctx.get(dut.preempted)

    drive(scenario)


@pytest.mark.parametrize("error, saved, done, state", [
    (CommandError.NONE, 1, 0, PREEMPTED), (CommandError.NONE, 0, 1, FINISHED), (CommandError.NONE, 1, 1, FINISHED),
    (CommandError.BUS_ERROR, 0, 0, RUNNING), (CommandError.BUS_ERROR, 1, 0, PREEMPTED),
    (CommandError.AREA_TOO_SMALL, 0, 0, RUNNING)])
def test_how_a_preempt_ends(error, saved, done, state):
    async def scenario(ctx, dut, driver):
        ctx.set(dut.released, 1)  # before the command: it does not count
        await ctx.tick()
        ctx.set(dut.released, 0)
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.released, saved)
        await ctx.tick()
        ctx.set(dut.released, 0)
        ctx.set(dut.done, done << 1)
        await driver.end(error)
        assert ctx.get(dut.preempted) and ctx.get(dut.finished) == (1 << 1 if state == FINISHED else 0)
        await ctx.tick()
        assert driver.state(1) == state and ctx.get(dut.error) == error and not ctx.get(dut.busy)

    drive(scenario)


@pytest.mark.parametrize("error, state", [(CommandError.NONE, RUNNING), (CommandError.BAD_IMAGE, PREEMPTED)])
def test_how_a_resume_ends(error, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.present, 0b010)
        await driver.end(error)
        assert ctx.get(dut.resumed) and not ctx.get(dut.preempted)
        await ctx.tick()
        assert driver.state(1) == state and ctx.get(dut.error) == error and not ctx.get(dut.busy)
        assert ctx.get(dut.eligible) == (2 if state == RUNNING else 0)

    drive(scenario)
