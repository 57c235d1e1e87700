"""Tasks of a stream, which carries them out one after the other; each can be waited for."""

from __future__ import annotations

import enum
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from caesura.errors import UserError
from caesura.hw.arch.commands import KernelState

from ..launch.launch import Launch
from ..launch.launcher import Launcher
from ..launch.loaded import LoadedKernel
from ..launch.prepared import PreparedLaunch
from ..machine.errors import DriverError, KernelFault, LaunchLimit, NoSlot, OutOfMemory
from ..machine.host_interface import HostInterface
from ..time.simulated_time import DEFAULT_CYCLES

__all__ = ["Action", "Call", "Cancelled", "KernelTask", "Task", "TaskState", "Wait"]

_HERE = str(Path(__file__).parents[2])


class TaskState(enum.Enum):
    """State of a task."""

    WAITING = "waiting"
    """It waits for the tasks before it in its stream, for an event, or for a kernel slot."""
    RUNNING = "running"
    """A kernel: begun, preempted or not. A call: it is its turn, or the function is being carried out."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """It has not begun and will not: something before it has failed, or its stream was closed."""


class Holder(Protocol):
    """The interface of a stream to its tasks.

    Attributes
    ----------
    name : str
    priority : int
    """

    name: str
    priority: int

    @property
    def cycle(self) -> int:
        """The cycle of the device."""
        ...

    @property
    def host(self) -> HostInterface:
        """The device."""
        ...

    def wait_for(self, task: Task, max_cycles: int) -> None:
        """Let time pass until a task is over."""
        ...

    def noticed(self, task: Task) -> None:
        """Note that a failure has been reported."""
        ...


class Cancelled(DriverError):
    """A task of a stream was not carried out."""


def _call_site() -> str:
    """Return the place where a program has called the driver, as ``file:line``."""
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(_HERE):
            return f"{frame.filename}:{frame.lineno}"
    return ""


class Task:
    """Something that was put into a stream.

    Attributes
    ----------
    stream : Holder
        A `Stream`.
    name : str
        Name in messages.
    where : str
        File and line of the call that put it into the stream.
    state : TaskState
    submitted, started, ended : int or None
        Cycles of the device in which it was put into the stream, begun, and seen to have ended.
    error : BaseException or None
        Reason why it has failed, or was cancelled.
    """

    def __init__(self, stream: Holder, name: str):
        self.stream, self.name, self.where = stream, name, _call_site()
        self.state = TaskState.WAITING
        self.submitted: int = stream.cycle
        self.started: int | None = None
        self.ended: int | None = None
        self.error: BaseException | None = None
        self._result: Any = None

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.state.value})"

    @property
    def over(self) -> bool:
        """Whether it is done, or never will be."""
        return self.state in (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)

    def wait(self, max_cycles: int = DEFAULT_CYCLES) -> Any:
        """Let time pass until it is over, and return its result: the array of a copy, or the value of a call.

        Raises
        ------
        Exception
            If it failed: a `KernelFault`, a `DriverError`, or the exception of a call; also `Cancelled`.
        CycleLimit
            If it is not over after `max_cycles`.
        """
        self.stream.wait_for(self, max_cycles)
        if self.error is not None:
            self.stream.noticed(self)
            raise self.error
        return self._result

    # Calls of `Streams`

    def ready(self) -> bool:
        """Return whether no other task keeps it from beginning."""
        return True

    def begin(self) -> bool:
        """Begin, and end at once if nothing else is to be done; return False if it has to wait for room."""
        raise NotImplementedError

    def has_ended(self) -> bool:
        """Return whether the task that has begun is over; the access may take time."""
        return True

    def begun(self) -> None:
        """Note that it runs."""
        self.state, self.started = TaskState.RUNNING, self.stream.cycle

    def end(self, error: BaseException | None = None) -> None:
        """Note its end."""
        self.ended = self.stream.cycle
        self.started = self.ended if self.started is None else self.started
        self.state, self.error = TaskState.DONE if error is None else TaskState.FAILED, error
        self.release()

    def cancel(self, why: str) -> None:
        """Note that it will not be carried out."""
        self.state = TaskState.CANCELLED
        self.error = Cancelled(f"{self.name}, put into the stream at {self.where}, was not carried out: {why}")
        self.release()

    def release(self) -> None:
        """Release the objects that it needed."""


class Action(Task):
    """A task of the driver that takes no simulated time: a copy, an event."""

    def __init__(self, stream: Holder, name: str, function: Callable[[], Any]):
        super().__init__(stream, name)
        self._function: Callable[[], Any] | None = function

    def begin(self) -> bool:
        """Carry it out."""
        assert self._function is not None
        self.begun()
        try:
            self._result = self._function()
        except BaseException as error:
            self.end(error)
            if not isinstance(error, Exception):
                raise
        else:
            self.end()
        return True

    def release(self) -> None:
        """Drop the function, and with it the arrays that it holds."""
        self._function = None


class Call(Task):
    """A function of the host, which belongs to the program. It may take long, be interrupted, use the device and wait,
    so it is carried out when no thread has the device's lock (`Streams.pump`).

    Attributes
    ----------
    function : callable or None
        None once it is over.
    returned : threading.Event
        Set when the function has returned.
    """

    def __init__(self, stream: Holder, name: str, function: Callable[[], Any]):
        super().__init__(stream, name)
        self.function: Callable[[], Any] | None = function
        self.returned = threading.Event()

    def begin(self) -> bool:
        """Note that it is its turn."""
        self.begun()
        return True

    def has_ended(self) -> bool:
        """Return False, since `returns` notes the end."""
        return False

    def returns(self, result: Any, error: BaseException | None) -> None:
        """Note the result or the exception of the function; do nothing if the task was cancelled meanwhile."""
        if self.over:
            return
        if isinstance(error, KeyboardInterrupt):  # goes on to who waits here; the task's own is to say what it was
            told = DriverError(f"{self.name}, put into the stream at {self.where}, was interrupted (Ctrl-C)")
            told.__cause__ = error
            error = told
        self._result = result
        self.end(error)

    def release(self) -> None:
        """Drop the function, and with it the arrays that it holds."""
        self.function = None


class Wait(Action):
    """A task that waits for one of another stream."""

    def __init__(self, stream: Holder, awaited: Task):
        super().__init__(stream, f"wait for {awaited.name}", lambda: None)
        self.awaited = awaited

    def ready(self) -> bool:
        """Return whether the other task is over."""
        return self.awaited.over

    def begin(self) -> bool:
        """End, without success if the other task had none."""
        if self.awaited.error is None:
            return super().begin()
        self.cancel(f"what it waits for has failed: {self.awaited.error}")
        return True


class KernelTask(Task):
    """A launch that was put into a stream.

    Attributes
    ----------
    kernel : LoadedKernel
    launch : Launch or None
        Its launch once it has begun.
    preempted : bool
        Whether a stream with a higher priority has preempted it, and will bring it back.
    prepared : PreparedLaunch or None
        The checked launch, until it has begun or is over.
    wants_slot : bool
        Whether it waits because all kernel slots are in use; a preempt of another kernel can help.
    """

    def __init__(self, stream: Holder, launcher: Launcher, kernel: LoadedKernel, grid, block, arguments: Sequence,
                 shared_bytes: int):
        super().__init__(stream, f"kernel {kernel.image.name!r}")
        self.kernel, self.launch = kernel, None
        self.preempted = self.wants_slot = False
        self._launcher = launcher
        self.prepared: PreparedLaunch | None = launcher.prepare(kernel, grid, block, arguments, shared_bytes)
        self.launch: Launch | None

    def begin(self) -> bool:
        """Start the kernel. Return False if no slot is free, or if there is no memory for its context while other
        kernels hold some."""
        assert self.prepared is not None
        self.wants_slot = False
        try:
            self.launch = self._launcher.start_prepared(self.prepared)
        except LaunchLimit:
            return False
        except NoSlot:
            self.wants_slot = True
            return False
        except OutOfMemory as error:
            if any(not launch.ended for launch in self._launcher.slots.of(self.kernel.device)):
                return False
            self.end(error)
            return True
        except UserError as error:
            self.end(error)
            return True
        self.prepared = None  # the launch holds what it uses
        self.begun()
        return True

    def has_ended(self) -> bool:
        """Return whether its launch has ended, by itself or killed."""
        assert self.launch is not None
        return self.launch.ended

    def end(self, error: BaseException | None = None) -> None:
        """Note its end, and what became of it."""
        if error is None and self.launch is not None:
            error = self._failure(self.launch)
        super().end(error)

    def _failure(self, launch: Launch) -> Exception | None:
        self._launcher.slots.events.take()  # a fault record may be waiting
        if launch.state is KernelState.IDLE:
            return DriverError(f"{self.name}, put into the stream at {self.where}, was killed")
        if tbs := launch.faulted_tbs:
            return KernelFault(launch.fault, self.kernel.image.name, tbs, self.where)
        return None

    def release(self) -> None:
        """Release the memory of its arguments."""
        self.prepared = None
