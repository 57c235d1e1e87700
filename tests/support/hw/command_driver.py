"""Software and engine as a command processor sees them."""

from caesura.hw.arch.commands import BUSY_STATES, Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.control.command_processor import CommandProcessor
from support.hw.options import flat
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

__all__ = ["ABORTED", "ADOPTING", "ANSWERS", "BUSY", "FINISHED", "FITTING", "G", "IDLE", "KILLING", "NONE",
           "NOT_RUNNING", "PREEMPTED", "PREEMPTING", "RESUMING", "RUNNING", "Driver", "drive"]

G = preset("tiny").replace(kernel_slots=3)
FITTING = {"grid_x": 5, "grid_y": 1, "grid_z": 2, "threads": 9, "warps": 2, "registers": 5, "shared_bytes": 129}
"""Sizes of a kernel that fits the preset `tiny`."""
IDLE, RUNNING, PREEMPTING, PREEMPTED, RESUMING, FINISHED, KILLING, ADOPTING = KernelState
NONE, BUSY, NOT_RUNNING, ABORTED = (
    CommandError.NONE, CommandError.BUSY, CommandError.NOT_RUNNING, CommandError.ABORTED)
ANSWERS = {
    Command.START: (NONE, BUSY, BUSY, NOT_RUNNING, BUSY, NONE, BUSY, BUSY),
    Command.PREEMPT: (NOT_RUNNING, NONE, BUSY, NONE, NONE, NOT_RUNNING, BUSY, BUSY),
    Command.RESUME: (NOT_RUNNING, NOT_RUNNING, BUSY, NONE, BUSY, NOT_RUNNING, BUSY, BUSY),
    Command.ABORT: (NOT_RUNNING, NOT_RUNNING, NONE, NOT_RUNNING, NONE, NOT_RUNNING, BUSY, BUSY),
    Command.HASTEN: (NOT_RUNNING, NOT_RUNNING, NONE, NOT_RUNNING, NOT_RUNNING, NOT_RUNNING, BUSY, BUSY),
    Command.KILL: (NOT_RUNNING, NONE, NONE, NONE, NONE, NOT_RUNNING, BUSY, NONE),
    Command.ADOPT: (NONE, BUSY, BUSY, NOT_RUNNING, BUSY, NONE, BUSY, BUSY),
    Command.RELEASE: (NOT_RUNNING, BUSY, BUSY, NONE, BUSY, NOT_RUNNING, BUSY, BUSY),
}
"""Answer to each command, by the state of its kernel, in the order of `KernelState`."""


class Driver:
    """A command processor between software and an engine that the test plays."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        for kernel in range(len(dut.kernels)):
            for name, size in FITTING.items():
                ctx.set(dut.kernels[kernel][name], size)
        ctx.set(dut.engine.command.ready, 1)

    def state(self, kernel):
        return KernelState(self.ctx.get(self.dut.status.states[kernel]))

    def errors(self, kernel):
        return CommandError(self.ctx.get(self.dut.status.errors[kernel]))

    async def command(self, op, kernel=0, error=NONE, **fields):
        """Write a command; it is accepted, or refused with `error`."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.registers.command, {"valid": 1, "op": op, "kernel": kernel, **fields})
        accepted = error == NONE
        assert ctx.get(dut.events.refused) == (not accepted)
        assert ctx.get(dut.dispatch.start) == (1 << kernel if accepted and op in (Command.START, Command.ADOPT) else 0)
        assert ctx.get(dut.dispatch.invalidate) == (accepted and op in (Command.START, Command.RESUME))
        await ctx.tick()
        ctx.set(dut.registers.command.valid, 0)

    async def takes(self, kernel, resume, **payload):
        """The engine is offered a command in this cycle, and takes it."""
        ctx, dut = self.ctx, self.dut
        offered = ctx.get(dut.engine.command.payload)
        assert ctx.get(dut.engine.command.valid) and (offered.kernel, offered.resume) == (kernel, resume)
        shown = flat(value(offered))
        assert {name: shown[name] for name in payload} == payload
        await ctx.tick()
        assert not ctx.get(dut.engine.command.valid)

    async def result(self, error=NONE, left=0, saved=0, at_once=0):
        """The engine ends what it has; leaves the events to be looked at in this cycle."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.engine.result, {"valid": 1, "error": error, "left": left, "saved": saved, "at_once": at_once})
        await ctx.tick()
        ctx.set(dut.engine.result.valid, 0)

    def events(self):
        ctx, dut = self.ctx, self.dut
        return {name for name in ("preempted", "resumed", "killed", "adopted") if ctx.get(dut.events[name])}

    async def ends(self, *events):
        """These events come in this cycle."""
        assert self.events() == set(events)
        await self.ctx.tick()
        assert not self.events() & set(events)

    async def bring(self, kernel, state):
        """Bring an idle kernel to a state; the engine has what is under way."""
        ctx, dut = self.ctx, self.dut
        bit = 1 << kernel
        if state == ADOPTING:
            await self.command(Command.ADOPT, kernel)
            await self.takes(kernel, 0, adopt=1)
        elif state != IDLE:
            await self.command(Command.START, kernel)
            assert ctx.get(dut.dispatch.eligible) == bit and self.state(kernel) == RUNNING
            assert value(ctx.get(dut.dispatch.footprints[kernel])) == {"rows": 3, "lines": 2}
            ctx.set(dut.dispatch.present, bit)
        if state == FINISHED:
            ctx.set(dut.dispatch.present, 0)
            ctx.set(dut.dispatch.done, bit)
            assert ctx.get(dut.events.finished) == bit
            await ctx.tick()
            ctx.set(dut.dispatch.done, 0)
            assert not ctx.get(dut.events.finished)
        if state in (PREEMPTING, PREEMPTED, RESUMING):
            await self.command(Command.PREEMPT, kernel)
            await self.takes(kernel, 0)
            assert ctx.get(dut.status.busy)
        if state in (PREEMPTED, RESUMING):
            ctx.set(dut.engine.saved, bit)
            ctx.set(dut.dispatch.present, 0)
            await self.result()
            await self.ends("preempted")
        if state == RESUMING:
            await self.command(Command.RESUME, kernel)
            await self.takes(kernel, 1, again=0)
        if state == KILLING:
            await self.command(Command.KILL, kernel)
        assert self.state(kernel) == state
        assert ctx.get(dut.dispatch.eligible) == (bit if state == RUNNING else 0)
        assert ctx.get(dut.status.busy) == (state in BUSY_STATES)


def drive(scenario, g=G):
    """Run a scenario with a command processor and its `Driver`."""
    dut = component(CommandProcessor, g)

    async def bench(ctx):
        await scenario(ctx, dut, Driver(ctx, dut))

    simulate(dut, bench)
