"""The passage of simulated time: for so many cycles, or until a launch has finished."""

from __future__ import annotations

import time
from collections.abc import Callable

from caesura.hw.arch.commands import KernelState

from ..launch.arguments import whole_number
from ..launch.inspection import Inspection
from ..launch.launch import ENDED, Launch
from ..launch.launcher import Launcher
from ..machine.errors import CycleLimit, DriverError, KernelFault
from ..machine.time_slices import TimeSlices, uninterrupted

__all__ = ["DEFAULT_CYCLES", "Observer", "SimulatedTime"]

DEFAULT_CYCLES = 10_000_000
"""Default cycle limit of `wait`."""
OBSERVER_SECONDS = 0.1
"""Least time in seconds between two calls of an observer."""

Observer = Callable[["Launch | None", int], None]
"""A function of the launch that is waited for, None if time just passes, and of the device's cycle."""


class SimulatedTime:
    """The time of a device.

    Parameters
    ----------
    launcher : Launcher
    inspection : Inspection

    Attributes
    ----------
    observer : callable or None
    pump : callable or None
        Called after each event, which may let something else begin.
    busy : callable
        Returns whether `pump` has anything to wait for.
    behind : callable
        Returns whether some thread has taken an event that `pump` has not looked at; no time passes before it has.
    """

    def __init__(self, launcher: Launcher, inspection: Inspection):
        self._launcher, self._inspection = launcher, inspection
        self._host, self._events = launcher.host, launcher.slots.events
        self.observer: Observer | None = None
        self.pump: Callable[[], None] | None = None
        self.busy: Callable[[], bool] = lambda: False
        self.behind: Callable[[], bool] = lambda: False
        self._observed = 0.0
        self._slices = TimeSlices()

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles pass; see `Device.advance`."""
        cycles = whole_number(cycles, "cycles")
        if not self.busy():
            return self._pass(lambda asked: self._host.transport.advance(asked), cycles, None)
        begin = self._host.transport.cycle
        self.wait_until(lambda: self._host.transport.cycle - begin >= cycles, cycles, None)
        return self._host.transport.cycle - begin

    def run(self, launch: Launch, cycles: int) -> int:
        """Let cycles pass until a launch finishes, at most so many; see `Device.run`."""
        self._launcher.check_device(launch)
        return self.wait_until(lambda: launch.finished, whole_number(cycles, "cycles"), launch)

    def wait(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until a launch has finished; see `Device.wait`."""
        self._launcher.check_device(launch)
        limit = whole_number(max_cycles, "max_cycles")
        over = *ENDED, KernelState.PREEMPTED
        passed = self.wait_until(lambda: launch.state in over, limit, launch)
        self._events.take()
        self._launcher.slots.free_local()
        if launch.state is KernelState.PREEMPTED:
            raise DriverError(f"kernel {launch.kernel.image.name!r} is preempted and will not go on; resume it first")
        if launch.state is KernelState.IDLE:
            raise DriverError(f"kernel {launch.kernel.image.name!r} was killed; launch it again")
        if tbs := launch.faulted_tbs:
            raise KernelFault(launch.fault, launch.kernel.image.name, tbs)
        if not launch.finished:
            done, total = launch.progress
            raise CycleLimit(f"kernel {launch.kernel.image.name!r} has not finished after {passed} cycles "
                             f"({done} of {total} TBs done)\n" + self._inspection.describe_warps())
        return passed

    def wait_until(self, done: Callable[[], bool], max_cycles: int, launch: Launch | None) -> int:
        """Let time pass until `done`, asked after each event, at most `max_cycles`; return the cycles passed."""
        passed = 0
        while not done() and passed < max_cycles:
            passed += self._pass(lambda asked: self._host.transport.wait(asked), max_cycles - passed, launch,
                                 self._events.taken)
            self._events.take()
            if self.pump is not None:
                self.pump()
        return passed

    def _pass(self, call: Callable[[int], int], cycles: int, launch: Launch | None, taken: int | None = None) -> int:
        """Let time pass in slices, each as a whole, and tell the observer. End when another thread has taken an event
        since `taken` were taken. `call` gets the transport each time, since another thread may have closed it."""
        def step(asked: int) -> int:
            lock = self._host.lock
            with lock.turn, lock, uninterrupted():
                late = taken is not None and (taken != self._events.taken or self.behind())
                return 0 if late else call(asked)

        def after() -> bool:
            if self.observer:
                self._observe(launch)
            return taken is not None and taken != self._events.taken

        return self._slices.run(step, cycles, after)

    def _observe(self, launch: Launch | None) -> None:
        now = time.monotonic()
        if self.observer and now - self._observed >= OBSERVER_SECONDS:
            self._observed = now
            self.observer(launch, self._host.transport.cycle)
