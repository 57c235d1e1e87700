"""A kernel that is loaded, on a machine that can be reset while its memory is kept."""

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.memory import ErrorRange
from support.programs.stir import WORDS, StirArrays, image
from support.sim.launch import Bench

__all__ = ["FINISHED", "IDLE", "PREEMPTED", "Scene"]

ROUNDS = 3
LIMIT = 400_000
PREEMPTED, FINISHED, IDLE = KernelState.PREEMPTED, KernelState.FINISHED, KernelState.IDLE


class Scene:
    """A kernel that is loaded, on a machine of which only memory is kept when power is lost.

    Parameters
    ----------
    transport : RtlTransport
    pause : int
        Cycles between two looks at a state; looking takes as long as simulating some two hundred.
    """

    limit = LIMIT
    """Most cycles of a wait."""

    def __init__(self, transport, pause=20):
        self.transport, self.g, self.pause = transport, transport.geometry, pause
        g, self.bench = self.g, Bench(transport)
        code, warps = image(min(16, g.regs_per_thread)), 2
        blocks = 2 * min(g.tb_slots, g.warps // warps) + 1
        self.arrays = StirArrays(self.bench, code, blocks * warps * g.warp_size,
                                 np.random.default_rng(5).integers(0, 1 << 32, WORDS, np.uint32), ROUNDS)
        self.loaded = self.bench.load(0, code, (blocks,), (warps * g.warp_size,), self.arrays.arguments)
        self.record = context.record_address(g, self.loaded.ccb_base)
        self.ccb_bytes = context.ccb_bytes(g, self.loaded.area_bytes)
        self.beginning = transport.snapshot()

    @property
    def state(self):
        return KernelState(self.bench.peek("kernel[0].state")["state"])

    @property
    def error(self):
        return CommandError(self.bench.peek("kernel[0].state")["error"])

    def until(self, *states):
        """Let time pass until the kernel is in one of these states."""
        passed = 0
        while self.state not in states:
            assert passed < self.limit, self.state
            passed += self.transport.advance(self.pause)

    def settle(self, pause=None):
        """Let time pass until no command is under way; return the cycles."""
        passed = 0
        while self.bench.peek("status")["busy"] or self.state in (KernelState.PREEMPTING, KernelState.RESUMING):
            assert passed < self.limit, self.state
            passed += self.transport.advance(pause or self.pause)
        return passed

    def contexts_fail(self, reads=True, writes=True):
        """Let accesses to the kernel's contexts and record fail from now on."""
        start = self.loaded.ccb_base
        self.transport.add_error_range(ErrorRange(start, start + self.ccb_bytes, reads, writes))

    def start(self, cycles):
        self.transport.restore(self.beginning)
        self.bench.command(Command.START, 0)
        self.transport.advance(cycles)

    def preempted(self, cycles, mechanism=Mechanism.LIVE_CP):
        """Run for so long, and preempt."""
        self.start(cycles)
        self.bench.command(Command.PREEMPT, 0, mechanism)
        self.until(PREEMPTED, FINISHED)

    def memory(self):
        return self.transport.read_memory(0, self.transport.memory_bytes)

    def ccb(self):
        return self.transport.read_memory(self.loaded.ccb_base, self.ccb_bytes)

    def take_over(self, memory):
        """Return how a machine that has just been reset takes the kernel over from memory."""
        self.transport.restore(self.beginning)
        self.transport.write_memory(0, memory)
        self.bench.command(Command.ADOPT, 0)
        self.until(PREEMPTED, IDLE)
        assert (self.state is PREEMPTED) == (self.error is CommandError.NONE)
        return self.error

    def ends_well(self):
        """Resume to the end; the arrays hold the right bits."""
        self.bench.command(Command.RESUME, 0)
        self.until(FINISHED)
        self.arrays.check()

    def moments(self, count):
        """Return cycles at which the kernel runs, the first with nothing launched."""
        self.start(0)
        whole = 0
        while self.state is not FINISHED:
            whole += self.transport.advance(100)
        return [0, 15, *(whole * k // (count - 1) for k in range(1, count - 1))]
