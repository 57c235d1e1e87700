"""Memory that fails at any cycle of a preempt or a resume, for a moment, a while, or until the command has ended: no
thread block is lost, none runs twice, on the whole RTL, by every mechanism. With eight slots for thread blocks it
begins to fail at every 29th cycle."""

from itertools import product

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from support.attacks.kept_memory import FINISHED, PREEMPTED, Scene
from support.selection import quick

TINY = preset("tiny")
EIGHT = TINY.replace(name="eight", warps=16, tb_slots=8, registers=16 * TINY.registers // TINY.warps,
                     shared_bytes=4 * TINY.shared_bytes)
GEOMETRIES = {"2 slots": TINY.replace(tb_slots=2), "8 slots": EIGHT}
KINDS = {"reads": (True, False), "writes": (False, True), "both": (True, True)}
LENGTHS = 1, 60, None
"""Cycles; None: until the command has ended."""
QUICK = [("2 slots", Mechanism.LIVE_TB, "both", 61)]
CASES = QUICK + [(slots, mechanism, kind, step) for slots, step in (("2 slots", 1), ("8 slots", 29))
                 for mechanism in Mechanism for kind in KINDS]
"""With the cycles from one moment to the next."""
_scenes = {}


class Outages(Scene):
    """The kernel in the middle of its run."""

    limit = 100_000

    def __init__(self, geometry):
        super().__init__(RtlTransport(geometry, memory_bytes=1 << 19), pause=200)
        self.start(self.moments(4)[2])
        self.running = self.transport.snapshot()

    def fail(self, kind, moment, length):
        """Let accesses to the kernel's context fail from a moment on."""
        self.transport.advance(moment)
        self.contexts_fail(*KINDS[kind])
        if length:
            self.transport.advance(length)
            self.transport.clear_error_ranges()
        self.settle(20)
        self.transport.clear_error_ranges()
        assert self.error in (CommandError.NONE, CommandError.BUS_ERROR), self.error
        return self.error

    def again(self, command, mechanism):
        """Repeat a command, the memory being whole again, until it ends without an error: at most twice."""
        for _ in range(2):
            self.bench.command(command, 0, mechanism)
            self.settle(20)
            if self.error is CommandError.NONE:
                return
        pytest.fail(f"{command.name} ends with {self.error.name} again and again")

    def ends(self, mechanism):
        """Bring the kernel to its end; the arrays hold the right bits, each atomic done once."""
        if self.state is PREEMPTED:
            self.again(Command.RESUME, mechanism)
        self.until(FINISHED)
        self.arrays.check()


def scene(slots):
    if slots not in _scenes:
        _scenes.clear()
        _scenes[slots] = Outages(GEOMETRIES[slots])
    return _scenes[slots]


def took(s, beginning, command, mechanism):
    s.transport.restore(beginning)
    s.bench.command(command, 0, mechanism)
    cycles = s.settle(20)
    assert s.error is CommandError.NONE
    return cycles


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("slots, mechanism, kind, step", quick(CASES, QUICK))
def test_during_a_preempt(slots, mechanism, kind, step):
    s, bad = scene(slots), 0
    whole = took(s, s.running, Command.PREEMPT, mechanism)
    for number, (moment, length) in enumerate(product(range(0, whole, step), LENGTHS)):
        s.transport.restore(s.running)
        s.bench.command(Command.PREEMPT, 0, mechanism)
        bad += s.fail(kind, moment, length) is CommandError.BUS_ERROR
        if s.state is KernelState.RUNNING and number % 2:
            s.again(Command.PREEMPT, mechanism)
        s.ends(mechanism)
    assert bad or kind == "reads"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("gang", quick([False, True], [False]))
@pytest.mark.parametrize("slots, mechanism, kind, step", quick(CASES, QUICK))
def test_during_a_resume(slots, mechanism, kind, step, gang):
    """What is parked is preempted with the rest, brought back at the next resume, or killed with its kernel."""
    s, bad = scene(slots), 0
    took(s, s.running, Command.PREEMPT, mechanism)
    away = s.transport.snapshot()
    whole = took(s, away, Command.RESUME, mechanism)
    for number, (moment, length) in enumerate(product(range(0, whole, step), LENGTHS)):
        s.transport.restore(away)
        s.bench.command(Command.RESUME, 0, mechanism, gang=gang)
        error = s.fail(kind, moment, length)
        bad += error is CommandError.BUS_ERROR
        if error and number % 4 == 0:
            s.bench.command(Command.KILL, 0)
            s.until(KernelState.IDLE, FINISHED)
            assert not s.bench.peek("status")["resident"] and not s.bench.peek("status")["warps"]
            continue
        if error and number % 4 == 1 and s.state is KernelState.RUNNING:
            s.bench.command(Command.PREEMPT, 0, mechanism)
            s.settle(20)
        s.ends(mechanism)
    assert bad
