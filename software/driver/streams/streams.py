"""All streams of a device, which begin their ready tasks whenever time has passed."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from caesura.hw.arch.commands import KernelState

from ..launch.arguments import whole_number
from ..launch.launch import ENDED
from ..launch.launcher import Launcher
from ..launch.prepared import PreparedLaunch
from ..machine.bounds import monitor_of
from ..machine.errors import CycleLimit, DriverError
from ..machine.lock import FairLock, whole
from ..machine.time_slices import uninterrupted
from ..memory.memory import DeviceMemory
from ..preemption.preemption import Preemption
from ..time.simulated_time import DEFAULT_CYCLES, SimulatedTime
from .priorities import Priorities
from .stream import Stream
from .task import Call, KernelTask, Task, TaskState, Wait

__all__ = ["Streams"]

CALL_SECONDS = 0.05
"""Seconds between two looks of a thread that waits for a function in another thread."""


class Streams:
    """The streams of all owners on a device.

    Among streams with something to begin the highest priority goes first. Among equal priorities it is the stream whose
    last kernel began longest ago.

    Parameters
    ----------
    launcher : Launcher
    time : SimulatedTime
    preemption : Preemption

    Attributes
    ----------
    launcher : Launcher
    priorities : Priorities
    """

    def __init__(self, launcher: Launcher, time: SimulatedTime, preemption: Preemption):
        self.launcher, self._time, self._preemption = launcher, time, preemption
        self.priorities = Priorities(preemption)
        self._open: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()
        self._kept: dict[int, Stream] = {}  # those with something to do or to tell: whoever drops them
        self._turns, self._made = 0, 0
        self._seen = 0  # events taken before the last look
        self._pumping = False
        self._calls: dict[Call, int] = {}  # that are being carried out, and the thread of each
        launcher.more_users.append(self.waiting_kernels)

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.launcher.host.lock

    @whole
    def make(self, owner: DeviceMemory, priority: int, name: str) -> Stream:
        """Return a stream of an owner."""
        owner.require_open()
        self._made += 1
        stream = Stream(self, owner, priority, name or f"stream {self._made}", self._made)
        self._open[stream.number] = stream
        return stream

    @whole
    def keep(self, stream: Stream) -> None:
        """Hold a stream until it is idle and has no failure to report."""
        self._kept = {number: each for number, each in self._kept.items() if not each.settled}
        self._kept[stream.number] = stream

    @property
    def _busy(self) -> list[Stream]:
        """Streams with something to do, in the order in which they were made."""
        return sorted((stream for stream in self._kept.values() if stream.tasks), key=lambda stream: stream.number)

    @whole
    def of(self, owner: DeviceMemory) -> list[Stream]:
        """Return the streams of an owner."""
        return [stream for stream in [*self._open.values()] if stream.owner is owner]

    @whole
    def waiting_kernels(self) -> list[PreparedLaunch]:
        """Return the launches that have not begun. Launches that wait for a running call of the host are not among
        them, since they have to see its results."""
        later = self._behind_calls()
        return [task.prepared for stream in self._busy for task in stream.tasks
                if isinstance(task, KernelTask) and task.prepared is not None and task not in later]

    def _behind_calls(self) -> set[Task]:
        """Return all tasks that wait for a running call, in its stream or by an event."""
        later: set[Task] = set()
        found = True
        while found:
            before = len(later)
            for stream in self._busy:
                for task in stream.tasks:
                    waits = task.awaited if isinstance(task, Wait) else task
                    if waits in later or isinstance(waits, Call) and waits in self._calls:
                        later.update(itertools.islice(stream.tasks, stream.tasks.index(task) + 1, None))
                        break
            found = len(later) > before
        return later

    # Time

    @property
    def busy(self) -> bool:
        """Whether a stream has a task."""
        return any(stream.tasks for stream in [*self._kept.values()])

    def wait_until(self, done: Callable[[], bool], max_cycles: int) -> int:
        """Let time pass until `done`, at most `max_cycles`; return the cycles passed. The wait ends early if every
        stream waits for something that no machine does. While it waits only for a function of the host in another
        thread, no time passes."""
        limit, passed = whole_number(max_cycles, "max_cycles"), 0
        while True:
            self.pump()
            passed += self._time.wait_until(lambda: done() or not self._moves(), limit - passed, None)
            if done() or passed >= limit:
                return passed
            goes_on, call = self._outlook(nested=self.lock.mine)
            if not goes_on:
                return passed
            if call is not None:
                call.returned.wait(CALL_SECONDS)
            _ = self.launcher.host.transport.cycle  # `Closed` if the device is

    def wait_any(self, tasks: Iterable[Task], max_cycles: int = DEFAULT_CYCLES) -> Task:
        """Let time pass until one of some tasks is over, and return it; see `Device.wait_any`."""
        tasks = list(tasks)
        if not tasks:
            raise DriverError("tasks: there is none to wait for; give one or more")
        for task in tasks:
            if task.stream.host is not self.launcher.host:
                raise DriverError(f"tasks: {task.name} is of another device; wait for it there")
        passed = self.wait_until(lambda: any(task.over for task in tasks), max_cycles)
        for task in tasks:
            if task.over:
                return task
        raise CycleLimit(f"none of {len(tasks)} tasks is over after {passed} cycles")

    def synchronize(self, streams: Iterable[Stream], max_cycles: int) -> int:
        """Let time pass until some streams are idle, and raise their first failure; see `Device.synchronize`."""
        streams = list(streams)
        passed = self.wait_until(lambda: all(stream.idle for stream in streams), max_cycles)
        for stream in streams:
            stream.raise_failure()
        if waiting := [stream for stream in streams if not stream.idle]:
            raise CycleLimit(f"after {passed} cycles {len(waiting)} streams are not idle: "
                             + ", ".join(f"{stream.name} ({stream.tasks[0].name})" for stream in waiting))
        return passed

    @whole
    def _moves(self) -> bool:
        """Return whether a kernel runs or is being switched, so that the passage of time changes something."""
        still = (*ENDED, KernelState.PREEMPTED)
        return any(launch.state not in still for launch in [*self.launcher.launches.values()])

    @property
    @whole
    def behind(self) -> bool:
        """Whether an event has been taken since the last look for ended tasks."""
        return not self._pumping and self.busy and self.launcher.slots.events.taken != self._seen

    @whole
    def _outlook(self, nested: bool) -> tuple[bool, Call | None]:
        """Return whether progress is still possible: by an event not yet taken, by time, or by a function in another
        thread. The second value is this function if it is the only source of progress."""
        self.launcher.slots.events.take()
        if self.behind or self._moves():
            return True, None
        calls = [] if nested else self._awaited()
        return bool(calls), calls[0] if calls else None

    # After time has passed

    def pump(self) -> None:
        """Note the tasks that have ended, begin those that can begin, and carry out the functions of the host whose
        turn it is, until nothing of this is left.

        Functions are carried out without the lock, and can be interrupted. If this thread has the lock, they are left
        to the next thread that waits.
        """
        if self.lock.mine:
            self._go_on()
            return
        with uninterrupted() as block:  # or a function would have been taken, and nobody carry it out
            while not block.came and (call := self._go_on(take=True)) is not None:
                self._carry_out(call, block)

    def go_on(self) -> None:
        """Work as `pump` does after a task was put in. If a function of the host put it in, the function returns
        first."""
        if threading.get_ident() in self._calls.values():
            self._go_on()
        else:
            self.pump()

    @whole
    def _go_on(self, take: bool = False) -> Call | None:
        """Note the tasks that have ended, and begin those that can. With `take`, stop and return a function of the host
        when it is the function's turn."""
        if self._pumping or not self.busy:
            return None
        self._pumping = True
        try:
            again = True
            while again:
                self._seen = self.launcher.slots.events.taken
                while self._step():
                    pass
                if take and (due := self._due()):
                    self._calls[due[0]] = threading.get_ident()
                    return due[0]
                self.priorities.keep(self._kernels(), self._waiting())
                again = (any(task.over for stream in self._busy for task in stream.tasks)
                         or self.launcher.slots.events.taken != self._seen)  # taken while a kernel came back
        finally:
            self._pumping = False
        return None

    def _due(self) -> list[Call]:
        """Return the functions whose turn it is, and that no thread carries out yet."""
        heads = [stream.tasks[0] for stream in sorted(self._busy, key=lambda s: -s.priority)]
        return [task for task in heads
                if isinstance(task, Call) and task.state is TaskState.RUNNING and task not in self._calls]

    @whole
    def _awaited(self) -> list[Call]:
        """Return the functions that other threads carry out, or are about to."""
        me = threading.get_ident()
        return [*(call for call, thread in self._calls.items() if thread != me), *self._due()]

    def _carry_out(self, call: Call, block: uninterrupted) -> None:
        """Call a function of the host."""
        function, result, error = call.function, None, None
        try:
            if function is not None:  # else its stream has been closed
                with block.let_through():
                    result = function()
        except BaseException as raised:  # noqa: BLE001 - whatever it raises is its task's
            error = raised
        self._returned(call, result, error)
        if isinstance(error, KeyboardInterrupt):
            raise error

    @whole
    def _returned(self, call: Call, result: Any, error: BaseException | None) -> None:
        del self._calls[call]
        try:
            call.returns(result, error)
        finally:
            self.launcher.slots.events.note()
            call.returned.set()

    def _step(self) -> bool:
        """Note ended tasks and begin others; return whether there was anything to do."""
        ended = [self._retire(stream) for stream in self._busy]
        began = [self._begin(stream) for stream in sorted(self._busy, key=lambda s: (-s.priority, s.turn))]
        return any(ended) or any(began)

    def _retire(self, stream: Stream) -> bool:
        """Remove the first task of a stream if it is over; return whether it was."""
        if not stream.tasks:
            return False
        task = stream.tasks[0]
        if task.state is TaskState.RUNNING and task.has_ended():
            task.end()
        if not task.over:
            return False
        stream.tasks.popleft()
        if task.error is not None:
            stream.failed(task)
            for other in stream.tasks:
                other.cancel(f"{task.name}, put in before it at {task.where}, has failed")
            stream.tasks.clear()
        return True

    def _begin(self, stream: Stream) -> bool:
        """Begin the first task of a stream if it can; return whether it has."""
        if not stream.tasks:
            return False
        task = stream.tasks[0]
        if task.state is not TaskState.WAITING or not task.ready():
            return False
        if isinstance(task, KernelTask) and self.priorities.holds_back(task, self._kernels()):
            return False
        if not task.begin():
            return False
        if isinstance(task, KernelTask):
            self._turns += 1
            stream.turn = self._turns
        return True

    def _kernels(self) -> list[KernelTask]:
        """Return the kernels that have begun and not ended."""
        heads = [stream.tasks[0] for stream in self._busy if stream.tasks]
        return [task for task in heads if isinstance(task, KernelTask) and task.state is TaskState.RUNNING]

    def _waiting(self) -> list[KernelTask]:
        """Return the kernels that could begin if others left their kernel slots."""
        if monitor_of(self.launcher.host.transport):
            return []  # nobody leaves a slot there
        heads = [stream.tasks[0] for stream in self._busy if stream.tasks]
        return [task for task in heads if isinstance(task, KernelTask) and task.state is TaskState.WAITING
                and task.wants_slot]

    @whole
    def close(self, stream: Stream) -> None:
        """Kill the running kernel of a stream, and drop its waiting tasks."""
        if stream.number not in self._open:
            return
        if stream.tasks and isinstance(task := stream.tasks[0], KernelTask) and task.launch is not None:
            self._preemption.kill(task.launch)
        for task in stream.tasks:
            if not task.over:
                task.cancel("its stream was closed")
        stream.tasks.clear()
        del self._open[stream.number]
        self._kept.pop(stream.number, None)
        self.pump()
